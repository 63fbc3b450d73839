"""Reading, analysing and writing CPython bytecode."""
