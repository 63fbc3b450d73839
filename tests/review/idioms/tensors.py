"""Tensors, exceptions, the frame, the outside world."""

import asyncio
import copy
import functools
import inspect
import io
import logging
import math
import os
import random
import sys
import threading
import time
import traceback
import types
import typing
import warnings
import weakref

import numpy as np

import weft
from tests.review.harness import idiom


@idiom
def slicing(x):
    return x[::2], x[-1], x[..., None].shape, x[weft.tensor([True, False, True])]


@idiom
def inplace_view(x):
    y = x.clone()
    v = y[1:]
    v.mul_(10)
    y[0] = 7
    return y


@idiom
def mutate_arg(x):
    x.add_(1)
    return x * 2


@idiom
def aug(x):
    y = x
    y += 1
    return y is x, y


@idiom
def list_mut(x):
    a = [1, 2, 3]
    a[1:2] = [x, x]
    a.insert(0, 5)
    a.pop()
    a.reverse()
    return a


@idiom
def dict_ops(x):
    d = {"a": x}
    d.update(b=2)
    d |= {"c": 3}
    d.setdefault("e", 4)
    p = d.pop("b")
    return d, p, list(d.items())[0][0]


@idiom
def unpack(x):
    a, *b, c = [1, 2, 3, 4]
    (d, e), f = (1, 2), 3
    return x * a, b, c, d, e, f


@idiom
def chained(x):
    return 0 < x.shape[0] < 5, x if x.dim() == 1 else None


@idiom
def cond_data(x):
    return x + 1 if x.sum() > 0 else x - 1


@idiom
def while_data(x):
    n = 0
    while x.sum() < 100:
        x = x * 2
        n += 1
    return x, n


@idiom
def for_else(x):
    for i in range(3):
        if i == 5:
            break
    else:
        x = x + 100
    return x


@idiom
def assert_msg(x):
    try:
        assert x.shape[0] == 99, "bad"
    except AssertionError as e:
        return str(e), x


@idiom
def typing_(x):
    y: typing.Optional[int] = None
    z = typing.cast(int, 3)
    return x * z


@idiom
def super_(x):
    class A:
        def f(s, x):
            return x + 1

    class B(A):
        def f(s, x):
            return super().f(x) * 2

    return B().f(x)


@idiom
def metaclass_(x):
    class M(type):
        def __call__(c, *a):
            o = super().__call__(*a)
            o.k = 5
            return o

    class A(metaclass=M):
        pass

    return x * A().k


@idiom
def weakref_(x):
    class A:
        pass

    a = A()
    r = weakref.ref(a)
    return r() is a, x


@idiom
def thread_in(x):
    r = []
    t = threading.Thread(target=lambda: r.append(x + 1))
    t.start()
    t.join()
    return r[0]


@idiom
def copy_(x):
    return copy.deepcopy([x, {"a": x}])[1]["a"] is x, copy.copy(x) + 1


@idiom
def str_tensor(x):
    return str(x), repr(x), f"{x[0]:.1f}", f"{x}"


@idiom
def tolist(x):
    return x.tolist(), x[0].item(), float(x[1]), int(x[2]), bool(x[0] > 0)


@idiom
def numpy_in(x):
    a = x.numpy()
    return np.sin(a).sum(), weft.from_numpy(a * 2)


@idiom
def shape_arith(x):
    n = x.shape[0]
    return x.new_zeros(n + 1).shape, math.ceil(n / 2), n // 2, x.view(-1, 1).size(0)


@idiom
def warn_(x):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        warnings.warn("hi")
        r = len(w)
    return r, x


@idiom
def logging_(x):
    b = io.StringIO()
    h = logging.StreamHandler(b)
    lg = logging.getLogger("zz")
    lg.addHandler(h)
    lg.setLevel(10)
    lg.info("v %s", x.shape)
    lg.removeHandler(h)
    return b.getvalue(), x


@idiom
def inspect_(x):
    return inspect.stack()[0].function, inspect.currentframe().f_code.co_name, x


@idiom
def tb_(x):
    try:
        1 / 0
    except ZeroDivisionError:
        return traceback.format_exc().count("line"), x


@idiom
def excinfo(x):
    try:
        int("a")
    except ValueError:
        t = sys.exc_info()[0]
        return t.__name__, x + 1


@idiom
def exc_context(x):
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            {}["k"]
    except KeyError as e:
        return type(e.__context__).__name__, x


