"""How results lie in memory: as PyTorch 2.13 answers, on tensors of memory, on meta, and compiled.

Each line was evaluated there, as it stands.
"""

import copy
import pickle

import numpy as np
import pytest

import weft

F = weft.nn.functional
LAST = weft.channels_last


def x_of(kind, device="cpu"):
    """A tensor of these sizes, laid out otherwise than row by row."""
    made = {
        "turned": lambda: weft.arange(12.0, device=device).reshape(4, 3).t(),
        "permuted": lambda: weft.arange(24.0, device=device).reshape(4, 3, 2).permute(2, 1, 0),
        "sliced": lambda: weft.arange(24.0, device=device).reshape(3, 8)[:, ::2],
        "repeated": lambda: weft.arange(4.0, device=device).expand(3, 4),
        "image": lambda: weft.arange(192.0, device=device).reshape(2, 4, 4, 6).contiguous(memory_format=LAST),
    }
    return made[kind]()


ROWS = [
    ("turned", "x.clone()", (1, 3)),
    ("turned", "x.clone(memory_format=weft.contiguous_format)", (4, 1)),
    ("turned", "x.to(weft.float32, copy=True)", (1, 3)),
    ("turned", "weft.zeros_like(x)", (1, 3)),
    ("turned", "weft.full_like(x, 2)", (1, 3)),
    ("turned", "weft.rand_like(x)", (1, 3)),
    ("turned", "x.sort()[1]", (1, 3)),
    ("turned", "x.argsort(0)", (1, 3)),
    ("turned", "x.flip(0)", (1, 3)),
    ("turned", "x.rot90()", (3, 1)),
    ("turned", "x.roll(1, 0)", (4, 1)),
    ("turned", "F.dropout(x, 0.5)", (1, 3)),
    ("turned", "x.masked_fill(x > 0, 1)", (4, 1)),
    ("turned", "x.index_fill(0, weft.tensor([0], device=x.device), 1)", (1, 3)),
    ("turned", "weft.complex(x, x)", (1, 3)),
    ("turned", "weft.permute_copy(x, [1, 0])", (3, 1)),
    ("turned", "x.reshape(2, 6)", (6, 1)),
    ("permuted", "x.clone()", (1, 2, 6)),
    ("permuted", "x + weft.ones(2, 3, 4, device=x.device)", (1, 2, 6)),
    ("permuted", "weft.ones(2, 3, 4, device=x.device) + x", (12, 4, 1)),
    ("permuted", "weft.ones(3, 4, device=x.device) * x", (1, 8, 2)),
    ("permuted", "weft.ones(4, device=x.device) * x", (1, 2, 6)),
    ("permuted", "x == weft.ones(2, 1, 1, device=x.device)", (1, 2, 6)),
    ("permuted", "weft.where(x > 0, x, weft.ones(4, device=x.device))", (1, 2, 6)),
    ("sliced", "x.clone()", (4, 1)),
    ("sliced", "x * 2", (4, 1)),
    ("sliced", "weft.empty_like(x)", (4, 1)),
    ("repeated", "x + 1", (4, 1)),
    ("repeated", "x + weft.ones(4, 3, device=x.device).t()", (1, 3)),
    ("repeated", "x.clone()", (4, 1)),
    ("image", "x.clone()", (96, 1, 24, 4)),
    ("image", "weft.cat([x, x], 1)", (192, 1, 48, 8)),
    ("image", "weft.cat([x, x.contiguous()], 1)", (192, 24, 6, 1)),
    ("image", "weft.stack([x, x])", (192, 96, 1, 24, 4)),
    ("image", "F.pad(x, (1, 1, 1, 1))", (192, 1, 32, 4)),
    ("image", "F.pad(x, (1, 1, 1, 1), mode='reflect')", (192, 1, 32, 4)),
    ("image", "x.roll(1, 0)", (96, 1, 24, 4)),
    ("image", "F.max_pool2d(x, 2)", (24, 1, 12, 4)),
    ("image", "F.max_pool2d(x, 2, return_indices=True)[1]", (24, 1, 12, 4)),
    ("image", "F.avg_pool2d(x, 2)", (24, 1, 12, 4)),
    ("image", "F.adaptive_avg_pool2d(x, 2)", (16, 1, 8, 4)),
    ("image", "F.conv2d(x, weft.ones(4, 4, 2, 2, device=x.device))", (60, 1, 20, 4)),
    ("image", "F.conv2d(x.contiguous(), weft.ones(4, 4, 2, 2, device=x.device).contiguous(memory_format=LAST))", (60, 1, 20, 4)),
    ("image", "F.conv_transpose2d(x, weft.ones(4, 4, 2, 2, device=x.device))", (140, 1, 28, 4)),
    ("image", "F.batch_norm(x, None, None, training=True)", (96, 1, 24, 4)),
    ("image", "F.pixel_unshuffle(x, 2)", (96, 1, 48, 16)),
    ("image", "F.interpolate(x, size=3, mode='area')", (36, 1, 12, 4)),
    ("image", "x * weft.ones(1, 4, 1, 1, device=x.device)", (96, 1, 24, 4)),
    ("image", "x[:, :, ::2] * 1", (48, 1, 24, 4)),
]


