"""nn.Module: patched, hooked, trained, compiled as a whole."""

import copy

import weft
from tests.review.harness import prog, x0
from weft import nn

F = nn.functional


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(weft.ones(4))
        self.register_buffer("b", weft.zeros(4))
        self.k = 2

    def forward(self, x):
        return x * self.w * self.k + self.b


@prog
def forward_instance_patched_after(C):
    m = M()
    c = C(m)
    a = c(x0())
    m.forward = lambda x: x * 100
    b = c(x0())
    return a, b


@prog
def forward_class_patched_after(C):
    class N(M):
        def forward(self, x):
            return x * 3

    m = N()
    c = C(m)
    a = c(x0())
    N.forward = lambda self, x: x * 100
    b = c(x0())
    return a, b


@prog
def call_overridden(C):
    class N(M):
        def __call__(self, x):
            return super().__call__(x) + 1000

    m = N()
    c = C(m)
    return c(x0())


@prog
def class_reassigned(C):
    class A(M):
        def forward(self, x):
            return x * 3

    class B(M):
        def forward(self, x):
            return x * 7

    m = A()
    c = C(m)
    a = c(x0())
    m.__class__ = B
    b = c(x0())
    return a, b


@prog
def submodule_forward_patched(C):
    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = M()

        def forward(self, x):
            return self.l(x)

    m = A()
    c = C(m)
    a = c(x0())
    old = m.l.forward
    m.l.forward = lambda x: old(x) * 10
    return a, c(x0())


@prog
def submodule_class_forward_patched(C):
    class L(nn.Module):
        def forward(self, x):
            return x * 2

    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = L()

        def forward(self, x):
            return self.l(x)

    m = A()
    c = C(m)
    a = c(x0())
    L.forward = lambda self, x: x * 9
    return a, c(x0())


@prog
def module_mutations(C):
    m = M()
    c = C(m)
    out = [c(x0())]
    m.k = 5
    out.append(c(x0()))
    m.b = weft.ones(4)
    out.append(c(x0()))
    m.w = nn.Parameter(weft.full((4,), 3.0))
    out.append(c(x0()))
    with weft.no_grad():
        m.w.mul_(2)
    out.append(c(x0()))
    m.w.requires_grad_(False)
    out.append(c(x0()))
    m.w.data = weft.full((4,), 7.0)
    out.append(c(x0()))
    m.double()
    out.append(c(x0().double()))
    return out


@prog
def train_eval(C):
    class D(nn.Module):
        def __init__(self):
            super().__init__()
            self.d = nn.Dropout(0.5)
            self.bn = nn.BatchNorm1d(4)

        def forward(self, x):
            return self.bn(x) * (2 if self.training else 3)

    m = D()
    c = C(m)
    x = weft.arange(8.0).reshape(2, 4)
    a = c(x)
    m.eval()
    b = c(x)
    m.train()
    d = c(x)
    return a, b, d, m.bn.running_mean, m.bn.num_batches_tracked


@prog
def hooks_added(C):
    m = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU())
    nn.init.ones_(m[0].weight)
    log = []
    c = C(m)
    out = [c(x0())]
    h = m[0].register_forward_hook(lambda mod, i, o: o * 2)
    out.append(c(x0()))
    h2 = m.register_forward_pre_hook(lambda mod, i: (i[0] + 1,))
    out.append(c(x0()))
    h.remove()
    out.append(c(x0()))
    h2.remove()
    out.append(c(x0()))
    return out


@prog
def hook_side_effects(C):
    m = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU())
    nn.init.ones_(m[0].weight)
    acts = {}
    m[0].register_forward_hook(lambda mod, i, o: acts.__setitem__("a", o))
    c = C(m)
    a = c(x0())
    b = acts["a"]
    c(x0() + 1)
    return a, b, acts["a"]


@prog
def full_backward_hook(C):
    m = nn.Linear(4, 1, bias=False)
    nn.init.ones_(m.weight)
    log = []
    m.register_full_backward_hook(lambda mod, gi, go: log.append(go[0].tolist()))
    c = C(m)
    y = c(x0().requires_grad_())
    y.backward()
    return log, m.weight.grad


@prog
def global_forward_hook(C):

    reg = weft.nn.modules.module.register_module_forward_hook if hasattr(weft.nn, "modules") else None
    if reg is None:
        return None
    m = M()
    c = C(m)
    a = c(x0())
    h = reg(lambda mod, i, o: o * 10)
    try:
        b = c(x0())
    finally:
        h.remove()
    return a, b


@prog
def training_loop_sgd(C):
    m = nn.Linear(4, 1)
    nn.init.ones_(m.weight)
    nn.init.zeros_(m.bias)
    opt = weft.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        opt.zero_grad()
        l = F.mse_loss(m(x), y)
        l.backward()
        opt.step()
        return l.detach()

    s = C(step)
    x = weft.arange(8.0).reshape(2, 4) / 10
    y = weft.ones(2, 1)
    return [s(x, y) for _ in range(4)], m.weight


@prog
def pickle_compiled(C):
    m = M()
    c = C(m)
    a = c(x0())
    d = copy.deepcopy(c)
    d.k = 9
    sd = c.state_dict()
    return a, c(x0()), d(x0()), sorted(k.replace("_orig_mod.", "") for k in sd)


@prog
def list_of_modules_replaced(C):
    ms = [nn.Linear(4, 4, bias=False)]
    nn.init.ones_(ms[0].weight)
    f = C(lambda x: ms[0](x))
    a = f(x0())
    m2 = nn.Linear(4, 4, bias=False)
    nn.init.zeros_(m2.weight)
    ms[0] = m2
    return a, f(x0())


@prog
def module_list_dict_iter(C):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.ModuleList([nn.Linear(4, 4, bias=False) for _ in range(3)])
            self.d = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
            for m in self.l:
                nn.init.eye_(m.weight)

        def forward(self, x, k="a"):
            for i, l in enumerate(self.l[1:]):
                x = l(x) + i
            for n, m in self.d.items():
                x = m(x) if n == k else x
            for n, p in self.named_parameters():
                x = x + p.shape[0]
            return (
                x,
                len(self.l),
                list(self.d.keys()),
                [n for n, _ in self.named_modules()],
                sum(p.numel() for p in self.parameters()),
            )

    m = M()
    c = C(m)
    out = [c(x0()), c(x0(), "b")]
    m.l.append(nn.Linear(4, 4, bias=False))
    nn.init.ones_(m.l[3].weight)
    out.append(c(x0()))
    m.d["c"] = nn.ReLU()
    out.append(c(x0()))
    del m.d["a"]
    out.append(c(x0()))
    return out


@prog
def state_buffer_update(C):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", weft.zeros(1))
            self.cache = None
            self.hist = []
            self.cnt = 0

        def forward(self, x):
            self.n += 1
            if self.cache is None:
                self.cache = x
            else:
                self.cache = weft.cat([self.cache, x])
            self.hist.append(x.shape[0])
            self.cnt += 1
            return self.cache.sum() * self.n + self.cnt

    m = M()
    c = C(m)
    return [c(x0()) for _ in range(5)], m.n, m.cache, m.hist, m.cnt


@prog
def dropout_rng(C):
    f = C(lambda x: (F.dropout(x, 0.5), weft.rand(3), weft.randint(0, 10, (3,))))
    weft.manual_seed(3)
    a = f(weft.ones(4))
    b = f(weft.ones(4))
    s = weft.rand(2)
    return a, b, s


@prog
def seed_inside(C):
    def f(x):
        weft.manual_seed(5)
        return x + weft.rand(4)

    f = C(f)
    return f(x0()), f(x0())
