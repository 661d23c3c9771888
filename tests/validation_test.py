"""The page of all case files and the table of docs/validation.md are what the program says, and files can inject nothing.

    SGDSIM_PROGRAM=build/release/bin/sgdsim python3 tests/validation_test.py
"""

import collections
import copy
import html.parser
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(root / "validation"), str(root / "web")]
sys.dont_write_bytecode = True
import build  # noqa: E402
import classes  # noqa: E402
import judged  # noqa: E402
import page  # noqa: E402
import pages  # noqa: E402
import scatter  # noqa: E402

program = pages.default_program()
folder = tempfile.TemporaryDirectory()
suites = []


def setUpModule():
    suites.extend(judged.suites_of(program, judged.shipped_files()))


class Reader(html.parser.HTMLParser):
    """The tags of a page, what stands in its cells, and whether all tags are closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.cells = collections.Counter(), [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes += attributes
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closes another"

    def handle_data(self, text):
        if "td" in self.open:
            self.cells[-1] += text


def case_file(file_name, **changes):
    """A case of two rows, one held and one fitted, in a file."""
    case = {
        "schema": "sgdsim/case/1", "name": "two_rows", "grade": "A", "kind": "collective", "description": "Two messages.",
        "source": {"origin": "a formula", "measured": "10 us and a byte a nanosecond", "fitted": "nothing"},
        "tolerance": {"median_percent": 1, "p90_percent": 5, "per_algorithm_median_percent": 1, "from_size": "0 B"},
        "cluster": {"shape": "single_switch", "nodes": 2, "nic": {"latency": "5 us", "per_byte": "1 ns/B"}},
        "measured": [{"label": label, "algorithm": "linear", "operation": "broadcast", "size": "10 KB", "time": "20 us"}
                     for label in ("held", "fitted")],
    } | changes
    case["measured"][-1]["fitted"] = True
    file = pathlib.Path(folder.name) / file_name
    file.write_text(json.dumps(case))
    return str(file)


def built(*words):
    """What `./run validation` says, and its exit code."""
    return subprocess.run([sys.executable, str(root / "validation/build.py"), "--sgdsim", str(program), *words], cwd=root,
                          capture_output=True, text=True, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})


class Classes(unittest.TestCase):
    def test_every_file_is_in_exactly_one(self):
        for file in judged.shipped_files():
            self.assertEqual([one.has(file) for one in classes.classes].count(True), 1, file)

    def test_suites_are_of_one_class_and_no_class_is_empty(self):
        for suite in suites:
            self.assertEqual({classes.class_of(file) for file in suite.files}, {suite.kind}, suite.name)
        self.assertEqual([one for one, _ in judged.by_class(suites)], classes.classes)

    def test_all_files_are_asked_about(self):
        files = [file for suite in suites for file in suite.files]
        self.assertEqual(sorted(files), judged.shipped_files())
        named = subprocess.run(["grep", "-rl", "--include=*.json", "sgdsim/case/1", "models"], cwd=root, capture_output=True, text=True)
        self.assertEqual(sorted(files), sorted(named.stdout.split()))

    def test_words_of_the_documentation_are_there(self):
        for remark in classes.remarks:
            suite = next(suite for suite in suites if suite.name == remark[0])
            self.assertIn(remark[1], {row.label for row in suite.rows if row.is_beyond}, remark)
            self.assertLess(len(classes.words_of(remark)), 600, remark)

    def test_every_outlier_over_tcp_has_its_note(self):
        tcp = next(suite for suite in suites if suite.name == "tcp_star")
        beyond = [row for row in tcp.rows if row.is_beyond]
        self.assertEqual(len(beyond), len(classes.tcp_outliers()))
        self.assertTrue(all(row.reason.endswith("(docs/validation.md)") for row in beyond))
        worst = max(beyond, key=lambda row: row.error)
        self.assertTrue(worst.reason.startswith("Messages of 1 MiB are a little larger than the buffer."), worst.reason)


class Figures(unittest.TestCase):
    def test_sums_are_those_of_the_program(self):
        for suite in suites:
            self.assertEqual(judged.summary([row for row in suite.rows if row.use == "held"]), suite.found["held"], suite.name)
            for label in suite.found["labels"]:
                rows = [row for row in suite.rows if (row.label, row.use) == (label["label"], label["use"])]
                self.assertEqual(judged.summary(rows) | {"label": label["label"], "use": label["use"]}, label, suite.name)

    def test_lines_are_as_the_program_prints_them(self):
        """A class with one suite, whose line `all` the program prints."""
        for one, members in judged.by_class(suites):
            if len(members) == 1:
                said = subprocess.run([str(program), "validate", *members[0].files], cwd=root, capture_output=True, text=True).stdout
                figures = re.search(r"^all +(.*)$", said, re.MULTILINE)[1].split()
                cells = judged.line(one.name, members)
                self.assertEqual([cells[1], *cells[5:9]], figures)

    def test_steps_are_as_the_page_of_layouts_has_them(self):
        lines = {cells[0]: cells for cells in judged.class_lines(suites)}
        text = (root / "docs/layouts.md").read_text()
        for name, theirs in (("dense models", "dense models"), ("mixtures of experts", "mixtures of experts"),
                             ("Llama 3.1 8B (dense, too)", "Llama 3.1 8B")):
            cells = lines[f"of these, {name}"]
            self.assertIn(f"| {theirs} | {cells[1]} | {cells[5]} | {cells[6]} |", text)

    def test_uses_are_counted(self):
        for cells, (_, members) in zip((cells for cells in judged.class_lines(suites) if not cells[0].startswith("of these")),
                                       judged.by_class(suites)):
            self.assertEqual(sum(map(int, cells[1:5])), sum(len(suite.rows) for suite in members), cells[0])

    def test_a_miss_is_named(self):
        missed = copy.copy(suites[0])
        missed.breaches = ["too far off"]
        self.assertEqual(judged.line("x", [missed, suites[1]])[-1], f"no: {missed.name}")


class Document(unittest.TestCase):
    def test_is_what_the_script_writes(self):
        text = build.document.read_text()
        self.assertEqual(text, build.with_table(text, suites), "run: ./run validation --docs")

    def test_only_what_is_between_the_markers_changes(self):
        text = f"before\n{build.begin}\nold\n{build.end}\nafter <!-- end -->\n"
        found = build.with_table(text, suites)
        self.assertTrue(found.startswith(f"before\n{build.begin}\n\n| what |"))
        self.assertTrue(found.endswith(f"|\n\n{build.end}\nafter <!-- end -->\n"))
        self.assertEqual(build.with_table(found, suites), found)
        for broken in ("nothing", build.begin, text + build.begin, f"{build.end}{build.begin}"):
            with self.assertRaises(judged.Refused):
                build.with_table(broken, suites)


class Page(unittest.TestCase):
    def test_is_made_and_has_all(self):
        ran = built("--out", folder.name)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        text = (pathlib.Path(folder.name) / "index.html").read_text()
        self.assertEqual(text, page.page_of(suites))
        reader = Reader(text)
        self.assertEqual(reader.open, [])
        self.assertEqual(text.count('<section class="card suite"'), len(suites))
        self.assertEqual(text.count('role="img"'), len(suites))
        ids = re.findall(r'id="([^"]+)"', text)
        self.assertEqual(len(ids), len(set(ids)))
        for anchor in re.findall(r'href="#([^"]+)"', text):
            self.assertIn(anchor, ids)
        for name in re.findall(r'aria-labelledby="([^"]+)"', text):
            self.assertLessEqual(set(name.split()), set(ids))
        cells = collections.Counter(reader.cells)
        for line in judged.class_lines(suites):
            self.assertLessEqual(set(line), set(cells), line[0])
        self.assertEqual(sum(map(len, (suite.rows for suite in suites))), sum(text.count(f">All {n} rows") * n for n in
                                                                            {len(suite.rows) for suite in suites}))

    def test_loads_and_runs_nothing(self):
        reader = Reader(page.page_of(suites))
        self.assertEqual({"script", "img", "iframe", "object", "link", "form"} & set(reader.tags), set())
        self.assertFalse([name for name, _ in reader.attributes if name.startswith("on") or name in ("src", "style")])
        self.assertIn(("content", "default-src 'none'; style-src 'unsafe-inline'; img-src data:"), reader.attributes)

    def test_hostile_text_is_escaped(self):
        script = "<script>alert(1)</script>"
        quotes = "\"'><img src=x onerror=alert(2)>&amp;`</code>`</title></style>-->{0}|%s"
        plain = Reader(page.page_of(judged.suites_of(program, [case_file("plain.json")])))
        file = case_file("<b>&'.json", name=script, suite=quotes, description=script + quotes,
                         source={name: script + quotes for name in ("origin", "measured", "fitted", "date")})
        case = json.loads(pathlib.Path(file).read_text())
        for row, label in zip(case["measured"], (script, quotes)):
            row["label"] = label
        case["measured"][0]["time"] = "10 us"  # off, so that the picture says what it is
        pathlib.Path(file).write_text(json.dumps(case))
        text = page.page_of(judged.suites_of(program, [file]))
        reader = Reader(text)
        self.assertEqual(reader.open, [])
        self.assertNotIn("<script", text)
        self.assertNotIn("<img", text)
        self.assertEqual(set(reader.tags), set(plain.tags) | {"p"})
        self.assertEqual({name for name, _ in reader.attributes}, {name for name, _ in plain.attributes})
        self.assertIn(script, reader.cells)
        self.assertIn(quotes.replace("`", ""), reader.cells)
        self.assertIn("&lt;b&gt;&amp;&#x27;", text)  # the command, quoted for a shell
        self.assertIn("no", reader.cells)

    def test_long_text_does_not_make_the_page_long(self):
        file = case_file("long.json", name="n" * 10_000, suite="s" * 10_000)
        case = json.loads(pathlib.Path(file).read_text())
        case["measured"] = [row | {"label": "l" * 10_000, "time": "10 us"} for row in case["measured"] * 100]
        pathlib.Path(file).write_text(json.dumps(case))
        text = page.page_of(judged.suites_of(program, [file]))
        self.assertNotIn("l" * (page.longest + 1), text)
        self.assertIn("l" * page.longest + "...", text)
        self.assertLess(len(text), 300_000)

    def test_no_held_row(self):
        """The program refuses such a case; a page of one has no errors, and no figure stands for them."""
        file = case_file("none_held.json")
        case = json.loads(pathlib.Path(file).read_text())
        case["measured"][0]["fitted"] = True
        pathlib.Path(file).write_text(json.dumps(case))
        with self.assertRaisesRegex(judged.Refused, "no row is held"):
            judged.suites_of(program, [file])
        suite = judged.suites_of(program, [case_file("one_held.json")])[0]
        suite.rows = [row for row in suite.rows if row.use != "held"]
        suite.found = suite.found | {"held": {"rows": 0}, "labels": [one for one in suite.found["labels"] if one["use"] != "held"]}
        self.assertEqual(judged.class_lines([suite]), [["Other cases", "0", "1", "0", "0", "-", "-", "-", "-", "1", "5", "yes"]])
        self.assertEqual(Reader(page.page_of([suite])).open, [])


class Pictures(unittest.TestCase):
    def row(self, measured, predicted, use="held"):
        found = {"label": "x", "use": use, "measured_us": measured, "predicted_us": predicted,
                 "error_percent": 100 * (predicted / measured - 1)}
        return judged.Row({"name": "s", "tolerance": {"p90_percent": 5}}, "c", found, False)

    def test_equal_times_are_on_the_diagonal_and_the_band_is_ten_percent(self):
        scale = scatter.Scale([1.0, 1000.0])
        for time in (1.0, 10.0, 1000.0):
            self.assertAlmostEqual((scale.x(time) - scatter.left) / scatter.side, scale.part(time), delta=0.001)
            self.assertAlmostEqual(scatter.height - scatter.bottom - scale.y(time),
                                   scale.part(time) * (scatter.height - scatter.top - scatter.bottom), delta=0.1)
        corners = re.search(r'points="([^"]+)"', scatter.band(scale))[1].split()
        self.assertEqual(corners[1], f"{scale.x(scale.low)},{scale.y(1.1 * scale.low)}")
        self.assertEqual(corners[5], f"{scale.x(scale.low / 0.9)},{scale.y(scale.low)}")

    def test_ticks_are_round_and_few(self):
        self.assertEqual(scatter.ticks(1, 100), [1, 2, 5, 10, 20, 50, 100])
        for low, high in ((1, 1.25), (3, 4.1), (1, 9), (1e-3, 1e9), (0.5, 3e4), (999, 1001)):
            found = scatter.ticks(low, high)
            self.assertLessEqual(len(found), 8)
            self.assertTrue(all(low <= time <= high for time in found))

    def test_times(self):
        for microseconds, text in ((0.5, "500 ns"), (12.9, "12.9 us"), (999.5, "999.5 us"), (2165.3, "2.165 ms"), (14206800, "14.21 s"),
                                   (4e9, "4,000 s")):
            self.assertEqual(scatter.time_text(microseconds), text)

    def test_odd_times(self):
        """One point, all alike, none above 0, and the largest that a file may hold."""
        for rows in ([self.row(5, 5)], [self.row(5, 5)] * 3, [self.row(1e-6, 9e12), self.row(9e12, 1e-6, "fitted")]):
            self.assertIn("<svg", scatter.drawn("s", rows, "i", str))
        self.assertEqual(scatter.drawn("s", [self.row(5, 0)], "i", str), "")
        self.assertEqual(scatter.drawn("s", [], "i", str), "")

    def test_marks_by_use(self):
        rows = [self.row(5, 7, use) for use in judged.uses]
        found = scatter.drawn("s", rows, "i", str)
        self.assertEqual(set(scatter.shapes), set(judged.uses))
        for use in judged.uses:
            self.assertIn(f"{use}: 1</li>", found)
        self.assertEqual(found.count("<title>x: +40.0 %</title>"), 3)  # not below range


class Commands(unittest.TestCase):
    def test_mistakes(self):
        for words, reason in ((["no_such.json"], "no_such.json"), (["--docs", "models/x.json"], "name none"),
                              (["docs/validation.md"], "docs/validation.md")):
            ran = built("--out", folder.name, *words)
            self.assertEqual(ran.returncode, 2, words)
            self.assertIn(reason, ran.stderr)
            self.assertNotIn("Traceback", ran.stderr)
        ran = subprocess.run([sys.executable, str(root / "validation/build.py"), "--sgdsim", "no/program"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, "Traceback" in ran.stderr), (2, False))

    def test_beyond_tolerance(self):
        """The slow port alone is beyond, as docs/validation.md says; the page is made nevertheless."""
        out = pathlib.Path(folder.name) / "slow"
        ran = built("--out", str(out), "models/collective/data/tcp_star_slow_port_4.json")
        self.assertEqual(ran.returncode, 5)
        self.assertIn("tcp_star: the median error of ", ran.stderr)
        self.assertIn('<span class="chip bad">no: tcp_star</span>', (out / "index.html").read_text())


if __name__ == "__main__":
    unittest.main()
