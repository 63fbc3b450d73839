"""Derivatives against finite differences: gradcheck and gradgradcheck.

The numerical Jacobian of each output by each input (columns by central differences) is compared with the analytical one (rows by
backward, columns by forward mode), or in fast mode only a product of both with random vectors.
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aten import _native
from aten._native import Tensor
from aten.autograd.engine import grad
from aten.autograd.jacobians import GradcheckError, Jacobians, array, as_tuple, is_number_tensor, outputs_of, to_tensor, unit
from aten.autograd.sparse_inputs import by_values
from aten.scalar.unpatched import math


class _Check(Jacobians):
    """One gradcheck: the function, its inputs and outputs, and how near is near enough."""

    def __init__(self, fn: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float):
        super().__init__(fn, inputs, eps, nondet_tol)
        self.atol, self.rtol = atol, rtol

    def close(self, analytical: np.ndarray, numerical: np.ndarray) -> bool:
        return np.allclose(analytical, numerical, rtol=self.rtol, atol=self.atol, equal_nan=True)

    def _mismatch(self, k: int, i: int, numerical: Any, analytical: Any, mode: str = "", forward: bool = False) -> GradcheckError:
        jacobian = "Jacobian computed with forward mode" if forward else "Jacobian"
        return GradcheckError(
            f"{mode}{jacobian} mismatch for output {k} with respect to input {i},\nnumerical:{numerical}\nanalytical:{analytical}\n"
        )

    def backward_slow(self) -> None:
        """All Jacobians by backward against the numerical ones."""
        numbers = {i: self.numerical(i) for i in self.wanted}
        for k in self.chosen:
            for i, rows in zip(self.wanted, self.rows(k)):
                expected = self._expected_rows(numbers[i][k], k, i)
                if not self.close(rows, expected):
                    mode = (
                        "While considering the imaginary part of complex outputs only, "
                        if rows.shape[1] == 2 and not self.close(rows[:, 1], expected[:, 1])
                        else "While considering the real part of complex outputs only, "
                        if rows.shape[1] == 2
                        else ""
                    )
                    raise self._mismatch(k, i, expected, rows, mode)
        self.numbers = numbers

    def _expected_rows(self, numbers: tuple[np.ndarray, np.ndarray | None], k: int, i: int) -> np.ndarray:
        """What backward of each element of the output (of its parts) must give, from numerical derivatives: for a real function of
        x + iy the gradient is the derivative by x plus i times that by y."""
        real, imaginary = numbers
        sizes = (*self.inputs[i].shape,)
        count = int(np.prod(self.outputs[k].shape))
        parts = [lambda d: d.real, lambda d: d.imag] if self.outputs[k].dtype.is_complex else [lambda d: d.real]
        rows = []
        for part in parts:
            value = part(real) if imaginary is None else part(real) + 1j * part(imaginary)
            rows.append(value.reshape(math.prod(sizes), count).T.reshape(count, *sizes))
        return np.stack(rows, axis=1)

    def backward_fast(self, seed: int) -> None:
        """A product of every Jacobian with random vectors, by backward and by differences."""
        generator = np.random.default_rng(seed)
        for k in self.chosen:
            out = self.outputs[k]
            v = unit(generator, out)
            for i in self.wanted:
                x = self.inputs[i]
                u = unit(generator, x)
                (g,) = grad(out, [x], to_tensor(v, out), retain_graph=True, allow_unused=True)
                pulled = np.zeros(tuple(x.shape)) if g is None else array(g)
                analytical = np.real(np.vdot(u, pulled))
                numerical = np.real(np.vdot(v, self.along(i, u)[k]))
                if not abs(analytical - numerical) <= self.atol * max(1.0, np.sum(np.abs(u)) * np.sum(np.abs(v))) + self.rtol * abs(
                    numerical
                ):
                    raise self._mismatch(k, i, numerical, analytical, "While using fast mode, ")
            self._check_again(k, v)

    def _check_again(self, k: int, v: np.ndarray) -> None:
        xs = [self.inputs[i] for i in self.wanted]
        twice = [grad(self.outputs[k], xs, to_tensor(v, self.outputs[k]), retain_graph=True, allow_unused=True) for _ in range(2)]
        for a, b in zip(*twice):
            if a is not None and b is not None and a.numel() and not np.max(np.abs(array(a) - array(b))) <= self.nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    "different "
                    f"values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was "
                    f"{self.nondet_tol}."
                )

    # ---- forward mode
    def forward(self) -> None:
        """All Jacobians by forward mode against the numerical ones."""
        for i in self.wanted:
            x = self.inputs[i]
            numbers = self.numerical(i)
            for p, place in enumerate(np.ndindex(tuple(x.shape))):
                for number, along in enumerate((1, 1j) if x.dtype.is_complex else (1,)):
                    tangent = np.zeros(tuple(x.shape), x.dtype.to_numpy())
                    tangent[place] = along
                    for k, pushed in enumerate(self.push(i, tangent)):
                        column = numbers[k][number]
                        if not is_number_tensor(self.outputs[k]) or column is None:
                            continue
                        if not self.close(pushed, column[p]):
                            raise self._mismatch(k, i, column[p], pushed, forward=True)

    def undefined_forward(self) -> None:
        """It makes no difference whether an input has a tangent of zeros, or none."""
        generator = np.random.default_rng(0)
        for i in self.wanted:
            tangent = to_tensor(unit(generator, self.inputs[i]), self.inputs[i])
            for k, (one, other) in enumerate(zip(self.tangents(i, tangent, True), self.tangents(i, tangent, False))):
                values = [np.zeros(tuple(self.outputs[k].shape)) if t is None else array(t) for t in (one, other)]
                if not np.allclose(*values, equal_nan=True):
                    raise GradcheckError(
                        f"The jvp of output {k} by input {i} is another where the other inputs have undefined tangents than where "
                        "these are zero"
                    )

    def batched_forward(self) -> None:
        """A batch of tangents gives what each of them does."""
        from aten.transforms import batched  # as above

        generator = np.random.default_rng(0)
        for i in self.wanted:
            tangents = [to_tensor(unit(generator, self.inputs[i]), self.inputs[i]) for _ in range(2)]
            expected = [self.tangents(i, t, False) for t in tangents]
            some = [k for k, t in enumerate(expected[0]) if t is not None]
            stacked = _native.from_numpy(np.stack([array(t) for t in tangents]))
            try:
                found = batched(lambda t, i=i, some=some: tuple(self.tangents(i, t, False)[k] for k in some))(stacked)
            except RuntimeError as error:
                raise GradcheckError(f"While computing batched gradients, got: {error}") from error
            for k, together in zip(some, found):
                if not all(np.allclose(array(together)[b], array(expected[b][k]), equal_nan=True) for b in range(2)):
                    raise GradcheckError(f"For output {k} and input {i}: batched tangents differ from those one by one")

    # ---- the rest
    def no_outputs(self) -> None:
        """Without an output that requires grad the numerical gradient is to be zero."""
        for i in self.wanted:
            for real, imaginary in self.numerical(i):
                for numbers in (real, imaginary):
                    if numbers is not None and numbers.dtype.kind in "fc" and np.any(np.abs(numbers) > self.eps):
                        raise GradcheckError("Numerical gradient for function expected to be zero")

    def multiplied(self) -> None:
        """Gradients of zero are zero, of the inputs' sizes and dtypes."""
        xs = [self.inputs[i] for i in self.wanted]
        outs = [self.outputs[k] for k in self.chosen]
        gs = grad(outs, xs, [o.detach().new_zeros(tuple(o.shape)) for o in outs], retain_graph=True, allow_unused=True)
        for x, g in zip(xs, gs):
            if g is None:
                continue
            if not np.all(array(g) == 0):
                raise GradcheckError("backward not multiplied by grad_output")
            if g.dtype is not x.dtype:
                raise GradcheckError("grad is incorrect type")
            if tuple(g.shape) != tuple(x.shape):
                raise GradcheckError("grad is incorrect size")

    def undefined(self) -> None:
        """Backward takes outputs that have no gradient."""
        xs = [self.inputs[i] for i in self.wanted]
        outs = [self.outputs[k] for k in self.chosen]

        def pulled(missing: Sequence[int]) -> None:
            made = _undefined_outputs(outs, missing)
            try:
                gs = grad(made, xs, [o.detach().new_zeros(tuple(o.shape)) for o in made], retain_graph=True, allow_unused=True)
            except RuntimeError as error:
                raise GradcheckError(
                    'Expected backward function to handle undefined output grads. Please look at "Notes about undefined '
                    'output gradients"'
                    ' in "tools/autograd/derivatives.yaml"'
                ) from error
            for g in gs:
                if g is not None and not np.all(array(g) == 0):
                    raise GradcheckError(
                        "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                        "Please look at "
                        '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
                    )

        pulled(range(len(outs)))
        if len(outs) > 1:
            for k in range(len(outs)):
                pulled([k])

    def batched(self) -> None:
        """One walk for a batch of gradients gives what a walk for each does."""
        xs = [self.inputs[i] for i in self.wanted]
        for k in self.chosen:
            out = self.outputs[k]
            generator = np.random.default_rng(k)
            seeds = [to_tensor(unit(generator, out), out) for _ in range(2)]
            expected = [grad(out, xs, s, retain_graph=True, allow_unused=True) for s in seeds]
            stacked = _native.from_numpy(np.stack([array(s) for s in seeds]))
            try:
                found = grad(out, xs, stacked, retain_graph=True, allow_unused=True, is_grads_batched=True)
            except RuntimeError as error:
                raise GradcheckError(f"While computing batched gradients, got: {error}") from error
            for i, g in enumerate(found):
                for b in range(2):
                    one = expected[b][i]
                    if (
                        (g is None) != (one is None)
                        or g is not None
                        and one is not None
                        and not np.allclose(array(g)[b], array(one))
                    ):
                        raise GradcheckError(
                            f"For output {k} and input {self.wanted[i]}: batched gradients differ from those one by one"
                        )


