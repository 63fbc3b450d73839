"""PyTorch's names of inner modules that users import from."""

from weft.utils.data import collate as collate
from weft.utils.data._utils import fetch as fetch
from weft.utils.data._utils import pin_memory as pin_memory
from weft.utils.data._utils import worker as worker
