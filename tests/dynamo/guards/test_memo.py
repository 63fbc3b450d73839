"""What a guard program remembers of a walk: machine words, and which instructions words cannot describe."""

import gc
import weakref

import pytest

import weft
from dynamo import _eval_frame
from dynamo.guards import AMBIENT_FLAGS, AmbientIs, Equals, FlagIs, IdIs, Layout, TensorIs, TypeIs, flag
from dynamo.source import Attr, InstanceDict, Item, Local, Scope
from tests.dynamo.guards.program import F, Program, X, Y

K = Local("key")


class Plain:
    def __init__(self, **values):
        self.__dict__.update(values)


def test_a_computed_read_is_run_again_and_the_rest_remembered():
    asked = []

    class Mixed(Plain):
        @property
        def computed(self):
            asked.append(1)
            return self.inner

    inner = Plain(n=3)
    o = Mixed(inner=inner, **{f"a{i}": i for i in range(20)})
    guards = [Equals(Attr(X, f"a{i}"), i) for i in range(20)]
    p = Program(*guards, Equals(Attr(Attr(X, "computed"), "n"), 3), TypeIs(Attr(X, "computed"), Plain))
    assert p(o)
    walks = p.native.stats["walks"]
    asked.clear()
    assert p(o) and p(o)
    stats = p.native.stats
    assert stats["walks"] == walks and stats["hits"] > 0 and 3 <= stats["again"] <= 4
    assert asked
    inner.n = 4  # only the computed part sees it
    assert not p(o)
    inner.n = 3
    assert p(o)
    o.inner = Plain(n=9)
    assert not p(o)
    o.inner = Plain(n=3)
    assert p(o)
    o.a7 = 0
    assert not p(o)


def test_a_computed_read_that_drops_what_was_read_before():
    class Dropping(Plain):
        @property
        def bad(self):
            self.__dict__.pop("kept", None)
            gc.collect()
            return 1

    for _ in range(20):
        o = Dropping(kept=Plain(n=[1]))
        p = Program(
            Equals(Attr(X, "bad"), 1), TypeIs(Attr(X, "kept"), Plain), Equals(Item(Attr(Attr(X, "kept"), "n"), 0), 1)
        )  # fmt: skip
        assert p.native.check(F, (o, None, None, (), {})) is not True
        q = Program(TypeIs(Attr(X, "kept"), Plain), Equals(Attr(X, "bad"), 1), Equals(Item(Attr(Attr(X, "kept"), "n"), 0), 1))
        o = Dropping(kept=Plain(n=[1]))
        assert q.native.check(F, (o, None, None, (), {})) is True  # the list is still that which was read
        assert q.native.check(F, (o, None, None, (), {})) is not True


def test_a_computed_read_that_raises_fails_the_guard():
    class Moody(Plain):
        @property
        def value(self):
            if self.angry:
                raise ValueError
            return 1

    o = Moody(angry=False)
    p = Program(Equals(Attr(X, "value"), 1))
    assert p(o) and p(o)
    o.angry = True
    assert p.native.check(F, (o, None, None, (), {})) == 0
    o.angry = False
    assert p(o)


def test_roots_that_are_always_new_do_not_end_remembering():
    p = Program(Equals(Attr(X, "n"), 1))
    for _ in range(400):
        assert p.native.check(F, (Plain(n=1), None, None, (), {})) is True
    o = Plain(n=1)
    hits = p.native.stats["hits"]
    for _ in range(200):
        assert p(o)
    assert p.native.stats["hits"] > hits + 100


def test_a_program_dies_with_what_it_guards_and_says_so():
    class K:
        pass

    o = K()
    for guards in ([IdIs(X, o)], [TypeIs(Item(InstanceDict(X), "k"), K)]):
        p = Program(*guards)
        assert not p.native.dead
    last = Program(TypeIs(X, K), FlagIs(None, "grad", flag("grad"))).native
    gone = weakref.ref(K)
    del K, o, guards, p
    gc.collect()
    assert gone() is None and last.dead
    assert last.check(F, (None, None, None, (), {})) is not True


