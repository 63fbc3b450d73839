"""What a simulated device cannot show: sizes that fill a GPU, tensor cores, kernels that race. `pytest -m gpu` runs these, too."""

from __future__ import annotations

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.gpu
F = weft.nn.functional


def floats(*sizes, seed=0):
    return weft.from_numpy(np.random.default_rng(seed).normal(size=sizes).astype("f4"))


def close(got, want, tolerance=1e-4):
    np.testing.assert_allclose(got.detach().cpu().float().numpy(), want.detach().float().numpy(), rtol=tolerance, atol=tolerance)


LARGE = {
    "pointwise": lambda x: F.gelu(x * 2 + 1) * x.sigmoid(),
    "rows": lambda x: F.softmax(x, -1),
    "normed": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "columns": lambda x: x.sum(0),
    "whole": lambda x: (x * x).mean(),
    "turned": lambda x: x.t().contiguous() + 1,
    "most": lambda x: x.amax(1) - x.amin(1),
    "where": lambda x: x.argmax(1),
    "counted": lambda x: (x > 0).sum(),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("compiled", [False, True])
def test_large_tensors(device, name, compiled):
    f, x = LARGE[name], floats(257, 1021)
    close((weft.compile(f, fullgraph=True) if compiled else f)(x.to(device)), f(x))


@pytest.mark.parametrize("name", ["columns", "whole", "rows"])
def test_the_same_bits_each_time(device, name):
    f, x = weft.compile(LARGE[name], fullgraph=True), floats(257, 1021).to(device)
    first = f(x).cpu()
    assert all(f(x).cpu().equal(first) for _ in range(5))


@pytest.mark.parametrize("m, k, n", [(128, 64, 128), (127, 65, 33), (1, 256, 64)])
@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-3), ("bfloat16", 3e-1), ("float16", 3e-2)])
def test_products(device, m, k, n, dtype, tolerance):
    kind = getattr(weft, dtype)
    a, b = floats(m, k).to(kind), floats(k, n, seed=1).to(kind)
    close(weft.compile(lambda a, b: a @ b, fullgraph=True)(a.to(device), b.to(device)), a.float() @ b.float(), tolerance)


@pytest.mark.parametrize("precision, tolerance", [("highest", 1e-4), ("high", 5e-2)])
def test_products_of_chosen_precision(device, precision, tolerance):
    a, b = floats(128, 128), floats(128, 128, seed=1)
    weft.set_float32_matmul_precision(precision)
    try:
        close(weft.compile(lambda a, b: a @ b)(a.to(device), b.to(device)), a @ b, tolerance)
    finally:
        weft.set_float32_matmul_precision("highest")


def test_attention(device):
    q, k, v = (floats(2, 4, 65, 32, seed=i) for i in range(3))
    f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    close(weft.compile(f)(q.to(device), k.to(device), v.to(device)), f(q, k, v), 1e-3)


def test_work_of_two_streams_in_turn(device):
    x, side = floats(1 << 16).to(device), weft.cuda.Stream()
    for _ in range(20):
        side.wait_stream(weft.cuda.current_stream())
        with weft.cuda.stream(side):
            x.mul_(2)
        weft.cuda.current_stream().wait_stream(side)
        x.div_(2)
    assert x.cpu().equal(floats(1 << 16))


def test_copies_overtake_nothing(device):
    host, x = floats(1 << 18).pin_memory(), weft.zeros(1 << 18, device=device)
    for k in range(5):
        x.copy_(host, non_blocking=True)
        x.add_(k)
        back = x.to("cpu", non_blocking=True)
        weft.cuda.synchronize()
        assert back.equal(host + k)


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_a_model_is_trained_as_on_the_cpu(device, mode):
    def losses(where):
        weft.manual_seed(0)
        model = weft.nn.Sequential(weft.nn.Linear(16, 32), weft.nn.GELU(), weft.nn.LayerNorm(32), weft.nn.Linear(32, 1)).to(where)
        optimizer, x = weft.optim.AdamW(model.parameters(), lr=1e-2), floats(8, 16).to(where)
        step = weft.compile(lambda x: (model(x) ** 2).mean(), mode=mode) if where != "cpu" else lambda x: (model(x) ** 2).mean()
        found = []
        for _ in range(5):
            loss = step(x)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            found.append(loss.item())
        return found

    np.testing.assert_allclose(losses(device), losses("cpu"), rtol=1e-3)


def test_more_elements_than_32_bits_count(device):
    free, _ = weft.cuda.mem_get_info()
    if free < 6 << 30:
        pytest.skip("needs 6 GiB of free memory on the device")
    n = (1 << 31) + 17
    x = weft.zeros(n, dtype=weft.int8, device=device)
    y = weft.compile(lambda x: x + 1, fullgraph=True)(x)
    assert y[-3:].tolist() == [1, 1, 1] and y[:3].tolist() == [1, 1, 1]
