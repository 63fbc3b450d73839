"""Programs of users of streams, events, graphs, pinned memory and several devices, beside the same computed on the CPU."""

from __future__ import annotations

import copy
import threading

import pytest

import weft
from tests.cuda.compiled.as_on_cpu import same

nn, F = weft.nn, weft.nn.functional


def on_cuda(device: str) -> bool:
    return device == "cuda"


def a_side_stream(d):
    x = weft.arange(10.0, device=d)
    if not on_cuda(d):
        return x * 3 + 1
    side = weft.cuda.Stream()
    side.wait_stream(weft.cuda.current_stream())
    with weft.cuda.stream(side):
        y = x * 3
        y.record_stream(weft.cuda.current_stream())
    weft.cuda.current_stream().wait_stream(side)
    return y + 1


def a_backward_of_what_a_side_stream_computed(d):
    x = weft.arange(6.0, device=d, requires_grad=True)
    if on_cuda(d):
        side = weft.cuda.Stream()
        side.wait_stream(weft.cuda.current_stream())
        with weft.cuda.stream(side):
            y = (x * x).sum()
        weft.cuda.current_stream().wait_stream(side)
        y.backward()
    else:
        (x * x).sum().backward()
    return x.grad


def a_backward_in_a_thread_of_its_own(d):
    x = weft.ones(3, device=d, requires_grad=True)

    def run():
        y = (x * 2).sum()
        thread = threading.Thread(target=y.backward)
        thread.start()
        thread.join()

    if not on_cuda(d):
        run()
        return x.grad
    side = weft.cuda.Stream()
    side.wait_stream(weft.cuda.current_stream())
    with weft.cuda.stream(side):
        run()
    side.synchronize()
    return x.grad


def an_exception_in_a_stream_context(d):
    if on_cuda(d):
        before = weft.cuda.current_stream()
        try:
            with weft.cuda.stream(weft.cuda.Stream()):
                weft.ones(4, device=d) + weft.ones(5, device=d)
        finally:
            assert weft.cuda.current_stream() == before
    return weft.ones(4, device=d) + weft.ones(5, device=d)


def threads_with_their_streams(d):
    out = [None] * 4

    def work(k):
        with weft.cuda.stream(weft.cuda.Stream() if on_cuda(d) else None):
            y = weft.full((5,), float(k), device=d)
            for _ in range(3):
                y = y * 2 + 1
            out[k] = y.cpu()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return out


def pinned_there_and_back(d):
    x = weft.arange(12.0).reshape(3, 4)
    if not on_cuda(d):
        return x * 2
    y = x.pin_memory().to(d, non_blocking=True) * 2
    out = weft.empty(3, 4, pin_memory=True).copy_(y, non_blocking=True)
    weft.cuda.synchronize()
    return out


def copies_by_turns_on_two_streams(d):
    x = weft.arange(8.0)
    if not on_cuda(d):
        return [x[k : k + 2] * 2 for k in range(0, 8, 2)]
    x, streams, out = x.pin_memory(), [weft.cuda.Stream() for _ in range(2)], []
    for k in range(0, 8, 2):
        with weft.cuda.stream(streams[k // 2 % 2]):
            out.append(x[k : k + 2].to(d, non_blocking=True) * 2)
    weft.cuda.synchronize()
    return out


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_that_pin(cuda, workers):
    def program(d):
        data = weft.utils.data.TensorDataset(weft.arange(10.0).reshape(10, 1), weft.arange(10))
        out = []
        for a, b in weft.utils.data.DataLoader(data, batch_size=4, num_workers=workers, pin_memory=on_cuda(d)):
            assert not on_cuda(d) or (a.is_pinned() and b.is_pinned())
            out += [(a.to(d, non_blocking=True) * 2).sum(), b.to(d, non_blocking=True)]
        return out

    same(program)


def a_step_that_is_captured(d):
    model = nn.Linear(3, 2).to(d)
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, t = weft.ones(4, 3, device=d), weft.zeros(4, 2, device=d)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), t)
        loss.backward()
        optimizer.step()
        return loss

    side = weft.cuda.Stream() if on_cuda(d) else None
    if on_cuda(d):
        side.wait_stream(weft.cuda.current_stream())
    with weft.cuda.stream(side):  # warm-up
        for _ in range(3):
            step()
    graph, loss = None, None
    if on_cuda(d):
        weft.cuda.current_stream().wait_stream(side)
        graph = weft.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with weft.cuda.graph(graph):
            loss = step()
    out = []
    for k in range(3):
        x.fill_(k + 1.0)
        if graph is None:
            loss = step()
        else:
            graph.replay()
        out.append(loss.detach().clone())
    return out, list(model.parameters())


