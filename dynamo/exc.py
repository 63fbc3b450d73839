"""The exceptions of capture, under PyTorch's names. What cannot be captured is an `Unsupported`, which lives in breaks.py."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence

from dynamo.breaks import MISTRACED, Break, TorchDynamoException, Unsupported

__all__ = [
    "BackendCompilerFailed", "BrokenProtocol", "FailOnRecompileLimitHit", "Forbidden", "IncorrectUsage", "InternalTorchDynamoError",
    "InvalidBackend", "Mistraced", "RecompileError", "RecompileLimitExceeded", "TorchDynamoException", "TorchRuntimeError",
    "UncapturedHigherOrderOpError", "Unsupported", "UserError", "UserErrorType",
]  # fmt: skip


class InternalTorchDynamoError(TorchDynamoException):
    """Capture itself failed."""


class BrokenProtocol(InternalTorchDynamoError):
    """A class of tensors does not keep to what its methods are there for."""


class Mistraced(Unsupported, InternalTorchDynamoError):
    """Capture failed on a function compiled with fullgraph."""

    def __init__(self, detail: str):
        super().__init__(MISTRACED, detail)


class TorchRuntimeError(TorchDynamoException):
    """The program raised while it was traced for export, where there is no eager call that could raise it."""


class InvalidBackend(TorchDynamoException, ValueError):
    """There is no backend of that name."""

    def __init__(self, name: str, known: Sequence[str] = ()):
        super().__init__(f"there is no backend {name!r}; known: {', '.join(known)}")
        self.name = name


class BackendCompilerFailed(TorchDynamoException):
    """A backend raised. `inner_exception` is what it raised, `backend_name` its name."""

    def __init__(self, backend_fn: Callable, inner_exception: Exception):
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")


class RecompileError(TorchDynamoException):
    """A function was to be compiled once more under `config.error_on_recompile`."""


class RecompileLimitExceeded(Unsupported):
    """A function was to be compiled more often than `config.recompile_limit` allows."""

    def __init__(self, text: str):
        super().__init__(Break(text, ""))


class FailOnRecompileLimitHit(RecompileLimitExceeded):
    """The same where calls may not go on eager: under fullgraph, and `config.fail_on_recompile_limit_hit`."""


class UncapturedHigherOrderOpError(Unsupported):
    """A function given to a higher-order op (cond, while_loop) cannot be captured. Without fullgraph the op runs as plain."""

    def __init__(self, name: str, why: Unsupported):
        detail = f"{name.capitalize()} doesn't work unless it is captured completely with torch.compile. {why.detail}"
        super().__init__(why.reason, detail, why.born)
        self.places = why.places


class IncorrectUsage(Exception):
    """A function of this package was given what it does not take."""


class Forbidden(AssertionError):
    """What must not be called in compiled code was met in it."""


class UserErrorType(enum.Enum):
    """What a UserError is about."""

    DYNAMIC_CONTROL_FLOW = enum.auto()
    ANTI_PATTERN = enum.auto()
    STANDARD_LIBRARY = enum.auto()
    CONSTRAINT_VIOLATION = enum.auto()
    DYNAMIC_DIM = enum.auto()
    INVALID_INPUT = enum.auto()
    INVALID_OUTPUT = enum.auto()


class UserError(Unsupported):
    """The program, or what was said of its inputs, cannot be captured whole. `error_type` says in which way."""

    def __init__(self, error_type: UserErrorType, msg: str, case_name: str | None = None):
        super().__init__(Break(msg, ""))
        self.error_type = error_type
        self.case_name = case_name
