"""Random numbers: Philox4x32-10, element i in lane i % 4 of counter offset + i // 4.

The `*_philox` ops are functions of (seed, offset); `philox_reserve` advances the generator and is what levels trace.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aten import _native, devices, dispatch, overrides
from aten import dtype as dtypes
from aten.errors import warn_caller
from aten.laid_out import laid_out_as
from aten.meta import Meta, dense_strides
from aten.op import composite, inplace_of, op, ops, registry
from aten.ops.conditional import saved_condition
from aten.ops.creation import CPU, check_sizes, finish, laid_out
from aten.ops.pointwise import pointwise_meta
from aten.ops.random_ends import check_integers, check_permutation, check_uniform
from aten.promotion import TYPE_NAMES, category
from aten.scalar.unpatched import math
from aten.shapes import broadcast, pointwise_strides, product

_FACTORY = (
    "*, Generator? generator=None, ScalarType? dtype=None, Device? device=None, Any layout=None, bool? pin_memory=None, bool "
    "requires_grad=False"
)
_LIKE = (
    "*, Generator? generator=None, ScalarType? dtype=None, Device? device=None, Any layout=None, bool requires_grad=False, Any "
    "memory_format=None"
)


def counters_of(numel: Any) -> Any:
    """How many counters n elements take."""
    return (numel + 3) // 4


@op("philox_reserve(int counters) -> (Any seed, Any offset)", kind="random", tags=["function_only", "dynamic"])
def philox_reserve(counters: Any) -> Any:
    """Advance the default generator by `counters`; gives (seed, first counter). Traces take this call themselves."""
    return counters


philox_reserve.kernel(_native.philox_reserve)


_LANES = {dtypes.float64: 2, dtypes.complex64: 2, dtypes.complex128: 4}  # that an element takes


def reserve(numel: Any, generator: Any = None, dtype: Any = None) -> tuple[Any, Any]:
    """(seed, offset) for a random op of `numel` elements; 64-bit floats take two lanes each."""
    counters = counters_of(numel * _LANES.get(dtype, 1))
    if generator is None:
        return philox_reserve(counters)
    if not hasattr(generator, "reserve"):
        raise TypeError(f"argument 'generator' must be {_native.shown_as()}.Generator, not {type(generator).__name__}")
    for level in dispatch.levels:  # which see no call of a generator
        counters = counters * getattr(level, "draws", 1)
    return generator.reserve(counters)


@op(
    "rand_philox(int[] size, int seed, int offset, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    kind="factory",
    tags=["random", "function_only"],
)
def rand_philox(size: list[Any], seed: Any, offset: Any, dtype: Any, device: Any) -> Meta:
    """Uniform on [0, 1): the top 24 bits of a lane (float64: 53 bits of two lanes)."""
    check_sizes(size)
    return Meta.contiguous(size, dtype, device)


@op(
    "randn_philox(int[] size, int seed, int offset, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    kind="factory",
    tags=["random", "function_only"],
)
def randn_philox(size: list[Any], seed: Any, offset: Any, dtype: Any, device: Any) -> Meta:
    """Standard normal, by Box and Muller."""
    check_sizes(size)
    return Meta.contiguous(size, dtype, device)


for _made in (rand_philox, randn_philox):
    _made.normal(
        lambda size, seed, offset, dtype, device: (
            size,
            seed,
            offset,
            dtype or dtypes.get_default_dtype(),
            device or CPU,
        )
    )


@op(
    "randint_philox(int low, int high, int[] size, int seed, int offset, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    kind="factory",
    tags=["random", "function_only"],
)
def randint_philox(low: Any, high: Any, size: list[Any], seed: Any, offset: Any, dtype: Any, device: Any) -> Meta:
    """Integers of [low, high)."""
    check_sizes(size)
    return Meta.contiguous(size, dtype, device)


randint_philox.normal(
    lambda low, high, size, seed, offset, dtype, device: (
        low,
        high,
        size,
        seed,
        offset,
        dtype or dtypes.int64,
        device or CPU,
    )
)


def _check_generator(generator: Any, device: Any) -> None:
    """Raises RuntimeError where the generator was made for another type of device; the default one is everywhere's."""
    if generator is None or device is None or generator is _native.default_generator or device.type == "meta":
        return
    if generator.device.type != device.type:
        raise RuntimeError(f"Expected a '{device.type}' device type for generator but found '{generator.device.type}'")


