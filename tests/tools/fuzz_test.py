"""Does tools/fuzz find what it is for? Programs that end wrongly in one way each. Arguments: the program weft."""

import dataclasses
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from fuzzing import crafted, reduction  # noqa: E402  (found in the folder above)
from fuzzing.corpus import Corpus  # noqa: E402
from fuzzing.crafted import Question  # noqa: E402
from fuzzing.document import Raw, parsed, text_of  # noqa: E402
from fuzzing.follow_ups import follow_ups  # noqa: E402
from fuzzing.questions import WEIGHTS, Asker, question  # noqa: E402
from fuzzing.rules import complaint  # noqa: E402
from fuzzing.trial import Limits, Outcome, Place, difference  # noqa: E402

WEFT = ROOT / "build/release/bin/weft"
REFUSAL = 'echo "weft: in.jsonl: line 1: m: expected a positive integer, got 0" >&2; exit 2'
ANSWER = '{"id": "a", "time_us": 20, "serial_us": 20, "bound_us": 10, "interval_us": [15, 30]}'
LIMITS = Limits(seconds=2, megabytes=200, output_megabytes=5)


class Found(unittest.TestCase):
    """What is said of a program that does `script`."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.program = pathlib.Path(self.folder.name) / "weft"
        self.place = Place(self.program, LIMITS, {})

    def tearDown(self):
        self.place.close()
        self.folder.cleanup()

    def outcome(self, script, arguments=("predict", "--in", "in.jsonl"), outputs=("out.json",),
                content=b'{"m": 0}\n'):
        self.program.write_text("#!/bin/bash\n" + script + "\n")
        self.program.chmod(0o755)
        self.question = Question(list(arguments), {"in.jsonl": content}, outputs)
        return self.place.run(self.question)

    def said_of(self, script, *arguments, **question_of):
        outcome = self.outcome(script, *arguments, **question_of)
        return complaint(self.question, outcome, LIMITS)

    def answer(self, text, status=0):
        return self.said_of(f"cat <<'END'\n{text}\nEND\nexit {status}")

    def test_nothing_where_it_refuses_in_one_line_or_answers(self):
        self.assertEqual(self.said_of(REFUSAL), "")
        self.assertEqual(self.answer(ANSWER), "")

    def test_a_signal_and_a_status_of_no_meaning(self):
        self.assertIn("exit status -11", self.said_of("kill -SEGV $$"))
        self.assertIn("exit status 3", self.said_of("exit 3"))

    def test_work_without_an_end(self):
        self.assertIn("longer than the limit", self.said_of("while :; do :; done"))

    def test_waiting_without_an_end(self):
        self.place.limits = Limits(waiting_seconds=1)
        self.assertIn("did not end", self.said_of("sleep 30"))

    def test_too_much_memory(self):
        self.place.limits = dataclasses.replace(LIMITS, seconds=60)  # bash is slow with so long a word
        self.assertRegex(self.said_of("head -c 300M /dev/zero | tail -c 280M > /dev/null; exit 2"), "took [23].. MB|no word why")
        self.assertRegex(self.said_of(f"x=$(head -c 260M /dev/zero | tr '\\0' a); {REFUSAL}"), "took ... MB")

    def test_errors_that_are_no_single_line(self):
        self.assertIn("no word why", self.said_of("exit 2"))
        self.assertIn("2 lines", self.said_of('echo "weft: a" >&2; ' + REFUSAL))
        self.assertIn("an error of", self.said_of('echo "weft: $(printf %2000s)" >&2; exit 2'))
        self.assertIn("control character", self.said_of('echo -e "weft: \\033[31mred" >&2; exit 2'))
        self.assertIn("no UTF-8", self.said_of('echo -e "weft: \\xff" >&2; exit 2'))
        self.assertIn("a library speaks", self.said_of('echo "weft: vector::reserve" >&2; exit 2'))
        self.assertIn("does not begin with weft", self.said_of('echo "Killed" >&2; exit 1'))

    def test_files_that_nobody_asked_for(self):
        self.assertEqual(self.said_of("echo 1 > out.json", arguments=("check",)), "")
        self.assertIn("left out.json.tmp behind", self.said_of("echo 1 > out.json.tmp", arguments=("check",)))
        self.assertIn("left deep/er/else behind", self.said_of("echo 1 > ../else", arguments=("check",)))
        self.assertIn("after refusing", self.said_of("echo 1 > out.json; " + REFUSAL))
        self.assertIn("changed its input", self.said_of("echo > in.jsonl; " + REFUSAL))
        self.assertIn("changed its input", self.said_of("rm in.jsonl; " + REFUSAL))

    def test_processes_that_go_on(self):
        self.assertIn("left a process behind", self.said_of("sleep 20 & " + REFUSAL))

    def test_answers_that_cannot_be(self):
        self.assertIn("time_us is 0", self.answer(ANSWER.replace("20", "0", 1)))
        self.assertIn("is below bound_us", self.answer(ANSWER.replace('"time_us": 20', '"time_us": 9')))
        self.assertIn("is not in interval_us", self.answer(ANSWER.replace("15, 30", "21, 30")))
        self.assertIn("NaN in JSON", self.answer(ANSWER.replace("30]", "NaN]")))
        self.assertIn("serial_us is 1e+300", self.answer(ANSWER.replace('"serial_us": 20', '"serial_us": 1e300')))
        self.assertIn("null", self.answer(ANSWER.replace("30]", '30], "clock_MHz": null')))
        self.assertIn("is no JSON", self.answer("nonsense"))

    def test_a_status_that_the_lines_do_not_say(self):
        line = '{"id": "a", "error": "m: expected a positive integer, got 0"}'
        self.assertIn("1 lines have an error", self.answer(line))
        failed = f"cat <<'END'\n{ANSWER}\nEND\necho 'weft: some cases could not be answered' >&2; exit 1"
        self.assertIn("0 lines have an error", self.said_of(failed))

    def test_numbers_that_are_none_in_files_and_on_paper(self):
        said = lambda content: self.said_of('echo "error  nan %  left out: table nan of no graph"', ("validate",), content=content)
        self.assertIn("nan or inf", said(b"table nan of no graph\n"))
        source = lambda content: self.said_of('echo "left out: table nan of no graph"', ("validate",), content=content)
        self.assertIn("nan or inf", source(b"a table\n"))
        self.assertEqual(source(b"table nan of no graph\n"), "")
        spans = '{"format": "weft.trace/1", "spans": [{"start_us": 5, "end_us": 4}]}'
        self.assertIn("a span from 5 to 4", self.said_of(f"echo '{spans}' > out.json", arguments=("simulate",)))

    def test_a_second_run_that_ends_otherwise(self):
        script = "echo $$"
        self.assertIn("ended otherwise: output", difference(self.outcome(script), self.outcome(script)))
        self.assertEqual(difference(self.outcome(REFUSAL), self.outcome(REFUSAL)), "")
        told = f'echo "weft: 1 of 2 cases, 50 %, 1 s left" >&2; {REFUSAL}'
        self.assertEqual(difference(self.outcome(told), self.outcome(REFUSAL)), "")

    def test_what_a_crafted_question_expects(self):
        outcome = self.outcome(REFUSAL)
        self.question.status, self.question.told = 2, ("in.jsonl", "m:")
        self.assertEqual(complaint(self.question, outcome, LIMITS), "")
        self.question.status = 0
        self.assertIn("expected 0", complaint(self.question, outcome, LIMITS))
        self.question.status, self.question.told = 2, ("colour",)
        self.assertIn("does not say 'colour'", complaint(self.question, outcome, LIMITS))


class FollowUps(unittest.TestCase):
    def asked_after(self, arguments, status, written):
        outcome = Outcome(status, b"", b"", written, [], 1, False, False)
        return list(follow_ups(Question(arguments, {"in.json": b"{}"}), outcome))

    def test_read_what_was_written_beside_what_was_there(self):
        (check,) = self.asked_after(["explore", "in.json"], 0, {"won.json": b"{}", "out.svg": b""})
        self.assertEqual((check.arguments, check.status), (["check", "won.json"], 0))
        self.assertEqual(sorted(check.files), ["in.json", "out.svg", "won.json"])

    def test_are_none_of_what_was_refused(self):
        self.assertEqual(self.asked_after(["explore", "in.json"], 2, {"won.json": b"{}"}), [])


class Documents(unittest.TestCase):
    def test_numbers_keep_their_spelling_and_keys_may_stand_twice(self):
        for text in ('{"a": 1e5, "a": [0.10, {}], "\u00e9": "b\\n"}', "[]", '"a"', "1E400"):
            self.assertEqual(text_of(parsed(text)), text)

    def test_what_is_no_json_can_be_written(self):
        value = parsed('{"a": 1}')
        value[0][1] = Raw("0x10")
        self.assertEqual(text_of(value), '{"a": 0x10}')


class Crafted(unittest.TestCase):
    def test_a_question_is_the_same_once_written_and_read(self):
        asked = Question(["check", "a"], {"a": b"\xff\0\n", "b": "\u00e9".encode()}, ("out.json",), "a", "why", 2, ("x",))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.json"
            path.write_text(crafted.written(asked))
            self.assertEqual(crafted.read(path, ROOT), asked)

    def test_files_of_the_tree_are_changed_where_the_text_stands_once(self):
        made = crafted.content({"of": "scenarios/gemm_reduce_scatter.json", "replace": {'"n": 8192': '"n": 0'}}, ROOT)
        self.assertIn(b'"n": 0', made)
        with self.assertRaises(ValueError):
            crafted.content({"of": "scenarios/gemm_reduce_scatter.json", "replace": {"8192": "0"}}, ROOT)

    def test_a_question_is_reduced_to_what_finds_the_same(self):
        whole = Question(["check", "a"], {"a": b'{"b": [1, 2, {"c": 3}], "d": 4}'})
        reduced = reduction.reduced(whole, "c is 3", lambda asked: ("c is 3" if b'"c"' in asked.files["a"] else "", 0))
        self.assertEqual(reduced.files["a"], b'{"b": [{"c": 3}]}')


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.corpus = Corpus(ROOT, WEFT)

    def asked(self, number):
        return question(random.Random(f"1 {number}"), self.corpus)

    def test_are_the_same_in_every_run(self):
        for number in range(12):
            self.assertEqual(self.asked(number), self.asked(number))
        self.assertNotEqual(self.asked(1), self.asked(2))

    def test_are_asked_of_every_command(self):
        listed = subprocess.run([WEFT], capture_output=True, text=True, check=False).stderr
        commands = {word.strip(" ,") for word in listed.split("expected a command:")[1].split()}
        asker = Asker(random.Random(1), self.corpus)
        asked = {getattr(asker, name)().arguments[0] for name in WEIGHTS if name != "options"}
        asked |= {arguments[0] for arguments in (asker.options().arguments for _ in range(100)) if arguments}
        self.assertEqual(commands - asked, set())

    def test_of_whole_inputs_are_answered(self):
        """What nothing was done to is no error, or mutation would not get past it."""
        place = Place(WEFT, Limits(), {})
        for name in sorted(WEIGHTS.keys() - {"options", "run", "measure", "ask", "calibrate", "validate"}):
            asker = Asker(random.Random(3), self.corpus)
            asker.mutant = lambda kind, whole, words=None, donors=(): whole
            asker.machine = lambda: "h200x8-nvswitch-nvls"  # which can do all
            outcome = place.run(getattr(asker, name)())
            self.assertEqual((name, outcome.status, outcome.errors), (name, 0, b""))
        place.close()

    def test_cover_each_op_and_most_of_what_schedules_do(self):
        cases = " ".join(self.corpus.cases)
        for op in ("gemm", "all_to_all", "copy", "gemm+all_reduce", "gemm||all_reduce", "transformer_layer"):
            self.assertIn(f'"op": "{op}"', cases.replace('":"', '": "'))
        schedules = b" ".join(self.corpus.schedules)
        for work in ("gemm", "collective", "grouped_exchange", "copy", "memory_bound", "attention", "signal", "wait", "barrier"):
            self.assertIn(f'"{work}"'.encode(), schedules)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        WEFT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
