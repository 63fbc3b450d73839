"""A BiLSTM tagger with a conditional random field on top: forward algorithm, masks of bytes, Viterbi decoding."""

import torch
import torch.nn as nn


class CRF(nn.Module):
    def __init__(self, num_tags: int, batch_first: bool = False) -> None:
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags, self.batch_first = num_tags, batch_first
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.uniform_(self.start_transitions, -0.1, 0.1)
        nn.init.uniform_(self.end_transitions, -0.1, 0.1)
        nn.init.uniform_(self.transitions, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(num_tags={self.num_tags})"

    def forward(self, emissions, tags, mask: torch.ByteTensor | None = None, reduction: str = "sum"):
        self._validate(emissions, tags=tags, mask=mask)
        if mask is None:
            mask = torch.ones_like(tags, dtype=torch.uint8, device=tags.device)
        if self.batch_first:
            emissions = emissions.transpose(0, 1)
            tags = tags.transpose(0, 1)
            mask = mask.transpose(0, 1)
        llh = self._compute_score(emissions, tags, mask) - self._compute_normalizer(emissions, mask)
        if reduction == "none":
            return llh
        if reduction == "sum":
            return llh.sum()
        if reduction == "mean":
            return llh.mean()
        return llh.sum() / mask.type_as(emissions).sum()

    def _validate(self, emissions, tags=None, mask=None):
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.size(2) != self.num_tags:
            raise ValueError("expected last dimension")
        if tags is not None and emissions.shape[:2] != tags.shape:
            raise ValueError(f"got {tuple(emissions.shape[:2])} and {tuple(tags.shape)}")

    def _compute_score(self, emissions, tags, mask):
        seq_length, batch_size = tags.shape
        mask = mask.type_as(emissions)
        score = self.start_transitions[tags[0]]
        score += emissions[0, torch.arange(batch_size), tags[0]]
        for i in range(1, seq_length):
            score += self.transitions[tags[i - 1], tags[i]] * mask[i]
            score += emissions[i, torch.arange(batch_size), tags[i]] * mask[i]
        seq_ends = mask.long().sum(dim=0) - 1
        last_tags = tags[seq_ends, torch.arange(batch_size)]
        score += self.end_transitions[last_tags]
        return score

    def _compute_normalizer(self, emissions, mask):
        seq_length = emissions.size(0)
        score = self.start_transitions + emissions[0]
        for i in range(1, seq_length):
            next_score = score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)
            next_score = torch.logsumexp(next_score, dim=1)
            score = torch.where(mask[i].unsqueeze(1).bool(), next_score, score)
        score += self.end_transitions
        return torch.logsumexp(score, dim=1)

    def decode(self, emissions, mask):
        emissions, mask = emissions.transpose(0, 1), mask.transpose(0, 1)
        seq_length, batch_size = mask.shape
        score = self.start_transitions + emissions[0]
        history = []
        for i in range(1, seq_length):
            next_score, indices = (score.unsqueeze(2) + self.transitions + emissions[i].unsqueeze(1)).max(dim=1)
            score = torch.where(mask[i].unsqueeze(1).bool(), next_score, score)
            history.append(indices)
        score += self.end_transitions
        seq_ends = mask.long().sum(dim=0) - 1
        best = []
        for idx in range(batch_size):
            _, best_last_tag = score[idx].max(dim=0)
            tags = [best_last_tag.item()]
            for hist in reversed(history[: seq_ends[idx]]):
                tags.append(hist[idx][tags[-1]].item())
            tags.reverse()
            best.append(tags)
        return best


class Tagger(nn.Module):
    def __init__(self, vocab=20, tags=4, d=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        self.lstm = nn.LSTM(d, d, num_layers=2, bidirectional=True, batch_first=True)
        self.proj = nn.Linear(2 * d, tags)
        self.crf = CRF(tags, batch_first=True)

    def forward(self, x, y, mask):
        return self.crf(self.proj(self.lstm(self.emb(x))[0]), y, mask, reduction="none"), mask


def loss(o, x, y, mask):
    return -o[0].sum() / o[1].sum()


def batch(b, t):
    m = (torch.arange(t)[None] < torch.randint(2, t + 1, (b, 1))).to(torch.uint8)
    m[0] = 1
    return torch.randint(1, 20, (b, t)) * m.long(), torch.randint(0, 4, (b, t)), m


def build():
    return Tagger(), batch(3, 6), loss


def sizes():
    return [batch(2, 6), batch(4, 5), batch(3, 8)]
