"""Matrix products. Core: mm and bmm; everything else is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.errors import warn_caller
from aten.float8 import is_float8
from aten.meta import Meta, exceeds, is_transposed, known_equal, same_size
from aten.op import alias_of, composite, op, ops, widened
from aten.ops.batching import materialize, to_front
from aten.ops.pointwise import conjugate
from aten.promotion import TYPE_NAMES, category, element
from aten.shapes import broadcast, product, show, wrap_dim

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # (string.ascii_letters would load templates)


def _same_dtype(name: str, a: Meta, b: Meta) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {TYPE_NAMES[a.dtype.name].lower()} != "
            f"{TYPE_NAMES[b.dtype.name].lower()}"
        )
    if category(a.dtype) == 0:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


@op("mm(Tensor input, Tensor mat2) -> Tensor", tags=["matmul"], compute="float32", native="product")
def mm(input: Meta, mat2: Meta) -> Meta:
    """The product of two matrices [n, k] and [k, m] of one dtype."""
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    if not same_size(input.sizes[1], mat2.sizes[0]):
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({input.sizes[0]}x{input.sizes[1]} and {mat2.sizes[0]}x{mat2.sizes[1]})"
        )
    _same_dtype("addmm_impl_cpu_", input, mat2)
    return input.like(sizes=(input.sizes[0], mat2.sizes[1]))


@mm.kernel
def _(out, a, b):
    np.matmul(a, b, out=out)


def _mm_left(g, input_meta, mat2):
    other = conjugate(mat2)
    return mm(other, g.t()).t() if is_transposed(input_meta) else mm(g, other.t())


def _mm_right(g, input, mat2_meta):
    other = conjugate(input)
    return mm(g.t(), other).t() if is_transposed(mat2_meta) else mm(other.t(), g)


mm.vjp((_mm_left, _mm_right))


def _product_jvp(made: Any) -> Any:
    def jvp(tangents, a, b, out):
        first = None if tangents[0] is None else made(tangents[0], b)
        second = None if tangents[1] is None else made(a, tangents[1])
        return second if first is None else first if second is None else first + second

    return jvp


mm.jvp(_product_jvp(mm))


@composite("spmm(Tensor input, Tensor mat2) -> Tensor", tags=["function_only"])
def spmm(input, mat2):
    """The product of two matrices, of which one may be sparse."""
    return mm(input, mat2)


@mm.batch
def _(n, dims, a, b):
    if dims[1] is None:  # one right side for all: a taller left side
        a = to_front(a, dims[0])
        return mm(a.reshape([n * a.shape[1], a.shape[2]]), b).reshape([n, a.shape[1], b.shape[1]]), 0
    return bmm(materialize(a, dims[0], n), materialize(b, dims[1], n)), 0


@op("bmm(Tensor input, Tensor mat2) -> Tensor", tags=["matmul"], compute="float32", native="product")
def bmm(input: Meta, mat2: Meta) -> Meta:
    """Products of matrices [b, n, k] and [b, k, m] of one dtype."""
    if input.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError(f"batch{1 if input.ndim != 3 else 2} must be a 3D tensor")
    if not same_size(input.sizes[0], mat2.sizes[0]) or not same_size(input.sizes[2], mat2.sizes[1]):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{input.sizes[0]}, {input.sizes[2]}] "
            f"but got: "
            f"[{mat2.sizes[0]}, {mat2.sizes[1]}]."
        )
    _same_dtype("bmm", input, mat2)
    return input.like(sizes=(input.sizes[0], input.sizes[1], mat2.sizes[2]))


bmm.kernel(lambda out, a, b: np.matmul(a, b, out=out))
bmm.vjp(
    (
        lambda g, mat2: bmm(g, conjugate(mat2.transpose(1, 2))),
        lambda g, input: bmm(conjugate(input.transpose(1, 2)), g),
    )
)
bmm.jvp(_product_jvp(bmm))


@bmm.batch
def _(n, dims, a, b):
    a, b = materialize(a, dims[0], n), materialize(b, dims[1], n)
    batch = n * a.shape[1]
    out = bmm(a.reshape([batch, *a.shape[2:]]), b.reshape([batch, *b.shape[2:]]))
    return out.reshape([n, a.shape[1], a.shape[2], b.shape[3]]), 0


# ----------------------------------------------------------------------------------------------------- composites
@composite("matmul(Tensor input, Tensor other) -> Tensor", native="product")
def matmul(input, other):
    """The matrix product by rank: dot, matrix times vector, matrices, batches (which broadcast)."""
    a, b = input.ndim, other.ndim
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 1:
        return matmul(input.unsqueeze(0), other).squeeze([-2])
    if b == 1:
        return matmul(input, other.unsqueeze(1)).squeeze([-1])
    if a == 2 and b == 2:
        return mm(input, other)
    if b == 2:  # [..., n, k] with one matrix: a taller left side
        _inner(input, other)
        flat = mm(input.reshape([product(input.shape[:-1]), input.shape[-1]]), other)
        return flat.reshape([*input.shape[:-1], other.shape[1]])
    batch = broadcast(tuple(input.shape[:-2]), tuple(other.shape[:-2]))
    n = product(batch)
    left = input.expand([*batch, *input.shape[-2:]]).reshape([n, *input.shape[-2:]])
    right = other.expand([*batch, *other.shape[-2:]]).reshape([n, *other.shape[-2:]])
    return bmm(left, right).reshape([*batch, input.shape[-2], other.shape[-1]])


def _inner(a: Any, b: Any) -> None:
    if not same_size(a.shape[-1], b.shape[-2]):
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({product(a.shape[:-1])}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )


@composite("dot(Tensor input, Tensor tensor) -> Tensor")
def dot(input, tensor):
    """The sum of products of two vectors."""
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype is not tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {TYPE_NAMES[input.dtype.name]} and "
            f"{TYPE_NAMES[tensor.dtype.name]}"
        )
    if not same_size(input.shape[0], tensor.shape[0]):
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {show(input.shape)} and src {show(tensor.shape)} to have "
            f"the same "
            f"number of elements, but got {input.shape[0]} and {tensor.shape[0]} elements respectively"
        )
    return mm(input.unsqueeze(0), tensor.unsqueeze(1)).reshape([])


@composite("vdot(Tensor input, Tensor other) -> Tensor")
def vdot(input, other):
    """`dot` with the first vector conjugated."""
    return dot(ops.conj_physical(input) if input.dtype.is_complex else input, other)


@composite("inner(Tensor input, Tensor other) -> Tensor")
def inner(input, other):
    """Sums of products over the last dimensions."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    return tensordot(input, other, [[-1], [-1]])


