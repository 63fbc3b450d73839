"""Floats of eight bits on a device: casts and moves give what they give on the CPU, and stay there."""

import numpy as np
import pytest

import weft

FORMATS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
EDGES = [0, -0.0, 240, 248, 448, 464, 465, 480, 57344, 61440, 61441, 1e-9, 2**-9, 2**-10, 3 * 2**-11, 2**-16, 2**-17]
EDGES += [1.5 * 2**-17, 2**-127, 2**-128, 1e-45, np.inf]


def values():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 300, dtype=np.uint32).view(np.float32)
    near = rng.normal(size=300) * 10.0 ** rng.integers(-6, 6, 300)
    return weft.from_numpy(np.concatenate([bits[np.isfinite(bits)], near, EDGES, np.negative(EDGES)]).astype(np.float32))


pytestmark = pytest.mark.filterwarnings("error:.*runs on the CPU")


@pytest.mark.parametrize("name", FORMATS)
def test_casts(device, name):
    kind, x = getattr(weft, name), values()
    assert x.to(device).to(kind).view(weft.uint8).cpu().equal(x.to(kind).view(weft.uint8))
    codes = weft.arange(256, dtype=weft.uint8)
    weft.testing.assert_close(codes.to(device).view(kind).float().cpu(), codes.view(kind).float(), rtol=0, atol=0, equal_nan=True)
    assert weft.tensor(float("nan"), device=device).to(kind).float().isnan().item()
    assert x.to(device).double().to(kind).to(weft.bfloat16).dtype is weft.bfloat16


@pytest.mark.parametrize("name", FORMATS[:2])
def test_moves(device, name):
    kind = getattr(weft, name)

    def run(d):
        x = weft.arange(12.0).reshape(3, 4).to(d).to(kind)
        made = weft.zeros(4, 3, device=d).to(kind)
        made[1:].copy_(x.t()[1:])
        made[:1] = weft.ones(1, 3, device=d)
        return [made, weft.cat([x, x])[::2].contiguous(), weft.stack([x, x], 1), x.t().clone(), x[weft.tensor([2, 0], device=d)]]

    for a, b in zip(run(device), run("cpu"), strict=True):
        assert a.dtype is kind and a.device == device and a.float().cpu().equal(b.float())


def test_compiled(device):
    f = weft.compile(lambda x: (x.to(weft.float8_e4m3fn).float() * 2, x.to(weft.float8_e5m2)), fullgraph=True)
    x = values()
    for a, b in zip(f(x.to(device)), f(x), strict=True):
        assert a.dtype is b.dtype
        weft.testing.assert_close(a.float().cpu(), b.float(), rtol=0, atol=0, equal_nan=True)
