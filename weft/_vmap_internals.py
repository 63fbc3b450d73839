"""vmap without settings, as autograd uses it: functions run in it are not transformed, so that Functions run as they are."""

from aten.transforms.batching import batched as _vmap

vmap = _vmap

__all__ = ["vmap"]
