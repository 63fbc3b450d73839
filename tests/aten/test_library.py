"""Custom ops: declared from annotations, differentiated, traced, mapped, mutating."""

import numpy as np
import pytest

import aten
import weft
from aten import autograd
from aten.library import custom_op, infer_schema
from aten.tensor import Tensor, from_numpy
from aten.transforms import make_fx, vmap


@custom_op("test::scaled_sine", mutates_args=())
def scaled_sine(x: Tensor, scale: float = 2.0) -> Tensor:
    return from_numpy(np.sin(x.numpy()) * scale).to(x.dtype)


@scaled_sine.register_fake
def _(x, scale):
    return aten.empty_like(x)


def _setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]


scaled_sine.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.scale, None), setup_context=_setup)


@custom_op("test::accumulate", mutates_args=("total",))
def accumulate(total: Tensor, x: Tensor) -> None:
    total += x


def test_it_runs_and_has_a_gradient():
    x = aten.tensor([0.3, 0.7], dtype=aten.float64, requires_grad=True)
    assert autograd.gradcheck(lambda x: scaled_sine(x, 3.0), (x,))
    assert scaled_sine(x).grad_fn is not None and scaled_sine(x.detach(), scale=1.0).tolist() == np.sin([0.3, 0.7]).tolist()


def test_it_is_one_node_in_a_graph():
    gm = make_fx(lambda x: scaled_sine(x * 2, 3.0), symbolic=True)(aten.ones(5))
    assert [n.target.name for n in gm.graph.nodes if n.op == "call_function"] == ["mul", "test__scaled_sine"]
    np.testing.assert_allclose(gm(aten.ones(5)).numpy(), np.sin(np.full(5, 2.0)) * 3, rtol=1e-6)


def test_vmap_without_a_rule_is_a_loop():
    x = aten.randn(3, 4)
    assert aten.allclose(vmap(scaled_sine)(x), scaled_sine(x))


def test_what_it_mutates_is_written_eager_and_traced():
    total = aten.zeros(2)
    assert accumulate(total, aten.ones(2)) is None and total.tolist() == [1, 1] and total._version == 2

    def fn(total, x):
        accumulate(total, x)
        return total * 2

    gm = make_fx(fn, functionalize=True)(aten.zeros(2), aten.ones(2))
    assert gm(aten.zeros(2), aten.ones(2)).tolist() == [2, 2]


def test_a_missing_rule_or_annotation_says_so():
    @custom_op("test::no_rule")
    def no_rule(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(NotImplementedError, match="no_rule.register_fake"):
        make_fx(no_rule)(aten.ones(2))
    with pytest.raises(ValueError, match="parameter x of f needs a type annotation"):
        infer_schema(lambda x: x, "f")
    with pytest.raises(ValueError, match="namespace::name"):
        custom_op("plain", lambda: None)


@pytest.mark.parametrize("alias", [lambda x: x, lambda x: x[:1], lambda x: x.view(2, 1)])
def test_results_that_show_arguments_are_refused(alias):
    """Graphs take results for new memory."""

    @custom_op("tests::shows", mutates_args=())
    def shows(x: weft.Tensor) -> weft.Tensor:
        return alias(x)

    @custom_op("tests::writes_and_shows", mutates_args={"x"})
    def writes_and_shows(x: weft.Tensor) -> weft.Tensor:
        return alias(x.add_(1))

    @custom_op("tests::twice", mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor)")
    def twice(x):
        made = x + 1
        return made, alias(made)

    for op in (shows, writes_and_shows, twice):
        with pytest.raises(RuntimeError, match="must not also be an input to this custom operator and may not alias"):
            op(weft.ones(2))
    assert repr(shows) == "<CustomOpDef(tests::shows)>"
    assert (shows._qualname, shows._namespace, shows._name) == ("tests::shows", "tests", "shows")


def test_declarations_in_pytorchs_words():
    def f(x: weft.Tensor, n: int, ws: list[weft.Tensor], *, s: str = "a", k: float | None = None) -> weft.Tensor: ...

    says = weft.library.infer_schema
    assert says(f, mutates_args=()) == '(Tensor x, SymInt n, Tensor[] ws, *, str s="a", float? k=None) -> Tensor'
    assert says(f, mutates_args={"x"}, op_name="g").startswith("g(Tensor(a0!) x, SymInt n, Tensor[] ws")
    assert says(f, mutates_args="unknown").startswith("(Tensor(a0!) x, SymInt n, Tensor(a2!)[] ws")
    with pytest.raises(ValueError, match="needs a type annotation"):
        says(lambda x: x, mutates_args=())
    with pytest.raises(ValueError, match="are no arguments"):
        says(f, mutates_args={"q"})
