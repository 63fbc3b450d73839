"""autograd.Function: `vjp` beside `backward`, arguments by default, and what may be marked dirty."""

import pytest
from weft.autograd import Function

import weft
from weft import ones


def function(**methods):
    return type("Made", (Function,), {name: staticmethod(fn) for name, fn in methods.items()})


def test_vjp_is_another_name_of_backward():
    x = ones(2, requires_grad=True)
    function(forward=lambda ctx, x: x * 2, vjp=lambda ctx, g: g * 5).apply(x).sum().backward()
    assert x.grad.tolist() == [5, 5]
    both = function(forward=lambda ctx, x: x * 2, vjp=lambda ctx, g: g, backward=lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        both.apply(x).sum().backward()


def test_setup_context_is_given_arguments_by_default():
    seen = []
    power = function(
        forward=lambda x, y=3: x**y,
        setup_context=lambda ctx, inputs, output: seen.append(inputs[1]),
        backward=lambda ctx, g: (g, None),
    )
    assert power.apply(weft.full([1], 2.0, requires_grad=True)).item() == 8 and seen == [3]


def test_what_is_marked_dirty_is_an_input_and_returned():
    def forward(ctx, x, kind):
        written = x.add_(1) if kind != "made" else x + 1
        ctx.mark_dirty(written)
        return x.clone() if kind == "lost" else (written, x + 1) if kind == "several" else written

    f = function(forward=forward, backward=lambda ctx, *g: (g[0], None))
    x = ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned as output"):
        f.apply(x.clone(), "lost")
    with pytest.raises(RuntimeError, match="your Function modifies inplace an input that is a view of another Tensor"):
        f.apply(x.clone()[:1], "several")
    with pytest.warns(UserWarning, match="Only input Tensors should be given to ctx.mark_dirty"):
        f.apply(x.clone(), "made")


def test_a_node_gives_what_its_function_saved():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    x = ones(2, requires_grad=True)
    y = function(forward=forward, backward=lambda ctx, g: g).apply(x)
    assert y.grad_fn.saved_tensors[0] is x and len(y.grad_fn._raw_saved_tensors) == 1
    y.sum().backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        y.grad_fn.saved_tensors.count(x)


def test_classes_are_not_decorated():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        weft.no_grad()(type("Made", (), {}))


def test_inference_mode_can_be_left_for_a_while():
    with weft.inference_mode():
        with weft.inference_mode(False):
            assert not weft.is_inference_mode_enabled() and weft.is_grad_enabled()
        assert weft.is_inference_mode_enabled() and not weft.is_grad_enabled()


def test_the_node_of_a_function_has_edges_for_tensors_alone():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, number, x, name, y):
            ctx.number = number
            return x * number + y

        @staticmethod
        def backward(ctx, g):
            return wrong, g * ctx.number, None, g

    seen = []
    wrong = None
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    y = Scaled.apply(3, x, "name", ones(2))
    assert [n and n.name() for n, _ in y.grad_fn.next_functions] == ["torch::autograd::AccumulateGrad", None]
    y.grad_fn.register_hook(lambda gi, go: seen.append(([g is None for g in gi], len(go))))
    y.sum().backward()
    assert seen == [([False, False], 1)] and x.grad.tolist() == [3, 3]
    wrong = ones(2)
    with pytest.raises(RuntimeError, match="returned a gradient different than None at position 1, but the corresponding"):
        Scaled.apply(3, x, "name", x).sum().backward()
