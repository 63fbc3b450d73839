"""Random numbers that are read from within lanes that begin before the first of them: behind a margin, or in a later part."""

import pytest

import weft

F = weft.nn.functional
FUNCTIONS = {
    "pad": lambda x: F.pad(weft.rand_like(x), (8, 8)),
    "pad of rows": lambda x: F.pad(weft.rand_like(x), (0, 0, 4, 4)),
    "pad of normal numbers": lambda x: F.pad(weft.randn_like(x), (16, 1)),
    "pad of dropout": lambda x: F.pad(F.dropout(x, 0.5), (8, 3)),
    "pad of integers": lambda x: F.pad(weft.randint_like(x, 100), (8, 8)),
    "cat": lambda x: (lambda v: weft.cat([v, v], 1))(weft.rand_like(x)),
    "cat behind another": lambda x: weft.cat([x, weft.rand_like(x)], 1),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_those_of_eager(name, dtype, dynamic):
    weft.compiler.reset()
    f = FUNCTIONS[name]
    compiled = weft.compile(f, dynamic=dynamic, fullgraph=True)
    for sizes in [(31, 2), (5, 8), (4, 64)]:
        x = weft.ones(sizes, dtype=dtype)
        weft.manual_seed(3)
        want = f(x)
        weft.manual_seed(3)
        got = compiled(x)
        weft.testing.assert_close(got, want)
