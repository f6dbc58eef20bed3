#!/usr/bin/env python3
"""The report of weft explore --html: its file, and the page in headless Chromium where that is installed.

    report_page_test.py WEFT [--browser]

Without --browser what needs none; with it, exit status 77 where Chromium or its driver is missing.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
PAGE = PROGRAM.parents[1] / "share/weft/report.html"  # of a build or an installation
SHAPE = "m=2048,8192 n=8192 k=3584 op=gemm+reduce_scatter"
EXPLORE = ("explore", SHAPE, "--machine", "h200x8-nvswitch", "--gpus", 4)


def weft(folder, *arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True)


def content_of(path):
    (text,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', path.read_text(), re.DOTALL)
    return json.loads(text)


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-report-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, *question, name="report.html"):
        done = weft(self.folder, "explore", *question, "--machine", "h200x8-nvswitch", "--html", name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.folder / name

    def assert_refused(self, arguments, *words):
        before = sorted(self.folder.iterdir())
        done = weft(self.folder, *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(sorted(self.folder.iterdir()), before)


@unittest.skipIf(PAGE.exists(), "this weft has the page")
class WithoutThePage(InAFolder):
    def test_one_line_says_what_is_missing(self):
        self.assert_refused((*EXPLORE, "--html", "report.html"), "--html", "npm")


@unittest.skipUnless(PAGE.exists(), "this weft was built without npm and has no page")
class TheFile(InAFolder):
    def test_it_is_whole_and_asks_for_nothing_else(self):
        text = self.report(SHAPE, "--gpus", 4).read_text()
        markup = re.sub(r"<script>.*?</script>|<!--.*?-->", "", text, flags=re.DOTALL)
        self.assertNotRegex(markup, r"https?:|\ssrc=|@import|url\(")
        self.assertIn("default-src 'none'", markup)
        for place in ('{"weft": "content"}', "/* the style */", "/* the script */"):
            self.assertNotIn(place, text)

    def test_the_same_question_has_the_same_bytes(self):
        first, second = (self.report(SHAPE, "--gpus", 4, name=name) for name in ("a.html", "b.html"))
        self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_its_content_is_what_json_says(self):
        report = self.report(SHAPE, "--gpus", 4)
        weft(self.folder, "explore", SHAPE, "--machine", "h200x8-nvswitch", "--gpus", 4, "--json", "answer.json")
        answer, content = json.loads((self.folder / "answer.json").read_text()), content_of(report)
        self.assertEqual(content["format"], "weft.report/1")
        self.assertEqual(content["exploration"]["verdict"], answer["verdict"])
        for ours, theirs in zip(content["exploration"]["answers"], answer["answers"], strict=True):
            self.assertEqual(ours["schedules"][0]["time_us"], theirs["schedules"][0]["time_us"])
            self.assertEqual(len(ours["schedules"]) + ours["schedules_left_out"], len(theirs["schedules"]))
            self.assertEqual(sum(one["is_serial"] for one in ours["schedules"]), 1)
        self.assertEqual({one["gpus"] for one in content["gains"]}, {2, 4, 8})

    def test_gains_lie_within_their_bands(self):
        for one in content_of(self.report(SHAPE, "--gpus", 4))["gains"]:
            self.assertLess(one["odds"]["worst_of_20_gain"], one["odds"]["expected_gain"])
            self.assertLess(one["odds"]["expected_gain"], one["best_of_20_gain"])

    def test_runs_have_lanes_tracks_and_edges(self):
        # No tile of a kernel that fetches divides such columns: copies bring the rows.
        pulled = SHAPE.replace("gemm+reduce_scatter", "all_gather+gemm").replace("n=8192", "n=8200")
        fastest, serial = content_of(self.report(pulled, "--gpus", 4))["runs"]
        self.assertEqual(serial["schedule"], "serial")
        self.assertLess(fastest["time_us"], serial["time_us"])
        for run in (fastest, serial):
            names = {track["name"]: track for track in run["tracks"]}
            self.assertEqual(set(names), {"SMs busy", "SMs held by transfers", "HBM", "links out", "links in", "copy engines",
                                          "power"})
            self.assertEqual(max(names["SMs busy"]["values"]), 132)
            self.assertGreater(max(names["links out"]["values"]), 0)
            for track in run["tracks"]:
                self.assertEqual(len(track["at_us"]), len(track["values"]))
                self.assertEqual(track["at_us"], sorted(track["at_us"]))
            for stream, operation, _, start_us, end_us, _, _ in run["spans"]:
                self.assertLess(stream, len(run["streams"]), operation)
                self.assertLessEqual(start_us, end_us)
            for first, second, from_us, to_us, _ in run["edges"]:
                self.assertLessEqual(run["spans"][first][3], from_us)
                self.assertLessEqual(to_us, run["spans"][second][4])
        self.assertGreater(len(fastest["edges"]), 0)

    def test_a_measured_run_stands_behind_its_simulated_one(self):
        measured = ROOT / "docs/example/measured.json"
        report = self.report(ROOT / "docs/example/scenario.json", "--size", 8192, "--measured", measured)
        content = content_of(report)
        self.assertEqual([run["source"] for run in content["runs"]], ["predicted", "measured", "predicted"])
        self.assertEqual(content["comparison"]["iteration"]["measured_us"], json.loads(measured.read_text())["time_us"])

    def test_what_a_scenario_is_called_stays_text(self):
        scenario = json.loads((ROOT / "docs/example/scenario.json").read_text())
        scenario["name"] = "</script><script>document.title = 'taken'</script>"
        (self.folder / "hostile.json").write_text(json.dumps(scenario))
        report = self.report("hostile.json")
        self.assertIn(scenario["name"], content_of(report)["title"])
        self.assertNotIn("taken'</script>", report.read_text())

    def test_wrong_paths_and_runs_are_one_line_and_leave_no_file(self):
        self.assert_refused((*EXPLORE, "--json", "a.html", "--html", "./a.html"), "--html")
        self.assert_refused((*EXPLORE, "--html", "there/is/none.html"), "there/is/none.html")
        self.assert_refused((*EXPLORE, "--measured", "run.json"), "--html")
        self.assert_refused((*EXPLORE, "--html", "a.html", "--measured", "none.json"), "none.json")
        other = ROOT / "docs/example/measured.json"
        outputs = ("--html", "a.html", "--trace", "trace.json", "--schedule", "schedule.json", "--svg", "a.svg", "--settings", "told")
        self.assert_refused((*EXPLORE, *outputs, "--measured", other), "measured.json", "operation")


COLOURS_OF_CHARTS = """return [...document.querySelectorAll('.chart')].filter((one) => one.clientHeight > 0).map((chart) => {
  const canvas = chart.querySelector('canvas');
  const seen = new Set(), data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return seen.size; })"""
WIDER_THAN_THE_WINDOW = """return [...document.querySelectorAll('main *')]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5).map((one) => one.outerHTML.slice(0, 80))"""
SMALLEST_FONT = """return Math.min(...[...document.querySelectorAll('main *')].filter((one) => one.innerText && one.clientHeight > 0)
  .map((one) => parseFloat(getComputedStyle(one).fontSize)))"""


class InABrowser(InAFolder):
    """What a reader sees: opened, hovered, zoomed, on a screen and on a phone, in the light and in the dark."""

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)
        folder = tempfile.TemporaryDirectory(prefix="weft-report-")
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        cls.pages = {
            "model": [ROOT / "scenarios/llama-3.3-70b.json"],
            "shape": ["m=8192 n=8192 k=3584 op=gemm+reduce_scatter", "--gpus", 4],
            "measured": [ROOT / "docs/example/scenario.json", "--size", 8192, "--measured", ROOT / "docs/example/measured.json"],
        }
        for name, question in cls.pages.items():
            done = weft(path, "explore", *question, "--machine", "h200x8-nvswitch", "--html", f"{name}.html")
            if done.returncode != 0:
                raise RuntimeError(done.stderr)
            cls.pages[name] = path / f"{name}.html"

    def open(self, name, width=1280, **how):
        self.browser.open(self.pages[name], width, **how)
        self.browser.settle()

    def pixels(self, selector):
        """A digest of what a chart shows."""
        drawn = self.browser.run("return document.querySelector(arguments[0] + ' canvas').toDataURL()", selector)
        return hashlib.sha256(drawn.encode()).hexdigest()

    def tip(self, selector):
        return self.browser.run("return [...document.querySelectorAll(arguments[0] + ' .tip')].filter((one) => "
                                "one.checkVisibility({opacityProperty: true, visibilityProperty: true}))"
                                ".map((one) => one.innerText).join(' ')", selector)

    def assert_is_quiet(self, name):
        console, asked = self.browser.logs()
        self.assertEqual(console, [])
        self.assertEqual([url for url in asked if not url.startswith("data:")], [self.pages[name].resolve().as_uri()])

    def test_every_page_is_quiet_drawn_and_readable_on_a_screen_and_on_a_phone(self):
        for name in self.pages:
            for width in (1280, 390):
                with self.subTest(name, width=width):
                    self.open(name, width)
                    self.assert_is_quiet(name)
                    content = content_of(self.pages[name])
                    self.assertEqual(self.browser.run("return document.title"), content["title"])
                    self.assertEqual(self.browser.run("return document.getElementById('verdict').innerText"), content["verdict"][0])
                    for count in self.browser.run(COLOURS_OF_CHARTS):
                        self.assertGreater(count, 10)
                    self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.browser.run(WIDER_THAN_THE_WINDOW), [])
                    self.assertGreaterEqual(self.browser.run(SMALLEST_FONT), 12)

    def test_hovering_tells_the_numbers(self):
        self.open("model")
        for chart, place, words in (("#curve", (0.5, 0.3), ["expected gain", "faster with", "tokens"]),
                                    ("#heat", (0.5, 0.3), ["expected gain", "GPUs"]),
                                    ("#losses", (0.3, 0.2), ["perfect overlap", "= time"]),
                                    ("#lanes", (0.5, 0.07), ["µs", "SMs busy", "power"])):
            with self.subTest(chart):
                self.browser.scroll_to(chart)
                self.browser.hover(chart, *place)
                tip = self.tip(chart)
                for word in words:
                    self.assertIn(word, tip)
        self.assert_is_quiet("model")

    def test_the_time_axis_zooms_by_buttons_and_by_the_wheel(self):
        self.open("shape")
        self.browser.scroll_to("#lanes")
        whole = self.pixels("#lanes")
        self.browser.click("#zoom-in")
        self.assertNotEqual(self.pixels("#lanes"), whole)
        self.browser.click("#zoom-all")
        self.assertEqual(self.pixels("#lanes"), whole)
        self.browser.turn_wheel("#lanes", 0.5, 0.07, -300, ctrl=True)
        self.assertNotEqual(self.pixels("#lanes"), whole)
        self.browser.click("#zoom-all")
        self.browser.turn_wheel("#lanes", 0.5, 0.07, -300)  # scrolls the page
        self.assertEqual(self.pixels("#lanes"), whole)
        self.assert_is_quiet("shape")

    def test_arrows_can_be_hidden(self):
        self.open("shape")
        with_arrows = self.pixels("#lanes")
        self.browser.click("#arrows")
        self.assertNotEqual(self.pixels("#lanes"), with_arrows)

    def test_another_size_and_pattern_change_ranking_bars_and_curves(self):
        self.open("model")
        state = lambda: (self.browser.run("return document.getElementById('ranking').innerText"), self.pixels("#losses"), self.pixels("#curve"))
        before = state()
        self.browser.click("#sizes button:first-child")
        after_size = state()
        self.browser.click("#patterns button:nth-child(2)")
        after_pattern = state()
        for i in range(3):
            self.assertNotEqual(before[i], after_size[i])
            self.assertNotEqual(after_size[i], after_pattern[i])
        self.assert_is_quiet("model")

    def test_the_dark_has_colours_of_its_own(self):
        self.open("shape")
        light = self.browser.run("return getComputedStyle(document.body).backgroundColor"), self.pixels("#lanes")
        self.open("shape", dark=True)
        dark = self.browser.run("return getComputedStyle(document.body).backgroundColor"), self.pixels("#lanes")
        self.assertNotEqual(light[0], dark[0])
        self.assertNotEqual(light[1], dark[1])

    def test_predicted_stands_beside_measured_where_there_is_a_run(self):
        self.open("measured")
        self.assertIn("measured", self.browser.run("return document.getElementById('comparison').innerText"))
        self.open("shape")
        self.assertTrue(self.browser.run("return document.getElementById('comparison-part') === null"))


def main():
    if "--browser" in sys.argv:
        missing = browser.missing() + ([] if PAGE.exists() else ["the page, which the build makes with npm"])
        if missing:
            print(f"skipped: {', '.join(missing)} not here (Debian: chromium, chromium-driver)")
            return 77
        names = ["InABrowser"]
    else:
        names = ["WithoutThePage", "TheFile"]
    return 0 if unittest.main(argv=sys.argv[:1] + names, exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
