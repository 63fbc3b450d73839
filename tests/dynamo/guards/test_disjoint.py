"""Tensors of which some are written share no memory: what the guard says is what every pair says."""

import numpy as np
import pytest

import weft
from dynamo.guards import _disjoint, _overlap


@pytest.mark.parametrize("seed", range(200))
def test_equals_the_comparison_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    base = weft.zeros(int(rng.integers(20, 200)))
    tensors = []
    for _ in range(rng.integers(1, 8)):
        start = int(rng.integers(0, base.numel()))
        length = int(rng.integers(0, 12))
        tensors.append(base[start : start + length][:: int(rng.integers(1, 3))])
    written = int(rng.integers(0, len(tensors) + 1))
    pairs = [(i, j) for i in range(written) for j in range(len(tensors)) if i != j]
    assert _disjoint(tuple(tensors), written) == (not any(_overlap(tensors[i], tensors[j]) for i, j in pairs))


def test_graphs_name_inputs_the_same_in_every_process():
    """A dictionary keyed by objects, as an optimizer's state: no address stands in the text that is the cache's key."""

    class Key:
        pass

    state, texts = {Key(): weft.ones(3), Key(): weft.ones(3)}, []

    def backend(gm, inputs):
        texts.append(str(gm.graph))
        return gm

    @weft.compile(backend=backend, fullgraph=True)
    def total(x):
        for key in state:
            x = x + state[key]
        return x

    assert total(weft.zeros(3)).tolist() == [2, 2, 2]
    assert "state" in texts[0] and "0x" not in texts[0]
