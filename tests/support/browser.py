"""A page in headless Chromium, over its debugging protocol: what it says, how wide it is, what happens on a touch."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS: tuple[str, ...] = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
)
FLAGS += ("--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0")


class Browser:
    """Chromium with one page; `complaints` are console messages and exceptions since it was opened."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._folder, self._number, self._loaded = folder, 0, False
        self._process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        self._loop.run_until_complete(self._connect())
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run_until_complete(self._session.close())
        self._loop.close()
        self._process.terminate()
        self._process.wait(timeout=20)

    def open(self, page: Path, width: int, height: int = 900, dark: bool = False, scripts: bool = True) -> None:
        """Load a page in a window of this size, with its scripts or without; returns once it has drawn itself."""
        self.complaints, self.requests, self._loaded = [], [], False
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=page.as_uri())
        ends = time.monotonic() + 30
        while not self._loaded:
            assert time.monotonic() < ends, "the page did not load within 30 s"
            self._loop.run_until_complete(self._receive())

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def point(self, x: float, y: float) -> None:
        """Move the mouse there, once the page has settled."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path: Path, whole: bool = False) -> None:
        """A PNG of the window, or of the whole page."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))

    def whole(self, path: Path, tallest: int) -> int:
        """A PNG of the whole page, or of as much of it as is `tallest` pixels high; returns how high the page is."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], tallest), "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))
        return int(size["height"])

    def print(self, path: Path) -> None:
        """The page on paper, as a PDF file."""
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to one command."""
        self._number += 1
        sent = self._number
        command = json.dumps({"id": sent, "method": method, "params": parameters})
        self._loop.run_until_complete(self._socket.send_str(command))
        while True:
            answer = self._loop.run_until_complete(self._receive())
            if answer.get("id") == sent:
                assert "error" not in answer, answer["error"]
                found: dict[str, Any] = answer["result"]
                return found

    async def _connect(self) -> None:
        port = self._folder / "DevToolsActivePort"
        ends = time.monotonic() + 30
        while not (port.exists() and port.read_text().count("\n")):
            assert time.monotonic() < ends and self._process.poll() is None, "Chromium did not start"
            await asyncio.sleep(0.05)
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://127.0.0.1:{port.read_text().split()[0]}/json") as answer:
            pages = [one for one in await answer.json() if one["type"] == "page"]
        self._socket = await self._session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0)

    async def _receive(self) -> dict[str, Any]:
        """The next message, noted where it is a complaint, a request or the end of loading."""
        message: dict[str, Any] = await asyncio.wait_for(self._socket.receive_json(), 60)
        about = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(about["exceptionDetails"].get("exception", about["exceptionDetails"])))
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(about["args"]))
            case "Log.entryAdded":
                self.complaints.append(about["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            case "Page.loadEventFired":
                self._loaded = True
        return message
