"""Answers of sgdsim as tidy data frames: one row per point, message, slice or measured row.

Nothing is simulated here. Every quantity is a plain number in a column that ends in its unit: _us,
_B, _Gbps, _ns_per_B, _percent. A key that a file lacks is a missing value (NaN) in its column, so
that drawings need not ask. A file that cannot be read is an `Unreadable` with one sentence.
"""

import functools
import gzip
import json
import pathlib
import re
import shlex
import subprocess

import pandas

root = pathlib.Path(__file__).resolve().parent.parent
program = root / "build/release/bin/sgdsim"
results = root / "results"  # where answers are left


class Unreadable(Exception):
    """Says which file, where in it, and what was expected there."""


# ---- asking


def answer(name, command):
    """Runs `sgdsim ...` in the root of the repository; keeps what it prints in results/NAME.

    {results} in the command is that folder. Exit code 5 of `validate` (beyond tolerance) is an answer
    too, and so is 1 of a `sweep` of which some points failed: their lines say why.
    """
    results.mkdir(parents=True, exist_ok=True)
    words = shlex.split(command.replace("{results}", shlex.quote(shown(results))))
    if words[:1] != ["sgdsim"]:
        raise ValueError(f"expected a command that starts with sgdsim, got {command!r}")
    print(f"build/release/bin/{shlex.join(words)} > {shown(results / name)}")
    ran = subprocess.run([program, *words[1:]], cwd=root, capture_output=True, text=True)
    some_failed = words[1:2] == ["sweep"] and ran.returncode == 1 and ran.stdout
    if ran.returncode not in (0, 5) and not some_failed:
        raise RuntimeError(f"exit code {ran.returncode}: {ran.stderr.strip()}")
    if ran.returncode != 0:
        print(ran.stderr.strip())
    (results / name).write_text(ran.stdout)


def shown(path):
    """The path from the root of the repository, if it is inside."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


# ---- quantities: the units of docs/formats.md

_decimal = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_binary = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_us = {"ps": 1e-6, "ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9}
_scales = {  # unit of the column: what each unit of files counts there
    "us": _us,
    "B": {f"{prefix}B": size for prefix, size in (_decimal | _binary).items() if prefix != "k"},
    "ns_per_B": {f"{unit}/B": 1000 * _us[unit] for unit in ("ps", "ns", "us", "ms", "s")},
    "Gbps": {f"{prefix}{bit}": size / 1e9 for prefix, size in _decimal.items() if prefix != "K"
             for bit in ("bps", "b/s", "bit/s")}
            | {f"{prefix}{byte}": 8 * size / 1e9 for prefix, size in (_decimal | _binary).items()
               if prefix != "k" for byte in ("Bps", "B/s")},
}

_number = re.compile(r"\s*(\d+\.?\d*(?:[eE][+-]?\d+)?)\s*([A-Za-z/]+)\s*")


@functools.lru_cache(maxsize=100_000)
def quantity(text):
    """("10 Gbps") -> (10.0, "Gbps"); ("1 MiB") -> (1048576.0, "B"); None if it is none."""
    match = _number.fullmatch(text)
    if not match:
        return None
    for unit, scales in _scales.items():
        if match[2] in scales:
            return float(match[1]) * scales[match[2]], unit
    return None


# ---- reading


def _where(path):
    path = pathlib.Path(path)
    return path if path.is_absolute() else results / path


def _text(path):
    try:
        raw = _where(path).read_bytes()
        return (gzip.decompress(raw) if str(path).endswith(".gz") else raw).decode()
    except (OSError, EOFError, UnicodeDecodeError) as problem:
        raise Unreadable(f"{path}: cannot be read: {problem}") from None


def _object(path, *schemas):
    text = _text(path)
    try:
        found = json.loads(text)
    except json.JSONDecodeError as problem:
        raise Unreadable(f"{path}: expected JSON: {problem}") from None
    _check(found, path, *schemas)
    return found


def _check(found, where, *schemas):
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema not in schemas:
        raise Unreadable(f"{where}: expected {' or '.join(schemas)}, found {schema or 'none'}")


def _frame(rows, columns):
    """All of `columns`, in their order, and then what else the rows have."""
    frame = pandas.DataFrame(rows)
    missing = [name for name in columns if name not in frame]
    frame = frame.reindex(columns=[*frame.columns, *missing])
    return frame[[*columns, *(name for name in frame.columns if name not in columns)]]


_summary = ["workers", "strategy", "collective", "fidelity", "path", "iteration_ps"]
_metrics = ["iteration_us", "iteration_p50_us", "iteration_p95_us", "iteration_p99_us",
            "iteration_max_us", "iterations", "forward_us", "backward_us", "update_us",
            "comm_total_us", "comm_exposed_us", "comm_overlapped_us", "waiting_us", "idle_us",
            "overlap_ratio", "throughput_samples_per_s", "speedup", "efficiency", "messages",
            "wire_B"]


def _summary_of(found):
    """Of a result or a point: one value per column; the mean of the iteration is iteration_us."""
    row = {key: found[key] for key in _summary if key in found}
    for key, value in found.get("metrics", {}).items():
        if isinstance(value, dict):
            stem = key.removesuffix("_us")
            row[key] = value.get("mean")
            row |= {f"{stem}_{name}_us": value[name] for name in value if name not in ("mean", "n")}
            row["iterations"] = value.get("n")
        else:
            row[key] = value
    return row


def short_names(fields):
    """The last words of each path that tell it from the others: cluster.nic.bandwidth -> bandwidth."""
    names = {}
    for field in fields:
        steps = field.split(".")
        for count in range(1, len(steps) + 1):
            tail = steps[-count:]
            if not any(f != field and f.split(".")[-count:] == tail for f in fields):
                break
        names[field] = "_".join(tail)
    return names


def _spread(name, value, row):
    """A value of an axis as columns: "1 Gbps" -> name_Gbps, an object -> a column per field."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _spread(name if key == "name" else f"{name}_{key}", inner, row)
    elif isinstance(value, list):
        row[name] = json.dumps(value)
    elif isinstance(value, str) and (found := quantity(value)):
        row[f"{name}_{found[1]}"] = found[0]
    else:
        row[name] = value


