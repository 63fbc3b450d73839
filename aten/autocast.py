"""Autocast: while it is on, ops that gain from it run in a lower dtype, and those that need the digits in float32.

The state is in the ambient word (whether, and which dtype), so that compiled code guards it. The policies are PyTorch's, of each
type of device its own. An op with a policy runs with autocast off inside: what it is made of is part of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from aten import _native
from aten import dtype as dtypes
from aten._native import Device, Tensor

BITS = {"cpu": 1 << 5, "cuda": 1 << 6}
ON = BITS["cpu"] | BITS["cuda"]
DTYPE_SHIFT = {"cpu": 16, "cuda": 40}

_ON_CPU = {
    # to the dtype of autocast
    "lower": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution mm bmm matmul addmm addbmm "
    "baddbmm linear linalg_vecdot prelu scaled_dot_product_attention "
    # made of those
    "einsum tensordot inner matrix_power linalg_matrix_power chain_matmul linalg_multi_dot multi_head_attention_forward "
    "lstm rnn_tanh rnn_relu rnn_tanh_cell rnn_relu_cell",
    "float32": "avg_pool3d binary_cross_entropy grid_sample grid_sampler_2d grid_sampler_3d polar prod quantile nanquantile stft "
    "pad cdist trace view_as_complex cholesky cholesky_inverse cholesky_solve inverse lu lu_solve orgqr ormqr pinverse max_pool3d "
    "max_unpool2d max_unpool3d adaptive_avg_pool3d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d mse_loss "
    "cosine_embedding_loss nll_loss hinge_embedding_loss poisson_nll_loss smooth_l1_loss cross_entropy l1_loss huber_loss "
    "margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss "
    "binary_cross_entropy_with_logits fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 "
    "fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky "
    "linalg_cholesky_ex linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_inv linalg_inv_ex linalg_householder_product "
    "linalg_tensorinv linalg_tensorsolve geqrf qr svd triangular_solve linalg_qr linalg_svd linalg_eig linalg_eigh linalg_lstsq",
    # to the widest among the arguments
    "widest": "stack cat concat concatenate hstack vstack dstack column_stack index_copy",
    # as they are, though they are made of ops that are not
    "kept": "bilinear mv addmv addr outer ger dot vdot det slogdet logdet matrix_exp linalg_det linalg_slogdet "
    "linalg_matrix_exp linalg_cross cov corrcoef",
    # as they are, but for the last product that they are made of
    "product": "linalg_pinv",
}
_ON_CUDA = {
    "lower": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc convolution prelu addmm addmv addr "
    "outer ger matmul einsum mm mv linalg_vecdot linear addbmm baddbmm bmm chain_matmul linalg_multi_dot "
    "scaled_dot_product_attention lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell "
    "inner matrix_power linalg_matrix_power multi_head_attention_forward",
    "float32": "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow float_power softplus layer_norm "
    "group_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss hinge_embedding_loss kl_div l1_loss "
    "smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss "
    "multi_margin_loss binary_cross_entropy_with_logits cross_entropy gaussian_nll_loss multilabel_soft_margin_loss dist "
    "pdist cdist pairwise_distance renorm logsumexp interpolate upsample_nearest upsample_bilinear prod softmax log_softmax "
    "softmin gumbel_softmax cumprod cumsum sum norm normalize linalg_norm linalg_vector_norm linalg_matrix_norm frobenius_norm "
    "nuclear_norm",
    "widest": "addcdiv addcmul atan2 bilinear cross linalg_cross dot vdot grid_sampler grid_sample index_put tensordot scatter_add",
    # as they are, though they are made of ops that are not
    "kept": "elu celu selu mish glu logit softsign tanhshrink logsigmoid rrelu silu gelu sigmoid tanh hardswish nansum nanmean "
    "mean count_nonzero std std_mean var var_mean mvlgamma logaddexp logaddexp2 xlogy special_xlog1py special_entr sinc batch_norm "
    "instance_norm rms_norm square dropout",
    "refused": "binary_cross_entropy",
}
POLICIES: dict[str, dict[str, Any]] = {  # of an op's name: a policy, or the dtype that a user's op runs in
    kind: {name: policy for policy, names in table.items() for name in names.split()}
    for kind, table in {"cpu": _ON_CPU, "cuda": _ON_CUDA}.items()
}
_PADDED_AMOUNTS = {"reflect": (2, 4), "replicate": (2, 4, 6)}  # how many amounts one of PyTorch's kernels pads by


def _contracts_all(at: Callable[[int, str], Any]) -> bool:
    a, b, dims = at(0, "a"), at(1, "b"), at(2, "dims")
    if dims is None or isinstance(dims, int):
        return a.ndim == b.ndim == (2 if dims is None else dims)
    if not isinstance(dims, (list, tuple)) or len(dims) != 2:
        return False
    left, right = [len(d) if isinstance(d, (list, tuple)) else 1 for d in dims]
    return a.ndim == left and b.ndim == right


_ONLY: dict[str, Callable[[Callable[[int, str], Any]], bool]] = {
    "lstm": lambda at: isinstance(at(1, "hx"), (list, tuple)),  # a packed one has no kernel of its own
    "pad": lambda at: isinstance(at(1, "pad"), (list, tuple)) and len(at(1, "pad")) in _PADDED_AMOUNTS.get(at(2, "mode"), ()),
    "tensordot": lambda at: not _contracts_all(at),  # that is a sum of products
}
"""Which calls a policy on the CPU holds for, where not for all: by at(place, name) of an argument, None where it is not given."""
REFUSED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\nMany models use a sigmoid layer right "
    "before the binary cross entropy layer.\nIn this case, combine the two layers using "
    "torch.nn.functional.binary_cross_entropy_with_logits\nor torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and "
    "BCEWithLogits are\nsafe to autocast."
)


class _Thread(threading.local):
    """What of autocast no compiled code depends on."""

    def __init__(self) -> None:
        self.depth = 0
        self.caching = True
        self.casts: dict[int, tuple[Tensor, Tensor]] = {}


_thread = _Thread()


def declare(registry: Any) -> None:
    """Tells every op that has a policy, so that where autocast is on its calls come here."""
    for name in {name for table in POLICIES.values() for name in table}:
        if name in registry:
            registry[name].autocast = sum(BITS[kind] for kind, table in POLICIES.items() if name in table) // BITS["cpu"]


def register(op: Any, device_type: str, dtype: Any) -> None:
    """While autocast of `device_type` is on, calls of `op` get the floating tensors there in `dtype`, but those of float64."""
    kind = _kind(device_type)
    POLICIES[kind][op.name] = dtype
    op.autocast |= BITS[kind] // BITS["cpu"]


# ------------------------------------------------------------------------------------------------------ state
def _kind(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise TypeError(f"device_type must be a str, got {type(device_type).__name__}")
    if device_type not in BITS:
        Device(device_type)  # raises for what is no device at all
        raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
    return device_type


WITHOUT_KERNELS = frozenset("hpu ipu maia mps mtia privateuseone xla xpu".split())  # devices that PyTorch has, and autocast there


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    return device_type not in WITHOUT_KERNELS and bool(_native.ambient() & BITS[_kind(device_type)])


def set_autocast_enabled(*args: Any) -> None:
    """set_autocast_enabled(device_type, enabled), or (enabled) for cuda."""
    device_type, enabled = args if len(args) == 2 else ("cuda", *args)
    bit = BITS[_kind(device_type)]
    _native.set_ambient_bits(bit, bit if enabled else 0)


def get_autocast_dtype(device_type: str) -> Any:
    return dtype_of_word(_native.ambient(), _kind(device_type))


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    _native.set_ambient_bits(*dtype_bits(_kind(device_type), dtype))


def dtype_bits(kind: str, dtype: Any) -> tuple[int, int]:
    """(mask, value) of the dtype of a device's autocast in an ambient word."""
    return 0xFF << DTYPE_SHIFT[kind], dtype.code << DTYPE_SHIFT[kind]


