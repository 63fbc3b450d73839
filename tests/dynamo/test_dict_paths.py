"""One dict by two paths: what is changed by one is found by the other, also where the two meet in a later call only."""

import builtins
import functools
import sys
import threading
import types

import pytest

import weft
from tests.dynamo.harness import trace
from tests.dynamo.objects.twice import check, listed

x = weft.ones(3)
PROGRAMS: list = []
program = listed(PROGRAMS)
ONE = 1


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@program
def an_item_is_an_attribute_from_the_second_call_on(C):
    @C
    def f(x, d):
        d["k"] = 5
        return x * thing.k

    thing = Thing(k=1)
    return [f(x, d) for d in ({"k": 0}, vars(thing), {"k": 0}, vars(thing))]


@program
def an_item_is_an_attribute_in_the_first_call_alone(C):
    @C
    def f(x, d):
        d["k"] += 5
        return x * thing.k

    thing = Thing(k=1)
    return [f(x, d) for d in (vars(thing), {"k": 0}, vars(thing))]


@program
def an_attribute_is_an_item(C):
    @C
    def f(x, d):
        thing.k += 7
        return x * d["k"]

    thing = Thing(k=1)
    return [f(x, d) for d in ({"k": 0}, vars(thing), {"k": 0})]


@program
def a_new_attribute_is_a_new_item(C):
    @C
    def f(x, d):
        thing.k = 2
        found = len(d)
        del thing.k
        return x * found, list(d)

    thing = Thing()
    return [f(x, d) for d in ({}, vars(thing), {})]


@program
def the_dict_is_looked_at_behind_a_change_of_the_attribute(C):
    @C
    def f(x):
        before = d["k"]
        thing.k = 8
        between = d["k"]
        d["k"] = 9
        return x * before, between, thing.k

    @C
    def g(x):
        thing.k = 8
        return x * d["k"]

    thing = Thing(k=1)
    d = vars(thing)
    return f(x), f(x), g(x)


@program
def an_item_is_a_global(C):
    global ONE

    @C
    def f(x, d):
        d["ONE"] = 5
        return x * ONE

    @C
    def g(x, d):
        global ONE
        ONE = 8
        return x * d["ONE"]

    @C
    def h(x, d):
        before = ONE
        d["ONE"] = 6
        return x * ONE + before

    found = []
    for function in (f, g, h):
        for d in ({"ONE": 0}, globals(), {"ONE": 0}):
            ONE = 1
            found.append(function(x, d))
    ONE = 1
    return found


@program
def an_item_is_a_member_of_a_module(C):
    module = types.ModuleType("somewhere")
    module.k = 1
    d = vars(module)

    @C
    def f(x):
        d["k"] += 1
        y = x * module.k
        module.k += 1
        return y, d["k"]

    return f(x), f(x)


@program
def a_builtin_is_set(C):
    @C
    def f(x):
        builtins.weft_test_name = 5
        y = x * weft_test_name  # noqa: F821
        del builtins.weft_test_name
        return y

    @C
    def g(x):
        kept = builtins.len
        builtins.len = lambda values: 9
        y = x * len([1])
        builtins.len = kept
        return y, len([1])

    d = vars(builtins)

    @C
    def h(x):
        d["weft_test_name"] = 4
        y = x * weft_test_name  # noqa: F821
        del d["weft_test_name"]
        return y, hasattr(builtins, "weft_test_name")

    return [function(x) for function in (f, f, g, g, h, h)]


@program
def an_item_is_a_buffer(C):
    @C
    def f(x, buffers):
        buffers["b"] = x * 7
        return module.b

    module = weft.nn.Module()
    module.register_buffer("b", x)
    return [f(x, d) for d in ({"b": x}, module._buffers, {"b": x}, module._buffers)]


@program
def an_item_is_a_default(C):
    def named(*, k=1):
        return k

    @C
    def f(x, d):
        d["k"] += 3
        return x * named()

    return [f(x, d) for d in ({"k": 0}, named.__kwdefaults__, {"k": 0}, named.__kwdefaults__)]


@program
def an_item_is_an_argument_of_a_partial(C):
    partial = functools.partial(lambda a: a, a=1)

    @C
    def f(x, d):
        d["a"] += 3
        return x * partial()

    @C
    def g(x):
        partial.keywords["a"] += 1
        return x * partial()

    return [*[f(x, d) for d in ({"a": 0}, partial.keywords, {"a": 0})], g(x), g(x)]


@program
def two_objects_have_one_dict(C):
    @C
    def f(x, one, other):
        one.k += 5
        y = x * other.k
        other.k = 7
        return y, one.k

    one, other = Thing(k=1), Thing(k=2)
    one.__dict__ = vars(other)
    return [f(x, one, other) for _ in range(2)]


@program
def an_object_has_the_dict_of_a_module(C):
    global ONE

    @C
    def f(x):
        global ONE
        ONE = 5
        return x * thing.ONE

    @C
    def g(x):
        thing.ONE = 9
        return x * ONE

    thing = Thing()
    thing.__dict__ = globals()
    found = f(x), g(x)
    ONE = 1
    return found


@program
def an_object_has_a_dict_in_each_thread(C):
    @C
    def f(x, d):
        d["k"] = 5
        return x * local.k

    @C
    def g(x, d):
        local.k = 8
        return x * d["k"], vars(local)["k"]

    local = threading.local()
    local.k = 1
    found = [f(x, d) for d in ({"k": 1}, vars(local), {"k": 1})]
    return [*found, *[g(x, d) for d in ({"k": 1}, vars(local), {"k": 1})]]


@program
def a_proxy_shows_the_dict(C):
    @C
    def f(x, d):
        d["k"] += 1
        d["new"] = 1
        return x * proxy["k"], len(proxy), list(proxy)

    real = {"k": 1}
    proxy = types.MappingProxyType(real)
    return [f(x, d) for d in ({"k": 0}, real, real, {"k": 0})]


@program
def a_proxy_shows_a_class(C):
    class A:
        k = 1

    proxy = vars(A)

    @C
    def f(x):
        A.k += 1
        return x * proxy["k"]

    @C
    def g(x):
        before = proxy["k"]
        A.k += 1
        return x * proxy["k"], before

    return f(x), f(x), g(x)


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
def test_compiled_is_plain(program):
    check(program)


def test_dicts_whose_keys_tell_them_apart_are_not_guarded_to_be_two():
    def f(x, d, thing):
        d["seen"] = True
        return x * thing.k * thing.other

    guards = str(trace(f, x, {}, Thing(k=1, other=2)).guards)
    assert "DISTINCT" not in guards and "thing" in guards


@pytest.mark.parametrize("how", ["an entry", "the path"])
def test_an_import_sees_what_was_changed_before(how, tmp_path, monkeypatch):
    (tmp_path / "weft_test_late.py").write_text("k = 3\n")
    module = types.ModuleType("weft_test_late")
    module.k = 3

    def f(x):
        if how == "the path":
            sys.path.append(str(tmp_path))
        else:
            sys.modules["weft_test_late"] = module
        import weft_test_late

        return x * weft_test_late.k

    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "weft_test_late", raising=False)
    assert weft.equal(weft.compile(f, backend="eager")(x), x * 3)
    monkeypatch.delitem(sys.modules, "weft_test_late")
