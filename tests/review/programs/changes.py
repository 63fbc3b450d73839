"""GraphModules, and what changes between two calls."""

import math
import os
import random

from weft.fx.experimental.proxy_tensor import make_fx

import weft
from tests.review.harness import prog
from weft import fx, nn

T = weft.tensor


def x0():
    return weft.arange(3.0)


def sh(v):
    if isinstance(v, weft.Tensor):
        return (v.tolist(), v.requires_grad)
    if isinstance(v, (list, tuple)):
        return [sh(i) for i in v]
    return repr(v)


def times(C, f, *argss):
    c = C(f)
    out = []
    for a in argss:
        try:
            out.append(sh(c(*a)))
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out


def gm(f):
    return fx.symbolic_trace(f)


@prog
def g_basic(C):
    g = gm(lambda x, y: (x + y) * x.sum())
    return times(C, lambda x: g(x, x * 2) + 1, (x0(),), (x0() + 1,))


@prog
def g_module(C):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(3, 3)
            nn.init.eye_(s.l.weight)
            nn.init.zeros_(s.l.bias)

        def forward(s, x):
            return s.l(x).relu()

    m = gm(M())
    r = times(C, lambda x: m(x) * 2, (x0(),))
    with weft.no_grad():
        m.l.weight.mul_(3)
    c = C(lambda x: m(x))
    a = sh(c(x0()))
    m.l = nn.Linear(3, 3)
    nn.init.zeros_(m.l.weight)
    nn.init.ones_(m.l.bias)
    return r, a, sh(c(x0()))


@prog
def g_edit(C):
    g = gm(lambda x: x + 1)
    c = C(lambda x: g(x) * 2)
    a = sh(c(x0()))
    for n in g.graph.nodes:
        if n.op == "call_function":
            n.args = (n.args[0], 5)
    g.recompile()
    return a, sh(c(x0()))


@prog
def g_replaced_forward(C):
    g = gm(lambda x: x + 1)
    c = C(lambda x: g(x))
    a = sh(c(x0()))
    g.forward = lambda x: x * 7
    return a, sh(c(x0()))


@prog
def g_kw(C):
    g = gm(lambda x, k=2: x * k)
    return times(C, lambda x: (g(x), g(x, k=3), g(x, 4)), (x0(),))


@prog
def g_dict_out(C):
    g = gm(lambda x: {"a": x + 1, "b": [x, (x * 2,)]})
    return times(C, lambda x: sorted(g(x)), (x0(),)), times(C, lambda x: g(x)["b"][1][0], (x0(),))


@prog
def g_inplace(C):
    def h(x):
        x.add_(1)
        return x * 2

    g = gm(h)
    x = x0()
    return times(C, lambda x: g(x), (x,), (x,)), x.tolist()


@prog
def g_const(C):
    k = T([1.0, 2, 3])
    g = gm(lambda x: x + k)
    r = times(C, lambda x: g(x), (x0(),))
    k.add_(1)
    return r, times(C, lambda x: g(x), (x0(),))


@prog
def g_err(C):
    g = gm(lambda x: x @ x.reshape(3, 1))
    return times(C, lambda x: g(x), (x0(),), (weft.ones(2),))


@prog
def g_training(C):
    class M(nn.Module):
        def forward(s, x):
            return nn.functional.dropout(x, 0.5, s.training)

    m = gm(M().eval())
    return times(C, lambda x: m(x), (x0(),))


@prog
def g_hook(C):
    g = gm(lambda x: x + 1)
    c = C(lambda x: g(x))
    a = sh(c(x0()))
    h = g.register_forward_hook(lambda m, i, o: o * 10)
    b = sh(c(x0()))
    h.remove()
    return a, b, sh(c(x0()))


@prog
def g_sub(C):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.g = gm(lambda x: x * 3)
            s.n = 0

        def forward(s, x):
            s.n += 1
            return s.g(x) + s.n

    m = M()
    return times(C, m, (x0(),), (x0(),)), m.n


@prog
def make_fx(C):
    g = make_fx(lambda x: (x.sin() * 2).sum(0))(x0())
    return times(C, lambda x: g(x) + 1, (x0(),))


