"""Files of a local disk that are written beside their place, so that nobody sees half of one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

WRITING = ".writing-"
"""How the names of files begin that are not whole yet."""


@contextmanager
def aside(path: str) -> Iterator[tuple[Path, IO[bytes]]]:
    """Open a file beside `path`. At the end of the block it is on the disk itself; if it ends badly, it is gone."""
    folder = Path(path).parent
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"{WRITING}{uuid.uuid4().hex}"
    try:
        with temporary.open("xb") as file:  # unlike tempfile's, as open to others as the umask says
            yield temporary, file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
