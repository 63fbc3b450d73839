"""What programs do with a device besides computing: names of types, files, mixed precision, graphs of two devices."""

from __future__ import annotations

import io

import numpy as np
import pytest

import weft


def test_names_of_types(device):
    x = weft.zeros(2)
    a = x.to(device)
    assert a.type() == "torch.cuda.FloatTensor" and x.type() == "torch.FloatTensor"
    assert x.type("torch.cuda.HalfTensor").type() == "torch.cuda.HalfTensor"
    assert a.type("torch.FloatTensor").dtype is weft.float32
    assert x.long().type_as(a).device == device and x.long().type_as(a).dtype is weft.float32
    assert a.type_as(x.double()).type() == "torch.DoubleTensor"


@pytest.fixture(params=["safetensors", "pytorch"])
def saved(request):
    return lambda value, **options: loaded(value, request.param, **options)


def loaded(value, format, **options):
    file = io.BytesIO()
    weft.save(value, file, format=format)
    file.seek(0)
    return weft.load(file, **options)


def test_files_know_the_device(device, saved):
    a = weft.arange(6.0).reshape(2, 3).to(device)
    found = saved({"a": a, "p": weft.nn.Parameter(a), "t": a.t()[1:]})
    assert all(t.device == device for t in found.values())
    assert found["a"].tolist() == a.tolist() and found["t"].tolist() == a.t()[1:].tolist()
    assert isinstance(found["p"], weft.nn.Parameter)
    assert saved([a], map_location="cpu")[0].device.type == "cpu"
    assert saved([a], map_location=lambda storage, location: storage)[0].tolist() == a.tolist()


def test_files_keep_what_shares_memory_on_a_device(device, saved):
    a = weft.arange(6.0).to(device)
    first, last = saved([a, a[3:]])
    first.fill_(9)
    assert last.tolist() == [9.0] * 3


def test_files_of_another_device(device, second, saved):
    a = weft.ones(3, device=second)
    assert saved(a).device == second
    assert saved(a, map_location={"cuda:1": "cuda:0"}).device.index == 0
    assert saved(weft.ones(3).cuda(0), map_location="cuda:1").device == second


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_autocast_casts_to_its_dtype(device, dtype):
    kind = getattr(weft, dtype)
    a = weft.ones(2, 3, device=device)
    f = weft.compile(lambda t: t @ t.t(), fullgraph=True)
    for call in (lambda t: t @ t.t(), f):
        with weft.autocast("cuda", dtype=kind):
            assert call(a).dtype is kind and weft.get_autocast_dtype("cuda") is kind
            with weft.autocast("cuda", enabled=False):
                assert call(a).dtype is weft.float32
        with weft.autocast("cuda"):
            assert call(a).dtype is weft.float16
        assert call(a).dtype is weft.float32
    assert weft.get_autocast_dtype("cuda") is weft.float16 and weft.get_autocast_dtype("cpu") is weft.bfloat16


def test_autocast_of_both_kinds_of_device(device):
    x = weft.ones(2, 2)
    with weft.autocast("cuda", dtype=weft.bfloat16), weft.autocast("cpu", dtype=weft.float16):
        assert (x.to(device) @ x.to(device)).dtype is weft.bfloat16 and (x @ x).dtype is weft.float16


def test_a_graph_of_two_devices_runs(device, second):
    def f(x, y):
        return (x * 2).to(second) + y

    x, y = weft.ones(3, device="cuda:0").requires_grad_(), weft.ones(3, device=second)
    out = weft.compile(f)(x, y)
    assert out.device == second and out.tolist() == [3.0] * 3
    out.sum().backward()
    assert x.grad.device == x.device and x.grad.tolist() == [2.0] * 3


def test_steps_of_training_with_a_scaler(device):
    weft.manual_seed(0)
    model = weft.nn.Linear(3, 2).to(device)
    optimizer, scaler = weft.optim.SGD(model.parameters(), lr=0.1), weft.amp.GradScaler("cuda")
    before = model.weight.detach().cpu().numpy().copy()
    for _ in range(2):
        with weft.autocast("cuda", dtype=weft.float16):
            loss = model(weft.ones(4, 3, device=device)).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    assert not np.allclose(model.weight.detach().cpu().numpy(), before)


def test_products_are_of_the_precision_that_was_asked_for(device):
    x = weft.full((16, 16), 1 + 2**-12).to(device)  # more digits than TF32 has
    f = weft.compile(lambda x: x @ x, fullgraph=True)
    exact = 16 * (1 + 2**-12) ** 2
    found = {}
    for precision in ("highest", "high", "medium", "highest"):
        weft.set_float32_matmul_precision(precision)
        try:
            found[precision] = (x @ x)[0, 0].item(), f(x)[0, 0].item()
        finally:
            weft.set_float32_matmul_precision("highest")
    assert np.allclose(found["highest"], exact, rtol=1e-7)
    assert np.allclose(found["high"], 16, rtol=1e-7) and np.allclose(found["medium"], 16, rtol=1e-7)
