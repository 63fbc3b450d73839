"""`autograd.grad` and `backward()` inside of compiled functions: part of the graph under fullgraph."""

import pytest

import dynamo
import weft
from dynamo.testing import CompileCounter, CompileCounterWithBackend
from weft import nn
from weft.nn import functional as F

BACKENDS = ["eager", "aot_eager", "inductor"]


def inputs():
    generator = weft.Generator().manual_seed(0)
    return [weft.randn(n, 3, generator=generator).requires_grad_() for n in (4, 3)]


def gradients_of_inputs(x, w):
    y = (x @ w).sin().sum()
    (g,) = weft.autograd.grad(y, [x])
    return g, y.detach()


def backward(x, w):
    y = (x @ w).tanh().sum()
    y.backward()
    return y, x.grad, w.grad


def twice_differentiated(x, w):
    (g,) = weft.autograd.grad((x @ w).sin().sum(), x, create_graph=True)
    (g * g).sum().backward()
    return x.grad, w.grad


def a_leaf_of_its_own(x, w):
    z = (x @ w).detach().requires_grad_()
    (z * z * z).sum().backward()
    return z.grad, z.grad.is_contiguous()


def added_up(x, w):
    (x @ w).mean().backward()
    (x * w[0]).sum().backward()
    return x.grad, w.grad


def given_gradients(x, w):
    return weft.autograd.grad(x @ w, (x, w), grad_outputs=weft.full((4, 3), 2.0))


def several_outputs(x, w):
    weft.autograd.backward([(x * 2).sum(), (x @ w).sum()])
    return x.grad, w.grad


def unused(x, w):
    g = weft.autograd.grad((x * 3).sum(), (x, w), allow_unused=True)
    return g[0], g[1] is None


def shared_gradients(x, w):
    (x + x.detach() + w[0]).sum().backward()
    x.grad.mul_(5)
    return x.grad, w.grad


def kept(x, w):
    y = (x @ w).exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, w.grad


def without_gradients_meanwhile(x, w):
    y = (x @ w).sum()
    with weft.no_grad():
        y.backward()
    return x.grad + w.grad[0]


def only_some(x, w):
    (x @ w).sum().backward(inputs=[w])
    return x.grad is None, w.grad


WHOLE = [
    gradients_of_inputs, backward, twice_differentiated, a_leaf_of_its_own, added_up, given_gradients, several_outputs, unused,
    shared_gradients, kept, without_gradients_meanwhile, only_some,
]  # fmt: skip


def alike(a, b):
    if not isinstance(a, weft.Tensor):
        return a == b
    layouts = a.stride() == b.stride() and a.requires_grad == b.requires_grad
    return layouts and weft.allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", WHOLE)
def test_gradients_are_part_of_the_graph(function, backend):
    counter = CompileCounterWithBackend(backend)
    compiled = weft.compile(function, fullgraph=True, backend=counter)
    for _ in range(2):
        expected, given = function(*inputs()), compiled(*inputs())
        if isinstance(expected, weft.Tensor):
            expected, given = (expected,), (given,)
        assert len(expected) == len(given) and all(map(alike, expected, given))
    assert counter.frame_count == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_walked_cannot_be_walked_again(backend):
    x, w = inputs()
    y, _, _ = weft.compile(backward, fullgraph=True, backend=backend)(x, w)
    assert y.requires_grad and not y.is_leaf
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        (y * 2).backward()


def test_what_was_walked_to_a_leaf_of_the_graph_alone():
    def function(x):
        z = x.detach().clone().requires_grad_()
        y = (z * z).sum()
        y.backward()
        return y, z.grad

    y, g = weft.compile(function, fullgraph=True)(weft.ones(3))
    assert y.requires_grad and g.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.norm = nn.Linear(6, 8), nn.Linear(8, 3), nn.BatchNorm1d(8)
        self.frozen = nn.Linear(8, 8).requires_grad_(False)
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        return self.last(F.dropout(F.gelu(self.frozen(self.norm(self.first(x)))), 0.2, self.training))


