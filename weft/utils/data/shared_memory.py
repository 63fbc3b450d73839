"""Objects through sockets between processes, their tensors and arrays in memory that both map.

The memory is a file without a name (memfd), whose descriptor goes along with the message: nothing stays behind whatever
process dies. A message is 16 bytes (size of the pickle, of all) and either the whole payload or a descriptor to it.
"""

from __future__ import annotations

import array
import ctypes
import io
import mmap
import os
import pickle
import socket
import struct
import weakref
from typing import Any

import numpy as np

import aten
from aten import Tensor

INLINE = 4096
"""Payloads of up to so many bytes are part of the message."""

_ALIGN = 64
_HEADER = struct.Struct("<qq?")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class _Packer(pickle.Pickler):
    """Pickles, setting aside the bytes of tensors and large arrays as `parts`, each at an aligned place."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5, buffer_callback=self._keep_buffer)
        self.parts: list[tuple[int, memoryview]] = []
        self.buffers: list[tuple[int, int]] = []  # of the parts, those that pickle asks for again, in order
        self.size = 0

    def _place(self, data: memoryview) -> int:
        at = self.size
        self.parts.append((at, data))
        self.size = -(-(at + data.nbytes) // _ALIGN) * _ALIGN
        return at

    def _keep_buffer(self, buffer: pickle.PickleBuffer) -> None:
        data = buffer.raw()
        self.buffers.append((self._place(data), data.nbytes))

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not Tensor or obj.device.type != "cpu" or getattr(obj, "is_sparse", False):
            return NotImplemented
        values = np.ascontiguousarray(obj.detach().numpy())
        at = self._place(memoryview(values.reshape(-1).view(np.uint8)))
        return _Tensor, (at, obj.dtype.name, tuple(obj.shape), obj.requires_grad)


class _Tensor:
    """A tensor's place in the payload; unpickling makes the tensor instead (`_Unpacker`)."""


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, memory: np.ndarray, places: list[tuple[int, int]]) -> None:
        super().__init__(file, buffers=(memory[at : at + n] for at, n in places))
        self.memory = memory

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name == "_Tensor":
            return self._tensor
        return super().find_class(module, name)

    def _tensor(self, at: int, dtype: str, sizes: tuple[int, ...], requires_grad: bool) -> Tensor:
        kind = np.dtype(getattr(aten, dtype).to_numpy())
        count = int(np.prod(sizes, dtype=np.int64))
        values = self.memory[at : at + count * kind.itemsize].view(kind).reshape(sizes)
        return aten.from_numpy(values).requires_grad_(requires_grad)


def send(connection: socket.socket, obj: Any, inline: int = INLINE) -> None:
    """Sends `obj`. Raises what pickling it raises, before anything is sent."""
    file = io.BytesIO()
    packer = _Packer(file)
    packer.dump(obj)
    head = pickle.dumps(packer.buffers)
    text = struct.pack("<q", len(head)) + head + file.getvalue()
    total = packer.size + len(text)
    if total <= inline:
        payload = bytearray(total)
        for at, data in packer.parts:
            payload[at : at + data.nbytes] = data
        payload[packer.size :] = text
        connection.send(_HEADER.pack(packer.size, total, True) + payload)
        return
    fd = os.memfd_create("weft-batch", os.MFD_CLOEXEC)
    try:
        os.ftruncate(fd, total)
        for at, data in (*packer.parts, (packer.size, memoryview(text))):
            while data.nbytes:
                written = os.pwrite(fd, data, at)
                data, at = data[written:], at + written
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        connection.sendmsg([_HEADER.pack(packer.size, total, False)], rights)
    finally:
        os.close(fd)


def receive(connection: socket.socket) -> Any:
    """The next object. Raises EOFError where the other side is gone."""
    room = socket.CMSG_SPACE(array.array("i").itemsize)
    try:
        data, ancillary, _, _ = connection.recvmsg(_HEADER.size + INLINE, room)
    except ConnectionResetError:
        raise EOFError from None
    if not data:
        raise EOFError
    start, total, inline = _HEADER.unpack_from(data)
    if inline:
        memory = np.frombuffer(bytearray(data[_HEADER.size :]), np.uint8)
    else:
        fds = array.array("i")
        for _level, _kind, text in ancillary:
            fds.frombytes(text[: len(text) - len(text) % fds.itemsize])
        try:
            memory = _mapped(fds[0], total)
        finally:
            for fd in fds:
                os.close(fd)
    text = memory[start:total].tobytes()
    (length,) = struct.unpack_from("<q", text)
    places = pickle.loads(text[8 : 8 + length])
    return _Unpacker(io.BytesIO(text[8 + length :]), memory, places).load()


def _mapped(fd: int, size: int) -> np.ndarray:
    """The bytes of a file, mapped until the last array on them is gone; the descriptor may be closed (`mmap` keeps one)."""
    address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "cannot map a batch")
    owner = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(owner, _libc.munmap, address, size).atexit = False
    return np.frombuffer(memoryview(owner), np.uint8)
