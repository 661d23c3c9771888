"""calibrate/first_gpu.py: its verdicts on invented measurements, and programs that fail or hang."""
import contextlib
import io
import pathlib
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "calibrate"))
import first_gpu  # noqa: E402


def series(operation, time_us, moved_B=0, algorithm="", ranks=1, kind="float32", placement=""):
    return {"operation": operation, "algorithm": algorithm, "type": kind, "ranks": ranks,
            "placement": placement,
            "points": [{"size_B": 1, "time_us": time_us, "moved_B": moved_B}]}


def passed(verdicts):
    return [verdict for verdict, _ in verdicts]


class Verdicts(unittest.TestCase):
    # 4800 GB/s move 4.8 GB in 1000 us: 4.08 GB are 85 %.
    def test_memory(self):
        record = {"device": "NVIDIA H200", "series": [
            series("fold", 1000, 4.2e9), series("fold", 1000, 4.0e9, kind="float16"),
            series("copy", 1000, 4.09e9, algorithm="within a rank"),
            series("copy", 1000, 1e9, algorithm="through host memory")]}
        peak = first_gpu.peak_of(record["device"], 0)
        self.assertEqual(peak, 4800)
        self.assertEqual(passed(first_gpu.memory_verdicts(record, peak)), [True, False, True])
        self.assertEqual(passed(first_gpu.memory_verdicts(record, 0)), [False])
        self.assertEqual(passed(first_gpu.memory_verdicts({"series": []}, peak)), [False])

    # A copy of 2 GB moved in 1000 us: 4 GB of a ring should take 2000 us.
    def test_traffic(self):
        def record(time_us, placement="4 virtual ranks on one GPU"):
            return {"series": [series("copy", 1000, 2e9, algorithm="within a rank"),
                               series("allreduce", time_us, 4e9, "ring", 4, placement=placement)]}
        for time_us, expected in ((1700, False), (1900, True), (2200, True), (2400, False)):
            self.assertEqual(passed(first_gpu.traffic_verdicts(record(time_us))), [expected])
        self.assertEqual(passed(first_gpu.traffic_verdicts(record(2000, "4 GPUs"))), [False])
        self.assertEqual(passed(first_gpu.traffic_verdicts({"series": []})), [False])

    def test_odd_ranks(self):
        def record(time_us):
            return {"series": [series("allreduce", 1000, 1e9, "ring", 2),
                               series("allreduce", time_us, 1e9, "ring", 3),
                               series("allreduce", 1000, 1e9, "ring", 4)]}
        for time_us, expected in ((1000, True), (1090, True), (1200, False), (800, False)):
            self.assertEqual(passed(first_gpu.odd_verdicts(record(time_us))), [expected])

    def test_overhead_fit_layers(self):
        record = {"series": [series("overhead", 1.8, algorithm="launch"),
                             series("overhead", 9, ranks=4), series("overhead", 90, ranks=8)]}
        self.assertEqual(passed(first_gpu.overhead_verdicts(record)), [True, True, False])
        for median, expected in ((4, True), (6, False)):
            answer = {"held_out": {"median_percent": median}}
            self.assertEqual(passed(first_gpu.fit_verdicts(answer)), [expected])
        self.assertEqual(passed(first_gpu.fit_verdicts({})), [False])
        trace = {"layers": [{"forward": "20 ms", "backward": "40000 us"}], "update": "0.04 s"}
        self.assertEqual(passed(first_gpu.layer_verdicts(trace, 101)), [True])
        self.assertEqual(passed(first_gpu.layer_verdicts(trace, 110)), [False])


class Sessions(unittest.TestCase):
    """With programs in place of sgdsim-calibrate."""

    def session(self, program, parts=("1",)):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            file = folder / "sgdsim-calibrate"
            file.write_text("#!/bin/sh\n" + program + "\n", encoding="utf-8")
            file.chmod(0o755)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = first_gpu.main([*parts, "--bin", str(folder), "--backend", "host",
                                       "--out", str(folder / "out")])
            with tarfile.open(folder / "out.tar.gz") as tar:
                self.assertIn("out/summary.txt", tar.getnames())
            return code, said.getvalue()

    def test_right_and_wrong_results(self):
        code, said = self.session("echo 3 of 3 results are right")
        self.assertEqual(code, 0)
        self.assertIn("PASS    everything", said)
        code, said = self.session("echo element 3 of rank 1 is wrong; exit 1")
        self.assertEqual(code, 1)
        self.assertIn("FAILED  first_results: element 3 of rank 1 is wrong", said)

    def test_what_is_cut_short_is_no_pass(self):
        code, said = self.session("echo 3 of 9 results are right; exit 130")
        self.assertEqual(code, 5)
        self.assertIn("LOOK AT first_results: 3 of 9", said)

    # It takes no notice of SIGINT: it is killed, and the session goes on to its end.
    def test_what_hangs_is_ended(self):
        limits = first_gpu.PART_LIMIT_S, first_gpu.GRACE_S
        first_gpu.PART_LIMIT_S, first_gpu.GRACE_S = 6, 0.2
        try:
            code, said = self.session("trap '' INT; exec sleep 100")
        finally:
            first_gpu.PART_LIMIT_S, first_gpu.GRACE_S = limits
        self.assertEqual(code, 1)
        self.assertIn("first_results: exit code -9", said)
        self.assertIn("left out, the part's ten minutes are over", said)

    def test_a_missing_program_is_no_pass(self):
        with tempfile.TemporaryDirectory() as folder:
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = first_gpu.main(["2", "--bin", folder, "--backend", "host", "--out",
                                       folder + "/out"])
            self.assertEqual(code, 5)
            self.assertIn("LOOK AT overhead", said.getvalue())

    def test_unknown_parts_are_refused(self):
        with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(io.StringIO()):
            first_gpu.main(["5"])
        self.assertEqual(end.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
