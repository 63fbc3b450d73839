"""Modules over several devices. There is one process, and what is given no devices runs where its parameters lie."""

from weft.nn.parallel.data_parallel import DataParallel, data_parallel
from weft.nn.parallel.distributed import DistributedDataParallel
from weft.nn.parallel.parallel_apply import parallel_apply
from weft.nn.parallel.replicate import replicate
from weft.nn.parallel.scatter_gather import gather, scatter

__all__ = [
    "DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter",
]  # fmt: skip
