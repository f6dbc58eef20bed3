"""The archive of tools/package answers where it is unpacked, as docs/first_hour.md says.

    package_test.py BUILD            makes the archive of a build and follows the page
    package_test.py --alone ARCHIVE  asks it a question in a root that has nothing but the archive
"""

import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build/release"
QUESTION = ["m=8192 n=8192 k=3584 op=gemm+all_reduce", "--machine", "h200x8-nvswitch"]


def lines_of_blocks(page):
    """What a reader types: the indented lines, without what was printed."""
    typed = re.sub(r"<!-- output.*?<!-- end -->", "", page.read_text(), flags=re.DOTALL)
    return [line.strip() for line in typed.splitlines() if line.startswith("    ")]


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        subprocess.run([ROOT / "tools/package", "--of", BUILD, "--out", cls.folder], check=True, stdout=subprocess.DEVNULL)
        (cls.archive,) = cls.folder.glob("*.tar.gz")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_the_version_is_in_the_name(self):
        version = subprocess.run([BUILD / "bin/weft", "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(self.archive.name, f"weft-{version.strip()}-linux-{platform.machine()}.tar.gz")

    def test_every_line_of_the_first_hour_works_in_an_empty_environment(self):
        script = "\n".join(["set -e", *lines_of_blocks(ROOT / "docs/first_hour.md")])
        self.assertIn("tar xzf", script)
        done = subprocess.run(["env", "-i", f"HOME={self.folder}", "PATH=/usr/bin:/bin", "bash", "-c", script],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        said = re.sub(r"^weft: \d+ of \d+ schedules, \d+ %, \d+ s left\n", "", done.stderr, flags=re.MULTILINE)
        self.assertEqual((done.returncode, said), (0, ""), "but progress, where a machine takes longer than a second")
        self.assertIn("Overlap pays", done.stdout)
        (unpacked,) = self.folder.glob("weft-*/")
        for made in ("best.json", "lanes.svg", "lanes.json", "settings/settings.json"):
            self.assertTrue((unpacked / made).exists(), made)

    def test_the_manual_page_completions_pages_and_scenarios_are_in_it(self):
        with tarfile.open(self.archive) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        self.assertLessEqual(
            {"README.md", "docs", "scenarios", "bin/weft", "share/man/man1/weft.1", "share/fish/vendor_completions.d/weft.fish",
             "share/bash-completion/completions/weft", "share/zsh/site-functions/_weft", "share/doc/weft/LICENSE",
             "share/doc/weft/first_hour.md", "share/weft/scenarios/llama-3.3-70b.json",
             "share/weft/machines/h200x8-nvswitch.json"}, names)
        self.assertFalse([name for name in names if name.endswith((".a", ".hpp", ".py"))])


def ask_alone(archive):
    """Unpacks into a folder and asks from inside of it, where there is no library, no shell and no compiler."""
    with tempfile.TemporaryDirectory() as root:
        with tarfile.open(archive) as opened:
            opened.extractall(root)
        (unpacked,) = pathlib.Path(root).glob("weft-*/")
        (pathlib.Path(root) / "proc").mkdir()
        apart = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", f"--root={root}", "--mount-proc=/proc"]
        subprocess.run(["env", "-i", *apart, f"/{unpacked.name}/bin/weft", "explore", *QUESTION], check=True)


if __name__ == "__main__":
    if sys.argv[1] == "--alone":
        ask_alone(sys.argv[2])
    else:
        BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
        unittest.main()
