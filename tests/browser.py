"""Debian's Chromium, driven by its driver, for tests that open pages: plans (explain/pages.py) and the site (docs/site/check.py)."""
import base64
import json
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request


class Browser:
    """The part of the driver's protocol that the tests need."""

    def __init__(self, chromium, driver):
        self.profile = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address, self.session = None, None
        for line in self.process.stdout:
            if m := re.search(r"successfully on port (\d+)", line):
                self.address = f"http://127.0.0.1:{m[1]}"
                break
        if not self.address:
            sys.exit(f"{driver} does not start")
        options = {"binary": chromium, "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1440,1000",
                                                f"--user-data-dir={self.profile.name}"]}
        made = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = f"/session/{made['sessionId']}"

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as error:
            sys.exit(f"the driver says of {path}: {error.read().decode()[:2000]}")

    def go(self, path, anchor=""):
        self.ask("POST", self.session + "/url", {"url": path.resolve().as_uri() + anchor})

    def js(self, script, *args):
        return self.ask("POST", self.session + "/execute/sync", {"script": script, "args": list(args)})

    def later(self, script):
        """Runs `script` and returns the value that it passes to done()."""
        return self.ask("POST", self.session + "/execute/async", {"script": f"const done = arguments[0];\n{script}", "args": []})

    def console(self):
        return [e["message"] for e in self.ask("POST", self.session + "/se/log", {"type": "browser"})]

    def size(self, width, height):
        self.ask("POST", self.session + "/window/rect", {"width": width, "height": height})

    def view(self, width, height):
        """The size of the page itself, also below the least width of a window."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("POST", self.session + "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics})

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.ask("GET", self.session + "/screenshot")))

    def end(self):
        if self.session:
            self.ask("DELETE", self.session)
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()
