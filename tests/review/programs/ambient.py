"""What lies around a call: modes, default dtypes, generators of random numbers, tracing, warnings, threads, collection, module state."""

import contextlib
import logging
import sys
import warnings

import numpy as np

import weft
from tests.review.harness import prog, told, x0

F = weft.nn.functional


@prog
def default_dtype_changed_inside(C):
    def f(x):
        old = weft.get_default_dtype()
        weft.set_default_dtype(weft.float64)
        try:
            y = weft.ones(2) * 1.5
            z = weft.tensor([1.0, 2.0])
            i = weft.arange(3) / 2
        finally:
            weft.set_default_dtype(old)
        return y, z, i, weft.tensor(0.5).dtype, x + 1

    c = C(f)
    return c(x0()), c(x0()), weft.get_default_dtype()


@prog
def default_dtype_left_changed(C):
    def f(x):
        weft.set_default_dtype(weft.float64)
        return x + weft.ones(1)

    c = C(f)
    try:
        return c(x0()), weft.get_default_dtype(), c(x0()), weft.ones(1).dtype
    finally:
        weft.set_default_dtype(weft.float32)


@prog
def grad_mode_left_changed_by_an_error(C):
    def f(x):
        weft.set_grad_enabled(False)
        y = x * 2
        raise ValueError(str(weft.is_grad_enabled()))

    c = C(f)
    r = []
    for _ in range(2):
        r.append((told(c, x0()), weft.is_grad_enabled()))
        weft.set_grad_enabled(True)
    return r


@prog
def grad_mode_of_results(C):
    def f(x):
        a = x * 2
        with weft.no_grad():
            b = a * 3
            with weft.enable_grad():
                d = b * x
        e = a.detach()
        return a.requires_grad, b.requires_grad, d.requires_grad, e.requires_grad, a, b, d

    c = C(f)
    r = []
    for flag in (True, False, True):
        x = x0().requires_grad_(flag)
        with weft.set_grad_enabled(flag):
            r.append(c(x))
        with weft.no_grad():
            r.append(c(x))
        with weft.inference_mode():
            r.append(c(x0())[:3])
    return r


@prog
def requires_grad_switched_between(C):
    p = weft.ones(3)

    def f(x):
        y = x * p
        return y, y.requires_grad, p.is_leaf, y.grad_fn is None

    c = C(f)
    r = [c(weft.ones(3))]
    p.requires_grad_()
    r.append(c(weft.ones(3)))
    r[-1][0].sum().backward()
    r.append(p.grad.clone())
    p.requires_grad = False
    r.append(c(weft.ones(3)))
    return r


@prog
def dtype_of_data_replaced(C):
    p = weft.ones(3)
    c = C(lambda x: (x * p, p.dtype, p.shape[0], p.stride()))
    r = [c(weft.ones(1))]
    p.data = weft.ones(4, dtype=weft.float64)
    r.append(c(weft.ones(1)))
    p.data = weft.ones(2, 3).t()
    r.append(c(weft.ones(1)))
    p.data = weft.ones(0)
    r.append(c(weft.ones(1)))
    return r


@prog
def generators_and_seeds_inside(C):
    g = weft.Generator().manual_seed(3)

    def f(x, k):
        a = weft.rand(3)
        b = weft.rand(3, generator=g)
        if k:
            weft.manual_seed(k)
        return x + a.sum() * 0, a, b, weft.randn(2), weft.randint(0, 10, (3,)), weft.initial_seed() if k else 0

    c = C(f)
    r = [c(x0(), 0), c(x0(), 5), c(x0(), 0)]
    state = weft.get_rng_state()
    r.append(c(x0(), 0))
    weft.set_rng_state(state)
    r.append(c(x0(), 0))
    return r, weft.rand(2), weft.rand(1, generator=g)


@prog
def numpy_and_python_random_inside(C):
    import random

    def f(x):
        return (
            x + random.random(),
            np.random.rand(),
            random.choice([1, 2, 3]),
            np.random.default_rng(3).integers(10),
            random.Random(4).random(),
        )

    c = C(f)
    random.seed(1)
    r = [c(x0()), c(x0())]
    random.seed(1)
    np.random.seed(2)
    r += [c(x0())]
    return r, random.random(), np.random.rand()


@prog
def dropout_consumes_the_generator(C):
    m = weft.nn.Dropout(0.5)
    c = C(lambda x: m(x) + weft.rand(4))
    r = [c(weft.ones(4))]
    m.eval()
    r.append(c(weft.ones(4)))
    m.train()
    m.p = 0.0
    r.append(c(weft.ones(4)))
    m.p = 1.0
    r.append(c(weft.ones(4)))
    return r, weft.rand(2)


@prog
def warnings_filters_and_registry(C):
    def f(x, n):
        y = x + 1
        warnings.warn(f"w{n}", UserWarning)
        warnings.warn("dep", DeprecationWarning, stacklevel=2)
        return y * 2

    c = C(f)
    out = []
    for mode in ("always", "error", "ignore", "once", "default"):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter(mode)
            out.append([told(c, x0(), k) for k in (1, 1, 2)])
            out.append(
                [
                    (
                        str(w.message),
                        w.category.__name__,
                        w.lineno - f.__code__.co_firstlineno if "warn(f" in (w.line or "") else None,
                    )
                    for w in seen
                    if "Compiler" not in w.category.__name__
                ]
            )
    return out


@prog
def catch_warnings_inside(C):
    def f(x):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warnings.warn("inside")
            y = x + 1
        return y, [str(w.message) for w in seen]

    c = C(f)
    return c(x0()), c(x0())


@prog
def logging_levels_change(C):
    log = logging.getLogger("weft_test_logger")
    log.propagate = False
    seen = []

    class H(logging.Handler):
        def emit(self, r):
            seen.append((r.levelname, r.getMessage(), r.funcName))

    h = H()
    log.addHandler(h)

    def f(x, n):
        y = x + 1
        log.info("info %s", n)
        if log.isEnabledFor(logging.DEBUG):
            log.debug("debug %d", n)
        log.warning("warning")
        return y

    c = C(f)
    r = []
    for level in (logging.WARNING, logging.INFO, logging.DEBUG, logging.CRITICAL):
        log.setLevel(level)
        r.append(c(x0(), level))
    log.removeHandler(h)
    r.append(c(x0(), 1)) if False else None
    return r, seen


@prog
def print_order_with_effects(C):
    class A:
        def __repr__(self):
            return f"A{self.n}"

    def f(x, o):
        o.n = 1
        print("first", o, end=";", flush=True)
        o.n = 2
        print(o, sep="-")
        sys.stdout.write("w\n")
        print("err", file=sys.stderr)
        print(x + 1, x.shape)
        o.n = 3
        return x * o.n

    c = C(f)
    return c(x0(), A()), c(x0(), A())


@prog
def stdout_replaced_between(C):
    import io

    def f(x):
        print("p", x.shape[0])
        return x + 1

    c = C(f)
    a, b = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(a):
        c(x0())
    with contextlib.redirect_stdout(b):
        c(x0())
        c(weft.ones(2))
    return a.getvalue(), b.getvalue()
