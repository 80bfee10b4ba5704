"""Commands of ticlm, as the experiments run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def ticlm(*arguments: object, root: Path, quiet: bool = False) -> None:
    """Run a command against a root. With `quiet`, its output is shown only if it fails. Exits if it does."""
    command = [sys.executable, "-m", "ticlm.platform", *map(str, arguments), "--root", str(root)]
    ended = subprocess.run(command, check=False, capture_output=quiet, text=True)
    if ended.returncode:
        raise SystemExit(f"{ended.stdout or ''}{ended.stderr or ''}" or ended.returncode)
