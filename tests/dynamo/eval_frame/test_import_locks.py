"""Imports that captured code does, while other threads import: nothing is compiled under the import system's locks."""

import subprocess
import sys

IMPORTS = '''
import _imp, importlib, sys, threading, types
import weft
from dynamo.callback import on_compile_start

held, told, begun = [], threading.Event(), threading.Event()
sys.modules["signs"] = types.SimpleNamespace(begun=begun, told=told)

def compiling():
    if _imp.lock_held():
        held.append(1)
        told.set()
        import slow

on_compile_start(compiling)

@weft.compile(backend="eager")
def f(x):
    return x + importlib.import_module("other").VALUE

importing = threading.Thread(target=lambda: __import__("slow"))
importing.start()
begun.wait()
print(f(weft.ones(2)).tolist())
told.set()
importing.join()
print(len(held))
'''


def test_an_import_in_captured_code_does_not_wait_for_an_import_of_another_thread(tmp_path):
    """`slow` is being imported, and goes on once f has imported `other` (or compiles, under their lock, what waits for `slow`)."""
    (tmp_path / "slow.py").write_text("import signs\nsigns.begun.set()\nsigns.told.wait()\nimport third\n")
    (tmp_path / "third.py").write_text("")
    (tmp_path / "other.py").write_text("VALUE = 2\n")
    (tmp_path / "program.py").write_text(IMPORTS)
    ran = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=60)
    assert ran.stdout.split("\n") == ["[3.0, 3.0]", "0", ""], ran.stderr
