"""The manual page and the completions of shells say what the help says. Argument: the program weft."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEFT = ROOT / "build/release/bin/weft"


def printed(*line):
    environment = dict(os.environ, PATH=f"{WEFT.parent}:{os.environ['PATH']}")
    return subprocess.run(line, capture_output=True, text=True, check=True, env=environment).stdout


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        top = pathlib.Path(cls.folder.name)
        cls.man, cls.bash, cls.zsh, cls.fish = (top / name for name in ("weft.1", "weft.bash", "zsh/_weft", "weft.fish"))
        files = [f"--{name}={getattr(cls, name)}" for name in ("man", "bash", "zsh", "fish")]
        subprocess.run([ROOT / "tools/manual", "--weft", WEFT, *files], check=True)

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

    def offered_by_fish(self, line):
        offers = printed("fish", "--no-config", "-c", f"source {self.fish}; complete -C '{line}'")
        return {offer.split("\t")[0] for offer in offers.splitlines()}

    @unittest.skipUnless(shutil.which("fish"), "needs fish")
    def test_fish_completes_the_same(self):
        self.assertEqual(self.offered_by_fish("weft si"), {"simulate"})
        self.assertEqual(self.offered_by_fish("weft predict --mach"), {"--machine"})
        self.assertEqual(self.offered_by_fish("weft simulate x.json --format c"), {"csv"})
        self.assertEqual(self.offered_by_fish("weft predict --machine mi300"), {"mi300x8-mesh"})
        self.assertIn("--nccl-tests", self.offered_by_fish("weft profile new --"))
        self.assertIn(f"{ROOT}/tools/manual", self.offered_by_fish(f"weft check {ROOT}/tools/man"))
        self.assertEqual(self.offered_by_fish(f"weft tune x --gpus {ROOT}/tools/man"), set())

    def completed_by_zsh(self, *lines):
        """What each line is when the tabulator was pressed at its end."""
        child, terminal = pty.fork()
        if child == 0:
            os.environ.update(HOME=self.folder.name, TERM="dumb", PATH=f"{WEFT.parent}:{os.environ['PATH']}")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        os.write(terminal, f"PS1=; fpath=({self.zsh.parent} $fpath); autoload -U compinit; compinit -u -D\n".encode())
        for line in lines:  # the beginning of the line is where the cursor goes to make an argument of it
            os.write(terminal, f"{line}\t\x01print -r -- MADE \n".encode())
        os.write(terminal, b"exit\n")
        shown = b""
        while select.select([terminal], [], [], 60)[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the shell has ended
                break
        os.waitpid(child, 0)
        return [made.strip() for made in re.findall(r"^MADE (.*)$", shown.decode().replace("\r", "\n"), re.MULTILINE)]

    @unittest.skipUnless(shutil.which("zsh"), "needs zsh")
    def test_zsh_completes_the_same(self):
        folder = f"{ROOT}/tools/manu"
        self.assertEqual(
            self.completed_by_zsh("weft si", "weft predict --mach", "weft simulate x.json --format c",
                                  "weft predict --machine mi300", "weft profile new --ncc", f"weft check {folder}"),
            ["weft simulate", "weft predict --machine", "weft simulate x.json --format csv",
             "weft predict --machine mi300x8-mesh", "weft profile new --nccl-tests", f"weft check {ROOT}/tools/manual"])


if __name__ == "__main__":
    WEFT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else WEFT
    unittest.main()
