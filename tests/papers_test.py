"""Every claim in papers/ has the verdict that its file states, and nothing remembered is scored.

    SGDSIM_PROGRAM=build/release/bin/sgdsim python3 tests/papers_test.py
"""

import copy
import importlib.util
import json
import pathlib
import re
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "papers"))
sys.dont_write_bytecode = True
import claims  # noqa: E402
import docs  # noqa: E402
import page  # noqa: E402
import pages  # noqa: E402

judged_papers = []
folder = tempfile.TemporaryDirectory()


def setUpModule():
    judged_papers.extend(claims.judged_papers(pages.default_program(), folder.name))


# ---- the form of the files

text, texts, numbers, flag = str, [str], [(int, float)], bool
claim_fields = {"id": text, "text": text, "printed": text, "known": text, "kind": text, "verdict": text, "runs": dict,
                "let": dict, "ours": texts, "published": texts, "expected": texts, "rows": dict, "holds": texts,
                "largest_percent": (int, float), "median_percent": (int, float), "ratio": numbers, "why_not": text,
                "note": text, "value": text, "names": texts, "unit": text, "stored": flag, "fitted": flag}
claim_required = ["id", "text", "printed", "known", "kind", "verdict"]
fit_fields = {"id": text, "text": text, "on": text, "scored": text, "runs": dict, "each": flag, "factor": (int, float),
              "rows": dict, "terms": texts, "constants": texts, "units": texts}
fit_required = ["id", "text", "on", "scored", "runs", "rows", "terms", "constants", "units"]
figure_fields = {"name": text, "title": text, "text": text, "runs": dict, "let": dict, "panels": list, "columns": int,
                 "stored": flag}
paper_fields = {"schema": text, "order": int, "paper": text, "citation": text, "read": text, "findings": texts,
                "claims": list, "fits": list, "figures": list}
points_head = ["figure", "series", "x", "y", "unit", "reading error"]


def form_breaches(place, found, fields, required):
    breaches = [f"{place}: unknown field {name}" for name in found if name not in fields]
    breaches += [f"{place}: no field {name}" for name in required if name not in found]
    for name, kind in fields.items():
        value = found.get(name)
        if value is None:
            continue
        is_list = isinstance(kind, list)
        items = value if is_list and isinstance(value, list) else [value]
        if is_list and not isinstance(value, list) or not all(isinstance(one, kind[0] if is_list else kind) for one in items):
            breaches.append(f"{place}: {name} has another type")
    return breaches


def claim_breaches(place, claim):
    """What contradicts itself in a claim."""
    breaches = form_breaches(place, claim, claim_fields, claim_required)
    for field, known in (("known", claims.knowledge), ("kind", claims.kinds), ("verdict", claims.verdicts)):
        if claim.get(field) not in known:
            breaches.append(f"{place}: {field} is {claim.get(field)!r}, expected one of {known}")
    scores = [name for name in ("published", "expected", "rows", "holds", "largest_percent", "ratio") if name in claim]
    is_remembered = claim.get("known") == "remembered"
    if is_remembered and scores:
        breaches.append(f"{place}: is remembered and has {', '.join(scores)}")
    if is_remembered and claim.get("verdict") not in ("remembered", "not possible"):
        breaches.append(f"{place}: is remembered and has the verdict {claim.get('verdict')}")
    if is_remembered and "remembered" not in claim.get("printed", ""):
        breaches.append(f"{place}: is remembered, and `printed` does not say so")
    if ("why_not" in claim) != (claim.get("verdict") == "not possible"):
        breaches.append(f"{place}: a reason (why_not) and the verdict `not possible` go together")
    if (claim.get("verdict") == "within") != ("largest_percent" in claim):
        breaches.append(f"{place}: a band and the verdict `within` go together")
    if claim.get("verdict") == "differs" and "holds" not in claim and "ratio" not in claim:
        breaches.append(f"{place}: differs, by how much? `ratio` or `holds` must say")
    return breaches


