"""Verdicts of the first session on a GPU, of measurements alone: whether each passed, and a line.

A record says which series and sizes were asked for. Nothing of a record passes that lacks one of
them, and every verdict demands the series that it is about: what was not measured is no success.
"""
import math
import re

# GB/s by the data sheets, by a part of the device's name; the first that fits.
PEAKS = {"B200": 8000, "H200": 4800, "H100 PCIe": 2000, "H100 NVL": 3900, "H100": 3350,
         "A100-SXM4-40GB": 1555, "A100-PCIE-40GB": 1555, "A100": 2039, "L40S": 864, "L4": 300,
         "A10": 600, "V100": 900, "T4": 320, "RTX 4090": 1008, "RTX 3090": 936}

# Of what slows a clock down: what is not the load's own doing.
HARMFUL = {"hardware slowdown", "temperature, by hardware", "power brake",
           "clocks set by an application"}

# What tells one series from another.
KEYS = ("operation", "algorithm", "type", "ranks", "block_B", "note")


def series_of(record, **wanted):
    return [series for series in record["series"] if series["points"] and
            all(series.get(key, "") == value for key, value in wanted.items())]


def moved_rate(point):
    """GB/s that a point reads and writes in memory; 0 where that is not known."""
    return point.get("moved_B", 0) / point["time_us"] / 1e3


def name_of(series):
    words = [series["operation"], series.get("algorithm", ""), series["type"],
             f"{series['ranks']} ranks"]
    return " ".join(word for word in words if word)


def peak_of(record, given):
    """GB/s: what is given; else by the data sheet of a known device; else by its bus and clock; else,
    where the driver says neither, the fastest copy of this session, to which all else is related."""
    if given:
        return given
    device = record.get("device", "")
    known = next((peak for name, peak in PEAKS.items() if name in device), 0)
    copies = [moved_rate(point) for series in series_of(record, operation="copy")
              for point in series["points"]]
    return known or record.get("memory_GBps", 0) or max(copies, default=0)


def within(name, value, least, most, unit=""):
    passed = least <= value <= most
    return passed, f"{name}: {value:.3g}{unit}, expected {least:g} to {most:g}{unit}"


def missing(name):
    return False, f"{name}: was not measured"


# ---- whether everything that was asked for is there


def is_measured(point):
    time_us = point.get("time_us")
    return (point.get("verified") is True and isinstance(time_us, (int, float))
            and math.isfinite(time_us) and time_us > 0 and bool(point.get("samples_us")))


def gaps_of(record):
    """What a record lacks, a sentence each."""
    asked = record.get("asked")
    if not isinstance(asked, list) or not asked:
        return ["it does not say what was asked for"]
    gaps = []
    if record.get("complete") is not True:
        gaps.append("it ended early")
    there = {}
    for series in record.get("series", []):
        points = there.setdefault(tuple(series.get(key) for key in KEYS), {})
        points.update({point.get("size_B"): point for point in series.get("points", [])})
    for one in asked:
        points = there.get(tuple(one.get(key) for key in KEYS), {})
        lacking = [size for size in one["sizes_B"]
                   if size not in points or not is_measured(points[size])]
        if lacking:
            gaps.append(f"{name_of(one)}: {len(lacking)} of {len(one['sizes_B'])} sizes are missing")
    return gaps


def of_record(name, record, judge=lambda record: []):
    """A verdict on the record itself, and those that judge(record) gives on its figures, none of which
    passes if anything is missing."""
    gaps = gaps_of(record)
    if not gaps:
        return [(True, f"{name}, complete: all sizes of {len(record['asked'])} series"),
                *judge(record), *gpu(name, record)]
    more = f", and {len(gaps) - 3} more" if len(gaps) > 3 else ""
    lines = [(False, f"{name}, complete: {'; '.join(gaps[:3])}{more}")]
    try:
        lines += [(False, line + "; the record is not complete") for _, line in [*judge(record), *gpu(name, record)]]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass  # what is missing was needed for the figures
    return lines


def gpu(name, record):
    """Whether the clock rate was known and high enough, and nobody and nothing else disturbed."""
    if record.get("backend") != "cuda":
        return []
    points = [point for series in record["series"] if series.get("algorithm") != "nccl"
              for point in series["points"]]
    samples = sum(len(point["samples_us"]) for point in points)
    if sum(len(point.get("clocks_MHz", [])) for point in points) < samples:
        lines = [missing(f"{name}, the clock rate of every sample")]
    else:
        slow = sum(len(point.get("slow", [])) for point in points)
        lines = [within(f"{name}, samples at less than 75 % of the clock rate", 100 * slow / samples,
                        0, 10, " %")]
    states = record.get("states", [])
    if not states:
        return [*lines, missing(f"{name}, what the driver says of the GPU")]
    doubts = set()
    for state in states:
        doubts |= set(state.get("slowed_by", [])) & HARMFUL
        if state.get("processes", 0) > 1:
            doubts.add(f"{state['processes']} processes compute on it")
        if state.get("ecc_errors", 0) > 0:
            doubts.add(f"{state['ecc_errors']} errors of memory")
    said = "; ".join(sorted(doubts)) or "nothing slows the GPU down, and nobody else is there"
    return [*lines, (not doubts, f"{name}, state: {said}")]


def of_results(name, code, last_line):
    """Of --verify-only: every result must have been checked, none left out."""
    found = re.search(r"(\d+) of (\d+) results are right$", last_line)
    passed = code == 0 and found is not None and 0 < int(found[1]) == int(found[2])
    return [(passed, f"{name}: {last_line}")]


