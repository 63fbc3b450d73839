"""Parameters and modules made inside of captured functions, and tensors that operations return as they are."""

import pytest
from weft._higher_order_ops import wrap

import weft
from weft import _dynamo as dynamo
from weft import nn

X = weft.arange(4.0)


def filled(module):
    for p in module.parameters():
        nn.init.constant_(p, 0.25)
    return module


def a_parameter(x):
    w = nn.Parameter(weft.ones(4) * 2)
    y = (x * w).sum()
    y.backward()
    return w.grad, w.is_leaf, w.grad_fn, isinstance(w, nn.Parameter)


def a_network(x):
    m = filled(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
    return m(x).detach(), [name for name, _ in m.named_parameters()]


def trained(x):
    m = filled(nn.Linear(4, 2))
    optimizer = weft.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (m(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
    return loss.detach(), m.weight.detach()


def frozen(x):
    return filled(nn.Linear(4, 2)).requires_grad_(False)(x)


def written(x):
    m = nn.Linear(4, 4)
    with weft.no_grad():
        m.weight.copy_(weft.eye(4))
        m.bias.zero_()
    return m(x).detach(), {k: v.shape for k, v in m.named_parameters()}


def recurrent(x):
    return filled(nn.LSTM(4, 3))(x.reshape(1, 1, 4))[0].detach()


def attention(x):
    q = x.reshape(1, 1, 4)
    return filled(nn.MultiheadAttention(4, 2))(q, q, q)[0].detach()


def constant(x):
    return nn.Parameter(x, requires_grad=False) * 2


def returned(x):
    w = nn.Parameter(x * 2)
    (w * w).sum().backward()
    return w, w.grad, type(w) is nn.Parameter


@pytest.mark.parametrize("function", [a_parameter, a_network, trained, frozen, written, recurrent, attention, constant, returned])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_as_plain(function, backend):
    dynamo.reset()
    weft.manual_seed(0)
    want = function(X)
    assert repr(weft.compile(function, backend=backend, fullgraph=True)(X)) == repr(want)


def test_a_module_that_is_returned():
    def function(x):
        return filled(nn.Linear(4, 2)), x + 1

    made, _ = weft.compile(function, backend="eager", fullgraph=True)(X)
    assert type(made) is nn.Linear and type(made.weight) is nn.Parameter and made.weight.requires_grad and made.weight.is_leaf
    assert made(X).tolist() == function(X)[0](X).tolist()


def itself(x):
    with weft.no_grad():
        same = x.contiguous(), x.float(), x.to(weft.float32), x.type_as(x)
    return x * 2, [s is x for s in same], [s.requires_grad for s in same], x.to(weft.float64) is x


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_what_returns_its_argument(backend):
    x = weft.ones(3, requires_grad=True)
    dynamo.reset()
    got, want = weft.compile(itself, backend=backend, fullgraph=True)(x), itself(x)
    assert got[0].tolist() == want[0].tolist() and got[1:] == want[1:]


def on_an_input(x):
    w = nn.Parameter(x)
    optimizer = weft.optim.SGD([w], lr=0.1)
    (w * w).sum().backward()
    optimizer.step()
    return w.detach().clone()


def beside_its_history(x):
    w = x.detach().requires_grad_()
    (g,) = weft.autograd.grad((w * x).sum(), w)
    return g.detach()


def of_a_part(x):
    w = x.detach()[:2].requires_grad_()
    (w**3).sum().backward()
    return w.grad


@pytest.mark.parametrize("function", [on_an_input, beside_its_history, of_a_part])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_leaves_on_the_memory_of_inputs(function, backend, requires_grad):
    x, y = (X.clone().requires_grad_(requires_grad) for _ in range(2))
    dynamo.reset()
    want = function(x), x.detach(), x.grad
    assert repr((weft.compile(function, backend=backend, fullgraph=True)(y), y.detach(), y.grad)) == repr(want)


class WithOne(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Parameter(weft.ones([]))


def test_a_function_that_others_call_does_not_change_modules_made_before():
    def function(x):
        module = WithOne()

        def inner(x):
            module.dims = x.dim()
            return x.clone()

        return wrap(inner, x) + module.dims

    dynamo.reset()
    counting = dynamo.testing.CompileCounter()
    assert weft.compile(function, backend=counting)(X).tolist() == function(X).tolist()
    with pytest.raises(dynamo.exc.Unsupported, match="changes what was there before"):
        weft.compile(function, backend="eager", fullgraph=True)(X)


def shown(x):
    z = x.clone()
    y = weft.zeros(2)
    y.set_(z[1:3])
    y.mul_(5)
    return z, y, y.shape


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_tensor_that_shows_the_memory_of_another(backend):
    dynamo.reset()
    assert repr(weft.compile(shown, backend=backend, fullgraph=True)(X)) == repr(shown(X))
