"""How deep calls may nest while something is compiled: that is each thread's own affair."""

import contextlib
import subprocess
import sys

import weft
from dynamo import _eval_frame

DEEPER = '''
import sys, threading
import weft

deep, traced, found = threading.Event(), threading.Event(), []

def down(n):
    if n == 0:
        deep.set()
        traced.wait()
        return down(-1)
    return down(n - 1)

def other():
    try:
        down(2000)
    except RecursionError:
        found.append("RecursionError")
    deep.set()

@weft.library.custom_op("depths::twice", mutates_args=())
def twice(x: weft.Tensor) -> weft.Tensor:
    return x * 2

@twice.register_fake
def _(x):  # called while f is traced
    found.append(sys.getrecursionlimit())
    thread.start()
    deep.wait()
    return weft.empty_like(x)

@weft.compile(backend="eager")
def f(x):
    return twice(x)

thread = threading.Thread(target=other)
print(f(weft.ones(2)).tolist())
traced.set()
thread.join()
print(found)
'''


def test_threads_beside_one_that_compiles_keep_their_limit(tmp_path):
    """CPython ends a process one of whose threads is much deeper than the limit, which is what a limit that falls leads to."""
    (tmp_path / "program.py").write_text(DEEPER)
    ran = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=60)
    assert ran.stdout.split("\n") == ["[2.0, 2.0]", "[1000, 'RecursionError']", ""], ran.stderr


def at_depth(n, call):
    return at_depth(n - 1, call) if n else call()


def frames():
    """How many there are on the stack of the caller."""
    n, frame = -1, sys._getframe()
    while frame is not None:
        n, frame = n + 1, frame.f_back
    return n


def program(x):
    y = x.relu() + 1
    if y.sum() > 3:
        y = y * 2
    return y.softmax(0)


def test_a_program_near_its_limit_is_compiled():
    """The compiler does not use up what the program has left."""
    compiled, x = weft.compile(program, backend="eager"), weft.ones(3)
    compiled(x)
    weft.compiler.reset()
    found = at_depth(sys.getrecursionlimit() - frames() - 60, lambda: compiled(x))
    assert found.tolist() == program(x).tolist()
    assert _eval_frame.entries(program.__code__)


class Key:
    def __eq__(self, other):
        return type(other) is Key

    def __hash__(self):
        return 7


def test_guards_that_have_no_frames_left_ask_for_no_compilation():
    table, key = {Key(): 2.0}, Key()

    def looks_up(x):
        return x.relu() * table[key]

    compiled, x = weft.compile(looks_up, backend="eager"), weft.ones(3)
    assert compiled(x).tolist() == [2.0] * 3
    for left in range(1, 60):
        with contextlib.suppress(RecursionError):
            at_depth(sys.getrecursionlimit() - frames() - left, lambda: compiled(x))
    assert compiled(x).tolist() == [2.0] * 3
    assert len(_eval_frame.entries(looks_up.__code__)) == 1
