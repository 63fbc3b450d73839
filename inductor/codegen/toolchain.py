"""The C++ compiler: found once, asked what it is once, run without a shell.

Generated sources include nothing and link nothing but libm and libmvec, where they use them, so a translation unit
takes tens of milliseconds. Compilers are started by `posix_spawn`; `start` returns at once, so that several units (a
forward and a backward) compile side by side while Python goes on.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from _signal import SIGKILL  # (`signal` makes its enums of all of them, a third of a millisecond)
from collections.abc import Callable, Sequence

from aten import logs, settings
from aten.records import record

# Without the compiler's own vectoriser: kernels say their vectors, and GCC 12 at -O3 has made of loops over rows of such vectors
# code that loses the last row's writes (AVX2; tests/fuzz/test_compiled.py).
FLAGS = (
    "-std=c++17", "-O3", "-fno-tree-vectorize", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv",
    "-fno-exceptions", "-fno-rtti", "-fno-stack-protector", "-fno-semantic-interposition",
    "-fasynchronous-unwind-tables", "-fcf-protection=none", "-w", "-falign-loops=64",
)  # fmt: skip
LINK = ("-shared", "-fPIC", "-nostdlib")

log = logs.get("cache")


class DeviceCompileError(RuntimeError):
    """A kernel for a device was not compiled: the text says why."""


class CompilerMissing(RuntimeError):
    """There is no C++ compiler that works. The message says what was tried and what to do."""


class CompileError(RuntimeError):
    """The compiler refused a generated source: an internal error. The message holds what it said."""


@record(frozen=True)
class Compiler:
    """A compiler driver: its absolute path, what identifies it in a cache key, the instruction set it compiles for."""

    path: str
    identity: str
    isa: str
    flags: tuple[str, ...]

    @property
    def key(self) -> str:
        return "\n".join((self.identity, *self.flags, *LINK))


# ---------------------------------------------------------------------------------------------------------- discovery
def find() -> str:
    """Absolute path of the compiler: `settings.cxx` (WEFT_CXX), else g++ or clang++ on PATH. Raises CompilerMissing."""
    names = [settings.cxx] if settings.cxx else ["g++", "c++", "clang++"]
    for name in names:
        folders = [""] if os.path.sep in name else os.environ.get("PATH", os.defpath).split(os.pathsep)
        for folder in folders:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return os.path.abspath(path)
    where = f"WEFT_CXX={settings.cxx} is not an executable" if settings.cxx else f"none of {', '.join(names)} is on PATH"
    raise CompilerMissing(f"no C++ compiler: {where}. Install g++, or point WEFT_CXX at one")


@functools.lru_cache(maxsize=1)
def cpu_flags() -> frozenset[str]:
    """The features that the processor states in /proc/cpuinfo (empty where there is none)."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
            for line in f:
                if line.startswith(("flags", "Features")):
                    return frozenset(line.partition(":")[2].split())
    except OSError:
        pass
    return frozenset()


_V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_EXTRA = {
    "avx512_bf16": "-mavx512bf16",
    "avx512_vnni": "-mavx512vnni",
    "avx512_fp16": "-mavx512fp16",
    "avx_vnni": "-mavxvnni",
}


def isa() -> tuple[str, tuple[str, ...]]:
    """(name, compiler flags) of the instruction set: "avx512", "avx2" or "base", with what goes beyond it by name.

    Named explicitly rather than by -march=native, so that one key means one thing on every machine that shares a cache.
    """
    flags = cpu_flags()
    level = "avx512" if flags >= _V4 else "avx2" if flags >= _V3 else "base"
    march = {"avx512": ("-march=x86-64-v4", "-mprefer-vector-width=512"), "avx2": ("-march=x86-64-v3",), "base": ()}[level]
    return level, (*march, *(f for name, f in _EXTRA.items() if level == "avx512" and name in flags))


@functools.lru_cache(maxsize=8)
def _compiler(path: str) -> Compiler:
    name, march = isa()
    status = os.stat(os.path.realpath(path))
    # Its version is not asked: a compiler is what its file is, and running it would cost a process each start.
    identity = f"{path} {os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}"
    return Compiler(path, identity, name, (*FLAGS, *march))


def compiler() -> Compiler:
    """The compiler to use. Raises CompilerMissing."""
    return _compiler(find())


