"""Tensors that keep only some of their elements: their places and values are dense tensors, through which autograd goes.

A sparse tensor has no memory of its own. What is asked of it goes to aten.sparse.ops, which has a rule for each op or refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from aten import _native, layout
from aten import dtype as dtypes
from aten._native import DType, Tensor
from aten.op import ops
from aten.printing import PrintOptions, tensor_text

rules: dict[str, Callable[..., Any]] = {}
"""By the name of an op, what it does on sparse tensors in coordinates."""


class SparseTensor(Tensor):
    """What both layouts share: the places in `_idx`, the values in `_val`."""

    _idx: Tensor
    _val: Tensor
    is_sparse = False
    is_sparse_csr = False
    is_contiguous = lambda self, memory_format=None: False  # noqa: E731

    @classmethod
    def __torch_function__(cls, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
        return run(func.__name__, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]  # of an overload
        if name == "add" and not isinstance(args[1], SparseTensor):  # gradients that meet in a backward walk
            args = args[::-1]
        return run(name, args, kwargs or {})

    # ---------------------------------------------------------------------------------------------- autograd
    requires_grad = property(lambda self: self._val.requires_grad, lambda self, value: self.requires_grad_(value))
    grad_fn = property(lambda self: self._val.grad_fn)
    is_leaf = property(lambda self: self._val.is_leaf)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Makes this a leaf whose gradient is kept, at the places that have a value. The tensor of values that this was made of
        is none: it may have been given by the program."""
        if requires_grad and not self._val.requires_grad:
            self._val = self._val.detach()
        self._val.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> Any:
        """The gradient of a leaf, of this layout: at the places that have a value."""
        grad = self._val.grad
        return None if grad is None else self._gradient(grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            raise RuntimeError("the gradient of a sparse tensor can only be set to None")
        self._val.grad = None

    def _gradient(self, grad: Tensor) -> Any:
        return self._with(grad)

    def detach(self) -> Any:
        return self._with(self._val.detach())

    def clone(self, *, memory_format: Any = None) -> Any:
        return self._with(self._val.clone())

    def values(self) -> Tensor:
        return self._val

    def _nnz(self) -> int:
        return self._idx.shape[-1]

    # -------------------------------------------------------------------------------------------------- text
    def _text_of_parts(self) -> list[tuple[str, Tensor]]:
        raise NotImplementedError

    def __repr__(self) -> str:  # type: ignore[override]
        lines = []
        for name, part in self._text_of_parts():
            shown = tensor_text(part.detach()).replace(f", dtype={part.dtype!r}", "")
            if part.numel() == 0 and part.ndim == 1:
                shown = shown.replace("[]", "[], size=(0,)", 1)
            lines.append(f"{name}=" + shown.replace("\n", "\n" + " " * len(f"tensor({name}=")))
        tail = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
        if not self.is_cpu:
            tail.insert(0, f"device='{self.device}'")
        if self.dtype not in (_native.get_default_dtype(), dtypes.int64, dtypes.bool):
            tail.append(f"dtype={self.dtype!r}")
        tail.append(f"layout={self.layout!r}")
        if self.grad_fn is not None:
            tail.append(f"grad_fn=<{self.grad_fn.name()}>")
        elif self.requires_grad:
            tail.append("requires_grad=True")
        text = "tensor(" + (",\n" + " " * 7).join(lines)
        last, force = len(text) - (text.rfind("\n") + 1), self.is_sparse
        for suffix in tail:
            turn = force or last + len(suffix) + 3 > PrintOptions.linewidth
            text += (",\n" + " " * 7 if turn else ", ") + suffix
            last, force = (7 if turn else last + 2) + len(suffix), False
        return text + ")"

    # ------------------------------------------------------------------------------- what reads memory refuses
    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        return self.data_ptr()

    def data_ptr(self) -> int:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def untyped_storage(self) -> Any:
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")

    storage = untyped_storage

    def item(self) -> Any:
        return self.to_dense().item()

    def __bool__(self) -> bool:
        return bool(self.to_dense())

    def __float__(self) -> float:
        return float(self.to_dense())

    def __int__(self) -> int:
        return int(self.to_dense())

    def __copy__(self) -> Any:
        return self._with(self._val)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            if not self.is_leaf:
                raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol")
            memo[id(self)] = self._with(self._val.detach().clone()).requires_grad_(self.requires_grad)
        return memo[id(self)]

    def backward(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("backward() starts from a dense tensor: call to_dense() or sum() first")

    # ------------------------------------------------------------------------------------- other layouts
    def _with(self, values: Tensor) -> Any:
        """Other values at the same places."""
        raise NotImplementedError

    def _coo(self) -> CooTensor:
        raise NotImplementedError

    def to_dense(self, dtype: DType | None = None, *, masked_grad: bool = True) -> Tensor:
        """All elements, zeros where there is none; values at the same place are added."""
        coo = self._coo()
        n, shape = coo.sparse_dim(), tuple(self.shape)
        values = coo._val if dtype is None else coo._val.to(dtype)
        flat = _flat_places(coo._idx, shape[:n])
        zeros = values.new_zeros((_product(shape[:n]), *shape[n:]))
        return zeros.index_add(0, flat, values).reshape(shape)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (type(self), [p.detach() for p in self._pieces()], tuple(self.shape), self.layout, self.requires_grad)

    def _pieces(self) -> list[Any]:
        raise NotImplementedError


def _rebuild(cls: type, pieces: list[Any], size: tuple[int, ...], kind: Any, requires_grad: bool) -> Any:
    made: Any = CooTensor(*pieces, size) if cls is CooTensor else CompressedTensor(*pieces, size, kind)  # type: ignore[call-arg]
    return made.requires_grad_() if requires_grad else made


def _product(sizes: Iterable[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _flat_places(indices: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The row-major number of each place."""
    flat = indices.new_zeros(indices.shape[1:])
    for row, size in zip(indices.unbind(0), sizes):
        flat = flat * size + row
    return flat


def _shell(cls: type, size: Any, values: Tensor) -> Any:
    return Tensor._make_wrapper_subclass(cls, size, (0,) * len(size), dtype=values.dtype, device=values.device)  # type: ignore[attr-defined]


class CooTensor(SparseTensor):
    """Elements by coordinates: values[k] at indices[:, k]; those at the same place add up until `coalesce`."""

    is_sparse = True
    layout = layout.sparse_coo  # type: ignore[assignment]

    def __new__(cls, indices: Tensor, values: Tensor, size: Any, coalesced: bool = False) -> CooTensor:
        made = _shell(cls, size, values)
        made._idx, made._val, made._coalesced = indices, values, coalesced or indices.shape[1] < 2
        return made

    def _with(self, values: Tensor) -> CooTensor:
        return CooTensor(self._idx, values, tuple(self.shape), self._coalesced)

    def _coo(self) -> CooTensor:
        return self

    def _pieces(self) -> list[Any]:
        return [self._idx, self._val]

    def _text_of_parts(self) -> list[tuple[str, Tensor]]:
        return [("indices", self._idx), ("values", self._val)]

    def sparse_dim(self) -> int:
        return self._idx.shape[0]

    def dense_dim(self) -> int:
        return self._val.ndim - 1

    def is_coalesced(self) -> bool:
        return self._coalesced

    def _coalesced_(self, coalesced: bool) -> CooTensor:
        self._coalesced = coalesced
        return self

    def _indices(self) -> Tensor:
        return self._idx

    def _values(self) -> Tensor:
        return self._val

    def indices(self) -> Tensor:
        self._check_coalesced("indices")
        return self._idx

    def values(self) -> Tensor:
        self._check_coalesced("values")
        return self._val

    def _check_coalesced(self, name: str) -> None:
        if not self._coalesced:
            raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")

    def coalesce(self) -> CooTensor:
        """The same elements in row-major order, each place once."""
        if self._coalesced:
            return self
        sizes = tuple(self.shape)[: self.sparse_dim()]
        places, of = ops.unique(_flat_places(self._idx, sizes), return_inverse=True)
        values = self._val.new_zeros((places.shape[0], *self._val.shape[1:])).index_add(0, of, self._val)
        rows = []
        for size in reversed(sizes):
            rows.append(places % size)
            places = places.div(size, rounding_mode="floor")
        return CooTensor(ops.stack(rows[::-1]) if rows else self._idx[:, :1], values, tuple(self.shape), True)

    def sparse_resize_(self, size: Any, sparse_dim: int, dense_dim: int) -> CooTensor:
        """The same elements in a tensor of other sizes. Raises RuntimeError where some might have no place there."""
        if len(size) != sparse_dim + dense_dim:
            raise RuntimeError(
                f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got {len(size)}"
            )
        if self._nnz():
            refused = "on a non-empty sparse tensor is not supported."
            for what, old, new in (("sparse", self.sparse_dim(), sparse_dim), ("dense", self.dense_dim(), dense_dim)):
                if old != new:
                    raise RuntimeError(f"changing the number of {what} dimensions (from {old} to {new}) {refused}")
            for what, part in (("sparse", slice(sparse_dim)), ("dense", slice(sparse_dim, None))):
                before, after = list(self.shape)[part], list(size)[part]
                if any(n < o for o, n in zip(before, after)):
                    raise RuntimeError(f"shrinking the size of {what} dimensions (from {before} to {after}) {refused}")
            values = self._val.new_zeros((self._nnz(), *size[sparse_dim:]))
            values[tuple(slice(n) for n in self._val.shape)] = self._val
            return self._become(CooTensor(self._idx, values, size, self._coalesced))
        return self.sparse_resize_and_clear_(size, sparse_dim, dense_dim)

    def sparse_resize_and_clear_(self, size: Any, sparse_dim: int, dense_dim: int) -> CooTensor:
        """An empty tensor of these sizes."""
        return self._become(
            CooTensor(self._idx.new_zeros((sparse_dim, 0)), self._val.new_zeros((0, *size[sparse_dim:])), size, True)
        )

    def _become(self, other: CooTensor) -> CooTensor:
        Tensor.data.__set__(self, other)  # type: ignore[attr-defined]
        self._idx, self._val, self._coalesced = other._idx, other._val, other._coalesced
        return self

    def resize_as_sparse_(self, other: CooTensor) -> CooTensor:
        """`sparse_resize_` to the sizes of another sparse tensor."""
        return self.sparse_resize_(tuple(other.shape), other.sparse_dim(), other.dense_dim())

    def _gradient(self, grad: Tensor) -> CooTensor:
        if self._coalesced:
            return self._with(grad)
        # values at the same place have the same gradient, which is that of their sum
        places = CooTensor(self._idx, grad, tuple(self.shape)).coalesce()
        times = CooTensor(self._idx, ops.ones_like(grad), tuple(self.shape)).coalesce()
        return places._with(places._val / times._val)


class CompressedTensor(SparseTensor):
    """A matrix by rows (CSR) or by columns (CSC): the values of line k are those from compressed[k] to compressed[k + 1].

    By rows or columns of blocks (BSR, BSC) each value is a block, all of one size.
    """

    def __new__(cls, compressed: Tensor, plain: Tensor, values: Tensor, size: Any, kind: Any = layout.sparse_csr) -> Any:
        made = _shell(cls, size, values)
        made._compressed, made._idx, made._val, made._kind = compressed, plain, values, kind
        return made

    layout = property(lambda self: self._kind)  # type: ignore[assignment]
    is_sparse_csr = property(lambda self: self._kind is layout.sparse_csr)  # type: ignore[assignment]

    _by_row = property(lambda self: self._kind in (layout.sparse_csr, layout.sparse_bsr))
    _blocksize = property(lambda self: tuple(self._val.shape[1:]) or None)

    def _with(self, values: Tensor) -> CompressedTensor:
        return CompressedTensor(self._compressed, self._idx, values, tuple(self.shape), self._kind)

    def _coo(self) -> CooTensor:
        lines = ops.repeat_interleave(ops.diff(self._compressed)).to(self._idx.dtype)
        rows = ops.stack([lines, self._idx] if self._by_row else [self._idx, lines]).to(dtypes.int64)
        if self._blocksize is None:
            return CooTensor(rows, self._val, tuple(self.shape), self._by_row)
        within = [ops.arange(n).reshape([-1 if d == e else 1 for e in (0, 1)]) for d, n in enumerate(self._blocksize)]
        places = [(r * n)[:, None, None] + i for r, n, i in zip(rows.unbind(0), self._blocksize, within)]
        return CooTensor(ops.stack([p.expand_as(self._val).flatten() for p in places]), self._val.flatten(), tuple(self.shape))

    def _pieces(self) -> list[Any]:
        return [self._compressed, self._idx, self._val]

    def _names(self) -> tuple[str, str]:
        return ("crow_indices", "col_indices") if self._by_row else ("ccol_indices", "row_indices")

    def _text_of_parts(self) -> list[tuple[str, Tensor]]:
        return [*zip(self._names(), (self._compressed, self._idx)), ("values", self._val)]

    def _named(self, name: str) -> Tensor:
        if name not in self._names():
            wanted = "row" if name in ("crow_indices", "col_indices") else "column"
            raise RuntimeError(f"{name} expected sparse {wanted} compressed tensor layout but got {self._kind.name.title()}")
        return (self._compressed, self._idx)[self._names().index(name)]

    def crow_indices(self) -> Tensor:
        return self._named("crow_indices")

    def col_indices(self) -> Tensor:
        return self._named("col_indices")

    def ccol_indices(self) -> Tensor:
        return self._named("ccol_indices")

    def row_indices(self) -> Tensor:
        return self._named("row_indices")

    def sparse_dim(self) -> int:
        return 2

    def dense_dim(self) -> int:
        return 0

    def is_coalesced(self) -> bool:
        raise RuntimeError(f"is_coalesced expected sparse coordinate tensor layout but got {self._kind.name.title()}")


_TURNED = {
    layout.sparse_csr: layout.sparse_csc, layout.sparse_csc: layout.sparse_csr, layout.sparse_bsr: layout.sparse_bsc,
    layout.sparse_bsc: layout.sparse_bsr,
}  # fmt: skip


def _in_coordinates(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_in_coordinates(v) for v in value]
    return value._coo() if isinstance(value, CompressedTensor) else value


def run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op on arguments of which some are sparse; its result is compressed where the first sparse one is."""
    rule = rules.get(name)
    if rule is None:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend: there is no rule for sparse tensors; "
            "call to_dense() first"
        )
    operands = args[0] if args and isinstance(args[0], (list, tuple)) else args
    first = next((a for a in operands if isinstance(a, SparseTensor)), None)
    in_place = name.endswith("_") and not name.endswith("__")
    if not isinstance(first, CompressedTensor) or in_place:
        return rule(*args, **kwargs)
    result = rule(*[_in_coordinates(a) for a in args], **kwargs)
    if isinstance(result, CooTensor) and result.ndim == 2:
        turned = name in ("t", "transpose", "permute")
        kind = _TURNED[first._kind] if turned else first._kind
        block = first._blocksize[::-1] if turned and first._blocksize else first._blocksize
        if block is not None and any(n % b for n, b in zip(result.shape, block)):
            kind, block = (layout.sparse_csr if kind is layout.sparse_bsr else layout.sparse_csc), None
        return result.to_sparse(layout=kind, blocksize=block)  # type: ignore[attr-defined]
    return result
