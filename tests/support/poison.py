"""A filter that some documents kill, as a fault of native code or want of memory would."""

from __future__ import annotations

import os

from ticlm.datasets.io.documents import Document


def swallow(document: Document) -> bool:
    """Keep every document, and do what its text says."""
    if "It ends the process." in document.text:
        os._exit(1)
    while "It never ends." in document.text:
        pass
    return True
