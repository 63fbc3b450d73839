"""What ops do on sparse tensors in coordinates. Each rule is made of ops on places and values, so gradients follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native
from aten import layout as layouts
from aten._native import Tensor
from aten.op import ops
from aten.scalar.unpatched import math
from aten.sparse.tensor import CooTensor, SparseTensor, _flat_places, rules


def rule(*names: str) -> Callable[[Any], Any]:
    """The function is what the ops of these names do."""

    def declare(function: Any) -> Any:
        rules.update(dict.fromkeys(names, function))
        return function

    return declare


def _is_sparse(value: Any) -> bool:
    return isinstance(value, SparseTensor)


# ------------------------------------------------------------------------------------------ of each element
_ZERO_TO_ZERO = (
    "abs absolute asin asinh atan atanh ceil erf erfinv expm1 floor frac log1p nan_to_num neg negative positive rad2deg deg2rad "
    "relu round sgn sign signbit sin sinh sqrt square tan tanh trunc isnan isinf isneginf isposinf pow real imag conj"
).split()
_LINEAR = ("neg", "negative", "positive", "conj", "real", "imag")


def _unary(name: str) -> Any:
    def run(input: CooTensor, *args: Any, **kwargs: Any) -> CooTensor:
        if name == "pow" and (_is_sparse(args[0]) or isinstance(args[0], Tensor) or args[0] <= 0):
            raise RuntimeError("pow of a sparse tensor takes a positive number as exponent")
        source = input if name in _LINEAR else input.coalesce()
        return source._with(getattr(ops, name)(source._val, *args, **kwargs))

    return run


for _name in _ZERO_TO_ZERO:
    rules[_name] = _unary(_name)


def _converted(name: str) -> Any:
    def run(input: CooTensor, *args: Any, **kwargs: Any) -> Any:
        values = getattr(input._val, name)(*args, **kwargs)
        if values.device == input._idx.device:
            return input._with(values)
        return CooTensor(input._idx.to(values.device), values, tuple(input.shape), input._coalesced)

    return run


for _name in ("to", "float", "double", "half", "bfloat16", "int", "long", "bool", "cpu", "cuda", "type_as"):
    rules[_name] = _converted(_name)


@rule("mul", "multiply")
def mul(input: Any, other: Any) -> Any:
    """A product has the places that all sparse operands have."""
    if not _is_sparse(input):
        input, other = other, input
    if not isinstance(other, Tensor) or (not _is_sparse(other) and other.ndim == 0):
        return input._with(input._val * other)
    source = input.coalesce()
    if _is_sparse(other):
        if tuple(other.shape) != tuple(source.shape):
            raise RuntimeError(f"mul operands have incompatible sizes {list(source.shape)} and {list(other.shape)}")
        return _intersection(source, other.coalesce())
    other = other.expand(tuple(source.shape))
    return source._with(source._val * other[tuple(source._idx.unbind(0))])


def _intersection(a: CooTensor, b: CooTensor) -> CooTensor:
    sizes = tuple(a.shape)[: a.sparse_dim()]
    left, right = _flat_places(a._idx, sizes), _flat_places(b._idx, sizes)
    if not right.numel() or not left.numel():
        return CooTensor(a._idx[:, :0], a._val[:0], tuple(a.shape), True)
    at = ops.searchsorted(right, left).clamp(max=right.shape[0] - 1)
    both = (right[at] == left).nonzero().flatten()
    return CooTensor(a._idx[:, both], a._val[both] * b._val[at[both]], tuple(a.shape), True)


@rule("div", "divide", "true_divide")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if not _is_sparse(input) or _is_sparse(other):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
    if isinstance(other, Tensor) and other.ndim:
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {list(other.shape)} for divisor)"
        )
    source = input if rounding_mode is None else input.coalesce()
    return source._with(ops.div(source._val, other, rounding_mode=rounding_mode))


# --------------------------------------------------------------------------------------------------- sums
@rule("add")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Sparse and sparse, or dense and sparse."""
    if not _is_sparse(other):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    scaled = other if alpha == 1 else other._with(other._val * alpha)
    if not _is_sparse(input):
        return input + scaled.to_dense()
    if tuple(input.shape) != tuple(other.shape):
        raise RuntimeError(f"add: expected 'self' and 'other' to have same sizes, but {list(input.shape)} != {list(other.shape)}")
    if input._idx is other._idx:
        return input._with(input._val + scaled._val)
    indices, values = ops.cat([input._idx, scaled._idx], 1), ops.cat([input._val, scaled._val])
    made = CooTensor(indices, values, tuple(input.shape))
    return made.coalesce() if input.is_coalesced() and other.is_coalesced() else made


