"""Ctrl-C ends long kernels, eager and compiled, and what a handler computes meanwhile disturbs nothing."""

import signal

import pytest

import weft
from aten import _native
from tests.fuzz import children

HUGE = 2**42  # of one element, expanded: minutes of work on no memory


def one(*sizes, dtype=weft.float32):
    return weft.ones(1, dtype=dtype).expand(sizes)


CALLS = {
    "a sum": lambda: one(HUGE).sum(),
    "a product in float64": lambda: one(HUGE, dtype=weft.float64).prod(),
    "a sum of integers": lambda: one(HUGE, dtype=weft.int64).sum(),
    "a search": lambda: weft.zeros(1, dtype=weft.bool).expand(HUGE).any(),
    "rows": lambda: one(2**36, 64).sum(0),
    "a matrix product": lambda: one(10, HUGE // 64) @ one(HUGE // 64, 10),
    "an elementwise write": lambda: weft.empty(1).expand(HUGE).fill_(1),
    "a complex product": lambda: one(HUGE, dtype=weft.complex64).prod(),
    "a complex sum": lambda: one(HUGE, dtype=weft.complex64).sum(),
    "a complex mean": lambda: one(HUGE, dtype=weft.complex64).mean(),
    "a complex variance": lambda: one(HUGE, dtype=weft.complex64).var(correction=0),
    "a complex logsumexp": lambda: one(HUGE, dtype=weft.complex64).logsumexp(0),
    "the range of a histogram": lambda: weft.histc(one(HUGE)),
    "counts": lambda: weft.bincount(one(HUGE, dtype=weft.int64)),
    "an iterated meta tensor": lambda: list(weft.empty(HUGE, device="meta")),
    "pieces of a meta tensor": lambda: weft.empty(HUGE, device="meta").split(1),
    "a degree of a polynomial": lambda: weft.special.legendre_polynomial_p(weft.ones(3) / 2, 2**40),
    "a dimension of mvlgamma": lambda: weft.mvlgamma(weft.ones(3000) * 2.0**50, 2**24),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", CALLS)
def test_a_signal_ends_the_call(name, threads):
    def work(progress):
        _native.set_num_threads(threads)
        progress.begin(name)
        try:
            CALLS[name]()
        except KeyboardInterrupt:
            return
        except MemoryError:
            return
        raise AssertionError("it ended by itself")

    assert children.run(work, interrupt=0.2, patience=8, memory=2 << 30).kind == "ended"


def test_a_handler_may_compute():
    a, b = weft.randn(700, 700), weft.randn(700, 700)
    want, small, inner = a @ b, a[:50] @ b, []

    def handler(*_):
        inner.append(a[:50] @ b)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        for _ in range(40):
            assert (a @ b).equal(want)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert inner and all(i.equal(small) for i in inner)


def test_a_compiled_call_is_interrupted():
    f = weft.compile(lambda x: (x * 2 + 1).sum(), fullgraph=True)
    x = one(2**40)
    f(one(2**20).clone().expand(2**20))

    def work(progress):
        progress.begin("compiled")
        try:
            f(x)
        except (KeyboardInterrupt, MemoryError):
            return
        raise AssertionError("it ended by itself")

    outcome = children.run(work, interrupt=0.2, patience=30)
    assert outcome.kind == "ended", outcome
