"""Compiled functions of tensors on a device give what the CPU gives."""

import numpy as np
import pytest

import inductor
import weft
from aten import settings

F = weft.nn.functional


def on_both(f, *args, device, tolerance=1e-5, dynamic=None):
    """f(*args) compiled on the device equals f(*args) on the CPU, gradients of its float arguments included."""
    weft._dynamo.reset()
    inductor.counters.clear()

    def run(where, function):
        own = [a.detach().to(where).requires_grad_(a.requires_grad) if isinstance(a, weft.Tensor) else a for a in args]
        out = function(*own)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        if roots := [o for o in outs if o.requires_grad]:
            weft.autograd.backward(roots, [weft.ones(o.shape).to(where) for o in roots])
        grads = [a.grad for a in own if isinstance(a, weft.Tensor) and a.requires_grad]
        return [*outs, *grads]

    with settings.patch(cache=False):
        got = run(device, weft.compile(f, fullgraph=True, dynamic=dynamic))
    want = run("cpu", f)
    assert inductor.counters["graphs"] >= 1
    for g, w in zip(got, want, strict=True):
        assert g.device.type == "cuda" and g.shape == w.shape and g.dtype is w.dtype and g.stride() == w.stride()
        g, w = (t.detach().cpu().float().numpy() for t in (g, w))
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance, equal_nan=True)


def floats(*sizes, grad=False, seed=0):
    x = weft.from_numpy(np.random.default_rng(seed).normal(size=sizes).astype("f4"))
    return x.requires_grad_(grad)


CASES = {
    "pointwise": (lambda x, y: (x * y).relu() + x.sin(), (5, 33), (33,)),
    "softmax": (lambda x, y: F.softmax(x + y, -1), (5, 70), (70,)),
    "columns": (lambda x, y: (x * y).sum(0), (40, 9), (9,)),
    "all": (lambda x, y: (x - y).pow(2).mean(), (17, 31), (31,)),
    "long rows": (lambda x, y: F.log_softmax(x * y, -1), (2, 5000), (5000,)),
    "transposed": (lambda x, y: x.t().contiguous() + y.t(), (33, 40), (33, 40)),
    "product": (lambda x, y: F.gelu(x @ y), (33, 40), (40, 18)),
    "batched": (lambda x, y: x @ y, (3, 17, 20), (3, 20, 5)),
    "layer norm": (lambda x, y: F.layer_norm(x, (64,), y), (6, 64), (64,)),
    "cumsum": (lambda x, y: (x + y).cumsum(-1), (3, 50), (50,)),
    "cat": (lambda x, y: weft.cat([x, y * 2], 1), (4, 5), (4, 7)),
}


@pytest.mark.parametrize("name", CASES)
def test_forward_and_backward(device, name):
    f, *sizes = CASES[name]
    args = [floats(*s, grad=True, seed=k) for k, s in enumerate(sizes)]
    on_both(f, *args, device=device, tolerance=2e-4)


def test_symbolic_sizes(device):
    f = weft.compile(lambda x: F.softmax(x * 2, -1).sum(0), dynamic=True, fullgraph=True)
    for rows, columns in ((5, 48), (7, 33), (9, 64)):
        x = floats(rows, columns)
        np.testing.assert_allclose(f(x.to(device)).cpu().numpy(), F.softmax(x * 2, -1).sum(0).numpy(), rtol=1e-4, atol=1e-5)


def test_inputs_that_lie_anywhere(device):
    f = weft.compile(lambda x: x * 2 + 1, fullgraph=True)
    x = floats(70)
    np.testing.assert_array_equal(f(x.to(device)[:64]).cpu().numpy(), x.numpy()[:64] * 2 + 1)
    np.testing.assert_array_equal(f(x.to(device)[3:67]).cpu().numpy(), x.numpy()[3:67] * 2 + 1)


def test_an_input_written_in_place(device):
    def f(x):
        x.mul_(3)
        return x + 1

    x = floats(4, 5)
    y = x.to(device)
    out = weft.compile(f, fullgraph=True)(y)
    np.testing.assert_array_equal(y.cpu().numpy(), x.numpy() * 3)
    np.testing.assert_array_equal(out.cpu().numpy(), x.numpy() * 3 + 1)


def test_random_numbers_are_those_of_the_cpu(device):
    weft.manual_seed(3)
    want = weft.rand(40)
    weft.manual_seed(3)
    got = weft.compile(lambda: weft.rand(40, device=device), fullgraph=True)()
    np.testing.assert_array_equal(got.cpu().numpy(), want.numpy())


