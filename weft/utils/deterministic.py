"""fill_uninitialized_memory: whether `empty` shows what was in memory before, where deterministic algorithms are asked for."""

fill_uninitialized_memory = True
