"""checkpoint(context_fn=...): one context for the call, another for the one in backward."""

import contextlib

import pytest

import weft
from weft.utils.checkpoint import checkpoint, noop_context_fn


def test_each_call_has_its_context():
    seen = []

    @contextlib.contextmanager
    def noting(name):
        seen.append(name)
        yield
        seen.append(name + " end")

    x = weft.ones(2, requires_grad=True)
    out = checkpoint(lambda x: (x * 3).sin(), x, use_reentrant=False, context_fn=lambda: (noting("now"), noting("again")))
    assert seen == ["now", "now end"]
    out.sum().backward()
    assert seen == ["now", "now end", "again", "again end"]
    weft.testing.assert_close(x.grad, 3 * (3 * x.detach()).cos())


def test_of_reentrant_checkpoints_it_is_refused():
    with pytest.raises(ValueError, match="context_fn"):
        checkpoint(weft.sin, weft.ones(1, requires_grad=True), use_reentrant=True, context_fn=lambda: (None, None))
    x = weft.ones(1, requires_grad=True)
    checkpoint(weft.sin, x, use_reentrant=False, context_fn=noop_context_fn).backward()
    assert x.grad is not None
