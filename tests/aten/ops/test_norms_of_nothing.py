"""Normalisations of tensors without elements: results and gradients of their sizes, and no warning."""

import pytest

import weft
from weft.nn import functional as F

NORMS = {
    "group": lambda x, w: F.group_norm(x, 2, w),
    "batch": lambda x, w: F.batch_norm(x, weft.zeros(x.shape[1]), weft.ones(x.shape[1]), w, training=True),
    "batch in evaluation": lambda x, w: F.batch_norm(x, weft.zeros(x.shape[1]), weft.ones(x.shape[1]), w),
    "layer": lambda x, w: F.layer_norm(x, x.shape[2:]) * w.reshape([-1] + [1] * (x.ndim - 2)),
    "instance": lambda x, w: F.instance_norm(x, weight=w),
}


@pytest.mark.parametrize("backend", [None, "aot_eager", "inductor"])
@pytest.mark.parametrize("sizes", [(0, 2, 3), (2, 4, 0), (2, 0, 3), (2, 2, 0, 3)])
@pytest.mark.parametrize("name", NORMS)
def test_norms_of_nothing(name, sizes, backend):
    weft.compiler.reset()  # sizes are known, as at the first call
    function = weft.compile(NORMS[name], backend=backend) if backend else NORMS[name]
    x, w = weft.zeros(sizes, requires_grad=True), weft.ones(sizes[1], requires_grad=True)
    for _ in range(3):  # calls are replayed from some time on
        y = function(x, w)
        y.sum().backward()
        assert y.shape == sizes and x.grad.shape == sizes and w.grad.tolist() == [0.0] * sizes[1]
