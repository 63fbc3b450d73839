"""Regions, filters of guards and artifacts of the cache, under PyTorch's names."""

import os

import pytest

import weft
from aten import errors, settings
from weft import _dynamo as dynamo
from weft import compiler

FACTOR = [3.0]
X = weft.ones(3, 3)


@compiler.nested_compile_region
def block(x, w):
    return weft.sin(x @ w)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_region_is_a_graph_of_its_own(backend):
    def function(x, w):
        return block(block(x, w), w)

    graphs = []

    def seeing(gm, inputs):
        graphs.append(gm)
        return dynamo.lookup_backend(backend)(gm, inputs)

    x = weft.arange(9.0).reshape(3, 3).requires_grad_()
    weft.compile(function, backend=seeing, fullgraph=True)(x, X).sum().backward()
    found, x.grad = x.grad, None
    function(x, X).sum().backward()
    assert weft.allclose(found, x.grad)
    assert sum(getattr(n.target, "__name__", "") == "wrap" for n in graphs[0].graph.nodes) == 2


def scaled(x):
    return x * FACTOR[0]


@pytest.mark.parametrize(
    "name, follows", [("skip_guard_on_globals_unsafe", False), ("skip_all_guards_unsafe", False), (None, True)]
)
def test_guards_that_are_left_out(name, follows):
    dynamo.reset()
    options = None if name is None else {"guard_filter_fn": getattr(compiler, name)}
    compiled = weft.compile(scaled, backend="eager", options=options)
    assert compiled(X)[0, 0] == 3
    FACTOR[0] = 4.0
    try:
        assert compiled(X)[0, 0] == (4 if follows else 3)
    finally:
        FACTOR[0] = 3.0


def test_filters_of_modules_and_tensors():
    seen = []

    def noting(entries):
        seen.append((entries, *[f(entries) for f in (
            compiler.skip_guard_on_inbuilt_nn_modules_unsafe, compiler.skip_guard_on_all_nn_modules_unsafe,
            compiler.keep_tensor_guards_unsafe)]))  # fmt: skip
        return [True] * len(entries)

    weft.compile(weft.nn.Linear(3, 3), backend="eager", options={"guard_filter_fn": noting})(X)
    entries, inbuilt, modules, tensors = seen[0]
    assert not all(inbuilt) and sum(modules) <= sum(inbuilt)
    assert [e.guard_type for e, kept in zip(entries, tensors) if kept] == ["TENSOR_MATCH"]
    with pytest.raises(Exception, match="answers for"):
        weft.compile(lambda x: x + 1, backend="eager", options={"guard_filter_fn": lambda entries: []}, fullgraph=True)(X)


@pytest.fixture
def cache_dir():
    """Sets where the cache is; as before afterwards."""
    before = settings.cache, settings.cache_dir
    settings.cache = True
    yield lambda path: setattr(settings, "cache_dir", str(path))
    settings.cache, settings.cache_dir = before


def test_artifacts_go_from_cache_to_cache(tmp_path, cache_dir):
    cache_dir(tmp_path / "a")
    assert compiler.save_cache_artifacts() is None
    dynamo.reset()
    weft.compile(lambda x: (x * 3).exp().sum(0))(X)
    saved, info = compiler.save_cache_artifacts()
    cache_dir(tmp_path / "b")
    assert compiler.load_cache_artifacts(saved) == info
    assert sorted(os.listdir(tmp_path / "b" / "entries")) == info.inductor_artifacts
    with pytest.warns(errors.CompilerWarning, match="no cache artifacts"):
        assert compiler.load_cache_artifacts(saved[:100]) is None


def breaking(x):
    x = x + 1
    dynamo.graph_break()
    return x * 2


def test_breaks_that_are_errors():
    def within(x):
        with dynamo.error_on_graph_break(True):
            return breaking(x)

    def before(x):
        x = breaking(x)
        with dynamo.error_on_graph_break(True):
            return x.sin()

    dynamo.reset()
    for function in (within, dynamo.error_on_graph_break(True)(breaking)):
        with pytest.raises(dynamo.exc.Unsupported):
            weft.compile(function, backend="eager")(X)
    for function in (before, breaking):
        assert weft.compile(function, backend="eager")(X).tolist() == function(X).tolist()


def test_functions_that_are_not_looked_into_take_and_give_dicts():
    @dynamo.nonstrict_trace
    def function(parts):
        return {"sum": parts["a"] + parts["b"], "n": len(parts)}

    counting = dynamo.testing.CompileCounter()
    got = weft.compile(lambda x: function({"a": x, "b": x}), backend=counting, fullgraph=True)(X)
    assert got["sum"].tolist() == (X + X).tolist() and got["n"] == 2 and counting.frame_count == 1