def points(path):
    """The lines of a sweep: a column per axis, then those of results, then `error`."""
    rows, axis_columns = [], []
    lines = _text(path).split("\n")  # after the last end of line: nothing, or a torn line
    for number, line in enumerate(lines[:-1], start=1):
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            raise Unreadable(f"{path}:{number}: expected the line of a point (JSON)") from None
        _check(found, f"{path}:{number}", "sgdsim/point/1")
        axes, row = found.get("axes", {}), {}
        names = short_names(tuple(axes))
        for field, value in axes.items():
            _spread(names[field], value, row)
        axis_columns += [name for name in row if name not in axis_columns]
        if "error" in found:
            row["error"] = found["error"]
        rows.append(row | _summary_of(found))
    known = [name for name in [*_summary, *_metrics] if name not in axis_columns]
    return _frame(rows, [*axis_columns, *known, "error"])


def best(path):
    """The groups of `sgdsim sweep --minimize ... --format json`: who is best, how many others tie
    with it, and how far behind the next one is."""
    rows = []
    for group in _object(path, "sgdsim/best/1")["groups"]:
        row, axes = {}, group.get("axes", {}) | group.get("best", {})
        names = short_names(tuple(axes))
        for field, value in axes.items():
            _spread(names[field], value, row)
        row |= {key: group.get(key) for key in ("value", "next", "points", "failed")}
        row["ties"] = group.get("ties", 0)
        if row["value"] and row["next"]:
            row["behind_percent"] = 100 * (row["next"] / row["value"] - 1)
        rows.append(row)
    return _frame(rows, ["value", "next", "points", "failed", "ties", "behind_percent"])


def run_results(*paths):
    """One row per file of `sgdsim run --out`."""
    rows = []
    for path in paths:
        found = _object(path, "sgdsim/result/1")
        rows.append({"file": str(path), "name": found.get("name")} | _summary_of(found))
    return _frame(rows, ["file", "name", *_summary, *_metrics])


_message_columns = ["first_layer", "last_layer", "size_B", "ready_us", "start_us", "end_us"]


def _message_rows(messages, **about):
    for message in messages:
        first, last = message.get("layers", (None, None))
        numbers = {key: value for key, value in message.items() if key != "layers"}
        yield about | {"first_layer": first, "last_layer": last} | numbers


def messages(path):
    """The gradient messages of a result, or of all strategies of a plan, in the order they went."""
    found = _object(path, "sgdsim/result/1", "sgdsim/plan/1")
    rows = []
    if "plans" in found:
        for plan in found["plans"]:
            rows += _message_rows(plan.get("groups", []), strategy=plan["strategy"])
    else:
        rows += _message_rows(found.get("messages", []), strategy=found.get("strategy"))
    return _frame(rows, ["strategy", *_message_columns])


def workers(path):
    """The breakdown of each worker of a result; no rows where one stands for all."""
    rows = _object(path, "sgdsim/result/1").get("per_worker", [])
    frame = _frame(rows, [name for name in _metrics if name in (
        "forward_us", "backward_us", "update_us", "comm_total_us", "comm_exposed_us",
        "comm_overlapped_us", "waiting_us", "idle_us")])
    frame.index.name = "worker"
    return frame


