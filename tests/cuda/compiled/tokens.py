"""Images that hold what was to be compiled instead of machine code: they cost nothing, and the simulated driver reads from one
which function it stands for. `WEFT_SIM_CUBINS=1` compiles for real, and finds the function by the image.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections.abc import Iterator
from concurrent.futures import Future

from inductor.cuda import compile_server, images
from tests.cuda.sim.kernels import Kernel

_HEAD = b"CUDASIM1"
_compiled: dict[bytes, dict[str, Kernel]] = {}


def kernel_of(request: dict, shared: int = 0) -> Kernel:
    """The kernel that a request asks for."""
    fn = compile_server.function_of(request["source"], request["name"])
    signature = {n: request["signature"].get(n, "constexpr") for n in fn.arg_names}
    attributes = {(fn.arg_names.index(n),): [["tt.divisibility", 16]] for n in request["divisible"]}
    return Kernel(fn, signature, request["constants"], attributes, request["options"]["num_warps"], shared)


def token(request: images.Request) -> Future:
    """What `images.compiler` gives, without compiling."""
    body = json.dumps(request.data(), sort_keys=True).encode()
    made: Future = Future()
    image = _HEAD + struct.pack("<Q", len(_HEAD) + 8 + len(body)) + body
    made.set_result((image, {"name": request.name, "num_warps": dict(request.options)["num_warps"], "shared": 0}))
    return made


def compiled(request: images.Request) -> Future:
    """Triton's image; the driver is told whose it is."""
    made = images.compile_in_pool(request)
    image, metadata = made.result()
    _compiled[image] = {request.name: kernel_of(request.data(), metadata["shared"])}
    return made


def find(image: bytes) -> dict[str, Kernel] | None:
    """The kernels of an image, for `Simulator.finders`."""
    if not image.startswith(_HEAD):
        return _compiled.get(image)
    (size,) = struct.unpack_from("<Q", image, len(_HEAD))
    try:
        request = json.loads(image[len(_HEAD) + 8 : size])
    except ValueError:  # a token of another kind
        return None
    return {request["name"]: kernel_of(request)}


@contextlib.contextmanager
def serving(sim) -> Iterator[None]:
    """What inductor compiles within is run by the simulated driver."""
    if find not in sim.finders:
        sim.finders.append(find)
    before = images.compiler
    images.compiler = compiled if os.environ.get("WEFT_SIM_CUBINS") else token
    try:
        yield
    finally:
        images.compiler = before
