"""The cache on disk: what it keeps, whom it trusts, and that everything wrong with it is a miss and one warning."""

import json
import os
import stat
import threading

import pytest

import inductor
from aten import errors, settings
from inductor import _runner
from inductor.cache import store as cache_store
from inductor.cache.store import Store

KEY = "ab" * 32
LIBRARY = b"\x7fELF and so on" * 100


@pytest.fixture
def store(tmp_path):
    errors.forget_warnings()
    with settings.patch(cache_dir=str(tmp_path / "cache")):
        s = Store(str(tmp_path / "cache"))
        yield s
        s.close()


def save(store, key=KEY, library=LIBRARY):
    return store.save(key, {"library": _runner.sha256(library), "n": 3}, [library])


def read(manifest, path_of):
    with open(path_of(manifest["library"]), "rb") as f:
        return manifest["n"], f.read()


def load(store, key=KEY):
    return store.load(key, read)


def missed(store, match=None):
    """A load that is a miss with one counted warning; the next one too, silently."""
    errors.forget_warnings()
    before = inductor.counters["cache_errors"]
    with pytest.warns(errors.CompilerWarning, match=match):
        assert load(store) is None
    assert load(store) is None
    assert inductor.counters["cache_errors"] == before + 2
    return True


def files(store):
    return [
        os.path.join(store.path, "entries", KEY),
        *(e.path for e in os.scandir(os.path.join(store.path, "objects"))),
    ]


def test_what_was_saved_is_found(store):
    assert load(store) is None
    assert save(store)
    assert load(store) == (3, LIBRARY)
    assert Store(store.path).load(KEY, read) == (3, LIBRARY)
    assert load(store, "cd" * 32) is None


def test_folders_and_files_are_private(store):
    save(store)
    for folder, _, names in os.walk(store.path):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        for name in names:
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600
            assert not name.startswith(".")


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("damage", ["truncate", "empty", "flip", "append"])
def test_damage_is_a_miss(store, which, damage):
    save(store)
    path = files(store)[which]
    with open(path, "rb") as f:
        data = bytearray(f.read())
    data = {
        "truncate": data[:-9],
        "empty": b"",
        "flip": data[:80] + bytes([data[80] ^ 1]) + data[81:],
        "append": data + b" ",
    }[damage]
    with open(path, "wb") as f:
        f.write(data)
    assert missed(store, "damaged")
    assert save(store) and load(store) == (3, LIBRARY)


def test_a_missing_artefact_is_a_miss(store):
    save(store)
    os.unlink(files(store)[1])
    assert missed(store, "missing")


@pytest.mark.parametrize("body", [b"", b"nothing", b"[]", b"{}", b'{"library": 3, "n": 1}'])
def test_a_manifest_that_makes_no_sense_is_a_miss(store, body):
    save(store)
    with open(files(store)[0], "wb") as f:
        f.write(_runner.sha256(body).encode() + b"\n" + body)
    assert missed(store)


def test_what_build_refuses_is_a_miss(store):
    save(store)
    errors.forget_warnings()

    def refuse(manifest, path_of):
        raise ValueError("not a Program")

    with pytest.warns(errors.CompilerWarning, match="not a Program"):
        assert store.load(KEY, refuse) is None


@pytest.mark.parametrize("part", ["", "entries", "objects"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_folders_that_others_may_write_are_refused(store, part, mode):
    save(store)
    store.close()
    os.chmod(os.path.join(store.path, part), mode)
    assert missed(store, "written by others")
    assert not save(store)


@pytest.mark.parametrize("which", [0, 1])
def test_files_that_others_may_write_are_refused(store, which):
    save(store)
    os.chmod(files(store)[which], 0o666)
    assert missed(store, "written by others")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["", "entries", "objects", 0, 1])
def test_what_another_user_owns_is_refused(store, what):
    save(store)
    store.close()
    os.chown(files(store)[what] if isinstance(what, int) else os.path.join(store.path, what), 12345, 12345)
    assert missed(store, "another user")


@pytest.mark.parametrize("which", [0, 1])
def test_links_are_refused(store, tmp_path, which):
    save(store)
    path = files(store)[which]
    os.rename(path, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", path)
    assert missed(store)


def test_a_folder_that_is_a_file(store):
    with open(store.path, "w") as f:
        f.write("not a folder")
    assert missed(store)
    assert not save(store)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(store):
    os.mkdir(store.path, 0o500)
    with pytest.warns(errors.CompilerWarning):
        assert not save(store)


def test_a_full_disk_costs_one_warning(store, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_store.os, "write", full)
    with pytest.warns(errors.CompilerWarning, match="No space"):
        assert not save(store)
    assert not save(store)
    monkeypatch.undo()
    assert not [n for _, _, names in os.walk(store.path) for n in names]
    assert save(store) and load(store) == (3, LIBRARY)


def test_unwritable_folder(store, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cache_store.os, "mkdir", refuse)
    with pytest.warns(errors.CompilerWarning, match="Permission denied"):
        assert not save(store)


def test_the_least_recently_used_goes_first(store):
    keys = [f"{k:064x}" for k in range(6)]
    for k, key in enumerate(keys):
        save(store, key, bytes([k]) * 1000)
    for k, key in enumerate(keys):
        for path in (
            os.path.join(store.path, "entries", key),
            os.path.join(store.path, "objects", _runner.sha256(bytes([k]) * 1000)),
        ):
            os.utime(path, (k, k))
    assert load(store, keys[0]) is not None  # used: now the youngest
    store.trim(4000)
    assert load(store, keys[0]) is not None and load(store, keys[5]) is not None
    total = sum(os.path.getsize(os.path.join(f, n)) for f, _, names in os.walk(store.path) for n in names)
    assert total <= 4000
    assert load(store, keys[1]) is None


def test_many_writers_and_readers(store):
    wrong = []

    def work():
        mine = Store(store.path)
        for _ in range(20):
            if not save(mine) or load(mine) != (3, LIBRARY):
                wrong.append(1)
        mine.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_manifest_is_json_one_can_read(store):
    save(store)
    with open(files(store)[0], "rb") as f:
        digest, body = f.read().split(b"\n", 1)
    assert len(digest) == 64 and json.loads(body)["n"] == 3


def test_the_cache_can_be_turned_off():
    with settings.patch(cache=False):
        assert cache_store.current() is None
    with settings.patch(cache_dir="/somewhere/else"):
        assert cache_store.current().path == "/somewhere/else"


def test_the_default_folder_is_the_users(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/x/cache")
    with settings.patch(cache_dir=""):
        assert cache_store.folder() == "/x/cache/weft"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", "/home/me")
        assert cache_store.folder() == "/home/me/.cache/weft"
