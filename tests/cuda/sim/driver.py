"""The simulated driver's library, and its Python side: which kernels an image stands for, and how a launch runs them."""

from __future__ import annotations

import atexit
import ctypes as c
import functools
import hashlib
import os
import struct
import subprocess
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from aten import _cuda
from dynamo.eval_frame import disable
from tests.cuda.sim import interpret
from tests.cuda.sim.checked_memory import LAUNCH_FAILED, CheckedMemory, Fault, Misaligned
from tests.cuda.sim.kernels import Kernel, cubin_params

HERE = Path(__file__).parent
_MOST_PARAMS, _MOST_RANGES = 128, 1 << 16


class _Function(c.Structure):
    _fields_ = [("name", c.c_char * 256), ("n_params", c.c_int32), ("sizes", c.c_int32 * _MOST_PARAMS),
                *((n, c.c_int32) for n in ("registers", "local_bytes", "static_shared", "max_threads"))]  # fmt: skip


class _Launch(c.Structure):
    _fields_ = [("module", c.c_uint64), ("name", c.c_char_p), ("grid", c.c_uint32 * 3), ("block", c.c_uint32 * 3),
                *((n, c.c_uint32) for n in ("shared", "cluster", "cooperative", "pdl")), ("n_params", c.c_int32),
                ("device", c.c_int32), ("params", c.POINTER(c.c_void_p))]  # fmt: skip


_LOAD = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_size_t, c.POINTER(_Function), c.c_int, c.POINTER(c.c_uint64))
_RUN = c.CFUNCTYPE(c.c_int, c.POINTER(_Launch))


