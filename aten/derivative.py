"""From an op's derivative, as declared, to its vjp and jvp, and to what a recorded step keeps and runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import _native
from aten.meta import Meta
from aten.on_device import beside


def asked(fn: Any) -> tuple[str, ...]:
    """The names of the values that a derivative wants."""
    return getattr(fn, "asks", None) or fn.__code__.co_varnames[: fn.__code__.co_argcount]


class Missing:
    """In the place of a gradient that does not exist: to call it, where the gradient is asked for, says so."""

    def __init__(self, what: str, said: bool = False):
        self.what, self.said = what, said or ":" in what  # of one argument of several

    def __call__(self) -> Any:
        error: Exception
        if self.said:
            error = NotImplementedError(f"the derivative for '{self.what.removeprefix('special_')}' is not implemented.")
        else:
            error = RuntimeError(f"derivative for aten::{self.what} is not implemented")
        vars(error)["of_missing"] = True
        raise error


def is_of_missing(error: Exception) -> bool:
    """Whether an error says that a gradient does not exist, so that it is the program's."""
    return "of_missing" in vars(error)


def missing(what: str, said: bool = False) -> Callable[..., Any]:
    """A vjp in the place of one that does not exist; `said`: PyTorch says so as NotImplementedError."""

    def refuse(*values: Any) -> Any:
        return Missing(what, said)

    refuse.asks = ("g",)  # type: ignore[attr-defined]
    return refuse


def is_lost(op: Any, result: Any) -> bool:
    """Whether no derivative is declared for a result that has one, so that to ask for it is an error."""
    if op.kind not in ("core", "view") or "constant" in op.tags:
        return False
    results = result if isinstance(result, (tuple, list)) else (result,)
    return any(r.dtype.is_floating_point or r.dtype.is_complex for r in results)


def pullback(product: Callable[..., Any]) -> Callable[..., Any]:
    """The vjp of `product(t, ...)`, a derivative times t: a gradient is multiplied by the conjugate of the derivative."""

    def vjp(g: Any, *values: Any) -> Any:
        if not g.dtype.is_complex:
            return product(g, *values)
        return product(g.conj(), *values).conj()

    vjp.asks = ("g", *asked(product)[1:])  # type: ignore[attr-defined]
    return vjp


def pushforward(op: Any, products: tuple[Callable[..., Any] | None, ...]) -> Callable[..., Any]:
    """The jvp of an elementwise op from `product(t, ...)`, its derivative times t, for each differentiable parameter."""
    rows: list[Any] | None = None

    def jvp(tangents: tuple[Any, ...], *args: Any) -> Any:
        nonlocal rows
        if rows is None:
            place = {p.name: i for i, p in enumerate(op.core)}
            place |= dict(zip("xyz", range(len(op.core)))) | {"out": len(op.core)}
            slots = [i for i, p in enumerate(op.core) if p.differentiable]
            rows = [(i, fn, () if fn is None else [(place[n.removesuffix("_meta")], n.endswith("_meta")) for n in asked(fn)[1:]])
                    for i, fn in zip(slots, products)]  # fmt: skip
        total = None
        for i, product, wanted in rows:
            if tangents[i] is None:
                continue
            if product is None:
                Missing(f"{op.name}: {op.core[i].name}")()
            part = product(tangents[i], *[_meta(args[k]) if of_meta else args[k] for k, of_meta in wanted])
            total = part if total is None else total + part
        return total

    return jvp


def by_place(i: int) -> str:
    """How a vjp asks for the core parameter at a place, whatever its name: that of a user's op may be `g` or `out`."""
    return f"#{i}"


