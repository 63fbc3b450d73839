"""Which memory the results of NumPy functions have in compiled functions: what shares it, what is a copy, what is read-only."""

import copy

import numpy as np
import pytest

import weft

A = np.arange(35.0).reshape(5, 7) - 11
I = np.arange(12).reshape(3, 4)  # noqa: E741
S = np.array([0.0, -0.0, 1.5, np.inf, -np.inf, np.nan])
OF_FLOATS = """b = np.array(a); b[0] = 9 | b = np.asarray(a); b[0] = 9 | b = np.ascontiguousarray(a.T); b[0] = 9
b = +a; b[0] = 9 | b = np.positive(a); b[0] = 9 | b = np.round(a); b[0] = 9 | b = np.clip(a, None, None); b[0] = 9
b = np.nan_to_num(a, copy=False, nan=3.0); b[0] = 9 | b = np.diag(a[:, :5]); b[0] = 1 | b = np.diagonal(a); b[0] = 1
b = a.diagonal(); a[0, 0] = 5; c = b * 1 | b = np.diag(a); c = np.diag(b); c[0] = 1
b = np.broadcast_to(a[0], (3, 7)); b[0] = 1 | b = np.broadcast_to(a[0], (3, 7))[0]; b[0] = 1 | b = np.broadcast_to(a, (-1, 7))
b = np.broadcast_to(a, (2, 5, 7)); c = b.flags.writeable | b = np.broadcast_to(a, (2, 5, 7)) * 2; a[0] = 3
b = np.flip(a); b[0] = 9 | b = np.flipud(a); b[0] = 9 | b = np.fliplr(a); b[0] = 9 | b = np.rot90(a, 3); b[0] = 9
b = np.flip(a, (0, 1)); c = np.flip(a, -1); a[0] = 2 | b = np.flip(a) + 1; a[0] = 1; c = np.flip(a)
b = np.flip(a); a[0] = 1; c = b + 1 | b = np.flip(a)[0]; c = b * 2 | b = np.flip(a).reshape(5, 7); b[0] = 1
b = np.flip(a.copy()); b[0] = 2 | x, y = np.meshgrid(a[0], a[1]); x[0] = 5 | x = a[0, 0]; a[0, 0] = 5
x, y = a[0, 0], a[0, 1]; a[0, 0], a[0, 1] = y, x; b = x
b = [v for v in a[0]]; a[0] = 0 | b = np.array(3.0); c = b.max(); b[...] = 5
b = np.array(a[0, 0]); b[...] = 1; c = np.asarray(a[0, 0]) | b = np.float64(a); b[0] = 1
b = np.split(a, [2]); b[0][0] = 9
b = np.split(a, 3) | b = np.split(a, 5)[0]; b[0] = 3 | b = np.squeeze(a, axis=0) | b = np.squeeze(a[None], axis=0); b[0] = 9
b = np.sum(a, axis=()) | b = np.mean(a, axis=()) | b = np.prod(a, axis=(0, 1)); c = np.prod(a, keepdims=True)
b, c = np.linspace(0, 1, 5, retstep=True) | b = np.array(a, copy=None); b[0] = 1 | b = np.array(a, np.float32); b[0] = 1"""
OF_INTEGERS = """b = np.round(a); b[0] = 9 | b = np.nan_to_num(a); b[0] = 7 | b = a[1]; b += 1; c = a[1, 1]; a[1, 1] = 0
b = np.clip(a.astype(np.uint8), 1, 300) | b = (a > 2) ** 2; c = (a > 2) ** 3; x = np.power(a > 2, 2) | b = np.round(a > 2)"""
OF_SCALARS = """x = a.sum().squeeze(); b = a[0, 0].flatten() | x = a.max(); x.fill(3) | x = a.sum(); c = np.add(x, 1, out=x)
x = a.item(0); c = np.add(x, 1, out=x) | x = np.swapaxes(a.sum(), 0, -1) | x = np.moveaxis(a.item(0), 0, -1) | x = np.sort(a.any())
x = a.any(); y = a.all(axis=0); b = np.any(a > 100) | x = np.round(a.item(1)); y = np.round(np.array(3))
x = np.atleast_2d(a.sum()) | b = np.int64(11).reshape(-1); b **= 2
b = a[:, 0].ravel(); b[0] = 9 | b = np.ravel(a[::2, 1]); b[0] = 9 | b = a.ravel(); b[0] = 9 | b = a[:, 0].reshape(-1); b[0] = 9"""
OF_SPECIAL = "b = np.sign(a); c = np.sign(a.astype(np.float32))"


def programs(text: str):
    return [p.strip() for line in text.splitlines() for p in line.split("|")]


def function_of(program: str):
    lines = ["def f(a):", " b = c = x = y = None", *(f" {line.strip()}" for line in program.split(";")), " return a, b, c, x, y"]
    scope = {"np": np}
    exec("\n".join(lines), scope)
    return scope["f"]


def outcome(function, array):
    array = copy.deepcopy(array)
    try:
        result = function(array)
    except (ValueError, TypeError, IndexError) as e:  # (AxisError among them)
        return array, type(e), str(e)
    result[0][-1, -1] = 77  # who shares its memory sees it
    return array, result


def same(found, expected):
    assert type(found) is type(expected), (found, expected)
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            same(a, b)
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape, found.flags.writeable) == (expected.dtype, expected.shape, expected.flags.writeable)
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, np.generic):
        np.testing.assert_equal(found, expected)
    else:
        assert found == expected


GROUPS = [(OF_FLOATS, A), (OF_INTEGERS, I), (OF_SCALARS, I.astype("u1")), (OF_SPECIAL, S[None])]
CASES = [(program, array) for text, array in GROUPS for program in programs(text)]


@pytest.mark.parametrize("program, array", CASES, ids=[p for p, _ in CASES])
@pytest.mark.parametrize("dynamic", [False, True])
def test_it_is_numpys(program, array, dynamic):
    function = function_of(program)
    compiled = weft.compile(function, backend="eager", dynamic=dynamic)
    with np.errstate(all="ignore"):
        expected = outcome(function, array)
        same(outcome(compiled, array), expected)
        same(outcome(compiled, array), expected)


def test_views_that_no_tensor_is_are_captured_whole_where_nobody_writes():
    def f(a):
        return np.flip(a) + np.broadcast_to(a[0], a.shape), np.diagonal(a).sum(), np.rot90(a), np.fliplr(a) * 2

    found, expected = weft.compile(f, fullgraph=True)(A), f(A)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b)
    assert found[2].strides == expected[2].strides and np.shares_memory(found[2], A)