def test_an_index_out_of_range(device):
    table, index = floats(10, 3), weft.tensor([0, 9, 10])
    f = weft.compile(lambda t, i: t[i] * 2)
    with settings.patch(strict=False):
        f(table.to(device), index.to(device))
        with pytest.raises(IndexError, match=r"(?s)out of range.*t\[i\] \* 2"):
            weft.cuda.synchronize()


def test_what_triton_refuses_runs_eager(device, monkeypatch):
    from concurrent.futures import Future

    from inductor.codegen.toolchain import DeviceCompileError
    from inductor.cuda import images

    def refuse(request):
        made = Future()
        made.set_exception(DeviceCompileError("too many registers"))
        return made

    x = floats(6).to(device)
    monkeypatch.setattr(images, "compiler", refuse)
    monkeypatch.setattr(images, "_pending", {})
    with settings.patch(cache=False, strict=False), pytest.warns(UserWarning, match="too many registers"):
        out = weft.compile(lambda x: x.cpu() + 41)(x) + weft.compile(lambda x: (x * 1.25 + 41))(x).cpu() * 0
    np.testing.assert_allclose(out.numpy(), x.cpu().numpy() + 41)


@pytest.mark.usefixtures("second")
def test_what_is_kept_on_disk_is_of_one_device(device, fresh):
    x = floats(5, 6)
    f = weft.compile(lambda x: x * 3 - 1, fullgraph=True)
    for where in ("cpu", device, "cuda:1"):
        given = x.to(where)
        out = f(given)
        assert out.device == given.device
        np.testing.assert_array_equal(out.cpu().numpy(), x.numpy() * 3 - 1)
    weft._dynamo.reset()
    inductor.counters.clear()
    np.testing.assert_array_equal(f(x.to(device)).cpu().numpy(), x.numpy() * 3 - 1)
    assert inductor.counters["cache_hits"] == 1 and inductor.counters["lowerings"] == 0


def test_inputs_without_elements_lie_anywhere(device):
    on_both(lambda i, x: x[i[1]] * 2, weft.zeros(2, 0, dtype=weft.int64), floats(3), device=device)
    assert F.pdist(floats(1, 1).to(device)).shape == (0,)
    weft.cuda.synchronize()


SPLIT = {
    "sum of all": lambda x: (x * 2).sum(),
    "mean of rows": lambda x: (x - 1).mean(1),
    "columns": lambda x: (x * x).sum(0),
    "inner and outer": lambda x: x.reshape(2, 3, -1).sum((0, 2)),
    "extremes": lambda x: (x.amax(), x.amin(0), x.long().amax(1)),
    "places": lambda x: (x.argmax(1), x.argmin()),
    "truth values": lambda x: ((x > 9).any(), (x > -9).all(0)),
    "product": lambda x: (x * 0.1 + 1).prod(1),
    "variance": lambda x: x.var(1),
    "halves": lambda x: x.half().sum(1),
    "kept dims": lambda x: x.sum(1, keepdim=True) + x.reshape(1, 6, 60).amax((0, 2), keepdim=True)[0],
}


@pytest.mark.parametrize("name", SPLIT)
@pytest.mark.parametrize("dynamic", [False, True])
def test_few_results_of_many_elements_are_reduced_in_parts(device, monkeypatch, name, dynamic):
    from inductor import choices

    for limit, value in {"LEAST_SPLIT": 24, "LEAST_SPLIT_COLUMN": 4, "MANY_PROGRAMS": 16, "COLUMNS_A_PROGRAM": 8}.items():
        monkeypatch.setattr(choices, limit, value)
    x = floats(6, 60)
    weft._dynamo.mark_dynamic(x, 1) if dynamic else None
    on_both(SPLIT[name], x, device=device, tolerance=2e-2 if name == "halves" else 1e-4, dynamic=dynamic or None)
    assert inductor.counters["kernels"] >= 2


def test_a_program_for_few_elements_is_not_taken_for_many(device, monkeypatch):
    from inductor import choices

    monkeypatch.setattr(choices, "LEAST_SPLIT", 64)
    with settings.patch(cache=False):
        f = weft.compile(lambda x: x.sum(), dynamic=True, fullgraph=True)
        for n in (10, 20, 70, 90, 30):
            x = floats(n)
            np.testing.assert_allclose(f(x.to(device)).item(), x.sum().item(), rtol=1e-4, atol=1e-5)
