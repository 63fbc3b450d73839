"""Small random models of transformers: a row each, name: (class, class of its configuration, settings, kinds of inputs)."""

import numpy as np

VOCABULARY, LENGTH = 99, 7
USUAL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
TEXT = {**USUAL, "vocab_size": VOCABULARY}
GROUPED = {**TEXT, "num_key_value_heads": 2}
VISION = {**USUAL, "image_size": 32, "patch_size": 8}
STAGES = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]}
PAIR = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": VOCABULARY, "max_position_embeddings": 32,
}  # fmt: skip

MODELS = {
    "albert": ("AlbertForMaskedLM", "AlbertConfig", {**TEXT, "embedding_size": 16}, "text"),
    "bart": ("BartForConditionalGeneration", "BartConfig", PAIR, "pair"),
    "beit": ("BeitModel", "BeitConfig", {**VISION, "use_relative_position_bias": True}, "image"),
    "bert": ("BertForMaskedLM", "BertConfig", {**TEXT, "max_position_embeddings": 32}, "text"),
    "bloom": ("BloomForCausalLM", "BloomConfig", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY}, "text"),
    "clip": (
        "CLIPModel",
        "CLIPConfig",
        {
            "text_config": {**TEXT, "max_position_embeddings": 32, "projection_dim": 16, "eos_token_id": 98},
            "vision_config": {**VISION, "projection_dim": 16},
            "projection_dim": 16,
        },
        "text image",
    ),
    "convnextv2": ("ConvNextV2Model", "ConvNextV2Config", {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2}, "image"),
    "deberta_v2": (
        "DebertaV2Model",
        "DebertaV2Config",
        {**TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "max_position_embeddings": 64},
        "text",
    ),
    "deepseek_v3": (
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        {
            **TEXT, "num_key_value_heads": 4, "moe_intermediate_size": 16, "n_routed_experts": 8, "n_group": 2, "topk_group": 1,
            "num_experts_per_tok": 2, "kv_lora_rank": 8, "q_lora_rank": 16, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8,
            "v_head_dim": 8, "first_k_dense_replace": 1,
        },
        "text",
    ),
    "deit": ("DeiTForImageClassification", "DeiTConfig", VISION, "image"),
    "dinov2": ("Dinov2Model", "Dinov2Config", {**VISION, "mlp_ratio": 2}, "image"),
    "distilbert": (
        "DistilBertForMaskedLM",
        "DistilBertConfig",
        {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4, "vocab_size": VOCABULARY},
        "text",
    ),
    "electra": ("ElectraForMaskedLM", "ElectraConfig", {**TEXT, "embedding_size": 16}, "text"),
    "falcon": ("FalconForCausalLM", "FalconConfig", {**TEXT}, "text"),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", {**TEXT, "num_key_value_heads": 1, "head_dim": 8}, "text"),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**GROUPED, "head_dim": 8, "query_pre_attn_scalar": 8}, "text"),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": VOCABULARY}, "text"),
    "gpt_neo": (
        "GPTNeoForCausalLM",
        "GPTNeoConfig",
        {
            "hidden_size": 32, "num_layers": 2, "attention_types": [[["global", "local"], 1]], "num_heads": 4,
            "vocab_size": VOCABULARY, "window_size": 4, "max_position_embeddings": 32,
        },
        "text",
    ),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", TEXT, "text"),
    "gptj": (
        "GPTJForCausalLM",
        "GPTJConfig",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "vocab_size": VOCABULARY},
        "text",
    ),
    "llama": ("LlamaForCausalLM", "LlamaConfig", GROUPED, "text"),
    "longformer": ("LongformerModel", "LongformerConfig", {**TEXT, "attention_window": 4, "max_position_embeddings": 64}, "text"),
    "mamba2": (
        "Mamba2ForCausalLM",
        "Mamba2Config",
        {
            "hidden_size": 32, "num_hidden_layers": 2, "vocab_size": VOCABULARY, "state_size": 8, "num_heads": 8, "head_dim": 8,
            "n_groups": 1, "chunk_size": 4,
        },
        "text",
    ),
    "marian": ("MarianMTModel", "MarianConfig", {**PAIR, "pad_token_id": 0, "decoder_start_token_id": 0}, "pair"),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**GROUPED, "sliding_window": 4}, "text"),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", {**GROUPED, "num_local_experts": 4}, "text"),
    "mobilevit": (
        "MobileViTModel",
        "MobileViTConfig",
        {
            "image_size": 64, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32],
            "num_attention_heads": 2,
        },
        "picture",
    ),
    "olmo2": ("Olmo2ForCausalLM", "Olmo2Config", TEXT, "text"),
    "opt": (
        "OPTForCausalLM",
        "OPTConfig",
        {**TEXT, "ffn_dim": 64, "word_embed_proj_dim": 32, "max_position_embeddings": 32},
        "text",
    ),
    "pegasus": ("PegasusForConditionalGeneration", "PegasusConfig", PAIR, "pair"),
    "phi": ("PhiForCausalLM", "PhiConfig", TEXT, "text"),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", {**TEXT, "pad_token_id": 0}, "text"),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", GROUPED, "text"),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**GROUPED, "head_dim": 8}, "text"),
    "regnet": ("RegNetModel", "RegNetConfig", {**STAGES, "groups_width": 4}, "image"),
    "resnet": ("ResNetForImageClassification", "ResNetConfig", STAGES, "image"),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", {**TEXT, "max_position_embeddings": 64}, "text"),
    "segformer": (
        "SegformerForSemanticSegmentation",
        "SegformerConfig",
        {
            "hidden_sizes": [8, 16, 16, 16], "depths": [1] * 4, "num_attention_heads": [1, 2, 2, 2], "decoder_hidden_size": 16,
            "num_labels": 5,
        },
        "picture",
    ),
    "swin": (
        "SwinModel",
        "SwinConfig",
        {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
        "image",
    ),
    "t5": (
        "T5ForConditionalGeneration",
        "T5Config",
        {
            "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": VOCABULARY,
            "feed_forward_proj": "gated-gelu", "decoder_start_token_id": 0,
        },
        "pair",
    ),
    "vit": ("ViTForImageClassification", "ViTConfig", VISION, "image"),
    "wav2vec2": (
        "Wav2Vec2Model",
        "Wav2Vec2Config",
        {
            **USUAL, "conv_dim": [16, 16], "conv_stride": [5, 2], "conv_kernel": [10, 3], "num_feat_extract_layers": 2,
            "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2,
        },
        "sound",
    ),
    "whisper": (
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        {
            **{k: v for k, v in PAIR.items() if k != "max_position_embeddings"}, "num_mel_bins": 8, "max_source_positions": 16,
            "max_target_positions": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
        },
        "spectrum",
    ),
    "xlnet": (
        "XLNetLMHeadModel",
        "XLNetConfig",
        {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "vocab_size": VOCABULARY},
        "text",
    ),
}  # fmt: skip
# Where a graph breaks, under PyTorch too, and why.
BREAKS = {
    "deepseek_v3": "where(mask) gives as many rows as an expert has tokens",
    "longformer": "item() asks whether any token attends to all",
    "mamba2": "a branch on the value of cache_position",
}


def arrays(kinds):
    """The inputs of a model by name; `kinds`: words of its row."""
    draw = np.random.default_rng(0)
    ids = draw.integers(3, VOCABULARY, (2, LENGTH))
    normal = lambda *sizes: draw.normal(size=sizes).astype(np.float32)  # noqa: E731
    of_kind = {
        "text": lambda: {"input_ids": ids},
        "pair": lambda: {"input_ids": ids, "decoder_input_ids": ids[:, :5]},
        "image": lambda: {"pixel_values": normal(2, 3, 32, 32)},
        "picture": lambda: {"pixel_values": normal(2, 3, 64, 64)},
        "sound": lambda: {"input_values": normal(2, 400)},
        "spectrum": lambda: {"input_features": normal(2, 8, 32), "decoder_input_ids": ids[:, :5]},
    }
    return {name: array for kind in kinds.split() for name, array in of_kind[kind]().items()}
