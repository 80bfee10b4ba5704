"""Examples that are kept apart for light tuning, by their prompts, so that none is asked in a period and tuned on in
another."""

from __future__ import annotations

from ticlm.core.fingerprint import hash64


def tuning(subset: str) -> str:
    """Return the name of the subset with the examples for tuning on what a subset asks."""
    return f"{subset}-tune"


def is_for_tuning(prompt: str, share: float, seed: int) -> bool:
    """Return whether all examples with this prompt, of whatever period and answer, are kept apart for tuning.

    About `share` of all prompts are.
    """
    return hash64(f"tune\0{seed}\0{prompt}") < share * 2**64