def built() -> Path:
    """The library, compiled against the header that Triton ships; kept by what it is made of."""
    import triton

    sources = sorted(HERE.glob("*.cpp")) + sorted(HERE.glob("*.h"))
    header = Path(triton.__file__).parent / "backends/nvidia/include"
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in [*sources, header / "cuda.h"])).hexdigest()[:16]
    folder = Path(os.environ.get("WEFT_TEST_CACHE") or tempfile.gettempdir()) / f"cudasim-{digest}"
    library = folder / "libcudasim.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = folder / f"made-{os.getpid()}.so"
        command = [
            os.environ.get("WEFT_CXX", "c++"),
            "-std=gnu++17",
            "-O1",
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            f"-I{header}",
        ]
        texts = [str(p) for p in sources if p.suffix == ".cpp"]
        done = subprocess.run([*command, *texts, "-o", str(made), "-ldl", "-lpthread"], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the simulated driver does not build:\n{done.stderr}")
        made.rename(library)
    return library


class Simulator:
    """races: uses of a byte by several programs are faults; order: in which the programs of a grid run; log: (kernel, grid,
    values) of every
    launch that ran; finders: asked for the kernels of images that are not registered."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lib = lib = c.CDLL(str(path))
        lib.cudasim_delta.restype = c.c_int64
        lib.cudasim_live.argtypes, lib.cudasim_live.restype = (c.c_int, c.c_void_p, c.c_size_t), c.c_size_t
        lib.cudasim_fault.restype = c.c_char_p
        lib.cudasim_calls.argtypes, lib.cudasim_calls.restype = (c.c_char_p,), c.c_uint64
        lib.cudasim_live_bytes.restype = c.c_uint64
        lib.cudasim_recover.argtypes, lib.cudasim_recover.restype = (c.c_char_p,), None
        lib.cudasim_set_memory.argtypes = (c.c_uint64,)
        lib.cudasim_fail.argtypes = (c.c_char_p, c.c_uint64, c.c_int)
        self.delta = lib.cudasim_delta()
        self.images: dict[bytes, dict[str, Kernel]] = {}
        self.modules: list[dict[str, Kernel]] = [{}]
        self.finders: list[Callable[[bytes], dict[str, Kernel] | None]] = []
        self.races, self.order, self.log = False, None, []
        # (Kernels are run amid compiled code, which captures what it calls.)
        self._hooks = _LOAD(disable(self._load)), _RUN(disable(self._run))
        lib.cudasim_hooks(*self._hooks)
        atexit.register(lib.cudasim_finish)  # what is queued still runs: later, the interpreter that runs it is half gone
        self._ranges = (c.c_uint64 * (2 * _MOST_RANGES))()
        self._ranges_lock = threading.Lock()

    # ------------------------------------------------------------------------------------------------ images
    def register(self, image: bytes, **kernels: Kernel) -> None:
        """What the image stands for. Raises AssertionError where a cubin's parameters are not those of its kernels."""
        self.images[hashlib.sha256(image).digest()] = kernels
        _check(image, kernels)

    def token(self, **kernels: Kernel) -> bytes:
        """An image that holds nothing: what compiling would give, in no time."""
        body = os.urandom(16)
        image = b"CUDASIM1" + struct.pack("<Q", 16 + len(body)) + body
        self.register(image, **kernels)
        return image

    def _kernels(self, image: bytes) -> dict[str, Kernel] | None:
        found = self.images.get(hashlib.sha256(image).digest())
        for finder in self.finders:
            if found is None and (found := finder(image)) is not None:
                self.register(image, **found)
        return found

    def _load(self, image: int, size: int, out: Any, room: int, module: Any) -> int:
        try:
            found = self._kernels(c.string_at(image, size))
        except Exception:
            traceback.print_exc()
            return 0
        if found is None:
            return 0
        for k, (name, kernel) in enumerate(found.items()):
            f = out[k]
            f.name, f.n_params, f.max_threads, f.registers = name.encode(), len(kernel.sizes), 1024, 32
            for j, size in enumerate(kernel.sizes):
                f.sizes[j] = size
        module[0] = len(self.modules)
        self.modules.append(found)
        return len(found)

    # ---------------------------------------------------------------------------------------------- launches
    def _run(self, pointer: Any) -> int:
        from triton.runtime.interpreter import interpreter_builder

        launch = pointer[0]
        name = launch.name.decode()
        try:
            self._launch(self.modules[launch.module][name], name, launch)
        except Fault as fault:
            self.explained = f"kernel {name}, program {getattr(interpreter_builder, 'grid_idx', None)}: {fault}"
            return fault.code
        except BaseException:
            traceback.print_exc()
            return LAUNCH_FAILED
        return 0

    def _launch(self, kernel: Kernel, name: str, launch: _Launch) -> None:
        if launch.block[0] != 32 * kernel.num_warps or launch.shared != kernel.shared:
            asked = f"{launch.block[0]} threads and {launch.shared} bytes, not {32 * kernel.num_warps} and {kernel.shared}"
            raise Fault(f"launched with {asked}")
        values = kernel.values([c.string_at(launch.params[k], size) for k, size in enumerate(kernel.sizes[:-2])])
        for argument in kernel.divisible:
            if values[argument] % 16:
                raise Misaligned(f"compiled for {argument} divisible by 16, launched with {values[argument]:#x}")
        memory = CheckedMemory(self._live(launch.device), self.delta, self.races)
        grid = (launch.grid[0] // launch.cluster, launch.grid[1], launch.grid[2])
        self.log.append((name, grid, values))
        with np.errstate(all="ignore"), interpret.interpreting() as scope:  # lanes that do not exist compute, too
            memory.install(scope)
            interpret.run(kernel.fn, grid, kernel.signature, values, kernel.constants, self.order)

    def _live(self, device: int) -> np.ndarray:
        """(address, bytes) of what is alive on the device now. The buffer is shared, and ctypes lets other threads run."""
        with self._ranges_lock:
            n = self.lib.cudasim_live(device, self._ranges, _MOST_RANGES)
            return np.frombuffer(self._ranges, np.uint64, 2 * n).reshape(-1, 2).copy()

    # ------------------------------------------------------------------------------------------------- tests
    explained: str | None = None

    def fault(self) -> str | None:
        """What went wrong on the device first, None if nothing did."""
        text = self.lib.cudasim_fault()
        return None if text is None else f"{text.decode()}: {self.explained}" if self.explained else text.decode()

    def recover(self, schedule: str = "lazy") -> None:
        """Forgets what is queued, faults, counts and planned failures; memory stays. Schedules: lazy (only what a
        synchronising call needs),
        random:SEED, eager, thread:SEED."""
        self.lib.cudasim_recover(schedule.encode())
        self.races, self.order, self.explained = False, None, None
        self.log.clear()

    def calls(self, name: str | None = None) -> int:
        """How often a function of the driver was called since the last `recover`."""
        return self.lib.cudasim_calls(name.encode() if name else None)

    def fail(self, name: str, nth: int, code: int) -> None:
        """The nth call of that function from now on answers the code."""
        self.lib.cudasim_fail(name.encode(), nth, code)

    def set_memory(self, nbytes: int) -> None:
        """How much memory each device has."""
        self.lib.cudasim_set_memory(nbytes)


def _check(image: bytes, kernels: dict[str, Kernel]) -> None:
    if image[:4] == b"\x7fELF":
        for name, sizes in cubin_params(image).items():
            assert sizes == kernels[name].sizes, f"{name} takes parameters of {sizes} bytes, not {kernels[name].sizes}"


@functools.cache
def simulator() -> Simulator:
    """The process's simulated driver of two devices, built where it has to be; weft has it open from now on."""
    path = built()
    asked = {"WEFT_LIBCUDA": str(path), "CUDASIM_DEVICES": os.environ.get("CUDASIM_DEVICES", "2")}
    before = {name: os.environ.get(name) for name in asked}
    os.environ.update(asked)
    try:
        made = Simulator(path)
        _cuda.initialize()
    finally:  # (processes that are started from here on see no device)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    return made