@idiom
def rnd_seed(x):
    random.seed(3)
    np.random.seed(3)
    weft.manual_seed(3)
    return random.random(), np.random.rand(), weft.rand(2), x


@idiom
def gen_expr_cond(x):
    return any(a > 2 for a in [1, 2, 3]), all(a for a in []), max((a for a in [1, 5, 2]), key=lambda a: -a), x


@idiom
def closures_mut(x):
    acc = []

    def add(v):
        acc.append(v)
        return acc

    for i in range(3):
        add(x * i)
    return acc


@idiom
def recursion(x):
    def f(n):
        return x if n == 0 else f(n - 1) + 1

    return f(5)


@idiom
def decor(x):
    def d(f):
        @functools.wraps(f)
        def w(*a, **k):
            return f(*a, **k) * 2

        return w

    @d
    def g(x):
        return x + 1

    return g(x), g.__name__


@idiom
def strformat_types(x):
    return "%s %d %r" % ("a", 1, [1]), "{:>5}|{!r}".format(3, "b"), x


@idiom
def ternary_none(x):
    y = None
    return (y or x) + 1, (y and x), not y


@idiom
def bytes_(x):
    return bytes([1, 2]) + b"a", bytearray(b"abc")[1], memoryview(b"abc")[0], x


@idiom
def complex_num(x):
    return (1 + 2j) * (3 - 1j), abs(3 + 4j), x


@idiom
def set_attr(x):
    o = types.SimpleNamespace()
    o.a = x
    setattr(o, "b", 2)
    return o.a * o.b, vars(o).keys()


@idiom
def torch_rand(x):
    weft.manual_seed(0)
    return weft.randn(3), weft.rand(2), weft.randint(0, 5, (3,)), weft.randperm(4), weft.nn.functional.dropout(x, 0.5)


@idiom
def grad_in(x):
    y = x.clone().requires_grad_()
    (y**2).sum().backward()
    return y.grad


@idiom
def autograd_grad(x):
    y = x.clone().requires_grad_()
    return weft.autograd.grad((y**3).sum(), y)[0]


@idiom
def nograd(x):
    with weft.no_grad():
        a = weft.is_grad_enabled()
    return a, weft.is_grad_enabled(), x


@idiom
def func_grad(x):
    return weft.func.grad(lambda a: (a**2).sum())(x)


@idiom
def vmap_(x):
    return weft.func.vmap(lambda a: a * 2)(x)


@idiom
def dtype_logic(x):
    return (
        x.to(weft.float64).dtype == weft.float64,
        x.dtype.is_floating_point,
        weft.promote_types(weft.int32, weft.float32),
        x.int() // 2,
    )


@idiom
def time_env(x):
    os.environ["QQ"] = str(int(os.environ.get("QQ", "0")) + 1)
    return os.environ["QQ"], x


@idiom
def time_mono(x):
    a = time.perf_counter()
    b = time.perf_counter()
    return b > a, x


@idiom
def import_in(x):
    import fractions
    from decimal import Decimal as D

    return str(fractions.Fraction(1, 3)), str(D("1.1")), x


@idiom
def id_is(x):
    a = [1]
    b = a
    return a is b, id(a) == id(b), x is x


@idiom
def hash_(x):
    return hash((1, 2)) == hash((1, 2)), {x: 1}[x], x


@idiom
def sorted_tensors(x):
    return sorted([x[2], x[0]], key=lambda t: t.item())


@idiom
def tensor_iter(x):
    return [v * 2 for v in x], len(x), sum(x)


@idiom
def tensor_in_if_list(x):
    return [i for i, v in enumerate(x) if v > 1]


@idiom
def mapfilter(x):
    return list(map(lambda a: x * a, filter(None, [0, 1, 2])))


@idiom
def enumerate_start(x):
    return [x * i for i, _ in enumerate("ab", start=5)]


@idiom
def range_neg(x):
    return [i for i in range(5, 0, -2)], list(reversed(range(3))), x


@idiom
def async_in(x):
    async def f():
        await asyncio.sleep(0)
        return x + 1

    return asyncio.run(f())


@idiom
def property_cached(x):
    class A:
        @functools.cached_property
        def v(s):
            return 7

    a = A()
    return x * a.v * a.v


@idiom
def singledisp(x):
    @functools.singledispatch
    def f(a):
        return 1

    @f.register
    def _(a: int):
        return 2

    return x * f(3)


@idiom
def tempfile_(x):
    import tempfile

    with tempfile.TemporaryDirectory() as d:
        weft.save({"x": x}, d + "/a")
        return weft.load(d + "/a")["x"]
