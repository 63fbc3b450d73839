"""nn.attention: which kernels are allowed, causal masks, flex_attention against the plain formula."""

from __future__ import annotations

import pytest

import weft as torch
from weft.nn import functional as F
from weft.nn.attention import SDPBackend, bias, sdpa_kernel
from weft.nn.attention.flex_attention import and_masks, create_block_mask, create_mask, flex_attention


def test_chosen_kernels_are_seen_within_the_block():
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert torch.backends.cuda.math_sdp_enabled() and not torch.backends.cuda.mem_efficient_sdp_enabled()
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            assert torch.backends.cuda.mem_efficient_sdp_enabled() and not torch.backends.cuda.math_sdp_enabled()
        assert torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.mem_efficient_sdp_enabled()
    assert (repr(SDPBackend.MATH), str(SDPBackend.MATH), int(SDPBackend.ERROR)) == ("<SDPBackend.MATH: 0>", "SDPBackend.MATH", -1)
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"), sdpa_kernel(3):
        pass


def test_causal_masks_are_aligned_at_either_end():
    assert bias.causal_upper_left(2, 3).tolist() == [[True, False, False], [True, True, False]]
    lower = bias.causal_lower_right(2, 3)
    assert lower.tolist() == [[True, True, False], [True, True, True]]
    assert isinstance(lower, torch.Tensor) and lower.variant is bias.CausalVariant.LOWER_RIGHT
    assert (lower.seq_len_q, lower.seq_len_kv, type(lower._materialize())) == (2, 3, torch.Tensor)
    q, k = torch.randn(1, 2, 2, 4), torch.randn(1, 2, 3, 4)
    plain = F.scaled_dot_product_attention(q, k, k, attn_mask=lower._materialize())
    assert torch.equal(F.scaled_dot_product_attention(q, k, k, attn_mask=lower), plain)
    with pytest.raises(AssertionError, match="must be a CausalVariant"):
        bias.CausalBias(1, 2, 3)


def causal(b, h, q, kv):
    return q >= kv


def test_flex_attention_is_attention_with_changed_scores():
    q, k, v = (torch.randn(2, 4, 6, 8, requires_grad=True) for _ in range(3))
    mask = create_block_mask(and_masks(causal, lambda b, h, q, kv: q - kv < 3), None, None, 6, 6, BLOCK_SIZE=2)
    assert mask.shape == (1, 1, 6, 6) and mask.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    dense = create_mask(mask.mask_mod, None, None, 6, 6)
    assert torch.allclose(flex_attention(q, k, v, block_mask=mask), F.scaled_dot_product_attention(q, k, v, dense), atol=1e-6)
    slope = torch.tensor([0.1, 0.2, 0.3, 0.4])
    got, lse = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s - slope[h] * (i - j), return_lse=True)
    places = torch.arange(6)
    scores = q @ k.transpose(-2, -1) / 8**0.5 - slope[:, None, None] * (places[:, None] - places)
    assert torch.allclose(got, scores.softmax(-1) @ v, atol=1e-5) and torch.allclose(lse, scores.logsumexp(-1), atol=1e-5)
    got.sum().backward()
    assert q.grad is not None and bool(q.grad.isfinite().all())


def test_flex_attention_of_grouped_heads_and_of_queries_that_see_nothing():
    q, k = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 3, 8)
    with pytest.raises(ValueError, match="enable_gqa=True"):
        flex_attention(q, k, k)
    grouped = flex_attention(q, k, k, enable_gqa=True)
    assert torch.allclose(grouped, flex_attention(q, k.repeat_interleave(2, 1), k.repeat_interleave(2, 1)))
    nothing = create_block_mask(lambda b, h, q, kv: q > kv, None, None, 3, 3)
    assert (flex_attention(q, q, q, block_mask=nothing)[:, :, 0] == 0).all()
    with pytest.raises(ValueError, match="query has 4 dims"):
        flex_attention(q[0], k, k)
