"""The mutation fuzzer finds what a compiler overlooks, and names it (mutation.py)."""

import pytest

import weft
from tests.fuzz import budget, mutation, mutations
from tests.fuzz.mutation import Case


def stale(fn, options):
    """A compiler that looks once and never again."""
    results: list = []

    def call(*args):
        if not results:
            results.append(fn(*args))
        return results[0]

    return call


@pytest.mark.parametrize(
    "program, step",
    [
        ("storage.type_self_counter", "argument 0~.n = +1"),
        ("reads.base_class_attr", "f<o>.k added"),
        ("reads.base_class_attr", "f<o>~.k added"),
        ("patches.super_chain_patched", "f<o>~^A.m = other code"),
        ("models.f_mutates_dict", "argument 1['old'] = tensor double"),
        ("reads.default_mutated", "f(=0) longer in place"),
        ("aliasing.aliased_lists", "argument 1 is argument 0"),
        ("derivatives.nested_no_grad", "grad mode"),
    ],
)
def test_every_kind_of_change_is_made_and_seen(program, step):
    keys = mutation.keys_of(program)
    assert step in keys, [k for k in keys if k.split(" ")[-1] == step.split(" ")[-1]][:20]
    parted = mutation.differs(Case(program, 0, (step,)), stale)
    assert parted is not None


def test_a_case_is_reduced_to_what_it_needs():
    case = Case("functions.itemgetter_instance", 0, ("threads", "f<o>.k added", "threads"))
    assert mutation.minimal(case, stale).steps == ("f<o>.k added",)


def test_what_a_library_keeps_for_itself_stays():
    module = weft.fx.symbolic_trace(lambda x: x + 1)
    assert {"_ran", "_root"} & vars(module).keys()
    assert not any(name in key for key in mutations.all_of(lambda: module, [module], {"_ran", "_root"}) for name in ("._r", "._g"))


def test_a_difference_that_does_not_come_again_is_told_as_it_was():
    case = Case("functions.itemgetter_instance", 0, ())
    text = mutation.report(case, ("what plain gave", "what compiled gave"))
    assert "what plain gave" in text and "what compiled gave" in text and "not again" in text


class Kept:
    first = 1
    second = lambda self: self.first


TABLE = {"a": 1, "b": 2, "c": 3}


def test_undone_changes_leave_what_can_be_changed_as_it_was():
    def f(kept):
        return kept.first, TABLE["a"]

    before = list(mutations.all_of(f, [Kept()]))
    for step in ("del argument 0~.second", "del f:TABLE['a']", "del f:TABLE['c']"):
        mutations.all_of(f, [Kept()])[step]()()
    assert list(TABLE) == ["a", "b", "c"] and list(mutations.all_of(f, [Kept()])) == before


class Hashed:
    def __hash__(self):
        return 1


class HashedBelow(Hashed):
    def __hash__(self):
        return 2


def test_no_change_makes_hashes_of_addresses():
    found = mutations.all_of(lambda: (Hashed, HashedBelow), [Hashed(), HashedBelow()])
    assert "f:Hashed.__hash__ = patched" in found and "f:HashedBelow.__hash__ = patched" in found
    assert "del f:Hashed.__hash__" not in found and "del f:HashedBelow.__hash__" in found


def test_random_changes():
    assert budget.differences("mutation", 30, 150) == ""
