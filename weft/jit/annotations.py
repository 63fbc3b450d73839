"""Types under which scripts annotate: those of `typing`."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035  (the names are the point)

from weft.jit.future import Future  # noqa: F401


class _BroadcastingList:
    """`BroadcastingList2[int]` annotates a list of two, or one number for both: in Python, nothing."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1, BroadcastingList2, BroadcastingList3 = _BroadcastingList(), _BroadcastingList(), _BroadcastingList()
BroadcastingList4, BroadcastingList5, BroadcastingList6 = _BroadcastingList(), _BroadcastingList(), _BroadcastingList()
