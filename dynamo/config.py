"""Settings of capture, read when a function is compiled: `weft._dynamo.config.recompile_limit = 16`."""

from __future__ import annotations

import sys
import types
from typing import Any

recompile_limit = 8  # entries per code object; calls that none of them answers run eager from then on
automatic_dynamic_shapes = True  # a size or number that is seen to change becomes a symbol

# Packages that are left to Python with all that they call: their functions work on Python's own values, and capturing
# them costs more than it gains. Add yours: weft._dynamo.config.libraries.add("package").
libraries = {
    "absl", "arrow", "click", "cloudpickle", "cv2", "dask", "datasets", "dateutil", "dill", "fsspec", "h5py",
    "huggingface_hub", "imageio", "ipykernel", "IPython", "jax", "jinja2", "joblib", "keras", "llvmlite", "loguru",
    "matplotlib", "ml_dtypes", "mlflow", "mpl_toolkits", "mpmath", "networkx", "nltk", "numba", "numpy", "onnx",
    "onnxruntime", "pandas", "PIL", "pip", "pkg_resources", "pluggy", "polars", "psutil", "pyarrow", "pytest", "_pytest",
    "pytz", "requests", "rich", "safetensors", "scipy", "seaborn", "setuptools", "_distutils_hack", "skimage", "sklearn",
    "spacy", "statsmodels", "sympy", "tensorboard", "tensorboardX", "tensorflow", "tokenizers", "torch", "tqdm",
    "traitlets", "triton", "urllib3", "wandb", "xarray", "xgboost", "yaml",
}  # fmt: skip

class _Config(types.ModuleType):
    """A module to which only the settings above can be assigned, each a value of its type."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__"):
            if name not in _KINDS:
                raise AttributeError(f"there is no setting {name!r}; known: {', '.join(sorted(_KINDS))}")
            if type(value) is not _KINDS[name]:
                raise TypeError(f"{name} is of type {_KINDS[name].__name__}, not {type(value).__name__}")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no setting {name!r}; known: {', '.join(sorted(_KINDS))}")


_KINDS = {name: type(value) for name, value in list(globals().items()) if type(value) in (bool, int, set)}
sys.modules[__name__].__class__ = _Config
