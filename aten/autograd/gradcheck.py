"""Derivatives against finite differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aten import _native
from aten._native import Tensor
from aten.autograd.engine import grad
from aten.autograd.grad_mode import no_grad


def _outputs(fn: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Tensor, ...]:
    result = fn(*inputs)
    return tuple(r for r in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(r, Tensor))


def _weights(generator: np.random.Generator, like: Tensor) -> np.ndarray:
    """Random numbers of the sizes of `like`, complex for complex ones."""
    sizes = tuple(like.shape)
    real = generator.standard_normal(sizes)
    return real + 1j * generator.standard_normal(sizes) if like.dtype.is_complex else real


def _numerical(
    fn: Callable[..., Any], inputs: Sequence[Any], which: int, weights: list[np.ndarray], eps: float
) -> np.ndarray:
    """d(real part of the sum of conj(weights) * outputs) / d(inputs[which]), by central differences.

    With respect to a complex number the derivatives along its parts, as one complex number: PyTorch's convention.
    """
    memory = inputs[which].detach().numpy()
    result = np.zeros(memory.shape, memory.dtype)
    with no_grad():
        for i in np.ndindex(memory.shape):
            kept = memory[i]
            for along in (1, 1j) if memory.dtype.kind == "c" else (1,):
                sums = []
                for step in (eps, -eps):
                    memory[i] = kept + step * along
                    outs = _outputs(fn, inputs)
                    sums.append(sum(float((np.conj(w) * np.asarray(o.detach())).real.sum()) for w, o in zip(weights, outs)))
                memory[i] = kept
                result[i] += along * (sums[0] - sums[1]) / (2 * eps)
    return result


def gradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    seed: int = 0,
) -> bool:
    """Whether backward of `fn(*inputs)` agrees with finite differences, for random weights of its outputs.

    inputs: a tensor or a tuple; those that require grad should be float64 or complex128. Raises RuntimeError where
    they differ, or returns False.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    generator = np.random.default_rng(seed)
    outs = _outputs(fn, inputs)
    weights = [_weights(generator, o) for o in outs]
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient")
    chosen = [(o, w) for o, w in zip(outs, weights) if o.requires_grad]
    if not chosen:
        raise RuntimeError("gradcheck: no output requires grad")
    seeds = [_native.from_numpy(np.asarray(w, o.dtype.to_numpy())) for o, w in chosen]
    found = grad([o for o, _ in chosen], [inputs[i] for i in wanted], seeds, allow_unused=True)
    for i, g in zip(wanted, found):
        analytical = np.zeros(tuple(inputs[i].shape)) if g is None else np.asarray(g.detach())
        numerical = _numerical(fn, inputs, i, [w if o.requires_grad else 0 * w for o, w in zip(outs, weights)], eps)
        if not np.allclose(analytical, numerical, rtol=rtol, atol=atol):
            if raise_exception:
                raise RuntimeError(f"Jacobian mismatch for input {i}: numerical {numerical}, analytical {analytical}")
            return False
    return True


def gradgradcheck(fn: Callable[..., Any], inputs: Any, **options: Any) -> bool:
    """`gradcheck` of the gradients of `fn`, so of its second derivatives."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    generator = np.random.default_rng(1)
    outs = [o for o in _outputs(fn, inputs) if o.requires_grad]
    seeds = [
        _native.from_numpy(np.asarray(_weights(generator, o), o.dtype.to_numpy())).requires_grad_() for o in outs
    ]
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        values = args[: len(inputs)]
        with_grad = [o for o in _outputs(fn, values) if o.requires_grad]
        found = grad(with_grad, [values[i] for i in wanted], args[len(inputs) :], create_graph=True, allow_unused=True)
        # A gradient without history is held to be constant: where it is not, differences tell.
        return tuple(g if g.requires_grad else g + 0 * args[-1].sum() for g in found if g is not None)

    return gradcheck(_recording(gradients), (*inputs, *seeds), **options)


def _recording(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Gradients of gradients are needed even while differences are taken under no_grad."""

    def run(*args: Any) -> Any:
        before = _native.set_grad_enabled(True)
        try:
            return fn(*args)
        finally:
            _native.set_grad_enabled(before)

    return run


__all__ = ["gradcheck", "gradgradcheck"]
