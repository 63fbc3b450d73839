"""Names of memory layouts, accepted where PyTorch takes them. Every tensor here is strided; copies are row-major."""


class Layout:
    """A named layout."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"weft.{self.name}"


strided = Layout("strided")
contiguous_format = Layout("contiguous_format")
preserve_format = Layout("preserve_format")
channels_last = Layout("channels_last")
channels_last_3d = Layout("channels_last_3d")
