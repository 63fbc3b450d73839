"""Attention of several heads."""

from __future__ import annotations

from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module
from weft.nn.modules.linear import NonDynamicallyQuantizableLinear


class MultiheadAttention(Module):
    """Several attentions side by side, each on its part of the projected features (Vaswani et al. 2017).

    query (L, N, E), key (S, N, kdim), value (S, N, vdim) → (L, N, E), and the weights; (N, L, E) with `batch_first`, (L, E) without
    a batch. Raises ValueError for sizes not above 0, AssertionError where `num_heads` does not divide `embed_dim`.
    """

    __constants__ = ["batch_first"]
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        make = lambda *sizes: Parameter(aten.empty(sizes, device=device, dtype=dtype))
        parts = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        for name, width in parts.items():
            self.register_parameter(f"{name}_proj_weight", None if self._qkv_same_embed_dim else make(embed_dim, width))
        self.register_parameter("in_proj_weight", make(3 * embed_dim, embed_dim) if self._qkv_same_embed_dim else None)
        self.register_parameter("in_proj_bias", make(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = make(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = make(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            same = key is query, value is key
            query = query.transpose(1, 0)
            key = query if same[0] else key.transpose(1, 0)
            value = key if same[1] else value.transpose(1, 0)
        separate = not self._qkv_same_embed_dim
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=separate, q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (output.transpose(1, 0) if swapped else output), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one of (N, heads, L, S), and which it is: 0 an attention mask, 1 a padding mask, 2 both, None none."""
        kind, merged = (1, key_padding_mask) if key_padding_mask is not None else (None, None)
        if attn_mask is not None:
            n, length = query.shape[0], query.shape[1]
            kind = 2
            wide = attn_mask.dim() == 3
            merged = attn_mask.view(n, -1, length, length) if wide else attn_mask.view(1, 1, length, length)
            merged = merged.expand(n, self.num_heads, -1, -1)
            if key_padding_mask is not None:
                merged = merged + key_padding_mask.view(n, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, kind
