"""The share of a dataset that one of several processes takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

import aten
from aten.random import Generator
from weft.utils.data.sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every num_replicas-th index from `rank` on, of an order that all replicas shuffle alike (`set_epoch` for a new one).

    All have equally many: some come twice, or with `drop_last` some are left out. num_replicas and rank are those of the open
    process group unless given; ValueError where there is none.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from weft import distributed  # (loaded by who asks)

            if not distributed.is_initialized():
                raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.shuffle, self.seed, self.drop_last = 0, shuffle, seed, drop_last
        size = len(dataset)
        if drop_last and size % num_replicas != 0:
            self.num_samples = math.ceil((size - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        order = list(range(size))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = aten.randperm(size, generator=generator).tolist()
        if not self.drop_last and order:
            order = (order * math.ceil(self.total_size / size))[: self.total_size]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Another order for each epoch."""
        self.epoch = epoch
