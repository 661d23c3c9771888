"""The frames of answers, notebooks/sgdsim_results.py, on small answers with known content.

    python3 tests/notebooks_results_test.py LIBRARY
"""

import importlib.util
import json
import math
import pathlib
import sys
import tempfile
import unittest

import built_module

if importlib.util.find_spec("pandas") is None:
    print("skipped: this Python has no pandas")
    sys.exit(77)
root = pathlib.Path(__file__).resolve().parent.parent
module = built_module.importable(root, pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(root / "notebooks"))
import index  # noqa: E402
import pandas  # noqa: E402
import sgdsim  # noqa: E402
import sgdsim_results as results  # noqa: E402


def answer(found):
    """As the module has it."""
    return sgdsim._decode(json.dumps(found))


class Quantities(unittest.TestCase):
    # Every unit of docs/formats.md; what it counts is arithmetic.
    rows = [
        ("1 ps", 1e-6, "us"), ("1 ns", 1e-3, "us"), ("1 us", 1, "us"), ("1 ms", 1e3, "us"), ("1 s", 1e6, "us"),
        ("1 µs", 1, "us"), ("2 µs/B", 2e3, "ns_per_B"), ("2 min", 1.2e8, "us"), ("1 h", 3.6e9, "us"), ("1.5e3 ns", 1.5, "us"),
        ("1 B", 1, "B"), ("1 KB", 1e3, "B"), ("25 MB", 25e6, "B"), ("1 GB", 1e9, "B"), ("1 TB", 1e12, "B"),
        ("1 KiB", 1024, "B"), ("1MiB", 1048576, "B"), ("1 GiB", 2**30, "B"), ("1 TiB", 2**40, "B"),
        ("1 bps", 1e-9, "Gbps"), ("8 kbps", 8e-6, "Gbps"), ("100 Mbps", 0.1, "Gbps"), ("10 Gbps", 10, "Gbps"),
        ("1 Tbps", 1e3, "Gbps"), ("10 Gb/s", 10, "Gbps"), ("10 Gbit/s", 10, "Gbps"), ("10 GBps", 80, "Gbps"),
        ("1 GB/s", 8, "Gbps"), ("1 KBps", 8e-6, "Gbps"), ("1 MiBps", 8 * 2**20 / 1e9, "Gbps"),
        ("1 ps/B", 1e-3, "ns_per_B"), ("0.5 ns/B", 0.5, "ns_per_B"), ("1 us/B", 1e3, "ns_per_B"),
        ("1 s/B", 1e9, "ns_per_B"),
    ]
    others = ["", "10", "Gbps", "10 gbps", "10 kB", "p3", "10 Gbps or so", "3 nodes", "../data/x.json", "1 µB"]

    def test_units(self):
        for text, value, unit in self.rows:
            number, found = results.quantity(text)
            self.assertEqual(found, unit, text)
            self.assertTrue(math.isclose(number, value, rel_tol=1e-12), text)

    def test_what_is_none(self):
        for text in self.others:
            self.assertIsNone(results.quantity(text), text)

    def test_units_are_those_of_the_page(self):
        page = (results.root / "docs/formats.md").read_text()
        table = page[page.index("## Units"):page.index("`10 Gbps` is an eighth")]
        lists = [part for row in table.splitlines() if row.startswith("| ") for part in row.split("`")[1::2]]
        units = [unit for part in lists for unit in part.split()]
        self.assertGreater(len(units), 30)
        for unit in units:
            self.assertIsNotNone(results.quantity(f"1 {unit}"), unit)


class Names(unittest.TestCase):
    def test_the_shortest_that_tells_apart(self):
        names = results.short_names(("cluster.nodes", "cluster.nic.bandwidth", "cluster.nvlink.bandwidth", "seed"))
        self.assertEqual(list(names.values()), ["nodes", "nic_bandwidth", "nvlink_bandwidth", "seed"])


