"""The manual page and the completion of bash say what the help says. Argument: the program weft."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEFT = ROOT / "build/release/bin/weft"


def printed(*line):
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.man, cls.bash = (pathlib.Path(cls.folder.name) / name for name in ("man1/weft.1", "completions/weft"))
        subprocess.run([ROOT / "tools/manual", "--weft", WEFT, "--man", cls.man, "--bash", cls.bash], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def completed(self, *words):
        """What is offered for the last word."""
        quoted = " ".join(f"'{word}'" for word in (WEFT, *words))
        script = f"source {self.bash}; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _weft; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return set(printed("bash", "-c", script).split())

    def test_the_page_has_every_command_and_option_of_the_help(self):
        page = self.man.read_text().replace("\\-", "-")
        commands = re.findall(r"^  ([a-z]+) ", printed(WEFT, "--help").split("Subcommands:")[1], re.MULTILINE)
        self.assertGreater(len(commands), 15)
        for command in commands:
            self.assertRegex(page, rf'\.SS "weft {command}[" ]')
            for option in re.findall(r"^  (--[a-z-]+)", printed(WEFT, command, "--help"), re.MULTILINE):
                self.assertIn(f"\\fB{option}\\fR", page)

    @unittest.skipUnless(shutil.which("groff"), "needs groff")
    def test_the_formatter_has_nothing_to_say_of_the_page(self):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", self.man], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")

    def test_commands_options_words_and_machines_are_completed(self):
        self.assertEqual(self.completed("si"), {"simulate"})
        self.assertEqual(self.completed("predict", "--mach"), {"--machine"})
        self.assertEqual(self.completed("simulate", "x.json", "--format", "c"), {"csv"})
        self.assertEqual(self.completed("predict", "--machine", "mi300"), {"mi300x8-mesh"})
        self.assertIn("new", self.completed("profile", "n"))
        self.assertIn("--nccl-tests", self.completed("profile", "new", "--"))

    def test_files_are_completed_where_files_are_asked_for(self):
        folder = f"{ROOT}/tools/man"
        self.assertIn(f"{ROOT}/tools/manual", self.completed("check", folder))
        self.assertIn(f"{ROOT}/tools/manual", self.completed("predict", "--in", folder))
        self.assertEqual(self.completed("tune", "x", "--gpus", folder), set())


if __name__ == "__main__":
    WEFT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else WEFT
    unittest.main()
