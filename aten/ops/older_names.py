"""Functions that PyTorch has outside of its documentation, and old programs call: ops under other names or with other arguments."""

from typing import Any

from aten import dtype as dtypes
from aten.op import composite, ops, registry
from aten.tensor import tensor as make

_FUNCTION = ["function_only"]


def _function(declaration: str, definition: Any, doc: str) -> None:
    definition.__doc__ = doc
    composite(declaration, tags=_FUNCTION)(definition)


def _norm_over(name: str, ord: str) -> None:
    def definition(input: Any, dim: Any, keepdim: bool) -> Any:
        last = [input.ndim - 2, input.ndim - 1]
        if ord == "fro" and (dim is None or len(dim) < 2):
            return ops.linalg_vector_norm(input, 2, dim, keepdim)
        return ops.linalg_matrix_norm(input, ord, last if dim is None else dim, keepdim)

    text = f"`linalg.norm` with ord={ord!r}."
    _function(f"{name}(Tensor input, int[1]? dim=None, bool keepdim=False) -> Tensor", definition, text)


_norm_over("frobenius_norm", "fro")
_norm_over("nuclear_norm", "nuc")


def _in_place(name: str, arguments: str) -> None:
    """`name_`, which writes what the function gives into its input."""

    def definition(input: Any, *rest: Any) -> Any:
        return input.copy_(getattr(ops, name)(input, *rest))

    _function(f"{name}_(Tensor input, {arguments}) -> Tensor", definition, f"`{name}`, in place.")


_in_place("dropout", "float p, bool train")
_in_place("alpha_dropout", "float p, bool train")
_in_place("feature_alpha_dropout", "float p, bool train")


@composite("feature_dropout(Tensor input, float p, bool train) -> Tensor", tags=_FUNCTION)
def feature_dropout(input, p, train):
    """Whole channels (of dims behind the second) set to 0, the others scaled."""
    kept = ops.dropout(input.new_ones(list(input.shape[:2])), p, train)
    return input * kept.reshape([*input.shape[:2], *[1] * (input.ndim - 2)])


_in_place("feature_dropout", "float p, bool train")
_in_place("rrelu", "float lower=0.125, float upper=0.3333333333333333, bool training=False")
_function("resize_as_(Tensor input, Tensor the_template) -> Tensor", lambda input, the_template: input.resize_as_(the_template),
          "`Tensor.resize_as_`.")  # fmt: skip
_function("detach_(Tensor input) -> Tensor", lambda input: input.detach_(), "`Tensor.detach_`.")


@composite("embedding_renorm_(Tensor input, Tensor indices, float max_norm, float norm_type) -> Tensor", tags=_FUNCTION)
def embedding_renorm_(input, indices, max_norm, norm_type):
    """Rows of a table that are read, shortened in place to a norm of at most `max_norm`."""
    at, table = indices.reshape([-1]), input.detach()
    rows = ops.index_select(table, 0, at)
    norms = ops.linalg_vector_norm(rows, norm_type, [1], True)
    table.index_copy_(0, at, ops.where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows))
    return input


_function(
    "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    lambda *args: ops.grid_sampler_2d(*args),
    "`nn.functional.grid_sample` with modes by number.",
)
_function(
    "affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor",
    lambda theta, size, align_corners: ops.affine_grid(theta, size, align_corners),
    "`nn.functional.affine_grid`.",
)
_function(
    "max_pool1d_with_indices(Tensor input, Any kernel_size, Any stride=None, Any padding=0, Any dilation=1, bool ceil_mode=False) "
    "-> Any",
    lambda input, *rest: ops.max_pool1d(input, *rest, True),
    "`nn.functional.max_pool1d` with the places.",
)
_function(
    "conv_tbc(Tensor input, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    lambda input, weight, bias, pad: ops.permute(
        ops.conv1d(input.permute([1, 2, 0]), weight.permute([2, 1, 0]), bias, 1, pad), [2, 0, 1]
    ),
    "A convolution of (time, batch, channels) with a weight (width, channels in, channels out).",
)
_function("native_channel_shuffle(Tensor input, int groups) -> Tensor", lambda input, groups: ops.channel_shuffle(input, groups),
          "`nn.functional.channel_shuffle`.")  # fmt: skip


@composite("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", tags=_FUNCTION)
def weight_norm(v, g, dim):
    """v with the norms g over all dims but `dim` (-1: over all)."""
    if v.ndim == 1 and dim != -1:  # (an empty list of dims would be all of them)
        return v * (g / v.abs())
    others = None if dim == -1 else [i for i in range(v.ndim) if i != dim % v.ndim]
    return v * (g / ops.linalg_vector_norm(v, 2, others, dim != -1))


