"""What the compiler has done in this process."""

from collections import Counter

# graphs, lowerings, compiles (of C++), kernels, cache_hits, cache_misses, cache_errors
counters: Counter[str] = Counter()
