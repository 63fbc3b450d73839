"""The extension module: its names are declared in C++, so they are Any here."""
from typing import Any

def __getattr__(name: str) -> Any: ...