def _undefined_outputs(outs: Sequence[Tensor], missing: Sequence[int]) -> list[Tensor]:
    """The outputs as other tensors, whose gradients do not arrive (None) for those in `missing`."""
    made: list[Tensor] = []
    for k, out in enumerate(outs):
        copy = out.detach().clone()
        gone = k in missing
        _native.record("UndefinedGrad", lambda node, grads, gone=gone: (None,) if gone else grads, (out,), (copy,), ())
        made.append(copy)
    return made


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    some = False
    for i, x in enumerate(inputs):
        if not (isinstance(x, Tensor) and x.requires_grad):
            continue
        some = True
        if x.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                f"likely fail if all "
                "the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if any(size > 1 and stride == 0 for size, stride in zip(x.shape, x.stride())):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                f"be able to "
                "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
    if not some:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
        )


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
    seed: int = 0,
) -> bool:
    """Whether the derivatives of `func(*inputs)` agree with finite differences.

    inputs: a tensor or a tuple; those that require grad should be float64 or complex128. Raises GradcheckError where they differ
    (or returns False), also where backward gives other gradients the second time, does not take missing gradients of outputs, or
    (check_batched_grad) a batch of them. fast_mode compares products with random vectors instead of whole Jacobians. Sparse inputs
    stand for the elements that they have, with `masked`, else for all. Raises ValueError for a sparse result.
    """
    if not check_forward_ad and not check_backward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    func, inputs = by_values(func, as_tuple(inputs), bool(masked))
    try:
        _check_inputs(inputs)
        check = _Check(func, inputs, eps, atol, rtol, nondet_tol)
        if not check.chosen and check_backward_ad:
            check.no_outputs()
            return True
        if check_backward_ad:
            if fast_mode:
                check.backward_fast(seed)
            else:
                check.backward_slow()
        if check_forward_ad:
            check.forward()
            if check_undefined_grad:
                check.undefined_forward()
            if check_batched_forward_grad:
                check.batched_forward()
        if check_backward_ad:
            if check_batched_grad:
                check.batched()
            check.multiplied()
            if check_undefined_grad:
                check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    gen_non_contig_grad_outputs: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    seed: int = 1,
    **options: Any,
) -> bool:
    """`gradcheck` of the gradients of `func`, so of its second derivatives. `grad_outputs`: what the outputs are weighted with."""
    inputs = as_tuple(inputs)
    outs = [o for o in outputs_of(func, inputs) if o.requires_grad]
    if grad_outputs is None:
        generator = np.random.default_rng(seed)
        seeds = [to_tensor(_random(generator, o), o).requires_grad_() for o in outs]
        if gen_non_contig_grad_outputs:
            seeds = [_spread(s) for s in seeds]
    else:
        seeds = list(as_tuple(grad_outputs))
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        values = [
            x if not isinstance(x, Tensor) or x.requires_grad or i not in wanted else x.requires_grad_()
            for i, x in enumerate(args[: len(inputs)])
        ]
        with_grad = [o for o in outputs_of(func, values) if o.requires_grad]
        found = grad(with_grad, [values[i] for i in wanted], args[len(inputs) :], create_graph=True, allow_unused=True)
        # A gradient without history is held to be constant: where it is not, differences tell.
        return tuple(g if g.requires_grad or not args[-1].requires_grad else g + 0 * args[-1].sum() for g in found if g is not None)

    return gradcheck(
        _recording(gradients),
        (*inputs, *seeds),
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        **options,
    )


