"""Hooks that are registered before gradients are taken within the same captured function."""

import pytest

import weft

BACKENDS = ["eager", "aot_eager", "inductor"]
seen = []


def of_a_value_between(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.sum().backward()
    return x.grad


def of_a_leaf(x):
    handle = x.register_hook(lambda g: g * 3)
    (x * 2).sum().backward()
    handle.remove()
    return x.grad + 1


def several(x):
    k = x.detach() + 4
    y = x * 2
    y.register_hook(lambda g: g * k)
    y.register_hook(lambda g: g + 1)
    z = y * y
    z.register_hook(lambda g: -g)
    (z + y).sum().backward()
    return x.grad * 1


def with_effects_on_leaves(x):
    seen.clear()
    x.register_hook(lambda g: seen.append("before"))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append("after"))
    (x * 2).sum().backward()
    return list(seen)


def removed_or_without_effect(x):
    y = x * 2
    y.register_hook(lambda g: None)
    y.register_hook(lambda g: g * 100).remove()
    return weft.autograd.grad(y.sum(), x)


def of_an_input_of_grad(x):
    x.register_hook(lambda g: g * 5)
    return weft.autograd.grad((x * 2).sum(), x)


def walked_twice(x):
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return x.grad * 1


def written_behind_it(x):
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.mul_(3)
    y.sum().backward()
    return x.grad * 1


def plain(result):
    return [v.tolist() if isinstance(v, weft.Tensor) else v for v in (result if isinstance(result, (tuple, list)) else (result,))]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f", [of_a_value_between, of_a_leaf, several, with_effects_on_leaves, removed_or_without_effect, of_an_input_of_grad,
          walked_twice, written_behind_it],
)  # fmt: skip
def test_as_in_plain_python(f, backend):
    weft._dynamo.reset()
    x, own = [weft.ones(3).requires_grad_() for _ in range(2)]
    assert plain(weft.compile(f, backend=backend, fullgraph=True)(own)) == plain(f(x))
    assert (own.grad is None) == (x.grad is None) and (x.grad is None or own.grad.equal(x.grad))


def test_a_hook_between_with_effects_is_left_to_python():
    def f(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(g))
        y.sum().backward()
        return x.grad

    x = weft.ones(3).requires_grad_()
    with pytest.raises(weft._dynamo.exc.Unsupported, match="changes what was there before"):
        weft.compile(f, backend="eager", fullgraph=True)(x)
    seen.clear()
    assert weft.compile(f, backend="eager")(x).tolist() == [2, 2, 2] and len(seen) == 1
