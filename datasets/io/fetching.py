"""Reading files in order, on a local disk or behind a URI, despite faults of servers and networks."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar, cast

from ticlm.core.errors import InputError
from ticlm.core.remote.credentials import whole, without_credentials
from ticlm.core.remote.passing import asked_wait_s, http_status, in_one_line, passing
from ticlm.datasets.io import http_requests

BLOCK = 8 << 20  # bytes of one request, which a fault makes necessary again
STALL_S = 60.0  # a server that sends nothing for so long has failed, and is asked again
T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """How often one block is requested, and the wait in between: random, up to 1, 2, 4 … times `first_s` seconds, at
    most `most_s` seconds, and before that what the server asks for, at most `asked_s` seconds."""

    tries: int = 10
    first_s: float = 1.0
    most_s: float = 60.0
    asked_s: float = 300.0  # the hub of Hugging Face counts requests in windows of five minutes


PATIENCE = Patience()


class Unreachable(OSError):
    """A file behind a URI cannot be read to its end; the message says why, in one line without credentials."""

    def __init__(self, message: str = "") -> None:
        super().__init__(without_credentials(message))


@contextmanager
def opened(path: str, thrifty: bool = False) -> Iterator[BinaryIO]:
    """Open the file at a local path or URI (a MaskedUrl gives its credentials), to read it in order. Seeking is
    possible and may cost a request. A `thrifty` file requests what is read and no more, for readers of parts of it.

    A remote file is read in blocks of 8 MiB, each requested until it is complete. So the bytes have the length that the
    server announced, and come from one version of the file. Raises Unreachable otherwise, and after too many tries. A
    local file raises the OSErrors of its disk. A file on the hub is read where the hub leads: it limits requests.
    """
    if "://" not in path:
        with open(os.path.expanduser(path), "rb") as local:
            yield local
        return
    remote = _Remote(whole(path), thrifty)
    try:
        yield cast(BinaryIO, remote if thrifty else io.BufferedReader(remote, 1 << 16))
    except Unreachable:
        raise
    except Exception:
        remote.check()  # what looks like damage may be two versions in one
        raise
    else:
        remote.check()
    finally:
        remote.release()


def listed(path: str) -> list[str]:
    """Return the lines of a list of paths, such as Common Crawl's `warc.paths.gz`: stripped, without empty ones."""
    with opened(path) as file:
        data = file.read()
    try:
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no list of paths: {error}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


