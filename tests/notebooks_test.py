"""Runs a notebook without Jupyter and looks at its figures: is there data in them, and is it sgdsim's?

    python3 tests/notebooks_test.py PROGRAM LIBRARY step [whole|bare|...]

Every form must draw something or say why not. What is printed is compared with the answers of the module, which are
read here once more, without the notebooks' own reader.
"""

import functools
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import built_module

for _needed in ("pandas", "matplotlib"):
    if importlib.util.find_spec(_needed) is None:
        print(f"skipped: this Python has no {_needed}")
        sys.exit(77)
root = pathlib.Path(__file__).resolve().parent.parent
program, library = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
os.environ["SGDSIM_PROGRAM"] = str(program)
module = built_module.importable(root, library)
sys.path.insert(0, str(root / "notebooks"))
import matplotlib  # noqa: E402

matplotlib.use("Agg")
import numpy  # noqa: E402

import pandas  # noqa: E402
import sgdsim  # noqa: E402
import sgdsim_figures as figures  # noqa: E402
import sgdsim_results as results  # noqa: E402

# ---- forms of answers

most = 100_000


@functools.cache
def schema_of(kind):
    return json.loads(subprocess.run([program, "schema", kind], capture_output=True, check=True).stdout)


def bare(found, schema, whole_schema):
    """What is left if every key that the schema does not require is missing."""
    if "$ref" in schema:
        reference = schema["$ref"]
        if not reference.startswith("#"):
            whole_schema = schema = schema_of(reference.split("/")[1])
        else:
            schema = whole_schema["$defs"][reference.split("/")[-1]]
    if isinstance(found, list):
        return [bare(one, schema.get("items", {}), whole_schema) for one in found]
    if not isinstance(found, dict) or "properties" not in schema:
        return found
    required = schema.get("required", [])
    return {key: bare(value, schema["properties"].get(key, {}), whole_schema)
            for key, value in found.items() if key in required}


def bare_object(found):
    if "traceEvents" in found:
        return {"traceEvents": [{key: event[key] for key in ("ph", "pid", "tid", "ts", "dur") if key in event}
                                for event in found["traceEvents"] if event["ph"] == "X"]}
    schema = schema_of(found["schema"].split("/")[1])
    return bare(found, schema, schema)


def lists_in(found):
    """The lists of records of an answer, as (holder, key)."""
    for key in ("points", "groups", "plans", "traceEvents", "messages", "fits", "jobs", "busiest"):
        if isinstance(found.get(key), list) and found[key]:
            yield found, key
    for suite in found.get("suites", []):
        for case in suite["cases"]:
            yield case, "rows"


def one_object(found):
    for holder, key in list(lists_in(found)):
        meta = [record for record in holder[key] if record.get("ph") == "M"]
        holder[key] = meta + [record for record in holder[key] if record.get("ph", "X") == "X"][:1]
    if "suites" in found:
        found["suites"] = found["suites"][:1]
        found["suites"][0]["cases"] = found["suites"][0]["cases"][:1]
    return found


def shifted(record, copy):
    """A record like this one at other places: other whole-numbered axes, later in time."""
    record = dict(record)
    if "axes" in record:
        record["axes"] = {key: value + 1000 * copy if isinstance(value, int) else value
                          for key, value in record["axes"].items()}
    for key, step in (("ts", 1e6), ("ranks", 100)):
        if key in record:
            record[key] += step * copy
    return record


