"""Programs of users on the device beside the CPU's answer: views, strided writes, casts, masks, sorts, reductions of nothing,
modules, optimizers, mixed precision, loading and saving."""

import copy
import io

import pytest

import weft

F = weft.nn.functional


def numbers(*sizes, dtype=weft.float32, seed=0):
    return weft.randn(*sizes, generator=weft.Generator().manual_seed(seed)).to(dtype)


def written(change):
    """The memory after an in-place change of a view of it."""

    def run(d):
        x = weft.arange(24.0, device=d).reshape(4, 6)
        change(x)
        return x

    return run


def put_at(index, value):
    return written(lambda x: x.__setitem__(index, value))


WRITES = {
    "transposed view": written(lambda x: x.T[1:3].mul_(2)),
    "view of a view": written(lambda x: x[1:].view(-1)[::3].add_(100)),
    "diagonal": written(lambda x: x.diagonal().fill_(-1)),
    "unfolded": written(lambda x: x.unfold(1, 2, 2)[..., 0].neg_()),
    "as_strided": written(lambda x: x.as_strided((3, 2), (7, 1), 1).zero_()),
    "expanded source": written(lambda x: x[:, :2].copy_(weft.ones(4, 1, device=x.device).expand(4, 2))),
    "cast source": written(lambda x: x[0].copy_(weft.arange(6, device=x.device))),
    "source of the CPU": written(lambda x: x[:, ::2].copy_(weft.full((4, 3), 5.0))),
    "slice and number": put_at((slice(1, 3), slice(None, None, 2)), 7.0),
    "negative step by flip": written(lambda x: x.copy_(x.flip(1).clone())),
    "mask": written(lambda x: x.__setitem__(x > 10, 0.0)),
    "mask of rows": written(lambda x: x.__setitem__(x[:, 0] > 5, -1.0)),
    "index_put": written(lambda x: x.index_put_(tuple(weft.tensor([[0, 3], [1, 5]], device=x.device)), x[0, :2] + 50)),
    "accumulate": written(
        lambda x: x.index_put_((weft.tensor([1, 1, 1], device=x.device),), weft.ones(3, 6, device=x.device), accumulate=True)
    ),
    "masked_fill": written(lambda x: x.masked_fill_(x.remainder(2) == 0, float("-inf"))),
    "masked_scatter": written(lambda x: x.masked_scatter_(x > 15, weft.arange(100.0, 124, device=x.device))),
    "index_copy": written(lambda x: x.index_copy_(1, weft.tensor([5, 0], device=x.device), weft.zeros(4, 2, device=x.device))),
    "index_fill": written(lambda x: x.index_fill_(0, weft.tensor([2], device=x.device), 3.5)),
    "scatter_reduce": written(lambda x: x.scatter_reduce_(1, weft.zeros_like(x, dtype=weft.int64), x.clone(), "amax")),
    "addcmul": written(lambda x: x.addcmul_(x.clone(), x.clone(), value=0.5)),
    "clamp out": written(lambda x: weft.clamp(x, 3, 9, out=x)),
    "lerp": written(lambda x: x.lerp_(weft.zeros_like(x), 0.25)),
    "overlapping sum": written(lambda x: x[1:].add_(x[:-1].clone())),
    "set by list": put_at([0, 2], 1.0),
    "row of a column": written(lambda x: x[:, 1].copy_(x[:, 2])),
    "swap": written(lambda x: x[[0, 1]].sub_(1)),
    "triu": written(lambda x: x.triu_(1)),
    "cumsum": written(lambda x: x.cumsum_(1)),
}
CASTS = {
    "float16": lambda d: (numbers(8).to(d).half() * 3).float(),
    "bfloat16": lambda d: numbers(8).to(d).bfloat16().exp().float(),
    "float8": lambda d: (numbers(8) * 100).to(d).to(weft.float8_e4m3fn).float(),
    "float8_e5m2": lambda d: (numbers(8) * 100).to(d).to(weft.float8_e5m2).float(),
    "int8 wraps": lambda d: weft.tensor([127, 128, 300, -129], device=d).to(weft.int8),
    "uint8": lambda d: weft.tensor([1.9, 3.2, 255.0], device=d).to(weft.uint8),
    "bool": lambda d: weft.tensor([0.0, -0.0, 0.5, float("nan")], device=d).bool(),
    "complex": lambda d: weft.view_as_real(weft.complex(numbers(4).to(d), numbers(4, seed=1).to(d)) * (2 - 1j)),
    "complex sum": lambda d: weft.view_as_real(weft.complex(numbers(4).to(d), numbers(4, seed=1).to(d)).sum()),
    "conj": lambda d: weft.view_as_real((numbers(4) + 2j).to(d).conj().resolve_conj()),
    "view dtype": lambda d: weft.tensor([1.0, -2.0], device=d).view(weft.int32),
    "view bytes": lambda d: weft.tensor([1, 258], dtype=weft.int16, device=d).view(weft.uint8),
    "promotion": lambda d: weft.arange(3, device=d) + weft.tensor(1.5, dtype=weft.float64, device=d),
    "number of the CPU": lambda d: weft.arange(3.0, device=d) * weft.tensor(2.5),
    "divide integers": lambda d: weft.arange(5, device=d) / 2,
    "floor divide": lambda d: weft.arange(-5, 5, device=d) // 3,
}
ORDERS = {
    "sort": lambda d: numbers(5, 9).to(d).sort(-1, descending=True),
    "stable sort": lambda d: weft.tensor([2, 1, 2, 1, 0], device=d).sort(stable=True),
    "sort halves": lambda d: numbers(17).half().to(d).sort()[0],
    "sort of one": lambda d: weft.tensor(3.0, device=d).sort(),
    "sort of nothing": lambda d: weft.empty(0, device=d).sort(),
    "argsort": lambda d: numbers(4, 6).to(d).argsort(0),
    "topk": lambda d: numbers(3, 20).to(d).topk(4),
    "topk smallest": lambda d: numbers(20).to(d).topk(3, largest=False),
    "kthvalue": lambda d: numbers(3, 7).to(d).kthvalue(3),
    "median": lambda d: numbers(3, 7).to(d).median(1),
    "mode": lambda d: weft.tensor([1, 2, 2, 3], device=d).mode(),
    "unique": lambda d: weft.tensor([3, 1, 3, 2], device=d).unique(return_inverse=True, return_counts=True),
    "unique_consecutive": lambda d: weft.tensor([1, 1, 2, 1], device=d).unique_consecutive(),
    "bincount": lambda d: weft.tensor([1, 4, 1], device=d).bincount(),
    "histc": lambda d: numbers(30).to(d).histc(6, -2, 2),
    "searchsorted": lambda d: weft.searchsorted(weft.arange(0.0, 9, 2, device=d), weft.tensor([3.0, 4.0], device=d)),
    "bucketize": lambda d: weft.bucketize(weft.tensor([3, 5], device=d), weft.tensor([1, 3, 5], device=d), right=True),
    "cummax": lambda d: numbers(3, 6).to(d).cummax(1),
    "cumprod": lambda d: numbers(3, 6).to(d).cumprod(0),
    "logcumsumexp": lambda d: numbers(3, 6).to(d).logcumsumexp(1),
    "nonzero": lambda d: (numbers(4, 4) > 0).to(d).nonzero(),
    "masked_select": lambda d: numbers(4, 4).to(d).masked_select((numbers(4, 4) > 0).to(d)),
    "where of one": lambda d: weft.where((numbers(6) > 0).to(d))[0],
    "quantile": lambda d: numbers(9).to(d).quantile(weft.tensor([0.25, 0.5], device=d)),
    "isin": lambda d: weft.isin(weft.arange(5, device=d), weft.tensor([1, 3], device=d)),
    "diff": lambda d: numbers(3, 6).to(d).diff(dim=1),
    "roll": lambda d: weft.arange(6, device=d).roll(2),
}
SHAPES = {
    "cat": lambda d: weft.cat([numbers(2, 3).to(d), numbers(1, 3).to(d).double(), weft.empty(0, 3, device=d)]),
    "stack": lambda d: weft.stack([numbers(3).to(d), numbers(3, seed=1).to(d)], 1),
    "split": lambda d: numbers(7, 2).to(d).split([2, 4, 1])[1],
    "chunk": lambda d: numbers(7).to(d).chunk(3)[2] * 2,
    "broadcast": lambda d: numbers(3, 1).to(d) + numbers(1, 4, seed=1).to(d),
    "sum of nothing": lambda d: weft.empty(0, 3, device=d).sum(0),
    "sum of no dims": lambda d: weft.tensor(2.0, device=d).sum(),
    "prod of nothing": lambda d: weft.empty(0, device=d).prod(),
    "mean of nothing": lambda d: weft.empty(0, device=d).mean(),
    "all of nothing": lambda d: weft.empty(0, dtype=weft.bool, device=d).all(),
    "amax": lambda d: numbers(3, 4, 5).to(d).amax((0, 2)),
    "var": lambda d: numbers(3, 40).to(d).var(1),
    "norm": lambda d: numbers(3, 40).to(d).norm(),
    "logsumexp": lambda d: numbers(3, 40).to(d).logsumexp(1),
    "argmax of nan": lambda d: weft.tensor([1.0, float("nan"), 2.0], device=d).argmax(),
    "einsum": lambda d: weft.einsum("bij,bkj->bik", numbers(2, 3, 4).to(d), numbers(2, 5, 4, seed=1).to(d)),
    "matmul of vectors": lambda d: numbers(5).to(d) @ numbers(5, seed=1).to(d),
    "matmul of nothing": lambda d: weft.empty(3, 0, device=d) @ weft.empty(0, 2, device=d),
    "bmm of halves": lambda d: (numbers(2, 4, 4).half().to(d) @ numbers(2, 4, 4, seed=1).half().to(d)).float(),
    "pad": lambda d: F.pad(numbers(1, 2, 4).to(d), (1, 2), mode="reflect"),
    "interpolate": lambda d: F.interpolate(numbers(1, 1, 4, 4).to(d), scale_factor=2, mode="bilinear"),
    "conv": lambda d: F.conv2d(numbers(1, 2, 6, 6).to(d), numbers(3, 2, 3, 3, seed=1).to(d), stride=2, padding=1),
    "pool": lambda d: F.max_pool2d(numbers(1, 2, 6, 6).to(d), 2, return_indices=True),
    "one_hot": lambda d: F.one_hot(weft.tensor([0, 2], device=d), 4),
    "gather": lambda d: numbers(3, 4).to(d).gather(1, weft.tensor([[0, 3], [1, 1], [2, 0]], device=d)),
    "take_along_dim": lambda d: numbers(3, 4).to(d).take_along_dim(numbers(3, 4, seed=1).to(d).argsort(1), 1),
    "repeat_interleave": lambda d: weft.arange(3, device=d).repeat_interleave(weft.tensor([1, 0, 2], device=d)),
    "meshgrid": lambda d: weft.meshgrid(weft.arange(2, device=d), weft.arange(3, device=d), indexing="ij"),
    "tensordot": lambda d: weft.tensordot(numbers(3, 4).to(d), numbers(4, 2, seed=1).to(d), 1),
    "empty slice": lambda d: numbers(4).to(d)[2:2] + 1,
    "item": lambda d: weft.tensor(weft.tensor(3.5, device=d).item()),
    "tolist": lambda d: weft.tensor(weft.arange(3, device=d).tolist()),
    "numbers compared": lambda d: weft.tensor(bool(weft.ones(2, device=d).equal(weft.ones(2, device=d)))),
}