# recompilation
@prog
def r_closure_rebound(C):
    k = 1

    def f(x):
        return x * k

    c = C(f)
    out = [sh(c(x0()))]
    for v in (2, 2.5, "a" and 3, True, None or 4):
        k = v
        out.append(sh(c(x0())))
    return out


@prog
def r_global_fn(C):
    global HELP

    def a(x):
        return x + 1

    def b(x):
        return x + 2

    HELP = a
    c = C(lambda x: HELP(x))
    r = [sh(c(x0()))]
    HELP = b
    r.append(sh(c(x0())))
    HELP = lambda x: x * 0
    r.append(sh(c(x0())))
    HELP = len
    r.append(c(x0()))
    return r


@prog
def r_list_types(C):
    return times(
        C,
        lambda l: [type(i).__name__ for i in l] + [sum(i for i in l if not isinstance(i, str))],
        ([1, 2],),
        ([1.5, x0()],),
        (["a", 1],),
        ([True, 2],),
    )


@prog
def r_shape_rank(C):
    return times(
        C, lambda x: (x.sum(-1), x.shape), (x0(),), (weft.ones(2, 3),), (weft.ones(()),), (weft.ones(0, 3),), (weft.ones(1, 1),)
    )


@prog
def r_stride(C):
    return times(
        C,
        lambda x: (x * 2, x.stride(), x.is_contiguous()),
        (weft.ones(2, 3),),
        (weft.ones(3, 2).t(),),
        (weft.ones(2, 6)[:, ::2],),
        (weft.ones(1, 3).expand(2, 3),),
    )


@prog
def r_module_swap(C):
    m = nn.Sequential(nn.ReLU(), nn.Identity())
    c = C(lambda x: m(x - 1))
    r = [sh(c(x0()))]
    m[0] = nn.Sigmoid()
    r.append(sh(c(x0())))
    m.append(nn.ReLU())
    r.append(sh(c(x0())))
    del m[0]
    r.append(sh(c(x0())))
    return r


@prog
def r_param_replaced(C):
    m = nn.Linear(3, 1, bias=False)
    nn.init.ones_(m.weight)
    c = C(lambda x: m(x))
    r = [sh(c(x0()))]
    m.weight = nn.Parameter(weft.ones(1, 3) * 2)
    r.append(sh(c(x0())))
    m.weight.requires_grad_(False)
    r.append(sh(c(x0())))
    m.weight.data = weft.ones(2, 3)
    r.append(sh(c(x0())))
    return r


@prog
def r_train_eval(C):
    m = nn.Sequential(nn.Dropout(0.0), nn.BatchNorm1d(3))
    c = C(lambda x: m(x))
    r = []
    for mode in (True, False, True):
        m.train(mode)
        r.append(sh(c(weft.arange(6.0).reshape(2, 3)).detach()))
    return r, sh(m[1].running_mean), m[1].num_batches_tracked.item()


@prog
def r_default_dtype(C):
    c = C(lambda x: (weft.zeros(2).dtype, x + 1.0))
    r = [str(c(x0())[0])]
    weft.set_default_dtype(weft.float64)
    try:
        r.append(str(c(x0())[0]))
    finally:
        weft.set_default_dtype(weft.float32)
    r.append(str(c(x0())[0]))
    return r


@prog
def r_autocast(C):
    c = C(lambda x: x @ x.T)
    x = weft.ones(2, 2)
    r = [str(c(x).dtype)]
    with weft.autocast("cpu", dtype=weft.bfloat16):
        r.append(str(c(x).dtype))
    r.append(str(c(x).dtype))
    return r


@prog
def r_inference(C):
    c = C(lambda x: x * 2)
    x = x0().requires_grad_()
    r = [c(x).requires_grad]
    with weft.inference_mode():
        r.append(c(x).requires_grad)
    with weft.no_grad():
        r.append(c(x).requires_grad)
    return r + [c(x).requires_grad]


@prog
def r_float_nan(C):
    return times(
        C,
        lambda x, f: x + 1 if f == f else x - 1,
        (x0(), 1.0),
        (x0(), float("nan")),
        (x0(), float("inf")),
        (x0(), -0.0),
        (x0(), float("nan")),
    )