@composite("mv(Tensor input, Tensor vec) -> Tensor")
def mv(input, vec):
    """A matrix times a vector."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {vec.ndim}, {input.ndim}, {vec.ndim}")
    if not same_size(input.shape[1], vec.shape[0]):
        raise RuntimeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})"
        )
    return mm(input, vec.unsqueeze(1)).squeeze([1])


@composite("outer(Tensor input, Tensor vec2) -> Tensor")
def outer(input, vec2):
    """Products of every element of one vector with every one of another."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"outer: Expected 1-D argument {'self' if input.ndim != 1 else 'vec2'}, but got "
            f"{input.ndim if input.ndim != 1 else vec2.ndim}-D"
        )
    return input.unsqueeze(1) * vec2


alias_of("ger", outer)


def _scaled(x: Any, factor: Any) -> Any:
    if type(factor) in (int, float) and factor == 1:
        return x
    if category(x.dtype) == 0:
        return x if factor else ops.zeros_like(x)
    return x * (int(factor) if isinstance(factor, float) and category(x.dtype) == 1 else factor)


_WIDE = ("addmm", "baddbmm", "addbmm")  # factors of halves are float32


def _check_factors(name: str, dtype: Any, **factors: Any) -> None:
    """Raises RuntimeError for factors that the dtype cannot hold."""
    if name in _WIDE and dtype in (dtypes.float16, dtypes.bfloat16):
        dtype = dtypes.float32
    for label, factor in factors.items():
        if name == "addr" and category(dtype) < 2 and isinstance(factor, float):
            raise RuntimeError(f"For integral input tensors, argument {label} must not be a floating point number.")
        if category(dtype):
            element(factor, dtype)


