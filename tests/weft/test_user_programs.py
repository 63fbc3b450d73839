"""Small programs as users write them, compiled and plain."""

import copy
import math
import pickle
import threading

import numpy as np

import weft as torch
import weft.nn as nn
import weft.nn.functional as F
from weft.func import hessian, jacrev


def test_mlp_training():
    m = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
    c = torch.compile(m)
    o = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)
    x = torch.randn(64, 10)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    first = None
    for _ in range(60):
        o.zero_grad()
        l = F.cross_entropy(c(x), y)
        l.backward()
        o.step()
        first = first or l.item()
    assert l.item() < first * 0.5, (first, l.item())
    m.eval()
    with torch.no_grad():
        a = c(x)
        b = m(x)
    assert torch.allclose(a, b, atol=1e-5)


def test_rnn_loop():
    class RNN(nn.Module):
        def __init__(s):
            super().__init__()
            s.i = nn.Linear(4, 8)
            s.h = nn.Linear(8, 8)

        def forward(s, x):
            h = torch.zeros(x.shape[1], 8)
            outs = []
            for t in range(x.shape[0]):
                h = torch.tanh(s.i(x[t]) + s.h(h))
                outs.append(h)
            return torch.stack(outs), h

    m = RNN()
    c = torch.compile(m, fullgraph=True)
    x = torch.randn(5, 3, 4)
    a, b = c(x), m(x)
    assert torch.allclose(a[0], b[0], atol=1e-5)
    x = torch.randn(7, 3, 4)
    a, b = c(x), m(x)
    assert torch.allclose(a[0], b[0], atol=1e-5)


def test_state_dict_and_save(tmp_path):
    m = nn.Linear(3, 4)
    p = tmp_path / "m"
    torch.save(m.state_dict(), p)
    n = nn.Linear(3, 4)
    n.load_state_dict(torch.load(p))
    assert torch.equal(m.weight, n.weight)


def test_data_dependent_branch():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    c = torch.compile(f)
    for v in (1.0, -1.0, 1.0):
        x = torch.full((3,), v)
        assert torch.equal(c(x), f(x))


def test_closure_counter_dict_list_mutation():
    log = []
    st = {"n": 0}

    def f(x, k=2, *a, scale=1.0, **kw):
        st["n"] += 1
        log.append(k)
        for i, t in enumerate(a):
            x = x + t * i
        return {"y": x * scale, "kw": list(kw)}

    c = torch.compile(f)
    x = torch.ones(2)
    r = c(x, 3, x, x, scale=2.0, foo=1)
    e = f(x, 3, x, x, scale=2.0, foo=1)
    assert torch.equal(r["y"], e["y"]) and r["kw"] == e["kw"] and st["n"] == 2 and log == [3, 3]


def test_numpy_functions():
    def f(a, b):
        c = np.where(a > b, a, b * 2)
        return c.mean(axis=0) + np.exp(-a).sum()

    c = torch.compile(f)
    a, b = np.random.rand(4, 5).astype(np.float32), np.random.rand(4, 5)
    r = c(a, b)
    e = f(a, b)
    assert isinstance(r, np.ndarray) and r.dtype == e.dtype
    np.testing.assert_allclose(r, e, rtol=1e-5)


def test_einsum_attention():
    def f(q, k, v):
        s = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        mask = torch.tril(torch.ones(q.shape[2], k.shape[2], dtype=torch.bool))
        s = s.masked_fill(~mask, float("-inf"))
        return torch.einsum("bhqk,bhkd->bhqd", s.softmax(-1), v)

    q, k, v = [torch.randn(2, 3, 6, 4, requires_grad=True) for _ in range(3)]
    a = torch.compile(f, fullgraph=True)(q, k, v)
    b = f(q, k, v)
    assert torch.allclose(a, b, atol=1e-5)
    r = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(r, b, atol=1e-5)
    ga = torch.autograd.grad(a.sum(), q)[0]
    gb = torch.autograd.grad(b.sum(), q)[0]
    assert torch.allclose(ga, gb, atol=1e-5)


def test_bfloat16_and_half():
    for dt in (torch.bfloat16, torch.float16):
        x = torch.randn(8, 16).to(dt)
        w = torch.randn(16, 16).to(dt)
        f = lambda x, w: F.layer_norm((x @ w).relu() + x, (16,)).sum(-1)
        a, b = torch.compile(f)(x, w), f(x, w)
        assert a.dtype == dt and torch.allclose(a.float(), b.float(), atol=5e-2, rtol=5e-2), (a, b)


def test_random_in_compile_equals_eager():
    f = lambda x: F.dropout(x, 0.5) + torch.rand(4)
    c = torch.compile(f)
    x = torch.ones(4)
    torch.manual_seed(3)
    a = [c(x) for _ in range(3)]
    torch.manual_seed(3)
    b = [f(x) for _ in range(3)]
    assert all(torch.equal(p, q) for p, q in zip(a, b)), (a, b)


def test_kv_cache_inplace():
    cache = torch.zeros(2, 8, 4)

    def f(cache, k, pos):
        cache[:, pos] = k
        return cache[:, : pos + 1].sum(1)

    c = torch.compile(f)
    ref = cache.clone()
    for p in range(4):
        k = torch.randn(2, 4)
        a = c(cache, k, p)
        b = f(ref, k, p)
        assert torch.allclose(a, b) and torch.equal(cache, ref)


