"""Whether code runs to be captured, and what capture should know of functions: a file without imports."""


def is_compiling() -> bool:
    """False. While it is captured, a function sees True (dynamo has the rule)."""
    return False


def reads_numbers_of(place: int):  # type: ignore[no-untyped-def]
    """Of a function that reads the numbers in its argument at `place`, a tensor, into Python.

    Where they are not known while it is captured the call is left to Python as a whole: one break, and nothing that is compiled
    anew for other numbers.
    """

    def mark(function):  # type: ignore[no-untyped-def]
        function._weft_reads = place
        return function

    return mark
