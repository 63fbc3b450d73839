"""Helpers of training loops."""

from weft.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, get_total_norm
from weft.nn.utils.flatten_parameters import parameters_to_vector, vector_to_parameters

__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "vector_to_parameters"]
