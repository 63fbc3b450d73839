"""A thread that resets everything while another looks for the compiler takes nothing from under it."""

import subprocess
import sys

PROGRAM = """
import weft
from dynamo import _eval_frame, convert_frame

held = []

class Compiler:
    def __getattr__(self, name):
        weft.compiler.reset()  # as another thread may, while this one imports the compiler
        held.extend({"number": i} for i in range(200))  # in the place of what was freed
        found = getattr(convert_frame, name)
        if name != "compile_frame":
            return found

        def compile_frame(code, function, args, config, record):
            assert all(record is not h for h in held), "the record was freed"
            return found(code, function, args, config, record)

        return compile_frame

def f(x):
    return x * 2 + 1

x = weft.arange(3.0)
assert weft.compile(f, backend="eager")(x).tolist() == [1, 3, 5]
_eval_frame.set_compiler(Compiler(), convert_frame.check_failed())
assert weft.compile(lambda x: x * 3, backend="eager")(x).tolist() == [0, 3, 6]
print("done")
"""


def test_a_reset_in_the_middle_of_asking_for_the_compiler():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "done", done.stderr
