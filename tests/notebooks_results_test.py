"""The reader of answers, notebooks/sgdsim_results.py, on small files with known content."""

import contextlib
import importlib.util
import io
import json
import math
import pathlib
import sys
import tempfile
import unittest

if importlib.util.find_spec("pandas") is None:
    print("skipped: this Python has no pandas")
    sys.exit(77)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "notebooks"))
sys.dont_write_bytecode = True
import index  # noqa: E402
import sgdsim_results as sgdsim  # noqa: E402


def point(axes, metrics=None, **more):
    line = {"schema": "sgdsim/point/1", "sweep": "0" * 16, "point": 0, "of": 1, "id": "sha256:", "axes": axes}
    return json.dumps(line | ({"metrics": metrics} if metrics else {}) | more) + "\n"


class WithFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text, name="answer.json"):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path


class Quantities(unittest.TestCase):
    # Every unit of docs/formats.md; what it counts is arithmetic.
    rows = [
        ("1 ps", 1e-6, "us"), ("1 ns", 1e-3, "us"), ("1 us", 1, "us"), ("1 ms", 1e3, "us"), ("1 s", 1e6, "us"),
        ("2 min", 1.2e8, "us"), ("1 h", 3.6e9, "us"), ("1.5e3 ns", 1.5, "us"),
        ("1 B", 1, "B"), ("1 KB", 1e3, "B"), ("25 MB", 25e6, "B"), ("1 GB", 1e9, "B"), ("1 TB", 1e12, "B"),
        ("1 KiB", 1024, "B"), ("1MiB", 1048576, "B"), ("1 GiB", 2**30, "B"), ("1 TiB", 2**40, "B"),
        ("1 bps", 1e-9, "Gbps"), ("8 kbps", 8e-6, "Gbps"), ("100 Mbps", 0.1, "Gbps"), ("10 Gbps", 10, "Gbps"),
        ("1 Tbps", 1e3, "Gbps"), ("10 Gb/s", 10, "Gbps"), ("10 Gbit/s", 10, "Gbps"), ("10 GBps", 80, "Gbps"),
        ("1 GB/s", 8, "Gbps"), ("1 KBps", 8e-6, "Gbps"), ("1 MiBps", 8 * 2**20 / 1e9, "Gbps"),
        ("1 ps/B", 1e-3, "ns_per_B"), ("0.5 ns/B", 0.5, "ns_per_B"), ("1 us/B", 1e3, "ns_per_B"),
        ("1 s/B", 1e9, "ns_per_B"),
    ]
    others = ["", "10", "Gbps", "10 gbps", "10 kB", "p3", "10 Gbps or so", "3 nodes", "../data/x.json"]

    def test_units(self):
        for text, value, unit in self.rows:
            number, found = sgdsim.quantity(text)
            self.assertEqual(found, unit, text)
            self.assertTrue(math.isclose(number, value, rel_tol=1e-12), text)

    def test_what_is_none(self):
        for text in self.others:
            self.assertIsNone(sgdsim.quantity(text), text)

    def test_units_are_those_of_the_page(self):
        page = (sgdsim.root / "docs/formats.md").read_text()
        table = page[page.index("## Units"):page.index("`10 Gbps` is an eighth")]
        lists = [part for row in table.splitlines() if row.startswith("| ") for part in row.split("`")[1::2]]
        units = [unit for part in lists for unit in part.split()]
        self.assertGreater(len(units), 30)
        for unit in units:
            self.assertIsNotNone(sgdsim.quantity(f"1 {unit}"), unit)


class Names(unittest.TestCase):
    def test_the_shortest_that_tells_apart(self):
        names = sgdsim.short_names(("cluster.nodes", "cluster.nic.bandwidth", "cluster.nvlink.bandwidth", "seed"))
        self.assertEqual(list(names.values()), ["nodes", "nic_bandwidth", "nvlink_bandwidth", "seed"])


