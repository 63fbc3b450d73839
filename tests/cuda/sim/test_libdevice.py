"""libdevice on the interpreter: whatever kernels name is there, and right."""

import inspect
import math
import re

import numpy as np

from inductor.codegen import (
    triton,
    triton_attention,
    triton_prelude,
    triton_product,
    triton_scalars,
    triton_tiles,
    triton_values,
)
from tests.cuda.sim import libdevice

WRITERS = triton, triton_attention, triton_prelude, triton_product, triton_tiles, triton_values


def test_functions_that_kernels_name_are_there():
    texts = " ".join([*triton_scalars.TEXTS.values(), *map(inspect.getsource, WRITERS)])
    named = set(re.findall(r"libdevice\.([a-z]\w*)\(", texts))
    assert {"trunc", "cyl_bessel_i0"} <= named  # the search sees both the table and the prelude
    assert named <= libdevice.FUNCTIONS.keys() | libdevice.PREDICATES.keys()


def test_bessel_functions():
    x = np.array([0.0, -0.0, 1e-9, 0.5, -1.0, 29.5, 31.0, 700.0])
    order0 = [1, 1, 1, 1.0634833707413236, 1.2660658777520084, 478144163888.0398, 2089962966491.9038, 1.5295933476718735e302]
    order1 = [0, -0.0, 5e-10, 0.257894305390896, -0.565159103992485, 469968885416.277, 2055972795294.56, 1.52850039023390e302]
    np.testing.assert_allclose(libdevice.FUNCTIONS["cyl_bessel_i0"](x), order0, rtol=1e-9)
    found = libdevice.FUNCTIONS["cyl_bessel_i1"](x)
    np.testing.assert_allclose(found, order1, rtol=1e-9)
    assert math.copysign(1, found[1]) == -1
