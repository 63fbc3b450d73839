"""autograd.grad with batches of gradients."""

import aten
import aten.autograd


def test_is_grads_batched():
    x = aten.randn([4]).requires_grad_()
    w = aten.randn([3, 4]).requires_grad_()
    unused = aten.randn([2]).requires_grad_()
    y = (w @ x).tanh()
    eye = aten.eye(3)
    batched = aten.autograd.grad(
        y, [x, w, unused], eye, retain_graph=True, is_grads_batched=True, allow_unused=True, materialize_grads=True
    )
    assert [list(g.shape) for g in batched] == [[3, 4], [3, 3, 4], [3, 2]]
    for i in range(3):
        for g, single in zip(batched, aten.autograd.grad(y, [x, w], eye[i], retain_graph=True)):
            assert (g[i] - single).abs().max().item() == 0
