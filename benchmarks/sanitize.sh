#!/usr/bin/env bash
# Builds the extensions under AddressSanitizer and UndefinedBehaviorSanitizer in a copy of the tree. There all native tests and all
# of tests/dynamo run, then the argument fuzzer and the programs that once killed the process, then threads upon free lists.
# usage: bash benchmarks/sanitize.sh PYTHON [tests...]
# WEFT_FUZZ_SECONDS (default 60): how long the fuzzer takes, and the threads up to 60
set -euo pipefail
python=$(realpath -s "${1:?usage: sanitize.sh PYTHON [tests...]}"); shift
cd "$(dirname "$0")/.."
work=$PWD/build/asan
rm -rf "$work/src"  # what the tree no longer has is no longer built nor tested
mkdir -p "$work/src"
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$work/src"
PATH="$(dirname "$python"):$PATH" cmake -S "$work/src" -B "$work/build" -G Ninja -DWEFT_INPLACE=ON -DWEFT_SANITIZE=ON \
  -DPython_EXECUTABLE="$python" >/dev/null
PATH="$(dirname "$python"):$PATH" cmake --build "$work/build"
# An editable install's finder comes before every path, so that its interpreter would load the modules that are not instrumented: one
# without that finder takes the packages from the copy and all else from where the given one has it.
"$python" -m venv --without-pip "$work/venv"
"$python" - "$work" <<'EOF'
import pathlib, sys, sysconfig
work = sys.argv[1]
site = sysconfig.get_path("platlib", vars={"base": f"{work}/venv", "platbase": f"{work}/venv"})
pathlib.Path(site, "weft.pth").write_text(f"{work}/src\n{sysconfig.get_path('platlib')}\n")
EOF
python=$work/venv/bin/python
rm -rf "$work/reports"
mkdir "$work/reports"
reports() {
  local status=$? file
  for file in $(grep -lrE "ERROR: AddressSanitizer|runtime error:" "$work/reports"); do cat "$file"; status=1; done
  exit $status
}
trap reports EXIT
cd "$work/src"
# A sanitized process has every allocation of Python's for itself, reports what C++ throws, and lets malloc fail as it would.
export LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so) $(g++ -print-file-name=libstdc++.so)"
# Reports go to files, and what a test that dies says itself is not captured: pytest would swallow both.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=8192:log_path=$work/reports/address
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:log_path=$work/reports/undefined
export PYTHONMALLOC=malloc WEFT_STRICT=1 WEFT_STRESS_SECONDS="${WEFT_STRESS_SECONDS:-20}"
"$python" - "$work/src/" <<'EOF'
import sys
from aten import _native
from dynamo import _eval_frame
from inductor import _runner
others = [m.__file__ for m in (_native, _eval_frame, _runner) if not m.__file__.startswith(sys.argv[1])]
sys.exit(f"not the instrumented modules: {others}" if others else 0)
EOF
if [ $# -gt 0 ]; then "$python" -m pytest --capture=sys "$@"; exit; fi
seconds=${WEFT_FUZZ_SECONDS:-60}
status=0  # all run, whatever the one before found
"$python" -m pytest --capture=sys tests/aten/native tests/aten/autograd tests/inductor/runtime tests/dynamo || status=1
"$python" -m tests.fuzz.attempts || status=1
# What one call may hold bounds what it has to do: else what is only large is told from what hangs by nothing but patience.
ASAN_OPTIONS=$ASAN_OPTIONS:max_allocation_size_mb=1024 "$python" -m tests.fuzz.native_arguments --seconds "$seconds" || status=1
"$python" -m tests.fuzz.stress --seconds $((seconds < 60 ? seconds : 60)) || status=1
exit $status
