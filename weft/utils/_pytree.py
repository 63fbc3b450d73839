"""Trees of Python containers, under PyTorch's names: leaves in a list, and a TreeSpec that says how they were nested.

Containers are dict, list, tuple, named tuples, OrderedDict, defaultdict, deque, struct sequences and what is registered; all
else is a leaf, None too. Plain Python throughout, so that compiled code traces it.
"""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from aten import pytree

PyTree = Any
Context = Any


# ------------------------------------------------------------------------------------------------------------- paths
@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """An index on the way to a leaf."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A key on the way to a leaf."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """An attribute on the way to a leaf."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey
KeyPath = tuple


def keystr(kp: Iterable[Any]) -> str:
    """A path as it is written: `['a'][0].b`."""
    return "".join([str(k) for k in kp])


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What stands at the end of a path."""
    for k in kp:
        obj = k.get(obj)
    return obj


# --------------------------------------------------------------------------------------------------------- containers
class NodeDef(NamedTuple):
    """How a container is taken apart and made again. flatten_with_keys gives (key, value) pairs; None where unknown."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None


class Serialized(NamedTuple):
    """How a container stands in the text of a TreeSpec."""

    name: str
    to_dumpable: Callable[[Any], Any] | None
    from_dumpable: Callable[[Any], Any] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
_SERIALIZED: dict[Any, Serialized] = {}
_CONSTANTS: set[Any] = set()