def many_of(records, count):
    copies = -(-count // len(records))
    return [shifted(record, copy) for copy in range(copies) for record in records][:count]


def many_object(found, count):
    places = list(lists_in(found))
    for holder, key in places:
        holder[key] = many_of(holder[key], count // len(places))
    return found


def altered_points(lines, form, count):
    if form == "bare":
        return [bare_object(line) for line in lines]
    if form == "every second bare":
        return [bare_object(line) if n % 2 else line for n, line in enumerate(lines)]
    return lines[:1] if form == "one" else many_of(lines, count) if form == "many" else lines


def altered_object(found, form, count):
    if form == "many":
        return many_object(found, count)
    return {"bare": bare_object, "one": one_object}.get(form, lambda same: same)(found)


class Points:
    """A table of points in another form, as the module gives it to pandas."""

    def __init__(self, lines):
        self.points = lines

    def to_pandas(self):
        frame = pandas.json_normalize([{key: value for key, value in line.items() if key != "axes"} for line in self.points])
        axes = [{field: json.dumps(value) if isinstance(value, dict) else value for field, value in line["axes"].items()}
                for line in self.points]
        axes = pandas.DataFrame(axes).add_prefix("axes.")
        return pandas.concat([axes, frame], axis=1)


def line_of(point):
    """A point as its line has it; columns have values that are objects as JSON."""
    axes = {field: json.loads(value) if str(value).startswith("{") else value for field, value in point["axes"].items()}
    return {"schema": "sgdsim/point/1"} | point | {"axes": axes}


# ---- running

class Page:
    """A notebook that was run on answers of this form: its figures, its names and what it printed."""

    def __init__(self, name, form, folder):
        self.form, self.figures, self.asked = form, {}, 0
        results.results = pathlib.Path(folder)
        self.real_ask, sgdsim._ask = sgdsim._ask, self.ask
        real_save, figures.save = figures.save, self.save
        figures.plt.rcParams["figure.constrained_layout.use"] = form == "whole"
        printed, sys.stdout = sys.stdout, io.StringIO()
        self.names = {}
        try:
            cells = json.loads((root / f"notebooks/{name}.ipynb").read_text())["cells"]
            for cell in cells:
                if cell["cell_type"] == "code":
                    exec(compile("".join(cell["source"]), f"{name}: {cell['id']}", "exec"), self.names)
        finally:
            self.printed, sys.stdout = sys.stdout.getvalue(), printed
            sgdsim._ask, figures.save = self.real_ask, real_save

    def ask(self, command, fields, *more, **words):
        if self.form != "whole" and "stragglers.json" in str(fields):
            fields = fields | {"set": {"iterations": 5}}  # what matters here is the form
        answer = self.real_ask(command, fields, *more, **words)
        if self.form == "whole":
            return answer
        count = most // 10 if self.asked else most  # the first answer as large as it gets
        self.asked += 1
        if isinstance(answer, sgdsim.Table):
            return Points(altered_points(self.lines_of(answer), self.form, count))
        return sgdsim._decode(json.dumps(altered_object(answer, self.form, count)))

    def save(self, figure, name, about=""):
        if self.form == "whole":
            figure.savefig(io.BytesIO(), format="svg")
        else:
            figure.set_dpi(30)
            figure.canvas.draw()
        self.figures[name] = figure
        figures.plt.close(figure)

    @staticmethod
    def lines_of(table):
        return [line_of(point) for point in table.points]

    def lines(self, name):
        return self.lines_of(self.names[name])


def numbers_of(axes):
    """All numbers that the axes draw, by kind of drawing."""
    for line in axes.lines:
        yield "line", numpy.asarray(line.get_xydata(), float)
    for image in axes.images:
        yield "image", numpy.asarray(image.get_array(), float)
    for patch in axes.patches:
        yield "patch", numpy.asarray(patch.get_extents().get_points(), float)
    for collection in axes.collections:
        if collection.get_array() is not None and len(collection.get_array()):
            yield "mesh", numpy.ma.filled(collection.get_array().astype(float), 0)
        for path in collection.get_paths():
            yield "path", path.vertices
    for table in axes.tables:
        yield "table", numpy.zeros(len(table.get_celld()))


def has_data(axes):
    """Something is drawn and all of it is finite; else what is wrong."""
    drawn = list(numbers_of(axes))
    if not any(values.size for _, values in drawn):
        return "nothing drawn"
    for kind, values in drawn:
        if kind == "image" and numpy.isfinite(values).any():
            continue  # a map may have cells without an answer
        if not numpy.isfinite(values).all():
            return f"a {kind} with values that are not finite"
    return ""


def panels_of(figure):
    """The axes that show something: not those left empty in a grid, not the scales of colours."""
    return [axes for axes in figure.axes
            if axes.get_label() != "<colorbar>" and (axes.axison or axes.tables or axes.texts)]


def says_why(axes):
    return len(axes.texts) == 1 and not axes.axison and axes.texts[0].get_text().endswith(".")


# ---- what must hold for every notebook

class EveryNotebook(unittest.TestCase):
    name = ""
    forms = ["whole", "bare", "every second bare", "one", "many"]

    def page(self, form):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Page(self.name, form, folder.name)

    def test_is_stored_without_outputs(self):
        notebook = json.loads((root / f"notebooks/{self.name}.ipynb").read_text())
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None), cell["id"])

    def test_is_short(self):
        cells = json.loads((root / f"notebooks/{self.name}.ipynb").read_text())["cells"]
        code = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
        self.assertLess(len(code), 60)

    def test_whole(self):
        page = self.page("whole")
        self.assertTrue(page.figures)
        for name, figure in page.figures.items():
            panels = panels_of(figure)
            self.assertTrue(panels, name)
            for axes in panels:
                self.assertEqual(has_data(axes), "", f"{name}: {axes.get_title(loc='left')}")
                if axes.axison:
                    self.assertTrue(axes.get_xlabel() or axes.get_title(loc="left"), name)
        for check in numbers.get(self.name, []):
            check(self, page)

    def check_form(self, form):
        page = self.page(form)
        self.assertTrue(page.figures)
        for name, figure in page.figures.items():
            for axes in panels_of(figure):
                self.assertTrue(says_why(axes) or has_data(axes) == "", f"{form}: {name}: {has_data(axes)}")

    def test_bare(self):
        self.check_form("bare")

    def test_every_second_bare(self):
        self.check_form("every second bare")

    def test_one(self):
        self.check_form("one")

    def test_many(self):
        self.check_form("many")


