"""What registering a hook returns, for modules and optimizers (hooks in dicts) and for tensors and nodes (in lists)."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """Removes its hook when `remove()` is called or when a `with` block on it ends.

    hooks_dict: where the hook is, under `id`; extra_dict: what else has an entry of that id, a dict or several.
    """

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extra = () if extra_dict is None else extra_dict if isinstance(extra_dict, (list, tuple)) else (extra_dict,)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra)

    def remove(self) -> None:
        """Take the hook away; once is enough."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            entries = ref()
            if entries is not None:
                entries.pop(self.id, None)

    def __getstate__(self) -> tuple:
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple) -> None:
        hooks_dict, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks_dict is None else hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in extra)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


class ListedHandle(RemovableHandle):
    """The handle of an entry of a list."""

    def __init__(self, entries: list[Any], entry: Any) -> None:
        self.id = next(_ids)
        self._entries, self._entry = entries, entry

    def remove(self) -> None:
        self._entries[:] = [e for e in self._entries if e is not self._entry]


class JoinedHandle(RemovableHandle):
    """Several handles as one."""

    def __init__(self, handles: Any) -> None:
        self.id = next(_ids)
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()
