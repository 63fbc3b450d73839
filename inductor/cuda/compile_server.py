"""A process that compiles Triton functions for a GPU that need not be there: Triton's stages, called one after the other.

It has compiled one kernel, so that what Triton and LLVM set up is done, and forks a worker for each request: 0.03 s a kernel
instead of 0.5. It imports nothing of weft, knows no CUDA context, and is started by `inductor.cuda.pool`, which talks to it over
a socket in frames: eight bytes of length, then a pickle.

    request   (number, Request as a dict)
    answer    (number, "done", cubin, metadata) | (number, "refused", reason) | (number, "died", reason)
"""

from __future__ import annotations

import linecache
import os
import pickle
import selectors
import signal
import socket
import struct
import sys
import traceback
import types
from collections.abc import Iterator
from typing import Any

METADATA = ("name", "shared", "num_warps", "num_ctas", "global_scratch_size", "global_scratch_align", "profile_scratch_size",
            "profile_scratch_align", "launch_cooperative_grid", "launch_pdl")  # fmt: skip
LEAST_BLACKWELL_DRIVER = 13000  # a driver of CUDA 12 does not load what the assembler of CUDA 13 makes


def frame(value: Any) -> bytes:
    """A value as it travels."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return struct.pack("<Q", len(data)) + data


def send(channel: socket.socket, value: Any) -> None:
    """One frame."""
    channel.sendall(frame(value))


def receive(channel: socket.socket) -> Any:
    """The next frame; EOFError where the other side has gone."""
    (length,) = struct.unpack("<Q", _exactly(channel, 8))
    return pickle.loads(_exactly(channel, length))


def _exactly(channel: socket.socket, n: int) -> bytes:
    parts = bytearray()
    while len(parts) < n:
        part = channel.recv(min(n - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side has gone")
        parts += part
    return bytes(parts)


def function_of(source: str, name: str) -> Any:
    """The function `name` of a module of this text, which Triton reads from the line cache."""
    file = f"<weft {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = types.ModuleType(f"weft_{name}")
    exec(compile(source, file, "exec"), module.__dict__)
    return getattr(module, name)


def compiled(request: dict[str, Any], last: str = "cubin") -> tuple[Any, dict[str, Any]]:
    """(image, metadata) of a request: see `inductor.cuda.images.Request`. `last`: the stage to end with."""
    for stage, module, metadata in stages(request):
        if stage == last:
            return module, {k: metadata[k] for k in METADATA if k in metadata}
    raise ValueError(f"Triton has no stage {last}")


def stages(request: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(stage, its result, metadata so far) one after the other: ttir, ttgir, llir, ptx, cubin."""
    from triton import knobs
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    if 0 < request["driver"] < LEAST_BLACKWELL_DRIVER and hasattr(knobs.nvidia, "ptxas_blackwell"):
        knobs.nvidia.ptxas_blackwell = knobs.nvidia.ptxas.path
    fn = function_of(request["source"], request["name"])
    signature = {n: request["signature"].get(n, "constexpr") for n in fn.arg_names}
    attributes = {(fn.arg_names.index(n),): [["tt.divisibility", 16]] for n in request["divisible"]}
    target = GPUTarget("cuda", request["capability"], 32)
    backend = make_backend(target)
    options = backend.parse_options(dict(request["options"]))
    source = ASTSource(fn, signature, dict(request["constants"]), attributes)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    metadata, steps = dict(options.__dict__), {}
    metadata["target"] = target
    backend.add_stages(steps, options, source.language)
    module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    for stage, step in steps.items():
        module = step(module, metadata)
        yield stage, module, metadata


WARM = """
import triton
import triton.language as tl


@triton.jit
def warm(a, n, BLOCK: tl.constexpr):
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(a + x, tl.load(a + x, mask=x < n) + 1, mask=x < n)
"""


def answer(number: int, request: dict[str, Any]) -> tuple:
    """What a worker sends back."""
    try:
        return number, "done", *compiled(request)
    except Exception as e:  # Triton's errors have no common class; the text goes to the user
        reason = str(e).strip() or traceback.format_exc(limit=1)
        return number, "refused", f"{type(e).__name__}: {reason}"


class Server:
    """Forks at most `width` workers at a time; each writes its answer into a pipe of its own.

    Answers wait in `outgoing` while the channel is full: whoever asks is busy asking, and must be read on meanwhile."""

    def __init__(self, channel: socket.socket, width: int):
        self.channel, self.width, self.outgoing = channel, width, bytearray()
        self.waiting: list[tuple[int, dict]] = []
        self.workers: dict[int, tuple[int, int, bytearray]] = {}  # by descriptor: process, request, what it has written
        self.selector = selectors.DefaultSelector()
        self.selector.register(channel, selectors.EVENT_READ)

    def serve(self) -> None:
        """Until the other side closes the channel."""
        while True:
            self.selector.modify(self.channel, selectors.EVENT_READ | (selectors.EVENT_WRITE if self.outgoing else 0))
            for key, events in self.selector.select():
                if key.fileobj is not self.channel:
                    self.read(key.fd)
                    continue
                try:
                    if events & selectors.EVENT_WRITE:
                        self.write()
                    if events & selectors.EVENT_READ:
                        self.waiting.append(receive(self.channel))
                except (EOFError, OSError):
                    self.end()
                    return
            while self.waiting and len(self.workers) < self.width:
                self.start(*self.waiting.pop(0))

    def write(self) -> None:
        """As much of what waits as the channel takes."""
        try:
            del self.outgoing[: self.channel.send(self.outgoing, socket.MSG_DONTWAIT)]
        except BlockingIOError:
            pass  # it is full after all: the selector tells when it is not

    def start(self, number: int, request: dict) -> None:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(reader)
                data = pickle.dumps(answer(number, request))
                while data:
                    data = data[os.write(writer, data) :]
                code = 0
            finally:
                os._exit(code)
        os.close(writer)
        self.workers[reader] = (pid, number, bytearray())
        self.selector.register(reader, selectors.EVENT_READ)

    def read(self, descriptor: int) -> None:
        pid, number, data = self.workers[descriptor]
        part = os.read(descriptor, 1 << 20)
        if part:
            data += part
            return
        self.selector.unregister(descriptor)
        os.close(descriptor)
        del self.workers[descriptor]
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == 0:
            self.outgoing += frame(pickle.loads(bytes(data)))
        else:
            how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
            self.outgoing += frame((number, "died", f"the process that compiled it {how}"))

    def end(self) -> None:
        for pid, _, _ in self.workers.values():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever waits
    warm = {"source": WARM, "name": "warm", "signature": {"a": "*fp32", "n": "i32"}, "constants": {"BLOCK": 128},
            "divisible": ["a"], "options": {"enable_fp_fusion": False}, "capability": 80, "driver": 0}  # fmt: skip
    try:
        compiled(warm, "ptx")
    except Exception as e:
        send(channel, (-1, "refused", f"{type(e).__name__}: {e}"))
        return
    send(channel, (-1, "done", None, None))
    Server(channel, int(sys.argv[2])).serve()


if __name__ == "__main__":
    main()