class Points(WithFiles):
    metrics = {"iteration_us": {"mean": 10.5, "p50": 10, "p95": 12, "p99": 13, "max": 14, "n": 3}, "speedup": 2.0}

    def test_columns(self):
        axes = {"cluster.nodes": 4, "cluster.nic.bandwidth": "1.25 GBps", "strategy": {"name": "ddp", "bucket": "1 MiB"},
                "workers.slow": [1]}
        row = sgdsim.points(self.file(point(axes, self.metrics, strategy="ddp"))).iloc[0]
        for column, value in {"nodes": 4, "bandwidth_Gbps": 10, "strategy": "ddp", "strategy_bucket_B": 2**20,
                              "slow": "[1]", "iteration_us": 10.5, "iteration_p50_us": 10, "iteration_p99_us": 13,
                              "iteration_max_us": 14, "iterations": 3, "speedup": 2}.items():
            self.assertEqual(row[column], value, column)

    def test_missing_keys_are_missing_values(self):
        frame = sgdsim.points(self.file(point({"cluster.nodes": 2})))
        for column in ["iteration_us", "speedup", "comm_exposed_us", "wire_B", "error"]:
            self.assertTrue(frame[column].isna().all(), column)

    def test_failed_points_say_why(self):
        frame = sgdsim.points(self.file(point({"seed": 1}, error="stuck") + point({"seed": 2}, self.metrics)))
        self.assertEqual(list(frame.error.fillna("")), ["stuck", ""])
        self.assertEqual(frame.iteration_us.notna().tolist(), [False, True])

    def test_a_torn_last_line_is_left_out(self):
        whole = point({"seed": 1}, self.metrics)
        self.assertEqual(len(sgdsim.points(self.file(whole + whole[:40]))), 1)

    def test_no_line_at_all(self):
        self.assertEqual(len(sgdsim.points(self.file(""))), 0)


class Unreadable(WithFiles):
    # What is wrong, the reader, the text, and what the sentence names.
    rows = [
        ("no JSON", sgdsim.plans, "{", "expected JSON"),
        ("another kind", sgdsim.plans, '{"schema": "sgdsim/result/1"}', "expected sgdsim/plan/1, found sgdsim/result/1"),
        ("no schema", sgdsim.validation, "[]", "expected sgdsim/validation/1, found none"),
        ("a line of another kind", sgdsim.points, point({}) + '{"schema": "x"}\n', ":2: expected sgdsim/point/1, found x"),
        ("a line that is none", sgdsim.points, "what\n", ":1: expected the line of a point"),
        ("no timeline", sgdsim.timeline, "{}", "expected a Chrome trace"),
    ]

    def test_sentences(self):
        for reason, reader, text, sentence in self.rows:
            with self.subTest(reason), self.assertRaises(sgdsim.Unreadable) as caught:
                reader(self.file(text))
            self.assertIn(sentence, str(caught.exception), reason)

    def test_no_file(self):
        with self.assertRaises(sgdsim.Unreadable) as caught:
            sgdsim.points("nowhere.jsonl")
        self.assertIn("nowhere.jsonl: cannot be read", str(caught.exception))


