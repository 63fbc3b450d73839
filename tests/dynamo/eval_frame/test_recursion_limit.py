"""How deep calls may nest while something is compiled: that is each thread's own affair."""

import subprocess
import sys

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