@rule("sub", "subtract")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    if not _is_sparse(other):
        raise RuntimeError("sub(sparse, dense) is not supported. Use sub(dense, sparse) instead.")
    return add(input, other, alpha=-alpha)


@rule("sum")
def total(input: CooTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over all, a dense number; or over dims, sparse in those that are left."""
    values = input._val if dtype is None else input._val.to(dtype)
    dims = sorted({d % input.ndim for d in ([dim] if isinstance(dim, int) else dim)}) if dim is not None else []
    if not dims:
        return values.sum()
    n = input.sparse_dim()
    dense = [d - n + 1 for d in dims if d >= n]
    if dense:
        values = values.sum(dense, keepdim=keepdim)
    kept = [d for d in range(n) if d not in dims]
    if not kept and not keepdim:
        return values.sum(0)
    shape = tuple(1 if d in dims else s for d, s in enumerate(input.shape) if keepdim or d not in dims)
    rows = input._idx if keepdim else input._idx[kept]
    if keepdim:
        rows = ops.stack([r * 0 if d in dims else r for d, r in enumerate(rows.unbind(0))])
    return CooTensor(rows, values, shape).coalesce()


@rule("norm", "linalg_vector_norm", "vector_norm")
def norm(input: CooTensor, p: Any = 2, *args: Any, **kwargs: Any) -> Tensor:
    return ops.norm(input.coalesce()._val, 2 if p in (None, "fro") else p)


@rule("any")
def any_(input: CooTensor) -> Tensor:
    return input._val.any()


# ------------------------------------------------------------------------------------------------ products
def _times_dense(a: CooTensor, dense: Tensor) -> Tensor:
    if a.sparse_dim() != 2 or a.dense_dim():
        kinds = f"sparse_dim {a.sparse_dim()} and dense_dim {a.dense_dim()}"
        raise RuntimeError(f"matmul of a sparse tensor with {kinds} is not supported")
    if a.shape[1] != dense.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {'x'.join(map(str, dense.shape))})"
        )
    rows, columns = a._idx.unbind(0)
    values = a._val if dense.ndim == 1 else a._val.unsqueeze(1)
    picked = dense.index_select(0, columns) * values
    return picked.new_zeros((a.shape[0], *dense.shape[1:])).index_add(0, rows, picked)


def _times_sparse(a: CooTensor, b: CooTensor) -> CooTensor:
    """Each value of `a` meets the values of the row of `b` that its column names."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    a, b = a.coalesce(), b.coalesce()
    counts = ops.bincount(b._idx[0], minlength=b.shape[0])
    starts = counts.cumsum(0) - counts
    columns = a._idx[1]
    repeats = counts[columns]
    left = ops.repeat_interleave(repeats)
    within = ops.arange(left.shape[0], device=left.device) - (repeats.cumsum(0) - repeats)[left]
    right = starts[columns][left] + within
    indices = ops.stack([a._idx[0][left], b._idx[1][right]])
    return CooTensor(indices, a._val[left] * b._val[right], (a.shape[0], b.shape[1])).coalesce()


@rule("matmul", "mm", "mv", "spmm")
def matmul(input: Any, mat2: Any) -> Any:
    """A matrix times a matrix or vector, of which one or both are sparse."""
    if _is_sparse(input) and _is_sparse(mat2):
        return _times_sparse(input._coo(), mat2._coo())
    if _is_sparse(input):
        return _times_dense(input._coo(), mat2)
    flat = input.reshape(-1, input.shape[-1])
    found = _times_dense(t(mat2._coo()), flat.t()).t()
    return found.reshape(*input.shape[:-1], mat2.shape[1])


@rule("bmm")
def bmm(input: Any, mat2: Any) -> Tensor:
    return ops.bmm(input.to_dense(), mat2.to_dense())


@rule("addmm", "_sparse_addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    product = matmul(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    return (input if beta == 1 else input * beta) + product


@rule("smm")
def smm(input: Any, mat2: Any) -> Any:
    return matmul(input, mat2).to_sparse()


@rule("hspmm")
def hspmm(input: Any, mat2: Any) -> Any:
    return matmul(input, mat2).to_sparse(1)


@rule("sspaddmm")
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return input * beta + smm(mat1, mat2) * alpha


@rule("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    found = matmul(input, weight.t())
    return found if bias is None else found + bias


# --------------------------------------------------------------------------------------------------- places
@rule("transpose", "swapaxes")
def transpose(input: CooTensor, dim0: int, dim1: int) -> CooTensor:
    order = list(range(input.ndim))
    dim0, dim1 = dim0 % input.ndim, dim1 % input.ndim
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(input, order)


@rule("permute")
def permute(input: CooTensor, *dims: Any) -> CooTensor:
    order = [d % input.ndim for d in (dims[0] if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else dims)]
    n = input.sparse_dim()
    if sorted(order[:n]) != list(range(n)):
        raise RuntimeError("transpose: sparse and dense dims of a sparse tensor cannot be exchanged")
    values = input._val.permute([0, *[d - n + 1 for d in order[n:]]])
    same = order[:n] == list(range(n))
    return CooTensor(input._idx[order[:n]], values, [input.shape[d] for d in order], same and input.is_coalesced())


@rule("t")
def t(input: CooTensor) -> CooTensor:
    return transpose(input, 0, 1) if input.ndim == 2 else input


@rule("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0) -> CooTensor:
    if not all(_is_sparse(x) for x in tensors):
        raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found")
    first, at = tensors[0], dim % tensors[0].ndim
    if at >= first.sparse_dim():
        values = ops.cat([x.coalesce()._val for x in tensors], at - first.sparse_dim() + 1)
        return first.coalesce()._with(values)
    indices, total_size = [], 0
    for x in tensors:
        rows = list(x._idx.unbind(0))
        rows[at] = rows[at] + total_size
        indices.append(ops.stack(rows))
        total_size += x.shape[at]
    shape = [total_size if d == at else s for d, s in enumerate(first.shape)]
    return CooTensor(ops.cat(indices, 1), ops.cat([x._val for x in tensors]), shape)


@rule("stack")
def stack(tensors: Any, dim: int = 0) -> CooTensor:
    at = dim % (tensors[0].ndim + 1)
    return cat([unsqueeze(x, at) for x in tensors], at)


@rule("unsqueeze")
def unsqueeze(input: CooTensor, dim: int) -> CooTensor:
    at, n = dim % (input.ndim + 1), input.sparse_dim()
    shape = [*input.shape[:at], 1, *input.shape[at:]]
    if at > n:
        return CooTensor(input._idx, input._val.unsqueeze(at - n + 1), shape, input.is_coalesced())
    rows = list(input._idx.unbind(0))
    rows.insert(at, input._idx.new_zeros(input._idx.shape[1]))
    return CooTensor(ops.stack(rows), input._val, shape, input.is_coalesced())


@rule("select")
def select(input: CooTensor, dim: int, index: int) -> Any:
    dim %= input.ndim
    if not -input.shape[dim] <= index < input.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}")
    n, shape = input.sparse_dim(), [s for d, s in enumerate(input.shape) if d != dim]
    if dim >= n:
        return CooTensor(input._idx, input._val.select(dim - n + 1, index), shape, input.is_coalesced())
    at = (input._idx[dim] == index % input.shape[dim]).nonzero().flatten()
    values = input._val[at]
    if n == 1:
        return values.sum(0)
    return CooTensor(input._idx[[d for d in range(n) if d != dim]][:, at], values, shape, input.is_coalesced())


@rule("index_select")
def index_select(input: CooTensor, dim: int, index: Tensor) -> CooTensor:
    dim %= input.ndim
    if dim >= input.sparse_dim():
        return input._with(input._val.index_select(dim - input.sparse_dim() + 1, index))
    where, at = (index.unsqueeze(1) == input._idx[dim]).nonzero(as_tuple=True)
    rows = list(input._idx[:, at].unbind(0))
    rows[dim] = where
    return CooTensor(ops.stack(rows), input._val[at], [index.shape[0] if d == dim else s for d, s in enumerate(input.shape)])


@rule("narrow_copy")
def narrow_copy(input: CooTensor, dim: int, start: int, length: int) -> CooTensor:
    dim %= input.ndim
    n, shape = input.sparse_dim(), [length if d == dim else s for d, s in enumerate(input.shape)]
    start = start + input.shape[dim] if start < 0 else start
    if start < 0 or length < 0 or start + length > input.shape[dim]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input.shape[dim]}).")
    if dim >= n:
        return CooTensor(input._idx, input._val.narrow(dim - n + 1, start, length), shape, input.is_coalesced())
    places = input._idx[dim]
    at = ((places >= start) & (places < start + length)).nonzero().flatten()
    rows = [row[at] - (start if d == dim else 0) for d, row in enumerate(input._idx.unbind(0))]
    return CooTensor(ops.stack(rows), input._val[at], shape, input.is_coalesced())


@rule("getitem", "__getitem__")
def getitem(input: CooTensor, key: Any) -> Any:
    keys = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(k, int) and not isinstance(k, bool) for k in keys):
        raise NotImplementedError("a sparse tensor is indexed by whole numbers alone: use index_select or to_dense()")
    for k in keys:
        input = select(input, 0, k) if _is_sparse(input) else input[k]
    return input