def _accumulated(name: str, operands: str, compute: Any, tags: Any = ()) -> None:
    first, second = operands.split()

    @composite(
        f"{name}(Tensor input, Tensor {first}, Tensor {second}, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        tags=tags,
        inplace=True,
    )
    def definition(input, a, b, beta, alpha):
        """beta * input + alpha * product; input is not read where beta is 0. Halves with factors are rounded once.

        Nor is a product read where alpha is 0, but without BLAS in PyTorch: halves, addr, addmv of complex, small baddbmm.
        """
        short = next((x.ndim for x in (a, b) if x.ndim < 3), None) if name in ("baddbmm", "addbmm") else None
        if short is not None:  # what PyTorch says in asking for the third size
            raise IndexError(f"Dimension out of range (expected to be in range of [-{short}, {short - 1}], but got {short})")
        if name == "addmm" and is_float8(a.dtype):
            return wide(input, a, b, beta, alpha)
        plain = type(beta) in (int, float) and type(alpha) in (int, float) and beta in (0, 1) and alpha == 1
        if plain:
            return accumulate(input, a, b, beta, alpha)
        _check_factors(name, a.dtype, beta=beta, alpha=alpha)
        if a.dtype in (dtypes.float16, dtypes.bfloat16):
            return wide(input, a, b, beta, alpha)
        return accumulate(input, a, b, beta, alpha, name != "addr" and not (name == "addmv" and a.dtype.is_complex))

    def accumulate(input, a, b, beta, alpha, reads_factor=False):
        result = compute(a, b)
        if reads_factor and _is_zero(alpha) and not (name == "baddbmm" and _is_small(a, b)):
            result = ops.masked_fill(result, ops.full([], True, device=result.device), 0)
        else:
            result = _scaled(result, alpha)
        if _is_zero(beta):
            broadcast(tuple(input.shape), tuple(result.shape))
            if _native.is_grad_enabled() and (input.requires_grad or _native.is_tracer(input)):  # its gradient is 0, not none
                return ops.masked_fill(input, ops.full([], True, device=input.device), 0) + result
            return result
        return _scaled(input, beta) + result

    wide = widened(accumulate)


def _is_zero(factor: Any) -> bool:
    """Whether a factor is 0 in this call, which is guarded."""
    return not hasattr(factor, "dtype") and bool(factor == 0)


def _is_small(a: Any, b: Any) -> bool:
    """Whether PyTorch computes the products of these batches by its own loop, not by BLAS."""
    return exceeds(400, a.shape[1] * a.shape[2] * b.shape[2])


def _reduced_bmm(a, b):
    return ops.sum(bmm(a, b), [0], dtype=a.dtype)


_accumulated("addmm", "mat1 mat2", mm)
_accumulated("baddbmm", "batch1 batch2", bmm)
_accumulated("addbmm", "batch1 batch2", _reduced_bmm, ["resizes"])  # PyTorch's writes into a target of any size
_accumulated("addmv", "mat vec", mv)
_accumulated("addr", "vec1 vec2", outer)


@composite("kron(Tensor input, Tensor other) -> Tensor")
def kron(input, other):
    """Every element of one tensor times the whole other one, as blocks."""
    n = max(input.ndim, other.ndim)
    a = input.reshape([1] * (n - input.ndim) + list(input.shape))
    b = other.reshape([1] * (n - other.ndim) + list(other.shape))
    left = a.reshape([p for s in a.shape for p in (s, 1)])
    right = b.reshape([p for s in b.shape for p in (1, s)])
    return (left * right).reshape([x * y for x, y in zip(a.shape, b.shape)])


