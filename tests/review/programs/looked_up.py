"""Special methods on the object itself, empty cells, nan as a key, namespaces, texts and errors of subclasses."""

import collections
import math
import operator
import types

import weft
from tests.review.harness import prog, times, x0


class EverySpecial:
    """Defines special methods of every family: an instance's own attributes of those names count for nothing."""

    def __hash__(self):
        return 1

    def __eq__(self, o):
        return True

    def __index__(self):
        return 1

    def __next__(self):
        return 5

    def __iter__(self):
        return self

    def __round__(self, n=None):
        return 3

    def __fspath__(self):
        return "p"

    def __len__(self):
        return 2

    def __bool__(self):
        return False

    def __contains__(self, v):
        return True

    def __getitem__(self, k):
        return 9

    def __add__(self, o):
        return 1

    def __neg__(self):
        return 2

    def __call__(self):
        return 3

    def __float__(self):
        return 1.5

    def __int__(self):
        return 4

    def __complex__(self):
        return 1j

    def __abs__(self):
        return 7

    def __divmod__(self, o):
        return 8

    def __reversed__(self):
        return iter([1])

    def __format__(self, s):
        return "f"

    def __str__(self):
        return "s"

    def __repr__(self):
        return "r"

    def __enter__(self):
        return 1

    def __exit__(self, *a):
        return None

    def __length_hint__(self):
        return 3

    def __trunc__(self):
        return 6

    def __floor__(self):
        return 6

    def __ceil__(self):
        return 6

    def __dir__(self):
        return ["z"]

    def __instancecheck__(self, o):
        return True

    def __bytes__(self):
        return b"q"

    def __setitem__(self, k, v):
        pass

    def __delitem__(self, k):
        pass

    def __iadd__(self, o):
        return self

    def __lt__(self, o):
        return True

    def __ne__(self, o):
        return False

    def __pos__(self):
        return 0

    def __matmul__(self, o):
        return "mm"


@prog
def special_on_instance(C):
    import os

    def f(x, o):
        out = [
            hash(o) if hash(o) < 1 << 20 else "of its address",
            {o: 1}[o],
            [1, 2, 3][o],
            next(o),
            round(o),
            os.fspath(o),
            len(o),
            bool(o),
            3 in o,
            o[0],
            o + 1,
            -o,
            o(),
            float(o),
            int(o),
            complex(o),
            abs(o),
            divmod(o, 1),
            list(reversed(o)),
            format(o),
            str(o),
            repr(o),
            math.trunc(o),
            math.floor(o),
            math.ceil(o),
            dir(o),
            isinstance(3, o),
            bytes(o),
            o < 1,
            o != o,
            +o,
            o @ 1,
        ]
        with o as q:
            out.append(q)
        o[0] = 1
        del o[0]
        for v in o:
            out.append(v)
            break
        return x + 1, out

    c = C(f)
    r = [c(x0(), EverySpecial())]
    k = EverySpecial()
    for n in sorted(vars(EverySpecial)):
        if n.startswith("__") and n not in ("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__"):
            setattr(k, n, lambda *a: 100)
    r.append(c(x0(), k))
    return r


@prog
def empty_cells(C):
    def f(x):
        def g():
            try:
                return given
            except NameError as e:
                return str(e)

        return x + 1, g()

    def outer(x):
        try:
            return x * given2
        except NameError as e:
            return str(e)

    c = C(f)
    d = C(outer)
    r = []
    given = 1
    given2 = 1
    r += [c(x0()), d(x0())]
    del given, given2
    r += [c(x0()), d(x0())]
    given = given2 = 7
    r += [c(x0()), d(x0())]
    del given, given2
    r += [c(x0()), d(x0())]
    given = given2 = 8
    r += [c(x0()), d(x0())]
    return r


@prog
def nan_keys(C):
    nan = float("nan")
    d = {nan: "n", 1.0: "o"}
    s = {nan}

    def f(x, k):
        return x + 1, d.get(k), k in d, k in s, k in (nan,), k in [nan], (k,) == (nan,), [k].count(nan), {k: 1}.get(k), len({k, k})

    return times(C, f, (x0(), nan), (x0(), float("nan")), (x0(), 1.0), (x0(), nan), (x0(), float("nan")))


@prog
def nan_stored(C):
    d = {}

    def f(x):
        d[float("nan")] = 1
        return x * len(d)

    return times(C, f, (x0(),), (x0(),), (x0(),))


@prog
def namespaces(C):
    class N(types.SimpleNamespace):
        def __init__(self, v=1):
            self.__dict__.update(w=v)

    class M(type):
        def __len__(cls):
            return 3

    class Q(types.SimpleNamespace, metaclass=M):
        pass

    def f(x, n):
        o = N(n)
        p = Q(a=n)
        p.__dict__["b"] = 2
        q = types.SimpleNamespace(c=3)
        q.__dict__["d"] = n
        return o, p, q, x * o.w + p.b + q.d, vars(q) is q.__dict__

    return times(C, f, (x0(), 1), (x0(), 2))


@prog
def a_hook_on_attributes_that_namespaces_do_not_ask(C):
    class Q(types.SimpleNamespace):
        pass

    def f(x, n):
        p = Q(a=n)
        return p, x * p.a

    out = times(C, f, (x0(), 1), (x0(), 2))
    c = C(f)
    c(x0(), 1)
    Q.__setattr__ = lambda self, name, value: object.__setattr__(self, name, 50)
    return *out, c(x0(), 1)


