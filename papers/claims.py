"""What a paper claims, what sgdsim says, and the verdict: computed from the answers, compared with the file.

A folder with a claims.json is a paper. papers/README.md describes the fields; tests/papers_test.py checks them.
Expressions in these files are Python over the answers of the commands that are named beside them. They are part
of this repository, and are trusted as its code is.
"""

import concurrent.futures
import csv
import functools
import json
import math
import pathlib
import re
import runpy
import shlex
import statistics
import subprocess
import types

root = pathlib.Path(__file__).resolve().parent.parent
results = "results/"  # where commands of the files leave what is read after them

verdicts = ["exact", "within", "holds", "fitted", "differs", "there", "not possible", "remembered"]
knowledge = ["read", "derived", "remembered"]
kinds = ["exact", "measured", "ratio", "at most", "at least", "order", "formula", "feature", "no number"]
rounding = 1e-8  # of a formula: picoseconds are whole, and eight digits are more than anybody prints


# ---- reading


class Paper:
    """A folder: its claims, and the points that were published."""

    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.file = json.loads((folder / "claims.json").read_text())
        with open(folder / "points.csv", newline="") as lines:
            self.points = list(csv.DictReader(lines))
        self.claims = self.file["claims"]
        self.fits = self.file.get("fits", [])
        self.figures = self.file.get("figures", [])

    def reference(self):
        """The folder's own reference.py, if it has one."""
        file = self.folder / "reference.py"
        return module_of(file) if file.exists() else None

    def series(self, figure, series, read=float):
        """The published points of a series, as (x, y)."""
        found = [(number(row["x"]), read(row["y"])) for row in self.points
                 if row["figure"] == figure and row["series"] == series]
        if not found:
            raise KeyError(f"{self.name}/points.csv has no series {series!r} in figure {figure!r}")
        return found


def module_of(file):
    return types.SimpleNamespace(**runpy.run_path(str(file)))


def number(text):
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return text


def papers():
    found = [Paper(file.parent) for file in sorted((root / "papers").glob("*/claims.json"))]
    return sorted(found, key=lambda paper: (paper.file["order"], paper.name))


# ---- answers


class Answer(dict):
    """An answer of the program: a.metrics.speedup is a["metrics"]["speedup"]."""

    __getattr__ = dict.__getitem__


def commands_of(part):
    """The commands of a claim, a fit or a figure."""
    return [run if isinstance(run, str) else run["command"] for run in part.get("runs", {}).values()]


def runs_of(paper):
    """All commands of a paper."""
    return [command for part in paper.claims + paper.fits + paper.figures for command in commands_of(part)]


def arguments_of(command, program, out):
    words = shlex.split(command)
    words[0] = str(program)
    words = [word.replace(results, str(out) + "/") for word in words]
    has_format = {"run", "plan", "collective", "validate", "fit", "tune", "replay", "jobs", "trace"}
    if words[1] in has_format and "--timeline" not in words:
        words += ["--format", "json"]
    return words + (["--quiet"] if words[1] == "sweep" else [])


def read_answer(text):
    """One object, or the points of a sweep, one a line."""
    try:
        return json.loads(text, object_hook=Answer)
    except json.JSONDecodeError:
        return [json.loads(line, object_hook=Answer) for line in text.splitlines()]


class Answers:
    """What every command said; each is run once, two at a time."""

    def __init__(self, program, out, found=None):
        self.program, self.out, self.found = pathlib.Path(program).resolve(), pathlib.Path(out).resolve(), found or {}
        self.out.mkdir(parents=True, exist_ok=True)

    def ask(self, commands):
        new = sorted(set(commands) - set(self.found), key=lambda command: " jobs " not in command)  # the long ones first
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.found.update(zip(new, pool.map(self.run, new)))

    def run(self, command):
        ran = subprocess.run(arguments_of(command, self.program, self.out), cwd=root, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"{command}\nended with exit code {ran.returncode}: {ran.stderr.strip()}")
        return read_answer(ran.stdout) if ran.stdout.lstrip().startswith("{") else None

    def names(self, part):
        """The names that expressions of a claim, fit or figure may use."""
        return {name: self.of(run) for name, run in part.get("runs", {}).items()}

    def of(self, run):
        run = {"command": run} if isinstance(run, str) else run
        if "reads" in run:
            return read_answer((self.out / run["reads"].removeprefix(results)).read_text())
        return self.found[run["command"]]


def stored_rows(paper):
    """Answers that take too long to be asked again, with the commands that gave them."""
    with open(paper.folder / "stored.csv", newline="") as lines:
        return list(csv.DictReader(lines))


# ---- expressions


def at(points, **where):
    """The one point of a sweep at these places; fields with dots are written with two underscores."""
    where = {name.replace("__", "."): value for name, value in where.items()}
    return one_point(points, where)


def is_at(point, where):
    return all(point["axes"].get(field) == value for field, value in where.items())


