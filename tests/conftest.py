"""What every test finds: NumPy with one thread in this process, and the helpers of ``tests/support``."""

from __future__ import annotations

import sys
from pathlib import Path

from kernelcontracts.cli.threads import load_numpy_with_one_thread

# the workers that tests start must not inherit the setting: a thread count can change a kernel's bits
load_numpy_with_one_thread()

sys.path.insert(0, str(Path(__file__).parent / "support"))
