"""Where the project lies, and the real data beside it, which few tests read and none needs."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared/data"
