"""What a report of a problem should say of the machine: `python -m weft.utils.collect_env`."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from typing import NamedTuple

from aten import get_num_threads
from weft.backends.cpu import get_cpu_capability
from weft.version import __version__, weft

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str"]
_PACKAGES = ("numpy", "ml_dtypes", "bytecode", "sympy", "safetensors", "scipy-openblas64", "triton")


class SystemEnv(NamedTuple):
    """The facts."""

    torch_version: str
    weft_version: str
    os: str
    libc_version: str
    compiler: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cpu_info: str
    threads: int
    settings: list[str]
    pip_packages: list[str]


def _compiler() -> str:
    """The first line of what the C++ compiler says of itself."""
    found = shutil.which(os.environ.get("WEFT_CXX", "c++"))
    if found is None:
        return "none: compiled functions run eager"
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    return said.stdout.partition("\n")[0] or found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            name = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        name = ""
    return f"{name or platform.processor() or platform.machine()}, {os.cpu_count()} cores, {get_cpu_capability()}"


def _installed(name: str) -> str | None:
    try:
        return f"{name}=={importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return None


def get_env_info() -> SystemEnv:
    """The facts of this machine and process."""
    return SystemEnv(
        torch_version=str(__version__),
        weft_version=weft,
        os=platform.platform(),
        libc_version="-".join(platform.libc_ver()) or "N/A",
        compiler=_compiler(),
        python_version=sys.version.replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available="False",
        cpu_info=_processor(),
        threads=get_num_threads(),
        settings=sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("WEFT_")),
        pip_packages=[found for found in map(_installed, _PACKAGES) if found],
    )


def pretty_str(info: SystemEnv) -> str:
    """The facts as text, one a line."""
    titles = {
        "torch_version": "PyTorch API version", "weft_version": "weft version", "os": "OS", "libc_version": "Libc version",
        "compiler": "C++ compiler", "python_version": "Python version", "python_platform": "Python platform",
        "is_cuda_available": "Is CUDA available", "cpu_info": "CPU", "threads": "Threads", "settings": "Settings",
        "pip_packages": "Versions of relevant libraries",
    }  # fmt: skip
    lines = []
    for name, value in info._asdict().items():
        if isinstance(value, list):
            lines.append(f"{titles[name]}:" + ("".join(f"\n  {v}" for v in value) or " none"))
        else:
            lines.append(f"{titles[name]}: {value}")
    return "\n".join(lines)


def get_pretty_env_info() -> str:
    """The facts of this machine as text."""
    return pretty_str(get_env_info())


def main() -> None:
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
