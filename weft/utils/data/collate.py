"""How samples become a batch: tensors are stacked, containers keep their form."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

import aten
from aten import Tensor

np_str_obj_array_pattern = re.compile("[SaUO]")  # codes of NumPy's dtypes that no tensor has
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _same_kind(elem: Any, values: Any, built: Callable[[], Any]) -> Any:
    """`values` in a container of elem's class, or as `built` makes it where the class cannot be made so."""
    try:
        if isinstance(elem, MutableMapping):
            clone = copy.copy(elem)  # keeps what else the object knows
            clone.update(values)
            return clone
        return type(elem)(values)
    except TypeError:
        return built()


def default_convert(data: Any) -> Any:
    """NumPy arrays and scalars as tensors, inside of containers too; everything else as it is."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        if isinstance(data, np.ndarray) and data.dtype.kind in "SUO":
            return data
        return aten.as_tensor(data)
    if isinstance(data, Mapping):
        values = {k: default_convert(v) for k, v in data.items()}
        return _same_kind(data, values, lambda: values)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        items = [default_convert(d) for d in data]
        return _same_kind(data, items, lambda: items)
    return data


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Any:
    """A batch of samples by the function of `collate_fn_map` for their class, or container by container.

    collate_fn_map: {class or tuple of classes: fn(batch, *, collate_fn_map)}. Raises TypeError for what is in neither,
    RuntimeError for samples that do not fit together; a note says in which field.
    """
    elem = batch[0]
    if collate_fn_map is not None:
        if type(elem) in collate_fn_map:
            return collate_fn_map[type(elem)](batch, collate_fn_map=collate_fn_map)
        for kind, fn in collate_fn_map.items():
            if isinstance(elem, kind):
                return fn(batch, collate_fn_map=collate_fn_map)
    if isinstance(elem, Mapping):
        for i, sample in enumerate(batch):
            if missing := [k for k in elem if k not in sample]:
                raise KeyError(f"sample {i} of the batch lacks {missing[0]!r}, which sample 0 has")
        values = {k: _field(repr(k), [sample[k] for sample in batch], collate_fn_map) for k in elem}
        return _same_kind(elem, values, lambda: values)
    if isinstance(elem, tuple) and hasattr(elem, "_fields"):
        return type(elem)(*_columns(batch, collate_fn_map, elem._fields))
    if isinstance(elem, Sequence) and not isinstance(elem, (str, bytes)):
        columns = _columns(batch, collate_fn_map, None)
        if isinstance(elem, tuple):
            return columns
        return _same_kind(elem, columns, lambda: columns)
    raise TypeError(default_collate_err_msg_format.format(type(elem)))


def _columns(batch: Any, collate_fn_map: Any, names: Any) -> list:
    lengths = [len(sample) for sample in batch]
    if any(n != lengths[0] for n in lengths):
        i = next(i for i, n in enumerate(lengths) if n != lengths[0])
        error = RuntimeError("each element in list of batch should be of equal size")
        error.add_note(f"sample 0 has {lengths[0]} elements, sample {i} has {lengths[i]}")
        raise error
    return [
        _field(str(i) if names is None else names[i], column, collate_fn_map)
        for i, column in enumerate(zip(*batch))
    ]


def _field(name: str, batch: Any, collate_fn_map: Any) -> Any:
    try:
        return collate(batch, collate_fn_map=collate_fn_map)
    except Exception as error:
        error.add_note(f"while the samples' [{name}] were put into a batch")
        raise


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    return aten.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    if batch[0].dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([aten.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    return aten.as_tensor(np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    return aten.tensor(batch, dtype=aten.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    return aten.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Samples as a batch: tensors and arrays stacked, numbers as a tensor (float64, int64), strings listed; mappings,
    sequences and named tuples of these field by field."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
