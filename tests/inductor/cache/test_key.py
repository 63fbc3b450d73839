"""What keys of the cache are made of: every file of weft that decides what is compiled."""

import os
from pathlib import Path

import pytest

from inductor import _runner
from inductor.cache import key

ROOT = Path(__file__).parents[3]


def expected(root, packages):
    files = [f for p in packages for f in (Path(root) / p).rglob("*") if f.suffix in (".py", ".h", ".so") and f.is_file()]
    lines = [f"/{f.relative_to(root)} {f.stat().st_size} {f.stat().st_mtime_ns}" for f in files if "__pycache__" not in f.parts]
    return sorted(lines)


def test_sources_are_all_files_of_aten_and_inductor():
    lines = key.sources.__wrapped__().splitlines()
    assert lines == expected(ROOT, ("aten", "inductor"))
    assert any(line.startswith("/inductor/codegen/vector.h ") for line in lines)


@pytest.fixture
def tree(tmp_path):
    for name in ("a/__init__.py", "a/b/lanes.h", "a/b/c/é x.py", "a/native.so", "a/note.txt", "a/__pycache__/b.py", "other/c.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_states_are_of_sources_in_order(tree):
    os.symlink(tree / "other" / "c.py", tree / "a" / "linked.py")
    os.symlink(tree / "other", tree / "a" / "linked")  # (folders that are links are not gone into)
    os.utime(tree / "a" / "native.so", ns=(1, 1234567890123456789))
    lines = _runner.source_states(str(tree), ("a",)).splitlines()
    names = [line.rsplit(" ", 2)[0] for line in lines]
    assert names == ["/a/__init__.py", "/a/b/c/é x.py", "/a/b/lanes.h", "/a/linked.py", "/a/native.so"]
    assert "/a/native.so 11 1234567890123456789" in lines
    assert lines == [*expected(tree, ("a",))]


def test_an_edit_changes_them(tree):
    before = _runner.source_states(str(tree), ("a", "other"))
    assert before == _runner.source_states(str(tree), ("a", "other"))
    (tree / "other" / "c.py").write_text("longer than before")
    assert before != _runner.source_states(str(tree), ("a", "other"))


def test_a_folder_or_file_that_is_not_there_is_an_error(tree):
    with pytest.raises(FileNotFoundError) as e:
        _runner.source_states(str(tree), ("a", "missing"))
    assert e.value.filename == str(tree / "missing")
    os.symlink(tree / "nowhere", tree / "a" / "dangling.py")
    with pytest.raises(FileNotFoundError, match="dangling"):
        _runner.source_states(str(tree), ("a",))
    with pytest.raises(TypeError):
        _runner.source_states(str(tree), ["a"])
