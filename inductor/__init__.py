"""inductor: graphs → kernels. `compile_fx(gm, example_inputs)` is the pipeline; parts load on first use."""

from collections import Counter

# What the compiler has done in this process: lowerings, compiles (of C++), cache_hits, cache_misses, cache_errors, kernels.
counters: Counter[str] = Counter()


def __getattr__(name: str):
    if name in ("compile_fx", "compile_graph"):
        from inductor import compile as pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module 'inductor' has no attribute {name!r}")
