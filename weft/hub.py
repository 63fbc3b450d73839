"""Models and weights from a directory, an archive or a URL that the user gives.

The Python code of a repository runs only with `trust_repo=True`. Archives are unpacked entry by entry: what would lie outside of
the target folder, links and devices are refused, and a limit on the unpacked bytes holds.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any
from urllib.parse import urlparse

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir", "unpack"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # "resnet18-5c106cde.pth": the first digits of the file's SHA-256
READ_DATA_CHUNK = 128 * 1024
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
MAX_UNPACKED_BYTES = 8 << 30
_chosen: dict[str, str | None] = {"dir": None}


def _get_torch_home() -> str:
    """$TORCH_HOME, or `torch` in $XDG_CACHE_HOME, or in ~/.cache: where PyTorch keeps what it downloads."""
    home = os.getenv("TORCH_HOME", os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch"))
    return os.path.expanduser(home)


def get_dir() -> str:
    """The folder for what is downloaded: what `set_dir` said, else `hub` in the home of PyTorch's cache."""
    return _chosen["dir"] or os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike) -> None:
    """Sets it."""
    _chosen["dir"] = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Reads `url` into the file `dst`, which appears only when it is whole.

    hash_prefix: what the SHA-256 of the content must begin with; RuntimeError else. progress: a line to stderr at the end.
    """
    dst = os.path.expanduser(dst)
    request = urllib.request.Request(url, headers={"User-Agent": "torch.hub"})
    sha256, size = hashlib.sha256(), 0
    folder = os.path.dirname(os.path.abspath(dst))
    with urllib.request.urlopen(request) as answer:
        file = tempfile.NamedTemporaryFile(dir=folder, suffix=".partial", delete=False)
        try:
            with file:
                while chunk := answer.read(READ_DATA_CHUNK):
                    file.write(chunk)
                    sha256.update(chunk)
                    size += len(chunk)
            digest = sha256.hexdigest()
            if hash_prefix is not None and digest[: len(hash_prefix)] != hash_prefix:
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
            shutil.move(file.name, dst)
        finally:
            if os.path.exists(file.name):
                os.remove(file.name)
    if progress:
        sys.stderr.write(f"{url} -> {dst}: {size} bytes\n")


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """`weft.load` of the file at `url`, which is kept in `model_dir` (default: `checkpoints` in the hub's folder).

    check_hash: the name holds "-" and the first digits of the SHA-256 (`HASH_REGEX`). The reader runs no code of the file,
    whatever `weights_only` says.
    """
    import weft  # here: which reader that is, the package finds on first use

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    if not name or name != os.path.basename(name):
        raise ValueError(f"load_state_dict_from_url: {url!r} does not end in the name of a file; give file_name")
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        digits = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, digits.group(1) if digits else None, progress=progress)
    return weft.load(path, map_location=map_location)


# ------------------------------------------------------------------------------------------------- repositories
def unpack(archive: str | os.PathLike, folder: str | os.PathLike) -> Path:
    """Unpacks a zip into `folder`; returns the one folder that it holds, or `folder` if it holds several things.

    Raises RuntimeError for entries with absolute names, names that climb out by "..", links, and more than MAX_UNPACKED_BYTES.
    """
    target = Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    left = MAX_UNPACKED_BYTES
    tops = set()
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            name = PurePosixPath(entry.filename.replace("\\", "/"))
            kind = entry.external_attr >> 28
            if name.is_absolute() or ".." in name.parts or ":" in entry.filename or not name.parts:
                raise RuntimeError(f"{archive}: the entry {entry.filename!r} would lie outside of {target}")
            if kind not in (0, 0o4, 0o10):
                raise RuntimeError(f"{archive}: the entry {entry.filename!r} is neither a file nor a folder")
            tops.add(name.parts[0])
            path = target.joinpath(*name.parts)
            if entry.is_dir():
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with packed.open(entry) as source, open(path, "wb") as out:
                while chunk := source.read(READ_DATA_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise RuntimeError(f"{archive}: holds more than {MAX_UNPACKED_BYTES} bytes")
                    out.write(chunk)
    return target / tops.pop() if len(tops) == 1 else target


def _repository(repo: str, source: str, force_reload: bool) -> Path:
    """The folder of a repository: itself, or an archive's, unpacked once."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    path = Path(os.path.expanduser(repo))
    if path.is_dir():
        return path
    if path.is_file() and zipfile.is_zipfile(path):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        folder = Path(get_dir()) / f"{path.stem}-{digest}"
        if force_reload and folder.exists():
            shutil.rmtree(folder)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=_made(Path(get_dir()))) as inside:
                unpack(path, inside)
                shutil.copytree(inside, folder)
        held = [*folder.iterdir()]
        return held[0] if len(held) == 1 and held[0].is_dir() else folder
    raise RuntimeError(
        f"weft.hub takes a folder or a zip archive with a {MODULE_HUBCONF}; {repo!r} is neither. "
        "Repositories are not fetched: clone or download it, and give its place"
    )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _hubconf(repo: str, source: str, trust_repo: Any, force_reload: bool) -> ModuleType:
    """The module hubconf.py of a repository, run."""
    folder = _repository(repo, source, force_reload)
    if trust_repo is not True:
        raise RuntimeError(f"{folder / MODULE_HUBCONF} would be run; if you trust this code, give trust_repo=True")
    file = folder / MODULE_HUBCONF
    if not file.is_file():
        raise FileNotFoundError(f"{folder} has no {MODULE_HUBCONF}")
    spec = importlib.util.spec_from_file_location("hubconf", file)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    missing = [name for name in getattr(module, VAR_DEPENDENCY, ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: ModuleType, name: str) -> Any:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the entry point `model` of the repository's hubconf.py returns for the arguments.

    repo_or_dir: a folder, or a zip archive, with a hubconf.py; its code runs only with trust_repo=True (RuntimeError else).
    """
    return _entry(_hubconf(repo_or_dir, source, trust_repo, force_reload), model)(*args, **kwargs)


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
    source: str = "github",
) -> str | None:
    """The docstring of an entry point."""
    return _entry(_hubconf(github, source, trust_repo, force_reload), model).__doc__


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
    verbose: bool = True,
    source: str = "github",
) -> Any:
    """The names of a repository's entry points."""
    module = _hubconf(github, source, trust_repo, force_reload)
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # programs take the bar from here
        from weft.progress import tqdm

        return tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
