"""Answers of the module as frames that are easy to draw: one row per point, message, slice or measured row.

Nothing is simulated here, and what `answer.to_pandas()` gives is not made again. Every quantity is a plain number in a
column that ends in its unit: _us, _B, _Gbps, _ns_per_B, _percent. A key that an answer lacks is a missing value (NaN)
in its column, so that drawings need not ask.
"""

import functools
import json
import pathlib
import re
import sys

import pandas

root = pathlib.Path(__file__).resolve().parent.parent
results = root / "results"  # where figures are left
sys.path.append(str(root / "python"))  # where it is in a checkout that was built and not installed
import sgdsim  # noqa: E402, F401

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

_number = re.compile(r"\s*(\d+\.?\d*(?:[eE][+-]?\d+)?)\s*([A-Za-zµ/]+)\s*")


@functools.lru_cache(maxsize=100_000)
def quantity(text):
    """("10 Gbps") -> (10.0, "Gbps"); ("1 MiB") -> (1048576.0, "B"); ("1 µs") -> (1.0, "us"); None if it is none."""
    match = _number.fullmatch(text)
    if not match:
        return None
    written = match[2].replace("µs", "us")
    for unit, scales in _scales.items():
        if written in scales:
            return float(match[1]) * scales[written], unit
    return None


# ---- points


def frame_of(rows, columns):
    """All of `columns`, in their order, and then what else the rows have."""
    frame = pandas.DataFrame(rows)
    missing = [name for name in columns if name not in frame]
    frame = frame.reindex(columns=[*frame.columns, *missing])
    return frame[[*columns, *(name for name in frame.columns if name not in columns)]]


_summary = ["workers", "strategy", "collective", "fidelity", "path", "iteration_ps"]
_metrics = ["iteration_us", "iteration_p50_us", "iteration_p95_us", "iteration_p99_us",
            "iteration_max_us", "forward_us", "backward_us", "update_us", "comm_total_us",
            "comm_exposed_us", "comm_overlapped_us", "waiting_us", "idle_us", "overlap_ratio",
            "throughput_samples_per_s", "speedup", "efficiency", "messages", "wire_B"]


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


def _spread(name, value):
    """A value of an axis as columns: "1 Gbps" -> name_Gbps, an object -> a column per field."""
    if isinstance(value, str) and value.startswith("{"):  # columns have objects as JSON
        value = json.loads(value)
    if isinstance(value, dict):
        row = {}
        for key, inner in value.items():
            row |= _spread(name if key == "name" else f"{name}_{key}", inner)
        return row
    if isinstance(value, list):
        return {name: json.dumps(value)}
    if isinstance(value, str) and (found := quantity(value)):
        return {f"{name}_{found[1]}": found[0]}
    return {name: value}


def _figure(path):
    """metrics.iteration_us.mean -> iteration_us, metrics.iteration_us.p99 -> iteration_p99_us"""
    name = path.removeprefix("metrics.")
    stem, _, part = name.partition("_us.")
    return name if not part else f"{stem}_us" if part == "mean" else f"{stem}_{part}_us"


def points(table):
    """The points of a sweep: a column per axis, then those of results, then `error`."""
    frame = table.to_pandas()
    axes = [name for name in frame if name.startswith("axes.")]
    names, columns = short_names([name.removeprefix("axes.") for name in axes]), {}
    for axis in axes:
        of_value = {value: _spread(names[axis.removeprefix("axes.")], value) for value in frame[axis].unique()}
        rows = frame[axis].astype(object).map(of_value.get)
        for name in dict.fromkeys(name for parts in of_value.values() for name in parts):
            columns[name] = pandas.Series([row.get(name) for row in rows], index=frame.index)
    figures = {_figure(name): frame[name] for name in frame if name not in axes}
    known = [name for name in [*_summary, *_metrics] if name not in columns]
    return frame_of(figures | columns, [*columns, *known, "error"])


def best(answer):
    """The groups of sweep(minimize=...): who is best, how many others tie with it, and how far behind the next one is."""
    rows = []
    for group in answer["groups"]:
        row, axes = {}, group.get("axes", {}) | group.get("best", {})
        names = short_names(tuple(axes))
        for field, value in axes.items():
            row |= _spread(names[field], value)
        row |= {key: group.get(key) for key in ("value", "next", "points", "failed")}
        row["ties"] = group.get("ties", 0)
        if row["value"] and row["next"]:
            row["behind_percent"] = 100 * (row["next"] / row["value"] - 1)
        rows.append(row)
    return frame_of(rows, ["value", "next", "points", "failed", "ties", "behind_percent"])


# ---- steps


def runs(answers):
    """A row per answer of run(), by its name."""
    frame = pandas.concat([pandas.json_normalize(answer) for answer in answers.values()], ignore_index=True)
    frame = frame_of(frame.rename(columns=_figure), [*_summary, *_metrics])
    return frame.set_axis(list(answers))


def workers(answer):
    """The breakdown of each worker of run(); no rows where one stands for all."""
    frame = frame_of(answer.get("per_worker", []), [name for name in _metrics[5:13]])
    frame.index.name = "worker"
    return frame