def parts(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


def same(run, device):
    for a, b in zip(parts(run(device)), parts(run("cpu")), strict=True):
        assert a.device.type in (device.type, "cpu") and a.dtype is b.dtype and a.shape == b.shape
        weft.testing.assert_close(a.cpu(), b, equal_nan=True)


PROGRAMS = {f"{kind}: {name}": run for kind, table in
            {"write": WRITES, "cast": CASTS, "order": ORDERS, "shape": SHAPES}.items() for name, run in table.items()}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(device, name):
    same(PROGRAMS[name], device)


# --------------------------------------------------------------------------------------------------- gradients, modules
def test_hooks_and_retained_gradients(device):
    def run(d):
        x = numbers(3, 4).to(d).requires_grad_()
        seen = []
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: seen.append(g) or g * 3)
        x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
        y.pow(2).sum().backward()
        return [x.grad, y.grad, *seen]

    same(run, device)


def test_second_derivatives(device):
    def run(d):
        x = numbers(5).to(d).requires_grad_()
        (g,) = weft.autograd.grad((x.tanh() * x).sum(), x, create_graph=True)
        return weft.autograd.grad(g.pow(2).sum(), x)

    same(run, device)


def test_views_written_in_place_in_a_graph(device):
    def run(d):
        x = numbers(4, 3).to(d).requires_grad_()
        y = x * 1
        y[1:3, ::2] *= 5
        y.T[0].add_(x[:, 1])
        y.pow(2).sum().backward()
        return x.grad

    same(run, device)