# ---- numbers in figures are those of the JSON

def at(lines, field):
    return sorted({line["axes"][field] for line in lines})


def bandwidths(lines):
    return sorted({line["axes"]["cluster.nic.bandwidth"] for line in lines}, key=lambda text: float(text.split()[0]))


def cells(axes):
    """What is printed in the cells of a map, by column and row."""
    return {(round(text.get_position()[0]), round(text.get_position()[1])): text.get_text() for text in axes.texts}


def behind_equals(test, printed, group):
    """A cell of a map of winners: "= n" for a tie with n others, or how far behind the next one is."""
    if "ties" in group:
        test.assertEqual(printed, f"= {group['ties']}")
        return
    behind = 100 * (group["next"] / group["value"] - 1)
    test.assertLessEqual(abs(float(printed.removesuffix(" %")) - behind), 0.5 if behind > 9.9 else 0.0501)


def winners_numbers(test, page):
    lines, groups = page.lines("table"), page.names["best"]["groups"]
    nodes, speeds = at(lines, "cluster.nodes"), bandwidths(lines)
    for name in ("strategies_winners", "readme_winners"):
        printed = cells(page.figures[name].axes[0])
        test.assertEqual(len(printed), len(nodes) * len(speeds))
        for group in groups:
            place = (speeds.index(group["axes"]["cluster.nic.bandwidth"]), nodes.index(group["axes"]["cluster.nodes"]))
            behind_equals(test, printed[place], group)
    printed = cells(page.figures["strategies_speedup"].axes[0])
    for row, count in enumerate(nodes):
        for column, speed in enumerate(speeds):
            here = [line for line in lines if line["axes"]["cluster.nodes"] == count
                    and line["axes"]["cluster.nic.bandwidth"] == speed and line["axes"]["strategy"] != "optimal"]
            best = min(here, key=lambda line: line["iteration_ps"])
            test.assertEqual(printed[column, row], f"{best['metrics']['speedup']:.1f}")
    strategies = list(dict.fromkeys(line["axes"]["strategy"] for line in lines))
    for axes, strategy in zip(page.figures["strategies_efficiency"].axes, strategies):
        printed = cells(axes)
        for line in lines:
            if line["axes"]["strategy"] == strategy:
                place = (speeds.index(line["axes"]["cluster.nic.bandwidth"]), nodes.index(line["axes"]["cluster.nodes"]))
                test.assertEqual(printed[place], f"{line['metrics']['efficiency']:.2f}")


def curves_equal(test, axes, lines, of_line, by):
    """Each line of the axes has just the points of the JSON, in the order of x."""
    expected = {}
    for line in lines:
        expected.setdefault(line["axes"][by] if isinstance(by, str) else by(line), []).append(of_line(line))
    drawn = [line for line in axes.lines if line.get_label() not in ("ideal",) and line.get_label()[0] != "_"]
    test.assertEqual(len(drawn), len(expected))
    for curve, (name, points) in zip(drawn, expected.items()):
        numpy.testing.assert_allclose(curve.get_xydata(), sorted(points), rtol=1e-9, err_msg=str(name))


