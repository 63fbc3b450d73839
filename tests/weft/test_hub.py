"""weft.hub: repositories that the user gives, files by URL, archives with entries that climb out."""

from __future__ import annotations

import hashlib
import zipfile

import pytest

import weft as torch

HUBCONF = '''
from toy_part import make

dependencies = ["numpy"]


def _hidden():
    pass


def toy(size, bias=True):
    """A toy."""
    return make(size, bias)
'''


@pytest.fixture
def repo(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "toy_part.py").write_text("import weft\n\n\ndef make(size, bias):\n    return weft.nn.Linear(size, 1, bias=bias)\n")
    return folder


def test_code_runs_only_with_trust(repo):
    with pytest.raises(RuntimeError, match="trust_repo=True"):
        torch.hub.load(str(repo), "toy", 3, source="local")
    model = torch.hub.load(str(repo), "toy", 3, source="local", bias=False, trust_repo=True)
    assert model.in_features == 3 and model.bias is None
    assert torch.hub.list(str(repo), source="local", trust_repo=True) == ["make", "toy"]
    assert torch.hub.help(str(repo), "toy", source="local", trust_repo=True) == "A toy."
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        torch.hub.load(str(repo), "other", source="local", trust_repo=True)
    with pytest.raises(ValueError, match="Unknown source"):
        torch.hub.load(str(repo), "toy", source="web", trust_repo=True)
    with pytest.raises(RuntimeError, match="not fetched"):
        torch.hub.load("owner/name", "toy", trust_repo=True)


def test_an_archive_is_unpacked_once(repo, tmp_path):
    archive = tmp_path / "toy.zip"
    with zipfile.ZipFile(archive, "w") as z:
        for file in repo.iterdir():
            z.write(file, f"toy-main/{file.name}")
    for _ in range(2):
        assert torch.hub.load(str(archive), "toy", 2, trust_repo=True).in_features == 2


@pytest.mark.parametrize("name", ["../evil.py", "/evil.py", "a/../../evil.py", "..\\evil.py", "C:/evil.py"])
def test_entries_that_climb_out_are_refused(name, tmp_path):
    archive = tmp_path / "bad.zip"
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr(name, "x")
    with pytest.raises(RuntimeError, match="outside"):
        torch.hub.unpack(archive, tmp_path / "out")
    assert not list(tmp_path.rglob("evil.py"))


def test_links_and_bombs_are_refused(tmp_path, monkeypatch):
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as z:
        z.writestr(link, "/etc/passwd")
    with pytest.raises(RuntimeError, match="neither a file nor a folder"):
        torch.hub.unpack(tmp_path / "link.zip", tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("zeros", bytes(1 << 20))
    monkeypatch.setattr(torch.hub, "MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(RuntimeError, match="more than 1000 bytes"):
        torch.hub.unpack(tmp_path / "bomb.zip", tmp_path / "out2")


def test_a_state_dict_by_url_is_kept_and_its_hash_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    source = tmp_path / "net.pt"
    torch.save({"w": torch.arange(3)}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
    url = source.as_uri()
    state = torch.hub.load_state_dict_from_url(url, file_name=f"net-{digest}.pt", check_hash=True, progress=False)
    assert state["w"].tolist() == [0, 1, 2]
    assert (tmp_path / "home" / "hub" / "checkpoints" / f"net-{digest}.pt").is_file()
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.load_state_dict_from_url(url, file_name="net-00000000.pt", check_hash=True, progress=False)
    assert sorted(p.name for p in (tmp_path / "home" / "hub" / "checkpoints").iterdir()) == [f"net-{digest}.pt"]
    with pytest.raises(ValueError, match="give file_name"):
        torch.hub.load_state_dict_from_url("http://localhost/", progress=False)