def plans(path):
    """One row per strategy of `sgdsim plan --format json`, best first."""
    rows = [{key: value for key, value in plan.items() if key != "groups"}
            | {"messages": len(plan.get("groups", []))}
            for plan in _object(path, "sgdsim/plan/1")["plans"]]
    return _frame(rows, ["strategy", "iteration_ps", "iteration_us", "exposed_us", "speedup",
                         "messages", "why_not"])


def timeline(path):
    """The slices of `sgdsim run --timeline`: what which worker did on which lane, from when to when."""
    found = _object_of_events(path)
    names, rows = {}, []
    for event in found:
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            names[event.get("pid"), event.get("tid")] = event.get("args", {}).get("name")
    for event in found:
        if event.get("ph") != "X":
            continue
        more = event.get("args", {})
        first, last = more.get("layers", (more.get("layer"), more.get("layer")))
        lane = names.get((event.get("pid"), event.get("tid")))
        rows.append({"worker": event.get("pid"), "lane": lane or f"lane {event.get('tid')}",
                     "category": event.get("cat", "slice"), "name": event.get("name", ""),
                     "start_us": event["ts"], "duration_us": event.get("dur", 0.0),
                     "end_us": event["ts"] + event.get("dur", 0.0),
                     "iteration": more.get("iteration"), "first_layer": first, "last_layer": last,
                     "size_B": more.get("size_B")})
    return _frame(rows, ["worker", "lane", "category", "name", "start_us", "duration_us", "end_us",
                         "iteration", "first_layer", "last_layer", "size_B"])


def _object_of_events(path):
    text = _text(path)
    try:
        return json.loads(text)["traceEvents"]
    except (json.JSONDecodeError, KeyError, TypeError):
        raise Unreadable(f"{path}: expected a Chrome trace (JSON with traceEvents)") from None


def validation(path):
    """The rows of `sgdsim validate --rows --format json`: predicted and measured."""
    rows = []
    for suite in _object(path, "sgdsim/validation/1")["suites"]:
        for case in suite.get("cases", []):
            for row in case.get("rows", []):
                low, high = row.get("quartiles_us", (None, None))
                plain = {key: value for key, value in row.items() if key not in ("quartiles_us", "set")}
                plain |= {"quartile_1_us": low, "quartile_3_us": high,
                          "set": " ".join(row.get("set", []))}
                rows.append({"suite": suite["name"], "case": case["name"]} | plain)
    return _frame(rows, ["suite", "case", "label", "use", "algorithm", "operation", "ranks", "size_B",
                         "measured_us", "quartile_1_us", "quartile_3_us", "predicted_us",
                         "predicted_ps", "error_percent", "set", "reason", "wrong"])


def validation_errors(path):
    """The errors by suite, label and use; the label `all held` is the whole suite's."""
    rows = []
    for suite in _object(path, "sgdsim/validation/1")["suites"]:
        if "held" in suite:
            rows.append({"suite": suite["name"], "label": "all held", "use": "held"} | suite["held"])
        rows += [{"suite": suite["name"]} | label for label in suite.get("labels", [])]
    return _frame(rows, ["suite", "label", "use", "rows", "median_percent", "p90_percent",
                         "max_percent", "signed_median_percent"])


def collectives(path):
    """The points of `sgdsim collective --sweep`, or its one answer; `why_not` where there is none."""
    found = _object(path, "sgdsim/collective-sweep/1", "sgdsim/collective/1")
    rows = found.get("points", [found])
    return _frame(rows, ["algorithm", "operation", "ranks", "size_B", "time_ps", "time_us",
                         "messages", "wire_B", "algbw_GBps", "busbw_GBps", "fidelity", "path",
                         "why_not"])


def measured(path):
    """The points of a measurement (sgdsim/measurement/1): a row per series and size."""
    rows = []
    for number, series in enumerate(_object(path, "sgdsim/measurement/1")["series"]):
        about = {key: series.get(key) for key in ("operation", "algorithm", "type", "ranks")}
        rows += [{"series": number} | about | {key: point.get(key) for key in ("size_B", "time_us")}
                 for point in series.get("points", [])]
    return _frame(rows, ["series", "operation", "algorithm", "type", "ranks", "size_B", "time_us"])


