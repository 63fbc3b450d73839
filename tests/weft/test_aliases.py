"""Packages under other names."""

import importlib
import subprocess
import sys

import pytest

import weft


def test_a_module_does_not_hide_the_function_of_its_name():
    module = importlib.import_module("weft.autograd.gradcheck")
    assert callable(weft.autograd.gradcheck) and module.gradcheck is weft.autograd.gradcheck


def test_a_folder_of_the_program_with_the_name_of_a_package_is_not_taken_for_it(tmp_path):
    for name in ("dynamo", "inductor"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('not this one')")
    program = "import weft, sys; sys.path.insert(0, sys.argv[1]); weft.nn.Linear(1, 1), weft._inductor.counters"
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_old_names_of_functorch_say_where_they_live():
    from weft import functorch

    one = weft.ones(1)
    args = {"vjp": (weft.sin, one), "jvp": (weft.sin, (one,), (one,))}
    for name in ("grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "grad_and_value", "functionalize", "vmap"):
        home = "torch.vmap" if name == "vmap" else f"torch.func.{name}"
        with pytest.warns(FutureWarning, match=f"Please use `{home}`"):
            getattr(functorch, name)(*args.get(name, (weft.sin,)))
