"""RetNet (Sun et al. 2023) in its parallel form: retention with decay, rotated keys, gated units, layers in ModuleDicts."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def rotate_every_two(x):
    x1 = x[:, :, :, ::2]
    x2 = x[:, :, :, 1::2]
    x = torch.stack((-x2, x1), dim=-1)
    return x.flatten(-2)


def duplicate_interleave(m):
    dim0 = m.shape[0]
    m = m.view(-1, 1)
    m = m.repeat(1, 2)
    return m.view(dim0, -1)


def theta_shift(x, sin, cos):
    return (x * cos) + (rotate_every_two(x) * sin)


class RetNetRelPos(nn.Module):
    def __init__(self, dim, heads, chunk):
        super().__init__()
        angle = 1.0 / (10000 ** torch.linspace(0, 1, dim // heads // 2))
        angle = angle.unsqueeze(-1).repeat(1, 2).flatten()
        decay = torch.log(1 - 2 ** (-5 - torch.arange(heads, dtype=torch.float)))
        self.register_buffer("angle", angle)
        self.register_buffer("decay", decay)
        self.recurrent_chunk_size = chunk

    def forward(self, slen):
        index = torch.arange(slen).to(self.decay)
        sin = torch.sin(index[:, None] * self.angle[None, :])
        cos = torch.cos(index[:, None] * self.angle[None, :])
        mask = torch.tril(torch.ones(slen, slen).to(self.decay))
        mask = torch.masked_fill(index[:, None] - index[None, :], ~mask.bool(), float("inf"))
        mask = torch.exp(mask * self.decay[:, None, None])
        mask = torch.nan_to_num(mask)
        mask = mask / mask.sum(dim=-1, keepdim=True).sqrt()
        return ((sin, cos), mask)


class MultiScaleRetention(nn.Module):
    def __init__(self, dim, heads, gate_fn="swish"):
        super().__init__()
        self.num_heads = heads
        self.head_dim = self.key_dim = dim // heads
        self.scaling = self.key_dim**-0.5
        self.gate_fn = {"swish": F.silu, "gelu": F.gelu}[str(gate_fn)]
        self.q_proj, self.k_proj, self.v_proj, self.g_proj, self.out_proj = (nn.Linear(dim, dim, bias=False) for _ in range(5))
        self.group_norm = nn.LayerNorm(self.head_dim, eps=1e-6, elementwise_affine=False)
        self.reset_parameters()

    def reset_parameters(self):
        for l in (self.q_proj, self.k_proj, self.v_proj, self.g_proj):
            nn.init.xavier_uniform_(l.weight, gain=2**-2.5)
        nn.init.xavier_uniform_(self.out_proj.weight)

    def forward(self, x, rel_pos):
        bsz, tgt_len, _ = x.size()
        (sin, cos), inner_mask = rel_pos
        q = self.q_proj(x)
        k = self.k_proj(x)
        v = self.v_proj(x)
        g = self.g_proj(x)
        k *= self.scaling
        q = q.view(bsz, tgt_len, self.num_heads, self.key_dim).transpose(1, 2)
        k = k.view(bsz, tgt_len, self.num_heads, self.key_dim).transpose(1, 2)
        qr, kr = theta_shift(q, sin, cos), theta_shift(k, sin, cos)
        vr = v.view(bsz, tgt_len, self.num_heads, self.head_dim).transpose(1, 2)
        qk_mat = qr @ kr.transpose(-1, -2)
        qk_mat = qk_mat * inner_mask
        qk_mat = qk_mat / qk_mat.detach().abs().sum(dim=-1, keepdim=True).clamp(min=1, max=5e4)
        output = torch.matmul(qk_mat, vr).transpose(1, 2)
        output = self.group_norm(output).reshape(bsz, tgt_len, self.head_dim * self.num_heads)
        return self.out_proj(self.gate_fn(g) * output)


class GLU(nn.Module):
    def __init__(self, d, f):
        super().__init__()
        self.fc1 = nn.Linear(d, f, bias=False)
        self.gate = nn.Linear(d, f, bias=False)
        self.fc2 = nn.Linear(f, d, bias=False)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x):
        x_shape = x.shape
        x = x.reshape(-1, x.size(-1))
        g = self.gate(x)
        x = F.silu(self.fc1(x).float()).type_as(g) * g
        return self.dropout(self.fc2(x)).view(x_shape)


class RetNet(nn.Module):
    def __init__(self, vocab=20, dim=16, heads=2, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=1)
        self.pos = RetNetRelPos(dim, heads, 8)
        self.layers = nn.ModuleList([])
        for _ in range(layers):
            self.layers.append(
                nn.ModuleDict(
                    dict(ret=MultiScaleRetention(dim, heads), n1=nn.RMSNorm(dim), n2=nn.RMSNorm(dim), ffn=GLU(dim, 2 * dim))
                )
            )
        self.output_projection = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens) * math.sqrt(self.embed.embedding_dim)
        rel = self.pos(tokens.size(1))
        for layer in self.layers:
            x = layer["ret"](layer["n1"](x), rel) + x
            x = layer["ffn"](layer["n2"](x)) + x
        return self.output_projection(x), {"inner_states": [x], "l_aux": [None]}


def loss(out, t):
    lp = F.log_softmax(out[0], dim=-1, dtype=torch.float32)
    return F.nll_loss(lp.flatten(0, 1), t.flatten(), ignore_index=1, reduction="sum") / t.numel()


def batch(b, t):
    return (torch.randint(0, 20, (b, t)),)


def build():
    return RetNet(), batch(2, 6), loss


def sizes():
    return [batch(3, 6), batch(2, 9), batch(5, 4)]
