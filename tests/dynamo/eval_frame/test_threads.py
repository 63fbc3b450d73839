"""Several threads in compiled functions."""

import sys
import threading

from dynamo import _eval_frame
from dynamo._eval_frame import CompiledFunction
from dynamo.guards import TypeIs
from dynamo.source import Local
from tests.dynamo.eval_frame.toy import CONFIG, entry, recoded


def test_threads_compile_once_and_never_wait_for_each_other(toy):
    inside = threading.Event()
    go_on = threading.Event()

    def make(code, function, args, config):
        inside.set()
        assert go_on.wait(20)
        return entry(code, config, new=recoded(code, compiled="eager"))

    compiler = toy(make)

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    found = []
    first = threading.Thread(target=lambda: found.append(g(1)))
    first.start()
    assert inside.wait(20)
    assert g(1) == "eager" and g(x=1) == "eager"  # the other thread is compiling it
    go_on.set()
    first.join()
    assert found == ["compiled"] and g(1) == "compiled" and len(compiler.asked) == 1


def test_many_threads_with_windows_opening_and_closing(toy):
    def make(code, function, args, config):
        if code.co_name == "f":
            guards = [TypeIs(Local("x"), type(args["x"]))]
            return entry(code, config, guards, new=recoded(code, compiled="eager"), opens_window=True)
        return entry(code, config, new=recoded(code, compiled="eager"))

    toy(make)

    def leaf(y):
        return "eager", y

    def f(x, k=0):
        try:
            return "eager", leaf(x), [leaf(0)[1], leaf(1)[1]], 1 // k
        except ZeroDivisionError:
            return "eager", leaf(x), [leaf(0)[1], leaf(1)[1]], None

    g = CompiledFunction(f, CONFIG)
    wrong = []

    def work(value):
        for i in range(2000):
            found = g(value) if i % 3 else g(value, k=1)
            want = ("compiled", ("compiled", value), [0, 1], None if i % 3 else 1)
            if found != want and "eager" not in str(found):
                wrong.append(found)
            if leaf(value) != ("eager", value):
                wrong.append("captured outside")

    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(v,)) for v in (1, "a", 2.0, None)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(old)
    assert not wrong and not _eval_frame.is_open()
