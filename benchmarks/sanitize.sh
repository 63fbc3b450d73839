#!/usr/bin/env bash
# Builds the extensions under AddressSanitizer and UndefinedBehaviorSanitizer in a copy of the tree. There all native tests and all
# of tests/dynamo run, then the argument fuzzer and the programs that once killed the process, then threads upon free lists.
# usage: bash benchmarks/sanitize.sh PYTHON [tests...]    WEFT_FUZZ_SECONDS (default 60): how long the fuzzer and the threads take
set -euo pipefail
python=$(realpath -s "${1:?usage: sanitize.sh PYTHON [tests...]}"); shift
cd "$(dirname "$0")/.."
work=$PWD/build/asan
mkdir -p "$work/src"
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$work/src"
PATH="$(dirname "$python"):$PATH" cmake -S "$work/src" -B "$work/build" -G Ninja -DWEFT_INPLACE=ON -DWEFT_SANITIZE=ON \
  -DPython_EXECUTABLE="$python" >/dev/null
PATH="$(dirname "$python"):$PATH" cmake --build "$work/build"
cd "$work/src"
# A sanitized process has every allocation of Python's for itself, reports what C++ throws, and lets malloc fail as it would.
export LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so) $(g++ -print-file-name=libstdc++.so)"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=8192
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc WEFT_STRICT=1 WEFT_STRESS_SECONDS="${WEFT_STRESS_SECONDS:-20}"
if [ $# -gt 0 ]; then exec "$python" -m pytest "$@"; fi
seconds=${WEFT_FUZZ_SECONDS:-60}
"$python" -m pytest tests/aten/native tests/aten/autograd tests/inductor/runtime tests/dynamo
"$python" -m tests.fuzz.attempts
"$python" -m tests.fuzz.native_arguments --seconds "$seconds"
"$python" -m tests.fuzz.stress --seconds "$seconds"
