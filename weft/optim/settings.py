"""What optimizers ask of their settings."""

from __future__ import annotations

from typing import Any

from aten import Tensor


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
"""As a default: every group must say."""

CAPTURE_DEVICES = ["cuda"]
"""Types of devices on which `capturable=True` may run eagerly."""


def needs_capture_device(p: Tensor) -> None:
    """Raises AssertionError unless `p` lies where steps can be captured."""
    if p.device.type not in CAPTURE_DEVICES:
        raise AssertionError(
            f"If capturable=True, params and state_steps must be on supported devices: {CAPTURE_DEVICES}."
        )


def check_range(name: str, value: Any, low: float = 0.0, high: float = float("inf")) -> None:
    """Raises ValueError unless low <= value < high (or value is infinite and high is)."""
    if not (low <= value and (value < high or value == high == float("inf"))):
        raise ValueError(f"Invalid {name}: {value}")


def check_lr(lr: Any, word: str = "Invalid learning rate: {}") -> None:
    """Raises ValueError unless `lr` is a number >= 0 or a tensor of one."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(word.format(lr))


def check_betas(betas: Any) -> None:
    """Raises ValueError unless both numbers are in [0, 1)."""
    for i, beta in enumerate(betas):
        check_range(f"beta parameter at index {i}", beta, high=1.0)
