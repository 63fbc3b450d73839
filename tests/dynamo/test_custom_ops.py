"""Custom ops in compiled code: nodes of the graph, what they write included."""

import pytest

import weft
from dynamo.testing import CompileCounter, CompileCounterWithBackend


@weft.library.custom_op("captured::add_to", mutates_args=("x", "more"))
def add_to(x: weft.Tensor, y: weft.Tensor, more: list[weft.Tensor]) -> weft.Tensor:
    for t in (x, *more):
        t.add_(y)
    return y * 2


@add_to.register_fake
def _(x, y, more):
    return weft.empty_like(y)


@weft.library.custom_op("captured::without_rule", mutates_args=())
def without_rule(x: weft.Tensor) -> weft.Tensor:
    return x.clone()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_what_an_op_writes(backend):
    def function(a, b):
        z = a * 2
        r = add_to(z, b, [a])
        return z + r, add_to(a[:1], b[:1], [])

    counter = CompileCounterWithBackend(backend)
    compiled = weft.compile(function, backend=counter, fullgraph=True)
    mine, yours = weft.arange(3.0), weft.arange(3.0)
    weft.testing.assert_close(compiled(mine, weft.ones(3)), function(yours, weft.ones(3)))
    weft.testing.assert_close(mine, yours)
    assert counter.frame_count == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("views", [lambda z: (z.view(-1), z[1:]), lambda z: (z, z), lambda z: (z[:2], z[2:]), lambda z: (z[:1], z)])
@pytest.mark.parametrize("made", [lambda x: x, lambda x: x + 1])
def test_an_op_that_writes_one_memory_through_two_arguments(backend, views, made):
    def function(x):
        z = made(x)
        a, b = views(z)
        r = add_to(a[:1], z[:1] * 2, [b, a])
        return a, b, z, r * z.sum()

    compiled = weft.compile(function, backend=backend, fullgraph=True)
    mine, yours = weft.arange(4.0), weft.arange(4.0)
    for _ in range(2):
        weft.testing.assert_close(compiled(mine), function(yours))
        weft.testing.assert_close(mine, yours)


def test_a_transform_refuses_an_op_that_writes_one_memory_through_two_arguments():
    def function(x):
        add_to(x, x[:1] * 0, [x[1:]])
        return x

    with pytest.raises(NotImplementedError, match="captured::add_to writes a tensor whose memory another argument shows"):
        weft.vmap(function)(weft.ones(2, 3))


def test_one_node_a_call():
    counter = CompileCounter()
    weft.compile(lambda x: add_to(x, x, []), backend=counter, fullgraph=True)(weft.ones(2))
    assert counter.op_count == 1


def test_without_a_shape_rule_the_graph_breaks():
    counter = CompileCounter()
    function = lambda x: without_rule(x + 1) + 1
    assert weft.compile(function, backend=counter)(weft.ones(1)).item() == 3
    assert (counter.frame_count, counter.op_count) == (2, 2)
    weft._dynamo.reset()
    with pytest.raises(weft._dynamo.exc.Unsupported, match="without_rule has no shape rule"):
        weft.compile(function, backend=counter, fullgraph=True)(weft.ones(1))


def test_a_user_s_kernel_sees_the_strides_of_eager():
    seen = []

    @weft.library.custom_op("captured::strides", mutates_args=())
    def strides(x: weft.Tensor) -> weft.Tensor:
        seen.append(x.stride())
        return x.clone()

    strides.register_fake(weft.clone)
    weft.compile(lambda x: strides((x + 1).t() * 2), fullgraph=True)(weft.ones(3, 4))
    assert seen == [(1, 4)]


def test_ops_that_a_library_declares():
    with weft.library._scoped_library("captured", "FRAGMENT") as lib:
        lib.define("pick.tensor(Tensor x) -> Tensor")
        lib.define("pick.dim(Tensor x, int dim) -> Tensor")
        lib.impl("pick.tensor", weft.sin, "CompositeImplicitAutograd")
        lib.impl("pick.dim", weft.sum, "CompositeImplicitAutograd")
        x = weft.randn(3)
        for function in (lambda x: weft.ops.captured.pick(x), lambda x: weft.ops.captured.pick(x, 0)):
            weft.testing.assert_close(weft.compile(function, fullgraph=True)(x), function(x))
