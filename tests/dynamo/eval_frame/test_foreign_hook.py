"""A frame hook of somebody else above or below ours: neither calls the other for ever, and frames are captured as before.

Each program runs in a process of its own: such hooks are the interpreter's.
"""

import pathlib
import shlex
import subprocess
import sys
import sysconfig

import pytest

SOURCE = pathlib.Path(__file__).with_name("foreign_hook.c")

START = """
import sys
sys.path.insert(0, {folder!r})
import foreign_hook, weft
from dynamo import _eval_frame

@weft.compile(backend="eager")
def f(x, act):
    y = x + 1
    act()
    return y * 2

def leaf(x):
    return x * 3

@weft.compile(backend="eager")
def g(x):
    print(end="")
    return leaf(x) + 1

x = weft.ones(2)
def both(act):
    assert f(x, act).tolist() == [4, 4] and g(x).tolist() == [4, 4]
both(list)
"""

PROGRAMS = {
    "installed outside of a window": """
foreign_hook.install()
both(list)
foreign_hook.uninstall()
both(list)
""",
    "installed inside of a window": """
both(foreign_hook.install)
for _ in range(5):
    both(list)
before = foreign_hook.seen()
leaf(x)
assert foreign_hook.seen() > before
""",
    "installed in every window": """
for _ in range(20):
    both(foreign_hook.install)
both(list)
""",
    "installed inside, taken out outside": """
for _ in range(5):
    both(foreign_hook.install)
    foreign_hook.uninstall()
    both(list)
""",
    "installed outside, taken out inside": """
for _ in range(5):
    foreign_hook.install()
    both(foreign_hook.uninstall)
    both(list)
""",
    "new functions are captured below it": """
foreign_hook.install()
def h(x):
    print(end="")
    return leaf(x) - 1
c = weft.compile(h, backend="eager")
assert c(x).tolist() == [2, 2] and len(_eval_frame.entries(h.__code__)) == 1
assert c(x).tolist() == [2, 2]
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("hook")
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    out = where / f"foreign_hook{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_paths()["include"]
    subprocess.run([*compiler, "-shared", "-fPIC", "-O1", f"-I{include}", str(SOURCE), "-o", str(out)], check=True)
    return str(where)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hook_of_somebody_else(folder, name):
    program = START.format(folder=folder) + PROGRAMS[name] + "\nprint('done')\n"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0 and ran.stdout.strip() == "done", ran.stderr
