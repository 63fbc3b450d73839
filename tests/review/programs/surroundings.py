"""Modules, hooks, random states, threads, globals and arguments that change between two calls."""

import copy
import sys
import threading
import types

import weft
import weft.nn as nn
from tests.review.harness import brk, prog, times, told_whole, x0


def lin():
    weft.manual_seed(0)
    return nn.Linear(4, 4)


@prog
def module_train_eval(C):
    m = nn.Sequential(lin(), nn.Dropout(0.5))
    m.eval()
    c = C(m)
    r = [c(x0())]
    m.train()
    a = c(x0())
    r.append((a == 0).any().item() or True)
    m.eval()
    r.append(c(x0()))
    m[0].weight.data.zero_()
    r.append(c(x0()))
    m[0] = lin()
    r.append(c(x0()))
    m.append(nn.ReLU())
    r.append(c(x0()))
    del m[1]
    r.append(c(x0()))
    return r


@prog
def module_hooks(C):
    m = lin()
    log = []
    c = C(m)
    r = [c(x0())]
    h = m.register_forward_hook(lambda mod, a, o: o * 2)
    r.append(c(x0()))
    h2 = m.register_forward_pre_hook(lambda mod, a: (a[0] + 1,))
    r.append(c(x0()))
    h.remove()
    r.append(c(x0()))
    h2.remove()
    r.append(c(x0()))
    h3 = m.register_forward_hook(lambda mod, a, kw, o: log.append(len(a)), with_kwargs=True)
    r.append(c(x0()))
    h3.remove()
    return r, log


@prog
def module_global_hooks(C):
    m = lin()
    log = []
    c = C(m)
    r = [c(x0())]
    h = nn.modules.module.register_module_forward_hook(lambda mod, a, o: o * 3)
    try:
        r.append(c(x0()))
    finally:
        h.remove()
    r.append(c(x0()))
    return r


@prog
def module_attr_changes(C):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 2
            self.p = nn.Parameter(x0())
            self.register_buffer("b", x0())
            self.l = [1, 2]
            self.d = {"a": 1}

        def forward(self, x):
            return x * self.k + self.p + self.b + len(self.l) + self.d["a"] + len(list(self.parameters())) + len(self._buffers)

    m = M()
    c = C(m)
    f = lambda: c(x0()).detach()
    r = [f()]
    m.k = 3
    r.append(f())
    m.p = nn.Parameter(x0() * 2)
    r.append(f())
    m.b = x0() * 3
    r.append(f())
    m.l.append(1)
    r.append(f())
    m.d["a"] = 9
    r.append(f())
    m.q = nn.Parameter(x0())
    r.append(f())
    m.register_buffer("bb", x0())
    r.append(f())
    del m.q
    r.append(f())
    m.p.requires_grad_(False)
    r.append(f())
    m._parameters["p"] = nn.Parameter(x0() * 5)
    r.append(f())
    m.p.data = x0() * 7
    r.append(f())
    m.load_state_dict({k: v * 0 for k, v in m.state_dict().items()})
    r.append(f())
    m.__class__ = type("M2", (M,), {"forward": lambda self, x: x})
    r.append(f())
    return r


@prog
def module_counter(C):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0
            self.register_buffer("s", weft.zeros(()))

        def forward(self, x):
            self.n += 1
            self.s += 1
            self.last = x
            return x * self.n + self.s

    m = M()
    c = C(m)
    r = [c(x0()) for _ in range(4)]
    return r, m.n, m.s, m.last


@prog
def functional_call_(C):
    m = lin()

    def f(x, w):
        return weft.func.functional_call(m, {"weight": w}, (x,))

    c = C(f)
    return c(x0(), weft.ones(4, 4)).detach(), c(x0(), weft.zeros(4, 4)).detach(), m.weight.sum().item()


@prog
def generator_state(C):
    g = weft.Generator()

    def f(x):
        return x + weft.rand(4, generator=g), weft.randn(2, generator=g)

    c = C(f)
    out = []
    g.manual_seed(3)
    out += [c(x0()), c(x0())]
    s = g.get_state()
    out.append(c(x0()))
    g.set_state(s)
    out.append(c(x0()))
    g.manual_seed(3)
    out.append(c(x0()))
    return out


@prog
def global_rng(C):
    def f(x):
        a = weft.rand(2)
        weft.manual_seed(5)
        b = weft.rand(2)
        brk()
        d = weft.rand(2)
        with weft.random.fork_rng():
            e = weft.rand(2)
        return a, b, d, e, weft.rand(2), weft.initial_seed()

    weft.manual_seed(1)
    return times(C, f, (x0(),), (x0(),)), weft.rand(2)


@prog
def python_random(C):
    import random

    def f(x):
        return x * random.random(), random.randint(0, 9), random.choice([1, 2, 3])

    c = C(f)
    random.seed(3)
    r = [c(x0()), c(x0())]
    random.seed(3)
    r.append(c(x0()))
    st = random.getstate()
    r.append(c(x0()))
    random.setstate(st)
    r.append(c(x0()))
    return r, random.random()


@prog
def optimizer_steps(C):
    m = lin()
    o = weft.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        o.zero_grad()
        l = m(x).pow(2).sum()
        l.backward()
        o.step()
        return l.detach()

    c = C(step)
    r = [c(x0()) for _ in range(3)]
    o.param_groups[0]["lr"] = 0.01
    r += [c(x0()), c(x0())]
    o.param_groups[0]["momentum"] = 0.0
    r.append(c(x0()))
    return r, m.weight.detach()


