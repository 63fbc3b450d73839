"""`torch.multiprocessing`: the standard library's names, and one function in several processes."""

import importlib

import pytest

import weft
import weft.multiprocessing as mp


def put(index, queue):
    queue.put((index, (weft.ones(2) * index).tolist()))


def fail(index):
    raise ValueError(f"in process {index}")


def leave(index):
    raise SystemExit(3)


def test_a_function_runs_in_each_process():
    queue = mp.get_context("fork").Queue()
    mp.start_processes(put, (queue,), nprocs=2, start_method="fork")
    assert sorted(queue.get() for _ in range(2)) == [(0, [0, 0]), (1, [1, 1])]


def test_the_failure_of_a_process_is_raised():
    with pytest.raises(mp.ProcessRaisedException, match="Process 0 terminated with the following error:[^$]*in process 0"):
        mp.start_processes(fail, nprocs=1, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3") as raised:
        mp.start_processes(leave, nprocs=1, start_method="fork")
    assert raised.value.exit_code == 3 and raised.value.error_index == 0


def test_names():
    assert mp.get_sharing_strategy() == "file_descriptor" and issubclass(mp.Process, object)
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("none")
    assert not weft.mps.is_available() and not weft.xpu.is_available() and weft.xpu.device_count() == 0
    for name in ("random", "storage"):
        assert importlib.import_module(f"weft.{name}") is getattr(weft, name)
    assert importlib.import_module("weft._tensor").Tensor is weft.Tensor
    assert importlib.import_module("weft.autograd.anomaly_mode").detect_anomaly is weft.autograd.detect_anomaly
