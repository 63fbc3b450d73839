"""Modules that import statements give, and numbers too large for the symbols of sizes."""

import sys
import types

import pytest

import weft

x = weft.ones(3)


def test_another_module_in_the_place_of_an_imported_one_is_seen(monkeypatch):
    first, second = types.ModuleType("weft_test_module"), types.ModuleType("weft_test_module")
    first.k, second.k = 2, 5
    monkeypatch.setitem(sys.modules, "weft_test_module", first)

    def f(x):
        import weft_test_module
        from weft_test_module import k

        return x * weft_test_module.k * k

    compiled = weft.compile(f, backend="eager")
    for module, k in ((first, 2), (first, 3), (second, 5), (second, 7), (first, 3)):
        monkeypatch.setitem(sys.modules, "weft_test_module", module)
        module.k = k
        assert weft.equal(compiled(x), f(x))


@pytest.mark.parametrize("big", [2**62, 2**63, -(2**63) - 1, 2**70, 10**30])
def test_integers_beyond_64_bits_among_those_that_change(big):
    def f(x, n):
        return (x * 2 if n < 10 else x - 1), n * n + 1

    weft.compiler.reset()
    compiled = weft.compile(f, backend="eager")
    for n in (2, 3, 4, big, 5, big, -7, big + 1):
        (a, b), (c, d) = compiled(x, n), f(x, n)
        assert weft.equal(a, c) and b == d


class _Loading(types.ModuleType):
    """A module that makes its parts when they are first asked for, as packages of models do."""

    kept = False
    factor = 2

    def __getattr__(self, name):
        if name == "factor_now":
            return type(self).factor
        if name == "cosine":
            if self.kept:
                self.cosine = weft.cos
            return weft.cos
        raise AttributeError(f"no {name} here")


@pytest.mark.parametrize("kept", [False, True])
def test_the_getattr_of_a_modules_class_is_asked(kept, monkeypatch):
    loading = _Loading("loading")
    monkeypatch.setattr(_Loading, "kept", kept)

    def f(x):
        try:
            loading.nothing  # noqa: B018
        except AttributeError as e:
            return loading.cosine(x) * loading.factor_now, str(e), hasattr(loading, "more")

    x = weft.ones(3)
    compiled = weft.compile(f, backend="eager", fullgraph=True)
    for _ in range(2):
        got, expected = compiled(x), f(x)
        assert got[0].tolist() == expected[0].tolist() and got[1:] == expected[1:]
    monkeypatch.setattr(_Loading, "factor", 3)
    assert compiled(x)[0].tolist() == f(x)[0].tolist()
    loading.more = 1
    assert compiled(x)[2] is True


def test_modules_that_compiling_loads_itself(monkeypatch):
    loaded = []

    def backend(graph, inputs):
        loaded.append("weft_test_loaded" in sys.modules)
        monkeypatch.setitem(sys.modules, "weft_test_loaded", types.ModuleType("weft_test_loaded"))
        return graph

    def f(x):
        return x * 2, "sys" in sys.modules, "weft_test_loaded" in sys.modules, "weft_test_other" in sys.modules

    compiled = weft.compile(f, backend=backend, fullgraph=True)
    for _ in range(2):
        assert compiled(x)[1:] == f(x)[1:] == (True, True, False)
    assert loaded == [False, True]  # the second time as it came to be
    monkeypatch.setitem(sys.modules, "weft_test_other", types.ModuleType("weft_test_other"))
    assert compiled(x)[1:] == (True, True, True)
