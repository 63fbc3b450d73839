"""The joined file of compiled code: what is taken from it is what would be loaded without it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aten import _native

ROOT = Path(__file__).parents[2]
# A program with a package of its own in the place of weft's: it says from where each module was loaded.
SHOWN = """import pack.a, pack.sub.b
print(pack.a.value, pack.sub.b.value, *[type(m.__loader__).__name__ for m in (pack, pack.a, pack.sub, pack.sub.b)])"""
PROGRAM = """
import sys
sys.path[:0] = [{root!r}]
from weft.joined import Joined
import weft.joined as joined
joined.PACKAGES, joined.MANY = ("pack",), 1
del sys.modules["weft.joined"], sys.modules["weft"]
sys.path[0] = {folder!r}
finder = Joined({folder!r}, {file!r})
sys.meta_path.insert(0, finder)
import pack.a, pack.sub.b
print(pack.a.value, pack.sub.b.value, *[type(m.__loader__).__name__ for m in (pack, pack.a, pack.sub, pack.sub.b)])
{more}
finder.renew()
"""
PLAIN, TAKEN = "SourceFileLoader", "_Loader"


@pytest.fixture
def program(tmp_path):
    folder = tmp_path / "tree"
    (folder / "pack" / "sub").mkdir(parents=True)
    for name, text in (("__init__", ""), ("a", "value = 1\n"), ("sub/__init__", ""), ("sub/b", "def f(): 1 / 0\nvalue = 2\n")):
        (folder / "pack" / f"{name}.py").write_text(text)

    def run(more: str = "", *flags: str, instead: str = "") -> str:
        text = PROGRAM.format(root=str(ROOT), folder=str(run.folder), file=str(tmp_path / "joined"), more=more)
        if instead:
            text = text.replace(SHOWN, instead)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run([sys.executable, *flags, "-c", text], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")

    run.folder, run.file = folder, tmp_path / "joined"
    return run


def test_the_second_process_takes_what_the_first_loaded(program):
    assert program() == f"1 2 {' '.join([PLAIN] * 4)}"
    assert program() == f"1 2 {' '.join([TAKEN] * 4)}"


def test_an_edited_file_is_loaded_anew(program):
    program()
    path = program.folder / "pack" / "a.py"
    before = path.stat()
    path.write_text("value = 7\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert program() == f"7 2 {TAKEN} {PLAIN} {TAKEN} {TAKEN}"
    assert program() == f"7 2 {' '.join([TAKEN] * 4)}"


def test_the_code_of_an_edited_file_that_was_not_loaded_is_not_kept(program):
    program()
    path = program.folder / "pack" / "a.py"
    before = path.stat()
    path.write_text("value = 9\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    (program.folder / "pack" / "c.py").write_text("")
    program(instead="import pack.c")
    assert program() == f"9 2 {TAKEN} {PLAIN} {TAKEN} {TAKEN}"
    assert program() == f"9 2 {' '.join([TAKEN] * 4)}"


def test_a_file_that_became_a_package(program):
    program()
    (program.folder / "pack" / "a.py").unlink()
    (program.folder / "pack" / "a").mkdir()
    (program.folder / "pack" / "a" / "__init__.py").write_text("value = 8\n")
    assert program() == f"8 2 {TAKEN} {PLAIN} {TAKEN} {TAKEN}"
    assert program() == f"8 2 {' '.join([TAKEN] * 4)}"


@pytest.mark.parametrize("damage", [b"", b"x" * 100, None])
def test_a_damaged_file_is_none(program, damage):
    program()
    program.file.write_bytes(program.file.read_bytes()[:30] if damage is None else damage)
    assert program() == f"1 2 {' '.join([PLAIN] * 4)}"
    assert program() == f"1 2 {' '.join([TAKEN] * 4)}"


def test_nothing_is_written_where_python_writes_no_code(program):
    program("", "-B")
    assert not program.file.exists()


def test_tracebacks_sources_and_reloads(program):
    program()
    more = """
import importlib, inspect, pkgutil, traceback
assert inspect.getsource(pack.sub.b.f) == "def f(): 1 / 0\\n"
assert pack.sub.b.__cached__.endswith(".pyc") and pack.sub.__path__ == [pack.sub.__file__.rpartition("/")[0]]
assert pkgutil.get_data("pack", "a.py") == b"value = 1\\n"
try: pack.sub.b.f()
except ZeroDivisionError: assert "def f(): 1 / 0" in traceback.format_exc()
assert importlib.reload(pack.a).value == 1
"""
    assert program(more) == f"1 2 {' '.join([TAKEN] * 4)}"


def test_weft_is_loaded_from_it():
    program = """
import sys, weft
weft.nn.Linear
print([type(m.__spec__.loader).__name__ for m in sys.modules.values() if getattr(m, "__spec__", None)].count("_Loader"))
"""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", program]
    outputs = [subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=True) for _ in range(2)]
    assert int(outputs[1].stdout) > 90


def test_paths_of_the_pyc_files_are_those_that_python_gives(program):
    shown = "import sys, pack.a\nfrom importlib.util import cache_from_source\nmodules = pack, pack.a\n"
    shown += "print(*[(m.__cached__ or m.__spec__.cached) == cache_from_source(m.__file__) for m in modules])"
    for flags in ((), ("-O",), ("-X", f"pycache_prefix={program.folder}/elsewhere")):
        Path(program.file).unlink(missing_ok=True)
        program("", *flags)
        assert program("", *flags, instead=shown) == "True True"


def test_code_from_a_folder_that_was_moved_names_where_it_lies(program):
    program()
    program.folder = program.folder.rename(program.folder.with_name("moved"))
    text = "import pack.sub.b as b\nprint(b.f.__code__.co_filename, type(b.__loader__).__name__)"
    assert program(instead=text) == f"{program.folder}/pack/sub/b.py {TAKEN}"


def test_the_collector_does_not_walk_constants_of_code():
    text = """
values = {1, 2}
def f(x):
    def g(y=(1, (2, "three"))):
        return y in {frozenset: 4}, x in {5, 6}, (7, (8, None))
    return g
"""
    code = compile(text, "f", "exec")
    inner = next(c for c in code.co_consts if hasattr(c, "co_consts"))
    innermost = next(c for c in inner.co_consts if hasattr(c, "co_consts"))
    assert gc.is_tracked(innermost.co_names)
    _native.untrack_constants(code)
    assert not any(gc.is_tracked(t) for c in (code, inner) for t in (c.co_names, c.co_consts))
    assert not gc.is_tracked(innermost.co_names)
    assert gc.is_tracked(innermost.co_consts)  # as a frozenset is among them, in which the collector sees what it could free
    _native.untrack_constants(code)
    with pytest.raises(TypeError, match="not a code object"):
        _native.untrack_constants(1)


def test_constants_of_what_a_start_loads_are_not_walked():
    text = "import gc, weft.nn\nprint(gc.is_tracked(weft.nn.Module.__init__.__code__.co_names), type(weft.nn.__loader__).__name__)"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert done.stdout.split() == ["False", "_Loader"], done.stderr
