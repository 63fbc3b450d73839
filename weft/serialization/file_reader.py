"""`PyTorchFileReader`: the records of a `.pt` file by their names, as programs that load a part of a checkpoint read them."""

from __future__ import annotations

import struct
import zipfile
from typing import Any

import aten
from aten import Tensor

__all__ = ["PyTorchFileReader"]


class PyTorchFileReader:
    """A zip file that `save` wrote, from a path or a binary file. Raises RuntimeError for what is no such file."""

    def __init__(self, file: Any) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as e:
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {e}") from None
        names = self._zip.namelist()
        self._top = names[0].partition("/")[0] + "/" if names else ""
        self._records = {name[len(self._top) :] for name in names if name.startswith(self._top)}

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return sorted(self._records)

    def has_record(self, name: str) -> bool:
        return name in self._records

    def get_record(self, name: str) -> bytes:
        """The bytes of a record. Raises RuntimeError if there is none of that name."""
        return self._zip.read(self._info(name))

    def _info(self, name: str) -> zipfile.ZipInfo:
        if name not in self._records:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self._zip.getinfo(self._top + name)

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._info(name).file_size

    def get_record_offset(self, name: str) -> int:
        """Where the bytes of a record begin in the file, which keeps them as they are."""
        info, file = self._info(name), self._zip.fp
        assert file is not None
        file.seek(info.header_offset + 26)  # of the local header: lengths of the name and of what is further told
        name_length, extra_length = struct.unpack("<HH", file.read(4))
        return info.header_offset + 30 + name_length + extra_length

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """A tensor of one dim with the first `numel` elements of a record, of which `dtype` says the type."""
        data = bytearray(self.get_record(name))
        return aten.frombuffer(data, dtype=dtype, count=numel) if numel else aten.empty(0, dtype=dtype)
