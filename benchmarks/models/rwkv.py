"""RWKV 4 (Peng et al. 2023): time mixing with its stable recurrence, a shift by padding, a custom gradient on the logits."""

import logging
import math

import torch
import torch.nn as nn
from torch.nn import functional as F

logger = logging.getLogger(__name__)


class RWKVConfig:
    def __init__(self, vocab_size, ctx_len, **kwargs):
        self.vocab_size = vocab_size
        self.ctx_len = ctx_len
        for k, v in kwargs.items():
            setattr(self, k, v)


class RWKV_TimeMix(nn.Module):
    def __init__(self, config, layer_id):
        super().__init__()
        self.layer_id = layer_id
        self.n_embd = config.n_embd
        attn_sz = config.n_embd
        with torch.no_grad():
            ratio_0_to_1 = layer_id / max(config.n_layer - 1, 1)
            ratio_1_to_almost0 = 1.0 - layer_id / config.n_layer
            decay_speed = torch.ones(attn_sz)
            for h in range(attn_sz):
                decay_speed[h] = -5 + 8 * (h / (attn_sz - 1)) ** (0.7 + 1.3 * ratio_0_to_1)
            self.time_decay = nn.Parameter(decay_speed)
            zigzag = torch.tensor([(i + 1) % 3 - 1 for i in range(attn_sz)]) * 0.5
            self.time_first = nn.Parameter(torch.ones(attn_sz) * math.log(0.3) + zigzag)
            x = torch.ones(1, 1, config.n_embd)
            for i in range(config.n_embd):
                x[0, 0, i] = i / config.n_embd
            self.time_mix_k = nn.Parameter(torch.pow(x, ratio_1_to_almost0))
            self.time_mix_v = nn.Parameter(torch.pow(x, ratio_1_to_almost0) + 0.3 * ratio_0_to_1)
            self.time_mix_r = nn.Parameter(torch.pow(x, 0.5 * ratio_1_to_almost0))
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.key = nn.Linear(config.n_embd, attn_sz, bias=False)
        self.value = nn.Linear(config.n_embd, attn_sz, bias=False)
        self.receptance = nn.Linear(config.n_embd, attn_sz, bias=False)
        self.output = nn.Linear(attn_sz, config.n_embd, bias=False)
        self.key.scale_init = 0
        self.output.scale_init = 0

    def wkv(self, w, u, k, v):
        B, T, C = k.shape
        w = -torch.exp(w)
        aa = torch.zeros(B, C, dtype=k.dtype, device=k.device)
        bb = torch.zeros_like(aa)
        pp = torch.full_like(aa, -1e38)
        out = []
        for t in range(T):
            kk, vv = k[:, t], v[:, t]
            ww = u + kk
            p = torch.maximum(pp, ww)
            e1 = torch.exp(pp - p)
            e2 = torch.exp(ww - p)
            out.append((e1 * aa + e2 * vv) / (e1 * bb + e2))
            ww = pp + w
            p = torch.maximum(ww, kk)
            e1 = torch.exp(ww - p)
            e2 = torch.exp(kk - p)
            aa = e1 * aa + e2 * vv
            bb = e1 * bb + e2
            pp = p
        return torch.stack(out, 1)

    def forward(self, x):
        B, T, C = x.size()
        xx = self.time_shift(x)
        xk = x * self.time_mix_k + xx * (1 - self.time_mix_k)
        xv = x * self.time_mix_v + xx * (1 - self.time_mix_v)
        xr = x * self.time_mix_r + xx * (1 - self.time_mix_r)
        k = self.key(xk)
        v = self.value(xv)
        r = self.receptance(xr)
        return self.output(torch.sigmoid(r) * self.wkv(self.time_decay, self.time_first, k, v))


class RWKV_ChannelMix(nn.Module):
    def __init__(self, config, layer_id):
        super().__init__()
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.time_mix = nn.Parameter(torch.full((1, 1, config.n_embd), 0.5))
        hidden_sz = 2 * config.n_embd
        self.key = nn.Linear(config.n_embd, hidden_sz, bias=False)
        self.receptance = nn.Linear(config.n_embd, config.n_embd, bias=False)
        self.value = nn.Linear(hidden_sz, config.n_embd, bias=False)

    def forward(self, x):
        xx = self.time_shift(x)
        xk = x * self.time_mix + xx * (1 - self.time_mix)
        k = torch.square(torch.relu(self.key(xk)))
        return torch.sigmoid(self.receptance(xk)) * self.value(k)


class Block(nn.Module):
    def __init__(self, config, layer_id):
        super().__init__()
        self.config, self.layer_id = config, layer_id
        self.ln1 = nn.LayerNorm(config.n_embd)
        self.ln2 = nn.LayerNorm(config.n_embd)
        if self.layer_id == 0:
            self.ln0 = nn.LayerNorm(config.n_embd)
        self.att = RWKV_TimeMix(config, layer_id)
        self.ffn = RWKV_ChannelMix(config, layer_id)

    def forward(self, x):
        if self.layer_id == 0:
            x = self.ln0(x)
        x = x + self.att(self.ln1(x))
        x = x + self.ffn(self.ln2(x))
        return x


class L2Wrap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loss, y):
        ctx.save_for_backward(y)
        return loss

    @staticmethod
    def backward(ctx, grad_output):
        y = ctx.saved_tensors[0]
        factor = 1e-2 / (y.shape[0] * y.shape[1])
        maxx, ids = torch.max(y, -1, keepdim=True)
        gy = torch.zeros_like(y)
        gy.scatter_(-1, ids, maxx * factor)
        return (grad_output, gy)


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.emb = nn.Embedding(config.vocab_size, config.n_embd)
        self.blocks = nn.Sequential(*[Block(config, i) for i in range(config.n_layer)])
        self.ln_out = nn.LayerNorm(config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.register_buffer("copy_mask", torch.tril(torch.ones(config.ctx_len, config.ctx_len)))
        logger.info("number of parameters: %e", sum(p.numel() for p in self.parameters()))
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            gain = getattr(m, "scale_init", 1.0)
            if isinstance(m, nn.Linear) and m.weight.shape[0] > m.weight.shape[1]:
                gain = math.sqrt(m.weight.shape[0] / m.weight.shape[1])
            if gain == 0:
                nn.init.zeros_(m.weight)
            else:
                nn.init.orthogonal_(m.weight, gain=gain)

    def forward(self, idx):
        B, T = idx.size()
        assert T <= self.config.ctx_len, "Cannot forward, because len(input) > model ctx_len."
        x = self.ln_out(self.blocks(self.emb(idx)))
        q = x @ x.transpose(-2, -1) * (1.0 / 8)
        c = q.masked_fill(self.copy_mask[:T, :T] == 0, 0)
        c = c @ F.one_hot(idx, num_classes=self.config.vocab_size).float()
        return self.head(x) + c


def loss(out, idx):
    l = F.cross_entropy(out.view(-1, out.size(-1)), idx.roll(-1, 1).view(-1))
    return L2Wrap.apply(l, out)


def batch(b, t):
    return (torch.randint(0, 23, (b, t)),)


def build():
    return GPT(RWKVConfig(23, 12, n_embd=16, n_layer=2)), batch(2, 8), loss


def sizes():
    return [batch(3, 8), batch(4, 5), batch(2, 12)]