def a_graphed_module(d):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).to(d)
    x = weft.randn(5, 3).to(d)
    if on_cuda(d):
        model = weft.cuda.make_graphed_callables(model, (weft.zeros(5, 3, device=d),))
    out = []
    for k in range(2):
        y = model(x + k)
        y.sum().backward()
        out.append(y.detach().clone())  # the next call writes where y is
    return out, [p.grad for p in model.parameters()]


def reduce_overhead_of_changing_inputs(d):
    f = weft.compile(lambda x, y: (x * y + 1).relu().sum(-1), mode="reduce-overhead")
    return [f(weft.full((4, 8), float(k)).to(d), weft.ones(4, 8, device=d)) for k in range(4)]


def reduce_overhead_in_training(d):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).to(d)
    call, optimizer, losses = weft.compile(model, mode="reduce-overhead"), weft.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = call(weft.randn(3, 4).to(d)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses, list(model.parameters())


def two_devices(d):
    x = weft.arange(4.0, device=d)
    if not on_cuda(d):
        return x * 2, x * 2 + 1, x.sum()
    y = (x * 2).to("cuda:1")
    with weft.cuda.device(1):
        one = weft.ones(4, device="cuda")
    assert one.device.index == 1
    return y.to("cuda:0"), (y + one).to("cuda:0"), x.cuda(1).sum().to("cuda:0")


def a_gradient_through_two_devices(d):
    w = weft.arange(3.0, device=d, requires_grad=True)
    y = w * 2
    (y.to("cuda:1") if on_cuda(d) else y).pow(2).sum().backward()
    return w.grad


def replicas(d):
    model, x = nn.Linear(3, 2), weft.randn(4, 3)
    if not on_cuda(d):
        return model(x)
    models = [copy.deepcopy(model).to(f"cuda:{k}") for k in range(2)]
    return weft.cat([models[k](x[2 * k : 2 * k + 2].to(f"cuda:{k}")).to("cuda:0") for k in range(2)])


def memory_that_is_not_there(d):
    if on_cuda(d):
        with pytest.raises(weft.cuda.OutOfMemoryError):
            weft.empty(1 << 44, device=d, dtype=weft.uint8)
    return weft.ones(3, device=d) * 2


def saved_on_the_host(d):
    x = weft.ones(3, device=d, requires_grad=True)
    with weft.autograd.graph.save_on_cpu(pin_memory=on_cuda(d)):
        y = (x * x).sum()
    y.backward()
    return x.grad


ON_ONE = [a_side_stream, a_backward_of_what_a_side_stream_computed, a_backward_in_a_thread_of_its_own,
          an_exception_in_a_stream_context, threads_with_their_streams, pinned_there_and_back, copies_by_turns_on_two_streams,
          a_step_that_is_captured, a_graphed_module, reduce_overhead_of_changing_inputs, reduce_overhead_in_training,
          memory_that_is_not_there, saved_on_the_host]  # fmt: skip


@pytest.mark.parametrize("program", ON_ONE, ids=lambda f: f.__name__)
def test_as_on_the_cpu(cuda, program):
    same(program)


@pytest.mark.parametrize("program", [two_devices, a_gradient_through_two_devices, replicas], ids=lambda f: f.__name__)
def test_of_two_devices(second, program):
    same(program)


def test_figures_of_memory(cuda):
    before = weft.cuda.memory_allocated()
    weft.cuda.reset_peak_memory_stats()
    x = weft.empty(1 << 20, device=cuda)
    weft.cuda.empty_cache()
    assert weft.cuda.memory_allocated() == before + (4 << 20) and x.nbytes == 4 << 20
    del x
    assert weft.cuda.memory_allocated() == before and weft.cuda.max_memory_allocated() == before + (4 << 20)
