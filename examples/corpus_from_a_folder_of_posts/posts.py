"""A blog as a source of documents: one Markdown file a post, its day at the beginning of the file's name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ticlm.core.periods import Calendar
from ticlm.datasets.io.documents import Bad, Document, Documents, Input, Piece, Skipped


class Posts(Documents):
    """Posts named `YYYY-MM-DD-title.md` in a folder."""

    folder: str

    def inputs(self, calendar: Calendar) -> list[Input]:
        files = sorted(Path(self.folder).glob("*.md"))
        return [Input(path=str(file), size=file.stat().st_size, stamp=str(file.stat().st_mtime_ns)) for file in files]

    def read(self, piece: Piece) -> Iterator[Document | Bad | Skipped]:
        post = Path(piece.input.path)
        try:
            day = datetime.strptime(post.name[:10], "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            yield Bad("no day in the file's name", str(post))
            return
        yield Document(text=post.read_text(), id=post.stem, timestamp=day, source="blog")