# ------------------------------------------------------------------------------------------------- in place
def _become(target: CooTensor, made: CooTensor) -> CooTensor:
    if _native.is_grad_enabled() and target.requires_grad and target.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    target._idx, target._val, target._coalesced = made._idx, made._val.to(target.dtype), made._coalesced
    return target


@rule("add_")
def add_(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Into a dense tensor the values are added at their places."""
    if _is_sparse(input):
        return _become(input, add(input, other, alpha=alpha))
    if _native.is_grad_enabled() and (input.requires_grad or other.requires_grad):
        return input.add_(other.to_dense(), alpha=alpha)
    coo = other._coo()
    values = coo._val if alpha == 1 else coo._val * alpha
    return input.index_put_(tuple(coo._idx.unbind(0)), values.to(input.dtype), accumulate=True)


@rule("sub_")
def sub_(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return add_(input, other, alpha=-alpha)


@rule("mul_")
def mul_(input: Any, other: Any) -> Any:
    return _become(input, mul(input, other)) if _is_sparse(input) else input.mul_(other.to_dense())


@rule("div_")
def div_(input: Any, other: Any) -> Any:
    return _become(input, div(input, other))


@rule("neg_")
def neg_(input: Any) -> Any:
    return _become(input, input._with(-input._val))


@rule("zero_")
def zero_(input: CooTensor) -> CooTensor:
    return _become(input, CooTensor(input._idx[:, :0], input._val[:0], tuple(input.shape), True))


@rule("copy_")
def copy_(input: Any, src: Any, non_blocking: bool = False) -> Any:
    if not _is_sparse(input):
        return input.copy_(src.to_dense())
    if not _is_sparse(src):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented")
    return _become(input, src.clone())


@rule("zeros_like", "empty_like")
def zeros_like(
    input: CooTensor, *, dtype: Any = None, layout: Any = None, memory_format: Any = None, requires_grad: bool = False, **place: Any
) -> Any:
    if memory_format is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    dtype = input.dtype if dtype is None else dtype
    if layout is layouts.strided:
        return ops.zeros(list(input.shape), dtype=dtype, requires_grad=requires_grad)
    made = CooTensor(input._idx[:, :0], input._val.detach()[:0].to(dtype), tuple(input.shape), True)
    return made.requires_grad_() if requires_grad else made


@rule("detach")
def detach(input: CooTensor) -> CooTensor:
    return input.detach()


@rule("clone")
def clone(input: CooTensor, *, memory_format: Any = None) -> CooTensor:
    return input.clone()


@rule("isfinite")
def isfinite(input: CooTensor) -> Tensor:
    return ops.isfinite(input.to_dense())


# ------------------------------------------------------------------------------------------------- softmax
def softmax_rule(input: CooTensor, dim: int, log: bool) -> CooTensor:
    """Over the values that are there: those that are not count as minus infinity."""
    source = input.coalesce()
    dim, n = dim % source.ndim, source.sparse_dim()
    if dim >= n:
        return source._with((ops.log_softmax if log else ops.softmax)(source._val, dim - n + 1))
    sizes = [1 if d == dim else s for d, s in enumerate(source.shape[:n])]
    rows = [r * 0 if d == dim else r for d, r in enumerate(source._idx.unbind(0))]
    group = _flat_places(ops.stack(rows), tuple(sizes))
    groups, group = ops.unique(group, return_inverse=True)
    values, shape = source._val, (groups.shape[0], *source._val.shape[1:])
    at = group.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    most = values.detach().new_full(shape, -math.inf).scatter_reduce(0, at, values.detach(), "amax")
    shifted = values - most[group]
    sums = values.new_zeros(shape).index_add(0, group, shifted.exp())
    return source._with(shifted - sums.log()[group] if log else shifted.exp() / sums[group])


@rule("softmax")
def softmax(input: CooTensor, dim: int, dtype: Any = None) -> CooTensor:
    return softmax_rule(input if dtype is None else input.to(dtype), dim, False)


@rule("log_softmax")
def log_softmax(input: CooTensor, dim: int, dtype: Any = None) -> CooTensor:
    return softmax_rule(input if dtype is None else input.to(dtype), dim, True)