class Points(unittest.TestCase):
    class Table:
        """What the module gives pandas."""

        def __init__(self, columns):
            self.columns = columns

        def to_pandas(self):
            return pandas.DataFrame(self.columns)

    def test_columns(self):
        found = {"axes.cluster.nodes": [4], "axes.cluster.nic.bandwidth": ["1.25 GBps"],
                 "axes.strategy": ['{"name":"ddp","bucket":"1 MiB"}'], "axes.workers.slow": ["[1]"], "strategy": ["ddp"],
                 "metrics.iteration_us.mean": [10.5], "metrics.iteration_us.p50": [10], "metrics.iteration_us.p99": [13],
                 "metrics.iteration_us.max": [14], "metrics.speedup": [2.0]}
        row = results.points(self.Table(found)).iloc[0]
        for column, value in {"nodes": 4, "bandwidth_Gbps": 10, "strategy": "ddp", "strategy_bucket_B": 2**20,
                              "slow": "[1]", "iteration_us": 10.5, "iteration_p50_us": 10, "iteration_p99_us": 13,
                              "iteration_max_us": 14, "speedup": 2}.items():
            self.assertEqual(row[column], value, column)

    def test_missing_columns_are_missing_values(self):
        frame = results.points(self.Table({"axes.cluster.nodes": [2]}))
        for column in ["iteration_us", "speedup", "comm_exposed_us", "wire_B", "error"]:
            self.assertTrue(frame[column].isna().all(), column)

    def test_of_the_module(self):
        table = sgdsim.sweep("app/experiments/googlenet_k80.json", {
            "cluster.nodes": [2, 4], "cluster.nic.bandwidth": ["1 Gbps", "10 Gbps"], "strategy": ["wfbp", "nothing"]}, base=root)
        frame = results.points(table)
        self.assertEqual(frame.nodes.tolist(), [2] * 4 + [4] * 4)
        self.assertEqual(frame.bandwidth_Gbps.tolist(), [1, 1, 10, 10] * 2)
        self.assertEqual(frame.strategy.tolist(), ["wfbp", "nothing"] * 4)
        self.assertEqual(frame.iteration_us.notna().tolist(), [True, False] * 4)
        self.assertEqual(frame.error.notna().tolist(), [False, True] * 4)
        self.assertEqual(frame.iteration_us[0], table["metrics.iteration_us"][0])

    def test_best(self):
        frame = results.best(answer({"groups": [
            {"axes": {"cluster.nodes": 2}, "best": {"strategy": "p3"}, "value": 100.0, "next": 125.0,
             "tied": [{"strategy": "wfbp"}], "ties": 1},
            {"axes": {"cluster.nodes": 4}, "best": {"strategy": "p3"}, "value": 100.0}]}))
        self.assertEqual(frame.behind_percent[0], 25)
        self.assertTrue(math.isnan(frame.behind_percent[1]))
        self.assertEqual(frame.ties.tolist(), [1, 0])
        self.assertEqual(frame.nodes.tolist(), [2, 4])