def dtype_of_word(word: int, kind: str) -> Any:
    """The dtype of a device's autocast in an ambient word."""
    return _BY_CODE[word >> DTYPE_SHIFT[kind] & 0xFF]


_BY_CODE = {d.code: d for d in vars(dtypes).values() if isinstance(d, _native.DType)}


def is_autocast_cache_enabled() -> bool:
    return _thread.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    _thread.caching = enabled


def clear_autocast_cache() -> None:
    _thread.casts.clear()


def autocast_increment_nesting() -> int:
    _thread.depth += 1
    return _thread.depth


def autocast_decrement_nesting() -> int:
    _thread.depth -= 1
    return _thread.depth


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows this type of device."""
    if not isinstance(device_type, str):
        raise TypeError(f"device_type must be a str, got {type(device_type).__name__}")
    if device_type in BITS:
        return True
    Device(device_type)  # raises for what is no device at all
    return False


def is_autocast_cpu_enabled() -> bool:
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> Any:
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> Any:
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: Any) -> None:
    set_autocast_dtype("cuda", dtype)


# ------------------------------------------------------------------------------------------------------ calls
def policy(name: str, word: int, kinds: Iterable[str], at: Callable[[int, str], Any]) -> Any:
    """The policy for an op of tensors on devices of these types, where autocast of one of them is on. at(place, name): an
    argument."""
    for kind in dict.fromkeys(kinds):
        if word & BITS.get(kind, 0) and name in POLICIES[kind]:
            holds = kind != "cpu" or name not in _ONLY or _ONLY[name](at)
            return POLICIES[kind][name] if holds else "kept"
    return None


def target(policy: Any, word: int, seen: list[tuple[Any, str]]) -> Callable[[Any, str], Any]:
    """(dtype, type of device) of a tensor argument → the dtype that it comes in, or None to leave it; `seen`: all of them.

    Raises RuntimeError for what is not to be cast at all."""
    if policy == "refused":
        raise RuntimeError(REFUSED)

    def of_device(kind: str) -> Any:
        if not word & BITS.get(kind, 0):
            return None
        return dtype_of_word(word, kind)

    def eligible(dtype: Any, kind: str) -> bool:
        return dtype.is_floating_point and dtype is not dtypes.float64 and of_device(kind) is not None

    if isinstance(policy, _native.DType):
        return lambda dtype, kind: policy if eligible(dtype, kind) else None
    if policy in ("kept", "product"):
        return lambda dtype, kind: None
    if policy == "lower":
        return lambda dtype, kind: of_device(kind) if eligible(dtype, kind) else None
    if policy == "widest" and not any(eligible(*s) and s[0] is dtypes.float32 for s in seen):
        return lambda dtype, kind: of_device(kind) if eligible(dtype, kind) else None
    return lambda dtype, kind: dtypes.float32 if eligible(dtype, kind) else None


def run(op: Any, args: Any, kwargs: dict[str, Any], go_on: Callable[..., Any]) -> Any:
    """The call of an op, by `go_on(*args, **kwargs)`; NotImplemented if it has no policy for its tensors."""
    word = _native.ambient()
    seen = [(t.dtype, t.device.type) for a in (*args, *kwargs.values()) for t in _tensors(a)]
    found = policy(op.name, word, [kind for _, kind in seen], lambda i, name: args[i] if i < len(args) else kwargs.get(name))
    if found is None:
        return NotImplemented
    before = _native.set_ambient_bits(ON, 0)
    try:
        if kwargs.get("out") is None:
            wanted = target(found, word, seen)
            args = [_cast(a, wanted) for a in args]
            kwargs = {k: _cast(v, wanted) for k, v in kwargs.items()}
        made = go_on(*args, **kwargs)
        return _cast(made, target("lower", word, seen)) if found == "product" and kwargs.get("out") is None else made
    finally:
        _native.set_ambient_bits(ON, before)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [v for v in value if isinstance(v, Tensor)] if isinstance(value, (list, tuple)) else []


def _cast(value: Any, wanted: Callable[[Any, str], Any]) -> Any:
    if isinstance(value, Tensor):
        dtype = wanted(value.dtype, value.device.type)
        return value if dtype is None or dtype is value.dtype else _converted(value, dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
        return [_cast(v, wanted) for v in value]
    return value


def _converted(t: Tensor, dtype: Any) -> Tensor:
    """`t` in `dtype`. Parameters are cast once as long as the outermost autocast lasts, so that their gradients add up in it."""
    keep = (
        _thread.caching and _thread.depth and t.dtype is dtypes.float32 and t.requires_grad and t.is_leaf
        and t._base is None and _native.is_grad_enabled() and not _native.ambient() & 0xFF << 24
    )  # fmt: skip
    if not keep:
        return t.to(dtype)
    found = _thread.casts.get(id(t))
    if found is None or found[0] is not t or found[1].dtype is not dtype:
        found = _thread.casts[id(t)] = (t, t.to(dtype))
    return found[1]
