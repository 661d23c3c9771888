"""calibrate/first_gpu.py: its verdicts on invented measurements, programs that fail or hang, and sessions
that are killed."""
import contextlib
import copy
import io
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "calibrate"))
import first_gpu  # noqa: E402
import verdicts  # noqa: E402


def point(size_B, time_us, moved_B=0):
    return {"size_B": size_B, "time_us": time_us, "moved_B": moved_B, "samples_us": [time_us] * 6,
            "verified": True}


def series(operation, time_us, moved_B=0, algorithm="", ranks=1, kind="float32", placement=""):
    return {"operation": operation, "algorithm": algorithm, "type": kind, "ranks": ranks,
            "placement": placement, "points": [point(1, time_us, moved_B)]}


def whole(record):
    """With what it says that it was asked for: what it has."""
    record["complete"] = True
    record["asked"] = [{**{key: one[key] for key in verdicts.KEYS if key in one},
                        "sizes_B": [at["size_B"] for at in one["points"]]}
                       for one in record["series"]]
    return record


def passed(found):
    return [verdict for verdict, _ in found]


def overlap_record(**times_us):
    return {"series": [{"operation": "overlap", "algorithm": name.replace("_", " "), "points":
                        [{"time_us": 9}, {"time_us": time}]} for name, time in times_us.items()]}


class Verdicts(unittest.TestCase):

    # The data sheet of a device that is known; else its bus, twice 2,619 MHz of 5,120 bits; else the fastest copy:
    # 2 GB in 1,000 us.
    def test_peaks(self):
        copies = [{"operation": "copy", "points": [{"moved_B": 10**9, "time_us": 1000},
                                                   {"moved_B": 2 * 10**9, "time_us": 1000}]}]
        record = {"device": "NVIDIA H100 80GB HBM3", "memory_GBps": 3352.3, "series": copies}
        self.assertEqual(verdicts.peak_of(record, 0), 3350)
        self.assertEqual(verdicts.peak_of(record, 99), 99)
        record["device"] = "GPU of next year"
        self.assertEqual(verdicts.peak_of(record, 0), 3352.3)
        del record["memory_GBps"]
        self.assertEqual(verdicts.peak_of(record, 0), 2000)
        self.assertEqual(verdicts.peak_of({"series": []}, 0), 0)

    def test_overlaps(self):
        good = overlap_record(product_alone=100, product_beside_nccl=108, nccl_alone=50, nccl_beside_product=70)
        lines = verdicts.overlaps(good)
        self.assertEqual([passed for passed, _ in lines], [True, True])
        self.assertIn("product beside nccl, times as long as alone: 1.08", lines[0][1])
        faster = overlap_record(product_alone=100, product_beside_nccl=90)
        self.assertFalse(verdicts.overlaps(faster)[0][0])
        self.assertFalse(verdicts.overlaps({"series": []})[0][0])
        self.assertFalse(verdicts.overlaps(overlap_record(product_alone=100))[0][0])
    # 4800 GB/s move 4.8 GB in 1000 us: 4.08 GB are 85 %.
    def test_memory(self):
        record = {"device": "NVIDIA H200", "series": [
            series("fold", 1000, 4.2e9), series("fold", 1000, 4.0e9, kind="float16"),
            series("copy", 1000, 4.09e9, algorithm="within a rank"),
            series("copy", 1000, 1e9, algorithm="through host memory")]}
        peak = verdicts.peak_of(record, 0)
        self.assertEqual(peak, 4800)
        self.assertEqual(passed(verdicts.memory(record, peak, ["float32"])), [True, True])
        self.assertEqual(passed(verdicts.memory(record, peak, ["float16"])), [False, False])
        self.assertEqual(passed(verdicts.memory(record, 0, ["float32"])), [False])
        self.assertEqual(passed(verdicts.memory({"series": []}, peak, ["float32"])), [False, False])

    # A copy of 2 GB moved in 1000 us: 4 GB of a ring should take 2000 us.
    def test_traffic(self):
        def record(time_us, placement="4 virtual ranks on one GPU"):
            return {"series": [series("copy", 1000, 2e9, algorithm="within a rank"),
                               *[series("allreduce", time_us, 4e9, algorithm, 4, placement=placement)
                                 for algorithm in ("ring", "be", "lp")]]}
        for time_us, expected in ((1700, False), (1900, True), (2200, True), (2400, False)):
            self.assertEqual(passed(verdicts.traffic(record(time_us), [4])), [expected] * 3)
        self.assertEqual(passed(verdicts.traffic(record(2000), [4, 8])), [True, False] * 3)
        self.assertEqual(passed(verdicts.traffic(record(2000, "4 GPUs"), [4])), [False] * 3)
        self.assertEqual(passed(verdicts.traffic({"series": []}, [4])), [False])

    def test_odd_ranks(self):
        def record(time_us):
            return {"series": [series("allreduce", 1000, 1e9, "ring", 2),
                               series("allreduce", time_us, 1e9, "ring", 3),
                               series("allreduce", 1000, 1e9, "ring", 4)]}
        for time_us, expected in ((1000, True), (1090, True), (1200, False), (800, False)):
            found = verdicts.odd(record(time_us), [2, 3, 4], ["float32"])
            self.assertEqual(passed(found), [expected])
        self.assertEqual(passed(verdicts.odd(record(1000), [2, 3, 4, 5], ["float32"])), [False, True])
        self.assertEqual(passed(verdicts.odd({"series": []}, [2, 3], ["float32"])), [False, False])

    def test_overhead_fit_layers(self):
        record = {"series": [series("overhead", 1.8, algorithm="launch"),
                             series("overhead", 9, ranks=4), series("overhead", 90, ranks=8)]}
        self.assertEqual(passed(verdicts.overhead(record, [2, 4, 8])),
                         [True, False, False, True, False])
        asked = {"asked": [{"operation": "copy", "sizes_B": [1, 2, 4, 8, 16]},
                           {"operation": "overhead", "sizes_B": [0]}]}
        for median, rows, expected in ((4, 2, True), (6, 2, False), (4, 1, False)):
            answer = {"held_out": {"median_percent": median, "rows": rows}}
            self.assertEqual(passed(verdicts.fit(answer, asked)), [expected])
        self.assertEqual(passed(verdicts.fit({}, asked)), [False])
        trace = {"layers": [{"forward": "20 ms", "backward": "40000 us"}], "update": "0.04 s",
                 "notes": ["precision tf32", "recomputation: the backward pass repeats 3 calls",
                           "recording costs 0.4 % of a step (2.008 ms with hooks, 2.000 ms without)"]}
        for step_ms, note, expected in ((101, "precision tf32", True), (110, "precision tf32", False),
                                        (101, "precision float32", False)):
            plain = {"step_ms": step_ms, "notes": [note]}
            self.assertEqual(passed(verdicts.layers(trace, plain)), [expected])

    def test_what_recording_costs(self):
        for notes, expected in ((["precision tf32", "recording costs 2.9 % of a step"], True),
                                (["recording costs 3.1 % of a step"], False),
                                (["recording costs -0.2 % of a step"], True),
                                (["recording costs -4.0 % of a step"], False),
                                (["recording costs an unknown part of a step: no memory"], False),
                                (["precision tf32"], False), ([], False)):
            self.assertEqual(passed(verdicts.recording({"notes": notes})), [expected])
        self.assertEqual(passed(verdicts.recording({})), [False])

    def test_results(self):
        for code, line, expected in ((0, "x: 9 of 9 results are right", True),
                                     (0, "x: 8 of 9 results are right", False),
                                     (0, "x: 0 of 0 results are right", False),
                                     (3, "x: 9 of 9 results are right", False),
                                     (0, "x: 9 of 9 results are right; 2 were left out", False),
                                     (0, "it said nothing", False)):
            self.assertEqual(passed(verdicts.of_results("all", code, line)), [expected])


