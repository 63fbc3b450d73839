"""no_grad, enable_grad, set_grad_enabled, inference_mode: as context managers and as decorators."""

import pytest

from aten import _native
from aten.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from aten.tensor import tensor

on = _native.is_grad_enabled


def test_context_managers_nest_and_restore():
    with no_grad():
        assert not on()
        with enable_grad():
            assert on()
        assert not on()
    assert on()
    with pytest.raises(KeyError), no_grad():
        raise KeyError
    assert on()


@pytest.mark.parametrize("decorator", [no_grad, no_grad(), inference_mode, inference_mode()])
def test_decorators(decorator):
    @decorator
    def fn(x):
        """doc"""
        return on(), x

    assert fn(3) == (False, 3) and on() and fn.__doc__ == "doc"


def test_a_decorated_generator_holds_the_mode_only_while_it_runs():
    @no_grad()
    def fn():
        try:
            got = yield on()
        except ValueError:
            got = "caught"
        yield got, on()
        return 5

    g = fn()
    assert next(g) is False and on()
    assert g.send("sent") == ("sent", False) and on()
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == 5
    g = fn()
    next(g)
    assert g.throw(ValueError()) == ("caught", False)


def test_set_grad_enabled_switches_at_once():
    set_grad_enabled(False)
    assert not on()
    set_grad_enabled(True)
    with set_grad_enabled(False):
        assert not on()
    assert on()

    @set_grad_enabled(False)
    def fn():
        return on()

    assert on() and fn() is False and on()


def test_inference_mode():
    with inference_mode():
        t = tensor([1.0])
        assert t.is_inference() and _native.is_inference_mode_enabled()
    assert not _native.is_inference_mode_enabled() and on()
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        t.requires_grad_()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        _native.check_inplace(t)
    with inference_mode(False):
        assert on()


def test_in_place_writes_that_are_refused():
    leaf = tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        _native.check_inplace(leaf)
    view = _native.alias(leaf, (1,), (1,), 0)
    view._view_of = (leaf, None, ())
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        _native.check_inplace(leaf.expand(2, 2))  # (which would write elements twice, too)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        _native.check_inplace(view)
    with no_grad():
        _native.check_inplace(leaf)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        _native.check_inplace(_native.alias(tensor([1.0]), (3,), (0,), 0))
