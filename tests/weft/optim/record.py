"""Makes the recordings with PyTorch: `python -m tests.weft.optim.record --peer-python PATH`, by hand, once."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np

from tests.weft.optim.cases import SCHEDULES, curve, layouts, optimizer_cases, record

FOLDER = Path(__file__).parent / "recorded"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--as-peer", action="store_true")
    options = parser.parse_args()
    if not options.as_peer:
        subprocess.run([options.peer_python, "-m", __spec__.name, "--peer-python", "-", "--as-peer"], check=True)
        return
    import torch  # the peer's: this branch runs in its interpreter

    runs = {case: record(torch, name, kwargs, dtype) for case, name, kwargs, dtype in optimizer_cases()}
    np.savez_compressed(FOLDER / "optimizers.npz", **runs)
    np.savez_compressed(FOLDER / "schedules.npz", **{name: curve(torch, make) for name, make in SCHEDULES.items()})
    (FOLDER / "layouts.json").write_text(json.dumps(layouts(torch), indent=1) + "\n")


if __name__ == "__main__":
    main()
