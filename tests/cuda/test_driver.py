"""The driver layer: modules, launches, and what the codes of the driver become."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import weft
from aten import _cuda, errors
from tests.cuda.kernels import SIGNATURE, AddOne, add_one, everyone_writes
from tests.cuda.sim import Kernel


def test_a_kernel_runs_between_copies(sim, cuda):
    x = weft.arange(100.0).to(cuda)
    assert AddOne()(x, weft.empty(100, device=cuda)).tolist() == [i + 1.0 for i in range(100)]
    assert sim.log[0][:2] == ("add_one", (2, 1, 1)) and sim.calls("cuLaunchKernelEx") == 1


@pytest.mark.parametrize("schedule", ["lazy", "random:1", "random:2", "eager", "thread:1"])
def test_every_schedule_gives_the_same(sim, cuda, schedule):
    sim.recover(schedule)
    x, kernel = weft.arange(70.0).to(cuda), AddOne()
    side = weft.cuda.Stream()
    y = kernel(x, weft.empty(70, device=cuda))
    side.wait_stream(weft.cuda.current_stream())
    with weft.cuda.stream(side):
        z = kernel(y, weft.empty(70, device=cuda))
    weft.cuda.current_stream().wait_stream(side)
    assert kernel(z, x).tolist() == [i + 3.0 for i in range(70)]
    z.record_stream(weft.cuda.current_stream())


def test_an_empty_grid_is_not_launched(sim, cuda):
    x = weft.empty(0, device=cuda)
    AddOne()(x, x)
    assert sim.calls("cuLaunchKernelEx") == 0


def test_more_than_48_kib_of_shared_memory_is_asked_for(sim, cuda):
    x = weft.ones(4, device=cuda)
    kernel = AddOne(shared=100_000)
    kernel.function.launch((1,), 128, 100_000, (x, x, ("i32", 4), None, None))
    assert x.tolist() == [2] * 4 and sim.calls("cuFuncSetAttribute") == 1
    kernel = AddOne(shared=0)
    with pytest.raises(errors.CudaError, match="CUDA error 1 of cuLaunchKernelEx, for add_one"):
        kernel.function.launch((1,), 128, 100_000, (x, x, ("i32", 4), None, None))


@pytest.mark.parametrize(
    ("kind", "value", "error"),
    [("i32", "one", TypeError), ("f32", 1.0, ValueError), ("fp32", None, TypeError), ("i64", 2**64, OverflowError)],
)
def test_arguments_of_a_launch_are_checked(cuda, kind, value, error):
    x = weft.ones(4, device=cuda)
    with pytest.raises(error):
        AddOne().function.launch((1,), 128, 0, (x, x, (kind, value), None, None))


def test_a_tensor_of_the_host_is_no_argument(cuda):
    with pytest.raises(TypeError, match="not on a cuda device"):
        AddOne()(weft.ones(4), weft.ones(4))


def test_codes_become_exceptions_that_name_call_and_kernel(sim):
    x = weft.ones(4).cuda()
    sim.fail("cuLaunchKernelEx", 1, 719)
    said = "CUDA error 719 of cuLaunchKernelEx, for add_one: CUDA_ERROR_LAUNCH_FAILED"
    with pytest.raises(errors.CudaError, match=said) as caught:
        AddOne()(x, x)
    assert caught.value.code == 719 and issubclass(errors.CudaError, RuntimeError)


def test_an_image_of_nothing_is_refused(sim, cuda):
    with pytest.raises(errors.CudaError, match="cuModuleLoadData: CUDA_ERROR_INVALID_IMAGE"):
        _cuda.Module(b"nothing")
    with pytest.raises(errors.CudaError, match="500 of cuModuleGetFunction, for other: CUDA_ERROR_NOT_FOUND"):
        _cuda.Module(sim.token(add_one=Kernel(add_one, SIGNATURE, {"BLOCK": 64}))).function("other")


def test_promises_and_alignment_are_checked(sim):
    x = weft.ones(8).cuda()
    AddOne(attrs={(0,): [["tt.divisibility", 16]]})(x[1:], x)
    with pytest.raises(errors.CudaError, match="716"):
        weft.cuda.synchronize()
    assert "compiled for x divisible by 16" in sim.fault()


def test_races_between_programs_are_found(sim):
    sim.races = True
    x = weft.ones(128).cuda()
    AddOne(everyone_writes)(x, weft.empty(128, device="cuda"))
    with pytest.raises(errors.CudaError):
        weft.cuda.synchronize()
    assert "race: byte 0 of an allocation" in sim.fault()


def run(code: str, **environment: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "WEFT_LIBCUDA"} | environment
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_without_a_driver_it_is_a_clear_error():
    said = run(
        "import sys, weft; assert 'aten._cuda' not in sys.modules and not weft.cuda.is_available(); weft.ones(3, device='cuda')",
        WEFT_LIBCUDA="/no/driver.so",
    )
    assert "RuntimeError: there is no cuda device on this machine, or no driver for it: /no/driver.so: cannot open" in said


def test_the_module_tells_what_there_is_and_what_is_missing(sim):
    from weft.cuda.__main__ import report

    lines = report()
    assert lines[0].startswith("driver: serves CUDA ") and lines[1].startswith("cuda:0: cudasim, sm_90, 132 multiprocessors")
    _cuda.show_devices(0)
    assert report()[0] == "driver: none (the driver shows no device to this process)"


def test_a_child_of_fork_has_no_devices(cuda):
    kept = weft.ones(3, device=cuda)
    child = os.fork()
    if child == 0:
        del kept
        os._exit(0 if not weft.cuda.is_available() else 1)
    assert os.waitpid(child, 0)[1] == 0 and kept.tolist() == [1, 1, 1]


def test_what_the_driver_was_asked_is_counted(cuda):
    kernel, before = AddOne(), _cuda.counts()
    x = weft.zeros(10).to(cuda)
    kernel(kernel(x, x), x).clone().cpu()
    asked = {name: n - before[name] for name, n in _cuda.counts().items() if n != before[name]}
    copy = {"copies_from_host": 1, "bytes_from_host": 40, "copies_to_host": 1, "bytes_to_host": 40}
    within = {name: asked.pop(name, 0) for name in ("copies_within", "bytes_within")}
    assert within["bytes_within"] == 40 * within["copies_within"] and asked.pop("launches") >= 2 and asked == copy