def _random(generator: np.random.Generator, like: Tensor) -> np.ndarray:
    sizes = tuple(like.shape)
    real = generator.standard_normal(sizes)
    return real + 1j * generator.standard_normal(sizes) if like.dtype.is_complex else real


def _spread(x: Tensor) -> Tensor:
    """The same elements with a gap after each."""
    wide = x.detach().new_zeros([*x.shape, 2])
    wide[..., 0] = x.detach()
    return wide[..., 0].detach().requires_grad_()


def _recording(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Gradients of gradients are needed even while differences are taken under no_grad."""

    def run(*args: Any) -> Any:
        before = _native.set_grad_enabled(True)
        try:
            return fn(*args)
        finally:
            _native.set_grad_enabled(before)

    return run


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Tensor]:
    """The numerical Jacobian of the first output by each input that requires grad: sizes (elements of input, of output)."""
    warnings.warn(
        "`get_numerical_jacobian` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and "
        "it will be "
        "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be a "
        "stable API, "
        "please file us an issue at https://github.com/pytorch/pytorch/issues/new", FutureWarning, stacklevel=2)  # fmt: skip
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0. get_numerical_jacobian no longer supports values of grad_out != 1.0.")
    check = _Check(lambda *args: fn(args if isinstance(inputs, (tuple, list)) else args[0]), as_tuple(inputs), eps, 0, 0, 0)
    if any(o.dtype.is_complex for o in check.outputs):
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return complex outputs."
        )
    made = []
    for i in check.wanted:
        real, imaginary = check.numerical(i)[0]
        value = real if imaginary is None else real + 1j * imaginary
        made.append(_native.from_numpy(np.ascontiguousarray(value.reshape(real.shape[0], -1))))
    return made


def get_analytical_jacobian(inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0) -> Any:
    """(Jacobians by backward of each input, whether backward is reentrant, sizes and dtypes are right)."""
    warnings.warn(
        "`get_analytical_jacobian` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and "
        "it will be "
        "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be a "
        "stable API, "
        "please file us an issue at https://github.com/pytorch/pytorch/issues/new", FutureWarning, stacklevel=2)  # fmt: skip
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0. get_analytical_jacobian no longer supports values of grad_out != 1.0.")
    if output.dtype.is_complex:
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return complex outputs."
        )
    check = _Check(lambda *args: output, as_tuple(inputs), 1e-6, 0, 0, nondet_tol)
    found = collections.namedtuple("found", "jacobians reentrant correct_grad_sizes correct_grad_types")
    reentrant = True
    try:
        rows = check.rows(0)
    except GradcheckError as error:
        if "not reentrant" not in str(error):
            raise
        reentrant, check.nondet_tol = False, np.inf
        rows = check.rows(0)
    jacobians = tuple(_native.from_numpy(np.ascontiguousarray(r[:, 0].reshape(r.shape[0], -1).T)) for r in rows)
    return found(jacobians, reentrant, True, True)


__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]
