"""The GPU as PyTorch code asks about it.

Tensors live in the CPU's memory until a device puts its row into the table of devices; so long there is no GPU for a
program: `is_available()` is False, memory is 0, seeds are taken and what needs a GPU raises AssertionError. (GPU kernels are
rendered as Triton text by the compiler.)
"""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from typing import Any

import aten
from aten import _native
from weft.cuda.old_types import OLD_TYPES

_DISABLED = "Torch not compiled with CUDA enabled"
_PARTS = ("amp", "nvtx", "memory", "random")


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"weft.cuda.{name}")
    if name in OLD_TYPES:
        return OLD_TYPES[name]
    raise AttributeError(f"module 'weft.cuda' has no attribute {name!r}")


class CudaError(RuntimeError):
    """What a GPU's driver answers."""


class OutOfMemoryError(RuntimeError):
    """A GPU's memory is full. (The CPU's gives MemoryError.)"""


class DeferredCudaCallError(Exception):
    """A call that waited for the GPU to be there failed."""


def device_count() -> int:
    """How many GPUs tensors can live on."""
    return _native.device_count("cuda")


def is_available() -> bool:
    return device_count() > 0


def is_initialized() -> bool:
    return is_available()


def init() -> None:
    """Nothing where there is a GPU. Raises AssertionError else."""
    if not is_available():
        raise AssertionError(_DISABLED)


_lazy_init = init


def _index(device: Any) -> int:
    """The number of a device given as number, name, device or None (the first)."""
    if device is None:
        return 0
    if isinstance(device, int):
        return device
    return aten.device(device).index or 0


def current_device() -> int:
    """The number of the GPU in use."""
    init()
    return 0


def set_device(device: Any) -> None:
    """Makes the GPU of that number the one in use; nothing for negative numbers."""
    index = _index(device)
    if index >= 0:
        init()
        if index:
            raise RuntimeError("weft.cuda.set_device: tensors name their device; only cuda:0 is ever the one in use")


class device:
    """Within the block this GPU is in use; None and negative numbers mean none."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device) if device is not None else -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            set_device(self.idx)

    def __exit__(self, *exc: Any) -> None:
        pass


class device_of(device):
    """Within the block the GPU of the tensor is in use, if it has one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device.index if obj.is_cuda else None)


def get_device_properties(device: Any = None) -> Any:
    """Raises AssertionError without a GPU."""
    init()
    raise NotImplementedError("weft.cuda.get_device_properties: devices of the table have no properties")


def get_device_name(device: Any = None) -> str:
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    properties = get_device_properties(device)
    return properties.major, properties.minor


def get_arch_list() -> list[str]:
    """No architectures: kernels are made when they are needed."""
    return []


def get_gencode_flags() -> str:
    return ""


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    init()
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return is_available()


def is_tf32_supported() -> bool:
    return False


def synchronize(device: Any = None) -> None:
    """Waits for the GPU's work. Raises AssertionError where there is none."""
    init()


def ipc_collect() -> None:
    init()


# ------------------------------------------------------------------------------------------------------ streams
class Stream:
    """A queue of work on a GPU. Raises RuntimeError where there is none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class ExternalStream(Stream):
    """A queue that another library made."""


class Event:
    """A point in a queue of work. Raises RuntimeError where there is no GPU."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.Event requires CUDA support")


class CUDAGraph:
    """Recorded work. Raises RuntimeError where there is no GPU."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.CUDAGraph requires CUDA support")


class graph:
    """A block whose work is recorded into a CUDAGraph. Raises RuntimeError where there is no GPU."""

    def __init__(self, cuda_graph: CUDAGraph, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("torch.cuda.graph requires CUDA support")


class StreamContext:
    """Within the block work goes to a queue; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            init()

    def __exit__(self, *exc: Any) -> None:
        pass


def stream(stream: Stream | None) -> StreamContext:
    """A block in which work goes to `stream`."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    init()
    return Stream()


default_stream = current_stream


def is_current_stream_capturing() -> bool:
    return False


# ------------------------------------------------------------------------------------------------------- memory
def empty_cache() -> None:
    """Gives unused GPU memory back: there is none."""


def _no_memory(device: Any = None) -> int:
    """Bytes on the GPU."""
    return 0


memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = max_memory_cached = _no_memory


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    return OrderedDict()


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    return "no GPU memory is in use"


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, all) bytes. Raises AssertionError without a GPU."""
    init()
    raise NotImplementedError("weft.cuda.mem_get_info: devices of the table do not say how much memory they have")


def _forget_peaks(device: Any = None) -> None:
    """Peaks are 0 already."""


reset_peak_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = _forget_peaks


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    init()


# ------------------------------------------------------------------------------------------------------- random
def manual_seed(seed: int) -> None:
    """Seeds the GPU's generator, if there is one: it shares the CPU's seed."""
    if is_available():
        aten.manual_seed(int(seed))


manual_seed_all = manual_seed


def seed() -> None:
    """Seeds the GPU's generator anew, if there is one."""
    if is_available():
        aten.seed()


seed_all = seed


def initial_seed() -> int:
    init()
    return aten.initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    init()
    return aten.get_rng_state()


def get_rng_state_all() -> list[Any]:
    """The state of each GPU's generator."""
    return [get_rng_state(i) for i in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    if is_available():
        aten.set_rng_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    for i, state in enumerate(new_states):
        set_rng_state(state, i)
