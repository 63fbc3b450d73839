"""A program of a user, which takes the name of a device, gives on "cuda" what it gives on the CPU: values, layouts, errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import weft


def leaves(value: Any) -> list[Any]:
    """What a program gave, in order."""
    if isinstance(value, dict):
        return [x for v in value.values() for x in leaves(v)]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in leaves(v)]
    return [value]


def result(program: Callable[[str], Any], device: str) -> Any:
    """What it gave, or the error that it raised."""
    weft.manual_seed(0)
    weft._dynamo.reset()
    try:
        return leaves(program(device))
    except Exception as error:  # compared with the other device's
        return error


def without_device(text: str) -> str:
    return re.sub(r", device='cuda:\d'|device='cuda:\d', ", "", re.sub(r"(?<!device=')cuda(:\d)?", "cpu", text))


def numbers(x: Any) -> np.ndarray:
    x = x.detach().cpu()
    x = x if x.layout is weft.strided else x.to_dense()
    return (x.float() if x.dtype.is_floating_point and x.dtype.itemsize < 4 else x).numpy()


def same(program: Callable[[str], Any]) -> None:
    """Run it on both devices and compare."""
    want, got = result(program, "cpu"), result(program, "cuda")
    if isinstance(want, Exception) or isinstance(got, Exception):
        if not (isinstance(want, Exception) and isinstance(got, Exception)):
            raise got if isinstance(got, Exception) else want
        assert type(got) is type(want) and without_device(str(got)) == str(want)
        return
    assert len(got) == len(want)
    for g, w in zip(got, want):
        if isinstance(w, weft.Tensor):
            assert (g.shape, g.dtype, g.layout, g.requires_grad) == (w.shape, w.dtype, w.layout, w.requires_grad)
            assert w.layout is not weft.strided or g.stride() == w.stride()
            close = 2e-2 if w.dtype in (weft.float16, weft.bfloat16) else 1e-4
            np.testing.assert_allclose(numbers(g), numbers(w), rtol=close, atol=close, equal_nan=True)
        elif isinstance(w, float):
            np.testing.assert_allclose(g, w, rtol=1e-4)
        else:
            assert type(g) is type(w) and (without_device(g) if isinstance(g, str) else g) == w
