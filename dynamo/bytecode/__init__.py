"""Reading, analysing and writing CPython bytecode. Only `emit` and `assemble` import the bytecode library."""