def run(program, x):
    return eval(program, {"weft": weft, "F": F, "LAST": LAST, "x": x})


@pytest.mark.parametrize("kind, program, strides", ROWS)
def test_results_lie_as_in_pytorch(kind, program, strides):
    made = run(program, x_of(kind))
    assert made.stride() == strides
    meta = run(program, x_of(kind, "meta"))
    assert meta.stride() == strides and meta.shape == made.shape
    compiled = weft.compile(lambda x: run(program, x), backend="aot_eager")(x_of(kind))
    assert compiled.stride() == strides
    if "rand" not in program and "dropout" not in program and "empty" not in program:
        weft.testing.assert_close(made, run(program, x_of(kind).contiguous()), check_stride=False)
        weft.testing.assert_close(compiled, made)


FRESH = ["x.clone()", "weft.zeros_like(x)", "x.reshape(-1)", "x.roll(1)", "x.contiguous(memory_format=LAST)"]


@pytest.mark.parametrize("program", FRESH)
def test_what_is_made_is_no_view(program):
    x = weft.arange(192.0).reshape(2, 4, 6, 4).transpose(2, 3).requires_grad_()
    made = run(program, x)
    assert made._base is None and (not made.requires_grad or made.grad_fn is not None)


SPD = [[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]]


@pytest.mark.parametrize(
    "program",
    ["L.cholesky(a)", "L.cholesky(a, upper=True)", "L.inv(a)", "L.solve(a, a)", "L.eigh(a)[1]", "L.qr(a)[0]", "L.qr(a)[1]",
     "L.svd(a)[0]", "L.svd(a)[2]", "L.lu_factor(a)[0]",
     "L.solve_triangular(a, a, upper=True)", "L.lstsq(a, a)[0]", "weft.cholesky_inverse(a)"],
)  # fmt: skip
@pytest.mark.parametrize("batch", [(), (2,)])
def test_matrices_are_factored_by_columns(program, batch):
    a = weft.tensor(SPD).expand(*batch, 3, 3)
    made = eval(program, {"L": weft.linalg, "weft": weft, "a": a})
    assert made.stride() == (*[9] * len(batch), 1, 3)


def test_copies_and_pickles_keep_strides_and_what_is_shared():
    x = weft.arange(24.0)
    kept, part = copy.deepcopy([x, x[3:].view(3, 7).t()])
    assert part.stride() == (1, 7) and part.storage_offset() == 3
    kept.fill_(9)
    assert part.eq(9).all()
    for y in (x.view(4, 6).t(), x.view(4, 6)[:, ::2], x[5:9].expand(2, 4), x[:0].view(0, 3)):
        loaded = pickle.loads(pickle.dumps(y))
        assert loaded.stride() == y.stride() and weft.equal(loaded, y)


def test_out_takes_the_layout_of_the_result_where_it_is_resized():
    x = weft.arange(12.0).view(4, 3).t()
    assert weft.add(x, x, out=weft.empty(0)).stride() == (1, 3)


def test_one_image_is_laid_out_as_a_batch_of_one():
    x, w = weft.randn(4, 8, 8), weft.randn(6, 4, 3, 3).to(memory_format=weft.channels_last)
    y = weft.nn.functional.conv2d(x, w)
    assert y.stride() == (1, 36, 6)  # PyTorch's
    assert weft.allclose(y, weft.nn.functional.conv2d(x, w.contiguous()), atol=1e-5)


def test_a_cut_at_the_largest_singular_value_keeps_none():
    a = weft.randn(3, 5, 5, dtype=weft.complex64)
    assert weft.linalg.pinv(a, rtol=1.0).eq(0).all()


def test_arrays_keep_the_strides_of_their_dims_of_one():
    a = np.lib.stride_tricks.as_strided(np.zeros(40, np.float32), (1, 3, 2), (48, 16, 8))
    x, y = weft.from_numpy(a), weft.from_numpy(np.zeros(4, np.float32)[::2])
    assert x.stride() == (12, 4, 2) and (x + y).stride() == (6, 2, 1)  # PyTorch's
    assert weft.from_numpy(np.zeros((2, 3))[:, :1].T).stride() == (1, 3)
