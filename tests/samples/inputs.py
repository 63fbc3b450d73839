"""Sample inputs of ops: `samples(name)` gives calls `(args, kwargs)` with float64 tensors where gradients are checked.

Numbers are drawn from a fixed generator; domains keep away from kinks and poles, where finite differences say nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import aten
from aten.op import registry
from aten.scalar.table import table
from aten.tensor import from_numpy

_generator = np.random.default_rng(0)


def real(*sizes: int, low: float = -2.0, high: float = 2.0, dtype: type = np.float64) -> Any:
    """Uniform numbers, none within 0.05 of an integer."""
    x = _generator.uniform(low, high, sizes)
    near = np.abs(x - np.round(x)) < 0.05
    return from_numpy(np.where(near, x + 0.1, x).astype(dtype))


def spread(*sizes: int) -> Any:
    """Different numbers in random order, at least 0.1 apart: no ties among extremes."""
    n = int(np.prod(sizes))
    return from_numpy(_generator.permutation(np.arange(n) * 0.2 - n * 0.1 + 0.03).reshape(sizes))


def strided(x: Any) -> Any:
    """The same elements with gaps in memory and dims in another order."""
    a = x.numpy()
    wide = np.zeros((*a.shape[::-1], 2), a.dtype).transpose(*range(a.ndim)[::-1], a.ndim)[..., 0]
    wide[...] = a
    return from_numpy(wide)


def integers(low: int, high: int, *sizes: int) -> Any:
    return from_numpy(_generator.integers(low, high, sizes))


def mask(*sizes: int) -> Any:
    return from_numpy(_generator.random(sizes) < 0.5)


Call = tuple[tuple[Any, ...], dict[str, Any]]
_makers: dict[str, Callable[[], Iterator[Call]]] = {}


def call(*args: Any, **kwargs: Any) -> Call:
    return args, kwargs


def sample(*names: str) -> Callable[[Callable[[str], Iterator[Call]]], None]:
    """Register a generator of calls for ops; it is given the op's name."""

    def register(make: Callable[[str], Iterator[Call]]) -> None:
        for name in names:
            _makers[name] = lambda name=name: make(name)

    return register


def samples(name: str) -> list[Call]:
    """The calls of an op."""
    return list(_makers[name]())


def names() -> list[str]:
    """Ops that have samples."""
    return sorted(_makers)


_DOMAIN = {name: row.domain for name, row in table.items()} | {"logit": (0.1, 0.9)}
_ROWS = [name for name, row in table.items() if row.numpy is not None]  # they are ops as they stand


@sample(
    *_ROWS,
    *"""neg abs sign round frac relu silu logical_not isnan isinf isfinite signbit gelu square i0 special_i1
special_erfcx leaky_relu elu selu celu hardtanh softplus mish hardsigmoid hardswish softsign tanhshrink softshrink
hardshrink logsigmoid logit nan_to_num sinc""".split()
)
def _(name):
    low, high = _DOMAIN.get(name, (-1.9, 1.9))
    yield call(real(2, 3, low=low, high=high))
    yield call(strided(real(3, 4, low=low, high=high)))
    yield call(real(low=low, high=high))
    yield call(real(0, 3, low=low, high=high))
    if name == "gelu":
        yield call(real(5), approximate="tanh")


@sample(
    *"""add sub mul div maximum minimum fmax fmin atan2 copysign hypot eq ne lt le gt ge logical_and
logical_or logical_xor logaddexp logaddexp2""".split()
)
def _(name):
    yield call(real(2, 3, low=0.3), real(2, 3, low=0.3))
    yield call(real(2, 3), real(3, low=0.3))
    yield call(real(4, 1, low=0.3), strided(real(2, 4, 3, low=0.3)))
    yield call(real(2, 3), real(low=0.3))
    if "scalars" in registry[name].tags and name not in ("logaddexp", "logaddexp2"):
        yield call(real(2, 3), 1.7)
    if name in ("add", "sub"):
        yield call(real(2, 3), real(3), alpha=2)


@sample("pow")
def _(name):
    yield call(real(2, 3, low=0.3), real(3))
    yield call(real(2, 3, low=0.3), 2.5)
    yield call(real(2, 3), 3)
    yield call(2.0, real(2, 3))


@sample("fmod", "remainder", "floor_divide")
def _(name):
    yield call(real(2, 3), real(3, low=0.6, high=0.9))
    yield call(real(2, 3), 0.7)
    yield call(integers(-9, 9, 4), integers(1, 4, 4))