def test_grad_accumulation_hooks():
    m = nn.Linear(3, 1)
    c = torch.compile(m)
    seen = []
    m.weight.register_hook(lambda g: seen.append(g.shape))
    for _ in range(2):
        c(torch.randn(4, 3)).sum().backward()
    assert len(seen) == 2


def test_list_of_tensors_in_out_namedtuple():
    f = lambda xs: [x.topk(2) for x in xs]
    a = torch.compile(f)([torch.arange(5.0), torch.arange(3.0)])
    assert a[0].values.tolist() == [4, 3] and a[1].indices.tolist() == [2, 1]


def test_exceptions_in_try():
    def f(x):
        try:
            return x.view(7)
        except RuntimeError:
            return x * 0

    assert torch.equal(torch.compile(f)(torch.ones(3)), torch.zeros(3))


def test_generator_zip_sorted_comprehension():
    def f(d):
        return sum(v * i for i, (k, v) in enumerate(sorted(d.items())))

    d = {"b": torch.ones(2), "a": torch.full((2,), 3.0)}
    assert torch.equal(torch.compile(f, fullgraph=True)(d), f(d))


def test_vmap_jacrev_hessian():
    f = lambda x: (x**3).sum()
    x = torch.randn(3)
    assert torch.allclose(hessian(f)(x), torch.diag(6 * x), atol=1e-5)
    assert torch.allclose(jacrev(lambda x: x**2)(x), torch.diag(2 * x), atol=1e-5)


def test_explain_prints():
    e = torch.explain(lambda x: (x + 1).sum())(torch.ones(3))
    assert "graph" in str(e).lower()


def test_weird_dynamic():
    f = torch.compile(lambda x: x.reshape(-1, 2).sum(0) / x.shape[0])
    for n in (2, 4, 6, 10):
        x = torch.randn(n, 3)
        assert torch.allclose(f(x), x.reshape(-1, 2).sum(0) / n, atol=1e-5)


def test_threads():
    f = torch.compile(lambda x: (x.sin() + x.cos()).sum())
    errs = []

    def w(i):
        try:
            for _ in range(50):
                x = torch.full((100 + i,), 0.5)
                assert abs(f(x).item() - (100 + i) * (np.sin(0.5) + np.cos(0.5))) < 1e-2
        except BaseException as e:
            errs.append(e)

    ts = [threading.Thread(target=w, args=(i,)) for i in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    assert not errs, errs


def test_deepcopy_pickle_module():
    m = nn.Linear(2, 2)
    n = copy.deepcopy(m)
    assert torch.equal(m.weight, n.weight) and n.weight is not m.weight
    k = pickle.loads(pickle.dumps(m.state_dict()))
    assert torch.equal(k["weight"], m.weight)


def test_print():
    assert repr(torch.tensor([1.5, 2])) == "tensor([1.5000, 2.0000])", repr(torch.tensor([1.5, 2]))
    assert repr(torch.ones(2, dtype=torch.int64)) == "tensor([1, 1])"


def test_a_flat_parameter_whose_views_have_kept_sizes():
    """As sharded training keeps a module: one vector, and the sizes of what it is made of."""

    class Flat(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.shapes = [(name, p.shape) for name, p in module.named_parameters()]
            self.flat = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in module.parameters()]))
            object.__setattr__(self, "module", module)

        def forward(self, x):
            parts, start = {}, 0
            for name, shape in self.shapes:
                parts[name] = self.flat[start : start + shape.numel()].view(shape)
                start += shape.numel()
            return torch.func.functional_call(self.module, parts, (x,))

    m = Flat(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)))
    x = torch.randn(3, 4)
    out = torch.compile(m, fullgraph=True)(x)
    assert torch.allclose(out, m(x), atol=1e-6)
    out.sum().backward()
    found, m.flat.grad = m.flat.grad, None
    m(x).sum().backward()
    assert torch.allclose(found, m.flat.grad, atol=1e-5)


def test_kept_sizes_and_lists_of_numbers_are_computed_with():
    size, numbers = torch.Size([2, 3]), [1.5, 2.5]

    def f(x):
        copies = copy.copy(size), copy.deepcopy({"size": size})["size"]
        return x * size.numel() + copies[1].numel() + math.fsum(numbers), copies[0]

    x = torch.randn(2, 3)
    (found, size_found), (expected, _) = torch.compile(f, fullgraph=True)(x), f(x)
    assert torch.equal(found, expected) and size_found == size and type(size_found) is torch.Size
    g = lambda x: x * math.dist([1, 2.0], (4, 6.0))
    assert torch.equal(torch.compile(g, fullgraph=True)(x), g(x))


def test_devices_are_asked_for_inside():
    def f(x):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if torch.accelerator.is_available() and torch.accelerator.current_accelerator() is None:
            return x
        return x * 2 + torch.cuda.device_count(), device

    x = torch.randn(3)
    (found, device), (expected, same) = torch.compile(f, fullgraph=True)(x), f(x)
    assert torch.equal(found, expected) and device == same