@composite("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", tags=["function_only"], native="product")
def linear(input, weight, bias):
    """input @ weight.T + bias; weight is [out, in], or [in] for a scalar result."""
    if bias is not None and is_float8(bias.dtype) and input.dtype is weight.dtype is bias.dtype:
        return widened(linear)(input, weight, bias)
    if weight.ndim == 1:
        result = matmul(input, weight)
    elif weight.ndim != 2:
        raise RuntimeError(f"linear: weight must be 1-D or 2-D, but got {weight.ndim}-D")
    else:
        if input.ndim == 0:
            raise RuntimeError("both arguments to linear need to be at least 1D, but they are 0D and 2D")
        if bias is not None and input.dtype is not weight.dtype:
            found = [TYPE_NAMES[t.dtype.name] for t in (input, weight)]
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {found[0]} and {found[1]}")
        if not same_size(input.shape[-1], weight.shape[1]):
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({product(input.shape[:-1])}x{input.shape[-1]} and "
                f"{weight.shape[1]}x{weight.shape[0]})"
            )
        flat = input if input.ndim == 2 else input.reshape([product(input.shape[:-1]), input.shape[-1]])
        result = mm(flat, weight.permute([1, 0]))
        if input.ndim != 2:
            result = result.reshape([*input.shape[:-1], weight.shape[0]])
    return result if bias is None else result + bias


@composite("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", tags=["function_only"])
def bilinear(input1, input2, weight, bias):
    """out[..., o] = sum over i, j of input1[..., i] * weight[o, i, j] * input2[..., j] (+ bias)."""
    if input1.ndim != input2.ndim or any(bool(a != b) for a, b in zip(input1.shape[:-1], input2.shape[:-1])):
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {show(input1.shape[:-1])} and {show(input2.shape[:-1])}"
        )
    for i, x in ((1, input1), (2, input2)):
        if not same_size(x.shape[-1], weight.shape[i]):
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {x.shape[-1]} but expected {weight.shape[i]}"
            )
    result = einsum("...i,oij,...j->...o", [input1, weight, input2])
    return result if bias is None else result + bias


@composite("tensordot(Tensor a, Tensor b, Any dims=2) -> Tensor", tags=["function_only"])
def tensordot(a, b, dims):
    """Sums of products over pairs of dims: the last n of a with the first n of b, or two lists."""
    if isinstance(dims, int):
        dims = [list(range(a.ndim - dims, a.ndim)), list(range(dims))]
    elif hasattr(dims, "tolist"):
        dims = dims.tolist()
    left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left, right = [wrap_dim(d, a.ndim) for d in left], [wrap_dim(d, b.ndim) for d in right]
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    for i, j in zip(left, right):
        if known_equal(a.shape[i], b.shape[j]):
            continue
        if bool(a.shape[i] == 1) and not bool(b.shape[j] == 1):
            b = ops.sum(b, [j], True, dtype=b.dtype)
        elif bool(b.shape[j] == 1) and not bool(a.shape[i] == 1):
            a = ops.sum(a, [i], True, dtype=a.dtype)
        elif a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
    free_a = [d for d in range(a.ndim) if d not in left]
    free_b = [d for d in range(b.ndim) if d not in right]
    k = product(a.shape[d] for d in left)
    x = a.permute([*free_a, *left]).reshape([product(a.shape[d] for d in free_a), k])
    y = b.permute([*right, *free_b]).reshape([k, product(b.shape[d] for d in free_b)])
    return mm(x, y).reshape([*(a.shape[d] for d in free_a), *(b.shape[d] for d in free_b)])


@composite("chain_matmul(Tensor[*] matrices) -> Tensor", tags=["function_only"])
def chain_matmul(matrices):
    """The product of several matrices, in the cheapest order."""
    warn_caller(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, "
        "which accepts a list of two or more tensors rather than multiple parameters.",
        once=True,
    )
    return multi_product(matrices)