def scaling_numbers(test, page):
    lines = page.lines("scaling")
    left, right = page.figures["strategies_scaling"].axes
    curves_equal(test, left, lines, lambda line: (line["workers"], line["metrics"]["throughput_samples_per_s"]),
                 "strategy")
    curves_equal(test, right, lines, lambda line: (line["workers"], 100 * line["metrics"]["efficiency"]), "strategy")
    exposed, = page.figures["strategies_exposed"].axes
    curves_equal(test, exposed, lines, lambda line: (line["workers"], line["metrics"]["comm_exposed_us"] / 1000),
                 "strategy")


def boxes(collection):
    return numpy.array([[path.vertices[:, 0].min(), path.vertices[:, 0].max()] for path in collection.get_paths()])


def timeline_numbers(test, page):
    names = ["wfbp", "sync_easgd", "mg_wfbp", "optimal"]
    for figure, by_layer in (("step_lanes", True), ("readme_timeline", False)):
        for axes, name in zip(page.figures[figure].axes, names):
            events = [event for event in page.names["timelines"][name]["traceEvents"] if event["ph"] == "X"]
            drawn = {c.get_label(): boxes(c) for c in axes.collections}
            for label, category in (("forward", "forward"), ("backward", "backward"), ("message", "comm")):
                spans = [[e["ts"] / 1000, (e["ts"] + e["dur"]) / 1000] for e in events if e["cat"] == category]
                if not by_layer and category != "comm":  # drawn as one: the same ends, the same busy time
                    test.assertLess(len(drawn[label]), len(spans))
                    test.assertAlmostEqual(drawn[label].min(), min(map(min, spans)))
                    test.assertAlmostEqual(drawn[label].max(), max(map(max, spans)))
                    test.assertAlmostEqual(sum(b - a for a, b in drawn[label]), sum(b - a for a, b in spans), 3)
                else:
                    numpy.testing.assert_allclose(sorted(drawn[label].tolist()), sorted(spans), rtol=1e-9)
            result = page.names["runs"][name]
            said = re.findall(r"[\d.]+", axes.get_title(loc="left").split(":")[1])
            test.assertEqual(said, [str(len(result["messages"])), f"{result['metrics']['iteration_us']['mean'] / 1000:.1f}",
                                    f"{result['metrics']['comm_exposed_us'] / 1000:.1f}"])
    for axes, name in zip(page.figures["step_layers"].axes, names):
        messages = page.names["runs"][name]["messages"]
        drawn = [[*path.vertices.min(axis=0), *path.vertices.max(axis=0)] for path in axes.collections[0].get_paths()]
        expected = [[m["start_us"] / 1000, m["layers"][0] - 0.5, m["end_us"] / 1000, m["layers"][1] + 0.5]
                    for m in messages]
        numpy.testing.assert_allclose(drawn, expected, rtol=1e-9)


def validation_numbers(test, page):
    for figure, name in (("validation_collectives", "collectives"), ("validation_steps", "steps")):
        left, right = page.figures[figure].axes
        suites = page.names[name]["suites"]
        table = right.tables[0].get_celld()
        row = 0
        labels = {suite["name"]: [label for label in suite["labels"] if label["use"] == "held"] for suite in suites}
        if sum(map(len, labels.values())) + len(suites) > figures.most_table_rows:
            labels = {name: [] for name in labels}
        for suite in suites:
            for errors in [suite["held"], *labels[suite["name"]]]:
                row += 1
                printed = [table[row, column].get_text().get_text() for column in range(1, 5)]
                keys = ("median_percent", "p90_percent", "max_percent")
                test.assertEqual(printed, [str(errors["rows"]), *(f"{errors[key]:.2f}" for key in keys)])
        test.assertNotIn((row + 1, 0), table)
        expected = sorted((r["measured_us"] / 1000, r["predicted_us"] / 1000)
                          for s in suites for c in s["cases"] for r in c["rows"])
        drawn = sorted(tuple(p) for line in left.lines if line.get_linestyle() == "None" for p in line.get_xydata())
        numpy.testing.assert_allclose(drawn, expected, rtol=1e-9)
    expected = sorted((r["size_B"], r["error_percent"])
                      for s in page.names["collectives"]["suites"] for c in s["cases"] for r in c["rows"])
    axes, = page.figures["validation_by_size"].axes
    drawn = sorted(tuple(p) for line in axes.lines if line.get_linestyle() == "None" for p in line.get_xydata())
    numpy.testing.assert_allclose(drawn, expected, rtol=1e-9)


