"""The native guard program says what the guards' Python meaning says, before and after every kind of change."""

import collections
import math
import types

import pytest

from dynamo.guard_program import GuardCompiler
from dynamo.guards import (
    ABSENT,
    ClassLookupsAre,
    DictKeysAre,
    Distinct,
    Equals,
    FunctionCodeIs,
    GuardSet,
    IdIs,
    LacksAttr,
    LacksDefaults,
    LacksGlobal,
    LacksInstanceAttr,
    LacksKey,
    LengthIs,
    SameObject,
    Shape,
    ShapeIs,
    TypeIs,
)
from dynamo.source import (
    Attr,
    Builtin,
    ClassAttr,
    Closure,
    DictKey,
    Global,
    InstanceDict,
    Item,
    Local,
    Object,
    Scope,
    cell_of,
    contents,
    default,
)
from tests.dynamo.guards.program import F, Program, X, Y, make

FLAG = 1


class Point:
    kind = "point"

    def __init__(self, x, y):
        self.x, self.y = x, y

    def norm(self):
        return self.x + self.y


class Slotted:
    __slots__ = ("a", "b")


class Computed:
    @property
    def value(self):
        return self.__dict__["hidden"]

    def __getattr__(self, name):
        if name == "late":
            return 7
        raise AttributeError(name)


def test_constants_are_compared_with_their_type_and_bits():
    values = [0, 1, -5, True, False, 1.0, 0.0, -0.0, math.nan, math.inf, "a", b"a", None, 2**70, 1j, "é"]
    values += [(1, 2), (1, 2.0)]
    for a in values:
        p = Program(Equals(X, a))
        for b in values:
            same = repr(a) == repr(b) and type(a) is type(b)
            assert p(b) == same, (a, b)


def test_types_and_identity():
    p = Program(TypeIs(X, int))
    assert p(3) and not p(True) and not p(3.0)
    a, b = Point(1, 2), Point(1, 2)
    p = Program(IdIs(X, a))
    assert p(a) and not p(b)
    p = Program(IdIs(X, None))
    assert p(None) and not p(0)


def test_an_object_guarded_by_identity_is_not_kept_alive():
    a = Point(1, 2)
    native = GuardCompiler(F.__code__, [IdIs(X, a)]).compile()
    assert native.check(F, (a, None, None, (), {})) is True and not native.dead
    del a
    b = Point(1, 2)
    assert native.dead  # no call can pass any more
    assert native.check(F, (b, None, None, (), {})) is not True
    assert native.check(F, (None, None, None, (), {})) is not True


def test_items_of_containers():
    p = Program(Equals(Item(X, 0), 5), LengthIs(X, 2), Equals(Item(Y, "k"), "v"), LacksKey(Y, "z"))
    assert p([5, 6], {"k": "v"})
    assert p((5, 6), {"k": "v"})
    assert not p([5], {"k": "v"})
    assert not p([6, 6], {"k": "v"})
    assert not p([5, 6], {"k": "w"})
    assert not p([5, 6], {"k": "v", "z": 0})
    assert not p([5, 6], {})
    assert Program(Equals(Item(X, -1), 9))([1, 9])


def test_keys_of_a_dictionary_in_order():
    p = Program(DictKeysAre(X, ("a", "b", 3)), Equals(DictKey(X, 1), "b"))
    assert p({"a": 0, "b": 0, 3: 0})
    assert not p({"b": 0, "a": 0, 3: 0})
    assert not p({"a": 0, "b": 0})
    assert not p({"a": 0, "b": 0, 3.0: 0})


def test_arguments_of_every_form():
    p = Program(Equals(Local("key"), 1), Equals(Item(Local("rest"), 0), 2), Equals(Item(Local("more"), "z"), 3))
    assert p(key=1, rest=(2,), more={"z": 3})
    assert not p(key=1, rest=(2,), more={"z": 4})
    assert not p(key=1, rest=(), more={"z": 3})


