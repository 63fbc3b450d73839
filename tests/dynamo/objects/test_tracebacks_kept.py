"""Exceptions that were raised, caught and kept while tracing have the traceback that plain Python gives them."""

import traceback

import pytest

import weft

x = weft.ones(3)


class Coded(Exception):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code


def raising(code):
    raise Coded(code)


def catching(kept, code):
    try:
        raising(code)
    except Coded as e:
        kept.append(e)


def in_the_frame(x, kept):
    try:
        raise Coded(1)
    except Coded as e:
        kept.append(e)
    return x + 1


def through_a_call(x, kept):
    try:
        raising(2)
    except Coded as e:
        kept.append(e)
    return x + 1


def in_a_call(x, kept):
    catching(kept, 3)
    return x + 1


def never_raised(x, kept):
    kept.append(Coded(4))
    return x + 1


def before_a_break(x, kept):
    try:
        raising(5)
    except Coded as e:
        kept.append(e)
    y = x + 1
    print(end="")
    return y * 2


def in_the_handler(x, kept):
    try:
        raising(6)
    except Coded as e:
        print(end="")
        kept.append(e)
    return x + 1


@pytest.mark.parametrize(
    "f", [in_the_frame, through_a_call, in_a_call, never_raised, before_a_break, in_the_handler], ids=lambda f: f.__name__
)
def test_what_is_kept_has_its_traceback(f):
    def seen(g):
        kept: list = []
        y = g(x, kept)
        (e,) = kept
        return y.tolist(), e.code, str(e), e.__context__, [(t.name, t.lineno) for t in traceback.extract_tb(e.__traceback__)]

    compiled = weft.compile(f, backend="eager")
    for _ in range(2):
        assert seen(compiled) == seen(f)
