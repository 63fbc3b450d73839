"""Packages that are left to Python with all that they call, and packages that users add."""

import gc
import importlib
import sys
import types

import pytest

import weft
from dynamo import caller, config
from dynamo.convert_frame import counters


def make_package(name: str):
    """A module with Python functions that loop and call back."""
    module = types.ModuleType(name)
    exec(
        "def score(x, f):\n"
        "    total = 0\n"
        "    for i in range(3):\n"
        "        total = total + step(i) + f(x).sum()\n"
        "        print(end='')\n"
        "    return total\n"
        "def step(i):\n"
        "    return i * 2\n",
        module.__dict__,
    )
    sys.modules[name] = module
    return module


def test_a_package_added_by_the_user_is_left_to_python_with_what_it_calls(monkeypatch):
    package = make_package("weft_test_package")
    monkeypatch.setattr(config, "libraries", config.libraries | {"weft_test_package"})
    x = weft.ones(3)

    def f(x):
        return package.score(x * 2, lambda v: v + 1) * 2

    plain = f(x)
    gc.collect()  # finalizers of other tests are frames as well
    counters.clear()
    compiled = weft.compile(f, backend="eager")
    assert weft.equal(compiled(x), plain) and weft.equal(compiled(x), plain)
    assert counters["frames"] == 3, "f, the library's function, and what follows it in f; nothing below"
    assert counters["breaks"] == 1


def test_well_known_libraries_are_on_the_list():
    assert {"pandas", "sklearn", "matplotlib", "scipy", "tqdm", "numpy"} <= config.libraries


def test_a_warning_about_a_library_names_the_users_line_and_the_remedy(tmp_path, monkeypatch):
    (tmp_path / "weft_test_installed.py").write_text("def scaled(x, n):\n    return x * float(str(n))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    folders = (*caller.installed(), str(tmp_path))
    monkeypatch.setattr(caller, "installed", lambda: folders)
    monkeypatch.setattr(config, "recompile_limit", 2)
    library = importlib.import_module("weft_test_installed")

    compiled = weft.compile(library.scaled, backend="eager")
    with pytest.warns(match=r"It was called by .*test_libraries.py:\d+, in .*compiled\(weft.ones\(2\), n\).*disable"):
        for n in ("1", "2", "3", "4"):
            assert compiled(weft.ones(2), n)[0] == float(n)


def test_a_package_of_the_program_may_have_a_name_of_ours(monkeypatch):
    name = "inductor.of_the_program"
    module = types.ModuleType(name)
    exec("def double(x):\n    return x * 2\n\ndef outer(x):\n    return double(x) + 1\n", module.__dict__)
    monkeypatch.setitem(sys.modules, name, module)
    seen = []
    compiled = weft.compile(module.outer, backend=lambda gm, _: seen.append(gm) or gm.forward, fullgraph=True)
    assert compiled(weft.ones(2)).tolist() == [3, 3] and len(seen) == 1