def collectives_numbers(test, page):
    points = [point | {"axes": point} for point in page.names["by_size"]["points"]]
    left, right = page.figures["collectives_by_size"].axes
    curves_equal(test, left, points, lambda point: (point["size_B"], point["time_us"]), "algorithm")
    right.lines[-1].remove()  # the link
    curves_equal(test, right, points, lambda point: (point["size_B"], point["busbw_GBps"]), "algorithm")
    for axes, operation in zip(page.figures["collectives_by_ranks"].axes, ("broadcast", "reduce", "allreduce")):
        points = page.names["by_ranks"][operation]["points"]
        curves_equal(test, axes, [point | {"axes": point} for point in points],
                     lambda point: (point["ranks"], point["algbw_GBps"]), "algorithm")
    points = [point for point in page.names["winners"]["points"] if "time_us" in point]
    ranks, sizes = (sorted({point[key] for point in points}) for key in ("ranks", "size_B"))
    axes = page.figures["collectives_winners"].axes[0]
    names = {text.get_text(): patch.get_facecolor()
             for text, patch in zip(axes.get_legend().get_texts(), axes.get_legend().get_patches())}
    mesh = axes.collections[0]
    places = mesh.get_array().reshape(len(ranks), len(sizes))
    for row, count in enumerate(ranks):
        for column, size in enumerate(sizes):
            here = [point for point in points if (point["ranks"], point["size_B"]) == (count, size)]
            best = min(here, key=lambda point: point["time_us"])["algorithm"]
            colour = mesh.cmap(mesh.norm(places[row, column]))
            test.assertEqual(colour, names[figures.look(best, figures.algorithms)[0]], (best, count, size))


def breakdown_numbers(test, page):
    def check(axes, records):
        right = {}
        for patch in axes.patches:
            row = round(patch.get_y() + patch.get_height() / 2)
            right[row] = max(right.get(row, 0), patch.get_x() + patch.get_width())
        test.assertEqual(len(right), len(records))
        for row, record in enumerate(records):
            total = sum(record[key] for key in ("forward_us", "backward_us", "update_us", "comm_exposed_us")) / 1000
            test.assertAlmostEqual(right[row], total, 6)

    for axes, name in zip(page.figures["step_strategies"].axes, ("alike", "straggler")):
        metrics = [line["metrics"] for line in page.lines(name)]
        check(axes, metrics)
        test.assertEqual([text.get_text().strip() for text in axes.texts],
                         [f"{record['iteration_us']['mean'] / 1000:.1f}" for record in metrics])
    check(page.figures["step_workers"].axes[0], page.names["run"]["per_worker"])


def buckets_numbers(test, page):
    lines, best = page.lines("buckets"), page.names["best_buckets"]["groups"]
    for axes, speed in zip(page.figures["strategies_buckets"].axes, bandwidths(lines)):
        times = [line["metrics"]["iteration_us"]["mean"] / 1000 for line in lines
                 if line["axes"]["cluster.nic.bandwidth"] == speed]
        numpy.testing.assert_allclose(axes.lines[0].get_ydata(), times)
        group, = (group for group in best if group["axes"]["cluster.nic.bandwidth"] == speed)
        test.assertIn(f": {group['value'] / 1000:.1f} ms", axes.texts[0].get_text())
        test.assertAlmostEqual(axes.lines[1].get_ydata()[0], group["value"] / 1000)
        test.assertAlmostEqual(axes.lines[1].get_ydata()[0], min(times))
        reach, = (line for line in page.lines("merged") if line["axes"] == {
            "cluster.nodes": 16, "cluster.nic.bandwidth": speed, "strategy": "optimal"})
        test.assertEqual(axes.lines[2].get_ydata()[0], reach["metrics"]["iteration_us"]["mean"] / 1000)


