"""`weft._inductor.config`: the options of the compiler (`aten.settings`), for every compilation that is told nothing else."""

from __future__ import annotations

import sys
from typing import Any

from aten import settings
from aten.config_module import OfSettings


class _Config(OfSettings):
    def read(self, name: str) -> Any:
        return not settings.cache if name == "force_disable_caches" else super().read(name)

    def write(self, name: str, value: Any) -> None:
        super().write(*(("cache", not value) if name == "force_disable_caches" else (name, value)))


OTHER_NAMES = {"triton.cudagraphs": "cudagraphs", "fx_graph_cache": "cache"}
OF_CACHES = ("fx_graph_cache", "force_disable_caches")

# How PyTorch's compiler makes its kernels, where ours has no choice to make or makes it itself; and what it reports. Programs
# give them to torch.compile(options=...) too.
KEPT: dict[str, Any] = {
    "aggressive_fusion": False, "align_random_eager": False, "alignment_asserts": True, "allow_buffer_reuse": True,
    "assert_indirect_indexing": True, "assume_aligned_inputs": False, "autotune_in_subproc": False, "autotune_local_cache": True,
    "autotune_multi_device": False, "autotune_remote_cache": None, "b2b_gemm_pass": False, "batch_fusion": True,
    "benchmark_combo_kernel": False, "benchmark_epilogue_fusion": True, "benchmark_fusion": False, "benchmark_harness": True,
    "benchmark_kernel": False, "comment_origin": False, "comprehensive_padding": True,
    "compute_all_bounds": False, "constant_and_index_propagation": True, "conv_1x1_as_mm": False,
    "coordinate_descent_check_all_directions": False, "coordinate_descent_search_radius": 1, "coordinate_descent_tuning": False,
    "cpp_wrapper": False, "cpu_backend": "cpp", "cuda_backend": "triton", "dce": False, "debug": False, "debug_fusion": False,
    "debug_index_asserts": False, "debug_ir_traceback": False, "decompose_mem_bound_mm": False, "developer_warnings": False,
    "disable_cpp_codegen": False, "disable_progress": True, "efficient_conv_bn_eval_fx_passes": False,
    "emulate_precision_casts": False, "epilogue_fusion_first": False, "fallback_random": False,
    "force_fuse_int_mm_with_mul": False, "force_layout_optimization": False, "force_shape_pad": False, "freezing": False,
    "freezing_discard_parameters": False, "fx_graph_remote_cache": None, "generate_intermediate_hooks": False,
    "graph_partition": True, "group_fusion": False, "implicit_fallbacks": True, "inplace_buffers": True,
    "joint_graph_constant_folding": True, "keep_output_stride": True, "kernel_name_max_ops": 10, "layout_optimization": True,
    "loop_ordering_after_fusion": True, "max_autotune_conv_backends": "ATEN,TRITON", "max_autotune_gemm": False,
    "max_autotune_gemm_backends": "ATEN,TRITON,CPP", "max_autotune_gemm_search_space": "DEFAULT",
    "max_autotune_pointwise": False, "max_pointwise_cat_inputs": 8, "memory_planning": False, "memory_pool": "intermediates",
    "min_num_split": 0, "mixed_mm_choice": "heuristic", "online_softmax": True, "pad_channels_last": False,
    "pattern_matcher": True, "permute_fusion": False, "pick_loop_orders": True, "profile_bandwidth": False,
    "profiler_mark_wrapper_call": False, "prologue_fusion": True, "realize_acc_reads_threshold": 8,
    "reorder_for_compute_comm_overlap": False, "reorder_for_locality": True, "reorder_for_peak_memory": True, "save_args": False,
    "scalar_asserts": True, "search_autotune_cache": False, "shape_padding": True, "size_asserts": True,
    "split_cat_fx_passes": True, "split_reductions": True, "static_weight_shapes": True, "unroll_reductions_threshold": 8,
    "use_fast_math": False, "use_mixed_mm": True, "verbose_progress": False, "warn_mix_layout": False,
    "worker_start_method": "subprocess",
    "aot_inductor.debug_compile": False, "aot_inductor.output_path": "", "aot_inductor.package": False,
    "aot_inductor.use_runtime_constant_folding": False,
    "cpp.descriptive_names": "original_aten", "cpp.dynamic_threads": False, "cpp.enable_floating_point_contract_flag": "off",
    "cpp.enable_kernel_profile": False, "cpp.enable_unsafe_math_opt_flag": False, "cpp.fallback_scatter_reduce_sum": True,
    "cpp.max_horizontal_fusion_size": 16, "cpp.min_chunk_size": 512, "cpp.simdlen": None, "cpp.threads": -1,
    "cpp.vec_isa_ok": None, "cpp.weight_prepack": True,
    "cuda.arch": None, "cuda.compile_opt_level": "-O1", "cuda.enable_debug_info": False, "cuda.use_fast_math": False,
    "trace.debug_dir": None, "trace.enabled": False, "trace.fx_graph": True, "trace.graph_diagram": False,
    "trace.ir_post_fusion": True, "trace.ir_pre_fusion": True, "trace.log_autotuning_results": False, "trace.output_code": True,
    "triton.autotune_pointwise": True, "triton.codegen_upcast_to_fp32": True, "triton.cooperative_reductions": False,
    "triton.cudagraph_skip_dynamic_graphs": False, "triton.cudagraph_support_input_mutation": True,
    "triton.cudagraph_trees": True, "triton.debug_sync_graph": False, "triton.debug_sync_kernel": False,
    "triton.dense_indexing": False, "triton.descriptive_names": "original_aten", "triton.divisible_by_16": True,
    "triton.max_tiles": None, "triton.multi_kernel": 0, "triton.persistent_reductions": True, "triton.prefer_nd_tiling": False,
    "triton.skip_cudagraph_warmup": False, "triton.slow_path_cudagraph_asserts": True, "triton.store_cubin": False,
    "triton.tiling_prevents_pointwise_fusion": True, "triton.unique_kernel_names": True, "triton.use_block_ptr": False,
}  # fmt: skip

_OWN = {s.name: type(s.default) for s in settings.declared.values() if s.option} | {"cache": bool, "force_disable_caches": bool}
_Config.become(sys.modules[__name__], _OWN, OTHER_NAMES, KEPT)