class _Remote(io.RawIOBase):
    """A file of an fsspec filesystem. It holds one block, and a stream if the server has no range requests."""

    def __init__(self, uri: str, thrifty: bool = False) -> None:
        self._uri, self._thrifty = uri, thrifty
        self._at = self._begin = 0
        self._block = b""
        self._file: Any = None
        self._ranges = True
        self._fs, self._path = self._tried("opening it", self._filesystem)
        self._info = self._tried("asking for its size", self._asked)
        size = self._info.get("size")
        self._size = None if size is None else int(size)
        self._ranges = self._size is not None and bool(self._info.get("partial", True))
        self._source = self._led(self._info)
        self._renewed = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END and self._size is None:
            raise Unreachable(f"{self._uri}: its server does not say how long it is")
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence, self._size or 0))
        return self._at

    def readinto(self, buffer: Any) -> int:
        into = memoryview(buffer).cast("B")
        done = 0
        while done < len(into):
            if not self._begin <= self._at < self._begin + len(self._block):
                count = min(BLOCK, len(into) - done) if self._thrifty else BLOCK
                self._begin, self._block = self._at, self._fetched(self._at, count)
            skipped = self._at - self._begin
            piece = memoryview(self._block)[skipped : skipped + len(into) - done]
            if not piece:
                break
            into[done : done + len(piece)] = piece
            self._at, done = self._at + len(piece), done + len(piece)
        return done

    def check(self) -> None:
        """Raise Unreachable if the file has changed since it was opened."""
        if http_requests.is_fixed(self._uri):
            return
        self._compare(self._tried("asking whether it changed", self._asked))

    def _compare(self, now: Mapping[str, Any]) -> None:
        for key in ("size", *_VERSION):
            if now.get(key) != self._info.get(key):
                was, is_now = self._info.get(key), now.get(key)
                raise Unreachable(f"{self._uri} changed while it was read: its {key} was {was}, is {is_now}")

    def release(self) -> None:
        """Close the connection, if there is one."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(Exception):
                file.close()

    def _filesystem(self) -> tuple[Any, str]:
        import fsspec

        found: tuple[Any, str] = fsspec.url_to_fs(self._uri, **http_requests.options(self._uri, STALL_S))
        return found

    def _led(self, info: Mapping[str, Any]) -> tuple[Any, str]:
        """Return the filesystem and the path that ranges are read from: of a file on the hub, where the hub led."""
        import fsspec

        url = str(info.get("url") or self._path)
        if not http_requests.is_of_hub(self._uri) or not http_requests.is_http(url):
            return self._fs, self._path
        if http_requests.origin(url) == http_requests.origin(self._path):
            return self._fs, url
        options = http_requests.options(url, STALL_S, login=False)
        return fsspec.filesystem(http_requests.origin(url)[0], **options), url

    def _asked(self) -> Mapping[str, Any]:
        self._fs.invalidate_cache(self._path)
        info: Mapping[str, Any] = self._fs.info(self._path)
        return info

    def _fetched(self, start: int, count: int) -> bytes:
        if self._size is not None and start >= self._size:
            return b""
        return self._tried(f"byte {start}", lambda: self._read(start, count))

    def _read(self, start: int, count: int) -> bytes:
        """Try once to read so many bytes from `start` on; fewer at the end."""
        count = count if self._size is None else min(count, self._size - start)
        try:
            block = self._range(start, count) if self._ranges else self._on(start, count)
        except ValueError:  # fsspec's word for a server that answers a range with the whole file
            if not self._ranges:
                raise
            self.release()
            self._ranges = False
            block = self._on(start, count)
        if self._size is not None and len(block) != count:
            self._compare(self._asked())
            raise _Short(f"{len(block)} bytes came instead of {count}")
        return block

    def _range(self, start: int, count: int) -> bytes:
        fs, path = self._source
        try:
            if self._file is None:
                # or it would be asked for again
                known = {"size": self._size} if http_requests.is_http(self._uri) else {}
                self._file = fs.open(path, "rb", cache_type="none", **known)
            self._file.seek(start)
            block = bytes(self._file.read(count))
        except Exception as error:
            if path == self._path or http_status(error) not in (401, 403):
                raise
            # Where the hub led is signed, and signatures expire. If a new one is refused as well, the hub reads it.
            if self._renewed:
                self._source = self._fs, self._path
            else:
                self._compare(now := self._asked())
                self._source, self._renewed = self._led(now), True
            raise _Expired(in_one_line(error)) from error
        self._renewed = False
        return block

    def _on(self, start: int, count: int) -> bytes:
        """Read the stream up to `start` (from its beginning if it is further), and return a block from there."""
        if self._file is None or self._file.tell() > start:
            self.release()
            self._file = self._fs.open(self._path, "rb", block_size=0)
        while (left := start - self._file.tell()) > 0:
            if not self._file.read(min(left, BLOCK)):
                return b""
        parts: list[bytes] = []
        while count and (part := self._file.read(count)):
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _tried(self, what: str, action: Callable[[], T]) -> T:
        return tried(self._uri, what, action, self.release)


def tried(
    uri: str, what: str, action: Callable[[], T], again: Callable[[], None] = lambda: None, most: int | None = None
) -> T:
    """Return what `action` returns; repeat it after errors that may pass, at `most` so often, and call `again` before.
    Raises Unreachable after too many, whose cause is the last error."""
    import tenacity

    stop = tenacity.stop_after_attempt(min(most or PATIENCE.tries, PATIENCE.tries))
    tries = 0
    try:
        for attempt in tenacity.Retrying(
            stop=stop, wait=pauses(), retry=tenacity.retry_if_exception(passing), reraise=True
        ):
            tries = attempt.retry_state.attempt_number
            with attempt:
                try:
                    return action()
                except Exception:
                    again()
                    raise
    except Unreachable:
        raise
    except Exception as error:
        times = f" after {tries} tries" if tries > 1 else ""
        raise Unreachable(f"{uri} cannot be read{times} ({what}): {in_one_line(error)}") from error
    raise AssertionError("tenacity returns or raises")


def pauses() -> Callable[[Any], float]:
    """Return what tells tenacity the seconds until the next try (see Patience)."""
    import tenacity

    random = tenacity.wait_random_exponential(multiplier=PATIENCE.first_s, max=PATIENCE.most_s)

    def pause(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception(0) if state.outcome is not None else None
        asked = asked_wait_s(error) if error is not None else None
        return min(asked or 0.0, PATIENCE.asked_s) + float(random(state))

    return pause


class _Short(OSError):
    """Fewer bytes came than the server announced."""


class _Expired(OSError):
    """The address that a server led to is refused."""


_VERSION = ("ETag", "etag", "Last-Modified", "LastModified", "md5Hash", "generation", "mtime")