def register_pytree_node(
    cls: Any,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make `cls` a container: flatten_fn(x) → (items, context), unflatten_fn(items, context) → x.

    Raises ValueError for a class that is one already, or for one of the two functions of the context without the other.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if not pytree.is_container(cls):  # of transforms, graphs and exported programs too
        pytree.register(cls, *_of_the_library(flatten_fn, unflatten_fn))
    name = serialized_type_name or f"{cls.__module__}.{cls.__qualname__}"
    _SERIALIZED[cls] = Serialized(name, to_dumpable_context, from_dumpable_context)


_register_pytree_node = register_pytree_node


class _Context:
    """What a flatten_fn gives besides the items, which may be a list, as something that can be hashed."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Context) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))

    def __repr__(self) -> str:
        return repr(self.value)


def _of_the_library(flatten_fn: Callable, unflatten_fn: Callable) -> tuple[Callable, Callable]:
    """The two functions as aten.pytree has them."""

    def flatten(x: Any) -> tuple[list[Any], _Context]:
        items, context = flatten_fn(x)
        return list(items), _Context(context)

    return flatten, lambda items, context: unflatten_fn(items, context.value)


def register_dataclass(cls: Any, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None) -> None:
    """Make a dataclass (or a class whose constructor takes these fields by name) a container of its fields."""
    dropped = drop_field_names or []
    names = field_names or [f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped]

    def flatten(x: Any) -> tuple[list[Any], Any]:
        present = [n for n in names if getattr(x, n) is not None]
        return [getattr(x, n) for n in present], [present, [n for n in names if n not in present]]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values)), **dict.fromkeys(absent))

    def with_keys(x: Any) -> tuple[list[tuple[Any, Any]], Any]:
        values, context = flatten(x)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values)], context

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=with_keys)


def register_constant(cls: Any) -> None:
    """Objects of the class (which compare and hash by value) are part of the TreeSpec, not leaves."""
    if cls.__eq__ is object.__eq__ or cls.__hash__ in (None, object.__hash__):
        raise TypeError(f"register_constant(cls) expects `cls` to have non-default `__eq__` and `__hash__`, not {cls}")
    register_pytree_node(cls, lambda x: ([], x), lambda _, context: context, flatten_with_keys_fn=lambda x: ([], x))
    _CONSTANTS.add(cls)


def is_constant_class(cls: Any) -> bool:
    """Whether `register_constant` was told of the class."""
    return cls in _CONSTANTS


def _keyed(items: Iterable[Any]) -> list[tuple[Any, Any]]:
    return [(SequenceKey(i), x) for i, x in enumerate(items)]


def _by_key(d: Any) -> list[tuple[Any, Any]]:
    return [(MappingKey(k), v) for k, v in d.items()]


def _default_dict(values: Iterable[Any], context: Any) -> Any:
    return defaultdict(context[0], zip(context[1], values))


register_pytree_node(
    tuple, lambda x: (list(x), None), lambda v, _: tuple(v), serialized_type_name="builtins.tuple",
    flatten_with_keys_fn=lambda x: (_keyed(x), None),
)  # fmt: skip
register_pytree_node(
    list, lambda x: (x, None), lambda v, _: list(v), serialized_type_name="builtins.list",
    flatten_with_keys_fn=lambda x: (_keyed(x), None),
)  # fmt: skip
register_pytree_node(
    dict, lambda x: (list(x.values()), list(x)), lambda v, keys: dict(zip(keys, v)), serialized_type_name="builtins.dict",
    flatten_with_keys_fn=lambda x: (_by_key(x), list(x)),
)  # fmt: skip
register_pytree_node(
    OrderedDict, lambda x: (list(x.values()), list(x)), lambda v, keys: OrderedDict(zip(keys, v)),
    serialized_type_name="collections.OrderedDict", flatten_with_keys_fn=lambda x: (_by_key(x), list(x)),
)  # fmt: skip
register_pytree_node(
    defaultdict, lambda x: (list(x.values()), [x.default_factory, list(x)]), _default_dict,
    serialized_type_name="collections.defaultdict",
    flatten_with_keys_fn=lambda x: (_by_key(x), [x.default_factory, list(x)]),
)  # fmt: skip
register_pytree_node(
    deque, lambda x: (list(x), x.maxlen), lambda v, maxlen: deque(v, maxlen=maxlen), serialized_type_name="collections.deque",
    flatten_with_keys_fn=lambda x: (_keyed(x), x.maxlen),
)  # fmt: skip

# The names by which subclasses of containers take these functions for their own registration.
_dict_flatten, _dict_unflatten, _dict_flatten_with_keys = (
    SUPPORTED_NODES[dict].flatten_fn, SUPPORTED_NODES[dict].unflatten_fn, SUPPORTED_NODES[dict].flatten_with_keys_fn,
)  # fmt: skip
_list_flatten, _list_unflatten, _list_flatten_with_keys = (
    SUPPORTED_NODES[list].flatten_fn, SUPPORTED_NODES[list].unflatten_fn, SUPPORTED_NODES[list].flatten_with_keys_fn,
)  # fmt: skip

_NAMEDTUPLE = NodeDef(
    tuple, lambda x: (list(x), type(x)), lambda v, cls: cls(*v),
    lambda x: ([(GetAttrKey(n), v) for n, v in zip(type(x)._fields, x)], type(x)),
)  # fmt: skip
_STRUCT_SEQUENCE = NodeDef(tuple, lambda x: (list(x), type(x)), lambda v, cls: cls(list(v)), None)


def is_namedtuple_class(cls: Any) -> bool:
    """Whether it is a class made by namedtuple, or a subclass of one."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple) and callable(getattr(cls, "_make", None))


def is_namedtuple(obj: Any) -> bool:
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance = is_namedtuple


def is_structseq_class(cls: Any) -> bool:
    """Whether it is a class of C's named tuples, such as time.struct_time."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "n_sequence_fields")


def _definition(cls: Any) -> NodeDef | None:
    found = SUPPORTED_NODES.get(cls)
    if found is None and cls not in (int, float, str) and issubclass(cls, tuple):
        if is_namedtuple_class(cls):
            return _NAMEDTUPLE
        if is_structseq_class(cls):
            return _STRUCT_SEQUENCE
    return found


def _is_leaf(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    return (is_leaf is not None and is_leaf(tree)) or _definition(type(tree)) is None


def _get_node_type(tree: Any) -> Any:
    return tuple if _definition(type(tree)) is _NAMEDTUPLE else type(tree)


# ------------------------------------------------------------------------------------------------------------ TreeSpec
class TreeSpec:
    """How leaves were nested. `type` is None for a leaf, else the container's class; `context` what it keeps of itself."""

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]):
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_nodes = 1 + sum([c.num_nodes for c in children_specs])
        self.num_leaves = sum([c.num_leaves for c in children_specs]) if type is not None else 1
        self.num_children = len(children_specs)

    def is_leaf(self) -> bool:
        return self.type is None

    def children(self) -> list[TreeSpec]:
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        return self.children_specs[index]

    def _key(self) -> tuple:
        return self.type, self.context, self.children_specs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        name = "namedtuple" if self.type is tuple and isinstance(self.context, type) else self.type.__name__
        first = f"TreeSpec({name}, {self.context}, ["
        inner = f",\n{' ' * (indent + 2)}".join([c.__repr__(indent + 2) for c in self.children_specs])
        return first + inner + "])"

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree with these leaves. Raises ValueError for another number of them."""
        items = list(leaves)
        if len(items) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(items)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(items, 0)

    def _build(self, items: list[Any], start: int) -> Any:
        if self.type is None:
            return items[start]
        parts = []
        for child in self.children_specs:
            parts.append(child._build(items, start))
            start += child.num_leaves
        definition = _of_spec(self)
        return definition.unflatten_fn(parts, self.context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The parts of `tree` that stand where this spec has leaves. Raises ValueError where the nestings differ."""
        found: list[Any] = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree: PyTree, found: list[Any]) -> None:
        if self.type is None:
            found.append(tree)
            return
        definition = _definition(type(tree))
        kind = type(tree) if type(tree) is self.type else _get_node_type(tree)
        if definition is None or kind is not self.type and not (kind in _DICTS and self.type in _DICTS):
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        items, context = definition.flatten_fn(tree)
        if len(items) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(items)}.")
        if self.type in _DICTS:
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(keys) != set(tree):
                raise ValueError(f"Node keys mismatch; expected {list(keys)}, but got {list(tree)}.")
            items = [tree[k] for k in keys]
        elif context != self.context and self.type is not deque:  # (two deques may be bounded differently)
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}: {self.context} and {context}.")
        for child, item in zip(self.children_specs, items):
            child._flatten_up_to(item, found)