def multi_product(xs: list[Any]) -> Any:
    """The product of matrices in the order of fewest multiplications (dynamic programming over intervals)."""
    n, sizes = len(xs), [x.shape[0] for x in xs] + [xs[-1].shape[1]]
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i][j], cut[i][j] = min(options)

    def build(i: int, j: int) -> Any:
        return xs[i] if i == j else mm(build(i, cut[i][j]), build(cut[i][j] + 1, j))

    return build(0, n - 1)


# ---------------------------------------------------------------------------------------------------------- einsum
def _einsum_terms(equation: str, ranks: list[int]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand and of the result; an ellipsis becomes labels of its own."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms, widest = left.split(","), 0
    wrong = next((c for c in (left + right).replace("...", "").replace(",", "") if not (c.isascii() and c.isalpha())), None)
    if wrong is not None:
        raise RuntimeError(f"einsum(): invalid subscript {wrong!r} given in {equation!r}: subscripts must be in [a-zA-Z]")
    if len(terms) != len(ranks):
        raise RuntimeError(f"einsum(): {'fewer' if len(ranks) > len(terms) else 'more'} subscripts were given than operands")
    for term, rank in zip(terms, ranks):
        letters = len(term.replace("...", ""))
        if "..." in term:
            widest = max(widest, rank - letters)
        if letters > rank or (letters < rank and "..." not in term):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({letters}) does not match the number of "
                f"dimensions "
                f"({rank}) for operand {terms.index(term)} and no ellipsis was given"
            )

    def spell(term: str, rank: int) -> list[str]:
        before, dots, after = term.partition("...")
        n = (rank - len(before) - len(after)) if dots else 0
        return [*before, *(f"dot{widest - n + i}" for i in range(n)), *after]

    labels = [spell(t, r) for t, r in zip(terms, ranks)]
    flat = [x for term in labels for x in term]
    if arrow:
        out = spell(right, len(right.replace("...", "")) + widest)
    else:
        out = [f"dot{i}" for i in range(widest)] + sorted(x for x in set(flat) if flat.count(x) == 1 and len(x) == 1)
    for x in out:
        if x not in flat:
            raise RuntimeError(f"einsum(): output subscript {x} does not appear in the equation for any input operand")
        if out.count(x) > 1:
            raise RuntimeError(f"einsum(): output subscript {x} appears more than once in the output")
    return labels, out


def _unrepeated(x: Any, labels: list[str]) -> tuple[Any, list[str]]:
    """A label twice in one operand means its diagonal."""
    for name in dict.fromkeys(labels):
        while labels.count(name) > 1:
            i = labels.index(name)
            j = labels.index(name, i + 1)
            x = ops.diagonal(x, 0, i, j)
            labels = [*(n for k, n in enumerate(labels) if k not in (i, j)), name]
    return x, labels


def _contract(a: Any, la: list[str], b: Any, lb: list[str], kept: set[str]) -> tuple[Any, list[str]]:
    """The product of two operands, summed over labels that nobody needs any more: one batched matrix product."""
    alike = a.dtype is b.dtype
    a, la = _sum_alone(a, la, set(lb) | kept)
    b, lb = _sum_alone(b, lb, set(la) | kept)
    if alike and a.dtype is not b.dtype:  # sums of narrow integers are int64
        a, b = a.to(dtypes.int64), b.to(dtypes.int64)
    size = {n: s for n, s in zip(lb, b.shape)}
    for n, s in zip(la, a.shape):
        if n not in size or (type(size[n]) is int and size[n] == 1):
            size[n] = s
    batch = [n for n in la if n in lb and n in kept]
    inner = [n for n in la if n in lb and n not in kept]
    rows = [n for n in la if n not in lb]
    columns = [n for n in lb if n not in la]

    def arranged(x: Any, labels: list[str], order: list[str], groups: list[list[str]]) -> Any:
        x = x.permute([labels.index(n) for n in order])
        x = x.expand([size[n] for n in order])
        return x.reshape([product(size[n] for n in group) for group in groups])

    if not inner:
        x = a.permute([la.index(n) for n in batch + rows]).reshape(
            [*(a.shape[la.index(n)] for n in batch + rows), *([1] * len(columns))]
        )
        y = b.permute([lb.index(n) for n in batch + columns])
        y = y.reshape([*(b.shape[lb.index(n)] for n in batch), *([1] * len(rows)), *(b.shape[lb.index(n)] for n in columns)])
        return x * y, batch + rows + columns
    x = arranged(a, la, batch + rows + inner, [batch, rows, inner])
    y = arranged(b, lb, batch + inner + columns, [batch, inner, columns])
    out = bmm(x, y) if batch else mm(x.squeeze([0]), y.squeeze([0]))
    return out.reshape([size[n] for n in batch + rows + columns]), batch + rows + columns


