"""Settings of capture, read when a function is compiled: `weft._dynamo.config.recompile_limit = 16`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from aten.config_module import ConfigModule

if TYPE_CHECKING:
    patch: Any  # config.patch(recompile_limit=2), for a `with` block or a decorated function; from ConfigModule

recompile_limit = 8  # entries per code object and compiled function; calls that none of them answers run eager from then on
accumulated_recompile_limit = 256  # entries per code object, of all functions compiled from it
fail_on_recompile_limit_hit = False  # raise where a limit is reached (with fullgraph that is always so)
error_on_recompile = False  # raise instead of compiling anything once more
suppress_errors = False  # a backend that raises leaves the call to Python, with a warning, instead of failing it
automatic_dynamic_shapes = True  # a size or number that is seen to change becomes a symbol
force_parameter_static_shapes = True  # sizes of Parameters stay numbers, also where other ones come to the same code
force_nn_module_property_static_shapes = True  # and those of the buffers of Modules
assume_static_by_default = True  # False: sizes are symbols at once, as weft.compile(f, dynamic=True) says
trace_autograd_ops = False  # autograd.grad and backward() become part of the graph, as they do under fullgraph; else they break it
capture_dynamic_output_shape_ops = False  # nonzero(), x[mask] … make sizes that the graph knows once it has run; else they break it
capture_scalar_outputs = False  # item() and the like become numbers of the graph, known once it has run; else they break it
ignore_logger_methods: set = set()  # logging.Logger.info, logger.info …: calls of them are left out
reorderable_logging_functions: set = set()  # print, warnings.warn …: called behind the graph, with what it has computed
specialize_int = False  # ints are constants, each value compiled for itself
specialize_float = False  # the same for floats
error_on_nested_fx_trace = True  # weft.fx.symbolic_trace of a compiled function is an error
disable = False  # weft.compile gives back what it is given
raise_on_ctx_manager_usage = True  # `with weft._dynamo.optimize(…):` is an error: it compiles whatever starts in the block

# Packages that are left to Python with all that they call: their functions work on Python's own values, and capturing
# them costs more than it gains. Add yours: weft._dynamo.config.libraries.add("package").
libraries = {
    "absl", "arrow", "click", "cloudpickle", "cv2", "dask", "datasets", "dateutil", "dill", "fsspec", "h5py",
    "imageio", "ipykernel", "IPython", "jax", "jinja2", "joblib", "keras", "llvmlite", "loguru",
    "matplotlib", "ml_dtypes", "mlflow", "mpl_toolkits", "mpmath", "networkx", "nltk", "numba", "numpy", "onnx",
    "onnxruntime", "pandas", "PIL", "pip", "pkg_resources", "pluggy", "polars", "psutil", "pyarrow", "pytest", "_pytest",
    "pytz", "requests", "rich", "safetensors", "scipy", "seaborn", "setuptools", "_distutils_hack", "skimage", "sklearn",
    "spacy", "statsmodels", "sympy", "tensorboard", "tensorboardX", "tensorflow", "tokenizers", "torch", "tqdm",
    "traitlets", "triton", "urllib3", "wandb", "xarray", "xgboost", "yaml",
}  # fmt: skip
_OTHER_NAMES = {
    "cache_size_limit": "recompile_limit",
    "accumulated_cache_size_limit": "accumulated_recompile_limit",
    "fail_on_cache_limit_hit": "fail_on_recompile_limit_hit",
}
# How PyTorch's capture does its work, where ours has no choice to make.
_KEPT = {
    "allow_unspec_int_on_nn_module": False, "assume_dunder_attributes_remain_unchanged": True, "capture_autograd_function": True,
    "capture_func_transforms": True, "capture_profiler_record_function": False, "capture_sparse_compute": True,
    "caching_precompile": False, "compiled_autograd": False, "cprofile": False, "dead_code_elimination": True,
    "do_not_emit_runtime_asserts": False, "dont_skip_tracing": False, "dynamic_shapes": True, "enable_compiler_collectives": False,
    "enable_cpp_guard_manager": True, "enable_cpp_symbolic_shape_guards": False, "enable_faithful_generator_behavior": True,
    "enable_trace_contextlib": True, "fake_tensor_cache_enabled": True, "guard_nn_modules": True,
    "guard_nn_modules_using_dict_tags": True, "inline_inbuilt_nn_modules": True, "log_compilation_metrics": True,
    "log_file_name": None, "optimize_ddp": True, "prefer_deferred_runtime_asserts_over_guards": False, "prepare_freezing": False,
    "replay_record_enabled": False, "repro_after": None, "repro_level": 2, "repro_tolerance": 1e-3, "report_guard_failures": True,
    "rewrite_assert_with_torch_assert": True, "run_gc_after_compile": True, "skip_fsdp_guards": True,
    "skip_nnmodule_hook_guards": True, "skip_no_tensor_aliasing_guards_on_parameters": True,
    "skip_tensor_guards_with_matching_dict_tags": True, "skip_torchrec": True, "trace_numpy": True,
    "use_lazy_graph_module": True, "verbose": False,
}  # fmt: skip

_OWN = {name: type(value) for name, value in list(globals().items()) if type(value) in (bool, int, set) and name != "TYPE_CHECKING"}
ConfigModule.become(sys.modules[__name__], _OWN, _OTHER_NAMES, _KEPT)