@prog
def r_negzero(C):
    return times(C, lambda x, f: (math.copysign(1, f), x * f, 1 / f if f else "z"), (x0(), 0.0), (x0(), -0.0), (x0(), 0.0))


@prog
def r_bigint(C):
    return times(
        C,
        lambda x, n: (n + 1, n * n, x + float(n % 7)),
        (x0(), 2**40),
        (x0(), 2**62),
        (x0(), 2**63),
        (x0(), 2**70),
        (x0(), -(2**63)),
    )


@prog
def r_str(C):
    return times(
        C, lambda x, s: x * len(s) if s.startswith("a") else s.upper(), (x0(), "abc"), (x0(), "b"), (x0(), "ab"), (x0(), "")
    )


@prog
def r_tuple_nested(C):
    return times(
        C,
        lambda t: t[0] + t[1][0] * t[1][1]["k"],
        ((x0(), (x0(), {"k": 2})),),
        ((x0(), [x0(), {"k": 3}]),),
        ((x0(), (x0(), {"k": x0()})),),
    )


@prog
def r_subclass_int(C):
    class I(int):
        def __add__(s, o):
            return 100

    return times(C, lambda x, i: (x * int(i), i + 1, type(i).__name__), (x0(), I(2)), (x0(), 2), (x0(), I(3)), (x0(), True))


@prog
def r_attr_type(C):
    class O:
        pass

    o = O()
    c = C(lambda x: x * o.v if hasattr(o, "v") else x)
    r = [sh(c(x0()))]
    for v in (2, 2.5, x0(), T(3.0), True):
        o.v = v
        r.append(sh(c(x0())))
    del o.v
    r.append(sh(c(x0())))
    return r


@prog
def r_dict_keys(C):
    return times(
        C,
        lambda d: (list(d), sum(d.values())),
        ({"a": x0(), "b": 1},),
        ({"b": 1, "a": x0()},),
        ({"a": x0()},),
        ({1: x0(), "a": 2, None: 3},),
    )


@prog
def r_defaults(C):
    def g(x, k=2):
        return x * k

    c = C(lambda x: g(x))
    r = [sh(c(x0()))]
    g.__defaults__ = (5,)
    r.append(sh(c(x0())))
    g.__code__ = (lambda x, k=1: x - k).__code__
    r.append(sh(c(x0())))
    return r


@prog
def r_class_reassigned(C):
    class A:
        def m(s, x):
            return x + 1

    class B:
        def m(s, x):
            return x + 2

    o = A()
    c = C(lambda x: o.m(x))
    r = [sh(c(x0()))]
    o.__class__ = B
    r.append(sh(c(x0())))
    B.m = lambda s, x: x * 9
    r.append(sh(c(x0())))
    o.m = lambda x: x * 0
    r.append(sh(c(x0())))
    return r


@prog
def r_len_list_global(C):
    l = [1, 2]
    c = C(lambda x: x * sum(l) + len(l))
    r = []
    for op in (lambda: None, lambda: l.append(3), lambda: l.clear(), lambda: l.extend([1] * 5), lambda: l.__setitem__(0, 10)):
        op()
        r.append(sh(c(x0())))
    return r


@prog
def r_set(C):
    s = {1, 2}
    c = C(lambda x: x * len(s) if 3 in s else x + sum(s))
    r = []
    for op in (lambda: None, lambda: s.add(3), lambda: s.discard(1), lambda: s.clear()):
        op()
        r.append(sh(c(x0())))
    return r


@prog
def r_seed(C):
    c = C(lambda x: x + weft.rand(3))
    weft.manual_seed(3)
    a = sh(c(x0()))
    b = sh(c(x0()))
    weft.manual_seed(3)
    return a == sh(c(x0())), a != b


@prog
def r_random_module(C):
    c = C(lambda x: x * random.randint(1, 100))
    random.seed(1)
    a = [sh(c(x0())) for _ in range(3)]
    random.seed(1)
    return a, [sh(c(x0())) for _ in range(3)]


@prog
def r_time_env(C):
    c = C(lambda x: x * 2 if os.environ.get("QQ_T") else x * 3)
    r = [sh(c(x0()))]
    os.environ["QQ_T"] = "1"
    r.append(sh(c(x0())))
    del os.environ["QQ_T"]
    r.append(sh(c(x0())))
    return r
