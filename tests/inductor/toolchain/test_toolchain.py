"""The C++ compiler is found, run and reported on."""

import ctypes
import os
import signal
import stat

import pytest

from aten import settings
from inductor.codegen import toolchain

GOOD = 'extern "C" long answer() { return 42; }\n'


def test_compiles_a_translation_unit(tmp_path):
    path = toolchain.compile_shared(GOOD, str(tmp_path), "unit")
    assert ctypes.CDLL(path).answer() == 42
    assert sorted(os.listdir(tmp_path)) == ["unit.cpp", "unit.so"]


def test_units_compile_side_by_side(tmp_path):
    jobs = [toolchain.start(GOOD.replace("42", str(k)), str(tmp_path), f"u{k}") for k in range(3)]
    assert [ctypes.CDLL(j.wait()).answer() for j in jobs] == [0, 1, 2]


def test_several_units_become_one_library(tmp_path):
    """Each has its own static names; a symbol that every one of them makes, as instances of templates are, is one."""
    text = "static long own() {{ return {k}; }} template <class T> T both(T x) {{ return x + 1; }} " + GOOD.replace(
        "answer() { return 42; }", "answer{k}() {{ return both(own()); }}"
    )
    path = toolchain.compile_shared([text.format(k=k) for k in range(3)], str(tmp_path), "unit")
    library = ctypes.CDLL(path)
    assert [library[f"answer{k}"]() for k in range(3)] == [1, 2, 3]
    assert path == str(tmp_path / "unit.so") and not [n for n in os.listdir(tmp_path) if n.endswith(".err")]


def test_one_of_several_units_that_is_refused_ends_the_others(tmp_path):
    job = toolchain.start(["int f() { return no_such_name; }\n", SLOW, SLOW], str(tmp_path), "unit")
    for _ in range(2):  # there is no library at the second time either
        with pytest.raises(toolchain.CompileError, match="no_such_name"):
            job.wait()
    for run in job.runs:
        with pytest.raises(ChildProcessError):
            os.waitpid(run.pid, 0)


def test_what_the_compiler_said_is_in_the_error(tmp_path):
    with pytest.raises(toolchain.CompileError, match="no_such_name"):
        toolchain.compile_shared("int f() { return no_such_name; }\n", str(tmp_path))
    assert not any(n.endswith(".err") for n in os.listdir(tmp_path))


def test_an_abandoned_job_leaves_no_process(tmp_path):
    job = toolchain.start(GOOD, str(tmp_path), "gone")
    pid = job.runs[0].pid
    del job
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


DEEP = "template <int N> struct S{k} {{ S{k}<N - 1> s; int a[N]; }}; template <> struct S{k}<0> {{}}; S{k}<800> s{k};\n"
SLOW = "".join(DEEP.format(k=k) for k in range(20))  # seconds of work


@pytest.mark.parametrize("units", (1, 2))
@pytest.mark.parametrize("after", (1e-4, 0.05, 0.1, 0.3))
def test_an_interrupt_ends_the_compiler_before_its_folder_goes(after, units):
    def interrupt(*_):
        raise KeyboardInterrupt

    folder = toolchain.private_folder()
    before = signal.signal(signal.SIGALRM, interrupt)
    job = toolchain.start([SLOW] * units, folder, "slow")
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, after)
            job.wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for run in job.runs:
        with pytest.raises(ChildProcessError):
            os.waitpid(run.pid, 0)
    toolchain.remove_folder(folder)
    assert not os.path.exists(folder)


def test_the_first_line_names_libraries(tmp_path):
    source = '// link: m\nextern "C" double cbrt(double);\nextern "C" double root(double x) { return cbrt(x); }\n'
    assert toolchain.libraries(source) == ("-lm",)
    f = ctypes.CDLL(toolchain.compile_shared(source, str(tmp_path))).root
    f.restype, f.argtypes = ctypes.c_double, [ctypes.c_double]
    assert f(27.0) == pytest.approx(3.0)
    assert toolchain.libraries(GOOD) == ()


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with settings.patch(cxx=""), pytest.raises(toolchain.CompilerMissing, match="Install g"):
        toolchain.compiler()


def test_a_compiler_that_is_chosen(monkeypatch, tmp_path):
    with settings.patch(cxx=str(tmp_path / "c++")), pytest.raises(toolchain.CompilerMissing, match="WEFT_CXX"):
        toolchain.compiler()
    mine = tmp_path / "c++"
    mine.write_text(f'#!/bin/sh\nexec {toolchain.find()} "$@"\n')
    mine.chmod(0o755)
    with settings.patch(cxx=str(mine)):
        assert toolchain.compiler().path == str(mine)
        assert ctypes.CDLL(toolchain.compile_shared(GOOD, str(tmp_path), "mine")).answer() == 42


def test_a_compiler_that_does_not_run(tmp_path):
    broken = tmp_path / "g++"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    with settings.patch(cxx=str(broken)), pytest.raises(toolchain.CompilerMissing, match="does not start"):
        toolchain.compile_shared(GOOD, str(tmp_path), "unit")


def test_the_identity_changes_with_the_compiler(tmp_path):
    mine = tmp_path / "c++"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    with settings.patch(cxx=str(mine)):
        key = toolchain.compiler().key
    assert key != toolchain.compiler().key and "-O3" in key


def test_private_folders():
    path = toolchain.private_folder()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    open(os.path.join(path, "x"), "w").close()
    toolchain.remove_folder(path)
    assert not os.path.exists(path)


def test_results_keep_denormals(tmp_path):
    """No flag may switch the process to flush-to-zero."""
    toolchain.compile_shared(GOOD, str(tmp_path))
    ctypes.CDLL(str(tmp_path / "kernels.so"))
    assert 5e-324 / 1.0 != 0.0