def _sum_alone(x: Any, labels: list[str], needed: set[str]) -> tuple[Any, list[str]]:
    alone = [i for i, n in enumerate(labels) if n not in needed]
    if alone:
        x = ops.sum(x, alone)
    return x, [n for n in labels if n in needed]


def _from_sublists(parts: Sequence[Any]) -> tuple[str, list[Any]]:
    """The equation and operands of einsum's other form: operand, numbers of its dims, operand, numbers …, result."""

    def term(labels: Any) -> str:
        wrong = next((n for n in labels if n is not Ellipsis and not 0 <= n < len(_LETTERS)), None)
        if wrong is not None:
            raise ValueError(f"einsum(): subscript {wrong} is not within the valid range [0, {len(_LETTERS)})")
        return "".join("..." if n is Ellipsis else _LETTERS[n] for n in labels)

    operands, labels = list(parts[: len(parts) // 2 * 2 : 2]), [term(t) for t in parts[1::2]]
    return ",".join(labels) + (f"->{term(parts[-1])}" if len(parts) % 2 else ""), operands


@composite("einsum(Any equation=None, Any[*] operands=[]) -> Tensor", tags=["function_only"])
def einsum(equation, operands):
    """Sums of products written by labels: "bij,bjk->bik". Contracted pair by pair from the left.

    Also einsum(x, [0, 1], y, [1, 2], [0, 2]): each operand followed by the numbers of its dims (`...` for those not named).
    """
    if equation is None or isinstance(equation, str) and not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if not isinstance(equation, str):
        if not hasattr(equation, "permute"):
            raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
        named = len(operands) == 0 or not all(n is Ellipsis or isinstance(n, int) for n in operands)
        equation, operands = _from_sublists([equation, *(operands if named else [operands])])  # one list comes as its elements
    wrong = next((i for i, x in enumerate(operands) if not hasattr(x, "permute")), None)  # (an array of NumPy's, say)
    if wrong is not None:
        raise TypeError(f"expected Tensor as element {wrong} in argument 1, but got {type(operands[wrong]).__name__}")
    labels, out = _einsum_terms(equation, [x.ndim for x in operands])
    size: dict[str, Any] = {}
    for term, x in zip(labels, operands):
        for n, s in zip(term, x.shape):
            known = size.setdefault(n, s)
            if not known_equal(known, s):
                if type(known) is int and known == 1:
                    size[n] = s
                elif not (type(s) is int and s == 1) and not bool(known == s):
                    raise RuntimeError(
                        f"einsum(): subscript {n} has size {s} for operand {labels.index(term)} which does not "
                        f"broadcast "
                        f"with previously seen size {known}"
                    )
    terms = [_unrepeated(x, term) for x, term in zip(operands, labels)]
    x, names = terms[0]
    for i, (y, other) in enumerate(terms[1:], 1):
        later = {n for _, t in terms[i + 1 :] for n in t}
        x, names = _contract(x, names, y, other, set(out) | later)
    x, names = _sum_alone(x, names, set(out))
    return x.permute([names.index(n) for n in out])
