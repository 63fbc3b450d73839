"""Training scripts as people write them, for PyTorch: each runs under weft, and by the same file under PyTorch.

python -m examples.vision [--compile] [--amp]           under weft: this file makes `import torch` mean weft
python -m examples.vision --peer-python PATH            beside PyTorch, from the same weights: losses and times

EXAMPLES_PEER=1 leaves `torch` alone: it is set for the interpreter that has PyTorch.
"""

import os

if not os.environ.get("EXAMPLES_PEER"):
    import weft

    weft.as_torch()
