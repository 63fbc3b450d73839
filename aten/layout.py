"""Names of layouts and of memory formats. Every tensor here is strided."""

from aten import _native


class Layout:
    """How a tensor keeps its elements."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"{_native.shown_as()}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class MemoryFormat(Layout):
    """The order of the dims in the memory of a strided tensor."""

    __slots__ = ()


strided = Layout("strided")
sparse_coo, sparse_csr, sparse_csc = Layout("sparse_coo"), Layout("sparse_csr"), Layout("sparse_csc")
sparse_bsr, sparse_bsc, jagged = Layout("sparse_bsr"), Layout("sparse_bsc"), Layout("jagged")
contiguous_format = legacy_contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last")
channels_last_3d = MemoryFormat("channels_last_3d")