def timeline(answer):
    """The slices of timeline(): what which worker did on which lane, from when to when."""
    names, rows = {}, []
    for event in answer["traceEvents"]:
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            names[event.get("pid"), event.get("tid")] = event.get("args", {}).get("name")
    for event in answer["traceEvents"]:
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
    return frame_of(rows, ["worker", "lane", "category", "name", "start_us", "duration_us", "end_us",
                           "iteration", "first_layer", "last_layer", "size_B"])


def delivery(answer):
    """Which part of each layer had arrived in run(fidelity="packet"): a row for the important packets of a layer, and one
    for the others."""
    rows = [{"layer": one["layer"], "cargo": one["cargo"], "size_B": one["size_B"], "packets": packets,
             "delivered_percent": 100 * one[key]}
            for one in answer.get("delivery", [])
            for packets, key in (("important", "part_of_important"), ("others", "part_of_others"))
            if one[key] is not None]
    return frame_of(rows, ["layer", "cargo", "size_B", "packets", "delivered_percent"])


# ---- networks


def collectives(answer):
    """The points of collective(sweep=True); `why_not` where there is no answer."""
    return frame_of(answer.to_pandas(), ["algorithm", "ranks", "size_B", "time_us", "algbw_GBps", "busbw_GBps", "why_not"])


def jobs(answer):
    """The jobs of jobs(), in the order of their file."""
    return frame_of(answer.to_pandas(), ["name", "iteration_us", "alone_us", "slowdown"])


def _over_time(answer, name, places, key, row_of):
    """A row per place and interval, which starts at start_us."""
    interval_us = answer.get("interval_us")
    return [{name: f"{one['from']} to {one['to']}", "kind": one["kind"], "start_us": interval_us and place * interval_us,
             "interval_us": interval_us} | row_of(part)
            for one in answer.get(places, []) for place, part in enumerate(one.get(key, []))]


def use_over_time(answer):
    """How much of its busiest links jobs(bins=N) or traffic(bins=N) found in use."""
    rows = _over_time(answer, "link", "busiest", "over_time", lambda part: {"used_percent": 100 * part})
    return frame_of(rows, ["link", "kind", "start_us", "interval_us", "used_percent"])


def queues_over_time(answer):
    """What waited in the longest queues of packets, the longest queue first."""
    rows = _over_time(answer, "queue", "queues", "over_time_B", lambda part: {"waiting_KB": part / 1000})
    return frame_of(rows, ["queue", "kind", "start_us", "waiting_KB"])


def flows(answer):
    """The flows of traffic() that ended, the quickest first; ended_percent: how many of all had ended by then."""
    found = answer.get("flows", [])
    rows = [{"from": flow["from"], "to": flow["to"], "size_B": flow["size_B"],
             "took_us": (flow["end_ps"] - flow["start_ps"]) / 1e6, "delivered": flow.get("delivered")}
            for flow in found if flow["end_ps"] is not None]
    rows.sort(key=lambda row: row["took_us"])
    for place, row in enumerate(rows):
        row["ended_percent"] = 100 * (place + 1) / len(found)
    return frame_of(rows, ["from", "to", "size_B", "took_us", "delivered", "ended_percent"])


# ---- measured cases


def validation(answer):
    """The rows of validate(rows=True): predicted and measured."""
    rows = []
    for suite in answer["suites"]:
        for case in suite.get("cases", []):
            for row in case.get("rows", []):
                plain = {key: value for key, value in row.items() if key not in ("quartiles_us", "set")}
                rows.append({"suite": suite["name"], "case": case["name"]} | plain)
    return frame_of(rows, ["suite", "case", "label", "use", "operation", "ranks", "size_B", "measured_us",
                           "predicted_us", "error_percent"])


def validation_errors(answer):
    """The errors by suite, label and use; the label `all held` is the whole suite's."""
    rows = []
    for suite in answer["suites"]:
        if "held" in suite:
            rows.append({"suite": suite["name"], "label": "all held", "use": "held"} | suite["held"])
        rows += [{"suite": suite["name"]} | label for label in suite.get("labels", [])]
    return frame_of(rows, ["suite", "label", "use", "rows", "median_percent", "p90_percent", "max_percent"])


def cases_in(folder):
    """The measured cases (sgdsim/case/1) of a folder of the repository."""
    return [str(path) for path in sorted((root / folder).glob("*.json"))
            if json.loads(path.read_text()).get("schema") == "sgdsim/case/1"]


def measurement_of(case, label):
    """The rows of a case (sgdsim/case/1) that have this label, as a measurement."""
    found = json.loads((root / case).read_text())
    rows = [row for row in found["measured"] if row["label"] == label]
    sizes = [{"size_B": round(quantity(row["size"])[0]), "time_us": quantity(row["time"])[0]} for row in rows]
    return {"schema": "sgdsim/measurement/1", "name": f"{found['name']}_{label}", "source": case,
            "series": [{"operation": "copy", "ranks": 2, "points": sizes}]}


def fitted(answer):
    """The segments of fit(): a row per fit and segment."""
    rows = [{"fit": number, "kind": fit.get("kind")} | piece
            for number, fit in enumerate(answer["fits"]) for piece in fit.get("pieces", [])]
    return frame_of(rows, ["fit", "kind", "from_B", "fitted_from_B", "fitted_to_B", "alpha_us", "beta_ps_per_B"])
