"""The Python module against the command line.   python_test.py SOURCE PROGRAM LIBRARY"""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import unittest
import warnings

source, program, library = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
os.chdir(source)
import arrow_reader  # noqa: E402
import built_module  # noqa: E402

folder = built_module.importable(source, library)
import sgdsim  # noqa: E402
import sgdsim.native  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

warnings.simplefilter("ignore", sgdsim.Warning)
K80 = "app/experiments/googlenet_k80.json"


def line(*words):
    return json.loads(subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout)


class Module(unittest.TestCase):
    def test_answers_are_those_of_the_command_line(self):
        self.assertEqual(sgdsim.run(K80, set={"cluster.nodes": 4}),
                         line("run", K80, "--set", "cluster.nodes=4", "--format", "json"))
        ring = sgdsim.collective("ring", ranks=16, bytes="64 MiB", cluster="10gbe_16")
        self.assertEqual(ring, line("collective", "-a", "ring", "-p", "16", "-n", "64 MiB", "-c", "10gbe_16",
                                    "--format", "json"))
        self.assertEqual(ring.time_us, ring["time_us"])
        self.assertEqual(sgdsim.plan(K80).plans[0].strategy, line("plan", K80, "--format", "json")["plans"][0]["strategy"])
        self.assertEqual(sgdsim.model_show("llama3.1_8b", layout="tp2 pp2 dp2"),
                         line("model", "show", "llama3.1_8b", "--layout", "tp2 pp2 dp2", "--format", "json"))
        self.assertEqual(sgdsim.model_laws(parameters="10B", tokens="200B"),
                         line("model", "laws", "--parameters", "10B", "--tokens", "200B", "--format", "json"))
        self.assertEqual(sgdsim.goodput(step="8 s", steps=100, nodes=4, failures="rsc1_a100", runs=10,
                                        set={"save.stall": "10 s"}),
                         line("goodput", "--step", "8 s", "--steps", "100", "--nodes", "4", "--failures", "rsc1_a100",
                              "--runs", "10", "--set", "save.stall=10 s", "--format", "json"))

    def test_members_are_set_and_deleted(self):
        experiment = sgdsim.run(K80).inputs
        experiment.cluster.nodes = 4
        self.assertEqual(experiment["cluster"]["nodes"], 4)
        self.assertEqual(sgdsim.run(experiment).workers, sgdsim.run(K80, set={"cluster.nodes": 4}).workers)
        experiment.description = "four"  # a new one
        self.assertEqual(experiment["description"], "four")
        del experiment.description
        self.assertNotIn("description", experiment)
        ring = sgdsim.collective("ring", bytes="1 MiB", cluster="10gbe_16")
        ring.time_us = 3
        self.assertEqual(ring.time, 3e-6)
        for change in (lambda: setattr(ring, "time", 3), lambda: delattr(ring, "time")):
            with self.assertRaisesRegex(AttributeError, "change time_us"):
                change()
        with self.assertRaisesRegex(AttributeError, "no member nothing"):
            del ring.nothing

    def test_recorded_steps(self):
        slow, usual = "tests/data/slow_host.json.gz", "tests/data/usual_host.json.gz"
        self.assertEqual(sgdsim.diagnose(slow, layers=32),
                         line("diagnose", slow, "--layers", "32", "--format", "json"))
        self.assertEqual(sgdsim.compare(slow, usual), line("compare", slow, usual, "--format", "json"))
        profile = "tests/data/kineto.json"
        trace = sgdsim.import_profile(profile, model="ResNet-50", batch=32)
        self.assertEqual(trace, line("import", "kineto", profile, "--model", "ResNet-50", "--batch", "32"))
        self.assertEqual(sgdsim.import_profile([pathlib.Path(profile)], model="ResNet-50", batch=32), trace)
        self.assertEqual(sgdsim.import_profile("kineto.json", base="tests/data").layers, trace.layers)
        self.assertGreater(sgdsim.run(trace, cluster="10gbe_16").metrics.iteration_us.mean, 0)
        case = sgdsim.import_profile(profile, as_case=True)
        self.assertEqual(sgdsim.validate(case).suites[0].cases[0].name, case.name)

    def test_files_may_be_objects(self):
        experiment = json.loads(pathlib.Path(K80).read_text())
        for part, place in (("trace", "app/experiments"), ("cluster", "app/experiments")):
            if isinstance(experiment[part], str):
                experiment[part] = json.loads((pathlib.Path(place) / experiment[part]).read_text())
        self.assertEqual(sgdsim.run(experiment).metrics, sgdsim.run(pathlib.Path(K80)).metrics)
        cluster = json.loads(pathlib.Path("topologies/data/10gbe_16.json").read_text())
        self.assertEqual(sgdsim.collective("ring", bytes="1 MiB", cluster=cluster).time_ps,
                         sgdsim.collective("ring", bytes="1 MiB", cluster="10gbe_16").time_ps)

    def test_files_of_every_question_may_be_objects(self):
        def content(file):
            return json.loads(pathlib.Path(file).read_text())

        experiment = content(K80) | {"trace": "googlenet_k80", "cluster": "mgwfbp_paper_10gbe"}
        case = "models/collective/data/tcp_star_100mbps_2.json"
        training = "app/goodput_questions/llama3_405b.json"

        def training_of(file):
            known = ("schema", "step", "nodes", "gpus_per_node")
            return {name: value for name, value in content(file).items() if name not in known}

        flows, model = "app/flows/closed_spine.json", "models/training/data/models/llama3.1_8b.json"
        two = content("app/job_files/two_jobs.json")
        for job in two["jobs"]:
            job["experiment"] = experiment
        rows = [
            lambda: (sgdsim.plan(K80).plans[0].iteration_ps, sgdsim.plan(experiment).plans[0].iteration_ps),
            lambda: (sgdsim.tune(K80, axis="strategy=wfbp,naive").best, sgdsim.tune(experiment, axis="strategy=wfbp,naive").best),
            lambda: (sgdsim.need(K80, axis="cluster.nodes=2..64", target="efficiency=0.9").needed,
                     sgdsim.need(experiment, axis="cluster.nodes=2..64", target="efficiency=0.9").needed),
            lambda: (sgdsim.sweep(K80, {"cluster.nodes": [2, 4]}).points, sgdsim.sweep(experiment, {"cluster.nodes": [2, 4]}).points),
            lambda: (sgdsim.traffic(flows, cluster="leaf_spine_144").flows, sgdsim.traffic(content(flows), cluster="leaf_spine_144").flows),
            lambda: (sgdsim.jobs("app/job_files/two_jobs.json").jobs, sgdsim.jobs(two).jobs),
            lambda: (sgdsim.layout(model, cluster="dgx_h100_4", gpus=8).layouts,
                     sgdsim.layout(content(model), cluster="dgx_h100_4", gpus=8).layouts),
            lambda: (sgdsim.validate(case).suites[0].held, sgdsim.validate(content(case)).suites[0].held),
            lambda: (sgdsim.goodput(training).wall, sgdsim.goodput(content(training)).wall),
            lambda: (sgdsim.advise(K80, goodput=training_of(training)).now.end.days, sgdsim.advise(K80, goodput=json.dumps(training_of(training))).now.end.days),
        ]
        for number, row in enumerate(rows):
            of_file, of_object = row()
            self.assertEqual(of_file, of_object, number)

    def test_values_may_be_lists(self):
        lists = sgdsim.collective("ring", ranks=[2, 4], bytes=["1 MiB", "2 MiB"], cluster="10gbe_16", sweep=True)
        texts = sgdsim.collective("ring", ranks="2,4", bytes="1 MiB,2 MiB", cluster="10gbe_16", sweep=True)
        self.assertEqual(lists, texts)
        for ranks in ([], [[2]], [2.5], {"a": 1}):
            with self.assertRaises(sgdsim.InputError):
                sgdsim.collective("ring", ranks=ranks, bytes="1 MiB", cluster="10gbe_16", sweep=True)

    def test_sweeps_have_points(self):
        answer = sgdsim.sweep(K80, {"cluster.nodes": range(2, 5), "strategy": ["wfbp", "naive"]})
        self.assertEqual([(p.axes["cluster.nodes"], p.axes.strategy) for p in answer.points],
                         [(n, s) for n in (2, 3, 4) for s in ("wfbp", "naive")])
        for point in answer.points:
            alone = sgdsim.run(K80, set={"cluster.nodes": point.axes["cluster.nodes"], "strategy": point.axes.strategy})
            self.assertEqual(point.metrics.iteration_us, alone.metrics.iteration_us)

    def test_a_sweep_is_columns(self):
        axes = {"cluster.nodes": range(2, 9), "strategy": ["wfbp", {"name": "ddp", "bucket": "1 MiB"}]}
        table = sgdsim.sweep(K80, axes)
        self.assertEqual(table.shape, (14, len(table.columns)))
        self.assertEqual(table.axes, ["cluster.nodes", "strategy"])
        self.assertEqual(list(table["cluster.nodes"]), [n for n in range(2, 9) for _ in range(2)])
        self.assertEqual(list(table["strategy"])[:2], ["wfbp", '{"name":"ddp","bucket":"1 MiB"}'])
        alone = [sgdsim.run(K80, set={"cluster.nodes": n, "strategy": s}).metrics.iteration_us.mean
                 for n in range(2, 9) for s in axes["strategy"]]
        self.assertEqual(list(table["metrics.iteration_us"]), alone)
        self.assertEqual(table.column("metrics.iteration_us").unit, "us")
        self.assertEqual(table.column("metrics.speedup").unit, "")
        self.assertTrue(table.complete and table.failed == 0)
        with self.assertRaises(KeyError):
            table["nothing"]
        read = arrow_reader.read(table, sgdsim.native)
        self.assertEqual(list(read), table.columns)
        for place, (values, unit) in enumerate(read.values()):
            self.assertEqual(values, table.column_at(place).to_list())
            self.assertEqual(unit, table.column_at(place).unit)
        del table  # what was read from it has been released, what was not is not needed

    def test_columns_are_those_of_the_points_as_lines(self):
        with self.assertRaises(sgdsim.Error) as failed:
            sgdsim.ask("sweep", sweep=K80, axis=["cluster.nodes=2,3", "strategy=wfbp,nothing"], threads=1)
        self.assertEqual(failed.exception.code, 1)
        lines = failed.exception.answer
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = sgdsim.sweep(K80, {"cluster.nodes": [2, 3], "strategy": ["wfbp", "nothing"]})
        self.assertIn("2 of 4 points failed", str(caught[-1].message))
        self.assertEqual(table.failed, 2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            best = sgdsim.sweep(K80, {"cluster.nodes": [2, 3], "strategy": ["wfbp", "nothing"]}, minimize="metrics.iteration_us")
        self.assertEqual(str(caught[-1].message), "2 of 4 points failed")
        self.assertEqual([(group.best.strategy, group.failed) for group in best.groups], [("wfbp", 1)] * 2)
        for line, point in zip(lines["points"], table.points):
            for gone in ("schema", "sweep", "of", "id"):
                line.pop(gone)
            self.assertEqual(line, point)

    def test_axes_of_ranges_are_those_of_lines(self):
        axes = {"cluster.nic.bandwidth": {"from": "1 Gbps", "to": "100 Gbps", "count": 4, "spacing": "log"},
                "cluster.nodes": {"from": 2, "to": 10, "step": 4},
                "seed": {"from": 1, "to": 20001, "step": 10000}}  # figures of long axes are made one by one
        long = {"seed": {"from": 1, "to": 10**6, "step": 1}, "cluster.nodes": [2]}
        table = sgdsim.sweep(K80, axes)
        lines = sgdsim.ask("sweep", sweep=K80, axis=[f"{field}={json.dumps(values)}" for field, values in axes.items()])
        self.assertEqual([point.axes for point in table.points], [line.axes for line in lines.points])
        self.assertEqual(len(table), 4 * 3 * 3)
        done = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            some = sgdsim.sweep(K80, long, progress=lambda now, total: done.append(now) or now < 50)
        self.assertEqual(list(some["seed"]), list(range(1, len(some) + 1)))

    def test_numbers_are_not_copied(self):
        if numpy is None:
            self.skipTest("there is no NumPy")
        table = sgdsim.sweep(K80, {"cluster.nodes": range(2, 65)})
        times = table["metrics.iteration_us"]
        number = table.columns.index("metrics.iteration_us.mean")
        self.assertEqual(times.__array_interface__["data"][0], table._memory.array.children[number].contents.buffers[1])
        self.assertEqual(times.dtype, numpy.float64)
        self.assertEqual(table["cluster.nodes"].dtype, numpy.int64)
        first = times[0]
        del table
        self.assertEqual(times[0], first)  # the memory lives as long as the view

    def test_answers_without_numpy(self):
        code = ("import sys; sys.modules['numpy'] = None; sys.path.insert(0, sys.argv[1]); import sgdsim; "
                "t = sgdsim.sweep(sys.argv[2], {'cluster.nodes': [2, 4]}); "
                "print(t['cluster.nodes'], type(t['metrics.iteration_us']).__name__, len(t.points), len(t._repr_html_()) > 99)")
        found = subprocess.run([sys.executable, "-c", code, folder.name, K80], capture_output=True, text=True, check=True)
        self.assertEqual(found.stdout, "[2, 4] list 2 True\n")

    def test_progress_is_told_and_may_end_a_sweep(self):
        told = []
        sgdsim.sweep(K80, {"cluster.nodes": range(2, 600)}, jobs=1, progress=lambda done, total: told.append((done, total)))
        self.assertTrue(told and all(total in (0, 598) for _, total in told))
        self.assertEqual(told, sorted(told))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            some = sgdsim.sweep(K80, {"cluster.nodes": range(2, 20000), "strategy": ["wfbp", "mg_wfbp", "ddp"]},
                                progress=lambda done, total: done < 50)
        self.assertIn("interrupted", str(caught[-1].message))
        self.assertFalse(some.complete)
        self.assertGreater(len(some), 0)
        self.assertEqual(list(some.column("point")), list(range(len(some))))
        with self.assertRaises(sgdsim.Error) as ended:
            sgdsim.collective("ring", bytes="1 GiB", cluster="10gbe_16", fidelity="packet", progress=lambda *_: False)
        self.assertEqual(ended.exception.code, 130)

    def test_progress_shows_itself(self):
        import contextlib
        import io
        import types

        from sgdsim import progress

        terminal = io.StringIO()
        with contextlib.redirect_stderr(terminal):
            shown = progress.Shown("sweep")
            shown(10, 100)
            self.assertEqual(terminal.getvalue(), "")  # fast answers show nothing
            shown._next = 0
            shown(50, 100)
            self.assertIn("sgdsim sweep: 50 of 100, 50 %", terminal.getvalue())
            shown.end()
        self.assertTrue(terminal.getvalue().endswith("\r\x1b[K"))
        lines = []
        handle = types.SimpleNamespace(update=lines.append)
        shell = types.SimpleNamespace(kernel=1)
        display = types.SimpleNamespace(HTML=str, display=lambda one, display_id: handle)
        sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: shell)
        sys.modules["IPython.display"] = display
        try:
            shown = progress.Shown("run")
            shown._next = 0
            shown(0, 0)
            self.assertIn("sgdsim run: 0 s", lines[-1])
            shown.end()
            self.assertEqual(lines[-1], "")
        finally:
            del sys.modules["IPython"], sys.modules["IPython.display"]

    def test_base_is_where_paths_count_from(self):
        base = source / "app/experiments"
        self.assertEqual(sgdsim.run("googlenet_k80.json", base=base), sgdsim.run(K80))
        self.assertEqual(list(sgdsim.sweep("googlenet_k80.json", {"cluster.nodes": [2]}, base=base)["cluster.nodes"]), [2])
        self.assertEqual(sgdsim.collective("ring", bytes="1 MiB", cluster="10gbe_16", base=base).algorithm, "ring")
        with self.assertRaises(sgdsim.InputError):
            sgdsim.run("googlenet_k80.json", base=source / "nowhere")

    def test_base_is_of_files_only(self):
        base = pathlib.Path(folder.name) / "base"
        for name in ("ring", "flow", "ddp", "resnet50_v100"):  # words that have a folder of their name beside
            (base / name).mkdir(parents=True)
        cluster = json.loads(pathlib.Path("topologies/data/10gbe_16.json").read_text())
        (base / "mine.json").write_text(json.dumps(cluster | {"nodes": 4}))
        (base / "wfbp").write_text("a file, but no file is asked for")
        step = dict(cluster="mine.json", set={"strategy": "ddp"}, fidelity="flow", base=base)
        self.assertEqual(sgdsim.collective("ring", bytes="1 MiB", cluster="mine.json", base=base).ranks, 4)
        self.assertEqual(sgdsim.run("resnet50_v100", **step).strategy, "ddp")
        inside = {"schema": "sgdsim/experiment/1", "trace": "resnet50_v100", "cluster": "mine.json", "strategy": "wfbp"}
        self.assertEqual(sgdsim.run(inside, base=base).workers, 4)
        for setting in ({"cluster": "mine.json"}, ["cluster=mine.json"], "cluster=mine.json"):
            self.assertEqual(sgdsim.run(inside | {"cluster": "10gbe_16"}, set=setting, base=base).workers, 4)
        for axes in ({"cluster": ["mine.json", "10gbe_16"]}, ["cluster=mine.json,10gbe_16"]):
            self.assertEqual(list(sgdsim.sweep(inside, axes, base=base)["workers"]), [4, 16])

    def test_members_go_before_methods(self):
        answer = sgdsim._decode('{"rows": 3, "update_us": 2.5, "items": [1], "points": [{"a": 1}, {"a": 2}]}')
        self.assertEqual((answer.rows, answer.update, answer.items), (3, 2.5e-6, [1]))
        self.assertEqual(str(answer.update), "2.5 us")
        self.assertIn("<td>2</td>", answer._repr_html_())
        step = sgdsim.run(K80)
        self.assertEqual(step.metrics.update.us, step.metrics.update_us)
        self.assertEqual(step.rows, [step])
        self.assertFalse(hasattr(step, "nothing"))

    def test_time_prints_itself(self):
        ring = sgdsim.collective("ring", ranks=16, bytes="64 MiB", cluster="10gbe_16")
        text = subprocess.run([program, "collective", "-a", "ring", "-p", "16", "-n", "64 MiB", "-c", "10gbe_16"],
                              check=True, capture_output=True, text=True).stdout
        self.assertIn(str(ring.time), text)
        self.assertAlmostEqual(ring.time.ms, ring.time_us / 1e3)

    def test_many_calls_leave_nothing(self):
        def memory_KiB():
            return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")))

        def ask(count):
            for _ in range(count):
                sgdsim.collective("ring", bytes="1 MiB", cluster=cluster, progress=False)

        cluster = json.loads(pathlib.Path("topologies/data/10gbe_16.json").read_text())
        ask(2000)
        before = memory_KiB()
        ask(int(os.environ.get("SGDSIM_CALLS", "10000")))
        self.assertLess(memory_KiB() - before, 2000)
        for _ in range(20):
            sgdsim.sweep(K80, {"cluster.nodes": range(2, 1000)}).__arrow_c_stream__()
        before = memory_KiB()
        for _ in range(50):
            sgdsim.sweep(K80, {"cluster.nodes": range(2, 1000)}).__arrow_c_stream__()
        self.assertLess(memory_KiB() - before, 2000)

    def test_the_page_runs(self):
        blocks = re.findall(r"```python\n(.*?)```", (source / "docs/python.md").read_text(), re.S)
        self.assertGreater(len(blocks), 3)
        try:
            import matplotlib
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("there is no pandas or matplotlib")
        matplotlib.use("svg")
        names = {}
        for block in blocks:
            exec(block.replace('"speedup.svg"', repr(folder.name + "/speedup.svg")), names)
        self.assertEqual(len(names["frame"]), 63 * 3)

    def test_import_is_fast(self):
        code = "import time; t = time.process_time(); import sgdsim; print(time.process_time() - t)"
        took = min(float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True,
                                        env={**os.environ, "PYTHONPATH": folder.name}).stdout) for _ in range(5))
        self.assertLess(took, 0.2)  # of processor time, on a busy machine; 0.05 s on a quiet one

    def test_warnings_are_pythons(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sgdsim.run("resnet50_v100", cluster="25gbe_16")
        self.assertTrue(caught and all(issubclass(one.category, sgdsim.Warning) for one in caught))

    def test_threads_and_many_calls(self):
        wanted = sgdsim.collective("ring", bytes="1 MiB", cluster="10gbe_16")
        found = []
        threads = [threading.Thread(target=lambda: found.append(
            sgdsim.collective("ring", bytes="1 MiB", cluster="10gbe_16"))) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [wanted] * 64)

    def test_shows_itself(self):
        answer = sgdsim.run(K80)
        self.assertIn("metrics.iteration_us", answer._repr_html_())
        self.assertIn("metrics", dir(answer))
        try:
            import pandas  # noqa: F401
        except ImportError:
            return
        table = sgdsim.sweep(K80, {"cluster.nodes": [2, 4]}).to_pandas()
        self.assertEqual(list(table["axes.cluster.nodes"]), [2, 4])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], warnings="ignore")