def without(record, key):
    del record[key]


def lose_something(record, number):
    """One of the ways in which a record can lack something; they say which."""
    draw = random.Random(number)
    one = draw.choice(record["series"])
    at = draw.choice(one["points"])
    ways = [lambda: record["series"].remove(one), lambda: one["points"].remove(at),
            lambda: one["points"].clear(), lambda: record.update(complete=False),
            lambda: without(record, "complete"), lambda: record.update(complete="yes"),
            lambda: record.update(complete=1), lambda: without(record, "asked"),
            lambda: record.update(asked=[]), lambda: without(record, "series"),
            lambda: at.update(verified=False), lambda: without(at, "verified"),
            lambda: at.update(time_us=0), lambda: at.update(time_us=float("nan")),
            lambda: at.update(time_us=None), lambda: at.update(time_us=float("inf")),
            lambda: at.update(samples_us=[]), lambda: without(at, "samples_us"),
            lambda: at.update(size_B=at["size_B"] + 1), lambda: one.update(type="int8"),
            lambda: one.update(ranks=one["ranks"] + 100)]
    ways[number % len(ways)]()


class Gpu(unittest.TestCase):
    def record(self, slow=0, **state):
        record = whole({"backend": "cuda", "series": [series("copy", 1000, 2e9)]})
        record["series"][0]["points"][0].update(samples_us=[1] * 20, clocks_MHz=[1700] * 20,
                                                slow=list(range(slow)))
        record["states"] = [{"when": "before", "processes": 1, "slowed_by": ["power limit"]},
                            {"when": "after", "processes": 1, "ecc_errors": 0, **state}]
        return record

    def test_clock_and_state(self):
        for record, expected in ((self.record(), [True, True]), (self.record(slow=2), [True, True]),
                                 (self.record(slow=3), [False, True]),
                                 (self.record(processes=2), [True, False]),
                                 (self.record(ecc_errors=1), [True, False]),
                                 (self.record(slowed_by=["power brake"]), [True, False])):
            self.assertEqual(passed(verdicts.of_record("copies", record)), [True, *expected])
        record = self.record()
        del record["states"]
        record["series"][0]["points"][0]["clocks_MHz"].pop()
        self.assertEqual(passed(verdicts.of_record("copies", record)), [True, False, False])
        record["backend"] = "host"
        self.assertEqual(passed(verdicts.of_record("copies", record)), [True])


