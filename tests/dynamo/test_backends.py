"""Backends by name: registered, declared by packages, made of compilers of core graphs."""

import importlib.metadata

import pytest
from weft._dynamo import exc, list_backends, lookup_backend, register_backend

import weft
from dynamo.backends import registry
from dynamo.backends.common import aot_autograd

x = weft.ones(3)


@pytest.fixture
def own_registry(monkeypatch):
    """A registry that is forgotten; what weft itself provides is loaded before, once for the process."""
    for name in registry.provided:
        lookup_backend(name)
    monkeypatch.setattr(registry, "_backends", dict(registry._backends))


def test_registered_backends_are_found_by_name(own_registry):
    @register_backend
    def my_backend(gm, example_inputs):
        return gm.forward

    assert lookup_backend("my_backend") is my_backend and "my_backend" in list_backends()
    assert weft.compile(lambda x: x + 1, backend="my_backend")(x).tolist() == [2, 2, 2]
    with pytest.raises(AssertionError, match="duplicate name"):
        register_backend(lambda gm, inputs: gm.forward, name="my_backend")
    assert "eager" not in list_backends() and "eager" in list_backends(exclude_tags=None)
    with pytest.raises(exc.InvalidBackend, match="no backend 'none_such'"):
        lookup_backend("none_such")


def test_packages_declare_backends(own_registry, monkeypatch):
    class Point:
        def load(self):
            return lambda gm, inputs: lambda *a: (weft.zeros(1),)

    class Group(dict):
        names = ("theirs",)

    registry._discover_entrypoint_backends.cache_clear()
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: Group(theirs=Point()))
    try:
        assert "theirs" in list_backends()
        assert weft.compile(lambda x: x + 1, backend="theirs")(x).tolist() == [0]
    finally:
        registry._discover_entrypoint_backends.cache_clear()


def test_compilers_of_core_graphs_make_a_backend():
    asked = []

    def compiler(name):
        def compile(gm, metas):
            asked.append((name, len(metas)))
            boxed = lambda inputs: gm.forward(*inputs)
            boxed._boxed_call = True
            return boxed

        return compile

    backend = aot_autograd(fw_compiler=compiler("fw"), bw_compiler=compiler("bw"), inference_compiler=compiler("inference"))
    compiled = weft.compile(lambda x: x.sin(), backend=backend)
    compiled(x)
    value = weft.ones(2, requires_grad=True)
    compiled(value).sum().backward()
    weft.testing.assert_close(value.grad, weft.ones(2).cos())
    assert asked == [("inference", 1), ("fw", 1), ("bw", 2)]


def test_errors_of_a_graph_are_told_apart():
    compiled = weft.compile(lambda x: x + 1, backend="eager_noexcept")
    assert compiled(x).tolist() == [2, 2, 2]
    gm = weft.fx.symbolic_trace(lambda x: x.reshape(7))
    with pytest.raises(exc.TorchDynamoException, match="Unexpected exception"):
        lookup_backend("eager_noexcept")(gm, [x])(x)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_what_a_compiler_of_a_backend_raises_is_told_as_its_own(fullgraph):
    def refuse(gm, metas):
        raise AssertionError("not today")

    made = aot_autograd(fw_compiler=lambda gm, metas: gm.forward, bw_compiler=refuse)

    def mine(gm, inputs):
        return made(gm, inputs)

    value = weft.ones(2, requires_grad=True)
    for backend, name in ((made, "refuse"), (mine, "mine")):
        with pytest.raises(exc.BackendCompilerFailed, match="AssertionError: not today") as caught:
            weft.compile(lambda x: x.sin(), backend=backend, fullgraph=fullgraph)(value)
        assert caught.value.backend_name == name and type(caught.value.inner_exception) is AssertionError
        assert weft.compile(lambda x: x.sin(), backend=backend, fullgraph=fullgraph)(x).tolist() == x.sin().tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_an_op_that_raises_takes_no_random_numbers_of_those_behind_it(backend):
    def f(x, i):
        a = weft.rand(5)
        return x[i] + weft.rand(3).sum() + a.sum() + weft.nn.functional.dropout(x, 0.5).sum()

    def drawn(f):
        weft.manual_seed(0)
        for _ in range(4):  # (a graph of aot_eager is generated as Python then)
            with pytest.raises(IndexError):
                f(weft.ones(4), weft.tensor([9]))
        return f(weft.ones(4), weft.tensor([1])).item(), weft.rand(1).item()

    assert drawn(weft.compile(f, backend=backend)) == pytest.approx(drawn(f))
