"""Calls of Python's own functions, compiled and plain (calls.py): what counts as a difference."""

from tests.fuzz import calls, seen


def test_addresses_in_texts_are_no_difference_even_letter_by_letter():
    first, second = "<object at 0x7f01>", "<object at 0x7f02>"
    assert calls.parted(seen.seen(list(first)), seen.seen(list(second))) is None
    assert calls.parted([first, 1], [second, 1]) is None
    assert calls.parted(seen.seen(list("<a 0x1>")), seen.seen(list("<b 0x1>"))) is not None


def test_keys_of_a_comparison_are_of_any_class():
    assert calls.parted(["KeyWrapper"], ["function", "<lambda>"]) is None
    assert calls.parted(["partial"], ["function", "<lambda>"]) is not None


def test_what_a_program_does_to_a_class_another_does_not_see():
    line = "    functools.update_wrapper(Flags.A, Flags.B)\n    out.append([Flags.A.value, *Flags.A | Flags.B])\n"
    assert calls.differs((calls.text_of([line]), [["0", "0", "0"]])) is None
    assert calls.space()["Flags"].A.value == 1
