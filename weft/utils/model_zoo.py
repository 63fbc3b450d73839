"""The old place of what `weft.hub` loads."""

from weft.hub import load_state_dict_from_url
from weft.progress import tqdm

__all__ = ["load_state_dict_from_url", "load_url", "tqdm"]

load_url = load_state_dict_from_url