@prog
def threads_compiled(C):
    def f(x, n):
        brk()
        return x * n

    c = C(f)
    res = {}

    def work(i):
        res[i] = [c(x0() + i, j % 3).tolist() for j in range(6)]

    ts = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    return [res[i] for i in range(6)]


@prog
def thread_local_(C):
    l = threading.local()
    l.k = 2
    c = C(lambda x: x * getattr(l, "k", 100))
    r = [c(x0())]
    t = threading.Thread(target=lambda: r.append(c(x0())))
    t.start()
    t.join()
    l.k = 3
    r.append(c(x0()))
    return r


@prog
def recursion_(C):
    def fact(x, n):
        return x if n == 0 else n * fact(x + 1, n - 1)

    def rb(x, n):
        if n == 0:
            return x
        brk()
        return rb(x + n, n - 1) * 2

    c = C(fact)
    d = C(rb)
    return c(x0(), 3), c(x0(), 5), d(x0(), 3), d(x0(), 4)


@prog
def pickled_results(C):
    class K:
        pass

    def f(x):
        return {"a": x * 2, "b": [x.shape[0], (1, x)], "c": slice(1, 2)}

    c = C(f)
    r = pickle.loads(pickle.dumps(c(x0())))
    q = copy.deepcopy(c(x0()))
    return r, q


@prog
def globals_added_deleted(C):
    g = {"weft": weft, "k": 2}
    exec("def f(x):\n    try: return x * k + q\n    except NameError as e: return x * 2, str(e)\n", g)
    c = C(g["f"])
    r = [c(x0())]
    g["q"] = 5
    r.append(c(x0()))
    g["k"] = 3
    r.append(c(x0()))
    del g["k"]
    r.append(c(x0()))
    g["len"] = 1
    g["k"] = 1
    r.append(c(x0()))
    return r


@prog
def builtin_shadowed(C):
    g = {}
    exec("def f(x): return x * len([1, 2]) + max(1, 2)\n", g)
    c = C(g["f"])
    r = [c(x0())]
    g["len"] = lambda v: 50
    r.append(c(x0()))
    del g["len"]
    r.append(c(x0()))
    import builtins

    old = builtins.max
    builtins.max = lambda *a: 1000
    try:
        r.append(c(x0()))
    finally:
        builtins.max = old
    r.append(c(x0()))
    return r


@prog
def sys_modules_patched(C):
    m = types.ModuleType("patchmod")
    m.k = 2
    sys.modules["patchmod"] = m

    def f(x):
        import patchmod
        from patchmod import k

        return x * patchmod.k + k

    c = C(f)
    r = [c(x0())]
    m.k = 5
    r.append(c(x0()))
    n = types.ModuleType("patchmod")
    n.k = 9
    sys.modules["patchmod"] = n
    r.append(c(x0()))
    del sys.modules["patchmod"]
    r.append(told_whole(c, x0()))
    return r


@prog
def module_getattr(C):
    m = types.ModuleType("gm")
    m.__getattr__ = lambda n: 7
    c = C(lambda x: x * m.zz)
    r = [c(x0())]
    m.zz = 2
    r.append(c(x0()))
    del m.zz
    m.__getattr__ = lambda n: 8
    r.append(c(x0()))
    return r


@prog
def coroutine_and_async(C):
    import asyncio

    async def g(x):
        return x + 1

    async def f(x):
        y = await g(x)
        await asyncio.sleep(0)
        return y * 2

    c = C(f)
    return asyncio.run(c(x0())), asyncio.run(c(x0()))


@prog
def generator_function_compiled(C):
    def g(x):
        y = x + 1
        got = yield y
        yield y * (got or 2)
        return 5

    c = C(g)
    out = []
    for _ in range(2):
        it = c(x0())
        out.append(next(it))
        out.append(it.send(3))
        try:
            next(it)
        except StopIteration as e:
            out.append(e.value)
    return out


@prog
def print_order(C):
    class P:
        def __repr__(self):
            print("in repr")
            return "P"

    def f(x, p):
        print("a", end="-")
        y = x + 1
        print(p, y.shape, sep="|")
        print("%s" % p)
        return y

    return times(C, f, (x0(), P()), (x0(), P()))


@prog
def warnings_once(C):
    import warnings

    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            warnings.warn("careful", UserWarning)
        return x + 1, [str(i.message) for i in w]

    return times(C, f, (x0(),), (x0(),))


@prog
def kwonly_varargs(C):
    def f(x, *a, k=1, **kw):
        return x * k, a, kw, list(kw)

    c = C(f)
    return (
        c(x0()),
        c(x0(), 1, 2, k=3, z=4, y=5),
        c(x0(), z=1, a=2),
        told_whole(c),
        c(x0(), *[1, 2], **{"q": 1}),
        told_whole(lambda: c(x0(), x=1)),
    )


@prog
def arg_binding_errors(C):
    def f(x, a, /, b, *, d=1):
        return x

    c = C(f)
    return [
        told_whole(lambda k=k, v=v: c(*v, **k))
        for v, k in (
            ((), {}),
            ((x0(),), {}),
            ((x0(), 1, 2, 3), {}),
            ((x0(), 1), {"b": 1, "zz": 2}),
            ((x0(),), {"a": 1, "b": 2}),
            ((x0(), 1, 2), {"b": 3}),
            ((x0(), 1, 2), {"d": 3}),
        )
    ]