@sample("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")
def _(name):
    yield call(integers(-9, 9, 2, 4), integers(0, 5, 4))
    yield call(integers(-9, 9, 4), 3)


@sample("bitwise_not")
def _(name):
    yield call(integers(-9, 9, 2, 4))
    yield call(mask(3))


@sample("where")
def _(name):
    yield call(mask(2, 3), real(2, 3), real(3))
    yield call(mask(2, 3), real(2, 3), 0.0)
    yield call(mask(3), 1.0, real(2, 3))


@sample("clamp")
def _(name):
    yield call(real(3, 4), -0.55, 0.55)
    yield call(real(3, 4), None, 0.55)
    yield call(real(3, 4), -0.55)
    yield call(real(3, 4), real(4, low=-1, high=-0.1), real(4, low=0.1, high=1))


@sample("cast")
def _(name):
    yield call(real(2, 3), aten.float32)
    yield call(integers(-5, 5, 3), aten.float64)
    yield call(real(2, 3), aten.int32)


@sample("sum", "mean", "prod", "logsumexp", "nansum")
def _(name):
    yield call(real(2, 3, 4), [1])
    yield call(strided(real(2, 3, 4)), [0, 2], True)
    yield call(real(2, 3), [-1])
    if name != "logsumexp":
        yield call(real(2, 3))
        yield call(real())


@sample("amax", "amin", "any", "all")
def _(name):
    yield call(spread(2, 3, 4), [1])
    yield call(strided(spread(2, 3, 4)), [0, 2], True)
    yield call(spread(2, 3))


@sample("argmax", "argmin", "median", "max", "min")
def _(name):
    yield call(spread(2, 3, 4), 1)
    yield call(spread(2, 3, 4), -1, True)
    yield call(spread(2, 3))


@sample("max_dim", "min_dim")
def _(name):
    yield call(spread(2, 3, 4), 1)
    yield call(strided(spread(2, 3)), -1, True)


@sample("var", "std", "var_mean")
def _(name):
    yield call(real(2, 3, 4), [1])
    yield call(strided(real(2, 3, 4)), [0, 2], correction=0, keepdim=True)
    yield call(real(5))


@sample("norm")
def _(name):
    yield call(real(2, 3))
    yield call(real(2, 3), 1, 1)
    yield call(real(2, 3), 3, [0, 1], True)


@sample("cumsum", "cumprod", "logcumsumexp")
def _(name):
    yield call(real(3, 4), 1)
    yield call(strided(real(3, 4)), 0)


@sample("cummax", "cummin", "sort")
def _(name):
    yield call(spread(3, 4), 1)
    yield call(strided(spread(3, 4)), 0)


@sample("topk")
def _(name):
    yield call(spread(3, 5), 2)
    yield call(spread(5, 3), 2, 0, False)


@sample("softmax", "log_softmax")
def _(name):
    yield call(real(3, 4), -1)
    yield call(strided(real(2, 3, 4)), 1)
    yield call(real(), 0)


@sample("layer_norm")
def _(name):
    yield call(real(3, 4), [4])
    yield call(strided(real(2, 3, 4)), [3, 4], real(3, 4), real(3, 4))
    yield call(real(2, 4), [4], real(4), None, 1e-3)


@sample("rms_norm")
def _(name):
    yield call(real(3, 4), [4])
    yield call(strided(real(2, 3, 4)), [3, 4], real(3, 4), 1e-3)


@sample("scaled_dot_product_attention")
def _(name):
    yield call(real(2, 3, 4), real(2, 5, 4), real(2, 5, 6))
    yield call(real(2, 4, 4), real(2, 4, 4), real(2, 4, 4), is_causal=True)
    yield call(real(2, 3, 4), real(2, 5, 4), real(2, 5, 4), real(3, 5), scale=0.3)
    yield call(real(2, 3, 4), real(2, 5, 4), real(2, 5, 4), from_numpy(np.tri(3, 5, dtype=bool)))


@sample("mm")
def _(name):
    yield call(real(2, 3), real(3, 4))
    yield call(strided(real(2, 3)), strided(real(3, 4)))
    yield call(real(0, 3), real(3, 4))


@sample("bmm")
def _(name):
    yield call(real(2, 3, 4), real(2, 4, 5))


@sample("matmul")
def _(name):
    yield call(real(3), real(3))
    yield call(real(2, 3), real(3))
    yield call(real(3), real(3, 2))
    yield call(real(2, 1, 3, 4), real(5, 4, 2))
    yield call(real(2, 3, 4), real(4, 2))


