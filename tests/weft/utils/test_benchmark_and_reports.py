"""benchmark.Timer, collect_env, and parts that need what is not there."""

from __future__ import annotations

import sys

import pytest

import weft as torch
from weft.utils import benchmark, collect_env


def test_a_timer_counts_its_calls():
    calls = []
    timer = benchmark.Timer("f(x)", globals={"f": calls.append, "x": 1}, label="append", num_threads=1)
    found = timer.timeit(100)
    assert found.number_per_run == 100 and len(calls) == 102 and found.median > 0 and found.mean == found.median
    text = repr(found)
    assert "append" in text and "1 measurement, 100 runs per measurement, 1 thread" in text
    seen = []
    found = timer.blocked_autorange(callback=lambda n, t: seen.append(n), min_run_time=0.01)
    assert len(found.times) == len(seen) and found.iqr >= 0
    assert benchmark.Timer("torch.ones(2)").adaptive_autorange(min_run_time=0.001, max_run_time=0.05).times
    with pytest.raises(ValueError, match="Currently only a `str` stmt"):
        benchmark.Timer(lambda: 1)
    with pytest.raises(ValueError, match="only Python can be timed"):
        benchmark.Timer("1", language="c++")


def test_measurements_of_one_statement_merge():
    make = lambda t: benchmark.Measurement(10, [t], benchmark.TaskSpec("f()"))
    (one,) = benchmark.Measurement.merge([make(1.0), make(3.0), make(2.0)])
    assert one.times == [0.1, 0.3, 0.2] and one.median == 0.2 and one.iqr == pytest.approx(0.1)
    assert "Median: 200.00 ms" in repr(one) and "WARNING" in repr(one)


def test_the_environment_is_told():
    text = collect_env.get_pretty_env_info()
    assert f"weft version: {torch.version.weft}" in text and "numpy==" in text and "CPU:" in text


def test_extensions_in_cpp_are_refused_with_what_to_do_instead():
    from weft.utils import cpp_extension

    for make in (cpp_extension.load, cpp_extension.CppExtension, cpp_extension.BuildExtension):
        with pytest.raises(RuntimeError, match="weft.library.custom_op"):
            make(name="x", sources=[])
    with pytest.raises(OSError, match="cannot load libraries that were built for PyTorch"):
        torch.ops.load_library("x.so")


def test_tensorboard_needs_its_package(monkeypatch):
    for name in [n for n in sys.modules if n.startswith(("tensorboard", "weft.utils.tensorboard"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install weft\[tensorboard\]"):
        torch.utils.tensorboard  # noqa: B018


def test_dlpack_and_hooks():
    x = torch.arange(3)
    assert torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)).tolist() == [0, 1, 2]
    from weft.utils.hooks import RemovableHandle

    assert isinstance(torch.nn.Identity().register_forward_hook(print), RemovableHandle)