# ---- figures


def overhead(record, ranks):
    lines = []
    wanted = [("launch", None, 3), ("handover", None, 6)] + [("", count, 20) for count in ranks]
    for algorithm, count, most in wanted:
        kind = algorithm or f"an empty run of {count} ranks"
        found = [series for series in series_of(record, operation="overhead", algorithm=algorithm)
                 if count in (None, series["ranks"])]
        lines.append(within(f"overhead, {kind}", found[0]["points"][0]["time_us"], 0.3, most, " us")
                     if found else missing(f"overhead, {kind}"))
    return lines


def memory(record, peak, types):
    if not peak:
        device = record.get("device", "")
        return [(False, f"memory: no rate is known for \"{device}\"; --peak gives it")]
    lines = []
    for wanted in ({"operation": "fold"}, {"operation": "copy", "algorithm": "within a rank"}):
        for kind in types:
            found = series_of(record, type=kind, **wanted)
            if not found:
                lines.append(missing(f"memory, {wanted['operation']} {kind}"))
                continue
            part = 100 * moved_rate(found[0]["points"][-1]) / peak
            lines.append(within(f"memory, {name_of(found[0])}, part of {peak:.4g} GB/s", part, 85, 105,
                                " %"))
    return lines


def overlaps(record):
    """Nothing is faster beside something else, and nothing takes more than three times as long."""
    times = {series["algorithm"]: series["points"][-1]["time_us"]
             for series in series_of(record, operation="overlap")}
    lines = [within(f"overlap, {name}, times as long as alone", time / times[f"{name.split(' beside ')[0]} alone"],
                    0.97, 3)
             for name, time in times.items() if f"{name.split(' beside ')[0]} alone" in times and " beside " in name]
    return lines or [missing("overlap, a product and exchanges")]


def traffic(record, ranks):
    """Large messages of ring, be and lp against their memory traffic at the rate of a copy."""
    copies = [series["points"][-1] for series in series_of(record, operation="copy",
                                                           algorithm="within a rank")]
    if not copies:
        return [missing("memory traffic: a copy within a rank")]
    rate = max(moved_rate(point) for point in copies)
    lines = []
    for algorithm in ("ring", "be", "lp"):
        for count in ranks:
            found = series_of(record, operation="allreduce", algorithm=algorithm, ranks=count)
            name = f"allreduce {algorithm}, {count} ranks"
            if not found:
                lines.append(missing(f"memory traffic, {name}"))
            elif "virtual" not in found[0].get("placement", ""):
                lines.append((False, f"memory traffic, {name}: no virtual ranks on one GPU; there is "
                                     "nothing to set against it"))
            else:
                times = rate / moved_rate(found[0]["points"][-1])
                lines.append(within(f"{name_of(found[0])}, times its memory traffic", times, 0.9,
                                    1.15))
    return lines


def odd(record, ranks, types):
    """Odd numbers of ranks cut messages off 16 bytes, and must move memory as fast as even ones."""
    lines = []
    for kind in types:
        rates = {series["ranks"]: moved_rate(series["points"][-1])
                 for series in series_of(record, operation="allreduce", algorithm="ring", type=kind)}
        absent = [count for count in ranks if count not in rates]
        even = [rate for count, rate in rates.items() if count % 2 == 0]
        lines += [missing(f"odd ranks, ring of {count} {kind}") for count in absent]
        lines += [within(f"ring of {count} {kind}, part of the rate of even ranks",
                         100 * rate * len(even) / sum(even), 90, 110, " %")
                  for count, rate in rates.items() if count % 2 == 1 and even]
    return lines


def fit(answer, record):
    """Every other size of each series between its first and its last is held out."""
    held = answer.get("held_out", {})
    if not held:
        return [missing("fit: what was held out")]
    wanted = sum(max(0, len(one["sizes_B"]) - 1) // 2 for one in record.get("asked", [])
                 if one["operation"] != "overhead")
    if held["rows"] < wanted:
        return [(False, f"fit: {held['rows']} of {wanted} held-out sizes were predicted")]
    return [within("fit, median error of held-out sizes", held["median_percent"], 0, 5, " %")]


# How notes of a trace begin that plain steps cannot have.
FOUND_BY_RECORDING = ("recording costs", "recomputation")


def recording(trace):
    """What the hooks of the recorder cost, by its own steps without them."""
    name = f"recording of {trace.get('name', 'a model')}, cost in a step"
    found = [re.match(r"recording costs (-?[\d.]+) %", note) for note in trace.get("notes", [])]
    costs = [float(cost[1]) for cost in found if cost]
    return [within(name, costs[0], -3, 3, " %") if costs else missing(name)]


def layers(trace, plain):
    """Forward, backward and update of all layers against the same steps without hooks."""
    made_with = [note for note in trace.get("notes", []) if not note.startswith(FOUND_BY_RECORDING)]
    if made_with != plain.get("notes"):
        return [(False, f"layers: recorded with {made_with}, the plain step with "
                        f"{plain.get('notes')}")]
    total_ms = sum(milliseconds(layer[key]) for layer in trace["layers"]
                   for key in ("forward", "backward"))
    total_ms += milliseconds(trace.get("update", "0 s"))
    return [within(f"layers of {trace.get('name', 'a model')}, part of a plain step",
                   100 * total_ms / plain["step_ms"], 97, 103, " %")]


def milliseconds(text):
    number, unit = text.split()
    return float(number) * {"ps": 1e-9, "ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}[unit]