class Gaps(unittest.TestCase):
    def record(self):
        many = [series("copy", 1000, 2e9, algorithm="within a rank"),
                *[series("allreduce", 2000, 4e9, algorithm, ranks,
                         placement=f"{ranks} virtual ranks on one GPU")
                  for algorithm in ("ring", "be", "lp") for ranks in (2, 4)]]
        for one in many:
            one["points"] = [point(size, one["points"][0]["time_us"], one["points"][0]["moved_B"])
                             for size in (1, 2, 4)]
        return whole({"series": many})

    def judged(self, record):
        return verdicts.of_record("large", record, lambda one: verdicts.traffic(one, [2, 4]))

    def test_nothing_passes_of_a_record_with_a_gap(self):
        self.assertEqual(passed(self.judged(self.record())), [True] * 7)
        for number in range(126):
            with self.subTest(number=number):
                record = self.record()
                lose_something(record, number)
                found = self.judged(record)
                self.assertEqual(passed(found), [False] * len(found), found)
                self.assertIn("complete: ", found[0][1])

    def test_what_is_missing_is_named(self):
        record = self.record()
        del record["series"][2]["points"][1:]
        self.assertIn("allreduce ring float32 4 ranks: 2 of 3 sizes are missing",
                      self.judged(record)[0][1])


RECORD = json.dumps(whole({"device": "none", "series": [series("copy", 1000, 2e9)]}))


def program_file(folder, text, name="sgdsim-calibrate"):
    file = pathlib.Path(folder) / name
    file.write_text("#!/bin/sh\n" + text + "\n", encoding="utf-8")
    file.chmod(0o755)


MEASURES = f"""while [ $# -gt 0 ]; do [ "$1" != --out ] || out=$2; shift; done
[ -n "$out" ] || {{ echo "3 of 3 results are right" >&2; exit 0; }}
cat > "$out" <<'END'
{RECORD}
END"""


def names_in(archive):
    with tarfile.open(archive) as tar:
        return tar.getnames()


