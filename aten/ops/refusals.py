"""Dtypes that ops refuse, as PyTorch does, though their definitions could compute something: an order of complex numbers, say.

A row: kinds refused (C complex, I integers, B bool), class of error, ops. A call's kind is the highest among its tensors'.
"""

from collections.abc import Callable
from typing import Any

from aten.op import Op, registry
from aten.promotion import BOOL, COMPLEX, INTEGER, TYPE_NAMES, category

_KINDS = {"B": BOOL, "I": INTEGER, "C": COMPLEX}
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
    ("B", NotImplementedError, "abs ceil floor trunc frac round clamp median nanmedian kthvalue searchsorted bucketize trace lerp"),
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
    ("IB", RuntimeError, "dist polar linalg_vecdot linalg_matrix_norm"),
)


def _check(op: Op, refused: dict[int, type[Exception]], public: tuple[Any, ...]) -> None:
    """Raises where the tensors of a call are of a kind that the op refuses."""
    dtype, highest = None, -1
    for param, value in zip(op.schema.params, public):
        if param.type == "Tensor" and getattr(value, "ndim", None) is not None and category(value.dtype) > highest:
            dtype, highest = value.dtype, category(value.dtype)
    given = public[op.schema.index["dtype"]] if "dtype" in op.schema.index else None
    if given is not None:  # it is computed in that dtype
        dtype, highest = given, category(given)
    error = refused.get(highest)
    if error is NotImplementedError:
        raise error(f"\"{op.name}_cpu\" not implemented for '{TYPE_NAMES[dtype.name]}'")
    if error is not None:
        raise error(f"{op.name}(): does not support {'complex input' if highest == COMPLEX else TYPE_NAMES[dtype.name] + ' input'}")


def declare() -> Callable[[Op], None]:
    """What gives an op, of which all are there, what it refuses: `op.refuses(declared arguments)`, asked before anything else is
    done with a call."""
    found: dict[str, dict[int, type[Exception]]] = {}
    for kinds, error, names in _ROWS:
        for name in names.split():
            if name in registry:
                found.setdefault(name, {}).update({_KINDS[kind]: error for kind in kinds})
    of_op = {id(registry[name]): refused for name, refused in found.items()}

    def give(op: Op) -> None:
        refused = of_op.get(id(op))
        if refused is not None:
            op.refuses = lambda public: _check(op, refused, public)

    return give


__all__ = ["declare"]
