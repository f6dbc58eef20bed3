"""A headless Chromium, driven by chromedriver (W3C WebDriver over HTTP)."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.request

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb"]


def missing():
    """The programs that are not here."""
    programs = {"chromium": chromium(), "chromedriver": shutil.which("chromedriver")}
    return [name for name, path in programs.items() if path is None]


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.server = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen([shutil.which("chromedriver"), f"--port={port}"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        self.session = ""
        try:
            self.wait_until_ready()
            options = {"binary": chromium(), "args": FLAGS}
            asked = {"browserName": "chrome", "goog:chromeOptions": options,
                     "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
            self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": asked}}, timeout=90)["sessionId"]
        except BaseException:
            self.driver.kill()
            self.driver.wait()
            raise

    def wait_until_ready(self):
        for _ in range(200):
            try:
                if self.ask("GET", "/status")["ready"]:
                    return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("chromedriver does not answer")

    def close(self):
        try:
            self.ask("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def ask(self, method, path, body=None, timeout=60):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=timeout) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def of_session(self, method, path, body=None):
        return self.ask(method, f"/session/{self.session}{path}", body)

    def devtools(self, command, **parameters):
        return self.of_session("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path, width, height=900, dark=False, scale=1):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])
        self.logs()
        self.of_session("POST", "/url", {"url": path.resolve().as_uri()})

    def run(self, script, *arguments):
        """What the body of a function returns; a promise is waited for."""
        return self.of_session("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def logs(self):
        """Lines of the console, and the addresses that were asked for, since the last call."""
        console = [one["message"] for one in self.of_session("POST", "/se/log", {"type": "browser"})]
        asked = []
        for one in self.of_session("POST", "/se/log", {"type": "performance"}):
            message = json.loads(one["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        return console, asked

    def settle(self):
        """Until what was drawn is on the screen."""
        self.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))")

    def scroll_to(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.settle()

    def point(self, selector, across, down):
        """A place within an element, by shares of its width and height, in px of the window."""
        return self.run("const box = document.querySelector(arguments[0]).getBoundingClientRect();"
                        "return [box.x + arguments[1] * box.width, box.y + arguments[2] * box.height]", selector, across, down)

    def hover(self, selector, across=0.5, down=0.5):
        x, y = self.point(selector, across, down)
        for step in (3, 0):
            self.devtools("Input.dispatchMouseEvent", type="mouseMoved", x=x - step, y=y)
        self.settle()

    def turn_wheel(self, selector, across, down, by, ctrl=False):
        x, y = self.point(selector, across, down)
        self.devtools("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by, modifiers=2 if ctrl else 0)
        self.settle()

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)
        self.settle()

    def screenshot(self, path, whole_page=True):
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole_page)
        path.write_bytes(base64.b64decode(shot["data"]))
