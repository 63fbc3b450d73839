"""What compiled functions hold: results while the graph runs, nothing of what they guard, no entry that cannot be used."""

import gc
import sys
import weakref

import pytest

import weft
from dynamo import _eval_frame, convert_frame
from dynamo._eval_frame import CompiledFunction, Entry
from dynamo.guard_program import GuardCompiler
from dynamo.guards import IdIs, TypeIs
from dynamo.source import Attr, Local
from tests.dynamo.eval_frame.toy import CONFIG, entry


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()
    convert_frame.counters.clear()
    yield
    weft.compiler.reset()


class Thing:
    def __init__(self, n=0):
        self.n = n


def ones(n=3):
    return weft.ones(n)


# ------------------------------------------------------------------------------- results
@pytest.mark.parametrize("result", [("reg", 1), ("tuple", (("output", 0), ("dict", (("v",), (("reg", 1),)))))])
def test_what_a_direct_entry_returns_beside_the_graph_is_owned_before_the_graph_runs(toy, result):
    holder, junk = Thing(), []

    def graph(x):
        holder.v = None
        junk.extend(Thing(-1) for _ in range(200))  # into the memory of what died
        return (x,)

    def make(code, function, args, config):
        value = Attr(Local("b"), "v")
        made = GuardCompiler(code, [TypeIs(value, Thing)], [Local("a"), value])
        program = made.compile()
        a, v = made.register(Local("a")), made.register(value)
        return Entry(config, program, graph=graph, inputs=(a,), result=renumbered(result, v))

    def renumbered(spec, register):
        kind, value = spec
        if kind == "reg":
            return kind, register
        if kind == "tuple":
            return kind, tuple(renumbered(v, register) for v in value)
        return (kind, (value[0], tuple(renumbered(v, register) for v in value[1]))) if kind == "dict" else spec

    toy(make)

    def f(a, b):
        raise AssertionError("the frame ran")

    g = CompiledFunction(f, CONFIG)
    for n in range(5):
        holder.v = Thing(n)
        got = g(0, holder)
        got = got[1]["v"] if isinstance(got, tuple) else got
        assert type(got) is Thing and got.n == n


def test_a_result_that_dies_while_a_python_backend_runs():
    class Value:
        def __init__(self, n):
            self.n = n

    h = Thing()
    h.v = Value(0)
    junk = []

    def backend(gm, inputs):
        def run(*a):
            h.v = None
            junk.extend(Value(-1) for _ in range(200))
            return gm.forward(*a)

        return run

    @weft.compile(backend=backend)
    def f(x):
        return x + 1, h.v

    for n in range(1, 7):
        h.v = Value(n)
        assert f(ones(2))[1].n == n
        junk.clear()


# --------------------------------------------------------------------------- stale addresses
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_another_tensor_at_the_address_of_an_earlier_one(backend):
    t = ones(4)

    @weft.compile(backend=backend)
    def f(x):
        return x * t.shape[0]

    @weft.compile(backend=backend)
    def g():
        return t + 1

    x = ones(2)
    for n in (4, 4, 4, 9, 9, 9, 6, 6, 4, 9):
        t = None
        t = ones(n)
        g()
        assert f(x).tolist() == [n, n]


@pytest.mark.parametrize("kind", ["list", "slot", "nested"])
def test_another_tensor_in_a_container_that_is_not_a_dictionary(kind):
    class Slotted:
        __slots__ = ("t",)

    o = Thing()
    o.l, o.s = [ones(4)], Slotted()

    def put(value):
        if kind == "list":
            o.l[0] = value
        elif kind == "slot":
            o.s.t = value
        else:
            o.l[0] = (value,)

    def get(o):
        return o.l[0] if kind == "list" else o.s.t if kind == "slot" else o.l[0][0]

    @weft.compile(backend="eager")
    def f(o, x):
        return x * get(o).shape[0]

    @weft.compile(backend="eager")
    def grad(o):
        return get(o) * 2

    x = ones(2)
    for n in (4, 4, 9, 9, 6, 6, 4):
        put(None)
        put(ones(n))
        grad(o)
        assert f(o, x).tolist() == [n, n]
    put(None)
    put(ones(4))
    assert not grad(o).requires_grad
    put(None)
    put(ones(4).requires_grad_())
    assert grad(o).requires_grad


def test_metadata_changed_in_place_is_seen():
    class Holder:
        pass

    o = Holder()
    o.t = ones(6)

    @weft.compile(backend="eager")
    def f(o, x):
        return x * o.t.shape[0] + o.t.stride()[0] + (100 if o.t.requires_grad else 0)

    x = ones(1)
    for _ in range(3):
        assert f(o, x).item() == 7
    o.t.resize_(2, 3)
    assert f(o, x).item() == 5 and f(o, x).item() == 5
    o.t.t_()
    assert f(o, x).item() == 4 and f(o, x).item() == 4
    o.t.requires_grad_()
    assert f(o, x).item() == 104


def test_a_number_in_a_list_that_is_only_part_of_a_condition():
    o = Thing()
    o.l = [1000]

    @weft.compile(backend="eager", dynamic=True)
    def f(o, x):
        return x + 1 if o.l[0] > 2000 else x - 1

    x = ones(1)
    for n in (1000, 1001, 3000, 5, 70000, 1002, 9999, 12):
        o.l[0] = None
        o.l[0] = int(str(n))
        assert f(o, x).item() == (2 if n > 2000 else 0)


# ------------------------------------------------------------------------------------ leaks
def alive(*references):
    gc.collect()
    return [r() is not None for r in references]


