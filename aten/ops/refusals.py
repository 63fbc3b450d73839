"""Dtypes that ops refuse, as PyTorch does, though their definitions could compute something: an order of complex numbers, say.

A row: kinds refused (C complex, H floats of 16 bits, E floats of eight, I integers, N integers but int64, B bool), class of error,
ops. A call's kind is the highest among its tensors'.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import dtype as dtypes
from aten._native import Tensor
from aten.op import Op, registry
from aten.promotion import BOOL, COMPLEX, INTEGER, TYPE_NAMES, category

_KINDS = {"B": BOOL, "I": INTEGER, "C": COMPLEX}
_EIGHT = tuple(d for name, d in vars(dtypes).items() if name.startswith("float8_"))
_NARROW = {"E": _EIGHT, "H": (dtypes.float16, dtypes.bfloat16), "N": (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.uint8)}
_POLYNOMIALS = " ".join(f"special_{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw")
_POLYNOMIALS += "".join(f" special_{name}" for name in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l"))
_POLYNOMIALS += " special_legendre_polynomial_p"
_TRANSFORMS = "fft fft2 fftn rfft rfft2 rfftn hfft hfft2 hfftn"
_FFT = " ".join(f"fft_{inverse}{name}" for inverse in ("", "i") for name in _TRANSFORMS.split())
_ROWS: tuple[tuple[str, type[Exception], str], ...] = (
    (
        "C",
        NotImplementedError,
        "amax amin aminmax clamp clamp_max clamp_min clip cummax cummin digamma erf erfc erfinv lgamma histc i0 mode sign "
        "signbit gt ge lt le logit log_softmax softmax median nanmedian xlogy special_xlog1py special_zeta special_entr "
        "special_erfcx special_i0e special_i1 special_i1e special_ndtr special_ndtri special_log_ndtr special_airy_ai "
        "special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_i0 "
        "special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0 "
        "special_scaled_modified_bessel_k1 special_spherical_bessel_j0 polygamma mvlgamma relu round floor ceil trunc frac "
        "floor_divide remainder fmod copysign gelu layer_norm group_norm batch_norm instance_norm hardtanh relu6 unique "
        "unique_consecutive searchsorted bucketize kthvalue atan2 hypot nextafter gcd lcm linear_class_nll",
    ),
    ("B", NotImplementedError, "abs ceil floor trunc frac round median nanmedian kthvalue searchsorted bucketize trace lerp"),
    (
        "IBC",
        NotImplementedError,
        "celu elu selu glu hardshrink hardsigmoid hardswish leaky_relu mish softplus softshrink logsigmoid igamma igammac "
        "logaddexp2 binary_cross_entropy ctc_loss huber_loss histogram histogramdd segment_reduce grid_sample rrelu",
    ),
    ("IB", NotImplementedError, "logaddexp logcumsumexp"),
    (
        "C",
        RuntimeError,
        "argmax argmin argsort sort msort topk maximum minimum fmax fmin max_dim min_dim heaviside isneginf isposinf nansum "
        "rad2deg deg2rad isin cosine_similarity pdist cdist",
    ),
    ("B", RuntimeError, "argmax argmin isin cov corrcoef mvlgamma hardtanh relu6 trapz trapezoid linalg_vander"),
    ("IBC", RuntimeError, "embedding_bag kl_div nanmean"),
    ("IB", RuntimeError, "dist linalg_vecdot linalg_matrix_norm"),
    (
        "H",
        NotImplementedError,
        "special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_log_ndtr "
        "special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 "
        "special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0 special_zeta "
        "special_erfcx special_ndtri "
        f"{_POLYNOMIALS} multi_margin_loss multilabel_margin_loss",
    ),
    ("C", NotImplementedError, _POLYNOMIALS),
    ("H", RuntimeError, f"stft {_FFT}"),
    ("IB", RuntimeError, "stft soft_margin_loss"),
    ("BC", NotImplementedError, "max_pool1d max_pool2d max_pool3d mse_loss"),
    (
        "IBC",
        NotImplementedError,
        "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d nll_loss",
    ),
    ("NBC", NotImplementedError, "avg_pool1d avg_pool2d avg_pool3d"),
    ("I", NotImplementedError, "max_unpool1d max_unpool2d max_unpool3d smooth_l1_loss"),
    (
        "IB",
        NotImplementedError,
        "group_norm instance_norm native_group_norm native_layer_norm native_batch_norm _batch_norm_with_update multi_margin_loss "
        "multilabel_margin_loss binary_cross_entropy_with_logits",
    ),
    ("B", NotImplementedError, "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution"),
    ("N", NotImplementedError, "conv_transpose1d conv_transpose2d conv_transpose3d"),
    ("I", NotImplementedError, "im2col col2im"),
    ("B", NotImplementedError, "cross linalg_cross addcmul geometric_ threshold"),
    ("IBC", NotImplementedError, "poisson"),
    ("C", NotImplementedError, "log_normal_"),
    ("C", RuntimeError, "cauchy_ exponential_ multinomial abs_"),
    (
        "E",
        NotImplementedError,
        "acos acosh add addcdiv addcmul addr amax amin aminmax angle arange argmax argmin asin asinh atan atan2 atanh bmm "
        "bucketize cdist ceil clamp clamp_max clamp_min copysign cos cosh cummax cummin digamma div dot elu "
        "equal erf erfc erfinv exp exp2 expm1 flip floor floor_divide fmax fmin fmod frac frexp gather ge gelu glu gt "
        "hardshrink hardsigmoid hardswish hardtanh heaviside histc histogram huber_loss hypot i0 igamma igammac index_fill "
        "isclose isfinite isin isinf isneginf isposinf kthvalue layer_norm le leaky_relu lerp lgamma linalg_det linspace log "
        "log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit "
        "logsigmoid logsumexp lt masked_fill max max_dim max_pool1d max_pool2d maximum mean median min min_dim minimum mish "
        "mode mse_loss nan_to_num nanmedian nansum neg nextafter nonzero norm pdist poisson pow prod reciprocal relu remainder "
        "round rsqrt rsub scatter searchsorted selu sgn sigmoid sign signbit silu sin sinc sinh smooth_l1_loss softmax softplus "
        "softshrink sort special_entr special_xlog1py special_zeta sqrt square std_mean sub sum take tan tanh threshold topk "
        "trace tril triu trunc unique unique_consecutive var_mean vdot xlogy",
    ),
    ("E", RuntimeError, "std var linalg_inv linalg_slogdet logdet"),
)

_KERNELS = {  # what PyTorch's are called whose names do not follow from the op's
    **{name: f"{name}_vml_cpu" for name in "erf erfc erfinv lgamma i0 round floor ceil trunc".split()},
    **{name: name for name in "digamma unique trace cross".split()},
    "special_ndtr": "erf_vml_cpu", "amax": "max_values_cpu", "amin": "min_values_cpu", "nanmedian": "median_cpu",
    "gelu": "GeluKernelImpl", "searchsorted": "searchsorted_out_cpu", "logcumsumexp": "logcumsumexp_out_cpu",
    "floor_divide": "div_floor_cpu", "celu": "elu_cpu", "selu": "elu_cpu", "softshrink": "softshrink_check",
    "add": "add_stub", "sub": "add_stub", "rsub": "add_stub", "sum": "sum_cpu", "mean": "sum_cpu", "sgn": "sign_cpu",
    "relu": "clamp_min_scalar_cpu",
    "logsigmoid": "log_sigmoid_cpu", "softmax": "softmax_lastdim_kernel_impl", "log_softmax": "log_softmax_lastdim_kernel_impl",
}  # fmt: skip


def _check(op: Op, refused: dict[Any, type[Exception]], tensors: list[tuple[int, bool]], public: tuple[Any, ...]) -> None:
    """Raises where the tensors of a call are of a kind that the op refuses. `tensors`: which arguments may be some, and whether
    they are declared as such."""
    dtype, highest = None, -1
    for place, declared in tensors:
        value = public[place]
        if declared and type(value) is complex and highest < COMPLEX:
            dtype, highest = dtypes.complex128 if dtype is dtypes.float64 else dtypes.complex64, COMPLEX
            continue
        tensor = declared and getattr(value, "ndim", None) is not None
        if (tensor or not declared and isinstance(value, Tensor)) and category(value.dtype) > highest:
            dtype, highest = value.dtype, category(value.dtype)
    given = public[op.schema.index["dtype"]] if "dtype" in op.schema.index else None
    if given is not None:  # it is computed in that dtype
        dtype, highest = given, category(given)
    error = refused.get(highest) or refused.get(dtype)
    if error is not None and dtype in _EIGHT:
        among = [public[place] for place, _ in tensors if isinstance(public[place], Tensor)]
        if any(x.dtype is not dtype for x in among):
            return  # two dtypes, which do not become one: that is said then
    if error is NotImplementedError:
        raise error(f"\"{_KERNELS.get(op.name, op.kernel_name)}\" not implemented for '{TYPE_NAMES[dtype.name]}'")
    if error is not None:
        raise error(f"{op.name}(): does not support {'complex input' if highest == COMPLEX else TYPE_NAMES[dtype.name] + ' input'}")


def declare() -> Callable[[Op], None]:
    """What gives an op, of which all are there, what it refuses: `op.refuses(declared arguments)`, asked before anything else is
    done with a call."""
    found: dict[str, dict[Any, type[Exception]]] = {}
    for kinds, error, names in _ROWS:
        for name in names.split():
            if name in registry:
                found.setdefault(name, {}).update({of: error for kind in kinds for of in _NARROW.get(kind, (_KINDS.get(kind),))})
    of_op: dict[int, dict[Any, type[Exception]]] = {}
    for name, refused in found.items():  # (an op may have several names)
        of_op.setdefault(id(registry[name]), {}).update(refused)

    def give(op: Op) -> None:
        refused = of_op.get(id(op))
        if refused is not None:
            tensors = [(place, p.type == "Tensor") for place, p in enumerate(op.schema.params) if p.type in ("Tensor", "Any")]
            op.refuses = lambda public: _check(op, refused, tensors, public)

    return give


__all__ = ["declare"]
