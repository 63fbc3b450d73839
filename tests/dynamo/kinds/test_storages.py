"""Storages of tensors inside of captured functions."""

import pytest
from weft._dynamo.testing import CompileCounter

import weft


def sizes(x):
    y = x * 2
    s = x.untyped_storage()
    return y, s.size(), s.nbytes(), len(s), x[1:].untyped_storage().nbytes(), y.untyped_storage().size()


def handed_on(x):
    return x + 1, x.untyped_storage()


def enlarged(x):
    x.untyped_storage().resize_(64)
    return x + 1, x.untyped_storage().nbytes()


def shown(result):
    return [v.tolist() if isinstance(v, weft.Tensor) else v.nbytes() if isinstance(v, weft.UntypedStorage) else v for v in result]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("f", [sizes, handed_on, enlarged])
def test_as_in_plain_python(f, backend):
    weft._dynamo.reset()
    x, own = weft.ones(4), weft.ones(4)
    found = weft.compile(f, backend=backend, fullgraph=True)(own)
    assert shown(found) == shown(f(x)) and own.untyped_storage().nbytes() == x.untyped_storage().nbytes()
    if f is handed_on:
        assert found[1] == own.untyped_storage()


def test_the_size_is_guarded():
    counter = CompileCounter()
    f = weft.compile(lambda x: x * x.untyped_storage().size(), backend=counter, fullgraph=True)
    found = [f(x).tolist() for x in (weft.ones(2), weft.ones(4)[:2], weft.ones(2))]
    assert found == [[8, 8], [16, 16], [8, 8]] and counter.frame_count == 2
