"""The window that an entry opens: which calls below it are captured."""

import pytest

from dynamo import _eval_frame, eval_frame
from dynamo._eval_frame import CompiledFunction
from dynamo.eval_frame import Config
from tests.dynamo.eval_frame.toy import CONFIG, entry, opening, recoded, swapping


def test_frames_called_by_an_open_entry_are_captured_and_others_not(toy):
    captured = []

    def make(code, function, args, config):
        captured.append(code.co_name)
        return entry(code, config, new=recoded(code, compiled="eager"), opens_window=code.co_name == "outer")

    toy(make)

    def leaf():
        return "eager"

    def inner():
        return "eager", leaf()

    def outer():
        return "eager", inner(), [leaf(), leaf()]

    g = CompiledFunction(outer, CONFIG)
    for _ in range(2):
        # `inner` is captured, and its entry opens no window, so that `leaf` below it runs as it is
        found = g()
        assert found[:2] == ("compiled", ("compiled", "eager"))
        assert found[2] == ["compiled", "compiled"]
    assert inner() == ("eager", "eager") and not _eval_frame.is_open()


def test_a_disabled_function_captures_nothing_below_it(toy):
    toy(opening)

    def leaf():
        return "eager"

    def middle():
        return leaf()

    quiet = eval_frame.disable(middle)

    def outer():
        return "eager", quiet(), leaf()

    g = CompiledFunction(outer, CONFIG)
    assert g() == ("compiled", "eager", "compiled")


def test_stances(toy):
    compiler = toy(swapping)

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    assert _eval_frame.set_stance("eager") == "compile"
    try:
        assert g(1) == g(x=1) == "eager"
        _eval_frame.set_stance("run_only")
        assert g(1) == g(x=1) == "eager" and not compiler.asked
        _eval_frame.set_stance("compile")
        assert g(1) == "compiled"
        _eval_frame.set_stance("run_only")
        assert g(1) == g(x=1) == "compiled"
    finally:
        _eval_frame.set_stance("compile")
    with pytest.raises(ValueError, match="stance"):
        _eval_frame.set_stance("never")


def test_skipped_code_and_what_it_calls(toy):
    toy(opening)

    def leaf():
        return "eager"

    def library():
        return "eager", leaf()

    def outer(first):
        return library()

    g = CompiledFunction(outer, CONFIG)
    _eval_frame.skip(library.__code__)
    assert g(1) == ("eager", "compiled")
    _eval_frame.skip(library.__code__, True)
    assert g(1) == ("eager", "eager")


def test_a_compiled_function_called_by_a_compiled_function(toy):
    toy(opening)
    other_config = Config(backend=len)

    def leaf():
        return "eager", _eval_frame.active_config()

    inner = CompiledFunction(leaf, other_config)

    def outer():
        return "eager", inner(), _eval_frame.active_config()

    g = CompiledFunction(outer, CONFIG)
    assert g() == ("compiled", ("compiled", other_config), CONFIG)


def test_the_hook_passes_through_one_that_was_there(toy):
    # Only what can be seen from Python: windows nest, and the last one to close takes the hook out.
    toy(opening)

    def probe():
        return _eval_frame.is_open()

    inner = CompiledFunction(probe, CONFIG)

    def outer():
        return inner(), _eval_frame.is_open()

    assert CompiledFunction(outer, CONFIG)() == (True, True)
    assert not _eval_frame.is_open()


def test_generators_and_coroutines_pass_through(toy):
    toy(opening)

    def numbers(n):
        for i in range(n):
            got = yield i, "eager"
            if got:
                yield got

    async def later():
        return "eager"

    def f(n):
        g = numbers(n)
        c = later()
        try:
            c.send(None)
        except StopIteration as e:
            done = e.value
        return "eager", [next(g), g.send("sent"), *g], done

    g = CompiledFunction(f, CONFIG)
    name, values, done = g(2)
    assert name == "compiled" and values == [(0, "eager"), "sent", (1, "eager")] and done == "eager"


def test_a_window_is_closed_by_whoever_opened_it_and_once():
    config = Config(lambda gm, inputs: gm)
    with pytest.raises(TypeError, match="Config"):
        _eval_frame.enter(3)
    for wrong in (None, (None, 0), slice(None)):
        with pytest.raises(TypeError, match="what enter"):
            _eval_frame.leave(wrong)
    outer = _eval_frame.enter(config)
    inner = _eval_frame.enter(Config(lambda gm, inputs: gm))
    with pytest.raises(RuntimeError, match="entered last"):
        _eval_frame.leave(outer)
    _eval_frame.leave(inner)
    _eval_frame.leave(outer)
    with pytest.raises(RuntimeError, match="entered last"):
        _eval_frame.leave(outer)
