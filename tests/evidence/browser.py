"""Opens a page in a headless Chromium and prints what it saw as JSON: browser.py BROWSER PAGE [FOLDER].

Speaks the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/) over a pipe: messages end with NUL. With
a folder, screenshots of each width in light and dark are written there.
"""

import base64
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WIDTHS = (400, 800, 1600)


class Browser:
    def __init__(self, program, profile):
        here_in, there_out = os.pipe()
        there_in, here_out = os.pipe()

        def place():
            # First out of the way: a pipe may have one of the two numbers itself.
            high = [fcntl.fcntl(number, fcntl.F_DUPFD, 20) for number in (there_in, there_out)]
            for number, wanted in zip(high, (3, 4)):
                os.dup2(number, wanted)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-dev-shm-usage", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there_in)
        os.close(there_out)
        self.reader = os.fdopen(here_in, "rb", buffering=0)
        self.writer = os.fdopen(here_out, "wb", buffering=0)
        self.rest, self.number, self.events, self.session = b"", 0, [], None

    def read(self):
        while b"\0" not in self.rest:
            piece = self.reader.read(1 << 16)
            if not piece:
                raise SystemExit("the browser ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.read())


def look(browser, page, folder):
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Network", "Log", "Runtime", "Accessibility"):
        browser.call(f"{domain}.enable")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.call("Page.navigate", url=pathlib.Path(page).resolve().as_uri())
    browser.wait("Page.loadEventFired")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    tree = [
        {"role": node["role"]["value"], "name": node.get("name", {}).get("value", "")}
        for node in nodes if not node.get("ignored")
    ]
    widths = {}
    for width in WIDTHS:
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        for scheme in ("light", "dark"):
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            metrics = browser.call("Page.getLayoutMetrics")
            widths[str(width)] = metrics["cssContentSize"]["width"]
            if folder:
                shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True)
                name = f"{pathlib.Path(page).stem}-{width}-{scheme}.png"
                pathlib.Path(folder, name).write_bytes(base64.b64decode(shot["data"]))
    browser.call("Emulation.setEmulatedMedia", media="print")
    printed = browser.call("Page.printToPDF")
    requests = [
        event["params"]["request"]["url"] for event in browser.events
        if event.get("method") == "Network.requestWillBeSent"
    ]
    console = [
        event["params"] for event in browser.events
        if event.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
    ]
    return {
        "requests": requests, "console": console, "tree": tree, "widths": widths,
        "pdf": len(base64.b64decode(printed["data"])),
    }


def main():
    program, page = sys.argv[1:3]
    folder = sys.argv[3] if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            print(json.dumps(look(browser, page, folder)))
        finally:
            browser.process.kill()
            browser.process.wait()


main()