class Net(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = weft.nn.Conv2d(1, 2, 3, padding=1, bias=False), weft.nn.BatchNorm2d(2)
        self.out = weft.nn.Linear(32, 3)

    def forward(self, x):
        return self.out(self.norm(self.conv(x)).relu().flatten(1))


OPTIMIZERS = {
    "sgd": lambda p: weft.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "adam foreach": lambda p: weft.optim.Adam(p, 0.01, foreach=True),
    "adamw fused": lambda p: weft.optim.AdamW(p, 0.01, fused=True),
    "adamw": lambda p: weft.optim.AdamW(p, 0.01),
    "adamw capturable": lambda p: weft.optim.AdamW(p, 0.01, capturable=True),
    "rmsprop": lambda p: weft.optim.RMSprop(p, 0.01),
    "adagrad": lambda p: weft.optim.Adagrad(p, 0.01),
}


def start():
    weft.manual_seed(5)
    return Net()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_steps(device, name):
    def run(d):
        net = start().to(d)
        optimizer = OPTIMIZERS[name if d == device else name.removesuffix(" capturable")](net.parameters())
        for k in range(2):
            loss = F.cross_entropy(net(numbers(2, 1, 4, 4, seed=k).to(d)), weft.tensor([0, 2], device=d))
            optimizer.zero_grad()
            loss.backward()
            weft.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        return [loss.detach(), *(p.detach() for p in net.parameters()), net.norm.running_mean]

    for a, b in zip(run(device), run("cpu"), strict=True):
        weft.testing.assert_close(a.cpu(), b.cpu(), rtol=1e-4, atol=1e-5)


def test_mixed_precision_with_a_scaler(device):
    net = start().to(device)
    optimizer, scaler = weft.optim.SGD(net.parameters(), 0.1), weft.amp.GradScaler("cuda", init_scale=8.0)
    before = net.out.weight.detach().clone()
    with weft.autocast("cuda", weft.float16):
        out = net(numbers(2, 1, 4, 4).to(device))
        assert out.dtype is weft.float16
        loss = F.cross_entropy(out.float(), weft.tensor([0, 2], device=device))
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert not net.out.weight.equal(before) and scaler.get_scale() == 8.0
    optimizer.zero_grad()
    scaler.scale(net.out.weight.sum() * float("inf")).backward()
    before = net.out.weight.detach().clone()
    scaler.step(optimizer)
    scaler.update()
    assert net.out.weight.equal(before) and scaler.get_scale() == 4.0


def test_saved_on_the_device_and_loaded_elsewhere(device):
    net = start().to(device)
    file = io.BytesIO()
    weft.save({"net": net.state_dict(), "x": weft.arange(3, device=device)}, file)
    for where in ("cpu", device, lambda storage, at: storage):
        file.seek(0)
        found = weft.load(file, map_location=where)
        expected = "cuda" if where == device else "cpu"
        assert found["x"].device.type == expected and found["x"].tolist() == [0, 1, 2]
    file.seek(0)
    assert weft.load(file)["x"].device == device
    other = Net()
    other.load_state_dict(net.state_dict())
    assert all(a.equal(b.cpu()) for a, b in zip(other.parameters(), net.parameters()))
    assert all(p.device == device for p in copy.deepcopy(net).parameters())


MIXED = {
    "add": lambda a, b: a + b, "matmul": lambda a, b: a @ b.T, "cat": lambda a, b: weft.cat([a, b]),
    "where": lambda a, b: weft.where(a > 0, a, b), "linear": lambda a, b: F.linear(a, b), "in place": lambda a, b: a.add_(b),
    "index": lambda a, b: a.index_select(0, b.argsort(1)[:, 0]), "mse": F.mse_loss,
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_tensors_of_two_devices_are_an_error(device, name):
    a = numbers(3, 3)
    with pytest.raises(RuntimeError, match="same device"):
        MIXED[name](a.to(device), a)
    with pytest.raises(RuntimeError, match="same device"):
        MIXED[name](a, a.to(device))


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_compiled_with_sizes_that_change(device, mode):
    @weft.compile(dynamic=True, mode=mode)
    def f(x, y):
        z = (x @ y).softmax(-1)
        return z.sum(0), z.argmax(1)

    for n in (3, 5, 3):
        a, b = numbers(n, 4), numbers(4, n, seed=1)
        for got, want in zip(f(a.to(device), b.to(device)), ((a @ b).softmax(-1).sum(0), (a @ b).argmax(1))):
            weft.testing.assert_close(got.cpu(), want)


def test_a_captured_training_step_replays(device):
    def step(net, x, optimizer):
        optimizer.zero_grad(set_to_none=False)
        net(x).pow(2).mean().backward()
        optimizer.step()

    weft.manual_seed(0)
    eager, x = weft.nn.Linear(4, 2).to(device), numbers(3, 4).to(device)
    replayed, given = copy.deepcopy(eager), x.clone()
    for net in (eager, replayed):
        step(net, x, weft.optim.SGD(net.parameters(), 0.1))  # compiled, gradients made
    optimizer, g = weft.optim.SGD(replayed.parameters(), 0.1), weft.cuda.CUDAGraph()
    with weft.cuda.graph(g):
        step(replayed, given, optimizer)
    for k in range(3):
        batch = numbers(3, 4, seed=k).to(device)
        step(eager, batch, weft.optim.SGD(eager.parameters(), 0.1))
        given.copy_(batch)
        g.replay()
    weft.testing.assert_close(replayed.weight.cpu(), eager.weight.cpu())


def test_streams_events_and_pinned_memory(device):
    x = numbers(64).pin_memory()
    side, done = weft.cuda.Stream(), weft.cuda.Event()
    with weft.cuda.stream(side):
        y = x.to(device, non_blocking=True) * 2
        done.record()
    done.wait()
    y.record_stream(weft.cuda.current_stream())
    out = weft.empty(64, pin_memory=True)
    out.copy_(y + 1, non_blocking=True)
    weft.cuda.synchronize()
    weft.testing.assert_close(out, x * 2 + 1)
    assert done.query()
