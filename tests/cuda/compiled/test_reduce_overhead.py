"""mode="reduce-overhead": the launches of a call are played as one graph of the driver, patched where arguments differ."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from aten import errors

F = weft.nn.functional


def floats(*sizes, seed=0):
    return weft.from_numpy(np.random.default_rng(seed).normal(size=sizes).astype("f4"))


def two_kernels(x):
    return F.softmax(x @ x.t(), -1) + 1


def fast(f, **options):
    return weft.compile(f, mode="reduce-overhead", fullgraph=True, **options)


def test_a_call_is_one_launch_of_a_graph(sim, device):
    f, x = fast(two_kernels), floats(16, 20)
    given = x.to(device)
    for k in range(3):
        names = ("cuGraphLaunch", "cuLaunchKernelEx", "cuGraphAddKernelNode")
        before = [sim.calls(name) for name in names]
        out = f(given)
        graphs, launches, nodes = (sim.calls(n) - b for n, b in zip(names, before))
        assert (graphs, launches, nodes > 1) == (1, 0, k == 0)  # built by the first call alone
        np.testing.assert_allclose(out.cpu().numpy(), two_kernels(x).numpy(), rtol=1e-4, atol=1e-5)


def test_inputs_are_read_where_they_lie(sim, device):
    f = fast(two_kernels)
    tensors = [floats(16, 20, seed=k) for k in range(3)]
    given = [x.to(device) for x in tensors]
    weft.cuda.synchronize()
    before = sim.calls("cuMemcpyDtoDAsync"), sim.calls("cuMemcpyHtoDAsync"), sim.calls("cuMemcpyDtoHAsync")
    made = [f(x) for x in given]  # all are queued before any is looked at
    assert before == (sim.calls("cuMemcpyDtoDAsync"), sim.calls("cuMemcpyHtoDAsync"), sim.calls("cuMemcpyDtoHAsync"))
    for x, out in zip(tensors, made):
        np.testing.assert_allclose(out.cpu().numpy(), two_kernels(x).numpy(), rtol=1e-4, atol=1e-5)


def test_results_are_never_overwritten(device):
    f, x, y = fast(two_kernels), floats(16, 20), floats(16, 20, seed=1)
    a, b = x.to(device), y.to(device)
    first = f(a)
    kept = first.cpu().numpy()
    second = f(b)
    assert second.data_ptr() != first.data_ptr()
    np.testing.assert_array_equal(first.cpu().numpy(), kept)


def test_what_lies_as_before_is_not_patched(sim, device):
    f, x = fast(two_kernels), floats(16, 20).to(device)
    for _ in range(2):
        f(x)
    before = sim.calls("cuGraphExecKernelNodeSetParams")
    f(x)
    assert sim.calls("cuGraphExecKernelNodeSetParams") == before
    y = x.clone()
    f(y)
    assert sim.calls("cuGraphExecKernelNodeSetParams") > before


def test_sizes_that_change_patch_the_graph(device):
    f = fast(two_kernels, dynamic=True)
    for rows, columns in ((17, 20), (9, 33), (5, 7)):
        x = floats(rows, columns)
        np.testing.assert_allclose(f(x.to(device)).cpu().numpy(), two_kernels(x).numpy(), rtol=1e-4, atol=1e-5)


def test_forward_and_backward(sim, device):
    def loss(x, w):
        return F.softmax(F.gelu(x @ w), -1).pow(2).mean()

    f, x, w = fast(loss), floats(8, 12), floats(12, 10, seed=1)
    a, b = (t.to(device).requires_grad_() for t in (x, w))
    x.requires_grad_(), w.requires_grad_()
    loss(x, w).backward()
    f(a, b).backward()
    a.grad = b.grad = None
    before = sim.calls("cuGraphLaunch")
    f(a, b).backward()
    assert sim.calls("cuGraphLaunch") == before + 2
    for have, want in ((a, x), (b, w)):
        np.testing.assert_allclose(have.grad.cpu().numpy(), want.grad.numpy(), rtol=1e-3, atol=1e-6)


def test_inputs_written_in_place(device):
    def step(x, y):
        x.mul_(2)
        y.copy_(x.sum(0))
        return x @ x.t()

    f, x, y = fast(step), floats(9, 4), weft.zeros(4)
    a, b = x.to(device), y.to(device)
    for _ in range(2):
        out, want = f(a, b), step(x, y)
        for have, expected in ((out, want), (a, x), (b, y)):
            np.testing.assert_allclose(have.cpu().numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_an_op_in_between_ends_a_graph(device, monkeypatch):
    monkeypatch.setattr(errors, "_warned", set())  # (another test may have heard it)

    def f(x):
        y = F.softmax(x @ x.t(), -1)
        return F.softmax(weft.linalg.solve(y + weft.eye(6, device=x.device), x) @ x.t(), -1).sum()

    x = floats(6, 6)
    given, g = x.to(device), weft.compile(f, mode="reduce-overhead")
    with pytest.warns(UserWarning, match="runs on the CPU"):
        for _ in range(2):
            np.testing.assert_allclose(g(given).item(), f(x).item(), rtol=1e-3)


def test_within_a_capture_launches_are_launches(device):
    f, x = fast(two_kernels), floats(16, 20)
    given, graph = x.to(device), weft.cuda.CUDAGraph()
    f(given)
    with weft.cuda.graph(graph):
        out = f(given)
    assert graph.kernels() > 1
    graph.replay()
    np.testing.assert_allclose(out.cpu().numpy(), two_kernels(x).numpy(), rtol=1e-4, atol=1e-5)


def test_streams_of_their_own(device):
    f, x, y = fast(two_kernels), floats(16, 20), floats(16, 20, seed=1)
    a, b, side = x.to(device), y.to(device), weft.cuda.Stream()
    side.wait_stream(weft.cuda.current_stream())
    first = f(a)
    with weft.cuda.stream(side):
        second = f(b).cpu()
    np.testing.assert_allclose(first.cpu().numpy(), two_kernels(x).numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(second.numpy(), two_kernels(y).numpy(), rtol=1e-4, atol=1e-5)


FAILING = ["cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams", "cuGraphLaunch"]


@pytest.mark.parametrize("call", FAILING)
def test_a_failure_is_an_error_and_the_next_call_is_right(sim, device, call):
    number = len(call)  # no other test has compiled this

    def kernels(x):
        return two_kernels(x) * number

    f, x, y = fast(kernels), floats(16, 20), floats(16, 20, seed=1)
    a, b = x.to(device), y.to(device)
    if call == "cuGraphExecKernelNodeSetParams":
        f(a)
    sim.fail(call, 1, 1)
    with pytest.raises(errors.CudaError, match="CUDA_ERROR_INVALID_VALUE"):
        f(b)
    np.testing.assert_allclose(f(b).cpu().numpy(), kernels(y).numpy(), rtol=1e-4, atol=1e-4)