class Others(WithFiles):
    group = {"layers": [2, 5], "size_B": 100, "ready_us": 1.0, "start_us": 2.0, "end_us": 3.5}

    def test_plans_and_their_messages(self):
        path = self.file({"schema": "sgdsim/plan/1", "plans": [
            {"strategy": "wfbp", "iteration_us": 5.0, "groups": [self.group, self.group]},
            {"strategy": "p3", "why_not": "a reason"}]})
        frame = sgdsim.plans(path)
        self.assertEqual(frame.messages.tolist(), [2, 0])
        self.assertEqual(frame.why_not[1], "a reason")
        rows = sgdsim.messages(path)
        self.assertEqual(rows[["strategy", "first_layer", "last_layer", "size_B", "end_us"]].values.tolist(),
                         [["wfbp", 2, 5, 100, 3.5]] * 2)

    def test_results(self):
        path = self.file({"schema": "sgdsim/result/1", "strategy": "wfbp", "messages": [self.group],
                          "metrics": {"iteration_us": {"mean": 7.0, "n": 1}}, "per_worker": [{"idle_us": 1.0}]})
        self.assertEqual(sgdsim.run_results(path).iteration_us[0], 7)
        self.assertEqual(sgdsim.messages(path).last_layer[0], 5)
        self.assertEqual(sgdsim.workers(path).idle_us.tolist(), [1.0])

    def test_best(self):
        path = self.file({"schema": "sgdsim/best/1", "groups": [
            {"axes": {"cluster.nodes": 2}, "best": {"strategy": "p3"}, "value": 100.0, "next": 125.0,
             "tied": [{"strategy": "wfbp"}], "ties": 1},
            {"axes": {"cluster.nodes": 4}, "best": {"strategy": "p3"}, "value": 100.0}]})
        frame = sgdsim.best(path)
        self.assertEqual(frame.behind_percent[0], 25)
        self.assertTrue(math.isnan(frame.behind_percent[1]))
        self.assertEqual(frame.ties.tolist(), [1, 0])

    def test_timeline(self):
        path = self.file({"traceEvents": [
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": 2, "args": {"name": "channel 0"}},
            {"ph": "X", "pid": 0, "tid": 2, "ts": 5.0, "dur": 2.5, "cat": "comm", "name": "message 0",
             "args": {"layers": [1, 3], "size_B": 8}},
            {"ph": "s", "id": 1, "pid": 0, "tid": 2, "ts": 5.0}]})
        frame = sgdsim.timeline(path)
        self.assertEqual(frame[["lane", "start_us", "end_us", "first_layer", "last_layer"]].values.tolist(),
                         [["channel 0", 5.0, 7.5, 1, 3]])

    def test_validation(self):
        row = {"label": "x", "use": "held", "measured_us": 100.0, "predicted_us": 90.0, "quartiles_us": [99.0, 102.0],
               "set": ["a=1", "b=2"]}
        path = self.file({"schema": "sgdsim/validation/1", "suites": [
            {"name": "s", "held": {"rows": 1, "median_percent": 10.0}, "cases": [{"name": "c", "rows": [row]}]}]})
        found = sgdsim.validation(path).iloc[0]
        self.assertEqual((found.suite, found.case, found.quartile_3_us, found.set), ("s", "c", 102, "a=1 b=2"))
        self.assertEqual(sgdsim.validation_errors(path).median_percent[0], 10)

    def test_collectives(self):
        point_of = {"schema": "sgdsim/collective/1", "algorithm": "ring", "ranks": 4, "size_B": 8, "time_us": 1.5}
        several = self.file({"schema": "sgdsim/collective-sweep/1", "points": [point_of, {"why_not": "no torus"}]})
        self.assertEqual(sgdsim.collectives(several).why_not[1], "no torus")
        self.assertEqual(sgdsim.collectives(self.file(point_of)).time_us[0], 1.5)

    def test_measurements_and_fits(self):
        path = self.file({"schema": "sgdsim/measurement/1", "series": [
            {"operation": "copy", "ranks": 2, "points": [{"size_B": 4, "time_us": 1.5}]}]})
        self.assertEqual(sgdsim.measured(path)[["series", "size_B", "time_us"]].values.tolist(), [[0, 4, 1.5]])
        path = self.file({"schema": "sgdsim/fit/1", "fits": [{"kind": "curve", "pieces": [{"from_B": 0, "alpha_us": 2.0}]}]})
        self.assertEqual(sgdsim.fitted(path)[["fit", "from_B", "alpha_us"]].values.tolist(), [[0, 0, 2]])

    def test_jobs_and_links(self):
        link = {"kind": "nic", "from": "a", "to": "b", "over_time": [0.5, 1]}
        path = self.file({"schema": "sgdsim/jobs-result/1", "interval_us": 2.0, "busiest": [link],
                          "jobs": [{"name": "x", "iteration_us": 3.0, "alone_us": 2.0, "slowdown": 1.5}]})
        self.assertEqual(sgdsim.jobs(path)[["name", "slowdown"]].values.tolist(), [["x", 1.5]])
        self.assertEqual(sgdsim.use_over_time(path)[["link", "start_us", "used_percent"]].values.tolist(),
                         [["a to b", 0, 50], ["a to b", 2, 100]])
        path = self.file({"schema": "sgdsim/completion/1"})
        self.assertEqual(len(sgdsim.use_over_time(path)), 0)
        self.assertEqual(len(sgdsim.queues_over_time(path)), 0)
        queue = {"kind": "nic", "from": "a", "to": "b", "most_B": 4000, "mean_B": 1000, "over_time_B": [500, 1500]}
        path = self.file({"schema": "sgdsim/completion/1", "interval_us": 2.0, "queues": [queue]})
        self.assertEqual(sgdsim.queues_over_time(path)[["queue", "start_us", "waiting_KB"]].values.tolist(),
                         [["a to b", 0, 0.5], ["a to b", 2, 1.5]])

    def test_cases_of_a_folder(self):
        words = sgdsim.cases_in("models/strategy/data").split()
        self.assertIn("models/strategy/data/pytorch_ddp_dgx1.json", words)
        self.assertNotIn("models/strategy/data/ddp_gloo_uniform.json", words)  # a trace


