"""Whether code runs to be captured: a file without imports, for code that takes another way there."""


def is_compiling() -> bool:
    """False. While it is captured, a function sees True (dynamo has the rule)."""
    return False
