"""What kernels on a device find wrong, an index or a divisor, is raised by whoever waits for it first."""

from __future__ import annotations

import warnings

import pytest

import weft
from aten import settings

WAYS = {
    "tolist": lambda x: x.tolist(),
    "item": lambda x: x[2].item(),
    "bool": lambda x: bool(x[0]),
    "repr": repr,
    "cpu": lambda x: x.cpu(),
    "numpy": lambda x: x.numpy(force=True),
    "later": lambda x: x.to("cpu", non_blocking=True),
    "stream": lambda x: weft.cuda.current_stream().synchronize(),
    "device": lambda x: weft.cuda.synchronize(),
}


@pytest.mark.parametrize("way", WAYS)
def test_whoever_waits_is_told(device, way):
    x = weft.tensor([1, 2, 0, 3], device=device)
    with settings.patch(strict=False):
        quotient = x // x
        with pytest.raises(RuntimeError, match="floor_divide: ZeroDivisionError"):
            WAYS[way](quotient)


FAILING = {
    "quotient": lambda x, i: i // i,
    "remainder": lambda x, i: i % i,
    "index": lambda x, i: x[i + 9],
    "select": lambda x, i: x.index_select(0, i + 9),
    "gather": lambda x, i: x.gather(0, i + 9),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("compiled", [False, True])
def test_strict_says_what_the_cpu_says(device, name, compiled):
    f = weft.compile(FAILING[name]) if compiled else FAILING[name]
    x, i = weft.arange(4.0), weft.tensor([1, 2, 0, 3])
    with pytest.raises((RuntimeError, IndexError)) as want:
        FAILING[name](x, i)
    for _ in range(2):
        with settings.patch(strict=True), pytest.raises(want.type) as got:
            f(x.to(device), i.to(device))
        assert str(got.value) == str(want.value)


def test_a_check_that_no_other_loop_makes_runs_on_the_device(device):
    """One row of one element: its index decides nothing, and is checked all the same."""
    f = weft.compile(lambda x, i: weft.index_select(x, 0, i), fullgraph=True)
    x, i = weft.ones(1, device=device), weft.zeros(1, dtype=weft.int64, device=device)
    assert f(x, i).tolist() == [1.0]
    with settings.patch(strict=True), pytest.raises(IndexError):
        f(x, i + 1)


def test_results_with_names_come_back_from_the_host(device):
    x = weft.tensor([[3.0, 1.0], [0.0, 2.0]], device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it goes through the host
        found = weft.linalg.qr(x)
    assert found.R.device == device and (found.Q @ found.R).cpu().allclose(x.cpu())


def test_a_call_with_checks_copies_and_clears_nothing(sim, device):
    f = weft.compile(lambda x, i: x[i] * 2, fullgraph=True)
    x, i = weft.ones(5, device=device), weft.tensor([0, 4], device=device)
    with settings.patch(strict=False):
        f(x, i)
        names = ("cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync", "cuMemsetD8Async", "cuEventCreate", "cuMemAlloc")
        before = [sim.calls(name) for name in names]
        for _ in range(3):
            f(x, i)
        assert [sim.calls(name) for name in names] == before
        assert f(x, i).tolist() == [2.0, 2.0]


def test_what_failed_is_told_once(device):
    f = weft.compile(lambda x, i: x[i] * 3, fullgraph=True)
    x, i = weft.ones(5, device=device), weft.tensor([0, 5], device=device)
    with settings.patch(strict=False):
        f(x, i), f(x, i)
        with pytest.raises(IndexError, match="index: an index is out of range"):
            weft.cuda.synchronize()
        weft.cuda.synchronize()
        assert f(x, i - 1).tolist() == [3.0, 3.0]
        f(x, i)
        with pytest.raises(IndexError):
            weft.cuda.synchronize()


def test_calls_on_several_streams_share_the_words(device):
    f = weft.compile(lambda x, i: x[i] * 4, fullgraph=True)
    x, good, bad = weft.ones(5, device=device), weft.tensor([0, 4], device=device), weft.tensor([5], device=device)
    sides = [weft.cuda.Stream(), weft.cuda.Stream()]
    weft.cuda.synchronize()
    with settings.patch(strict=False):
        f(x, good[:1])
        for given in (bad, good[:1]):
            for side in sides:
                with weft.cuda.stream(side):
                    f(x, given)
        with pytest.raises(IndexError):
            weft.cuda.synchronize()
        weft.cuda.synchronize()
