"""One step of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from aten import _native
from aten._native import Device
from aten.fx.printer import node_line
from aten.fx.targets import is_op
from aten.records import record

if TYPE_CHECKING:
    from aten.fx.graph import Graph


@record(frozen=True)
class UserLine:
    """A line of the user's program."""

    file: str
    lineno: int
    function: str
    text: str

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.lineno}"


def map_values(arg: Any, kinds: Any, fn: Callable[[Any], Any]) -> Any:
    """`arg` with everything in it (inside lists, tuples, dicts, slices) whose type is one of `kinds` replaced by fn(it)."""
    t = type(arg)
    if t in kinds:
        return fn(arg)
    if t is tuple or t is list:
        return t([map_values(a, kinds, fn) for a in arg])
    if t is dict:
        return {k: map_values(v, kinds, fn) for k, v in arg.items()}
    if t is slice:
        return slice(*[map_values(a, kinds, fn) for a in (arg.start, arg.stop, arg.step)])
    return arg


def map_arg(arg: Any, fn: Callable[[Node], Any]) -> Any:
    """`arg` with every Node in it replaced by fn(node)."""
    return map_values(arg, (Node,), fn)


def leaves(arg: Any) -> Iterator[Any]:
    """What lists, tuples, dicts and slices hold, flattened."""
    t = type(arg)
    if t is tuple or t is list:
        for a in arg:
            yield from leaves(a)
    elif t is dict:
        for a in arg.values():
            yield from leaves(a)
    elif t is slice:
        yield from (arg.start, arg.stop, arg.step)
    else:
        yield arg


def _collect(arg: Any, found: dict[Node, None]) -> None:
    t = type(arg)
    if t is Node:
        found[arg] = None
    elif t is tuple or t is list:
        for a in arg:
            _collect(a, found)
    elif t is dict:
        for a in arg.values():
            _collect(a, found)
    elif t is slice:
        _collect((arg.start, arg.stop, arg.step), found)


OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")


class Node:
    """`name = target(*args, **kwargs)`.

    op: "placeholder" | "call_function" | "call_method" | "call_module" | "get_attr" | "output". `users` is a dict (in order) of the
    nodes that take this one as an argument. `meta["val"]` is the Meta (tuple of Metas, SymInt, number) of the result,
    `meta["line"]` the UserLine it stands for.
    """

    __slots__ = (
        "graph",
        "op",
        "target",
        "name",
        "meta",
        "users",
        "_args",
        "_kwargs",
        "_inputs",
        "_prev",
        "_next",
        "_erased",
        "__dict__",  # what passes write on nodes
    )
    type: Any = None  # what an annotation says of its value, in graphs made by others
    tag: Any  # the part of a graph that a pass says the node is of; others are read where they were set

    def __init__(self, graph: Graph, op: str, target: Any, args: tuple, kwargs: dict, name: str):
        self.graph = graph
        self.op = op
        self.target = target
        self.name = name
        self.meta: dict[str, Any] = {}
        self.users: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._args, self._kwargs = args, kwargs
        self._inputs: dict[Node, None] = {}
        self._use_inputs()

    def _set(self, args: tuple, kwargs: dict) -> None:
        for n in self._inputs:
            del n.users[self]
        self._args, self._kwargs, self._inputs = args, kwargs, {}
        self._use_inputs()

    def _use_inputs(self) -> None:
        inputs = self._inputs
        for a in self._args:
            if type(a) is Node:
                inputs[a] = None
            else:
                _collect(a, inputs)
        if self._kwargs:
            _collect(self._kwargs, inputs)
        for n in inputs:
            n.users[self] = None

    @property
    def args(self) -> tuple:
        return self._args

    @args.setter
    def args(self, args) -> None:
        self._set(tuple(args), self._kwargs)

    @property
    def kwargs(self) -> dict:
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict) -> None:
        self._set(self._args, dict(kwargs))

    @property
    def all_input_nodes(self) -> list[Node]:
        """The distinct nodes among the arguments, in order."""
        return list(self._inputs)

    @property
    def next(self) -> Node:
        return self._next

    @property
    def prev(self) -> Node:
        return self._prev

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace positional argument `idx`."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace keyword argument `key`."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take `new_input` wherever `old_input` was an argument."""
        swap = lambda n: new_input if n is old_input else n
        self._set(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let every user (for which `delete_user_cb` holds) take `replace_with` instead; returns the users changed. With
        `propagate_meta` it takes this node's meta, which its own must not stand in the way of."""
        if propagate_meta:
            if set(replace_with.meta) - {"val", "line", "default_dtype"}:
                raise AssertionError("replace_all_uses_with(…, propagate_meta=True): the node that takes over has meta of its own")
            replace_with.meta.update(self.meta)
        changed = [u for u in self.users if u is not replace_with and delete_user_cb(u)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def prepend(self, x: Node) -> None:
        """Move `x` to just before this node."""
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move `x` to just after this node."""
        if x is not self:
            self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    @property
    def stack_trace(self) -> str | None:
        """The user's line this node stands for, as a traceback shows it."""
        line = self.meta.get("line")
        if line is None:
            return None
        return f'  File "{line.file}", line {line.lineno}, in {line.function}\n    {line.text}\n'

    def is_impure(self) -> bool:
        """Whether running it does more than making its result."""
        return has_effect(self)

    def format_node(self) -> str:
        """The line of this node in the graph's text."""
        return node_line(self)

    def __repr__(self) -> str:
        return self.name


def has_effect(node: Node) -> bool:
    """Whether running the node does more than making its result: in-place ops, random ops, outputs, foreign calls."""
    if node.op != "call_function":
        return node.op in ("output", "placeholder", "call_method")
    target = node.target
    if is_op(target):
        # A random composite advances the generator; rand_philox and the like are functions of their seed.
        drawn = target.kind == "composite" and "random" in target.tags
        return target.kind in ("inplace", "random") or drawn or "effect" in target.tags  # "effect": setitem
    return getattr(target, "__module__", None) not in ("_operator", "math", "aten.symbolic.symint")


_DIVISIONS = frozenset({"floor_divide", "truncated_quotient", "remainder", "fmod"})


def is_absent(device: Device | None) -> bool:
    """Whether this machine has no such device, so that nothing can be put there."""
    return device is not None and device.type == "cuda" and (device.index or 0) >= _native.device_count("cuda")


def is_final(node: Node) -> bool:
    """Whether nobody but the caller of the graph reads a node's result."""
    return all(user.op == "output" for user in node.users)


def may_raise(node: Node) -> bool:
    """Whether the values of its arguments may make the op fail: an index out of range, an integer divided by zero, a
    singular matrix; or a device that is not there. Then it is run though nobody reads its result. A composite may hold any
    such op. What a derivative added (`meta["derived"]`) fails where the op that it belongs to has failed before."""
    op = node.target
    if node.op != "call_function" or not is_op(op) or node.meta.get("derived"):
        return False
    if op.kind == "composite":
        return bool(node.all_input_nodes)
    if "raises" in op.tags or any(p.type == "LongTensor" for p in op.schema.params):
        return True
    val = node.meta.get("val")
    if is_absent(getattr(val, "device", None)):
        return True
    return op.name in _DIVISIONS and val is not None and not val.dtype.is_floating_point and not _is_nonzero(node.args[1])


def _is_nonzero(divisor: Any) -> bool:
    """Whether an argument is a number, and not 0."""
    return type(divisor) in (int, float, bool) and divisor != 0
