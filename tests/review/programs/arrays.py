"""NumPy."""

import numpy as np

import weft
from tests.review.harness import norm, prog


def nrm(v):
    if isinstance(v, np.ndarray):
        return ("A", str(v.dtype), v.shape, v.flags.c_contiguous, v.tolist())
    if isinstance(v, np.generic):
        return ("G", str(v.dtype), v.item())
    if isinstance(v, (list, tuple)):
        return type(v)(map(nrm, v))
    return v


@prog
def numpy_basic(C):
    def f(a, b):
        c = np.sqrt((a - b) ** 2).sum(axis=-1)
        d = np.where(a > b, a, b).mean()
        e = a.T @ b
        g = np.concatenate([a, b], axis=0)[::2]
        h = np.arange(3) / 2
        i = np.linspace(0, 1, 5).astype(np.float32)
        return c, d, e, g, h, i, a.max(), a.argmax(), a.reshape(-1)[1], np.exp(a)[0, 1], a.dtype.name, a.shape

    a, b = np.arange(6.0).reshape(2, 3), np.ones((2, 3)) * 2
    return repr(nrm(C(f)(a, b)))


@prog
def numpy_inplace(C):
    def f(a):
        a += 1
        a[0] = 5
        b = a[1:]
        b *= 2
        return a, b

    a = np.arange(4.0)
    r = C(f)(a)
    return repr(nrm(r)), a.tolist(), r[0] is a, np.shares_memory(r[1], a)


@prog
def numpy_types(C):
    def f(a, s):
        return (
            a + 1,
            a * 2.5,
            a // 2,
            a % 3,
            -a,
            a**2,
            a / 2,
            a == 2,
            a & 1 if a.dtype.kind in "iu" else a,
            a + s,
            np.add(a, s),
            a.sum(),
            a.astype(np.int8),
        )

    f = C(f)
    out = []
    for dt in (np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64):
        for s in (2, np.float32(2), np.int64(3)):
            try:
                out.append(repr(nrm(f(np.array([1, 2, 100], dt), s))))
            except Exception as e:
                out.append((type(e).__name__, str(e)[:60]))
    return out


@prog
def numpy_scalars_out(C):
    def f(a):
        m = a.mean()
        return m, float(m), type(m).__name__, m.dtype, a[0], isinstance(a[0], np.floating), a.sum() > 2

    return repr(nrm(C(f)(np.arange(4.0))))


@prog
def numpy_random(C):
    def f(a):
        return a + np.random.rand(3)

    np.random.seed(0)
    f = C(f)
    return repr(nrm((f(np.zeros(3)), f(np.zeros(3)))))


@prog
def numpy_branch(C):
    def f(a):
        if a.sum() > 3:
            return a * 2
        for i in range(a.shape[0]):
            if a[i] > 1:
                a[i] = 0
        return a

    f = C(f)
    return repr(nrm((f(np.arange(4.0)), f(np.arange(3.0) / 3))))


@prog
def numpy_torch_mix(C):
    def f(x, a):
        y = weft.from_numpy(a) + x
        return y.numpy() * 2, weft.tensor(a), np.asarray(a) + 1, x + a[0]

    return repr([nrm(v) if not isinstance(v, weft.Tensor) else norm(v) for v in C(f)(weft.arange(3.0).double(), np.arange(3.0))])


@prog
def numpy_noncontig_guard(C):
    f = C(lambda a: (a * 2, a.flags.c_contiguous, a.strides, a.T + 1))
    a = np.arange(6.0).reshape(2, 3)
    return repr(nrm((f(a), f(a.T), f(a[::-1]), f(a[:, ::2]), f(np.asfortranarray(a)))))


@prog
def extremes_of_integers_that_change(C):
    def f(x, k, m):
        return nrm((x + 1, max(k, m), min(k, m), max([k, 7]), min((k, m), key=lambda v: -v)))

    c = C(f)
    return [c(np.ones(2), np.int64(k), np.int64(9)) for k in (1, 2, 3, 12)]
