"""Random numbers of captured graphs: a replay draws what the block would draw if it ran now, and leaves the generator there."""

from __future__ import annotations

import pytest

import weft
from weft.nn import functional as F


def captured(block):
    graph = weft.cuda.CUDAGraph()
    with weft.cuda.graph(graph):
        result = block()
    return graph, result


DRAWS = {
    "rand": lambda d: weft.rand(5, device=d),
    "randn": lambda d: weft.randn(3, 4, device=d),
    "float64": lambda d: weft.rand(3, dtype=weft.float64, device=d),
    "half": lambda d: weft.randn(5, dtype=weft.float16, device=d),
    "randint": lambda d: weft.randint(0, 100, (6,), device=d),
    "randperm": lambda d: weft.randperm(7, device=d),
    "dropout": lambda d: F.dropout(weft.ones(4, 5, device=d), 0.5),
    "bernoulli": lambda d: weft.bernoulli(weft.full((6,), 0.5, device=d)),
    "in place": lambda d: weft.empty(6, device=d).normal_(2.0, 3.0),
    "exponential": lambda d: weft.empty(6, device=d).exponential_(),
    "several": lambda d: weft.rand(5, device=d) + weft.randn(5, device=d) * F.dropout(weft.ones(5, device=d)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_each_replay_draws_what_is_next(device, name):
    draw = DRAWS[name]
    draw(device)
    weft.manual_seed(3)
    weft.rand(9)
    before = weft.get_rng_state().tolist()
    graph, result = captured(lambda: draw(device))
    assert weft.get_rng_state().tolist() == before  # a capture draws nothing
    found = []
    for _ in range(3):
        graph.replay()
        found.append(result.tolist())
    after = weft.get_rng_state().tolist()
    weft.manual_seed(3)
    weft.rand(9)
    want = [draw(device).tolist() for _ in range(3)]
    assert found == want and want[0] != want[1]
    assert weft.get_rng_state().tolist() == after
    weft.manual_seed(3)
    weft.rand(9)
    graph.replay()
    assert result.tolist() == want[0]


def test_two_graphs_take_turns(device):
    a, x = captured(lambda: weft.rand(5, device=device))
    b, y = captured(lambda: weft.rand(3, device=device) * 2)
    weft.manual_seed(1)
    found = []
    for graph, result in ((a, x), (b, y), (b, y), (a, x)):
        graph.replay()
        found.append(result.tolist())
    weft.manual_seed(1)
    assert found == [weft.rand(5).tolist(), (weft.rand(3) * 2).tolist(), (weft.rand(3) * 2).tolist(), weft.rand(5).tolist()]


def test_launches_wait_for_no_replay_that_is_queued(device, lazy):
    graph, x = captured(lambda: weft.rand(4, device=device))
    weft.manual_seed(1)
    graph.replay()
    first = x.clone()
    graph.replay()
    weft.manual_seed(1)
    assert [first.tolist(), x.tolist()] == [weft.rand(4).tolist(), weft.rand(4).tolist()]


def test_a_generator_that_is_registered(device):
    generator = weft.Generator(device="cuda").manual_seed(5)
    graph = weft.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with weft.cuda.graph(graph):
        x = weft.rand(4, device=device, generator=generator)
        y = weft.rand(4, device=device)
    weft.manual_seed(8)
    graph.replay()
    graph.replay()
    again = weft.Generator().manual_seed(5)
    weft.manual_seed(8)
    for _ in range(2):
        want = [weft.rand(4, generator=again).tolist(), weft.rand(4).tolist()]
    assert [x.tolist(), y.tolist()] == want and generator.get_offset() == again.get_offset()


def test_a_generator_that_is_not_registered(device):
    generator = weft.Generator(device="cuda")
    with pytest.raises(RuntimeError, match="Attempt to increase offset for a CUDA generator not in capture mode"):
        captured(lambda: weft.rand(4, device=device, generator=generator))
    assert not weft.cuda.is_current_stream_capturing()
    graph, x = captured(lambda: weft.rand(4, device=device))
    graph.replay()
    assert len(set(x.tolist())) == 4


def test_seeding_while_a_graph_is_captured(device):
    weft.manual_seed(4)

    def block():
        weft.manual_seed(4)  # as it is
        with pytest.raises(RuntimeError, match="seed stays as it is"):
            weft.manual_seed(5)
        return weft.rand(3, device=device)

    graph, x = captured(block)
    graph.replay()
    weft.manual_seed(4)
    assert x.tolist() == weft.rand(3).tolist()


def test_the_host_draws_while_a_graph_is_captured(device):
    weft.manual_seed(4)
    kept = []
    graph, x = captured(lambda: (kept.append(weft.rand(4)), weft.rand(4, device=device))[1])
    graph.replay()
    numbers = [kept[0].tolist(), x.tolist(), weft.rand(4).tolist()]
    weft.manual_seed(4)
    assert numbers[0] == weft.rand(4).tolist()
    assert len({x for some in numbers for x in some}) == 12


def test_compiled_code_draws_in_a_graph(device):
    f = weft.compile(lambda x: F.dropout(x * 2, 0.5) + weft.rand(6, device=x.device), fullgraph=True)
    x = weft.ones(6, device=device)
    f(x)
    graph, y = captured(lambda: f(x))
    weft.manual_seed(2)
    graph.replay()
    graph.replay()
    found = y.tolist()
    weft.manual_seed(2)
    f(weft.ones(6))
    assert found == f(weft.ones(6)).tolist()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_graphed_layer_drops_out(device, compiled):
    layer = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.Dropout(0.5), weft.nn.Linear(8, 2))
    here = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.Dropout(0.5), weft.nn.Linear(8, 2))
    here.load_state_dict(layer.state_dict())
    layer.to(device)
    f = weft.compile(layer) if compiled else layer
    played = weft.cuda.make_graphed_callables(lambda x, *p: f(x), (weft.zeros(3, 4, device=device), *layer.parameters()))
    weft.manual_seed(7)
    want, got = [], []
    for _ in range(2):
        layer.zero_grad()
        out = played(weft.ones(3, 4, device=device), *layer.parameters())
        out.sum().backward()
        got.append((out.cpu(), [p.grad.cpu() for p in layer.parameters()]))
    weft.manual_seed(7)
    for _ in range(2):
        here.zero_grad()
        out = here(weft.ones(3, 4))
        out.sum().backward()
        want.append((out, [p.grad for p in here.parameters()]))
    for (g, gs), (w, ws) in zip(got, want):
        weft.testing.assert_close(g, w)
        weft.testing.assert_close(gs, ws)
    assert want[0][0].tolist() != want[1][0].tolist()


