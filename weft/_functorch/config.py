"""Settings of aot, under PyTorch's names."""

from __future__ import annotations

import sys

from aten.config_module import OfSettings

# How PyTorch's aot and partitioner do their work, where ours have no choice to make.
_KEPT = {
    "activation_memory_budget": 1.0, "activation_memory_budget_runtime_estimator": "flops", "activation_memory_budget_solver": "dp",
    "aggressive_recomputation": False, "ban_recompute_long_fusible_chains": True, "ban_recompute_materialized_backward": True,
    "ban_recompute_not_in_allowlist": True, "ban_recompute_reductions": True, "ban_recompute_used_far_apart": True,
    "check_custom_op_aliasing": True, "cse": True, "debug_partitioner": False, "donated_buffer": True,
    "enable_autograd_cache": True,
    "fake_tensor_allow_meta": True, "fake_tensor_allow_unsafe_data_ptr_access": True, "functionalize_rng_ops": False,
    "max_dist_from_bw": 1000, "recompute_views": False, "static_weight_shapes": True, "strict_autograd_cache": False,
    "treat_parameters_as_free_to_save": True, "unlift_effect_tokens": False, "view_replay_for_aliased_outputs": True,
}  # fmt: skip

OfSettings.become(sys.modules[__name__], {"check_metas": bool}, {"debug_assert": "check_metas"}, _KEPT)
