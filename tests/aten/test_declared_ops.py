"""Ops that are declared as text and implemented by place: weft.library.Library."""

import pytest

import weft
from weft.library import Library, _scoped_library, define, impl, register_fake, register_kernel


@pytest.fixture
def lib():
    with _scoped_library("declared", "FRAGMENT") as made:
        yield made


def test_declared_and_implemented(lib):
    assert lib.define("scale(Tensor self, float by=2.0, *, SymInt n) -> Tensor") == "scale"
    with pytest.raises(NotImplementedError, match="Could not run 'declared::scale' .* 'CPU' backend"):
        weft.ops.declared.scale(weft.ones(2), n=1)
    lib.impl("scale", lambda x, by, *, n: x * by + n, "CPU")
    assert weft.ops.declared.scale(weft.ones(2), n=1).tolist() == [3, 3]
    assert weft.ops.declared.scale.default(weft.ones(2), 3.0, n=1).tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="missing 1 required.*n"):
        weft.ops.declared.scale(weft.ones(2))


def test_arguments_that_are_written(lib):
    lib.define("put(Tensor(a!) a, Tensor[] b, Tensor(b!)? c, Tensor(c!)[] d) -> Tensor")

    @impl(lib, "put", "CompositeExplicitAutograd")
    def _(a, b, c, d):
        for target in (a, *d, *([] if c is None else [c])):
            target.add_(b[0])
        return b[0] * 2

    a, c, d = weft.zeros(2), weft.zeros(2), [weft.zeros(2), weft.ones(2)]
    version = a._version
    assert weft.ops.declared.put(a, [weft.ones(2)], c, d).tolist() == [2, 2]
    assert [t.tolist() for t in (a, c, *d)] == [[1, 1], [1, 1], [1, 1], [2, 2]]
    assert a._version > version
    weft.ops.declared.put(a, [weft.ones(2)], None, [])
    assert a.tolist() == [2, 2]
    graph = weft.fx.experimental.proxy_tensor.make_fx(lambda a, b, c: (weft.ops.declared.put(a, [b], None, [c]), a, c))(a, d[0], c)
    assert [t.tolist() for t in graph(weft.zeros(2), weft.ones(2), weft.ones(2))] == [[2, 2], [1, 1], [2, 2]]


def test_made_of_other_ops(lib):
    define("declared::twice", "(Tensor x) -> Tensor", lib=lib, tags=weft.Tag.pt2_compliant_tag)
    impl("declared::twice", "CompositeImplicitAutograd", lambda x: x.sin() * 2, lib=lib)
    x = weft.ones(2, requires_grad=True)
    weft.ops.declared.twice(x).sum().backward()
    weft.testing.assert_close(x.grad, weft.ones(2).cos() * 2)
    assert weft.ops.declared.twice.default.tags == [weft.Tag.pt2_compliant_tag]


def test_overloads(lib):
    lib.define("pick.tensor(Tensor x) -> Tensor")
    lib.define("pick.dim(Tensor x, int dim) -> Tensor")
    lib.impl("pick.tensor", weft.sin, "CPU")
    lib.impl("pick.dim", weft.sum, "CPU")
    assert weft.ops.declared.pick(weft.zeros(2)).tolist() == [0, 0]
    assert weft.ops.declared.pick(weft.ones(2), 0).item() == 2
    assert weft.ops.declared.pick.dim(weft.ones(2), 0).item() == 2
    with pytest.raises(TypeError, match="no overload of declared::pick"):
        weft.ops.declared.pick(weft.ones(2), 0, 1)


def test_a_derivative_of_its_own(lib):
    lib.define("square(Tensor x) -> Tensor")

    class Square(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return weft.ops.declared.square(x)

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    lib.impl("square", lambda x: x * x, "CPU")
    lib.impl("square", Square.apply, "Autograd")
    x = weft.full((2,), 3.0, requires_grad=True)
    weft.ops.declared.square(x).sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_kernels_and_shape_rules_by_name(lib):
    lib.define("up(Tensor x) -> Tensor")
    register_fake("declared::up", weft.empty_like, lib=lib)
    register_kernel("declared::up", "cpu", lambda x: x + 1, lib=lib)
    assert weft.compile(lambda x: weft.ops.declared.up(x) * 2, fullgraph=True)(weft.ones(2)).tolist() == [4, 4]
    register_kernel(weft.ops.declared.up, ["cpu"], lambda x: x + 2)
    assert weft.ops.declared.up(weft.ones(2)).tolist() == [3, 3]


def test_what_a_library_declared_goes_with_it():
    for add in (1, 2):
        with _scoped_library("declared", "DEF") as lib:
            lib.define("plus(Tensor x) -> Tensor")
            lib.impl("plus", lambda x, add=add: x + add, "CPU")
            assert weft.ops.declared.plus(weft.ones(1)).item() == 1 + add
        with pytest.raises(AttributeError, match="plus"):
            weft.ops.declared.plus  # noqa: B018


def test_refusals(lib):
    lib.define("taken(Tensor x) -> Tensor")
    for call, error, text in (
        (lambda: Library("declared", "NEW"), ValueError, "Unsupported library type: NEW"),
        (lambda: Library("aten", "IMPL"), ValueError, "aten is a reserved namespace"),
        (lambda: lib.define("taken(Tensor x) -> Tensor"), RuntimeError, "same name"),
        (lambda: lib.define("no schema"), ValueError, "expected 'name"),
        (lambda: lib.impl("other", weft.sin, "CPU"), RuntimeError, "no operator declared::other"),
        (lambda: lib.impl("taken", weft.sin, "Nowhere"), ValueError, "could not parse dispatch key: Nowhere"),
        (lambda: lib.impl("taken", 3, "CPU"), TypeError, "callable"),
        (lambda: define("taken", "(Tensor x) -> Tensor"), ValueError, "namespace::name"),
        (lambda: Library("declared", "IMPL").define("f(Tensor x) -> Tensor"), RuntimeError, "declares nothing"),
    ):
        with pytest.raises(error, match=text):
            call()