@composite(
    "_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, "
    "int[] output_padding, int groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32=True) -> Tensor",
    tags=_FUNCTION,
)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *switches):
    """A convolution of 1, 2 or 3 dims, or a transposed one. What concerns libraries of devices is not looked at."""
    n = input.ndim - 2
    if transposed:
        return registry[f"conv_transpose{n}d"](input, weight, bias, stride, padding, output_padding, groups, dilation)
    return registry[f"conv{n}d"](input, weight, bias, stride, padding, dilation, groups)


_function("_stack(Tensor[] tensors, int dim=0) -> Tensor", lambda tensors, dim: ops.stack(tensors, dim), "`stack`.")
_function("_shape_as_tensor(Tensor input) -> Tensor", lambda input: make(list(input.shape), dtype=dtypes.int64),
          "The sizes as a tensor.")  # fmt: skip
_function("_dim_arange(Tensor like, int dim) -> Tensor", lambda like, dim: ops.arange(like.shape[dim], device=like.device),
          "0, 1, … as far as the dim goes.")  # fmt: skip
_function("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", lambda x1, x2: ops.cdist(x1, x2), "`cdist` with p = 2.")
_function("_is_all_true(Tensor input) -> Tensor", lambda input: ops.all(input), "`all`.")
_function("_is_any_true(Tensor input) -> Tensor", lambda input: ops.any(input), "`any`.")
_function("view_as_real_copy(Tensor input) -> Tensor", lambda input: ops.view_as_real(input).clone(),
          "`view_as_real` in new memory.")  # fmt: skip
_function("view_as_complex_copy(Tensor input) -> Tensor", lambda input: ops.view_as_complex(input).clone(),
          "`view_as_complex` in new memory.")  # fmt: skip


@composite("_int_mm(Tensor input, Tensor mat2) -> Tensor", tags=_FUNCTION)
def int_mm(input, mat2):
    """The product of int8 matrices in int32."""
    for x in (input, mat2):
        if x.dtype is not dtypes.int8:
            raise RuntimeError(f"Expected self.scalar_type() == at::kChar to be true, but got {x.dtype}")
    return ops.mm(input.to(dtypes.int32), mat2.to(dtypes.int32))


@composite(
    "_unique2(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
    tags=_FUNCTION,
)
def unique2(input, sorted, return_inverse, return_counts):
    """`unique`, always three tensors: empty ones for what is not asked for."""
    values, inverse, counts = ops.unique(input, sorted, True, True)
    none = input.new_empty([0], dtype=dtypes.int64)
    return values, inverse if return_inverse else none, counts if return_counts else none


@composite(
    "lobpcg(Tensor A, int? k=None, Tensor? B=None, Tensor? X=None, int? n=None, Tensor? iK=None, int? niter=None, "
    "float? tol=None, bool? largest=None, str? method=None, Any tracker=None, Any ortho_iparams=None, Any ortho_fparams=None, "
    "Any ortho_bparams=None) -> (Tensor, Tensor)",
    tags=_FUNCTION,
)
def lobpcg(A, k, B, X, n, iK, niter, tol, largest, *rest):
    """The k largest (or smallest) eigenvalues of A x = λ B x and their vectors, A symmetric and B positive definite.

    By a whole decomposition, so exact whatever the start X, the iterations and the tolerance are: those only set k, which is n or
    the columns of X where it is not given (else 1). Raises ValueError for 3k greater than the size, as the iteration would.
    """
    if k is None:
        k = n if n is not None else 1 if X is None else X.shape[-1]
    size = A.shape[-1]
    if size < 3 * k:
        raise ValueError(f"LPBPCG algorithm is not applicable when the number of A rows (={size}) is smaller than 3 x the number "
                         f"of requested eigenpairs (={k})")  # fmt: skip
    A = A.to_dense() if A.layout is not ops.empty([0]).layout else A
    if B is None:
        values, vectors = ops.linalg_eigh(A)
    else:
        B = B.to_dense() if B.layout is not ops.empty([0]).layout else B
        lower = ops.linalg_cholesky(B)
        half = ops.linalg_solve_triangular(lower, A, upper=False)
        values, inner = ops.linalg_eigh(ops.linalg_solve_triangular(lower, half.mT, upper=False))
        vectors = ops.linalg_solve_triangular(lower.mT, inner, upper=True)
    if largest is None or largest:
        values, vectors = ops.flip(values, [-1]), ops.flip(vectors, [-1])
    return values[..., :k], vectors[..., :k]


for _name in ("smm", "hspmm"):
    composite(f"{_name}(Tensor input, Tensor mat2) -> Tensor")(lambda input, mat2: _sparse_only())
for _name in ("sspaddmm", "_sparse_addmm"):
    composite(f"{_name}(Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")(
        lambda input, mat1, mat2, beta, alpha: _sparse_only()
    )


def _sparse_only() -> Any:
    """What these are of sparse tensors, aten.sparse says."""
    raise RuntimeError("this product can only be called on sparse tensors: use mm or addmm for dense ones")


__all__ = ["lobpcg"]
