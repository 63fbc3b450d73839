"""The models of benchmarks/models, which know only `import torch`, run under weft: what is compiled gives what eager gives."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

import weft
from benchmarks.models import BREAKS, NAMES
from benchmarks.models.compare import difference, magnitude
from benchmarks.models.phases import Run


@pytest.mark.parametrize("name", NAMES)
def test_compiled_loss_and_gradients_are_the_eager_ones(name):
    with weft.as_torch() as torch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old weight_norm says that it is old
        run = Run(torch, importlib.import_module(f"benchmarks.models.{name}"), fullgraph=name not in BREAKS)
        want = run.gradients(run.whole)
        run.reset()
        got = run.gradients(run.compiled(run.whole, backend="aot_eager"))
    share, where = difference(got, want, "gradients")
    assert share <= 1, where
    assert np.isfinite(want["loss"]) and magnitude(want["loss"]) > 0
    assert sum(magnitude(value) for key, value in want.items() if key.startswith("grad/")) > 0


def test_there_are_forty_models_and_breaks_are_of_some_of_them():
    assert len(NAMES) >= 40
    assert set(BREAKS) < set(NAMES)
