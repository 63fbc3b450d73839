"""GPT-2 in the manner of Hugging Face: a configuration, outputs that are dataclass and dictionary, key-value cache, head masks,
gradient checkpointing, attentions and hidden states on request."""

import copy
import math
from collections import OrderedDict
from dataclasses import dataclass, fields

import torch
import torch.utils.checkpoint
from torch import nn
from torch.nn import CrossEntropyLoss


class ModelOutput(OrderedDict):
    def __post_init__(self):
        for f in fields(self):
            v = getattr(self, f.name)
            if v is not None:
                self[f.name] = v

    def __getitem__(self, k):
        return dict(self.items())[k] if isinstance(k, str) else self.to_tuple()[k]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[k] for k in self.keys())


@dataclass
class CausalLMOutput(ModelOutput):
    loss: torch.FloatTensor | None = None
    logits: torch.FloatTensor = None
    past_key_values: tuple[tuple[torch.FloatTensor]] | None = None
    hidden_states: tuple[torch.FloatTensor, ...] | None = None
    attentions: tuple[torch.FloatTensor, ...] | None = None


class Config:
    model_type = "tiny"
    attribute_map = {"hidden": "hidden_size"}

    def __init__(
        self,
        vocab_size=20,
        hidden_size=8,
        n_head=2,
        n_layer=2,
        n_positions=16,
        activation_function="gelu_new",
        use_cache=True,
        initializer_range=0.02,
        **kw,
    ):
        for k, v in dict(locals()).items():
            if k not in ("self", "kw"):
                setattr(self, k, v)
        self.output_attentions = kw.pop("output_attentions", False)
        self.use_return_dict = kw.pop("return_dict", True)

    def to_dict(self):
        return copy.deepcopy(self.__dict__)

    def __getattribute__(self, k):
        if k != "attribute_map" and k in super().__getattribute__("attribute_map"):
            k = super().__getattribute__("attribute_map")[k]
        return super().__getattribute__(k)


class NewGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class ClassInst(OrderedDict):
    def __getitem__(self, k):
        c = super().__getitem__(k)
        cls, kw = c if isinstance(c, tuple) else (c, {})
        return cls(**kw)


ACT2FN = ClassInst({"gelu_new": NewGELU, "relu": nn.ReLU, "leaky": (nn.LeakyReLU, {"negative_slope": 0.1})})


class Conv1D(nn.Module):
    def __init__(self, nf, nx):
        super().__init__()
        self.nf = nf
        self.weight = nn.Parameter(torch.empty(nx, nf))
        self.bias = nn.Parameter(torch.zeros(nf))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x):
        size_out = x.size()[:-1] + (self.nf,)
        x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return x.view(size_out)


class Attn(nn.Module):
    def __init__(self, c, layer_idx=None):
        super().__init__()
        m = c.n_positions
        self.register_buffer("bias", torch.tril(torch.ones((m, m), dtype=torch.bool)).view(1, 1, m, m), persistent=False)
        self.register_buffer("masked_bias", torch.tensor(-1e4), persistent=False)
        self.n, self.d = c.n_head, c.hidden
        self.hd = self.d // self.n
        self.c_attn = Conv1D(3 * self.d, self.d)
        self.c_proj = Conv1D(self.d, self.d)
        self.drop = nn.Dropout(0.0)
        self.layer_idx = layer_idx

    def _attn(self, q, k, v, mask=None, head_mask=None):
        w = torch.matmul(q, k.transpose(-1, -2))
        w = w / torch.full([], v.size(-1) ** 0.5, dtype=w.dtype, device=w.device)
        ql, kl = q.size(-2), k.size(-2)
        cm = self.bias[:, :, kl - ql : kl, :kl]
        mv = torch.finfo(w.dtype).min
        mv = torch.full([], mv, dtype=w.dtype, device=w.device)
        w = torch.where(cm, w.to(w.dtype), mv)
        if mask is not None:
            w = w + mask
        w = nn.functional.softmax(w, dim=-1).type(v.dtype)
        w = self.drop(w)
        if head_mask is not None:
            w = w * head_mask
        return torch.matmul(w, v), w

    def _split(self, t):
        return t.view(t.size()[:-1] + (self.n, self.hd)).permute(0, 2, 1, 3)

    def forward(self, x, layer_past=None, mask=None, head_mask=None, use_cache=False, output_attentions=False):
        q, k, v = map(self._split, self.c_attn(x).split(self.d, dim=2))
        if layer_past is not None:
            pk, pv = layer_past
            k = torch.cat((pk, k), dim=-2)
            v = torch.cat((pv, v), dim=-2)
        present = (k, v) if use_cache is True else None
        a, w = self._attn(q, k, v, mask, head_mask)
        a = a.permute(0, 2, 1, 3).contiguous()
        a = a.view(a.size()[:-2] + (self.d,))
        outputs = (self.c_proj(a), present)
        if output_attentions:
            outputs += (w,)
        return outputs