def one_point(points, where):
    found = [point for point in points if is_at(point, where)]
    if len(found) != 1:
        raise KeyError(f"{len(found)} points of the sweep are at {where}")
    return found[0]


def value(expression, names):
    functions = {"at": at, "log2": math.log2, "ceil": math.ceil, "max": max, "min": min, "abs": abs, "len": len,
                 "range": range, "zip": zip, "all": all, "any": any, "sum": sum, "sorted": sorted, "round": round,
                 "median": statistics.median, "set": set, "isclose": math.isclose, "list": list, "str": str, "float": float}
    return eval(expression, {"__builtins__": {}} | functions | names)  # noqa: S307: files of this repository


def values(expressions, names):
    """A list: an expression may give one number or several."""
    found = []
    for expression in expressions:
        one = value(expression, names)
        found += one if isinstance(one, list) else [one]
    return found


# ---- pairs of published and ours


def row_pairs(paper, part, names):
    """(name, published, ours) for every published point of these rows that our sweep has."""
    rows = part["rows"]
    pairs = []
    for series in rows["series"]:
        known = {key: field for key, field in series.items() if key not in ("figure", "series", "where")}
        found = dict(paper.series(series["figure"], series["series"], str))
        for x in rows["only"]:
            y = found[x]  # every point that is named must be there
            point = one_point(names[rows["run"]], {rows["x"]: x} | series.get("where", {}))
            published = value(rows["published"], known | {"x": x, "y": float(y)}) if "published" in rows else y
            ours = value(rows["ours"], known | {"x": x, "point": point})
            pairs.append((f"{series.get('name', series['series'])}, {x}", published, ours))
    return pairs


def claim_names(paper, claim, answers):
    names = answers.names(claim) | {"points": paper.series, "reference": paper.reference(),
                                    "dict_of": lambda *series: dict(paper.series(*series))}
    if "stored" in claim:
        names["stored"] = functools.partial(stored_values, paper)
    return names | lets(claim, names)


def lets(part, names):
    """Names that a claim or figure gives to expressions, in their order."""
    found = {}
    for name, expression in part.get("let", {}).items():
        found[name] = value(expression, names | found)
    return found


def stored_values(paper, figure, series):
    found = [float(row["y"]) for row in stored_rows(paper) if (row["figure"], row["series"]) == (figure, series)]
    if not found:
        raise KeyError(f"{paper.name}/stored.csv has no series {series!r} in figure {figure!r}")
    return found


def pairs_of(paper, claim, names):
    if "rows" in claim:
        return row_pairs(paper, claim, names)
    ours = values(claim.get("ours", []), names)
    labels = claim.get("names", [])
    published = claim.get("published") or values(claim.get("expected", []), names) or [None] * len(ours)
    if claim["kind"] in ("at most", "at least") and len(published) == 1:
        published = published * len(ours)
    if len(published) != len(ours) or len(labels) not in (0, len(ours)):
        raise ValueError(f"{paper.name} {claim['id']}: {len(published)} published values, {len(ours)} of ours")
    return list(zip(labels or [""] * len(ours), published, ours))


# ---- verdicts


def digits_half(text):
    """Half of the last digit of a printed number."""
    mantissa, _, exponent = text.lower().partition("e")
    return 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def is_exact(published, ours):
    if isinstance(published, str):
        return abs(ours - float(published)) <= digits_half(published) * (1 + 1e-9)
    return abs(ours - published) <= rounding * abs(published)


def errors_of(pairs):
    """In percent, of what was published; of a published 0 all but 0 is without end."""
    return [100 * abs(ours / float(published) - 1) if float(published) else 0 if ours == 0 else math.inf
            for _, published, ours in pairs]


def ratios_of(pairs):
    return [ours / float(published) for _, published, ours in pairs if published is not None and float(published)]


class Outcome:
    """A claim with ours, the ratios and the verdict."""

    def __init__(self, paper, claim, answers):
        self.claim = claim
        self.names = claim_names(paper, claim, answers)
        self.pairs = pairs_of(paper, claim, self.names)
        self.scored = claim["known"] != "remembered" and all(pair[1] is not None for pair in self.pairs)
        self.errors = errors_of(self.pairs) if self.scored else []
        self.ratios = ratios_of(self.pairs) if self.scored else []
        self.verdict = self.judged()

    def judged(self):
        claim = self.claim
        if "why_not" in claim:
            return "not possible"
        if claim["known"] == "remembered":
            return "remembered"
        if "fitted" in claim:
            return "fitted"
        if "holds" in claim:
            return "holds" if all(value(one, self.names) for one in claim["holds"]) else "differs"
        if not self.pairs or any(published is None for _, published, _ in self.pairs):
            return "there"
        if claim["kind"] in ("at most", "at least"):
            sign = 1 if claim["kind"] == "at most" else -1
            return "holds" if all(sign * ours <= sign * float(most) for _, most, ours in self.pairs) else "differs"
        if all(is_exact(published, ours) for _, published, ours in self.pairs):
            return "exact"
        return "within" if self.is_within() else "differs"

    def is_within(self):
        largest = self.claim.get("largest_percent")
        median = self.claim.get("median_percent", largest)
        return largest is not None and max(self.errors) <= largest and statistics.median(self.errors) <= median

    def text(self):
        """The verdict in words, for the page."""
        claim = self.claim
        if self.verdict == "within":
            if "median_percent" in claim:
                return f"within {claim['largest_percent']:g} %, median {claim['median_percent']:g} %"
            return f"within {claim['largest_percent']:g} %"
        if self.verdict == "remembered":
            return "remembered, not scored"
        return self.verdict