def test_attributes_and_every_way_to_change_them():
    a = Point(1, 2)
    guards = [Equals(Attr(X, "x"), 1), Equals(Attr(X, "kind"), "point"), LacksInstanceAttr(X, "kind")]
    p = Program(TypeIs(X, Point), *guards)
    for _ in range(3):
        assert p(a)
    assert p(Point(1, 5))
    a.x = 2
    assert not p(a)
    a.x = 1
    assert p(a)
    a.__dict__["x"] = 3
    assert not p(a)
    a.__dict__.update(x=1)
    assert p(a)
    a.kind = "own"
    assert not p(a)
    del a.kind
    assert p(a)
    a.__dict__ = {"x": 9}
    assert not p(a)
    a.__dict__ = {"x": 1}
    assert p(a)
    del a.x
    assert not p(a)
    object.__setattr__(a, "x", 1)
    assert p(a)
    Point.kind = "class"
    try:
        assert not p(a)
    finally:
        Point.kind = "point"
    assert p(a)
    a.__class__ = type("Other", (Point,), {})
    assert not p(a)


def test_stores_by_hot_specialised_code_are_seen():
    a = Point(0, 0)
    p = Program(Equals(Attr(X, "x"), 100))

    def store(o, n):
        for i in range(n + 1):
            o.x = i

    store(a, 100)
    assert p(a)
    store(a, 200)
    assert not p(a)
    store(a, 100)
    assert p(a)


def test_an_object_whose_dictionary_was_never_asked_for():
    p = Program(Equals(Attr(X, "x"), 1))
    for i in range(5):
        a = Point(i, 0)
        assert p(a) == (i == 1)
        a.x = 1
        assert p(a)
        assert list(a.__dict__) == ["x", "y"]
    empty = Point.__new__(Point)
    assert not p(empty)
    empty.x = 1
    assert p(empty)


def test_methods_are_found_on_the_class():
    p = Program(TypeIs(X, Point), FunctionCodeIs(ClassAttr(Object(Point), "norm"), Point.norm.__code__))
    a, original = Point(1, 2), Point.norm
    assert p(a)
    Point.norm = lambda self: 0
    try:
        assert not p(a)
    finally:
        Point.norm = original
    assert p(a)


def test_members_of_c_types_that_may_be_missing():
    p = Program(IdIs(Attr(X, "default_factory"), list))
    assert p(collections.defaultdict(list)) and not p(collections.defaultdict(dict))
    assert Program(IdIs(Attr(X, "default_factory"), None))(collections.defaultdict())
    assert p.native.stats["hits"] > 0


def test_slots_properties_and_getattr():
    s = Slotted()
    p = Program(Equals(Attr(X, "a"), 1))
    assert not p(s)
    s.a = 1
    assert p(s) and p(s)
    s.a = 2
    assert not p(s)
    c = Computed()
    c.__dict__["hidden"] = 3
    q = Program(Equals(Attr(X, "value"), 3), Equals(Attr(X, "late"), 7), LacksAttr(X, "never"))
    assert q(c) and q(c)
    c.__dict__["hidden"] = 4
    assert not q(c)


def test_functions_closures_defaults_and_methods():
    def outer(n):
        def inner(a, b=2, *, c=3):
            return n

        return inner

    f = outer(1)
    p = Program(
        FunctionCodeIs(X, f.__code__), Equals(contents(cell_of(X, 0)), 1), Equals(default(X, 0), 2),
        Equals(Item(Attr(X, "__kwdefaults__"), "c"), 3),
    )  # fmt: skip
    assert p(f) and p(outer(1)) and not p(outer(2))
    f.__defaults__ = (5,)
    assert not p(f)
    f.__defaults__ = None
    assert not p(f)
    f.__defaults__ = (2,)
    assert p(f)
    f.__kwdefaults__["c"] = 4
    assert not p(f)
    a = Point(1, 2)
    code = FunctionCodeIs(Attr(X, "__func__"), Point.norm.__code__)
    m = Program(TypeIs(X, types.MethodType), IdIs(Attr(X, "__self__"), a), code)
    assert m(a.norm) and not m(Point(1, 2).norm)


