"""NumPy's archives of arrays."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np

import aten
from aten import Tensor
from weft.serialization.bad_file import BadFile

_MOST_PACKED = 1 << 28
_MOST_RATIO = 200


def read(data: np.ndarray) -> dict[str, Tensor]:
    """The arrays of an npz file as tensors. Raises BadFile for objects in it, and for what unpacks to far more than the file."""
    try:
        with zipfile.ZipFile(io.BytesIO(memoryview(data))) as archive:
            infos = archive.infolist()
            total = sum(info.file_size for info in infos)
            if total > _MOST_PACKED and total > _MOST_RATIO * data.size:
                raise BadFile(f"load: {data.size} bytes of an archive claim to hold {total}")
            return {info.filename.removesuffix(".npy"): _array(archive, info) for info in infos}
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, NotImplementedError, KeyError) as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(f"load: the npz file is damaged: {error}") from None


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    if not info.filename.endswith(".npy"):
        raise BadFile(f"load: {info.filename!r} in the archive is no array")
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, kind = header(file)
        if kind.hasobject or kind.names:
            raise BadFile(f"load: array {info.filename!r} holds objects or records, which weft does not load")
        count = 1
        for n in shape:
            count *= n
        if min(shape, default=0) < 0 or count * kind.itemsize > info.file_size:
            raise BadFile(f"load: array {info.filename!r} of shape {shape} is larger than its record")
        body = file.read(count * kind.itemsize)
    array = np.frombuffer(bytearray(body), kind).reshape(shape, order="F" if fortran else "C")
    return aten.from_numpy(array.astype(kind.newbyteorder("="), copy=False))
