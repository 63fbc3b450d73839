"""When hooks of tensors and of nodes run, and which gradient each of them sees."""

import pytest

import weft


def test_the_order_of_the_hooks_of_a_leaf():
    leaf = weft.rand(3, requires_grad=True)
    node = leaf.view_as(leaf).grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: (grads[0] / 5.0,))
    node.register_hook(lambda inputs, grads: setattr(leaf, "grad", grads[0] * 10))
    leaf.register_hook(lambda grad: grad - 2.0)
    seen = []
    leaf.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.grad.clone()))
    leaf.sum().backward()
    assert seen[0].tolist() == pytest.approx([-0.2] * 3)  # (1 - 2) / 5
    assert leaf.grad.tolist() == pytest.approx([-2.0] * 3)


def test_a_hook_after_accumulation_returns_nothing():
    leaf = weft.rand(2, requires_grad=True)
    leaf.register_post_accumulate_grad_hook(lambda tensor: tensor.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        leaf.sum().backward()


def test_hooks_of_nodes_run_only_where_the_node_does():
    a = weft.tensor(1.0, requires_grad=True)
    b = a * 2
    c = b * 2
    counts = {"tensor": 0, "before": 0, "after": 0}

    def counting(name):
        def hook(*gradients):
            counts[name] += 1

        return hook

    leaf = b.grad_fn.next_functions[0][0]
    for tensor in (a, b):
        tensor.register_hook(counting("tensor"))
    for node in (leaf, b.grad_fn):
        node.register_prehook(counting("before"))
        node.register_hook(counting("after"))

    def ran(call):
        counts.update(tensor=0, before=0, after=0)
        call()
        return tuple(counts.values())

    assert ran(lambda: weft.autograd.grad(c, b, retain_graph=True)) == (1, 0, 0)
    assert ran(lambda: weft.autograd.grad(c, (a, b), retain_graph=True)) == (2, 1, 1)
    assert ran(lambda: c.backward(retain_graph=True)) == (2, 2, 2)
    assert ran(lambda: c.backward(inputs=(a, b), retain_graph=True)) == (2, 2, 2)


def test_hooks_of_the_node_of_a_leaf_see_the_gradient_that_hooks_of_the_leaf_wrote():
    x = weft.ones(2, requires_grad=True)
    node = x.view_as(x).grad_fn.next_functions[0][0]
    seen = []

    def add(leaf):
        leaf.grad.add_(0.5)

    x.register_post_accumulate_grad_hook(add)
    node.register_hook(lambda _, given: seen.append(given[0].tolist()))
    (x * 2).sum().backward()
    assert seen == [[2.5, 2.5]] and x.grad.tolist() == [2.5, 2.5]


def test_of_leaves_with_one_gradient_the_last_keeps_it_itself():
    class Both(weft.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            seen.append(grad.data_ptr())
            return grad, grad

    seen = []
    a, b = weft.ones(2, 2, requires_grad=True), weft.ones(2, 2, requires_grad=True)
    Both.apply(a, b)[1].sum().backward()
    assert a.grad.data_ptr() != b.grad.data_ptr() and seen[0] in (a.grad.data_ptr(), b.grad.data_ptr())


def test_leaves_of_one_node_are_come_to_in_the_order_of_its_inputs():
    def order(f):
        leaves, seen = [weft.tensor(float(k + 1), requires_grad=True) for k in range(3)], []
        for k, leaf in enumerate(leaves):
            leaf.register_hook(lambda g, k=k: seen.append(k))
        f(*leaves).backward()
        return seen

    assert order(lambda x, y, z: x * y * z) == [2, 0, 1]  # (as PyTorch 2.13 answers: z is the outer product's own)
    assert order(lambda x, y, z: x * (y * z)) == [0, 1, 2]


def test_gradients_kept_are_the_tensors_own():
    for f in (lambda x: x * 2, weft.compile(lambda x: x * 2)):
        x = weft.ones(3, requires_grad=True)
        y, g = f(x), weft.ones(3)
        y.retain_grad()
        y.backward(g)
        assert y.grad is not g
        y.grad.mul_(5)  # (the seed is the user's, and writing to what is kept leaves it alone)
        assert g.tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]

    x = weft.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    y.grad.mul_(5)  # (sum's gradient is an expanded number: what is kept is not)
    assert y.grad.tolist() == [5, 5, 5] and y.grad.stride() == (1,)

    x = weft.ones(3, requires_grad=True)
    y, z = x * 2, x * 3
    y.retain_grad(), z.retain_grad()
    (y + z).backward(weft.ones(3))
    y.grad.zero_()
    assert z.grad.tolist() == [1, 1, 1]

    y, g = x * 2, weft.ones(3)
    y.backward(g, inputs=[y])
    y.grad.zero_()
    assert g.tolist() == [1, 1, 1]


def test_zeros_in_place_of_gradients_are_differentiable_with_create_graph():
    x, y = weft.ones(2, requires_grad=True), weft.ones(3, requires_grad=True)
    for create_graph in (False, True):
        _, zeros = weft.autograd.grad((x * x).sum(), [x, y], materialize_grads=True, create_graph=create_graph)
        assert zeros.tolist() == [0, 0, 0] and zeros.requires_grad is create_graph