def plain(net, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def clipped(net, optimizer, x, y):
    optimizer.zero_grad(set_to_none=False)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    optimizer.step()
    return loss.detach() + norm


def two_steps(net, optimizer, x, y):
    total = 0.0
    for part, target in zip(x.chunk(2), y.chunk(2)):
        total = total + plain(net, optimizer, part, target).detach()
    return total


OPTIMIZERS = {
    "SGD": lambda p: weft.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "AdamW": lambda p: weft.optim.AdamW(p, 1e-2),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("step", [plain, clipped, two_steps])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_training_step_is_one_graph(backend, step, optimizer):
    trained = []
    for compile in (False, True):
        dynamo.reset()
        weft.manual_seed(0)
        net = Net()
        made = OPTIMIZERS[optimizer](net.parameters())
        counter = CompileCounterWithBackend(backend)
        run = weft.compile(step, fullgraph=True, backend=counter) if compile else step
        losses = [run(net, made, weft.randn(12, 6), weft.arange(12) % 3) for _ in range(4)]
        trained.append((losses, net))
        assert not compile or counter.frame_count == 2  # the first step has no state and no gradients yet
    (losses, net), (ours, compiled) = trained
    assert all(map(alike, losses, ours))
    noise = {"first.bias"}  # before a normalisation its gradient is 0 but for rounding
    for (name, p), q in zip(net.named_parameters(), compiled.parameters()):
        assert name in noise or weft.allclose(p, q, rtol=1e-4, atol=1e-5), name
        assert (p.grad is None) == (q.grad is None) and (p.grad is None or p.grad.stride() == q.grad.stride())


def written_meanwhile(x, w):
    y = (x @ w).sum()
    with weft.no_grad():
        w.mul_(2)
    y.backward()
    return x.grad


def hooked(x):
    x.register_hook(lambda g: g * 2)
    return x


BREAKING = {
    "a history from before": (backward, lambda: (inputs()[0] * 2, inputs()[1])),
    "hooks": (backward, lambda: (hooked(inputs()[0]), inputs()[1])),
    "a kept tensor that is written": (written_meanwhile, lambda: inputs()),
    "no scalar": (lambda x, w: weft.autograd.grad(x @ w, x), lambda: inputs()),
    "an unused input": (lambda x, w: weft.autograd.grad(x.sum(), w), lambda: inputs()),
    "no history": (lambda x, w: x.detach().sum().backward(), lambda: inputs()),
    "a second walk": (lambda x, w: [weft.autograd.grad(y, x) for y in [(x * x).sum()] * 2], lambda: inputs()),
    "a leaf of its own that leaves": (lambda x, w: ((x * 2).detach().requires_grad_() * 3,), lambda: inputs()),
    "a leaf written": (lambda x, w: (x.mul_(2).sum().backward(), x.grad), lambda: inputs()),
}


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # (which one of them asks for)
@pytest.mark.parametrize("name", BREAKING)
def test_what_the_graph_cannot_know_is_left_to_python(name):
    function, make = BREAKING[name]
    results = []
    with dynamo.config.patch(trace_autograd_ops=True):
        for f in (function, weft.compile(function, backend=CompileCounter())):
            args = make()
            try:
                found = f(*args)
            except RuntimeError as e:
                found = str(e)
            results.append((repr(found), [repr(x.grad) if x.is_leaf else None for x in args]))
    assert results[0] == results[1]
    with pytest.raises((dynamo.Unsupported, RuntimeError)):
        weft.compile(function, fullgraph=True)(*make())


def test_backward_breaks_the_graph_of_functions_that_may_break():
    counter = CompileCounter()
    weft.compile(backward, backend=counter)(*inputs())
    assert counter.frame_count == 1
    with dynamo.config.patch(trace_autograd_ops=True):
        dynamo.reset()
        graph = CompileCounter()
        weft.compile(backward, backend=graph)(*inputs())
    assert graph.frame_count == 1 and graph.op_count > counter.op_count


def test_other_sizes_share_the_graph():
    counter = CompileCounterWithBackend("inductor")
    compiled = weft.compile(backward, fullgraph=True, dynamic=True, backend=counter)
    for n in (4, 7, 2):
        x, w = weft.ones(n, 3, requires_grad=True), weft.ones(3, 3, requires_grad=True)
        expected = backward(weft.ones(n, 3, requires_grad=True), weft.ones(3, 3, requires_grad=True))
        assert all(map(alike, expected, compiled(x, w)))
    assert counter.frame_count == 1


def test_gradients_that_are_there_already_are_added_to():
    compiled = weft.compile(backward, fullgraph=True)
    (x, w), (a, b) = inputs(), inputs()
    for _ in range(3):
        backward(x, w)
        before = a.grad
        compiled(a, b)
        assert before is None or a.grad is before
        assert alike(x.grad, a.grad) and alike(w.grad, b.grad)


def test_whether_a_walk_is_for_all_leaves_is_a_constant():
    compiled = weft.compile(lambda x: x + 1 if weft.autograd._is_checkpoint_valid() else x - 1, backend="eager", fullgraph=True)
    assert compiled(weft.zeros(1)).item() == 1
    found = []
    x = weft.ones(1, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: found.append(compiled(weft.zeros(1)).item()))
    weft.autograd.grad(y.sum(), [x])
    assert found == [-1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dynamic", [None, True])
def test_gradients_for_what_the_graph_has_computed_need_no_fullgraph(backend, dynamic):
    """Behind a break the results of a graph have no history of one another."""

    def pieces(x):
        x = x.clone().requires_grad_(True)
        p = x.unbind(0)
        return weft.autograd.grad((p[0] ** 2 * p[1]).sum(), [p[0], p[1], p[2]], allow_unused=True)

    def twice(x):
        x = x.clone().requires_grad_(True)
        q = x * 2
        (g,) = weft.autograd.grad((q**3).sum(), q, create_graph=True)
        return g, *weft.autograd.grad(g.sum(), q)

    def view_and_leaf(x):
        x = x.clone().requires_grad_(True)
        q = (x * 2).view(-1)
        return weft.autograd.grad((q**2).sum(), [q, x])

    x = weft.arange(6.0).view(3, 2) + 1
    for f in (pieces, twice, view_and_leaf):
        for a, b in zip(f(x), weft.compile(f, backend=backend, dynamic=dynamic)(x)):
            assert (a is None and b is None) or weft.equal(a, b)