def _check_floating(name: str, dtype: Any) -> None:
    if category(dtype) < 2:
        raise NotImplementedError(f"\"{name}\" not implemented for '{TYPE_NAMES[dtype.name]}'")


# --------------------------------------------------------------------------------------------------- public forms
@composite(f"rand(int[*] size, {_FACTORY}) -> Tensor", tags=["function_only", "random"])
def rand(size, generator, dtype, device, layout, pin_memory, requires_grad):
    """Uniform on [0, 1)."""
    _check_generator(generator, device)
    check_sizes(size)
    _check_floating("check_uniform_bounds", dtype or dtypes.get_default_dtype())
    seed, offset = reserve(product(size), generator, dtype or dtypes.get_default_dtype())
    return finish(rand_philox(size, seed, offset, dtype=dtype, device=device), requires_grad)


@composite(f"randn(int[*] size, {_FACTORY}) -> Tensor", tags=["function_only", "random"])
def randn(size, generator, dtype, device, layout, pin_memory, requires_grad):
    """Standard normal."""
    _check_generator(generator, device)
    check_sizes(size)
    _check_floating("normal_kernel_cpu", dtype or dtypes.get_default_dtype())
    seed, offset = reserve(product(size), generator, dtype or dtypes.get_default_dtype())
    return finish(randn_philox(size, seed, offset, dtype=dtype, device=device), requires_grad)


