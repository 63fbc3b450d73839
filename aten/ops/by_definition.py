"""Kernels of ops that are made of others, where no native one takes a dtype or a layout."""

from typing import Any

import numpy as np

from aten import _native


def by_definition(function: Any) -> Any:
    """A kernel that runs a function of tensors."""

    def kernel(out: Any, *args: Any) -> None:
        tensors = [_native.from_numpy(np.asarray(a, order="C")) if isinstance(a, np.ndarray) else a for a in args]
        found = function(*tensors)
        for to, x in zip(out, found) if isinstance(out, tuple) else ((out, found),):
            to[...] = x.detach().numpy()

    return kernel