def stragglers_numbers(test, page):
    lines = page.lines("jitter")
    by = lambda line: line["axes"]["workers.jitter"]["distribution"]
    for axes, key in zip(page.figures["step_tails"].axes, ("p50", "mean", "p99")):
        curves_equal(test, axes, lines, lambda line: (line["workers"], line["metrics"]["iteration_us"][key] / 1000), by)
    axes, = page.figures["step_waiting"].axes
    curves_equal(test, axes, lines, lambda line: (line["workers"], line["metrics"]["waiting_us"] / 1000), by)


def ways_numbers(test, page):
    ways = {}
    for name in ("best", "less", "later"):
        for group in page.names[name]["groups"]:
            place = (group["axes"]["cluster.nic.bandwidth"], group["axes"]["cluster.nodes"])
            ways.setdefault(place, []).append(group["value"])
    speeds = sorted({speed for speed, _ in ways}, key=lambda text: float(text.split()[0]))
    nodes = sorted({count for _, count in ways})
    printed = cells(page.figures["strategies_ways"].axes[0])
    test.assertEqual(len(printed), len(speeds) * len(nodes))
    for (speed, count), values in ways.items():
        test.assertEqual(len(values), 5)  # whole gradients, three ways of sending less, one of sending later
        first, second = sorted(values)[:2]
        group = {"value": first, "next": second}
        ties = sum(value <= first * (1 + 1e-6) for value in values) - 1
        behind_equals(test, printed[speeds.index(speed), nodes.index(count)], group | ({"ties": ties} if ties else {}))
    for axes, costs in zip(page.figures["strategies_density"].axes, (True, False)):
        lines = [line for line in page.lines("density")
                 if (line["axes"]["compression.selection"] == "v100") == costs]
        curves_equal(test, axes, lines,
                     lambda line: (line["axes"]["compression.density"], 100 * line["metrics"]["efficiency"]),
                     "cluster.nic.bandwidth")


def fit_numbers(test, page):
    upper, lower = page.figures["collectives_fit"].axes[:2], page.figures["collectives_fit"].axes[2:]
    cases = ["tcp_star_100mbps_4", "tcp_star_200mbps_4", "tcp_star_slow_port_4"]
    for answers, axes, residuals in zip(("one", "two"), upper, lower):
        hollow = [line for line in residuals.lines if line.get_marker() != "None"]
        for number, case in enumerate(cases):
            rows = json.loads((root / f"models/collective/data/{case}.json").read_text())["measured"]
            times = [row["time"].split() for row in rows if row["label"] == "oneway"]
            expected = sorted(float(number) * {"us": 1e-3, "ms": 1}[unit] for number, unit in times)
            numpy.testing.assert_allclose(axes.lines[2 * number].get_ydata(), expected)
            fit, = page.names[answers][case]["fits"]
            fitted = hollow[2 * number].get_ydata()  # the residuals of the sizes that were fitted
            test.assertEqual(len(fitted), fit["rows"])
            test.assertAlmostEqual(max(abs(fitted)), fit["max_percent"], 6)
            test.assertAlmostEqual(numpy.sqrt((fitted**2).mean()), fit["rms_percent"], 6)


def sharing_numbers(test, page):
    placements, ratios = ["packed", "random", "spread"], [1, 2, 4, 8, 16]
    for number, axes in enumerate(page.figures["network_slowdown"].axes[:2]):
        printed = cells(axes)
        test.assertEqual(len(printed), len(placements) * len(ratios))
        for (column, row), text in printed.items():
            found = page.names["shared"][placements[row], ratios[column]]["jobs"][number]
            test.assertEqual(text, f"{found['iteration_us'] / found['alone_us']:.2f}")
            if placements[row] == "packed":
                test.assertEqual(text, "1.00")
    for axes, name, count in zip(page.figures["network_over_time"].axes, ("over_time", "failure"),
                                 (120, 60)):
        found = page.names[name]
        uplinks = {tuple(round(100 * part, 6) for part in link["over_time"])
                   for link in found["busiest"] if name != "failure" or link["kind"] == "uplink"}
        drawn = {tuple(stairs.get_data().values) for stairs in axes.patches}
        test.assertEqual(drawn, uplinks)
        for stairs in axes.patches:
            edges = stairs.get_data().edges
            test.assertEqual(len(edges), count + 1)
            test.assertAlmostEqual(edges[-1], count * found["interval_us"] / 1000)