def breaches_of(outcome):
    """What is not as the file states it; nothing if all is."""
    claim, breaches = outcome.claim, []
    if outcome.verdict != claim["verdict"]:
        breaches.append(f"the file says {claim['verdict']}, the program {outcome.verdict}: {outcome.pairs}")
    low, high = claim.get("ratio", (-math.inf, math.inf))
    if not all(low <= ratio <= high for ratio in outcome.ratios):
        breaches.append(f"ratios {outcome.ratios} are not within {claim['ratio']}")
    if outcome.verdict == "within" and max(outcome.errors) < 0.4 * claim["largest_percent"] - 1:
        breaches.append(f"the band of {claim['largest_percent']} % is wide: the largest error is {max(outcome.errors)}")
    return breaches


# ---- fits


def least_squares(rows):
    """Coefficients of at most two terms, none below 0, that make sums of squared relative errors least.
    A row: (what is to be explained, its terms, the published value)."""
    columns = range(len(rows[0][1]))
    free = list(columns)
    while True:
        matrix = [[sum(terms[i] * terms[j] / whole**2 for _, terms, whole in rows) for j in free] for i in free]
        right = [sum(rest * terms[i] / whole**2 for rest, terms, whole in rows) for i in free]
        if len(free) == 1:
            solved = [right[0] / matrix[0][0]]
        else:
            (a, b), (c, d) = matrix
            solved = [(right[0] * d - b * right[1]) / (a * d - b * c), (a * right[1] - c * right[0]) / (a * d - b * c)]
        if min(solved) >= 0 or len(free) == 1:
            return [solved[free.index(i)] if i in free else 0.0 for i in columns]
        free.remove(free[solved.index(min(solved))])


def fitted(paper, fit, answers):
    """The constants of a fit: one list, or one for each x where the fit is made for each by itself."""
    names = answers.names(fit)
    xs = [[x] for x in fit["rows"]["only"]] if fit.get("each") else [fit["rows"]["only"]]
    found = []
    for only in xs:
        rows = []
        for series in fit["rows"]["series"]:
            known = {key: field for key, field in series.items() if key not in ("figure", "series", "where")}
            for x, y in paper.series(series["figure"], series["series"]):
                if x in only:
                    point = one_point(names[fit["rows"]["run"]], {fit["rows"]["x"]: x} | series["where"])
                    here = known | {"x": x, "y": y, "point": point}
                    whole = value(fit["rows"]["published"], here)
                    rows.append((whole - value(fit["rows"]["ours"], here),
                                 [value(term, here) for term in fit["terms"]], whole))
        found += least_squares(rows)
    return found


def fit_breaches(fit, found):
    """Constants that are not those of the file, to the digits that it gives."""
    return [f"{fit['id']}: stated {stated}, fitted {constant}" for stated, constant in zip(fit["constants"], found)
            if not is_exact(stated, constant * fit.get("factor", 1))]


# ---- all of it


class Judged:
    """A paper with everything computed."""

    def __init__(self, paper, answers):
        self.paper, self.answers = paper, answers
        self.outcomes = []
        for claim in paper.claims:
            try:
                self.outcomes.append(Outcome(paper, claim, answers))
            except Exception as error:
                raise RuntimeError(f"{paper.name} {claim['id']}: {error!r}") from error
        self.fits = [(fit, fitted(paper, fit, answers)) for fit in paper.fits]

    def breaches(self):
        found = [f"{self.paper.name} {outcome.claim['id']}: {breach}"
                 for outcome in self.outcomes for breach in breaches_of(outcome)]
        return found + [f"{self.paper.name} {breach}" for fit, constants in self.fits
                        for breach in fit_breaches(fit, constants)]


def judged_papers(program, out):
    found = papers()
    answers = Answers(program, out)
    answers.ask([command for paper in found for command in runs_of(paper)])
    return [Judged(paper, answers) for paper in found]


def plain_number(found):
    """As a person would write it: four digits, or all of a whole number."""
    if isinstance(found, str):
        return found
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return str(found)
    if found == int(found) and abs(found) < 1e7:
        return f"{int(found):,}"
    return re.sub(r"e([+-])0*", r"e\1", f"{found:,.5g}" if abs(found) < 1e5 else f"{found:,.0f}")
