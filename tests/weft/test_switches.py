"""What programs ask and set before they start: devices, backends, determinism, TorchScript, a group of processes."""

from __future__ import annotations

import warnings

import pytest

import weft as torch
from weft import nn


@pytest.fixture
def determinism():
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    torch.set_warn_always(False)


def test_deterministic_algorithms(determinism):
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    assert torch.get_deterministic_debug_mode() == 1
    torch.set_deterministic_debug_mode("error")
    assert torch.get_deterministic_debug_mode() == 2 and not torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_deterministic_debug_mode(0)
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="expected 0, 1, or 2, but got 3"):
        torch.set_deterministic_debug_mode(3)
    with pytest.raises(RuntimeError, match="`default`, `warn`, `error`, but got foo"):
        torch.set_deterministic_debug_mode("foo")
    with pytest.raises(TypeError, match="must be bool, not str"):
        torch.use_deterministic_algorithms("yes")


def test_matmul_precision_and_tf32_are_two_sides_of_one_switch(determinism):
    torch.set_float32_matmul_precision("medium")
    assert torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest"
    with pytest.warns(UserWarning, match="parrot is not one of"):
        torch.set_float32_matmul_precision("parrot")
    with pytest.raises(AttributeError):
        torch.backends.cuda.matmul.parrot = True


def test_warn_always(determinism):
    from aten.errors import warn_once

    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    for _ in range(2):
        with pytest.warns(UserWarning, match="said twice"):
            warn_once("said twice", UserWarning)
    torch.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once("said twice", UserWarning)
    with pytest.raises(RuntimeError, match="expects a bool, but got str"):
        torch.set_warn_always("yes")


def test_backends_keep_their_switches():
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    with torch.backends.cudnn.flags(enabled=True, deterministic=True, benchmark=False):
        assert torch.backends.cudnn.deterministic and not torch.backends.cudnn.benchmark
    assert torch.backends.cudnn.benchmark and not torch.backends.cudnn.deterministic
    torch.backends.cudnn.benchmark = before
    assert not torch.backends.cudnn.is_available() and torch.backends.cudnn.version() is None
    assert not torch.backends.mps.is_available() and not torch.backends.mkldnn.is_available()
    assert torch.backends.cuda.is_built() is False
    with torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert not torch.backends.cuda.flash_sdp_enabled() and torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()


def test_cuda_answers_without_a_gpu():
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0 and not torch.cuda.is_initialized()
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
    assert torch.cuda.max_memory_allocated() == 0 and torch.cuda.get_rng_state_all() == []
    for ask in (torch.cuda.current_device, torch.cuda.synchronize, torch.cuda.init, lambda: torch.cuda.get_device_properties(0)):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            ask()
    with pytest.raises(RuntimeError, match="requires CUDA support"):
        torch.cuda.Stream()
    with pytest.raises(TypeError, match="torch.cuda.FloatTensor not available"):
        torch.cuda.FloatTensor(2)
    assert not isinstance(torch.ones(2), torch.cuda.FloatTensor)
    with torch.cuda.device(-1), torch.cuda.stream(None):
        pass
    assert not torch.accelerator.is_available() and torch.accelerator.current_accelerator() is None
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1


def test_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    for setter in (torch.set_num_threads, torch.set_num_interop_threads):
        with pytest.raises(RuntimeError, match="expects a positive integer"):
            setter(0)
        with pytest.raises(RuntimeError, match="expects an int, but got str"):
            setter("2")
    assert torch.set_flush_denormal(False) and not torch.set_flush_denormal(True)


