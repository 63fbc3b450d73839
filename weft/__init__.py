"""weft: torch.compile without torch. `import weft as torch` runs PyTorch model code.

Tensors, dtypes and ops are those of `aten` and are looked up there on first use, as are the parts of this package.
"""

import gc as _gc
from importlib import import_module as _import_module
from typing import Any as _Any

from weft import joined as _joined

_joined.install(__file__, __spec__.cached)
_collects = _gc.isenabled()
_gc.disable()  # what is imported lives on
try:
    import dynamo as _dynamo_package  # noqa: F401  (here, so that a folder of the program's that has such a name is not taken for it)
    import inductor as _inductor_package  # noqa: F401
    from aten import devices as _devices
    from aten import overrides as _overrides
    from aten.collection import lasting_imports as _lasting_imports
    from weft import aliases as _aliases
finally:
    if _collects:
        if not _gc.get_freeze_count():
            _gc.freeze()
            _gc.unfreeze()  # it counts as old now: no collection walks it before a full one
        _gc.enable()

_devices.compilers["cuda"] = lambda: _import_module("inductor.cuda.eager")  # what runs ops there
_devices.makers["cuda"] = lambda: _import_module("inductor.cuda.factories")

_overrides.seen_by_users.append(lambda op, args, kwargs: _import_module("weft.ops").overload_of(op, args, kwargs))

_aliases.install(
    {
        "weft.autograd.anomaly_mode": "aten.autograd.anomaly",
        "weft._tensor": "aten.tensor",
        "weft._dynamo": "dynamo",
        "weft._inductor": "inductor",
        "weft.fx": "aten.fx",
        "weft.autograd": "aten.autograd",
        "weft._higher_order_ops": "aten.higher_order",
        "weft.sparse": "aten.sparse",
        "weft.random": "aten.random",
        "weft.storage": "aten.storage",
        "weft.nn.modules.module": "weft.nn.module",
        "weft.nn.modules.container": "weft.nn.containers",
        "weft.nn.modules.linear_cross_entropy_options": "weft.nn.linear_cross_entropy",
    }
)

_PARTS = frozenset({
    "_C", "_VF", "__config__", "__future__", "_jit_internal", "_dynamo", "_functorch", "_higher_order_ops", "_inductor",
    "_logging", "_ops", "_prims_common", "_refs", "_tensor_str", "_utils", "_vmap_internals", "accelerator", "amp", "autograd",
    "backends", "compiler", "cpu", "cuda", "distributed", "distributions", "export", "fft", "func", "functional", "functorch",
    "futures", "fx", "hub", "jit", "library", "linalg", "masked", "mps", "multiprocessing", "nn", "onnx", "ops", "optim",
    "overrides", "profiler", "quasirandom", "return_types", "serialization", "signal", "sparse", "special", "testing",
    "torch_version", "types", "utils", "version", "xpu",
})  # fmt: skip
_OF_FILE = {  # the names that a file gives
    "weft.amp.autocast_mode": "autocast",
    "weft.amp.grad_scaler": "GradScaler",
    "weft.amp.scaling": "_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_",
    "weft.asserts": "_assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_type "
    "_check_value _check_with",
    "aten.declared_ops": "Tag",
    "aten.errors": "AcceleratorError OutOfMemoryError",
    "aten.higher_order": "cond while_loop",
    "aten.overrides": "DisableTorchFunctionSubclass",
    "aten.printing": "set_printoptions",
    "weft.build_facts": "compiled_with_cxx11_abi get_device has_lapack has_mkl has_openmp has_spectral is_distributed is_storage "
    "is_vulkan_available",
    "weft.compilation": "compile",
    "weft.determinism": "are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision "
    "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_deterministic_debug_mode "
    "set_float32_matmul_precision set_warn_always use_deterministic_algorithms",
    "weft.explanation": "explain",
    "weft.func": "vmap",
    "weft.serialization": "load save",
    "weft.serialization.file_reader": "PyTorchFileReader",
    "weft.nn.utils.weight_norm": "norm_except_dim",
    "weft.queues": "Event Stream get_device_module",
    "weft.jit": "CompilationUnit ScriptFunction ScriptModule TensorType",
    "weft.jit.future": "Future fork wait",
    "weft.switch": "as_torch",
    "weft.symbolic_numbers": "SymBool SymFloat SymInt sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size "
    "sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum",
    "weft.threads": "get_num_interop_threads get_num_threads set_flush_denormal set_num_interop_threads set_num_threads",
    "weft.top_level": "adaptive_max_pool1d batch_norm binary_cross_entropy_with_logits convolution cosine_embedding_loss ctc_loss "
    "embedding embedding_bag group_norm hinge_embedding_loss instance_norm kl_div layer_norm margin_ranking_loss poisson_nll_loss "
    "triplet_margin_loss",
    "weft.type_names": "_has_compatible_shallow_copy_type typename",
    "weft.version": "__version__",
}
_HOME = {name: file for file, names in _OF_FILE.items() for name in names.split()}


_CLASSES = {"dtype": "DType", "layout": "Layout", "memory_format": "MemoryFormat"}  # whose lower-case names are modules of aten


def __getattr__(name: str) -> _Any:
    if name == "torch":  # torch.torch, which programs write
        value: _Any = _import_module("weft")
    elif name in _PARTS:
        with _lasting_imports():
            value = _import_module(f"weft.{name}")
    elif name in _HOME:
        with _lasting_imports():
            value = getattr(_import_module(_HOME[name]), name)
    elif name.startswith("_foreach_") and name in (foreach := _import_module("weft.foreach")).NAMES:
        value = getattr(foreach, name)
    else:
        from weft.missing import error  # here and below: what a program that asks for neither does not load

        if name.startswith("__") and name != "__array_namespace_info__":
            raise error("weft", name)
        import aten

        try:
            value = getattr(aten, _CLASSES.get(name, name))
        except AttributeError:
            raise error("weft", name) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    import aten

    return sorted(set(globals()) | set(dir(aten)) | _PARTS | set(_HOME) | set(_CLASSES))
