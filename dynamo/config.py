"""Settings of capture, read when a function is compiled: `weft._dynamo.config.recompile_limit = 16`."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

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


class Patch:
    """Within a `with` block, or in the calls of what it decorates, settings have other values."""

    def __init__(self, changes: dict[str, Any]):
        self.changes = changes
        self.before: list[dict[str, Any]] = []

    def __enter__(self) -> Patch:
        settings = sys.modules[__name__]
        self.before.append({name: getattr(settings, name) for name in self.changes})
        for name, value in self.changes.items():
            setattr(settings, name, value)
        return self

    def __exit__(self, *exc: Any) -> None:
        for name, value in self.before.pop().items():
            setattr(sys.modules[__name__], name, value)

    def __call__(self, fn: Callable) -> Callable:
        if not callable(fn):
            raise TypeError(f"config.patch decorates a function, not {type(fn).__name__}")

        @functools.wraps(fn)
        def patched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fn(*args, **kwargs)

        return patched


def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> Patch:
    """patch("name", value), patch({name: value}) or patch(name=value): for a `with` block, or a decorated function."""
    if isinstance(arg1, str):
        changes = {arg1: arg2, **kwargs}
    else:
        changes = {**(arg1 or {}), **kwargs}
    if not changes:
        raise AssertionError("patch needs settings to change")
    for name in changes:
        getattr(sys.modules[__name__], name)
    return Patch(changes)


class _Config(types.ModuleType):
    """A module to which only the settings above can be assigned, each a value of its type."""

    def __setattr__(self, name: str, value: Any) -> None:
        name = _OTHER_NAMES.get(name, name)
        if not name.startswith("__"):
            if name not in _KINDS:
                raise AttributeError(f"there is no setting {name!r}; known: {', '.join(sorted(_KINDS))}")
            if type(value) is not _KINDS[name]:
                raise TypeError(f"{name} is of type {_KINDS[name].__name__}, not {type(value).__name__}")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in _OTHER_NAMES:
            return getattr(self, _OTHER_NAMES[name])
        raise AttributeError(f"there is no setting {name!r}; known: {', '.join(sorted(_KINDS))}")


_KINDS = {name: type(value) for name, value in list(globals().items()) if type(value) in (bool, int, set)}
sys.modules[__name__].__class__ = _Config
