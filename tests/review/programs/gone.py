"""Names, attributes and items that are gone at the next call: what comes before them has happened."""

import weft
from tests.review.harness import brk, prog, told_whole, x0


@weft.compiler.disable
def left(*a):
    return 1


LEFT = left


@prog
def names_gone_after_effects(C):
    log = []

    class O:
        pass

    o = O()
    o.fn = left
    l = [left]
    d = {"fn": left}
    fn = left

    def f(x, w):
        log.append(("start", w))
        try:
            if w == 0:
                fn()
            if w == 1:
                o.fn()
            if w == 2:
                l[0]()
            if w == 3:
                d["fn"]()
            if w == 4:
                LEFT()
            if w == 5:
                O.fn()
        except Exception as e:
            log.append((type(e).__name__, str(e)))
        finally:
            log.append("fin")
        return x + 1

    c = C(f)
    O.fn = left
    r = [c(x0(), w) for w in range(6)]
    global LEFT
    del o.fn, l[0], d["fn"], fn, LEFT, O.fn
    r += [c(x0(), w) for w in range(6)]
    o.fn = left
    l.append(left)
    d["fn"] = left
    fn = LEFT = left
    O.fn = left
    r += [c(x0(), w) for w in range(6)]
    return r, log


@prog
def names_gone_before_use(C):
    log = []

    class O:
        pass

    o = O()
    o.k = object()

    def f(x):
        log.append(1)
        brk()
        log.append(2)
        return x + 1, o.k is None

    def g(x):
        log.append(3)
        left(o.k)
        return x

    c, d = C(f), C(g)
    r = [c(x0()), d(x0())]
    del o.k
    r += [told_whole(c, x0())[:2], told_whole(d, x0())[:2]]
    o.k = None
    r += [c(x0()), d(x0())]
    return r, log
