"""`weft.compiler.wrap_numpy`: functions of arrays as functions of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from aten import Tensor, as_tensor


def wrap_numpy(fn: Callable) -> Callable:
    """`fn`, which takes and returns NumPy arrays, as a function that takes and returns tensors; compiled code traces it.

    Tensors in lists, tuples and dicts are found too. Gradients pass where the function is compiled.
    """

    @functools.wraps(fn)
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        given = _changed(args, Tensor, _to_array)
        named = _changed(kwargs, Tensor, _to_array)
        return _changed(fn(*given, **named), (np.ndarray, np.generic), as_tensor)

    return on_tensors


def _to_array(tensor: Tensor) -> Any:
    return tensor.numpy()


def _changed(tree: Any, kind: Any, change: Callable) -> Any:
    """The tree with change(x) for each leaf x of that kind."""
    if isinstance(tree, kind):
        return change(tree)
    if isinstance(tree, (list, tuple)):
        return type(tree)([_changed(x, kind, change) for x in tree])
    if isinstance(tree, dict):
        return {k: _changed(v, kind, change) for k, v in tree.items()}
    return tree