def test_the_frames_own_closure_and_globals():
    function = make(10)
    p = Program(Equals(Closure("free"), 10), function=function)
    assert p()
    function.__closure__[0].cell_contents = 11
    assert not p()
    del function.__closure__[0].cell_contents
    assert not p()
    function.__closure__[0].cell_contents = 10
    assert p()
    here = types.FunctionType(F.__code__, globals(), "here", None, F.__closure__)
    p = Program(Equals(Global("FLAG"), 1), IdIs(Builtin("len"), len), LacksGlobal(None, "len"), function=here)
    assert p() and p()
    globals()["FLAG"] = 2
    assert not p()
    globals()["FLAG"] = 1
    assert p()
    globals()["len"] = len
    assert not p()
    del globals()["len"]
    assert p()


def test_a_closure_at_the_address_of_an_earlier_one():
    """A function made in every call: its cells are others, although its closure lies where that of the last one lay."""
    function = make(10)
    p = Program(Equals(Closure("free"), 10), function=function)
    code, cells = function.__code__, (types.CellType(10), types.CellType(11))
    reused = 0
    for _ in range(200):
        other = types.FunctionType(code, globals(), "f", None, (cells[0],))
        where = id(other.__closure__)
        assert p.native.check(other, (None, None, None, (), {})) is True
        del other
        other = types.FunctionType(code, globals(), "f", None, (cells[1],))
        reused += id(other.__closure__) == where
        assert p.native.check(other, (None, None, None, (), {})) is not True
    assert reused


def test_modules():
    module = types.ModuleType("m")
    module.value = 1
    p = Program(Equals(Attr(X, "value"), 1))
    assert p(module) and p(module)
    module.value = 2
    assert not p(module)


def test_class_attributes_read_through_the_class():
    p = Program(Equals(Attr(Object(Point), "kind"), "point"))
    assert p()
    Point.kind = "other"
    try:
        assert not p()
    finally:
        Point.kind = "point"
    assert p()


def test_instance_dictionaries():
    a = Point(1, 2)
    p = Program(LacksKey(InstanceDict(X), "z"), Equals(Item(InstanceDict(X), "y"), 2))
    assert p(a) and p(a)
    a.y = 3
    assert not p(a)


def test_which_arguments_are_one_object():
    a, b = Point(1, 1), Point(1, 1)
    p = Program(SameObject(X, Y))
    assert p(a, a) and not p(a, b)
    p = Program(Distinct((X, Y)))
    assert p(a, b) and not p(a, a)
    many = [Point(i, i) for i in range(20)]
    p = Program(Distinct(tuple(Item(X, i) for i in range(20))))
    assert p(many)
    assert not p(many[:19] + many[:1])
    holder = Point(a, b)
    p = Program(Distinct((X, Attr(Y, "x"), Attr(Y, "y"))))
    assert p(many[0], holder) and not p(a, holder) and not p(b, holder)
    holder.y = a
    assert not p(many[0], holder)


def test_a_list_that_changes_in_place():
    holder = Point([1, 2, 3], None)
    p = Program(Equals(Item(Attr(X, "x"), 1), 2), LengthIs(Attr(X, "x"), 3))
    assert p(holder) and p(holder)
    holder.x[1] = 9
    assert not p(holder)
    holder.x[1] = 2
    assert p(holder)
    holder.x.append(0)
    assert not p(holder)
    holder.x = [1, 2, 3]
    assert p(holder)
    for i in range(100):  # a freed list's memory is used again by the next one
        holder.x = [1, 1000 + i, 3]
        assert not p(holder)


def test_a_tree_of_modules_is_remembered_and_heals():
    root = Point(None, None)
    root.x = {"a": Point(1, [2]), "b": Point(3, [4])}
    source = Attr(X, "x")
    guards = [DictKeysAre(source, ("a", "b"))]
    for key, n in (("a", 1), ("b", 3)):
        child = Item(source, key)
        guards += [TypeIs(child, Point), Equals(Attr(child, "x"), n), Equals(Item(Attr(child, "y"), 0), n + 1)]
    p = Program(*guards)
    assert p(root)
    walks = p.native.stats["walks"]
    for _ in range(50):
        assert p(root)
    assert p.native.stats["walks"] == walks
    root.counter = 1  # nothing that was read
    assert p(root) and p.native.stats["walks"] == walks
    root.x["b"].y = [4]
    assert p(root) and p.native.stats["walks"] == walks + 1  # walked once, then remembered again
    for _ in range(50):
        assert p(root)
    assert p.native.stats["walks"] == walks + 1
    root.x["b"].y[0] = 9
    assert not p(root)
    root.x["b"].y[0] = 4
    assert p(root)
    del root.x["a"]
    assert not p(root)