class Files(unittest.TestCase):
    def test_form(self):
        for judged in judged_papers:
            file, name = judged.paper.file, judged.paper.name
            breaches = form_breaches(name, file, paper_fields, [*paper_fields][:7])
            for claim in judged.paper.claims:
                breaches += claim_breaches(f"{name} {claim.get('id')}", claim)
            for fit in judged.paper.fits:
                breaches += form_breaches(f"{name} {fit.get('id')}", fit, fit_fields, fit_required)
            for figure in judged.paper.figures:
                breaches += form_breaches(f"{name} {figure.get('name')}", figure, figure_fields, ["name", "title", "text", "panels"])
            ids = [claim["id"] for claim in judged.paper.claims]
            self.assertEqual(len(ids), len(set(ids)), name)
            self.assertEqual(breaches, [])
            self.assertEqual(file["schema"], "sgdsim/paper/1")
            head = (judged.paper.folder / "points.csv").read_text().partition("\n")[0]
            self.assertEqual(head.split(","), points_head, name)

    def test_every_file_is_used(self):
        """By the claims, or by a file that they use."""
        for judged in judged_papers:
            names = {file.name for file in judged.paper.folder.iterdir() if file.name != "__pycache__"}
            reached, new = set(), {"claims.json", "points.csv"} | ({"reference.py", "stored.csv"} & names)
            while new:
                reached |= new
                contents = "\n".join((judged.paper.folder / name).read_text() for name in new)
                new = {name for name in names - reached if name in contents}
            self.assertEqual(names, reached, judged.paper.name)

    def test_stored_answers_are_those_of_the_documentation(self):
        pages = "".join((root / f"docs/{name}.md").read_text() for name in ("packets", "validation"))
        known = {float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", pages)}
        for judged in judged_papers:
            if (judged.paper.folder / "stored.csv").exists():
                for row in claims.stored_rows(judged.paper):
                    self.assertIn(float(row["y"]), known, row)
                    self.assertTrue(row["command"], row)


class Verdicts(unittest.TestCase):
    def test_are_those_of_the_files(self):
        self.assertEqual([breach for judged in judged_papers for breach in judged.breaches()], [])

    def test_all_papers_are_there(self):
        names = {judged.paper.name for judged in judged_papers}
        self.assertGreaterEqual(names, {"lp", "pipe_sgd", "mg_wfbp", "gtopk", "mlt"})

    def test_nothing_remembered_is_scored(self):
        for judged in judged_papers:
            for outcome in judged.outcomes:
                if outcome.claim["known"] == "remembered":
                    self.assertIn(outcome.verdict, ("remembered", "not possible"))
                    self.assertEqual((outcome.errors, outcome.ratios), ([], []), outcome.claim["id"])

    def test_no_row_is_fitted_and_scored(self):
        for judged in judged_papers:
            fitted = {(series["figure"], series["series"], x) for fit in judged.paper.fits
                      for series in fit["rows"]["series"] for x in fit["rows"]["only"]}
            for claim in judged.paper.claims:
                if claim["verdict"] in ("exact", "within") and "rows" in claim:
                    rows = {(series["figure"], series["series"], x) for series in claim["rows"]["series"]
                            for x in claim["rows"]["only"]}
                    self.assertEqual(rows & fitted, set(), f"{judged.paper.name} {claim['id']}")

    def test_constants_of_fits_stand_in_the_sweeps(self):
        """What was fitted is what is played."""
        names = ("gbe_32_loaded", "topk", "gtopk")
        sweeps = {name: json.loads((root / f"papers/gtopk/{name}.json").read_text()) for name in names}
        fits = {fit["id"]: fit["constants"] for judged in judged_papers for fit in judged.paper.fits}
        for stated, point in zip(fits["network"], sweeps["gbe_32_loaded"]["nic"]["efficiency"]):
            self.assertAlmostEqual(point["efficiency"] * float(stated), 1, places=3)
        compression = sweeps["gtopk"]["axes"]["compression"][0]
        self.assertAlmostEqual(4 * float(compression["host_copy"]["per_byte"].split()[0]), float(fits["gTop-k"][0]), delta=0.05)
        self.assertAlmostEqual(16 * float(compression["merge"]["per_byte"].split()[0]), float(fits["gTop-k"][1]), delta=1)
        for nodes, compression in zip([4, 8, 16, 32], sweeps["topk"]["axes"]["compression"]):
            self.assertAlmostEqual(4 * float(compression["host_copy"]["per_byte"].split()[0]), float(fits["Top-k"][0]))
            per_byte = float(compression["collective"]["per_byte"].split()[0])
            self.assertAlmostEqual(per_byte, 9 * (nodes - 1) / nodes + float(fits["Top-k"][1]) * nodes / 8, places=4)


class Rules(unittest.TestCase):
    """The judge itself, on invented claims."""

    def outcome(self, **claim):
        claim = {"id": "x", "text": "", "printed": "", "known": "read", "kind": "measured", "verdict": "exact"} | claim
        answers = claims.Answers(pages.default_program(), folder.name, {})
        return claims.Outcome(judged_papers[0].paper, claim, answers)

    def test_digits(self):
        for printed, half in (("48.3", 0.05), ("5", 0.5), ("0.0247", 0.00005), ("1e-3", 0.0005), ("9.72e-4", 5e-7)):
            self.assertAlmostEqual(claims.digits_half(printed), half, 12)

    def test_judgements(self):
        for reason, claim, expected in [
            ("digits as printed", {"published": ["48.3"], "ours": ["48.349"]}, "exact"),
            ("one digit off, no band", {"published": ["48.3"], "ours": ["48.36"]}, "differs"),
            ("one digit off, within its band", {"published": ["48.3"], "ours": ["48.4"], "largest_percent": 1}, "within"),
            ("beyond its band", {"published": ["48.3"], "ours": ["50"], "largest_percent": 1}, "differs"),
            ("one of two beyond", {"published": ["1.00", "1.00"], "ours": ["1", "1.5"], "largest_percent": 10}, "differs"),
            ("a median beyond", {"published": ["1.00"] * 3, "ours": ["[1, 1.08, 1.08]"], "largest_percent": 10,
                                 "median_percent": 5}, "differs"),
            ("nothing published, nothing here", {"published": ["0"], "ours": ["0"]}, "exact"),
            ("nothing published, something here", {"published": ["0"], "ours": ["3"], "largest_percent": 50}, "differs"),
            ("no number", {"published": ["1"], "ours": ["float('nan')"], "largest_percent": 50}, "differs"),
            ("a formula to eight digits", {"expected": ["2 * 3"], "ours": ["6.00000001"]}, "exact"),
            ("a formula, off", {"expected": ["2 * 3"], "ours": ["6.000001"]}, "differs"),
            ("a bound", {"kind": "at most", "published": ["2"], "ours": ["1.99"]}, "holds"),
            ("a bound, broken", {"kind": "at most", "published": ["2"], "ours": ["[1, 2.01]"]}, "differs"),
            ("reached", {"kind": "at least", "published": ["5.4"], "ours": ["6"]}, "holds"),
            ("not reached", {"kind": "at least", "published": ["5.4"], "ours": ["4"]}, "differs"),
            ("an order", {"holds": ["1 < 2", "2 < 3"]}, "holds"),
            ("no order", {"holds": ["1 < 2", "3 < 2"]}, "differs"),
            ("only ours", {"ours": ["1"]}, "there"),
            ("remembered, however right", {"known": "remembered", "published": ["1"], "ours": ["1"]}, "remembered"),
            ("not possible", {"why_not": "no data"}, "not possible"),
            ("fitted, however right", {"fitted": True, "published": ["1"], "ours": ["1"]}, "fitted"),
        ]:
            self.assertEqual(self.outcome(**claim).verdict, expected, reason)

    def test_a_point_that_is_not_there_is_named(self):
        rows = {"run": "s", "x": "cluster.nodes", "only": [3], "ours": "1",
                "series": [{"figure": "abstract", "series": "MST cost over P=2"}]}
        with self.assertRaises(KeyError):
            self.outcome(rows=rows)

    def test_a_wrong_statement_is_found(self):
        for judged in judged_papers:
            for outcome in judged.outcomes[:5]:
                changed = copy.copy(outcome)
                changed.claim = outcome.claim | {"verdict": "exact" if outcome.verdict != "exact" else "differs"}
                self.assertTrue(claims.breaches_of(changed), outcome.claim["id"])

    def test_a_wide_band_is_found(self):
        found = self.outcome(published=["100"], ours=["102"], largest_percent=20, verdict="within")
        self.assertTrue(claims.breaches_of(found))

    def test_fits(self):
        rows = [(3 * a + 2 * b, [a, b], 10.0) for a, b in ((1, 1), (2, 1), (1, 5))]
        for constant, expected in zip(claims.least_squares(rows), [3, 2]):
            self.assertAlmostEqual(constant, expected)
        rows = [(3 * a - 1 * b, [a, b], 10.0) for a, b in ((1, 1), (2, 1), (1, 2))]
        self.assertEqual(claims.least_squares(rows)[1], 0)  # none below 0


class Pages(unittest.TestCase):
    def test_documentation_is_what_the_script_writes(self):
        self.assertEqual((root / "docs/papers.md").read_text(), docs.page_of(judged_papers),
                         "run: python3 papers/build.py --docs")

    def test_page_has_every_claim_and_loads_nothing(self):
        found = page.page_of(judged_papers, {judged.paper.name: [] for judged in judged_papers})
        for judged in judged_papers:
            for claim in judged.paper.claims:
                self.assertIn(f'<td class="id">{claim["id"]}</td>', found)
        self.assertNotRegex(found, r'(src|href)="https?:')

    @unittest.skipIf(importlib.util.find_spec("matplotlib") is None, "this Python has no matplotlib")
    def test_figures_show_published_points_and_curves(self):
        import pictures
        for judged in judged_papers:
            for spec in judged.paper.figures:
                svg = pictures.draw(judged, spec)
                self.assertGreater(len(re.findall(r"<(?:path|use) ", svg)), 10, spec["name"])
                inside = pictures.for_page(svg, spec["title"])
                self.assertNotIn(pictures.series[0], inside)
                ids = re.findall(r'id="([^"]+)"', inside)
                self.assertEqual(len(ids), len(set(ids)), spec["name"])


if __name__ == "__main__":
    unittest.main()