_DICTS = (dict, OrderedDict, defaultdict)  # with the same keys they stand for each other


class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def _of_spec(spec: TreeSpec) -> NodeDef:
    if spec.type is tuple and spec.context is not None:
        return _STRUCT_SEQUENCE if is_structseq_class(spec.context) else _NAMEDTUPLE
    found = _definition(spec.type)
    assert found is not None
    return found


# --------------------------------------------------------------------------------------------------- flatten, unflatten
def _flatten(tree: PyTree, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    if is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF
    definition = _definition(type(tree))
    if definition is None:
        leaves.append(tree)
        return _LEAF
    items, context = definition.flatten_fn(tree)
    children = [_flatten(item, leaves, is_leaf) for item in items]
    return TreeSpec(_get_node_type(tree), context, children)


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """(leaves, spec)."""
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The inverse of `tree_flatten`. Raises TypeError for what is no TreeSpec, ValueError for another number of leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten(leaves, treespec): Expected `treespec` to be a TreeSpec but got {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_is_leaf(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether it is no container that is known, or `is_leaf` says so."""
    return _is_leaf(tree, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """The leaves, one by one."""
    yield from tree_leaves(tree, is_leaf)


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of arguments."""
    return [x for a in (*args, *kwargs.values()) for x in tree_leaves(a)]


# ----------------------------------------------------------------------------------------------------------------- map
def tree_map(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """`func` of each leaf (and of what stands at its place in `rests`), nested as `tree`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves] + [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(*xs) for xs in zip(*columns)])


def tree_map_(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """`func` of each leaf, for its effect; gives `tree`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for xs in zip(leaves, *[spec.flatten_up_to(r) for r in rests]):
        func(*xs)
    return tree


def _only(type_or_types: Any) -> Callable[[Any], bool]:
    if isinstance(type_or_types, (type, tuple)) or not callable(type_or_types):
        return lambda x: isinstance(x, type_or_types)
    return type_or_types


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable], Callable]:
    """A decorator: the function of what is of these types (or fulfils the predicate), and anything else as it is."""
    chosen = _only(type_or_types_or_pred)

    def decorate(func: Callable) -> Callable:
        return lambda x: func(x) if chosen(x) else x

    return decorate


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    return all([pred(x) for x in tree_leaves(tree, is_leaf)])


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    return any([pred(x) for x in tree_leaves(tree, is_leaf)])


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    return all([pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types)])


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    return any([pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types)])


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any] | None:
    """`tree`, a prefix of the nesting, as one entry for each leaf; None if it does not fit."""
    if _is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _get_node_type(tree) is not treespec.type:
        return None
    definition = _definition(type(tree))
    assert definition is not None
    items, context = definition.flatten_fn(tree)
    if len(items) != treespec.num_children or context != treespec.context:
        return None
    found: list[Any] = []
    for item, child in zip(items, treespec.children_specs):
        part = _broadcast_to_and_flatten(item, child, is_leaf)
        if part is None:
            return None
        found += part
    return found