@sample("linear")
def _(name):
    yield call(real(2, 3, 4), real(5, 4), real(5))
    yield call(real(4), real(5, 4))


@sample("addmm")
def _(name):
    yield call(real(4), real(2, 3), real(3, 4), beta=0.5, alpha=2)


@sample("einsum")
def _(name):
    yield call("bij,bjk->bik", [real(2, 3, 4), real(2, 4, 2)])
    yield call("ij,kj->ik", [real(3, 4), real(2, 4)])
    yield call("bhqd,bhkd->bhqk", [real(2, 2, 3, 4), real(2, 2, 5, 4)])
    yield call("ii->i", [real(3, 3)])
    yield call("i,j,k->kij", [real(2), real(3), real(4)])
    yield call("...ij->...ji", [real(2, 3, 4)])


@sample("view", "reshape")
def _(name):
    yield call(real(2, 3, 4), [6, 4])
    yield call(real(2, 3, 4), [-1])
    yield call(real(4), [2, 1, 2])
    if name == "reshape":
        yield call(strided(real(2, 3, 4)), [3, 8])


@sample("permute")
def _(name):
    yield call(real(2, 3, 4), [2, 0, 1])
    yield call(real(2, 3), [-1, 0])


@sample("expand")
def _(name):
    yield call(real(3, 1), [2, 3, 4])
    yield call(real(3, 1), [-1, 4])


@sample("squeeze", "unsqueeze")
def _(name):
    yield call(real(3, 1, 2), 1)
    yield call(real(1, 3), -2)


@sample("slice")
def _(name):
    yield call(real(5, 3), 0, 1, 4)
    yield call(real(5, 3), 0, None, None, 2)
    yield call(real(5, 3), 1, -2, None)


@sample("select")
def _(name):
    yield call(real(3, 4), 1, 2)
    yield call(real(3, 4), 0, -1)


@sample("diagonal")
def _(name):
    yield call(real(3, 4))
    yield call(real(2, 3, 4), 1, 1, 2)
    yield call(real(4, 3), -1)


@sample("unfold")
def _(name):
    yield call(real(7, 2), 0, 3, 2)


@sample("slice_scatter")
def _(name):
    yield call(real(5, 3), real(3, 3), 0, 1, 4)
    yield call(real(5, 3), real(3, 3), 0, 0, 5, 2)


@sample("select_scatter")
def _(name):
    yield call(real(3, 4), real(3), 1, 2)


@sample("diagonal_scatter")
def _(name):
    yield call(real(3, 4), real(3))
    yield call(real(3, 4), real(3), 1)


@sample("clone")
def _(name):
    yield call(strided(real(3, 4)))


@sample("copy")
def _(name):
    yield call(real(3, 4), real(4))


@sample("gather")
def _(name):
    yield call(real(3, 4), 1, integers(0, 4, 3, 2))
    yield call(real(3, 4), 0, integers(0, 3, 2, 4))


@sample("scatter")
def _(name):
    index = from_numpy(np.array([[0, 2], [1, 3], [3, 0]]))
    yield call(real(3, 4), 1, index, real(3, 2))
    yield call(real(3, 4), 1, index, 1.5)


@sample("scatter_add")
def _(name):
    yield call(real(3, 4), 1, integers(0, 4, 3, 5), real(3, 5))


@sample("scatter_reduce")
def _(name):
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        yield call(spread(3, 4), 1, integers(0, 4, 3, 3), spread(3, 3), reduce)


@sample("index_select")
def _(name):
    yield call(real(3, 4), 1, integers(0, 4, 5))


@sample("index_add")
def _(name):
    yield call(real(3, 4), 1, integers(0, 4, 5), real(3, 5))
    yield call(real(3, 4), 0, integers(0, 3, 2), real(2, 4), alpha=2)


@sample("index")
def _(name):
    yield call(real(3, 4), [integers(0, 3, 2)])
    yield call(real(3, 4, 2), [None, integers(0, 4, 2, 2)])
    yield call(real(3, 4, 2), [integers(0, 3, 2), None, integers(0, 2, 2)])
    yield call(real(3, 4), [mask(3, 4)])


@sample("index_put")
def _(name):
    index = from_numpy(np.array([2, 0]))
    yield call(real(3, 4), [index], real(2, 4))
    yield call(real(3, 4), [None, index], real(3, 1))
    yield call(real(3, 4), [integers(0, 3, 5)], real(5, 4), True)


