"""Benchmarks: one question a file, run as `python -m benchmarks.NAME`. Ratios are measured in one run, interleaved."""
