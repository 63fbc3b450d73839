"""Results laid out as their arguments are: channels innermost, or in another order of dims."""

import functools
from collections.abc import Sequence
from typing import Any

from aten import _native
from aten.layout import channels_last, channels_last_3d
from aten.meta import Meta, channels_innermost, contiguous_strides, is_row_major_now
from aten.op import Op, ops

FORMATS = {4: channels_last, 5: channels_last_3d}


def format_of(*tensors: Any) -> Any:
    """The memory format of images one of which has its channels innermost; None if none has."""
    return next((FORMATS[x.ndim] for x in tensors if channels_innermost(Meta.of(x))), None)


def in_memory(image: Any, memory_format: Any) -> Any:
    """The image with its channels innermost; one alone is a batch of one."""
    if FORMATS.get(image.ndim) is memory_format:
        return image.contiguous(memory_format=memory_format)
    return image.unsqueeze(0).contiguous(memory_format=memory_format).squeeze(0)


def in_format(sizes: Sequence[Any], *metas: Meta) -> tuple[Any, ...]:
    """Strides of a result of as many dims: with the channels innermost if all arguments have them so, else row-major."""
    sizes = tuple(sizes)
    if not all(channels_innermost(meta) for meta in metas):
        return contiguous_strides(sizes)
    n = len(sizes)
    strides = contiguous_strides([sizes[d] for d in (0, *range(2, n), 1)])
    return (strides[0], strides[-1], *strides[1:-1])


def _is_recorded(x: Any) -> bool:
    return x.requires_grad and _native.is_grad_enabled()


def keep_channels(op: Op, *images: int, dense: bool = False, gradients: bool = False) -> None:
    """Make results of a composite have their channels innermost where its first argument has, or one of those at `images`; it
    computes on row-major copies. dense: of other arguments that are not row-major, too. gradients: theirs, too."""
    definition = op.function

    @functools.wraps(definition)
    def wrapped(input: Any, *rest: Any) -> Any:
        args = [input, *rest]
        places = [0, *(i for i in images if args[i] is not None)]
        found = format_of(*[args[i] for i in places])
        if found is None and not (dense and not is_row_major_now(Meta.of(input))):  # (as `contiguous` asks)
            return definition(input, *rest)
        for i in places:
            if gradients and found is FORMATS.get(args[i].ndim) and _is_recorded(args[i]):
                args[i] = ops.watched_image(args[i])
            args[i] = ops.contiguous(args[i])
        positional, keywords = op.split(tuple(args))
        made = op(*positional, **keywords)
        if found is None:
            return made
        return tuple([in_memory(t, found) for t in made]) if isinstance(made, tuple) else in_memory(made, found)

    op.function = wrapped
