"""Which GPUs there are, and which of them a thread is on."""

from __future__ import annotations

from typing import Any, NamedTuple

import aten
from aten import _native
from aten import devices as table

DISABLED = "Torch not compiled with CUDA enabled"
_initialized = False


def driver() -> Any:
    """The extension module of cuda devices, opened. Raises AssertionError where there is no device."""
    if _native.device_count("cuda") == 0:
        raise AssertionError(f"{DISABLED}: {why_not()}")
    global _initialized
    _initialized = True
    from aten import _cuda

    return _cuda


def why_not() -> str | None:
    """Why there is no GPU for this program; None if there is one."""
    if _native.device_count("cuda"):
        return None
    from aten import _cuda

    return _cuda.why_not() or "the driver shows no device to this process"


def device_count() -> int:
    """How many GPUs tensors can live on; 0 where there is no driver."""
    return _native.device_count("cuda")


def is_available() -> bool:
    """Whether there is a GPU and its driver."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether the GPU has been asked for something in this process."""
    return _initialized and is_available()


def init() -> None:
    """Nothing where there is a GPU. Raises AssertionError else."""
    driver()


def index_of(device: Any) -> int:
    """The number of a device given as number, name, device or None (the one in use). Raises ValueError for other types of
    device."""
    if device is None:
        return driver().current_device()
    if isinstance(device, int):
        return device if device >= 0 else driver().current_device()
    found = aten.device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return driver().current_device() if found.index is None else found.index


def current_device() -> int:
    """The number of the GPU in use in this thread: what "cuda" without a number means."""
    return driver().current_device()


def set_device(device: Any) -> None:
    """Makes that GPU the one in use in this thread; nothing for negative numbers."""
    if isinstance(device, int) and device < 0:
        return
    driver().set_device(index_of(device))


class device:
    """Within the block this GPU is in use; None and negative numbers change nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = driver().current_device()
            driver().set_device(self.idx)

    def __exit__(self, *exc: Any) -> None:
        if self.prev_idx >= 0:
            driver().set_device(self.prev_idx)


class device_of(device):
    """Within the block the GPU of the tensor is in use, if it has one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device.index if obj.is_cuda else None)


_ATTRIBUTES = {
    "warp_size": 10,
    "regs_per_multiprocessor": 82,
    "multi_processor_count": 16,
    "max_threads_per_block": 1,
    "max_threads_per_multi_processor": 39,
    "shared_memory_per_block": 8,
    "shared_memory_per_block_optin": 97,
    "shared_memory_per_multiprocessor": 81,
    "L2_cache_size": 38,
    "memory_bus_width": 37,
    "memory_clock_rate": 36,
    "clock_rate": 13,
    "pci_bus_id": 33,
    "pci_device_id": 34,
    "pci_domain_id": 50,
    "is_integrated": 18,
    "is_multi_gpu_board": 84,
}  # numbers of CUdevice_attribute


class DeviceProperties:
    """What the driver says of a GPU: name, major, minor, total_memory (bytes), multi_processor_count, warp_size, …"""

    multi_processor_count: int

    def __init__(self, index: int) -> None:
        ask = driver()
        self.name: str = ask.device_name(index)
        self.major, self.minor = ask.capability(index)
        self.total_memory: int = ask.total_memory(index)
        text = ask.device_uuid(index).hex()
        self.uuid = "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])
        for name, number in _ATTRIBUTES.items():
            setattr(self, name, ask.attribute(index, number))
        self.gcnArchName = self.name

    def __repr__(self) -> str:
        figures = f"major={self.major}, minor={self.minor}, total_memory={self.total_memory // 2**20}MB"
        return f"_CudaDeviceProperties(name='{self.name}', {figures}, multi_processor_count={self.multi_processor_count})"


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Raises AssertionError without a GPU, or for a number that none has."""
    init()
    index = index_of(device)
    if not 0 <= index < device_count():
        raise AssertionError("Invalid device id")
    return DeviceProperties(index)


def get_device_name(device: Any = None) -> str:
    return driver().device_name(index_of(device))


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """(major, minor): (9, 0) for sm_90."""
    return driver().capability(index_of(device))


def get_arch_list() -> list[str]:
    """The architectures of the GPUs here: kernels are compiled for those, when they are needed."""
    return sorted({"sm_{}{}".format(*get_device_capability(i)) for i in range(device_count())})


def get_gencode_flags() -> str:
    return ""


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """False: copies between GPUs go by the driver, kernels do not read another's memory."""
    driver()
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU in use computes in bfloat16 (sm_80); converting, all can."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    return is_available() and get_device_capability()[0] >= 8


def synchronize(device: Any = None) -> None:
    """Waits for all of a GPU's work. Raises AssertionError where there is none, and what its kernels did wrong."""
    driver().synchronize(index_of(device))
    table.waited()


def ipc_collect() -> None:
    driver()


class DriverVersion(NamedTuple):
    major: int
    minor: int


def driver_version() -> DriverVersion:
    """The CUDA that the driver serves."""
    number = driver().driver_version()
    return DriverVersion(number // 1000, number % 1000 // 10)
