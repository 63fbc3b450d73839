"""checkpoint(context_fn=...): one context for the call, another for the one in backward."""

import contextlib
import functools

import pytest

import weft
from weft.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts, noop_context_fn


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


class Noting:
    def __init__(self, seen, name):
        self.seen, self.name = seen, name

    def __enter__(self):
        self.seen.append(self.name)

    def __exit__(self, *exc):
        self.seen.append(self.name + " end")


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_code_enters_the_contexts(backend):
    seen = []
    contexts = lambda: (Noting(seen, "now"), Noting(seen, "again"))
    x = weft.ones(2, requires_grad=True)
    compiled = weft.compile(lambda x: checkpoint(weft.sin, x * 3, use_reentrant=False, context_fn=contexts) + 1, backend=backend)
    for _ in range(2):
        seen.clear()
        compiled(x).sum().backward()
        assert seen == ["now", "now end", "again", "again end"]


@pytest.mark.parametrize("named", [False, True])
def test_contexts_that_choose_what_is_kept_cost_no_break(named):
    policy = lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE
    contexts = functools.partial(create_selective_checkpoint_contexts, policy if named else [weft.ops.aten.mm.default])
    x = weft.ones(2, requires_grad=True)
    function = lambda x: checkpoint(weft.sin, x * 3, use_reentrant=False, context_fn=contexts) + 1
    weft.compile(function, backend="aot_eager", fullgraph=True)(x).sum().backward()
    weft.testing.assert_close(x.grad, 3 * (3 * x.detach()).cos())


@pytest.mark.parametrize("given", [{"use_reentrant": True, "debug": True}, {"use_reentrant": False, "determinism_check": "some"}])
def test_compiled_code_refuses_what_plain_does(given):
    function = lambda x: checkpoint(weft.sin, x, **given)
    for run in (function, weft.compile(function)):
        with pytest.raises(ValueError, match="use_reentrant=False|determinism_check must be one of"):
            run(weft.ones(2))