class Sessions(unittest.TestCase):
    """With programs in place of sgdsim-calibrate."""

    def session(self, program, parts=("1",), more=()):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            program_file(folder, program)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = first_gpu.main([*parts, "--bin", str(folder), "--backend", "host", *more,
                                       "--out", str(folder / "out")])
            for part in parts:
                self.assertIn("summary.txt", names_in(folder / f"out/part{part}.tar.gz"))
            self.assertEqual((folder / "out/summary.txt").read_text(), said.getvalue())
            return code, said.getvalue()

    def test_right_and_wrong_results(self):
        code, said = self.session("echo 3 of 3 results are right >&2")
        self.assertEqual(code, 0)
        self.assertIn("PASS    everything", said)
        code, said = self.session("echo element 3 of rank 1 is wrong >&2; exit 1")
        self.assertEqual(code, 1)
        self.assertIn("FAILED  first_results: element 3 of rank 1 is wrong", said)

    def test_what_is_cut_short_is_no_pass(self):
        code, said = self.session("echo 3 of 9 results are right >&2; exit 130")
        self.assertEqual(code, 5)
        self.assertIn("LOOK AT first_results: 3 of 9", said)

    # It takes no notice of SIGINT: it is killed, and the session goes on to its end.
    def test_what_hangs_is_ended(self):
        code, said = self.session("trap '' INT; exec sleep 100", more=("--scale", "0.01"))
        self.assertEqual(code, 1)
        self.assertIn("first_results: exit code -9", said)
        self.assertIn("odd_results: exit code -9", said)

    def test_a_missing_program_is_no_pass(self):
        with tempfile.TemporaryDirectory() as folder:
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = first_gpu.main(["2", "--bin", folder, "--backend", "host", "--out",
                                       folder + "/out"])
            self.assertEqual(code, 5)
            self.assertIn("LOOK AT overhead", said.getvalue())

    # A record of the session before, in the same folder, is none of this one; and what is no JSON, or
    # breaks a verdict, ends neither its part nor the next.
    def test_old_and_broken_records(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            for program, expected in (
                    (MEASURES, "overhead, complete: all sizes"),
                    ("echo no GPU >&2; exit 2", "FAILED  overhead: no GPU"),
                    (MEASURES.replace(RECORD, "{"), "FAILED  overhead: no answer can be read"),
                    (MEASURES.replace(RECORD, "[]"), "FAILED  part 2 ended by AttributeError")):
                program_file(folder, program)
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    code = first_gpu.main(["2", "1", "--bin", folder, "--backend", "host", "--out",
                                           str(out)])
                self.assertIn(expected, said.getvalue())
                self.assertIn("== Part 1", said.getvalue())
                self.assertNotEqual(code, 0)

    def test_unknown_parts_are_refused(self):
        for words in (["5"], ["--scale", "0"]):
            with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(io.StringIO()):
                first_gpu.main(words)
            self.assertEqual(end.exception.code, 2)

    def test_limits_and_the_table_of_the_document(self):
        for part, steps in first_gpu.STEPS.items():
            self.assertLess(sum(limit for limit, _ in steps.values()), 600, part)
        every = [step for steps in first_gpu.STEPS.values() for step in steps.values()]
        self.assertLess(sum(limit for limit, _ in every), 1800)
        self.assertLess(sum(expected for _, expected in every), 1500)
        document = (ROOT / "docs/calibrate.md").read_text(encoding="utf-8")
        self.assertTrue(first_gpu.table_of_steps() in document, first_gpu.table_of_steps())


class Ends(unittest.TestCase):
    """Sessions as people start them, in an empty environment, and their ends."""

    def start(self, folder, program=MEASURES):
        program_file(folder, program)
        program_file(folder, "echo '{\"held_out\": {\"median_percent\": 1, \"rows\": 9}}'", "sgdsim")
        return subprocess.Popen([ROOT / "run", "calibrate", "--first-gpu", "--bin", folder,
                                 "--backend", "host", "--small", "--out", f"{folder}/out"], env={},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def check_ended_steps(self, folder, said):
        """Every step that was told is in the archive of its part, with what it measured."""
        part = ""
        for line in said.splitlines():
            part = line.split()[2].rstrip(",") if line.startswith("== Part") else part
            found = re.match(r" {8}(\w+): exit code 0", line)
            if not found:
                continue
            with tarfile.open(f"{folder}/out/part{part}.tar.gz") as tar:
                self.assertIn(f"part{part}/{found[1]}.log", tar.getnames())
                self.assertIn(line, tar.extractfile("summary.txt").read().decode())
                if part in "23" and found[1] != "fit":
                    record = tar.extractfile(f"part{part}/{found[1]}.json").read()
                    self.assertEqual(record.decode().strip(), RECORD)

    def test_sessions_killed_at_random_moments_lose_no_step(self):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            process = self.start(folder)
            said = process.communicate()[0]
            whole_s = time.monotonic() - began
            self.assertEqual(process.returncode, 5, said)
            for part in "1234":
                self.assertIn(f"== Part {part}", said)
            self.check_ended_steps(folder, said)
        draw = random.Random(1)
        ended = 0
        for number in range(50):
            with self.subTest(number=number), tempfile.TemporaryDirectory() as folder:
                process = self.start(folder)
                time.sleep(draw.uniform(0, whole_s))
                process.kill()
                said = process.communicate()[0]
                self.check_ended_steps(folder, said)
                ended += said.count("exit code 0")
        self.assertGreater(ended, 50)

    # What runs gets SIGINT, for SIGTERM too, and writes what it has; the session says that it ended early.
    def test_signals_end_the_step_and_the_session(self):
        waits = MEASURES.replace("[ -n", "trap 'ended=1' INT; echo > \"$0.runs\"; while [ -z \"$ended\" ]; do sleep 0.05; done\n[ -n", 1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number=number), tempfile.TemporaryDirectory() as folder:
                process = self.start(folder, waits)
                while not os.path.exists(f"{folder}/sgdsim-calibrate.runs"):
                    time.sleep(0.01)
                process.send_signal(number)
                said = process.communicate()[0]
                self.assertEqual(process.returncode, 130, said)
                self.assertIn("LOOK AT first_results: interrupted", said)
                self.assertIn("LOOK AT the session: it was interrupted", said)
                with tarfile.open(f"{folder}/out/part1.tar.gz") as tar:
                    log = tar.extractfile("part1/first_results.log").read().decode()
                self.assertIn("3 of 3 results are right", log)


if __name__ == "__main__":
    unittest.main()
