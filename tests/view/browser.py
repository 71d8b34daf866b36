"""Drive a headless Chromium through its DevTools protocol, over a pipe: no package, no port, no network."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update",
    "--disable-background-networking", "--disable-sync", "--disable-extensions", "--remote-debugging-pipe",
    "--hide-scrollbars", "--force-color-profile=srgb",
)  # fmt: skip
# Chromium reads commands from file descriptor 3 and writes replies to 4.
LAUNCH = """
import os, sys
commands, replies = (os.dup(int(a)) for a in sys.argv[1:3])
spare = [os.dup(commands), os.dup(replies)]
while min(spare) < 5:
    spare = [os.dup(fd) for fd in spare]
os.dup2(spare[0], 3)
os.dup2(spare[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
KEYS = {"Enter": 13, "Escape": 27, "ArrowRight": 39}  # those that the browser itself reacts to
TIMEOUT = 60.0  # seconds for one command


class BrowserError(RuntimeError):
    """A command failed, or a script raised."""


class Browser:
    """A browser with one page.

    Attributes:
        requests: Addresses that were requested since the last ``open``, the page itself included.
        problems: Console errors and warnings, uncaught exceptions and violations of the policy since then.
    """

    def __init__(self, directory):
        to_child, self._commands = os.pipe()
        self._replies, from_child = os.pipe()
        launch = [sys.executable, "-c", LAUNCH, str(to_child), str(from_child), EXECUTABLE, *OPTIONS]
        self._process = subprocess.Popen(
            [*launch, f"--user-data-dir={directory}", "about:blank"],
            pass_fds=(to_child, from_child),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer, self._number, self._session = b"", 0, None
        self._events, self.requests, self.problems = [], [], []
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self):
        """End the processes of the browser, which are a session of their own."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._commands)
        os.close(self._replies)

    def send(self, method, **params):
        """Send a command and return its result."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        reply = self._until(lambda m: m.get("id") == number)
        if "error" in reply:
            raise BrowserError(f"{method}: {reply['error']}")
        return reply["result"]

    def open(self, path):
        """Open a file, and wait until it is loaded."""
        self.requests, self.problems, self._events = [], [], []
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.wait_for_event("Page.loadEventFired")

    def wait_for_event(self, name):
        """Wait for an event that has not been waited for."""
        while name not in self._events:
            self._until(lambda m: m.get("method") == name)
        self._events.remove(name)

    def run(self, expression):
        """The value of a JavaScript expression."""
        options = {"returnByValue": True, "awaitPromise": True, "allowUnsafeEvalBlockedByCSP": False}
        result = self.send("Runtime.evaluate", expression=expression, **options)
        if "exceptionDetails" in result:
            raise BrowserError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, expression):
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            value = self.run(expression)
            if value:
                return value
            time.sleep(0.05)
        raise BrowserError(f"never true: {expression}")

    def size(self, width, height=900, *, scale=1):
        """Set the size of the window in CSS pixels."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )
        self.run("new Promise(requestAnimationFrame)")

    def scheme(self, name):
        """Prefer ``"light"`` or ``"dark"`` colours."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def mouse(self, kind, x, y, **options):
        """An event of the mouse: ``"mouseMoved"``, ``"mousePressed"`` or ``"mouseReleased"``."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **options)

    def click(self, selector):
        """Click in the middle of an element."""
        x, y = self.middle(selector)
        button = {"button": "left", "clickCount": 1}
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, **button)
        self.mouse("mouseReleased", x, y, **button)

    def drag(self, start, end):
        """Drag the mouse from one place to another."""
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        for t in (0.3, 0.7, 1.0):
            self.mouse(
                "mouseMoved", *(a + (b - a) * t for a, b in zip(start, end, strict=True)), button="left", buttons=1
            )
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def middle(self, selector):
        """Scroll to an element, and return its middle in the window."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{found}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.run(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({found}.getBoundingClientRect())"
        )
        return tuple(box)

    def key(self, key, text=None):
        """Press a key; ``text`` is what it types."""
        typed = {} if text is None else {"text": text}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=KEYS.get(key, 0), **typed)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        """Type into the focused element."""
        self.send("Input.insertText", text=text)

    def screenshot(self, path, *, whole=True):
        """Write a PNG of the page."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _until(self, is_wanted):
        end = time.monotonic() + TIMEOUT
        while True:
            while b"\0" in self._buffer:
                head, self._buffer = self._buffer.split(b"\0", 1)
                message = json.loads(head)
                self._note(message)
                if is_wanted(message):
                    return message
            if not select.select([self._replies], [], [], max(end - time.monotonic(), 0))[0]:
                raise BrowserError(f"no answer within {TIMEOUT:g} s")
            part = os.read(self._replies, 1 << 20)
            if not part:
                raise BrowserError("the browser has ended")
            self._buffer += part

    def _note(self, message):
        method, params = message.get("method", ""), message.get("params", {})
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
