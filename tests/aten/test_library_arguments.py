"""Custom ops: what arguments they refuse, and the dtype that autocast gives them in. As PyTorch 2.13 answers."""

import pytest

import weft

seen = []


@weft.library.custom_op("library_arguments::scaled", mutates_args=())
def scaled(x: weft.Tensor, k: float = 2.0) -> weft.Tensor:
    seen.append((x.dtype, weft.is_autocast_enabled("cpu")))
    return x * k


scaled.register_fake(lambda x, k=2.0: weft.empty_like(x))
scaled.register_autograd(lambda ctx, g: (g * 2, None))
weft.library.register_autocast("library_arguments::scaled", "cpu", weft.bfloat16)
X = weft.ones(2)


@weft.library.custom_op("library_arguments::failing", mutates_args=())
def failing(x: weft.Tensor) -> weft.Tensor:
    raise TypeError("its own")


@pytest.mark.parametrize(
    "args,kwargs,words",
    [
        (("a",), {}, "must be Tensor, not str"),
        ((), {}, "missing 1 required"),
        ((X,), {"z": 1}, "unexpected keyword argument 'z'"),
        ((X, 1.0, 2), {}, "takes 2 positional arguments"),
        ((X,), {"k": "a"}, "must be float, not str"),
    ],
)
@pytest.mark.parametrize("op", [scaled, weft.ops.library_arguments.scaled], ids=["op", "entry"])
def test_arguments_that_do_not_fit_the_declaration(op, args, kwargs, words):
    with pytest.raises(RuntimeError, match=words):
        op(*args, **kwargs)


def test_what_the_function_raises_is_not_changed():
    with pytest.raises(TypeError, match="its own"):
        failing(X)


@pytest.mark.parametrize(
    "x,dtype", [(X, weft.bfloat16), (X.double(), weft.float64), (weft.arange(2), weft.int64)], ids=["float", "double", "int"]
)
def test_autocast_gives_the_op_the_dtype_that_is_registered(x, dtype):
    with weft.autocast("cpu", dtype=weft.float16):
        scaled(x)
    assert seen[-1] == (dtype, False)
    scaled(x)
    assert seen[-1] == (x.dtype, False)


def test_the_cast_is_part_of_gradients_and_of_graphs():
    def program(x):
        with weft.autocast("cpu", dtype=weft.bfloat16):
            return scaled(x)

    for f in (program, weft.compile(program, fullgraph=True)):
        x = X.clone().requires_grad_()
        y = f(x)
        y.sum().backward()
        assert (y.dtype, x.grad.dtype, x.grad.tolist()) == (weft.bfloat16, weft.float32, [2, 2])


def test_a_type_of_device_that_there_is_not():
    with pytest.raises(RuntimeError, match="device type"):
        scaled.register_autocast("foo", weft.float16)


def test_a_rule_for_batches_is_told_of_positional_arguments_alone():
    @weft.library.custom_op("library_arguments::scaled_by", mutates_args=())
    def scaled_by(x: weft.Tensor, y: weft.Tensor, *, by: float) -> weft.Tensor:
        return x * y * by

    told = []

    def rule(info, in_dims, x, y, *, by):
        told.append(in_dims)
        return x * y * by, 0

    scaled_by.register_vmap(rule)
    out = weft.vmap(lambda x, y: scaled_by(x, y, by=2.0), in_dims=(0, None))(weft.ones(3, 2), weft.full((2,), 5.0))
    assert told == [(0, None)] and out.tolist() == [[10, 10]] * 3


@pytest.mark.parametrize("name", ["g", "out", "needs", "x_meta", "grad", "ctx", "output", "dims", "size"])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_parameter_may_have_any_name(name, compiled):
    """A gradient was of another tensor where a parameter was called `g`, as what comes back from the results is within."""
    weft._dynamo.reset()
    space = {"weft": weft}
    exec(f"def cubed({name}: weft.Tensor, x: weft.Tensor) -> weft.Tensor: return {name} * {name} * x", space)
    op = weft.library.custom_op(f"weft_tests::cubed_{name}_{compiled}", space["cubed"], mutates_args=())
    op.register_fake(lambda *args: weft.empty_like(args[0]))

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    def backward(ctx, grad):
        a, x, result = ctx.saved_tensors
        grad = grad + (result - a * a * x)  # (nothing)
        return grad * 2 * a * x, grad * a * a

    op.register_autograd(backward, setup_context=setup)
    a, x = weft.tensor([0.5, 2.0], requires_grad=True), weft.tensor([3.0, -1.0], requires_grad=True)
    f = lambda a, x: op(a, x).sin()
    found = weft.autograd.grad((weft.compile(f, fullgraph=True) if compiled else f)(a, x).sum(), [a, x])
    expected = weft.autograd.grad((a * a * x).sin().sum(), [a, x])
    assert all(weft.allclose(f, e) for f, e in zip(found, expected))


def test_subclasses_of_tuple_and_list_are_what_they_hold():
    class Other:
        def __iter__(self):
            return iter([weft.zeros(1)])

    class Pair(Other, tuple):
        pass

    class Items(Other, list):
        pass

    for cls in (Pair, Items):
        for f in (weft.cat, weft.compile(weft.cat, backend="eager")):
            assert f(cls((weft.ones(1), weft.ones(2)))).tolist() == [1, 1, 1]  # PyTorch's
