"""weft.utils._pytree: PyTorch's protocol of nested containers, plain and captured."""

import dataclasses
import gc
import time
import weakref
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import weft
from weft.utils import _pytree as p

Point = namedtuple("Point", "x y")
TREES = [
    1,
    None,
    [1, (2, 3), {"a": [4, None], "b": ()}],
    OrderedDict(b=1, a=[2]),
    defaultdict(list, {"k": [1, 2]}),
    deque([1, [2]], maxlen=3),
    Point(1, [2, 3]),
    time.gmtime(0),
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_there_and_back(tree):
    leaves, spec = p.tree_flatten(tree)
    again = p.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec.num_leaves == len(leaves) and p.tree_leaves(tree) == leaves == list(p.tree_iter(tree))
    assert p.tree_structure(again) == spec and hash(p.tree_structure(again)) == hash(spec)
    assert p.tree_map(lambda x: x, tree) == tree


def test_order_and_none():
    assert p.tree_leaves({"b": 1, "a": None}) == [1, None]
    assert p.tree_flatten([1, [2]], is_leaf=lambda x: x == [2])[0] == [1, [2]]
    assert repr(p.tree_structure((1, [2, 3]))) == "TreeSpec(tuple, None, [*,\n  TreeSpec(list, None, [*,\n    *])])"


def test_maps():
    assert p.tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"y": [20], "x": 10}) == {"x": 11, "y": [22]}
    assert p.tree_map_only(int, lambda x: x + 1, [1, "a", 2.0]) == [2, "a", 2.0]
    assert p.tree_map_only((int, float), lambda x: x + 1, [1, "a", 2.0]) == [2, "a", 3.0]
    assert p.tree_map_only(lambda x: x == "a", lambda x: x * 2, [1, "a"]) == [1, "aa"]
    assert p.tree_any(lambda x: x > 2, [1, 3]) and not p.tree_all(lambda x: x > 2, [1, 3])
    assert p.tree_all_only(int, lambda x: x > 0, [1, "a"]) and not p.tree_any_only(str, lambda x: x == "b", [1, "a"])
    assert p._broadcast_to_and_flatten((0, None), p.tree_structure(([1, 2], 3))) == [0, 0, None]
    assert p._broadcast_to_and_flatten((0,), p.tree_structure([1])) is None


def test_paths():
    tree = {"a": [1, Point(2, 3)]}
    pairs = p.tree_leaves_with_path(tree)
    assert [p.keystr(k) for k, _ in pairs] == ["['a'][0]", "['a'][1].x", "['a'][1].y"]
    assert all(p.key_get(tree, k) == v for k, v in pairs)
    assert p.tree_map_with_path(lambda k, x: (p.keystr(k), x), [5]) == [("[0]", 5)]


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None


class Bag:
    def __init__(self, *items):
        self.items = list(items)


p.register_dataclass(Pair)
p.register_pytree_node(Bag, lambda b: (b.items, None), lambda v, _: Bag(*v), serialized_type_name="tests.Bag")


def test_registered_classes():
    assert p.tree_map(lambda x: x * 2, Pair(1, [2])) == Pair(2, [4])
    assert p.tree_leaves(Pair(1)) == [1] and p.tree_map(lambda x: x, Pair(1)) == Pair(1)
    assert p.tree_leaves(p.tree_map(lambda x: x + 1, [Bag(1, 2), 3])) == [2, 3, 4]
    with pytest.raises(ValueError, match="already registered"):
        p.register_pytree_node(Bag, None, None)
    spec = p.tree_structure([Bag(1), {"a": (2, OrderedDict(b=3))}])
    assert p.treespec_loads(p.treespec_dumps(spec)) == spec


def test_errors():
    spec = p.tree_structure([1, {"a": 2}])
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="2 items"):
            p.tree_unflatten(leaves, spec)
    with pytest.raises(TypeError, match="TreeSpec"):
        p.tree_unflatten([1], "spec")
    for other in (1, [1], [1, [2]], [1, {"b": 2}]):
        with pytest.raises(ValueError, match="mismatch"):
            p.tree_map(lambda a, b: a, [1, {"a": 2}], other)
    with pytest.raises(NotImplementedError, match="not supported"):
        p.treespec_dumps(p.tree_structure(Point(1, 2)))


def test_captured_in_one_graph():
    def f(tree):
        leaves, spec = p.tree_flatten(tree)
        doubled = p.tree_unflatten([x * 2 if isinstance(x, weft.Tensor) else x for x in leaves], spec)
        return p.tree_map_only(weft.Tensor, lambda x: x + 1, doubled), spec.num_leaves

    tree = {"a": [weft.ones(2), 3], "b": (Point(weft.zeros(2), None), OrderedDict(k=weft.ones(1)))}
    got, n = weft.compile(f, backend="eager", fullgraph=True)(tree)
    expected, m = f(tree)
    assert n == m and p.tree_structure(got) == p.tree_structure(expected)
    for a, b in zip(p.tree_leaves(got), p.tree_leaves(expected)):
        assert weft.equal(a, b) if isinstance(a, weft.Tensor) else a == b


def test_leaves_are_let_go_at_once():
    leaf = weft.ones(1)
    gone = weakref.ref(leaf)
    gc.disable()
    try:
        flat, spec = p.tree_flatten([(leaf,), {"a": leaf}])
        tree = p.tree_unflatten(flat, spec)
        del leaf, flat, tree
        assert gone() is None
    finally:
        gc.enable()
