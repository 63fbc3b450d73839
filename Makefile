# Everything people do daily. PYTHON chooses the interpreter, VENV where the environment is made.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready

.PHONY: demo test fuzz lint bench asan golden clean

$(READY): pyproject.toml CMakeLists.txt $(wildcard aten/native/*.cpp aten/native/*.h aten/native/isa/*.cpp dynamo/eval_frame/* inductor/runtime/*.cpp)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q "scikit-build-core>=0.10" "cmake>=3.18" ninja "numpy>=1.26"
	$(BIN)/python -m pip install -q --no-build-isolation -e ".[test]"
	touch $(READY)

venv: $(READY)

demo: $(READY)  ## train a GPT eager and compiled, then generate text
	$(BIN)/python -m benchmarks.gpt

WORKERS ?= 2
test: $(READY)  ## the test suite, strict, in WORKERS processes (those on the simulated device apart: they open a driver)
	WEFT_STRICT=1 $(BIN)/python -m pytest tests --ignore=tests/cuda -n $(WORKERS) --dist worksteal
	WEFT_STRICT=1 $(BIN)/python -m pytest tests/cuda -n $(WORKERS) --dist worksteal

SECONDS ?= 3600
fuzz: $(READY)  ## every fuzzer for SECONDS (an hour), each
	WEFT_STRICT=1 WEFT_FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest tests/fuzz

lint: $(READY)  ## ruff and mypy
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

bench: $(READY)  ## every benchmark; PEER=path to a Python with torch and jax prints ratios
	for b in call_overhead compile_time memory_bound matmul code_size; do \
	  $(BIN)/python -m benchmarks.$$b $(if $(PEER),--peer-python $(PEER)) || exit 1; done

asan: $(READY)  ## native tests under AddressSanitizer and UndefinedBehaviorSanitizer
	bash benchmarks/sanitize.sh $(BIN)/python

golden: $(READY)  ## write the golden files anew; read the difference before committing it
	WEFT_GOLDEN=write $(BIN)/python -m pytest tests

clean:
	rm -rf build $(VENV) */_*.so