def test_what_marks_code_for_torchscript_leaves_it_as_it_is():
    @torch.jit.script
    def double(x):
        if torch.jit.is_scripting() or torch.jit.is_tracing():
            return x
        return x * 2

    @torch.jit.interface
    class Face:
        pass

    class Net(torch.jit.ScriptModule):
        __constants__ = ["n"]
        n: torch.jit.Final[int]

        def __init__(self):
            super().__init__()
            self.n = torch.jit.annotate(int, 3)
            self.weight = nn.Parameter(torch.ones(2))

        @torch.jit.script_method
        def forward(self, x):
            return double(x) * self.weight * self.n

        @torch.jit.ignore
        def a(self):
            return 1

        @torch.jit.ignore(drop=True)
        def b(self):
            return 2

        @torch.jit.unused
        def c(self):
            return 3

        @torch.jit.export
        def d(self):
            return 4

    net = torch.jit.script(Net())
    assert isinstance(net, nn.Module) and (net.a(), net.b(), net.c(), net.d()) == (1, 2, 3, 4)
    assert net(torch.ones(2)).tolist() == [6, 6]
    assert torch.jit.trace(net, torch.ones(2)) is net and torch.jit.freeze(net.eval()) is net
    assert torch.jit.wait(torch.jit.fork(double, torch.ones(1))).item() == 2
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == [6, 6]
    with pytest.raises(ValueError, match="does not exist"):
        torch.jit.load("x.pt")
    with pytest.raises(RuntimeError, match="cannot read TorchScript files"):
        torch.jit.load(__file__)


def test_jit_isinstance_looks_into_containers():
    from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

    is_a = torch.jit.isinstance
    assert is_a([1, 2], List[int]) and not is_a([1, "a"], List[int])  # noqa: UP006
    assert is_a({"a": torch.ones(1)}, Dict[str, torch.Tensor]) and not is_a({1: 2}, Dict[str, int])  # noqa: UP006
    assert is_a((1, "a"), Tuple[int, str]) and not is_a((1,), Tuple[int, str]) and is_a((1, 2), tuple[int, ...])  # noqa: UP006
    assert is_a(None, Optional[int]) and is_a(1, Union[int, str]) and not is_a(1.0, Union[int, str])  # noqa: UP007, UP045
    assert is_a(1, (str, int)) and is_a(1, Any)
    with pytest.raises(RuntimeError, match="contained type"):
        is_a([1], List)  # noqa: UP006


def test_a_group_of_one_process():
    dist = torch.distributed
    assert not dist.is_available() and not dist.is_initialized()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()
    with pytest.raises(RuntimeError, match="one process"):
        dist.init_process_group(world_size=2, rank=0)
    dist.init_process_group("gloo", world_size=1, rank=0)
    try:
        assert dist.is_initialized() and (dist.get_rank(), dist.get_world_size()) == (0, 1)
        x = torch.ones(2)
        dist.all_reduce(x, op=dist.ReduceOp.SUM)
        out = [torch.zeros(2)]
        assert dist.all_gather(out, x, async_op=True).wait() and out[0].tolist() == [1, 1]
        dist.broadcast(x, src=0)
        dist.barrier()
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_checks():
    torch._assert(True, "no")
    with pytest.raises(AssertionError, match="why"):
        torch._assert(False, "why")
    with pytest.raises(IndexError, match="late"):
        torch._check_index(False, lambda: "late")
    with pytest.raises(TypeError, match="cond must be a bool"):
        torch._check(1)
    with pytest.raises(RuntimeError, match="single nonzero"):
        torch._assert_async(torch.zeros(1))

    def f(x):
        torch._assert(x.dim() == 1, "a vector")
        return x + 1

    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).item() == 2


def test_configuration_is_said():
    assert "weft" in torch.__config__.show() and "get_num_threads" in torch.__config__.parallel_info()
    assert torch.onnx.is_in_onnx_export() is False
    with pytest.raises(RuntimeError, match="does not export to ONNX"):
        torch.onnx.export(nn.Identity(), torch.ones(1), "x.onnx")
    assert (torch.typename(1), torch.typename(nn.Identity())) == ("int", f"{nn.Identity.__module__}.Identity")
    assert torch.sym_max(1, 2.0) == 2.0 and torch.sym_int(2.5) == 2 and torch.sym_not(True) is False and torch.sym_sum([1, 2]) == 3


def test_determinism_takes_bools_alone():
    with pytest.raises(TypeError, match="argument 'warn_only' must be bool, not int"):
        torch.use_deterministic_algorithms(False, warn_only=1)