@sample("embedding")
def _(name):
    yield call(real(5, 3), integers(0, 5, 2, 4))
    yield call(real(5, 3), integers(2, 5, 4), padding_idx=1)
    yield call(real(5, 0), integers(0, 5, 4))


@sample("masked_fill")
def _(name):
    yield call(real(3, 4), mask(4), 0.5)


@sample("cat", "stack")
def _(name):
    yield call([real(2, 3), real(2, 3), real(2, 3)], 1)
    yield call([real(3), real(3)], 0)


@sample("flip")
def _(name):
    yield call(real(3, 4), [0, 1])


@sample("roll")
def _(name):
    yield call(real(3, 4), [1, -2], [0, 1])
    yield call(real(3, 4), 2)


@sample("constant_pad_nd")
def _(name):
    yield call(real(3, 4), [1, 2, 0, 1], 0.5)
    yield call(real(3, 4), [-1, 2])


@sample("tril", "triu")
def _(name):
    yield call(real(3, 4))
    yield call(real(2, 3, 3), 1)


@sample("repeat", "tile")
def _(name):
    yield call(real(2, 3), [2, 1, 2])


@sample("transpose")
def _(name):
    yield call(real(2, 3, 4), 0, -1)


@sample("cross_entropy")
def _(name):
    target = from_numpy(np.array([1, 3, 0, 2]))
    yield call(real(4, 5), target)
    yield call(real(4, 5), target, label_smoothing=0.1)
    yield call(real(4, 5), target, real(5, low=0.5), ignore_index=3, reduction="sum")
    yield call(real(4, 5, 2), integers(0, 5, 4, 2), reduction="none")
    yield call(real(4, 5), aten.softmax(real(4, 5), 1))
    yield call(real(5), from_numpy(np.array(2)))


@sample("nll_loss")
def _(name):
    yield call(real(4, 5), from_numpy(np.array([1, 3, 0, 2])))


@sample("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss")
def _(name):
    yield call(real(3, 4), real(3, 4))
    yield call(real(3, 4), real(3, 4), reduction="sum")


@sample("binary_cross_entropy_with_logits")
def _(name):
    yield call(real(3, 4), real(3, 4, low=0.1, high=0.9))


@sample("binary_cross_entropy")
def _(name):
    yield call(real(3, 4, low=0.1, high=0.9), real(3, 4, low=0.1, high=0.9))


@sample("addcmul", "addcdiv")
def _(name):
    yield call(real(3, 4), real(4), real(3, 1, low=0.3), value=0.5)


@sample("lerp")
def _(name):
    yield call(real(3, 4), real(3, 4), 0.3)
    yield call(real(3, 4), real(3, 4), real(4, low=0.1, high=0.9))


@sample("combinations")
def _(name):
    yield call(real(4), 2)
    yield call(real(3), 2, True)
    yield call(real(2), 3)


@sample("tril_indices", "triu_indices")
def _(name):
    for row, col, offset in ((3, 4, 0), (4, 3, -2), (4, 3, 5), (0, 3, 1), (5, 5, 2)):
        yield call(row, col, offset)


@sample("nonzero_static")
def _(name):
    yield call(from_numpy(np.eye(3)), size=2)
    yield call(from_numpy(np.eye(3)), size=5, fill_value=7)


@sample("hash_tensor")
def _(name):
    yield call(real(2, 3))
    yield call(real(2, 3), -1, keepdim=True)


@sample("pdist")
def _(name):
    for p in (0.5, 1.0, 2.0, 3.0, float("inf")):
        yield call(real(4, 3), p)


@sample("fractional_max_pool2d")
def _(name):
    yield call(spread(2, 3, 5, 6), 2, output_size=(3, 4), _random_samples=from_numpy(np.full((2, 3, 2), 0.3)))


@sample("fractional_max_pool3d")
def _(name):
    yield call(spread(2, 4, 5, 6), (1, 2, 3), output_ratio=(0.5, 0.5, 0.5), _random_samples=from_numpy(np.full((1, 2, 3), 0.7)))


@sample("local_response_norm")
def _(name):
    yield call(real(2, 4, 3), 2, 0.5, 0.3, 2.0)


@sample("linear_class_nll")
def _(name):
    target = from_numpy(np.array([1, 4, 0, 2, 1]))
    yield call(real(5, 3), real(5, 3), target, real(5), 2)
    yield call(real(5, 3), real(5, 3), target, None, 7)
