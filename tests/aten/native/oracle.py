"""The general path of a call with the NumPy kernels, which no native rule answers."""

from __future__ import annotations

from unittest import mock

from aten import dispatch


def general(op, args, kwargs=None):
    with mock.patch.object(dispatch, "by_rule", lambda *call: NotImplemented):
        return dispatch.call(op, args, dict(kwargs or {}))