# -------------------------------------------------------------------------------------------------------- compilation
class _Run:
    """One run of the compiler, in a process group of its own; what it says goes to a file. Raises CompilerMissing."""

    def __init__(self, command: list[str], folder: str, name: str):
        self.command = command
        self.diagnostics = os.path.join(folder, name + ".err")
        actions = [
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, self.diagnostics, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        ]
        environment = {**os.environ, "LC_ALL": "C", "TMPDIR": folder}
        try:
            self.pid = os.posix_spawn(command[0], command, environment, file_actions=actions, setpgroup=0)
        except OSError as e:
            raise CompilerMissing(f"{command[0]} does not start: {e}") from e
        self.done = False

    def end(self) -> None:
        """Ends the compiler, and what it has started, which else write into a folder that is being removed."""
        if not self.done:
            self.done = True
            with contextlib.suppress(ProcessLookupError):  # it is over
                os.killpg(self.pid, SIGKILL)
            os.waitpid(self.pid, 0)

    def join(self) -> None:
        """Waits for it. Raises CompileError with what it said."""
        _, status = os.waitpid(self.pid, 0)
        self.done = True
        code = os.waitstatus_to_exitcode(status)
        with open(self.diagnostics, encoding="utf-8", errors="replace") as f:
            said = f.read()
        os.unlink(self.diagnostics)
        if code != 0:
            log(f"compiler failed: {code}")
            if code == 127 or (code < 0 and not said):
                raise CompilerMissing(f"{self.command[0]} did not run (status {code})")
            raise CompileError(f"{' '.join(self.command)}\nexited with {code}:\n{said}")


class Job:
    """Sources being compiled to the shared object `output`: one by one run of the compiler, several side by side, then linked."""

    def __init__(self, sources: Sequence[str], folder: str, name: str, extra_flags: tuple[str, ...]):
        self.runs: list[_Run] = []
        self.failed: BaseException | None = None
        self.output = os.path.join(folder, name + ".so")
        self.started = time.perf_counter()
        cxx = compiler()
        self.link: Callable[[], _Run] | None = None
        names = [name] if len(sources) == 1 else [f"{name}_{k}" for k in range(len(sources))]
        paths = [os.path.join(folder, own) for own in names]
        for path, source in zip(paths, sources):
            with open(path + ".cpp", "w", encoding="utf-8") as f:
                f.write(source)
        linked = [*LINK, "-o", self.output]
        if len(sources) == 1:
            command = [cxx.path, *cxx.flags, *extra_flags, *linked, paths[0] + ".cpp", *libraries(sources[0])]
            self.runs.append(_Run(command, folder, name))
            return
        objects = [path + ".o" for path in paths]
        for path, own in zip(paths, names):
            command = [cxx.path, *cxx.flags, *extra_flags, "-fPIC", "-c", "-o", path + ".o", path + ".cpp"]
            self.runs.append(_Run(command, folder, own))
        self.link = lambda: _Run([cxx.path, *linked, *objects, *libraries(sources[0])], folder, name)

    def __del__(self):
        self._end()  # abandoned, as after an error elsewhere: leave no zombie

    def _end(self) -> None:
        for run in self.runs:
            run.end()

    @property
    def done(self) -> bool:
        """Whether every run that was started is over."""
        return all(run.done for run in self.runs)

    def wait(self) -> str:
        """The path of the library, once it exists. Raises CompileError with what the compiler said, each time it is asked."""
        if self.failed is not None:
            raise self.failed
        if not self.done:
            try:
                for run in self.runs:
                    run.join()
                if self.link is not None:
                    self.runs.append(self.link())
                    self.runs[-1].join()
            except BaseException as e:
                self.failed = e
                self._end()
                raise
            log(f"compiled {os.path.basename(self.output)} in {1e3 * (time.perf_counter() - self.started):.0f} ms")
        return self.output


def private_folder() -> str:
    """A new folder that only this user can read, in the first place that allows it. Raises OSError if none does."""
    problem: OSError | None = None
    for base in filter(None, (os.environ.get("TMPDIR"), "/tmp", "/var/tmp", os.getcwd())):
        path = os.path.join(base, f"weft-{os.getpid()}-{os.urandom(6).hex()}")
        try:
            os.mkdir(path, 0o700)
            return path
        except OSError as e:
            problem = e
    raise problem or OSError("there is no folder for temporary files")


def remove_folder(path: str) -> None:
    """Remove a folder of `private_folder` with its files. A library that is loaded stays mapped."""
    for item in os.listdir(path):
        with contextlib.suppress(FileNotFoundError):  # one that a compiler has removed itself
            os.unlink(os.path.join(path, item))
    os.rmdir(path)


def libraries(source: str) -> tuple[str, ...]:
    """What a source links, as its first line says: `// link: mvec m`."""
    first = source.partition("\n")[0]
    return tuple("-l" + name for name in first.removeprefix("// link:").split()) if first.startswith("// link:") else ()


def start(sources: str | Sequence[str], folder: str, name: str, extra_flags: tuple[str, ...] = ()) -> Job:
    """Begin to compile sources into `folder/name.so`; `name.cpp`, or one with a number for each, stay beside it.

    Several are compiled side by side. All name the same libraries. Raises CompilerMissing, or OSError where the folder
    cannot be written.
    """
    return Job([sources] if isinstance(sources, str) else sources, folder, name, extra_flags)


def compile_shared(sources: str | Sequence[str], folder: str, name: str = "kernels", extra_flags: tuple[str, ...] = ()) -> str:
    """Compile sources as `start` does; the path of the shared object. Raises CompilerMissing, CompileError, OSError."""
    return start(sources, folder, name, extra_flags).wait()
