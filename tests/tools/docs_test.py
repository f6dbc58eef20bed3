"""What tools/docs says of pages that are right, wrong, or ask for what cannot be had. Arguments: the program weft."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEFT = ROOT / "build/release/bin/weft"

GAP = """# A page

<!-- machine h200x8-nvswitch -->

The gap between two kernels is <!-- = latencies.kernel_gap:.1f -->{}<!-- end --> us.
"""


class Docs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.page = pathlib.Path(self.folder.name) / "page.md"

    def tearDown(self):
        self.folder.cleanup()

    def docs(self, text, *options):
        """Exit status and what was printed."""
        self.page.write_text(text)
        done = subprocess.run(
            [ROOT / "tools/docs", "--weft", WEFT, *options, self.page], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    def test_check_passes_a_page_that_says_what_the_profile_says(self):
        self.assertEqual(self.docs(GAP.format("0.1"), "--check"), (0, ""))

    def test_check_names_page_and_line_of_a_number_changed_by_hand(self):
        status, printed = self.docs(GAP.format("0.5"), "--check")
        self.assertEqual(status, 1)
        self.assertIn('page.md:5: "0.1" belongs here, the page says "0.5"', printed)
        self.assertEqual(self.page.read_text(), GAP.format("0.5"))

    def test_a_filled_page_passes_the_check(self):
        self.assertEqual(self.docs(GAP.format("?"))[0], 0)
        self.assertEqual(self.page.read_text(), GAP.format("0.1"))

    def test_a_key_that_the_profile_does_not_have_is_a_complaint(self):
        status, printed = self.docs(GAP.format("0.1").replace("kernel_gap:", "kernel_gup:"), "--check")
        self.assertEqual(status, 1)
        self.assertIn("page.md:5: PageError: no key kernel_gup", printed)

    def test_output_of_the_command_before_is_filled_as_the_block_is_written(self):
        page = "    weft machines\n\n<!-- output -->\n```text\nstale\n```\n<!-- end -->\n"
        self.assertEqual(self.docs(page, "--check")[0], 1)
        self.assertEqual(self.docs(page)[0], 0)
        self.assertIn("```text\nname ", self.page.read_text())

    def test_a_command_that_fails_is_a_complaint_unless_the_page_says_so(self):
        status, printed = self.docs("    weft simulate nowhere.json --machine h200x8-nvswitch\n", "--check")
        self.assertEqual(status, 1)
        self.assertIn("page.md:1: PageError", printed)
        refused = "<!-- refused weft simulate nowhere.json --machine h200x8-nvswitch -->\n"
        self.assertEqual(self.docs(refused, "--check"), (0, ""))
        self.assertEqual(self.docs("<!-- refused weft machines -->\n", "--check")[0], 1)

    def test_commands_that_need_gpus_and_synopses_are_not_run(self):
        page = "    weft run nowhere.json --spans out.json\n    weft reproduce PAPER [--json OUT]\n"
        self.assertEqual(self.docs(page, "--check"), (0, ""))

    def test_what_rests_on_a_slow_command_is_left_as_it_is_unless_all_is_asked(self):
        page = "<!-- slow -->\n\n    weft machines\n\n<!-- output -->\n\n    stale\n\n<!-- end -->\n"
        self.assertEqual(self.docs(page, "--check"), (0, ""))
        self.assertEqual(self.docs(page, "--check", "--all")[0], 1)

    def test_cells_of_a_table_are_filled_row_by_row(self):
        table = "<!-- machine h200x8-nvswitch -->\n\n<!-- table . | {latencies[cell[0]]:.1f} -->\n| gap | us |\n|---|---|\n"
        self.assertEqual(self.docs(table + "| kernel_gap | ? |\n| join_gap | ? |\n<!-- end -->\n")[0], 0)
        self.assertIn("| kernel_gap | 0.1 |\n| join_gap | 1.8 |\n", self.page.read_text())

    def test_a_comment_that_would_end_a_paragraph_is_a_complaint(self):
        page = GAP.format("0.1").replace("kernels is <!--", "kernels is\n<!--")
        self.assertIn("ends the paragraph", self.docs(page, "--check")[1])


if __name__ == "__main__":
    WEFT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else WEFT
    unittest.main()
