"""A compiled module follows what is done to the module and its class afterwards, and pickles."""

import io
import pickle

import pytest

import weft
from weft import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x) + 1


class Other(Model):
    def forward(self, x):
        return self.layer(x) * 11


class Calling(Model):
    def __call__(self, x):
        return super().__call__(x) + 1000


x = weft.ones(2, 3)


@pytest.fixture
def pair():
    model = Model()
    compiled = weft.compile(model, backend="eager")

    def agree():
        for _ in range(2):
            assert weft.equal(model(x), compiled(x))

    agree()
    return model, agree


def test_a_forward_put_on_the_instance(pair):
    model, agree = pair
    model.forward = lambda x: x * 7
    agree()
    del model.forward
    agree()


def test_a_forward_put_on_the_class(pair, monkeypatch):
    model, agree = pair
    monkeypatch.setattr(Model, "forward", lambda self, x: x * 9)
    agree()
    monkeypatch.undo()
    agree()


@pytest.mark.parametrize("cls", [Other, Calling])
def test_another_class(pair, cls):
    model, agree = pair
    model.__class__ = cls
    agree()
    model.__class__ = Model
    agree()


def test_another_class_with_the_same_forward(pair):
    model, agree = pair

    class Same(Model):
        scale = 2

    model.__class__ = Same
    agree()
    model.__class__ = Model
    agree()


def test_a_class_with_a_call_of_its_own():
    model = Calling()
    assert weft.equal(weft.compile(model, backend="eager")(x), model(x))


def test_hooks_that_come_and_go(pair):
    model, agree = pair
    handle = model.register_forward_hook(lambda module, args, out: out * 2)
    agree()
    handle.remove()
    agree()


def test_a_compiled_module_pickles():
    compiled = weft.compile(Model())
    again = pickle.loads(pickle.dumps(compiled))
    assert type(again) is type(compiled) and weft.equal(again(x), compiled(x))
    assert again._config.backend is compiled._config.backend and again._config.fullgraph == compiled._config.fullgraph


@pytest.mark.parametrize("backend", ["inductor", "eager"])
def test_a_compiled_module_is_saved_and_loaded(backend, tmp_path):
    compiled = weft.compile(Model(), backend=backend)
    wanted = compiled(x)
    for name in ("model.pt", "model.weft"):
        weft.save(compiled, tmp_path / name)
        again = weft.load(tmp_path / name, weights_only=False)
        assert type(again) is type(compiled)
        assert weft.equal(again(x), wanted)
    with io.BytesIO() as f:
        pickle.dump(compiled, f, protocol=5)
        f.seek(0)
        assert weft.equal(pickle.load(f)(x), wanted)


def test_a_forward_that_raises_in_each_call_is_asked_no_longer_once_there_is_a_hook():
    class Reads(nn.Module):
        def forward(self, x):
            return x + self.missing

    class Refused(Exception):
        pass

    def hook(module, args):
        raise Refused

    model = Reads()
    compiled = weft.compile(model, backend="eager")
    for _ in range(2):  # an entry runs the original code then
        with pytest.raises(AttributeError):
            compiled(weft.ones(2))
    handle = model.register_forward_pre_hook(hook)
    with pytest.raises(Refused):
        compiled(weft.ones(2))
    handle.remove()
    with pytest.raises(AttributeError):
        compiled(weft.ones(2))


def made(k, name):
    def call(self, x, y=k, *, z=k):
        return x * 2 + 10 * y + 100 * z

    return type("Made", (nn.Module,), {name: call})


@pytest.mark.parametrize("name", ["forward", "__call__"])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_method_whose_code_and_defaults_are_put_anew_is_what_is_called(name, before, backend):
    module = made(1, name)()
    compiled, x, method = weft.compile(module, backend=backend), weft.ones(2), getattr(type(module), name)
    changes = [
        lambda: setattr(method, "__defaults__", (5,)),
        lambda: setattr(method, "__kwdefaults__", {"z": 7}),
        lambda: method.__kwdefaults__.update(z=8),
        lambda: setattr(method, "__code__", (lambda self, x, y, *, z: x * 3 + y + z).__code__),
        lambda: setattr(method, "__defaults__", None),
    ]
    if before:
        assert weft.equal(compiled(x, 1, z=1), module(x, 1, z=1)) and weft.equal(compiled(x), module(x))
    for change in changes:
        change()
        assert weft.equal(compiled(x, 1, z=1), module(x, 1, z=1))
        if method.__defaults__ is not None:
            assert weft.equal(compiled(x), module(x))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        compiled(x)


def test_functions_that_say_another_thing_leave_no_copies_behind():
    cls = made(1, "forward")
    compiled = weft.compile(cls(), backend="eager")
    for k in range(5):
        cls.forward.__defaults__ = (k,)
        assert compiled(weft.ones(1)).tolist() == [2 + 10 * k + 100]
    assert len(cls.forward.__dict__["_weft_copies"]) == 1