class Answers(WithFiles):
    # Reason, command, what the program does, whether that is an answer.
    rows = [
        ("all is well", "sgdsim sweep x.json", "echo line", True),
        ("some points failed", "sgdsim sweep x.json", "echo line; exit 1", True),
        ("beyond tolerance", "sgdsim validate x.json", "echo line; exit 5", True),
        ("a sweep without a line", "sgdsim sweep x.json", "echo why >&2; exit 1", False),
        ("our failure", "sgdsim run x.json", "echo line; echo why >&2; exit 1", False),
        ("bad input", "sgdsim sweep x.json", "echo why >&2; exit 2", False),
    ]

    def setUp(self):
        super().setUp()
        was = sgdsim.program, sgdsim.results
        self.addCleanup(lambda: (setattr(sgdsim, "program", was[0]), setattr(sgdsim, "results", was[1])))
        sgdsim.results = pathlib.Path(self.folder.name) / "new/results"

    def test_exit_codes(self):
        for reason, command, script, is_answer in self.rows:
            with self.subTest(reason), contextlib.redirect_stdout(io.StringIO()):
                sgdsim.program = self.file(f"#!/bin/sh\n{script}\n", "program")
                sgdsim.program.chmod(0o755)
                if is_answer:
                    sgdsim.answer("answer.txt", command)
                    self.assertEqual((sgdsim.results / "answer.txt").read_text(), "line\n")
                    continue
                with self.assertRaises(RuntimeError) as caught:
                    sgdsim.answer("answer.txt", command)
                self.assertIn("why", str(caught.exception))

    def test_the_folder_of_results_in_a_command(self):
        sgdsim.program = self.file("#!/bin/sh\necho \"$2\"\n", "program")
        sgdsim.program.chmod(0o755)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            sgdsim.answer("answer.txt", "sgdsim run {results}/x.json")
        self.assertEqual((sgdsim.results / "answer.txt").read_text(), f"{sgdsim.results}/x.json\n")
        self.assertIn("build/release/bin/sgdsim run", said.getvalue())


class Index(unittest.TestCase):
    def test_shows_every_notebook_and_figure(self):
        with tempfile.TemporaryDirectory() as folder:
            index.write(folder)
            page = (pathlib.Path(folder) / "index.html").read_text()
        notebooks = sorted((sgdsim.root / "notebooks").glob("*.ipynb"))
        self.assertGreater(len(notebooks), 5)
        kept = (sgdsim.root / "docs/figures/README.md").read_text()
        for path in notebooks:
            self.assertIn(f'href="{path.stem}.html"', page)
            self.assertIn(f"../../notebooks/{path.name}", kept)
            saved = [line.split('"')[1] for cell in json.loads(path.read_text())["cells"]
                     for line in cell["source"] if line.startswith("figures.save(")]
            self.assertTrue(saved, path.name)
            for name in saved:
                if name.startswith("readme_"):
                    self.assertTrue((sgdsim.root / f"docs/figures/{name}.svg").exists(), name)
                    self.assertIn(f"`{name}.svg`", kept)
                else:
                    self.assertIn(f'src="{name}.svg"', page)
                    self.assertTrue(name.startswith(path.stem), name)


if __name__ == "__main__":
    unittest.main()