def test_a_backward_that_is_not_captured_meets_the_numbers_of_the_replay(device):
    f = weft.compile(lambda x: F.dropout(x, 0.5))
    x = weft.ones(8, device=device, requires_grad=True)
    f(x).sum().backward()
    x.grad = None
    graph, y = captured(lambda: f(x))
    graph.replay()
    y.sum().backward()
    assert x.grad.tolist() == y.tolist() and len(set(y.tolist())) == 2


def test_what_is_computed_again_draws_the_same(device):
    from weft.utils.checkpoint import checkpoint

    x = weft.ones(8, device=device, requires_grad=True)
    step = lambda: weft.autograd.grad(checkpoint(lambda x: F.dropout(x * x, 0.5), x, use_reentrant=False).sum(), x)[0]
    step()
    graph, g = captured(step)
    seen = set()
    for _ in range(3):
        graph.replay()
        assert set(g.tolist()) <= {0.0, 4.0}
        seen.add(tuple(g.tolist()))
    assert len(seen) > 1


def test_reduce_overhead_draws_anew(device):
    f = lambda x: F.dropout(x.sin(), 0.5) @ x + F.dropout(x, 0.25).cos()
    fast = weft.compile(f, mode="reduce-overhead")
    x = weft.rand(4, 4)
    fast(x.to(device))
    weft.manual_seed(11)
    got = [fast(x.to(device)).tolist() for _ in range(3)]
    weft.manual_seed(11)
    plain = weft.compile(f)
    want = [plain(x.to(device)).tolist() for _ in range(3)]
    weft.manual_seed(11)
    here = [f(x) for _ in range(3)]
    assert got == want and got[0] != got[1]
    for g, h in zip(got, here):
        weft.testing.assert_close(weft.tensor(g), h, rtol=1e-5, atol=1e-5)


def test_dropout_is_one_kernel_whatever_the_seed(device):
    from inductor.cuda import eager

    x = weft.ones(8, device=device)
    F.dropout(x)
    before = sum(map(len, eager._programs.values()))
    for seed in (1, 2**64 - 3):
        weft.manual_seed(seed)
        found = [F.dropout(x).tolist() for _ in range(2)]
        weft.manual_seed(seed)
        assert found == [F.dropout(weft.ones(8)).tolist() for _ in range(2)]
    assert sum(map(len, eager._programs.values())) == before
