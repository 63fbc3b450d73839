"""What all distributions share: shapes, validation, expanding, text."""

from __future__ import annotations

import warnings
from typing import Any

import aten
from aten import Size, Tensor
from aten.compiling import is_compiling
from weft.distributions import constraints
from weft.distributions.utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A batch of distributions over events. `batch_shape` are independent, differently parameterised ones; `event_shape` is one
    sample's shape. sample(n) has the shape n + batch_shape + event_shape.

    A family lists its parameters in `params` as (name, dims of the event that belong to each), for `expand`.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    params: tuple[Any, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked where nothing else is said."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args and not is_compiling():  # as in PyTorch, what a graph would have to break for is left out
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            known = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                f"distribution "
                "with `validate_args=False` to turn off validation.", stacklevel=3,
            )  # fmt: skip
            return
        for name, constraint in known.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue
            value = getattr(self, name)
            if not bool(constraint.check(value).all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to "
                    f"satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    # ---- shapes
    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions as a larger batch."""
        new = self._get_checked_instance(type(self), _instance)
        batch_shape = Size(batch_shape)
        self._expand_into(new, batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        for entry in self.params:
            name, dims = entry if isinstance(entry, tuple) else (entry, 0)
            if name not in self.__dict__:
                continue
            value = self.__dict__[name]
            if isinstance(value, Tensor):
                own = value.shape[value.ndim - dims :] if dims else ()
                value = value.expand((*batch_shape, *own))
            elif isinstance(value, Distribution):
                value = value.expand(batch_shape)
            new.__dict__[name] = value

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom "
                ".expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    # ---- what a family says
    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint of samples."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Samples without history."""
        with aten.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Samples that are differentiable by the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """n samples; sample((n,)) is the newer form."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along the first dim; with expand for every distribution of the batch."""
        raise NotImplementedError

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        values = values.reshape((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def entropy(self) -> Tensor:
        """The entropy of each distribution, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)"""
        return aten.exp(self.entropy())

    def _validate_sample(self, value: Any) -> None:
        """Raises ValueError for a value that is no tensor, of another shape, or outside of the support."""
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.ndim - len(self._event_shape)
        if tuple(value.shape[start:]) != tuple(self._event_shape):
            raise ValueError(f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.")
        whole = (*self._batch_shape, *self._event_shape)
        for i, j in zip(reversed(value.shape), reversed(whole)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {Size(whole)}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation.", stacklevel=3,
            )  # fmt: skip
            return
        if not is_compiling() and not bool(support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        names = [k for k in self.arg_constraints if k in self.__dict__]
        shown = [f"{n}: {getattr(self, n) if getattr(self, n).numel() == 1 else getattr(self, n).size()}" for n in names]
        return f"{type(self).__name__}({', '.join(shown)})"