@prog
def deque_subclass_text(C):
    class D(collections.deque):
        def __init__(self, v=1):
            pass

        def __iter__(self):
            return iter([1, 2])

    class L(list):
        def __iter__(self):
            return iter([7])

    class S(set):
        def __iter__(self):
            return iter([7])

    class DC(dict):
        def __iter__(self):
            return iter([7])

        def keys(self):
            return [8]

        def items(self):
            return [(9, 9)]

    class OD(collections.OrderedDict):
        def items(self):
            return [("a", 5)]

    class T(tuple):
        def __iter__(self):
            return iter([7])

    class CT(collections.Counter):
        def items(self):
            return [("a", 5)]

    def f(x, o):
        return x + 1, repr(o), str(o), f"{o}"

    return times(C, f, *((x0(), o) for o in (D(), L([1]), S([1]), DC(a=1), OD(b=1), T((1,)), CT("a"))))


@prog
def iterate_while_changing(C):
    def f(x, d):
        out = []
        it = iter(d)
        d["g"] = 1
        print("mid")
        try:
            out.append(list(it))
        except RuntimeError as e:
            out.append(str(e))
        return x, out

    def g(x, d):
        it = iter(d)
        d["g"] = 1
        del d["g"]
        print("mid")
        return x, list(it)

    def h(x, d):
        try:
            for k in d.items():
                d.pop("a", None)
                d |= {"u": 1}
            return x, undefined_name
        except Exception as e:
            return x, type(e).__name__, str(e), d

    return (
        times(C, f, (x0(), {"a": 1}), (x0(), {"a": 1}), (x0(), {"g": 2})),
        times(C, g, (x0(), {"a": 1}), (x0(), {"a": 1, "b": 2})),
        times(C, h, (x0(), {"a": 1}), (x0(), {"a": 1, "b": 2}), (x0(), {"u": 1, "b": 2})),
    )


class Cx(complex):
    pass


class I(int):
    pass


class S(str):
    pass


class L(list):
    pass


class D(dict):
    pass


class T(tuple):
    pass


class F(float):
    pass


OF_TWO = (
    max,
    min,
    operator.lt,
    operator.add,
    operator.sub,
    operator.mul,
    operator.getitem,
    operator.contains,
    operator.pow,
    operator.matmul,
    divmod,
    operator.truediv,
    operator.and_,
    operator.lshift,
    lambda a, b: sorted([a, b]),
    lambda a, b: a[0],
    lambda a, b: a(),
    lambda a, b: len(a),
    lambda a, b: next(a),
    lambda a, b: -a,
    lambda a, b: ~a,
    lambda a, b: abs(a),
    lambda a, b: hash(a),
    lambda a, b: int(a),
    lambda a, b: float(a),
    lambda a, b: a.zz,
    lambda a, b: [1][a],
    lambda a, b: range(a),
    lambda a, b: "x" + a,
    lambda a, b: [1] + a,
    lambda a, b: (1,) + a,
    lambda a, b: sum(a),
    lambda a, b: dict(a),
    lambda a, b: "%d" % a,
    lambda a, b: a % b,
    lambda a, b: reversed(a),
    lambda a, b: round(a),
    lambda a, b: a in 3,
    lambda a, b: setattr(a, "q", 1),
    lambda a, b: a.__setitem__,
    lambda a, b: operator.setitem(a, 0, 1),
    lambda a, b: operator.delitem(a, 0),
    lambda a, b: "".join(a),
    lambda a, b: isinstance(1, a),
    lambda a, b: chr(a),
    lambda a, b: bytes(a),
    lambda a, b: str.upper(a),
    lambda a, b: list.append(a, 1),
    lambda a, b: dict.get(a, 1),
    lambda a, b: int.bit_length(a),
    lambda a, b: math.sqrt(a),
    lambda a, b: complex(a),
    lambda a, b: a < b,
    lambda a, b: enumerate(a, b),
    lambda a, b: zip(a, b),
    lambda a, b: map(a, b),
)


@prog
def errors_name_the_class(C):
    def f(x, a, b):
        out = []
        for op in OF_TWO:
            try:
                r = op(a, b)
                out.append(type(r).__name__)
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return x + 1, out

    objs = [
        Cx(1),
        I(2),
        S("a"),
        L([1]),
        D(a=1),
        T((1,)),
        F(1.5),
        object(),
        None,
        1,
        "s",
        [1],
        (1,),
        {"k": 1},
        2.5,
        1j,
        b"q",
        {1},
        True,
    ]
    return times(C, f, *((x0(), o, p) for o in objs[:7] + objs[7::3] for p in ((o, 3) if o is objs[0] else (3,))))


@prog
def methods_of_tensors_put_back(C):
    def f(x):
        return x.relu() + 1, x.sum(0), x.view(2, 2), x.clone().sin_()

    class T(weft.Tensor):
        positive = weft.Tensor.relu

    class M(weft.nn.Module):
        act = weft.relu

        def forward(self, x):
            return self.act(x)

    c = C(f)
    out = [c(x0())]
    for name in ("relu", "sum", "view", "sin_"):
        before, original = getattr(weft.Tensor, name), weft.Tensor.__dict__[name]
        try:
            setattr(weft.Tensor, name, lambda self, *args: self * 100)
            out.append(c(x0()))
            setattr(weft.Tensor, name, before)
            out.append(c(x0()))
        finally:
            setattr(weft.Tensor, name, original)
        out.append(c(x0()))
    return out, C(M())(x0()), C(lambda t: t.positive())(x0().as_subclass(T)).tolist()