def fitted(path):
    """The segments of `sgdsim fit --format json`: a row per fit and segment."""
    rows = []
    for number, fit in enumerate(_object(path, "sgdsim/fit/1")["fits"]):
        rows += [{"fit": number, "kind": fit.get("kind")} | piece for piece in fit.get("pieces", [])]
    return _frame(rows, ["fit", "kind", "from_B", "fitted_from_B", "fitted_to_B", "rows", "alpha_us",
                         "alpha_low_us", "alpha_high_us", "beta_ps_per_B", "beta_low_ps_per_B",
                         "beta_high_ps_per_B", "rms_percent", "max_percent"])


def jobs(path):
    """The jobs of `sgdsim jobs --format json`, in the order of their file."""
    return _frame(_object(path, "sgdsim/jobs-result/1")["jobs"],
                  ["name", "strategy", "workers", "start_us", "end_us", "iteration_us", "alone_us", "slowdown"])


def use_over_time(path):
    """How much of its busiest links `sgdsim jobs --bins` or `sgdsim traffic --bins` found in use: a row per
    link and interval, which starts at start_us."""
    found = _object(path, "sgdsim/jobs-result/1", "sgdsim/completion/1")
    interval_us, rows = found.get("interval_us"), []
    for link in found.get("busiest", []):
        name = f"{link['from']} to {link['to']}"
        rows += [{"link": name, "kind": link["kind"], "start_us": interval_us and place * interval_us,
                  "interval_us": interval_us, "used_percent": 100 * part}
                 for place, part in enumerate(link.get("over_time", []))]
    return _frame(rows, ["link", "kind", "start_us", "interval_us", "used_percent"])


def queues_over_time(path):
    """What waited in the longest queues of packets, as `sgdsim jobs --bins` or `sgdsim traffic --bins` found it, the
    longest queue first: a row per queue and interval, which starts at start_us."""
    found = _object(path, "sgdsim/jobs-result/1", "sgdsim/completion/1")
    interval_us, rows = found.get("interval_us"), []
    for queue in found.get("queues", []):
        name = f"{queue['from']} to {queue['to']}"
        rows += [{"queue": name, "kind": queue["kind"], "start_us": interval_us and place * interval_us,
                  "waiting_KB": waiting_B / 1000} for place, waiting_B in enumerate(queue.get("over_time_B", []))]
    return _frame(rows, ["queue", "kind", "start_us", "waiting_KB"])


def flows(path):
    """The flows of `sgdsim traffic --format json` that ended, the quickest first; ended_percent: how many of all had
    ended by then."""
    found = _object(path, "sgdsim/completion/1").get("flows", [])
    rows = [{"from": flow["from"], "to": flow["to"], "size_B": flow["size_B"],
             "took_us": (flow["end_ps"] - flow["start_ps"]) / 1e6, "delivered": flow.get("delivered")}
            for flow in found if flow["end_ps"] is not None]
    rows.sort(key=lambda row: row["took_us"])
    for place, row in enumerate(rows):
        row["ended_percent"] = 100 * (place + 1) / len(found)
    return _frame(rows, ["from", "to", "size_B", "took_us", "delivered", "ended_percent"])


def delivery(path):
    """Which part of each layer had arrived in `sgdsim run --fidelity packet`: a row for the important packets of a
    layer, and one for the others."""
    rows = [{"layer": one["layer"], "cargo": one["cargo"], "size_B": one["size_B"], "packets": packets,
             "delivered_percent": 100 * one[key]}
            for one in _object(path, "sgdsim/result/1").get("delivery", [])
            for packets, key in (("important", "part_of_important"), ("others", "part_of_others"))
            if one[key] is not None]
    return _frame(rows, ["layer", "cargo", "size_B", "packets", "delivered_percent"])


def cases_in(folder):
    """The measured cases (sgdsim/case/1) of a folder of the repository, as words of a command."""
    files = sorted((root / folder).glob("*.json"))
    return shlex.join(shown(path) for path in files
                      if json.loads(path.read_text()).get("schema") == "sgdsim/case/1")


def measurement_of(case, label, name):
    """Writes the rows of a case (sgdsim/case/1) that have this label as a measurement, results/NAME."""
    found = json.loads((root / case).read_text())
    rows = [row for row in found["measured"] if row["label"] == label]
    points = [{"size_B": round(quantity(row["size"])[0]), "time_us": quantity(row["time"])[0]} for row in rows]
    measurement = {"schema": "sgdsim/measurement/1", "name": f"{found['name']}_{label}", "source": case,
                   "series": [{"operation": "copy", "ranks": 2, "points": points}]}
    results.mkdir(parents=True, exist_ok=True)
    (results / name).write_text(json.dumps(measurement, indent=1) + "\n")
    print(f"{case}: {len(points)} rows {label} > {shown(results / name)}")
