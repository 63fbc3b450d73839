"""Types under which scripts annotate: those of `typing`."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401, UP035  (the names are the point)

from weft.jit.future import Future  # noqa: F401
