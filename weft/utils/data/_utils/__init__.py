"""PyTorch's names of inner modules that users import from."""

from weft.utils.data import collate as collate
from weft.utils.data import worker as worker
