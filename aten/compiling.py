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


def passes_on(function):  # type: ignore[no-untyped-def]
    """Of a function that does nothing but call the user's code: where such a call is not part of what is captured around it, it is
    left to Python, and what it calls is captured. (Captured itself it would be traced as far as the break that its caller met, and
    anew for every kind of object that it is called for.)"""
    function._weft_passes_on = function.__code__
    return function