def test_a_config_with_its_own_getattribute_is_read_without_python():
    """As the configurations of Hugging Face's models have it."""

    class Config:
        attribute_map = {"alias": "layers"}

        def __init__(self, **values):
            for name, value in values.items():
                setattr(self, name, value)

        def __getattribute__(self, name):
            if name != "attribute_map" and name in super().__getattribute__("attribute_map"):
                name = super().__getattribute__("attribute_map")[name]
            return super().__getattribute__(name)

    class Layer(weft.nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config, self.linear = config, weft.nn.Linear(4, 4)

        def forward(self, x):
            y = self.linear(x)
            return y * self.config.scale if self.config.act == "scaled" else y + self.config.bias

    class Model(weft.nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config
            self.layers = weft.nn.ModuleList([Layer(config) for _ in range(8)])

        def forward(self, x):
            for layer in self.layers[: self.config.alias]:
                x = layer(x)
            return x

    config = Config(layers=8, scale=2.0, bias=1, act="scaled")
    model, x = Model(config), weft.ones(2, 4)
    compiled = weft.compile(model, backend="eager")
    with weft.no_grad():
        assert compiled(x).tolist() == model(x).tolist()
        for _ in range(5):
            compiled(x)
        (entry,) = _eval_frame.entries(compiled._fast.__func__.__wrapped__.__code__)
        stats = entry.guards.stats
        assert stats["hits"] >= 5 and stats["again"] == 0
        for name, value in (("scale", 3.0), ("layers", 3), ("act", "other"), ("bias", 4)):
            setattr(config, name, value)
            assert compiled(x).tolist() == model(x).tolist()
        Config.attribute_map["act"] = "mode"
        config.mode = "scaled"
        assert compiled(x).tolist() == model(x).tolist()
    weft.compiler.reset()


def test_the_name_of_a_class_is_remembered_as_a_word():
    class K:
        pass

    p = Program(Equals(Attr(X, "__name__"), "K"), Equals(Attr(Y, "__name__"), "int"))
    assert p(K, int) and p(K, int)
    assert p.native.again == {1}  # that of a class written in C is made anew for each reading
    K.__name__ = "L"
    assert not p(K, int)
    K.__name__ = "K"
    assert p(K, int) and not p(K, str)


CHANGES = {
    "set": lambda d: d.__setitem__("n", 2), "delete": lambda d: d.pop("n"), "clear": lambda d: d.clear(),
    "update": lambda d: d.update(n=2), "merge": lambda d: d.__ior__({"n": 2}), "popitem": lambda d: d.popitem(),
    "attribute": None, "raw attribute": None, "deleted attribute": None,
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_dictionary_is_seen_each_time(change):
    """Of one that hangs on an object, first with values kept inside of the object. (Python 3.14 has no version tags.)"""

    class Holder:
        def __init__(self):
            self.n = 1

    apply = CHANGES[change]
    o, other = Holder(), Holder()
    p = Program(Equals(Attr(X, "n"), 1))
    for _ in range(6):
        assert p(o) and p(o) and p(other)
        if apply is not None:
            apply(o.__dict__)
        elif change == "attribute":
            o.n = 2
        elif change == "raw attribute":
            object.__setattr__(o, "n", 2)
        else:
            del o.n
        assert not p(o) and p(other)
        o.n = 1
    assert p.native.stats["hits"] > 0


def test_a_dictionary_at_the_address_of_one_that_died_is_another():
    p = Program(Equals(Item(X, "n"), 1))
    for i in range(200):
        d = {"n": 1, "i": i}
        assert p(d) and p(d)
        del d
        d = {"n": 2, "i": i}  # often where the one before was
        assert not p(d)


def test_dictionaries_that_change_in_each_call_stay_remembered():
    o = Plain(**{f"a{i}": i for i in range(20)}, inner=Plain(calls=0))
    p = Program(*[Equals(Attr(X, f"a{i}"), i) for i in range(20)], TypeIs(Attr(Attr(X, "inner"), "calls"), int))
    for _ in range(50):
        assert p(o)
        o.inner.calls += 1
    assert p.native.stats["walks"] >= 50
    hits = p.native.stats["hits"]
    assert p(o) and p(o) and p.native.stats["hits"] > hits


@pytest.mark.parametrize(
    "change",
    [
        lambda o, t: t.resize_(3),
        lambda o, t: t.resize_(t.numel() + 1),
        lambda o, t: t.as_strided_((4,), (2,)),
        lambda o, t: t.as_strided_((4,), (1,), 3),
        lambda o, t: t.as_strided_((1,), (5,)),
        lambda o, t: t.as_strided_((2, 2), (1, 2)),
        lambda o, t: t.as_strided_((4, 1), (1, 1)),
        lambda o, t: t.unsqueeze_(0),
        lambda o, t: setattr(t, "data", weft.arange(8.0)[::2]),
        lambda o, t: t.requires_grad_(),
        lambda o, t: setattr(o, "w", weft.arange(5.0)),
    ],
)
@pytest.mark.parametrize("sizes", [(), (1,), (4,), (2, 2), (1, 4)])
def test_every_change_of_a_tensors_layout_is_seen_on_a_hit(change, sizes):
    o = Plain(w=weft.arange(16.0).as_strided(sizes, weft.empty(sizes).stride()))
    p = Program(TensorIs(Attr(X, "w"), Layout.of(o.w)), *(TensorIs(Attr(X, f"w{i}"), Layout.of(o.w)) for i in range(3)))
    for i in range(3):
        setattr(o, f"w{i}", weft.zeros(sizes))
    assert p(o) and p(o) and p.native.stats["hits"] >= 3
    change(o, o.w)
    assert p(o) == TensorIs(Attr(X, "w"), p.guards[0].layout).holds(Scope.of_function(F, {"x": o}))  # (which Program compares, too)


def test_tensor_arguments_are_asked_first_and_what_fails_is_named():
    x, y = weft.zeros(3), weft.zeros(2, 2)
    bits = AMBIENT_FLAGS["grad"]
    grad = AmbientIs(None, _eval_frame.ambient() & bits, bits)
    p = Program(Equals(K, 1), TensorIs(X, Layout.of(x)), grad, TensorIs(Y, Layout.of(y)), Equals(Attr(K, "real"), 1))
    assert p(x, y, key=1)
    other = weft.zeros(2, 1)
    for a, b, key, failed in ((x, y, 2, {0, 4}), (y, y, 1, {1}), (x, x, 2, {0, 3, 4}), (x, 1, 1, {3}), (x, other, 1, {3})):
        assert not p(a, b, key=key) and p.native.failed in failed
    with weft.no_grad():
        assert not p(x, y, key=1) and p.native.failed == 2