class Block(nn.Module):
    def __init__(self, c, layer_idx=None):
        super().__init__()
        self.ln_1 = nn.LayerNorm(c.hidden, eps=1e-5)
        self.attn = Attn(c, layer_idx)
        self.ln_2 = nn.LayerNorm(c.hidden)
        self.mlp = nn.ModuleDict(
            OrderedDict(c_fc=Conv1D(16, c.hidden), act=ACT2FN[c.activation_function], c_proj=Conv1D(c.hidden, 16))
        )

    def forward(self, h, layer_past=None, mask=None, head_mask=None, use_cache=False, output_attentions=False):
        r = h
        o = self.attn(
            self.ln_1(h),
            layer_past=layer_past,
            mask=mask,
            head_mask=head_mask,
            use_cache=use_cache,
            output_attentions=output_attentions,
        )
        h = o[0] + r
        m = self.ln_2(h)
        for l in self.mlp.values():
            m = l(m)
        h = h + m
        return (h,) + (o[1:] if use_cache else o[2:])


class PreTrained(nn.Module):
    config_class = Config
    base_model_prefix = "transformer"
    supports_gradient_checkpointing = True

    def __init__(self, config, *inputs, **kwargs):
        super().__init__()
        self.config = config
        self.gradient_checkpointing = False

    @property
    def dtype(self):
        return next(p.dtype for p in self.parameters() if p.is_floating_point())

    @property
    def device(self):
        return next(self.parameters()).device

    def post_init(self):
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, Conv1D)):
            m.weight.data.normal_(mean=0.0, std=self.config.initializer_range)
        elif isinstance(m, nn.LayerNorm):
            m.bias.data.zero_()
            m.weight.data.fill_(1.0)

    def get_head_mask(self, hm, n):
        return [None] * n if hm is None else hm[:, None, :, None, None].to(self.dtype)


class GPT2LM(PreTrained):
    _tied_weights_keys = ["lm_head.weight"]

    def __init__(self, config):
        super().__init__(config)
        self.wte = nn.Embedding(config.vocab_size, config.hidden)
        self.wpe = nn.Embedding(config.n_positions, config.hidden)
        self.h = nn.ModuleList([Block(config, layer_idx=i) for i in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.hidden)
        self.lm_head = nn.Linear(config.hidden, config.vocab_size, bias=False)
        self.post_init()
        self.lm_head.weight = self.wte.weight

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        past_key_values=None,
        labels=None,
        head_mask=None,
        use_cache=None,
        output_attentions=None,
        output_hidden_states=None,
        return_dict=None,
    ):
        output_attentions = output_attentions if output_attentions is not None else self.config.output_attentions
        use_cache = use_cache if use_cache is not None else self.config.use_cache
        return_dict = return_dict if return_dict is not None else self.config.use_return_dict
        shape = input_ids.size()
        input_ids = input_ids.view(-1, shape[-1])
        if past_key_values is None:
            past_length = 0
            past_key_values = tuple([None] * len(self.h))
        else:
            past_length = past_key_values[0][0].size(-2)
        pos = torch.arange(past_length, shape[-1] + past_length, dtype=torch.long, device=input_ids.device).unsqueeze(0)
        if attention_mask is not None:
            attention_mask = attention_mask.view(shape[0], -1)[:, None, None, :].to(dtype=self.dtype)
            attention_mask = (1.0 - attention_mask) * torch.finfo(self.dtype).min
        head_mask = self.get_head_mask(head_mask, len(self.h))
        h = self.wte(input_ids) + self.wpe(pos)
        presents = () if use_cache else None
        atts = () if output_attentions else None
        hs = () if output_hidden_states else None
        for i, (block, lp) in enumerate(zip(self.h, past_key_values)):
            if output_hidden_states:
                hs = hs + (h,)
            if self.gradient_checkpointing and self.training:
                o = torch.utils.checkpoint.checkpoint(
                    block.__call__, h, None, attention_mask, head_mask[i], use_cache, output_attentions, use_reentrant=False
                )
            else:
                o = block(
                    h,
                    layer_past=lp,
                    mask=attention_mask,
                    head_mask=head_mask[i],
                    use_cache=use_cache,
                    output_attentions=output_attentions,
                )
            h = o[0]
            if use_cache is True:
                presents = presents + (o[1],)
            if output_attentions:
                atts = atts + (o[2 if use_cache else 1],)
        h = self.ln_f(h).view(shape + (h.size(-1),))
        logits = self.lm_head(h)
        loss = None
        if labels is not None:
            loss = CrossEntropyLoss()(
                logits[..., :-1, :].contiguous().view(-1, logits.size(-1)), labels[..., 1:].contiguous().view(-1)
            )
        if not return_dict:
            return tuple(v for v in (loss, logits, presents, hs, atts) if v is not None)
        return CausalLMOutput(loss=loss, logits=logits, past_key_values=presents, hidden_states=hs, attentions=atts)


class Wrap(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = GPT2LM(Config())
        self.m.gradient_checkpointing = True

    def forward(self, ids, mask, hm):
        o = self.m(ids, attention_mask=mask, labels=ids, head_mask=hm, output_attentions=True, output_hidden_states=True)
        p = self.m(ids[:, -1:], past_key_values=o.past_key_values)
        return o.loss, p.logits, o["attentions"], o.hidden_states, o[1]


def loss(o, *a):
    return o[0] + 0.1 * o[1].pow(2).mean()


def batch(b, t):
    m = torch.ones(b, t)
    return torch.randint(0, 20, (b, t)), m, torch.ones(2, 2)


def build():
    return Wrap(), batch(2, 6), loss


def sizes():
    return [batch(3, 6), batch(2, 9), batch(4, 4)]
