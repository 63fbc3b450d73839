#!/usr/bin/env bash
# Builds the extensions under AddressSanitizer and UndefinedBehaviorSanitizer in a copy of the tree, and runs their tests there.
# usage: bash benchmarks/sanitize.sh PYTHON [tests...]
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
tests=("$@"); [ ${#tests[@]} -gt 0 ] || tests=(tests/aten/native tests/aten/autograd tests/dynamo/eval_frame tests/inductor/runtime)
LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc WEFT_STRICT=1 "$python" -m pytest "${tests[@]}"