class Others(unittest.TestCase):
    def test_runs_and_workers(self):
        run = answer({"strategy": "wfbp", "metrics": {"iteration_us": {"mean": 7.0, "n": 1}, "comm_exposed_us": 1.0},
                      "per_worker": [{"idle_us": 1.0}]})
        self.assertEqual(results.runs({"a": run, "b": run}).loc["b"].iteration_us, 7)
        self.assertEqual(results.workers(run).idle_us.tolist(), [1.0])
        self.assertEqual(len(results.workers(answer({}))), 0)

    def test_timeline(self):
        frame = results.timeline(answer({"traceEvents": [
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": 2, "args": {"name": "channel 0"}},
            {"ph": "X", "pid": 0, "tid": 2, "ts": 5.0, "dur": 2.5, "cat": "comm", "name": "message 0",
             "args": {"layers": [1, 3], "size_B": 8}},
            {"ph": "s", "id": 1, "pid": 0, "tid": 2, "ts": 5.0}]}))
        self.assertEqual(frame[["lane", "start_us", "end_us", "first_layer", "last_layer"]].values.tolist(),
                         [["channel 0", 5.0, 7.5, 1, 3]])

    def test_validation(self):
        row = {"label": "x", "use": "held", "measured_us": 100.0, "predicted_us": 90.0, "quartiles_us": [99.0, 102.0]}
        found = answer({"suites": [
            {"name": "s", "held": {"rows": 1, "median_percent": 10.0}, "cases": [{"name": "c", "rows": [row]}]}]})
        first = results.validation(found).iloc[0]
        self.assertEqual((first.suite, first.case, first.predicted_us), ("s", "c", 90))
        self.assertEqual(results.validation_errors(found).median_percent[0], 10)

    def test_collectives(self):
        one = {"algorithm": "ring", "ranks": 4, "size_B": 8, "time_us": 1.5}
        self.assertEqual(results.collectives(answer({"points": [one, {"why_not": "no torus"}]})).why_not[1], "no torus")
        self.assertEqual(results.collectives(answer(one)).time_us[0], 1.5)

    def test_fits(self):
        fit = {"fits": [{"kind": "curve", "pieces": [{"from_B": 0, "alpha_us": 2.0}]}]}
        self.assertEqual(results.fitted(answer(fit))[["fit", "from_B", "alpha_us"]].values.tolist(), [[0, 0, 2]])
        measurement = results.measurement_of("models/collective/data/tcp_star_100mbps_4.json", "oneway")
        fit = sgdsim.fit(measurement, segments=1, least_size="16 KiB")
        self.assertEqual(len(results.fitted(fit)), 1)

    def test_jobs_and_links(self):
        link = {"kind": "nic", "from": "a", "to": "b", "over_time": [0.5, 1]}
        found = answer({"interval_us": 2.0, "busiest": [link],
                        "jobs": [{"name": "x", "iteration_us": 3.0, "alone_us": 2.0, "slowdown": 1.5}]})
        self.assertEqual(results.jobs(found)[["name", "slowdown"]].values.tolist(), [["x", 1.5]])
        self.assertEqual(results.use_over_time(found)[["link", "start_us", "used_percent"]].values.tolist(),
                         [["a to b", 0, 50], ["a to b", 2, 100]])
        for frame in (results.use_over_time, results.queues_over_time, results.flows, results.delivery):
            self.assertEqual(len(frame(answer({}))), 0)
        queue = {"kind": "nic", "from": "a", "to": "b", "most_B": 4000, "mean_B": 1000, "over_time_B": [500, 1500]}
        found = answer({"interval_us": 2.0, "queues": [queue]})
        self.assertEqual(results.queues_over_time(found)[["queue", "start_us", "waiting_KB"]].values.tolist(),
                         [["a to b", 0, 0.5], ["a to b", 2, 1.5]])

    def test_flows_and_layers(self):
        flow = {"from": "a", "to": "b", "size_B": 8, "start_ps": 1_000_000, "end_ps": 3_000_000}
        frame = results.flows(answer({"flows": [flow, flow | {"end_ps": None}]}))
        self.assertEqual(frame[["took_us", "ended_percent"]].values.tolist(), [[2, 50]])
        layer = {"layer": 3, "cargo": "gradients", "size_B": 8, "part_of_important": 1, "part_of_others": None}
        frame = results.delivery(answer({"delivery": [layer]}))
        self.assertEqual(frame[["layer", "packets", "delivered_percent"]].values.tolist(), [[3, "important", 100]])

    def test_cases_of_a_folder(self):
        names = [pathlib.Path(file).name for file in results.cases_in("models/strategy/data")]
        self.assertIn("pytorch_ddp_dgx1.json", names)
        self.assertNotIn("ddp_gloo_uniform.json", names)  # a trace


class Index(unittest.TestCase):
    def test_shows_every_notebook_and_figure(self):
        with tempfile.TemporaryDirectory() as folder:
            index.write(folder)
            page = (pathlib.Path(folder) / "index.html").read_text()
        notebooks = sorted((root / "notebooks").glob("*.ipynb"))
        self.assertEqual(len(notebooks), 8)  # seven questions, and papers
        kept = (root / "docs/figures/README.md").read_text()
        for path in notebooks:
            self.assertIn(f'href="{path.stem}.html"', page)
            self.assertIn(f"../../notebooks/{path.name}", kept)
            saved = [line.split('"')[1] for cell in json.loads(path.read_text())["cells"]
                     for line in cell["source"] if line.startswith("figures.save(")]
            self.assertTrue(saved, path.name)
            for name in saved:
                if name.startswith("readme_"):
                    self.assertTrue((root / f"docs/figures/{name}.svg").exists(), name)
                    self.assertIn(f"`{name}.svg`", kept)
                else:
                    self.assertIn(f'src="{name}.svg"', page)
                    self.assertTrue(name.startswith(path.stem), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore")