def test_many_roots_share_one_program():
    p = Program(Equals(Attr(X, "x"), 1))
    points = [Point(1, i) for i in range(200)]
    for _ in range(3):
        assert all(p(a) for a in points)


def test_conditions_on_integers():
    expr = pytest.importorskip("aten.symbolic.expr")
    n, m, f = expr.sym("n"), expr.sym("m"), expr.sym("f", "float")
    where = {"n": X, "m": Y, "f": Local("key")}

    def program(e):
        guard = ShapeIs(None, Shape(e, {s: where[s] for s in e.free_symbols}))
        return Program(guard)

    assert program(expr.eq((n * 4 + m) // 3 % 5, 2))(2, 0) and not program(expr.eq((n * 4 + m) // 3 % 5, 2))(3, 0)
    for e in (
        expr.le(n // 3 + n % 7 - m * m, 2), expr.and_(expr.le(n, m), expr.ne(n, 3)),
        expr.or_(expr.lt(n, m), expr.eq(m, 2)),
        expr.not_(expr.eq(expr.max_(n, m), expr.min_(n, 4))), expr.le(expr.to_float(n) / m, f), expr.lt(f * 2.5, n),
        expr.eq(expr.to_int(f), n), expr.eq(expr.floor_(f), m), expr.le(expr.where_(expr.le(n, m), n, m), 3),
        expr.le(n**2, m + 5), expr.le(expr.sqrt_(expr.to_float(n)), f),
    ):  # fmt: skip
        p = program(e)
        for a in (0, 1, 2, 3, 7, 12):
            for b in (1, 2, 4, 5):
                for c in (0.5, 2.0, 3.75):
                    p(a, b, key=c)  # compares native and Python
    assert not program(expr.le(n * m, 5))(2**40, 2**40)
    assert not program(expr.le(n, 5))("two")


def test_explanations_name_the_users_expression():
    scope = Scope.of_function(F, {"x": Point(1, 2), "y": [1]})
    assert Equals(Attr(X, "x"), 4).why_failed(scope) == "x.x is 1, compiled for 4"
    assert TypeIs(Item(Y, 0), float).why_failed(scope) == "y[0] is a int, compiled for float"
    assert "y[3] cannot be read any more" in Equals(Item(Y, 3), 0).why_failed(scope)
    assert LengthIs(Y, 2).why_failed(scope) == "len(y) is 1, compiled for 2"
    assert Equals(Item(Y, 0), 2, line="model.py:3").why_failed(scope).endswith("(model.py:3)")


def test_a_guard_is_kept_once():
    guards = GuardSet([Equals(X, 1), Equals(X, True), Equals(X, 1), Equals(Local("x"), 1.0)])
    assert len(guards) == 3


def test_a_function_without_defaults():
    def plain(a, *, b=None):
        return a

    plain.__kwdefaults__ = None
    p = Program(FunctionCodeIs(X, plain.__code__), LacksDefaults(X))
    assert p(plain) and p(plain)
    plain.__defaults__ = (1,)
    assert not p(plain)
    plain.__defaults__ = None
    assert p(plain)
    plain.__kwdefaults__ = {"b": 1}
    assert not p(plain)


def test_several_lookups_of_one_class():
    class Pair(tuple):
        pass

    p = Program(TypeIs(X, Pair), ClassLookupsAre(Object(Pair), ("__len__", "__getattr__"), (tuple.__len__, ABSENT)))
    assert p(Pair()) and p(Pair((1,)))
    Pair.__getattr__ = lambda self, name: 1
    assert not p(Pair())
    del Pair.__getattr__
    assert p(Pair())
    Pair.__len__ = lambda self: 3
    assert not p(Pair())
