"""Classes as vectors: any layout, given and found numbers of classes, and what is refused."""

import numpy as np
import pytest

from aten import _native
from aten.op import registry
from aten.tensor import from_numpy

one_hot = registry["one_hot"]


@pytest.mark.parametrize("sizes", ((), (5,), (3, 40), (2, 3, 4), (0,), (3, 0)))
def test_rows_of_the_identity(sizes):
    at = np.asarray(np.random.default_rng(0).integers(0, 7, sizes))
    spread = lambda a: from_numpy(np.repeat(a, 2, -1))[..., ::2] if a.ndim else from_numpy(a)
    for n in (7, 12, *((-1,) if at.size else ())):
        for lay in (from_numpy, lambda a: from_numpy(np.array(a, order="F")), spread):
            found = one_hot(lay(at), n)
            np.testing.assert_array_equal(found.numpy(), np.eye(at.max() + 1 if n == -1 else n, dtype=np.int64)[at])


def test_what_is_no_class_is_refused_in_words():
    for values, n, words in (([1, -1], 5, "non-negative"), ([1, 5], 5, "smaller"), ([0], 0, "smaller"), ([-2], -1, "non-negative")):
        assert _native.one_hot(from_numpy(np.array(values)), n) is None
        with pytest.raises(RuntimeError, match=words):
            one_hot(from_numpy(np.array(values)), n)
    with pytest.raises(RuntimeError, match="empty"):
        one_hot(from_numpy(np.zeros(0, np.int64)))
    with pytest.raises(RuntimeError, match="LongTensor"):
        one_hot(from_numpy(np.zeros(3)))