def packets_numbers(test, page):
    incasts = list(page.names["incasts"].values())
    for answer, line in zip(incasts, page.figures["network_tails"].axes[0].lines):
        flows = answer["flows"]
        took = sorted((flow["end_ps"] - flow["start_ps"]) / 1e6 for flow in flows)
        test.assertEqual(len(took), 36)
        for x, y in line.get_xydata():
            test.assertIn(x, took)
            # The median of flows that take the same.
            ended = [100 * (n + 1) / 36 for n, time in enumerate(took) if time == x]
            test.assertAlmostEqual(y, numpy.median(ended))
    for found, line in zip(incasts, page.figures["network_queues"].axes[0].lines):
        queue = next(queue for queue in found["queues"] if queue["to"] == "node0")  # the receiver's own link
        waiting_B, x_and_y = queue["over_time_B"], line.get_xydata()
        numpy.testing.assert_allclose(x_and_y[:, 0], numpy.arange(len(waiting_B)) * found["interval_us"] / 1000)
        numpy.testing.assert_allclose(x_and_y[:, 1], numpy.array(waiting_B) / 1000)
    for axes, cargo in zip(page.figures["network_layers"].axes, ("gradients", "parameters")):
        found = page.names["step"]["delivery"]
        least_B = max(one["size_B"] for one in found) / 100
        found = [one for one in found if one["cargo"] == cargo and one["size_B"] >= least_B]
        by_name = {line.get_label(): line for line in axes.lines}
        for name, key in (("important", "part_of_important"), ("others", "part_of_others")):
            expected = [(one["layer"], 100 * one[key]) for one in found if one[key] is not None]
            numpy.testing.assert_allclose(by_name[name].get_xydata(), expected)


def learned_numbers(test, page):
    answer = page.names["lessons"]["base"]
    bars = [[bar.get_width() for bar in container] for container in page.figures["learn_target"].axes[0].containers]
    needed = [method.iterations_to_target.median for method in answer.methods]
    for at, count in enumerate(needed):
        if count is not None:
            test.assertAlmostEqual(bars[0][at], count / needed[0])
    test.assertEqual(len(bars[0]), len(answer.methods))


def goodput_numbers(test, page):
    def line(*words):
        ran = subprocess.run([sys.argv[1], "goodput", "app/goodput_questions/llama3_405b.json", *words, "--format", "json"],
                             cwd=root, capture_output=True, text=True, check=True)
        return json.loads(ran.stdout)

    whole = line("--runs", "2000")
    left, right = page.figures["goodput_progress"].axes
    numpy.testing.assert_allclose(left.lines[0].get_xydata(),
                                  [(one["days"], 100 * one["p50"]) for one in whole["progress"]])
    test.assertEqual([patch.get_width() for patch in right.patches], [one["mean_days"] for one in whole["sources"]])
    axes, = page.figures["goodput_interval"].axes
    for curve, stall in zip(axes.lines, ("0.59 s", "10 s", "1 min")):
        ends = line("--runs", "20", "--set", f"save.stall={stall}")["intervals"]
        numpy.testing.assert_allclose(curve.get_xydata(), [(one["interval_s"] / 60, one["days"]) for one in ends])
    axes, = page.figures["goodput_spares"].axes
    for curve in axes.lines:  # more spares are never worse
        test.assertTrue((numpy.diff(curve.get_ydata()) > -1).all())
    test.assertEqual([text.get_text() for text in page.figures["goodput_levers"].axes[0].get_yticklabels()],
                     [one["field"] for one in reversed(whole["levers"]) if one["field"] != "step"])


numbers = {"strategies": [winners_numbers, scaling_numbers, buckets_numbers, ways_numbers],
           "step": [breakdown_numbers, timeline_numbers, stragglers_numbers],
           "collectives": [collectives_numbers, fit_numbers], "network": [sharing_numbers, packets_numbers],
           "validation": [validation_numbers], "learn": [learned_numbers], "goodput": [goodput_numbers]}

if __name__ == "__main__":
    EveryNotebook.name = sys.argv[3]
    unittest.main(argv=sys.argv[:1] + [f"EveryNotebook.test_{form}" for form in sys.argv[4:]], warnings="ignore")
