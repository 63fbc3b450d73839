"""A CUDA driver without a GPU: the driver's C interface over host memory (C++: `machine.h` first), whose launches run the
kernel's Triton source on Triton's interpreter. weft knows nothing of it but the variable WEFT_LIBCUDA.

    sim = simulator()                             # the library, built on first use, with its hooks
    image = sim.token(add=Kernel(add, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 64}))
    module = _cuda.Module(image)                  # as if it were a cubin
    sim.register(cubin, add=Kernel(...))          # or a real one
    sim.finders.append(find)                      # find(image) -> {name: Kernel} | None, asked for images that are not registered

A fault (an access outside of what is alive, a race, a promise not kept) is `sim.fault()`, and the error code of every later call.
"""

from tests.cuda.sim.driver import Simulator, simulator
from tests.cuda.sim.kernels import Kernel

__all__ = ["Kernel", "Simulator", "simulator"]
