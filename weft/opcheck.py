"""Whether what a custom op says of itself is what it does: `weft.library.opcheck`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import aten
from aten import Tensor
from aten.library import CustomOp
from weft._subclasses.fake_tensor import FakeTensorMode
from weft.compilation import compile
from weft.testing import assert_close
from weft.utils import _pytree as pytree

__all__ = ["OpCheckError", "opcheck"]


class OpCheckError(Exception):
    """A check of `opcheck` that failed, as its cause."""


def _copies(value: Any) -> Any:
    """Tensors as new leaves that require gradients as they did."""
    return pytree.tree_map(lambda x: x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x, value)


def _tensors(value: Any) -> list[Tensor]:
    return [x for x in pytree.tree_leaves(value) if isinstance(x, Tensor)]


def _custom(op: Any) -> Any:
    """The CustomOp that an op or an overload of it is; None for other ops."""
    op = getattr(op, "_op", op)
    return op if isinstance(op, CustomOp) else None


def _written(op: Any, args: tuple, kwargs: dict[str, Any]) -> set[int]:
    """The ids of the tensors that the op says it writes."""
    custom = _custom(op)
    if custom is None:
        return set()
    params = custom.op.schema.params
    given = {p.name: a for p, a in zip(params, args)} | kwargs
    return {id(t) for i in custom.mutates for t in _tensors(given.get(params[i].name))}


def _test_schema(op: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    args, kwargs = _copies((args, kwargs))
    inputs, before = _tensors((args, kwargs)), [t.detach().clone() for t in _tensors((args, kwargs))]
    with aten.no_grad():
        result = op(*args, **kwargs)
    written = _written(op, args, kwargs)
    custom = _custom(op)
    names = [p.name for p in custom.op.schema.params] if custom is not None else []
    for t, old in zip(inputs, before):
        if id(t) not in written and not (t.shape == old.shape and aten.allclose(t.detach(), old, equal_nan=True)):
            place = next((i for i, a in enumerate(args) if any(x is t for x in _tensors(a))), None)
            name = names[place] if place is not None and place < len(names) else "of the call"
            raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
    storages = {t.untyped_storage().data_ptr() for t in inputs if t.numel()}
    if any(out.numel() and out.untyped_storage().data_ptr() in storages for out in _tensors(result)):
        raise RuntimeError(
            f"{op}: the output of a custom op must not be, or share memory with, one of its inputs: return a clone of it instead"
        )


def _test_autograd_registration(op: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    if not any(t.requires_grad for t in _tensors((args, kwargs))):
        return
    args, kwargs = _copies((args, kwargs))
    outputs = [t for t in _tensors(op(*args, **kwargs)) if t.is_floating_point() or t.is_complex()]
    custom = _custom(op)
    if custom is not None and custom.op.vjp_fn is None and outputs:
        raise AssertionError(
            f"test_autograd_registration: {op} has no derivative though an input requires a gradient: register one with "
            "torch.library.register_autograd"
        )


def _test_faketensor(op: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    custom = _custom(op)
    if custom is not None and custom._fake is None and custom.op.schema.returns:
        raise RuntimeError(
            f"There was no fake impl registered for {op}. This is necessary for torch.compile/export/fx tracing to work. Please "
            "use `register_fake` to add an fake impl."
        )
    args, kwargs = _copies((args, kwargs))
    mode = FakeTensorMode()
    fake = pytree.tree_map(lambda x: mode.from_tensor(x) if isinstance(x, Tensor) else x, (args, kwargs))
    with mode:
        said = op(*fake[0], **fake[1])
    result = op(*args, **kwargs)
    said, real = _tensors(said), _tensors(result)
    if len(said) != len(real):
        raise AssertionError(f"{op} gives {len(real)} tensors, its fake impl {len(said)}")
    for a, b in zip(said, real):
        facts = [(tuple(t.shape), t.dtype, t.stride()) for t in (b, a)]
        for what, x, y in zip(("Shapes", "Dtypes", "Strides"), *facts):
            if x != y:
                raise AssertionError(
                    f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatched tensor metadata: "
                    f"{what} {x} and {y} are not equal!"
                )


def _test_aot_dispatch(dynamic: bool) -> Callable[[Any, tuple, dict[str, Any]], None]:
    def test(op: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        sides = []
        for call in (op, compile(lambda *a, **k: op(*a, **k), backend="aot_eager", fullgraph=True, dynamic=dynamic)):
            given = _copies((args, kwargs))
            result = call(*given[0], **given[1])
            wanted = [t for t in _tensors(given) if t.requires_grad]
            outputs = [t for t in _tensors(result) if t.requires_grad]
            grads = aten.autograd.grad([t.abs().sum() for t in outputs], wanted, allow_unused=True) if wanted and outputs else ()
            sides.append((_tensors(result), _tensors(given), [g for g in grads if g is not None]))
        for plain, compiled in zip(*sides):
            assert len(plain) == len(compiled), f"{op} compiled has {len(compiled)} results, plain {len(plain)}"
            for a, b in zip(compiled, plain):
                assert_close(a.detach(), b.detach())

    return test


_TESTS: dict[str, Callable[[Any, tuple, dict[str, Any]], None]] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_aot_dispatch_static": _test_aot_dispatch(False),
    "test_aot_dispatch_dynamic": _test_aot_dispatch(True),
}
_DEFAULT = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _DEFAULT,
    raise_exception: bool = True,
) -> dict[str, Any]:
    """{name of a check: "SUCCESS" or the exception} for a call of a custom op with these arguments, which stay as they are.

    test_schema: it writes what it says, and returns no memory of its inputs. test_autograd_registration: it has a derivative where
    an input requires gradients. test_faketensor: its fake impl gives the sizes, dtypes and strides that it gives.
    test_aot_dispatch_dynamic (and _static): compiled it gives the same results, writes and gradients. Raises OpCheckError for the
    first that fails, with raise_exception; ValueError for checks that do not exist.
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(names) <= set(_TESTS):
        raise ValueError(f"opcheck(op, ..., test_utils={test_utils}), expected test_utils to be subset of {list(_TESTS)}")
    if not callable(op):
        raise ValueError(f"opcheck(op, ...): op must be an op, e.g. torch.ops.aten.sin.default, got {type(op)}")
    found: dict[str, Any] = {}
    for name in names:
        try:
            _TESTS[name](op, args, kwargs or {})
        except Exception as error:  # whatever the op of the user, or what is said of it, raises is what the check finds
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            found[name] = error
        else:
            found[name] = "SUCCESS"
    return found