@composite(f"randint(int low, Any high=None, Any size=None, {_FACTORY}) -> Tensor", tags=["function_only", "random"])
def randint(low, high, size, generator, dtype, device, layout, pin_memory, requires_grad):
    """Integers of [low, high); randint(high, size) starts at 0."""
    _check_generator(generator, device)
    if size is None:
        low, high, size = 0, low, high
    if high is None:
        low, high = 0, low
    if not isinstance(size, (list, tuple)):
        raise TypeError(f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    check_sizes(size := list(size))
    check_integers(low, high, dtype or dtypes.int64)
    seed, offset = reserve(product(size) if high - low <= 1 << 32 else 2 * product(size), generator)
    return finish(randint_philox(low, high, size, seed, offset, dtype=dtype, device=device), requires_grad)


def _as_given(input, generator, dtype, device) -> dict[str, Any]:
    return {"generator": generator, "dtype": dtype or input.dtype, "device": device or input.device}


@composite(f"rand_like(Tensor input, {_LIKE}) -> Tensor", tags=["function_only", "random"])
def rand_like(input, generator, dtype, device, layout, requires_grad, memory_format):
    """Uniform on [0, 1), with the sizes of another tensor."""
    given = _as_given(input, generator, dtype, device)
    return finish(laid_out(list(input.shape), input, memory_format, lambda sizes: rand(sizes, **given)), requires_grad)


@composite(f"randn_like(Tensor input, {_LIKE}) -> Tensor", tags=["function_only", "random"])
def randn_like(input, generator, dtype, device, layout, requires_grad, memory_format):
    """Standard normal, with the sizes of another tensor."""
    given = _as_given(input, generator, dtype, device)
    return finish(laid_out(list(input.shape), input, memory_format, lambda sizes: randn(sizes, **given)), requires_grad)


@composite(f"randint_like(Tensor input, Any low, Any high=None, {_LIKE}) -> Tensor", tags=["function_only", "random"])
def randint_like(input, low, high, generator, dtype, device, layout, requires_grad, memory_format):
    """Integers of [low, high), with the sizes of another tensor."""
    if high is None:
        low, high = 0, low
    low, high = (int(v.item()) if hasattr(v, "item") else v for v in (low, high))
    given = _as_given(input, generator, dtype, device)
    made = laid_out(list(input.shape), input, memory_format, lambda sizes: randint(low, high, sizes, **given))
    return finish(made, requires_grad)


@composite(
    "randperm(int n, *, Generator? generator=None, ScalarType? dtype=None, Device? device=None, Any layout=None, "
    "bool? pin_memory=None, bool requires_grad=False) -> Tensor",
    tags=["function_only", "random"],
)
def randperm(n, generator, dtype, device, layout, pin_memory, requires_grad):
    """A random order of 0 … n-1."""
    _check_generator(generator, device)
    check_sizes([n])
    check_permutation(n, dtype or dtypes.int64)
    seed, offset = reserve(n, generator, dtypes.float64)
    return finish(randperm_philox(n, seed, offset, device=device).to(dtype or dtypes.int64), requires_grad)


@op(
    "randperm_philox(int n, int seed, int offset, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    kind="factory",
    tags=["random", "fused", "function_only", "hidden"],
)
def randperm_philox(n: Any, seed: Any, offset: Any, dtype: Any, device: Any) -> Meta:
    """The order of n numbers that are uniform on [0, 1)."""
    return Meta.contiguous([n], dtypes.int64, device or CPU)


@randperm_philox.kernel
def _(out, n, seed, offset, dtype, device):
    keys = np.empty(n)
    _native.philox_uniform(_native.from_numpy(keys), seed, offset)
    out[...] = np.argsort(keys, kind="stable")


@randperm_philox.decompose
def _(n, seed, offset, dtype, device):
    return ops.argsort(rand_philox([n], seed, offset, dtype=dtypes.float64, device=device), stable=True)


@op("flat_in(Tensor input, Tensor made) -> Tensor", tags=["function_only", "hidden"])
def flat_in(input: Meta, made: Meta) -> Meta:
    """`made`, as a function of `input` whose slope is 0."""
    sizes = broadcast(input.sizes, made.sizes)
    return made.like(sizes=sizes, strides=pointwise_strides(sizes, [made]))


@flat_in.decompose
def _(input, made):
    return ops.where(ops.full([], False, dtype=dtypes.bool, device=made.device), input, made)


flat_in.vjp(lambda g, needs, input: (ops.zeros_like(input) if needs[0] else None, g))
flat_in.jvp(lambda tangents, input, made, out: ops.zeros_like(out) if tangents[1] is None else tangents[1])


def _flat_in(made: Any, *parameters: Any) -> Any:
    """Random numbers as a function of the tensors they were drawn for: one whose slope is 0."""
    for t in parameters:
        if getattr(t, "requires_grad", False) and _native.is_grad_enabled():
            made = flat_in(t, made)
    return made


@composite(
    "normal(Any mean=0.0, Any std=1.0, Any size=None, *, Generator? generator=None, ScalarType? dtype=None, "
    "Device? device=None, Any layout=None, bool? pin_memory=None, bool requires_grad=False) -> Tensor",
    tags=["random"],
)
def normal(mean, std, size, generator, dtype, device, layout, pin_memory, requires_grad):
    """Normal with these means and standard deviations (numbers or tensors)."""
    from aten.fx.targets import holds  # (a start has no use for it)
    if isinstance(std, (int, float)) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if size is None:
        size = list((mean + std * 0 if hasattr(mean, "shape") else std).shape)
        dtype = dtype or next(v.dtype for v in (mean, std) if hasattr(v, "dtype"))
    if hasattr(std, "numel") and not std.is_meta and std.numel() and not holds((std >= 0).all()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    m, s = (v.detach() if hasattr(v, "detach") else v for v in (mean, std))
    made = randn(size, generator=generator, dtype=dtype, device=device) * s + m
    return finish(_flat_in(made, mean, std), requires_grad)


_NO_PROBABILITY = "bernoulli expects probabilities between 0 and 1"


@op("probabilities(Tensor input) -> Tensor", tags=["pointwise", "function_only", "hidden", "constant", "raises"])
def probabilities(input: Meta) -> Meta:
    """The input, all of whose elements are from 0 to 1; RuntimeError where one is not."""
    return pointwise_meta(input)


@probabilities.kernel
def _(out, x):
    if not bool(((x >= 0) & (x <= 1)).all()):
        raise RuntimeError(_NO_PROBABILITY)
    out[...] = x


probabilities.batch(lambda size, dims, input: (probabilities(input), dims[0]))


@composite("bernoulli(Tensor input, Any p=None, *, Generator? generator=None) -> Tensor", tags=["random"], native="create")
def bernoulli(input, p, generator):
    """1 with the probability that the input (or p) says, else 0, in the input's dtype."""
    if _native.is_grad_enabled() and input.requires_grad and not hasattr(p, "dtype"):
        return _flat_in(bernoulli(input.detach(), p, generator=generator), input)
    return _drawn(input, input if p is None else p, generator)


def _drawn(input: Any, chance: Any, generator: Any) -> Any:
    tensor = hasattr(chance, "dtype")
    if tensor:
        _check_floating("bernoulli_tensor_cpu_p_", chance.dtype)
    unknown = tensor and (chance.is_meta or overrides.kind_of(type(chance)) or devices.is_recording(chance.device))
    checked = chance
    if tensor and _native.is_tracer(chance):
        checked = probabilities(chance.detach())
    elif not unknown and not bool(((chance >= 0) & (chance <= 1)).all() if tensor else 0 <= chance <= 1):
        raise RuntimeError(_NO_PROBABILITY)
    dtype = input.dtype if category(input.dtype) >= 2 else dtypes.float32
    drawn = rand(list(input.shape), generator=generator, dtype=dtype, device=input.device) < checked
    return _flat_in(ops.cast(drawn, input.dtype), input, *[chance] * (chance is not input))


@composite("bernoulli_fill(Tensor input, Any p=0.5, *, Generator? generator=None) -> Tensor", tags=["random", "hidden"])
def bernoulli_fill(input, p, generator):
    """1 with probability p, else 0: what the tensor held says nothing."""
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return _drawn(input, p, generator)


registry["bernoulli_"] = bernoulli_fill.inplace = inplace_of(bernoulli_fill, "create")


# What the parameters of an in-place fill must satisfy, and what is said where they do not; fills of floats only.
_PARAMETERS: dict[str, tuple[Any, str]] = {
    "uniform": (lambda a, b: a <= b, "uniform_ expects to return a [from, to) range, but found from={0:g} > to={1:g}"),
    "normal_fill": (lambda a, b: b >= 0, "normal expects std >= 0.0, but found std {1:g}"),
    "exponential": (lambda a, b: a > 0, "exponential_ expects lambda > 0.0, but found lambda={0:g}"),
    "cauchy": (lambda a, b: b > 0, "cauchy_ expects sigma > 0.0, but found sigma={1:g}"),
    "log_normal": (lambda a, b: b > 0, "log_normal_ expects std > 0.0, but found std={1:g}"),
    "geometric": (lambda a, b: 0 < a < 1, "geometric_ expects p to be in (0, 1), but got p={0:g}"),
}


def _filled(name: str, parameters: str, draw: Any, doc: str) -> None:
    """An op that fills a tensor with random numbers in place, and its functional form."""

    @composite(
        f"{name}(Tensor input, {parameters}, *, Generator? generator=None) -> Tensor",
        tags=["random", "hidden"],
    )
    def definition(input, a, b, generator):
        holds, text = _PARAMETERS[name]
        if name == "uniform" and not input.dtype.is_complex:
            check_uniform(a, b, input.dtype)
        if not holds(a, b):
            raise RuntimeError(text.format(a, b if b is not None else 0.0))
        if name != "geometric":
            _check_floating(f"{name.removesuffix('_fill')}_kernel_cpu", input.dtype)
        dtype = input.dtype if category(input.dtype) >= 2 else dtypes.float32
        make = lambda kind: kind(list(input.shape), generator=generator, dtype=dtype, device=input.device)
        drawn = draw(make, a, b)
        return _flat_in(drawn if drawn.dtype is input.dtype else ops.cast(drawn, input.dtype), input)

    definition.inplace = inplace_of(definition, "create")
    definition.__doc__ = definition.inplace.__doc__ = doc


_filled("uniform", "float from=0.0, float to=1.0", lambda make, a, b: make(rand) * (b - a) + a, "Uniform on [from, to).")
_filled("normal_fill", "float mean=0.0, float std=1.0", lambda make, a, b: make(randn) * b + a, "Normal.")
registry["normal_"] = registry["normal_fill_"]
_filled(
    "exponential",
    "float lambd=1.0, Any unused=None",
    lambda make, a, b: (1 - make(rand)).log() / -a,
    "Exponential with rate lambd.",
)
_filled(
    "cauchy",
    "float median=0.0, float sigma=1.0",
    lambda make, a, b: ((make(rand) - 0.5) * math.pi).tan() * b + a,
    "Cauchy.",
)
_filled("log_normal", "float mean=1.0, float std=2.0", lambda make, a, b: (make(randn) * b + a).exp(), "exp of a normal.")
_filled(
    "geometric",
    "float p, Any unused=None",
    lambda make, a, b: ((1 - make(rand)).log() / math.log1p(-a)).ceil().clamp(min=1),
    "Number of trials up to the first success.",
)


@composite(
    "random(Tensor input, Any from=None, Any to=None, *, Generator? generator=None) -> Tensor",
    tags=["random", "hidden"],
)
def random(input, from_, to, generator):
    """Integers of [from, to), by default all that the dtype holds exactly."""
    if to is None:
        limit = {"float32": 1 << 24, "float64": 1 << 53, "float16": 1 << 11, "bfloat16": 1 << 8, "bool": 2}.get(
            input.dtype.name, 1 << min(8 * input.dtype.itemsize - 1, 62)
        )
        from_, to = 0, (limit if from_ is None else from_)
    check_integers(from_ or 0, to, input.dtype)
    drawn = randint(from_ or 0, to, list(input.shape), generator=generator, device=input.device)
    return _flat_in(ops.cast(drawn, input.dtype), input)


random.inplace = inplace_of(random, "create")


# --------------------------------------------------------------------------------------------------------- dropout
@op("dropout_philox(Tensor input, float p, int seed, int offset) -> Tensor", tags=["random", "fused", "function_only"])
def dropout_philox(input: Meta, p: float, seed: Any, offset: Any) -> Meta:
    """input / (1 - p) where a uniform number is at least p, else 0."""
    return input.like()


@dropout_philox.decompose
def _(input, p, seed, offset):
    dtype = dtypes.float64 if input.dtype is dtypes.float64 else dtypes.float32
    keep = rand_philox(list(input.shape), seed, offset, dtype=dtype, device=input.device) >= p
    return laid_out_as(ops.where(keep, input * (1 / (1 - p)), 0), dense_strides(Meta.of(input)))


dropout_philox.vjp(lambda g, p, seed, offset: dropout_philox(g, p, seed, offset))


@op(
    "dropout_kept(Tensor input, float p, int seed, int offset) -> (Tensor result, Tensor kept)",
    tags=["random", "fused", "function_only", "hidden"],
    native="create",
)
def dropout_kept(input: Meta, p: float, seed: Any, offset: Any) -> tuple[Meta, Meta]:
    """`dropout_philox`, and which elements stay: a byte each instead of the same random numbers again."""
    return input.like(), input.like(dtype=dtypes.bool)


@dropout_kept.decompose
def _(input, p, seed, offset):
    dtype = dtypes.float64 if input.dtype is dtypes.float64 else dtypes.float32
    keep = rand_philox(list(input.shape), seed, offset, dtype=dtype, device=input.device) >= p
    made = ops.where(keep, input * (1 / (1 - p)), 0)
    return tuple([laid_out_as(x, dense_strides(Meta.of(input))) for x in (made, keep)])


dropout_kept.vjp(lambda g, p, kept: ops.where(saved_condition(kept), g[0] * (1 / (1 - p)), 0))
dropout_philox.recorded_fn = lambda input, p, seed, offset: dropout_kept(input, p, seed, offset)[0]


@composite(
    "dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
    tags=["function_only", "random"],
    native="create",
)
def dropout(input, p, training, inplace):
    """Zero each element with probability p and scale the rest by 1 / (1 - p), while training."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        result = input
    elif p == 1:
        result = input * 0
    elif not (input.dtype.is_floating_point or input.dtype.is_complex):
        name = TYPE_NAMES[input.dtype.name]
        raise RuntimeError(f"result type Float can't be cast to the desired output type {name}")
    else:
        seed, offset = reserve(product(input.shape), None, input.dtype)
        result = dropout_philox(input, p, seed, offset)
    return input.copy_(result) if inplace and result is not input else result


def _check_channels(input: Any) -> None:
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")


def _leading(name: str, spatial: int, ndim: int) -> int:
    """How many dims in front of an input stand for batch and channels; RuntimeError, or a warning, where their number is odd."""
    takes = f"{spatial + 1}D or {spatial + 2}D inputs"
    dims = "a channel dimension, and an optional batch dimension"
    note = f"Note that {name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimension"
    if spatial == 1 and ndim not in (2, 3):
        received = f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input."
        raise RuntimeError(f"{received} {note}, {dims} (i.e. {takes}).")
    if ndim not in (spatial + 1, spatial + 2):
        warn_caller(
            f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future release. To "
            f"retain the behavior and silence this warning, please use dropout instead. {note}s, {dims} (i.e. {takes})."
        )
    elif spatial == 2 and ndim == 3:
        warn_caller(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to "
            "interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout "
            "behavior, please switch to using dropout1d instead."
        )
    return 2 if spatial == 2 or ndim == spatial + 2 else 1


def _feature_dropout(name: str, spatial: int) -> None:
    @composite(
        f"{name}(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
        tags=["function_only", "random"],
    )
    def definition(input, p, training, inplace):
        """Zero whole channels with probability p and scale the rest, while training."""
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        lead, result = _leading(name, spatial, input.ndim), input
        if training and p == 1:
            result = input * 0
        elif training and p:
            _check_channels(input)
            sizes = [*input.shape[:lead], *([1] * (input.ndim - lead))]
            result = input * dropout(ops.ones(sizes, dtype=input.dtype, device=input.device), p)
        return input.copy_(result) if inplace and result is not input else result


for _name, _spatial in (("dropout1d", 1), ("dropout2d", 2), ("dropout3d", 3)):
    _feature_dropout(_name, _spatial)
_ALPHA = -1.7580993408473766  # what selu tends to: -scale * alpha


def _alpha_dropout(name: str, by_channel: bool) -> None:
    @composite(
        f"{name}(Tensor input, float p=0.5, bool training=False, bool inplace=False) -> Tensor",
        tags=["function_only", "random"],
    )
    def definition(input, p, training, inplace):
        """Dropout that keeps the mean and variance of what selu gives (Klambauer et al. 2017)."""
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        result = input
        if training and p == 1:
            result = input * 0
        elif training and p:
            if by_channel:
                _check_channels(input)
            sizes = [*input.shape[:2], *([1] * (input.ndim - 2))] if by_channel else list(input.shape)
            keep = rand(sizes, dtype=input.dtype, device=input.device) >= p
            a = (_ALPHA**2 * p + 1) ** -0.5 * (1 - p) ** -0.5
            result = ops.where(keep, input, _ALPHA) * a - a * p * _ALPHA
        return input.copy_(result) if inplace and result is not input else result


_alpha_dropout("alpha_dropout", False)
_alpha_dropout("feature_alpha_dropout", True)


# --------------------------------------------------------------------------------------------------------- kernels
def _parts(out: np.ndarray, fill: Any) -> None:
    """A fill of floats also for complex numbers, by their parts, and of integers for what holds them inexactly."""
    if out.dtype.kind != "c":
        return _row_major(out, fill)
    memory = np.empty((*out.shape, 2), out.real.dtype)
    fill(_native.from_numpy(memory))
    out[...] = memory.view(out.dtype)[..., 0]


def _integers(out: np.ndarray, fill: Any) -> None:
    """Integers into floats of few bits: rounded."""
    if out.dtype.itemsize != 2 or out.dtype.kind in "iu":
        return _row_major(out, fill)
    memory = np.empty(out.shape, np.float32)
    fill(_native.from_numpy(memory))
    out[...] = memory


def _row_major(out: np.ndarray, fill: Any) -> None:
    """Call a native fill, which counts elements row by row, on memory that may be laid out otherwise."""
    if out.flags.c_contiguous:
        fill(_native.from_numpy(out))
    else:
        memory = np.empty(out.shape, out.dtype)
        fill(_native.from_numpy(memory))
        out[...] = memory


rand_philox.kernel(lambda out, size, seed, offset, dtype, device: _parts(out, lambda t: _native.philox_uniform(t, seed, offset)))
randn_philox.kernel(
    lambda out, size, seed, offset, dtype, device: _parts(
        out, lambda t: _native.philox_normal(t, seed, offset, 0.0, 0.5**0.5 if out.dtype.kind == "c" else 1.0)
    )
)
randint_philox.kernel(
    lambda out, low, high, size, seed, offset, dtype, device: _integers(
        out, lambda t: _native.philox_integers(t, seed, offset, low, high)
    )
)


def uniform_array(shape: tuple[int, ...], seed: int, offset: int) -> np.ndarray:
    """Uniform numbers as `rand_philox` gives them (float32), as a NumPy array of float64."""
    out = np.empty(shape, np.float32)
    _row_major(out, lambda t: _native.philox_uniform(t, seed, offset))
    return out.astype(np.float64)
