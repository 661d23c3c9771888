"""What `sgdsim validate` says of case files, and the same rows summed up by class.

Figures of suites and labels are the program's. A class may have several suites, so its figures are made here, by the
program's own rule (study/validate/validation.cpp); tests/validation_test.py compares both on every suite.
"""

import json
import math
import os
import shlex
import subprocess

import classes
import pages

uses = ["held", "fitted", "reported", "below range"]
said_elsewhere = {"label", "use", "measured_us", "quartiles_us", "predicted_us", "predicted_ps", "error_percent", "perfect_scaling_percent",
                  "reason", "wrong"}


class Refused(Exception):
    """The program's own sentence: a file cannot be read, or the program is not there."""


def shipped_files():
    """All case files below models/."""
    found = []
    for file in sorted((pages.root / "models").rglob("*.json")):
        content = json.loads(file.read_text())
        if isinstance(content, dict) and content.get("schema") == "sgdsim/case/1":
            found.append(str(file.relative_to(pages.root)))
    return found


def answer(program, files):
    """The program's JSON. Exit code 5 says that a suite is beyond its tolerance, which the answer says, too."""
    words = [os.path.abspath(program), "validate", "--rows", "--format", "json", "--", *files]
    try:
        ran = subprocess.run(words, cwd=pages.root, capture_output=True, text=True, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{program}: {error.strerror}; ./run build makes it, --sgdsim names another") from None
    if ran.returncode not in (0, 5):
        raise Refused(ran.stderr.strip() or f"{program} ended with {ran.returncode}")
    return json.loads(ran.stdout)


# ---- rows


def signed_text(percent):
    """As the program prints it."""
    return ("+" if percent > 0 else "") + f"{percent:.2f}"


class Row:
    def __init__(self, suite, case, found, has_experts):
        self.case, self.found, self.has_experts = case, found, has_experts
        self.label, self.use, self.error = found["label"], found["use"], found["error_percent"]
        self.measured, self.predicted = found["measured_us"], found["predicted_us"]
        self.scaled = found.get("perfect_scaling_percent")  # the error of perfect scaling
        self.is_beyond = self.use == "held" and abs(self.error) > suite["tolerance"]["p90_percent"]
        self.reason = found.get("wrong") or found.get("reason", "")
        if self.is_beyond and not self.reason:
            self.reason = classes.stated_reason(suite["name"], case, self.label, signed_text(self.error))

    def point(self):
        """What was run, but for its label: all that the program says beside the times."""
        return ", ".join(point_text(name, value) for name, value in self.found.items() if name not in said_elsewhere)


def point_text(name, value):
    if name == "size_B" or name == "block_B":
        return ("blocks of " if name == "block_B" else "") + size_text(value)
    if name == "set":
        return ", ".join(value)
    return f"{name} {value}" if isinstance(value, int) else str(value)


def size_text(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def models_of(content, folder):
    """For the names of models in a case file, whether they are mixtures of experts."""
    stated = [content.get("model"), *(row.get("model") for row in content["measured"])]
    files = [folder / one for one in stated if isinstance(one, str) and (folder / one).is_file()]
    files += sorted((pages.root / "models/training/data/models").glob("*.json"))
    models = [one for one in stated if isinstance(one, dict)] + [json.loads(file.read_text()) for file in files]
    return {model["name"]: "experts" in model for model in reversed(models)}


# ---- suites and classes


class Suite:
    """Cases that are judged together: the program's answer, and what the files say of where they are from."""

    def __init__(self, found):
        self.found, self.name, self.breaches = found, found["name"], found["breaches"]
        self.files = [case["file"] for case in found["cases"]]
        self.kind = classes.class_of(self.files[0])
        self.contents, self.rows = [], []
        for case in found["cases"]:
            file = pages.root / case["file"]
            content = json.loads(file.read_text())
            self.contents.append(content)
            mixtures = models_of(content, file.parent)
            self.rows += [Row(found, case["name"], row, mixtures.get(row.get("model"), False)) for row in case["rows"]]

    def command(self):
        return shlex.join(["sgdsim", "validate", *self.files, "--rows"])


def suites_of(program, files):
    return [Suite(found) for found in answer(program, files)["suites"]]


def quantile(ordered, part):
    at = part * (len(ordered) - 1)
    below = math.floor(at)
    if below + 1 == len(ordered):
        return ordered[-1]
    return ordered[below] + (ordered[below + 1] - ordered[below]) * (at - below)


def summary(rows):
    """As the program sums up the errors of rows."""
    return summed_up([row.error for row in rows])


def summed_up(errors):
    found = {"rows": len(errors)}
    if errors:
        sizes, errors = sorted(map(abs, errors)), sorted(errors)
        found |= {"median_percent": quantile(sizes, 0.5), "p90_percent": quantile(sizes, 0.9), "max_percent": sizes[-1],
                  "signed_median_percent": quantile(errors, 0.5)}
    return found


# ---- the table of all


heads = ["what", "held>", "fitted>", "reported>", "below range>", "median %>", "p90 %>", "max %>", "signed median %>",
         "tolerated median %>", "tolerated p90 %>", "met"]


def error_cells(summed):
    """Four figures; `-` where there is no row."""
    if not summed["rows"]:
        return ["-"] * 4
    return [f"{summed[name]:.2f}" for name in ("median_percent", "p90_percent", "max_percent")] + [
        signed_text(summed["signed_median_percent"])]


def span(values):
    """1, or 0.5 to 1.5 where suites differ."""
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def line(name, suites, has=lambda row: True):
    """A line of the table: the rows of suites together. Tolerances are those of the suites with such rows."""
    rows = [row for suite in suites for row in suite.rows if has(row)]
    judging = [suite for suite in suites if any(map(has, suite.rows))]
    tolerances = [suite.found["tolerance"] for suite in judging]
    missed = [suite.name for suite in judging if suite.breaches]
    return [name, *(str(sum(row.use == use for row in rows)) for use in uses),
            *error_cells(summary([row for row in rows if row.use == "held"])),
            *(span([one[bound] for one in tolerances]) for bound in ("median_percent", "p90_percent")),
            f"no: {', '.join(missed)}" if missed else "yes"]


def perfect_scaling(suites):
    """Of held rows that are whole training steps: the errors if each took what one worker takes."""
    return summed_up([row.scaled for suite in suites for row in suite.rows if row.use == "held" and row.scaled is not None])


def scaling_lines(suites):
    """What predictions of training steps have to beat; no line where there are none."""
    summed = perfect_scaling(suites)
    if not summed["rows"]:
        return []
    return [["of these, by perfect scaling", str(summed["rows"]), "-", "-", "-", *error_cells(summed), "-", "-", "-"]]


def by_class(suites):
    """Classes with their suites, in the order of classes.py."""
    found = [(one, [suite for suite in suites if suite.kind == one]) for one in [*classes.classes, classes.other]]
    return [(one, members) for one, members in found if members]


def class_lines(suites):
    lines = []
    for one, members in by_class(suites):
        lines += [line(one.name, members), *scaling_lines(members)]
        lines += [line(f"of these, {part.name}", members, part.has) for part in one.parts
                  if any(part.has(row) for suite in members for row in suite.rows)]
    return lines
