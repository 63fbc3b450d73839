"""What the programs of the Python fuzzer have at hand: modules, and helpers of their own."""

PRELUDE = """
import abc, collections, contextlib, contextvars, copy, dataclasses, enum, functools, itertools, math, operator, sys, types, typing
import numpy as np
import weft

notes = []

@weft.compiler.disable
def note(what):
    notes.append(repr(what)[:80])
    return what

Pair = collections.namedtuple("Pair", "left right", defaults=(5,))
VAR = contextvars.ContextVar("VAR", default=1)
TABLE = {"a": 1, "b": [1, 2]}
WORDS = {"x", "yy", "zzz"}
total = 0

class Describe:
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, obj, cls=None):
        return ("desc", cls.__name__) if obj is None else obj.__dict__.get(self.name, 0)
    def __set__(self, obj, v):
        obj.__dict__[self.name] = [v]

class Typed:
    def __init__(self, v):
        self.v = v
    def __get__(self, obj, cls=None):
        return self.v

class Meta(type):
    made = 0
    def __call__(cls, *a, **k):
        made = super().__call__(*a, **k)
        Meta.made += 1
        return made
    def __len__(cls):
        return 3
    def __contains__(cls, v):
        return v == 1
    def __getattr__(cls, name):
        if name == "magic":
            return 42
        raise AttributeError(name)

class Mixin:
    def m(self, n=1):
        return "mixin", n
    def __str__(self):
        return "mixed"

class Coded(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code

class Quiet(ValueError):
    def __str__(self):
        return "quiet"

def boom(n):
    if n == 1:
        raise ValueError("boom", n)
    if n == 2:
        raise Coded(n, "coded")
    if n == 3:
        raise KeyError("k")
    if n == 4:
        raise Quiet("q")
    return n

@contextlib.contextmanager
def managed(log):
    log.append("in")
    try:
        yield len(log)
    finally:
        log.append("out")

def counting(n, log):
    try:
        for i in range(n):
            got = yield i
            if got:
                log.append(got)
        return "end"
    finally:
        log.append("closed")

def chained(n, log):
    end = yield from counting(n, log)
    log.append(end)

def wrapped(fn):
    @functools.wraps(fn)
    def inner(*a, **k):
        return fn(*a, **k)
    return inner

@wrapped
def add(a, b=2, *rest, c=3, **more):
    return a + b + c + len(rest) + len(more)

@functools.singledispatch
def kind(v):
    return "any"

@kind.register
def _(v: int):
    return "int"

@functools.lru_cache(None)
def squared(n):
    return n * n

def make_counter(n):
    def step(k=1):
        nonlocal n
        n += k
        return n
    return step

def make_pair(n):
    def put(k):
        nonlocal n
        n = k
    def get():
        return n
    return put, get

COUNTERS = [make_counter(1), make_counter(1), make_counter(7)]
PAIRS = [*make_pair(1), *make_pair(1)]

class Restored:
    def __init__(self, log, swallow):
        self.log, self.swallow = log, swallow
    def __enter__(self):
        self.log.append("+")
        return self.log.append
    def __exit__(self, kind, value, tb):
        self.log.append(kind and kind.__name__)
        return self.swallow and kind is not None and issubclass(kind, self.swallow)

def asking(log):
    total = 0
    while True:
        try:
            got = yield total
            if got is None:
                return total
            total += got
        except ValueError as e:
            log.append(e.args)
            total = -1
        finally:
            log.append(total)
"""