# --------------------------------------------------------------------------------------------------------- with paths
def _with_path(tree: PyTree, path: tuple, is_leaf: Callable[[Any], bool] | None) -> Iterator[tuple[tuple, Any]]:
    if _is_leaf(tree, is_leaf):
        yield path, tree
        return
    definition = _definition(type(tree))
    assert definition is not None
    if definition.flatten_with_keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Pass one to register_pytree_node.")
    for key, item in definition.flatten_with_keys_fn(tree)[0]:
        yield from _with_path(item, (*path, key), is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[tuple, Any]]:
    """(path, leaf) pairs."""
    return list(_with_path(tree, (), is_leaf))


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[tuple, Any]], TreeSpec]:
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """`func(path, leaf, …)` of each leaf, nested as `tree`."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(path, x, *more) for (path, x), *more in zip(pairs, *columns)])


# -------------------------------------------------------------------------------------------------------------- as text
def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A TreeSpec as JSON. Raises TypeError for what is no TreeSpec, NotImplementedError for a context without a text form."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"treespec_dumps(treespec, protocol): Expected `treespec` to be a TreeSpec but got {type(treespec)}.")
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps([1, _dumped(treespec)])


def _dumped(spec: TreeSpec) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    if spec.type is tuple and spec.context is not None or spec.type not in _SERIALIZED:
        raise NotImplementedError(f"Serializing {spec.context or spec.type} in pytree is not supported.")
    how = _SERIALIZED[spec.type]
    try:
        context = how.to_dumpable(spec.context) if how.to_dumpable is not None else json.dumps(spec.context)
    except TypeError as e:
        raise TypeError("Unable to serialize context. Register a to_dumpable_context for the container.") from e
    return {"type": how.name, "context": context, "children_spec": [_dumped(c) for c in spec.children_specs]}


def treespec_loads(serialized: str) -> TreeSpec:
    """The inverse of `treespec_dumps`. Raises ValueError for another version, NotImplementedError for an unknown container."""
    version, spec = json.loads(serialized)
    if version != 1:
        raise ValueError(f"Unknown protocol {version}. Available protocols: [1]")
    return _loaded(spec)


def _loaded(data: dict[str, Any]) -> TreeSpec:
    if data["type"] is None:
        return _LEAF
    cls = next((c for c, how in _SERIALIZED.items() if how.name == data["type"]), None)
    if cls is None:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered.")
    load = _SERIALIZED[cls].from_dumpable
    context = load(data["context"]) if load is not None else json.loads(data["context"])
    return TreeSpec(cls, context, [_loaded(c) for c in data["children_spec"]])