class Plan:
    """The vjp of an op for one pattern of needed gradients.

    `names` are what it saves: names of core parameters (their values) or their places (`by_place`), `<name>_meta` (their
    Metas), `out`, and names of single results (`indices`), so that the other ones may be written in place.
    """

    __slots__ = ("op", "needs", "names", "functions", "slots", "wanted", "single", "tied", "_sources")

    def __init__(self, op: Any, needs: tuple[Any, ...]):
        self.op = op
        self.needs = needs
        self.slots = [i for i, p in enumerate(op.core) if p.differentiable]
        self.wanted: list[bool] = []  # by tensor of `inputs`
        for slot in self.slots:
            self.wanted += needs[slot] if type(needs[slot]) is tuple else [needs[slot]]
        self.single = True  # the op has one result, so g is one gradient
        core = {p.name: i for i, p in enumerate(op.core)}
        rows = dict(zip("xyz", core))
        declared = op.vjp_fn if isinstance(op.vjp_fn, tuple) else (op.vjp_fn or missing(op.name),)
        # one function per differentiable parameter, or one for all of them
        self.functions: list[tuple[Callable[..., Any], list[str]] | None] = []
        names: dict[str, None] = {}
        for slot, fn in zip(self.slots, declared):
            if isinstance(op.vjp_fn, tuple) and not needs[slot]:
                self.functions.append(None)
                continue
            wished = [n if n in core else rows.get(n, n) for n in asked(fn)]
            names.update(dict.fromkeys(n for n in wished if n not in ("g", "needs")))
            self.functions.append((fn, wished))
        self.names = tuple(names)
        core.update((by_place(i), i) for i in range(len(core)))
        self.tied = tuple([n for n in names if n == "out" or n in core and needs[core[n]]]) if op.whole else ()
        results = {r[1]: i for i, r in enumerate(op.schema.returns) if len(r) > 1}
        self._sources: dict[str, tuple[str, int]] = {}
        for name in self.names:
            if name == "out":
                self._sources[name] = ("out", 0)
            elif name in core:
                self._sources[name] = ("value", core[name])
            elif name.endswith("_meta") and name[:-5] in core:
                self._sources[name] = ("meta", core[name[:-5]])
            elif name.endswith("_meta") and name[:-5] in rows:
                self._sources[name] = ("meta", core[rows[name[:-5]]])
            elif name in results:
                self._sources[name] = ("result", results[name])
            else:
                raise TypeError(f"the vjp of {op.name} asks for {name!r}, which is no parameter of {op.declaration}")

    def narrowed(self, asked: int) -> Plan:
        """The plan of those gradients alone whose bits are set, by tensor of `inputs`. What it saves, this one saves too."""
        needs, at = list(self.needs), 0
        for slot in self.slots:
            need = needs[slot]
            if type(need) is tuple:
                needs[slot] = tuple([n and bool(asked >> at + i & 1) for i, n in enumerate(need)])
                at += len(need)
            else:
                needs[slot] = need and bool(asked >> at & 1)
                at += 1
        return self.op.plan(tuple(needs))

    def sources(self) -> tuple[tuple[int, int], ...]:
        """What `save` collects, as (kind, place) for native recording: kind 0 value and 1 Meta of a core argument, 2 the result,
        3 one of several results."""
        kinds = {"value": 0, "meta": 1, "out": 2, "result": 3}
        return tuple((kinds[kind], i) for kind, i in self._sources.values())

    def save(self, args: Sequence[Any], out: Any) -> tuple[Any, ...]:
        """What `run` will need, in the order of `names`."""
        values = []
        for name in self.names:
            kind, i = self._sources[name]
            if kind == "out":
                values.append(out)
            elif kind == "result":
                values.append(out[i])
            else:
                values.append(args[i] if kind == "value" else _meta(args[i]))
        return tuple(values)

    def run(self, g: Any, saved: Sequence[Any]) -> list[Any]:
        """One gradient (or None) for each differentiable parameter; a list for a list of tensors."""
        known = dict(zip(self.names, saved))
        known["g"] = g
        known["needs"] = self.needs
        with beside((g, *saved)):
            found = self._run(known)
            if self.tied and _native.is_grad_enabled():
                found = self.op.tie(found, [known[n] for n in self.tied])
            return found

    def _run(self, known: dict[str, Any]) -> list[Any]:
        if isinstance(self.op.vjp_fn, tuple):
            return [None if f is None else f[0](*[known[n] for n in f[1]]) for f in self.functions]
        fn, wished = self.functions[0]
        result = fn(*[known[n] for n in wished])
        if type(result) is Missing:
            result()
        if len(self.slots) == 1:
            return [result]
        result = list(result) if isinstance(result, tuple) else [result]
        return result + [None] * (len(self.slots) - len(result))

    def gradients(self, g: Any, saved: Sequence[Any]) -> list[Any]:
        """`run` with lists of tensors flattened: one entry for each tensor of `inputs`."""
        flat = []
        for slot, value in zip(self.slots, self.run(g, saved)):
            need = self.needs[slot]
            if type(need) is tuple:
                flat += [None] * len(need) if value is None else list(value)
            else:
                flat.append(value if need else None)
        return flat

    def inputs(self, args: Sequence[Any]) -> list[Any]:
        """The differentiable arguments, lists flattened: where `gradients` go."""
        flat = []
        for slot in self.slots:
            if type(args[slot]) is list:
                flat += args[slot]
            else:
                flat.append(args[slot])
        return flat


def _meta(value: Any) -> Any:
    if type(value) is list:
        return [_meta(v) for v in value]
    return Meta.of(value) if hasattr(value, "dtype") and type(value) is not Meta else value
