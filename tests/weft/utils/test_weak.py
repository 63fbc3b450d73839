"""Dicts whose keys are tensors, by identity and without keeping them."""

import gc

import pytest

import weft
from weft.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary


def test_keys_are_compared_by_identity_and_end_with_their_tensors():
    a, b = weft.ones(2), weft.ones(2)
    seen = WeakTensorKeyDictionary({a: "a"})
    seen[b] = "b"
    assert (seen[a], seen[b], len(seen)) == ("a", "b", 2) and weft.ones(2) not in seen
    other = seen.copy()
    assert other == seen and isinstance(other, WeakIdKeyDictionary)
    del b
    gc.collect()
    assert list(seen.values()) == ["a"] and len(other) == 1
    del seen[a]
    assert not seen
    with pytest.raises(KeyError):
        seen[a]


def test_references_are_equal_while_their_object_lives():
    a = weft.ones(2)
    x, y, ref = WeakIdRef(a), WeakIdRef(a), TensorWeakRef(a)
    assert x == y and hash(x) == hash(y) and ref() is a
    del a
    gc.collect()
    assert x != y and x == x and ref() is None
    with pytest.raises(AssertionError):
        TensorWeakRef(3)