def test_a_compiled_module_dies_with_its_last_reference():
    class M(weft.nn.Module):
        def __init__(self):
            super().__init__()
            self.l = weft.nn.Linear(4, 4)

        def forward(self, x):
            return self.l(x)

    m = M()
    c = weft.compile(m, backend="eager")
    c(weft.ones(2, 4))
    found = weakref.ref(m), weakref.ref(M), weakref.ref(c)
    del m, M, c
    assert alive(*found) == [False] * 3


def test_a_closure_that_was_inlined_dies_with_all_that_it_captured():
    def world():
        b = Thing()
        b.t = ones()

        def h(x):
            return x + b.t

        def f(x):
            return h(x)

        g = weft.compile(f, backend="eager")
        g(ones())
        return [weakref.ref(o) for o in (b, h, f, g)]

    assert alive(*world()) == [False] * 4


def test_a_frame_with_a_break_holds_nothing():
    def world():
        b = Thing()
        b.t = ones()

        def h(x):
            return x * b.t

        def f(x):
            y = h(x + b.t)
            print(end="")
            return h(y) * 2

        g = weft.compile(f, backend="eager")
        g(ones())
        return [weakref.ref(o) for o in (b, h, f, g)]

    assert alive(*world()) == [False] * 4


def test_a_function_given_as_an_argument_is_not_held():
    @weft.compile(backend="eager")
    def f(fn, x):
        return fn(x)

    def call():
        b = Thing(2.0)
        f(lambda x: x * b.n, ones())
        return weakref.ref(b)

    assert alive(call()) == [False] and f is not None


def test_a_class_whose_method_is_compiled_or_inlined():
    class K:
        scale = property(lambda self: 2.0)

        @weft.compile(backend="eager")
        def m(self, x):
            return x * self.k() * self.scale

        def k(self):
            return 2.0

        @classmethod
        def make(cls):
            return cls()

    def f(k, x):
        return k.make().k() * x

    g = weft.compile(f, backend="eager")
    K().m(ones())
    g(K(), ones())
    found = [weakref.ref(K), weakref.ref(f)]
    del K, f, g
    assert alive(*found) == [False, False]


def test_classes_with_compiled_methods_come_and_go():
    def many(n):
        for _ in range(n):

            class K:
                @weft.compile(backend=backend)
                def m(self, x):
                    return x * self.k()

                def k(self):
                    return 2.0

            assert K().m(ones()).tolist() == [2, 2, 2]
        return K.m.__wrapped__.__code__

    graphs = []

    def backend(gm, inputs):
        graphs.append(weakref.ref(gm))
        return gm.forward

    often = gc.get_threshold()
    gc.set_threshold(0)  # classes are circles: the limit has them collected
    try:
        code = many(20)
    finally:
        gc.set_threshold(*often)
    assert len(graphs) == 20 and convert_frame.counters["limits"] == 0
    gc.collect()
    assert _eval_frame.entries(code) == []
    assert alive(*graphs) == [False] * 20


# ------------------------------------------------------------------------- places under the limit
def test_an_entry_dies_with_what_it_guards_and_frees_its_place(toy):
    def make(code, function, args, config):
        return entry(code, config, [IdIs(Local("x"), args["x"])], result=("const", args["x"].n))

    compiler = toy(make)

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    for n in range(30):
        thing = Thing(n)
        assert g(thing) == n and g(x=thing) == n
        del thing
        compiler.asked[-1][1].clear()
        assert _eval_frame.entries(f.__code__) == []
    assert len(compiler.asked) == 30 and compiler.told == []
    kept = [Thing(n) for n in range(12)]
    assert [g(t) for t in kept] == [*range(8), *["eager"] * 4]
    for _, args in compiler.asked:
        args.clear()
    del kept[2:6]
    gc.collect()
    assert [g(t) for t in kept] == [0, 1, 6, 7, 8, 9, 10, 11]


def test_an_entry_that_dies_while_it_runs(toy):
    thing = Thing(1)
    box = [thing]

    def graph(x):
        del box[:]
        return (x,)

    def make(code, function, args, config):
        guards = [IdIs(Attr(Local("b"), "t"), args["b"].t)]
        return entry(code, config, guards, graph=graph, inputs=(Local("a"),), result=("output", 0))

    toy(make)

    class B:
        @property
        def t(self):
            return box[0] if box else None

    def f(a, b):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    b = B()
    del thing
    assert g(5, b) == 5
    assert _eval_frame.entries(f.__code__) == []
    assert sys.getrefcount(b) < 10


def test_closures_of_one_factory_share_their_compilation():
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    def make(k):
        def h(x):
            return x * 2 + 1

        def step(x):
            return h(x) * 3

        return weft.compile(step, backend=backend)

    kept = [make(i) for i in range(20)]
    for step in kept:
        assert step(ones()).tolist() == [9, 9, 9]
    assert len(graphs) == 1


def test_objects_that_each_hold_a_lambda_of_one_code_share_their_compilation():
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    class A:
        def __init__(self):
            self.act = lambda x: x * 2

        def forward(self, x):
            return self.act(x) + 1

    @weft.compile(backend=backend)
    def g(a, x):
        return a.forward(x)

    for _ in range(20):
        assert g(A(), ones()).tolist() == [3, 3, 3]
    assert len(graphs) == 1


def test_the_code_of_a_helper_may_be_exchanged():
    def helper(x):
        return x * 2

    def other(x):
        return x * 5

    @weft.compile(backend="eager")
    def f(x):
        return helper(x)

    assert f(ones()).tolist() == [2, 2, 2]
    helper.__code__ = other.__code__
    assert f(ones()).tolist() == [5, 5, 5]


def test_closures_that_captured_different_values_differ():
    def make(n):
        def h(x):
            return x * n

        def step(x):
            return h(x)

        return weft.compile(step, backend="eager")

    for n in (2, 3, 2, 5):
        assert make(n)(ones()).tolist() == [n] * 3
