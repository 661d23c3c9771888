#!/usr/bin/env python3
"""The first session on a new GPU: four parts of at most ten minutes each.

Every part says what it must show and what it has shown: PASS, or LOOK AT with the figure. All logs
and measurements go into one folder, and into one archive to keep. No setting of the GPU is changed.

    first_gpu.py [PART...] [--peak GB/S] [--out FOLDER]

1 results:     what machine it is; every collective and part, of every type, among 2 to 8 ranks
2 parts:      what starting and launching cost; copies and sums against the memory's rate
3 collectives: against memory traffic; odd numbers of ranks; the fit and what it predicts
4 layers:     layer traces of training steps, where PyTorch is installed

Exit code 0: all passed; 1: a wrong result, or a command that failed; 5: something to look at.
A trial on a machine without a GPU: --backend host --small.
"""
import argparse
import datetime
import json
import pathlib
import signal
import subprocess
import sys
import tarfile
import time

PART_LIMIT_S = 580
GRACE_S = 20  # between SIGINT, after which a measurement is written, and SIGKILL

# GB/s by the data sheets, by a part of the device's name; the first that fits.
PEAKS = {"B200": 8000, "H200": 4800, "H100 PCIe": 2000, "H100 NVL": 3900, "H100": 3350,
         "A100-SXM4-40GB": 1555, "A100-PCIE-40GB": 1555, "A100": 2039, "L40S": 864, "L4": 300,
         "A10": 600, "V100": 900, "T4": 320, "RTX 4090": 1008, "RTX 3090": 936}


# ---- verdicts: of measurements alone, so that they can be tested


def series_of(record, **wanted):
    return [series for series in record["series"]
            if all(series.get(key, "") == value for key, value in wanted.items())]


def moved_rate(point):
    """GB/s that a point reads and writes in memory; 0 where that is not known."""
    return point.get("moved_B", 0) / point["time_us"] / 1e3


def name_of(series):
    words = [series["operation"], series.get("algorithm", ""), series["type"],
             f"{series['ranks']} ranks"]
    return " ".join(word for word in words if word)


def peak_of(device, given):
    if given:
        return given
    return next((peak for name, peak in PEAKS.items() if name in device), 0)


def within(name, value, least, most, unit=""):
    """A verdict: whether it passed, and the line that says so."""
    passed = least <= value <= most
    return passed, f"{name}: {value:.3g}{unit}, expected {least:g} to {most:g}{unit}"


def overhead_verdicts(record):
    lines = []
    for series in series_of(record, operation="overhead"):
        time_us = series["points"][0]["time_us"]
        kind = series.get("algorithm", "") or f"an empty run of {series['ranks']} ranks"
        most = {"launch": 3, "handover": 6}.get(series.get("algorithm", ""), 20)
        lines.append(within(f"overhead, {kind}", time_us, 0.3, most, " us"))
    return lines or [(False, "overhead: nothing was measured")]


def memory_verdicts(record, peak):
    if not peak:
        device = record.get("device", "")
        return [(False, f"memory: no rate is known for \"{device}\"; --peak gives it")]
    lines = []
    for series in series_of(record, operation="fold") + series_of(
            record, operation="copy", algorithm="within a rank"):
        part = 100 * moved_rate(series["points"][-1]) / peak
        lines.append(within(f"memory, {name_of(series)}, part of {peak} GB/s", part, 85, 105, " %"))
    return lines or [(False, "memory: nothing was measured")]


def traffic_verdicts(record):
    """Large messages of ring, be and lp against their memory traffic at the rate of a copy."""
    copies = [series["points"][-1] for series in series_of(record, operation="copy",
                                                           algorithm="within a rank")]
    if not copies:
        return [(False, "memory traffic: no copy within a rank was measured")]
    rate = max(moved_rate(point) for point in copies)
    lines = []
    for series in series_of(record, operation="allreduce"):
        if series.get("algorithm") not in ("ring", "be", "lp") or "virtual" not in series.get(
                "placement", ""):
            continue
        times = rate / moved_rate(series["points"][-1])
        lines.append(within(f"{name_of(series)}, times its memory traffic", times, 0.9, 1.15))
    return lines or [(False, "memory traffic: no virtual ranks on one GPU; there is nothing to set "
                             "against it")]


def odd_verdicts(record):
    """Odd numbers of ranks cut messages off 16 bytes, and must move memory as fast as even ones."""
    lines = []
    for kind in sorted({series["type"] for series in record["series"]}):
        rings = series_of(record, operation="allreduce", algorithm="ring", type=kind)
        rates = {series["ranks"]: moved_rate(series["points"][-1]) for series in rings}
        even = [rate for ranks, rate in rates.items() if ranks % 2 == 0]
        for ranks, rate in rates.items():
            if ranks % 2 == 1 and even:
                lines.append(within(f"ring of {ranks} {kind}, part of the rate of even ranks",
                                    100 * rate * len(even) / sum(even), 90, 110, " %"))
    return lines or [(False, "odd ranks: nothing was measured")]


def fit_verdicts(answer):
    if "held_out" not in answer:
        return [(False, "fit: nothing was held out")]
    median = answer["held_out"]["median_percent"]
    return [within("fit, median error of held-out sizes", median, 0, 5, " %")]


def layer_verdicts(trace, plain_ms):
    """Forward and backward of all layers against a plain loop."""
    layers = trace["layers"]
    total_ms = sum(milliseconds(layer[key]) for layer in layers for key in ("forward", "backward"))
    total_ms += milliseconds(trace.get("update", "0 s"))
    return [within("layers, part of a plain step", 100 * total_ms / plain_ms, 97, 103, " %")]


def milliseconds(text):
    number, unit = text.split()
    return float(number) * {"ps": 1e-9, "ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}[unit]


# ---- running


class Session:
    def __init__(self, arguments):
        self.arguments = arguments
        self.out = pathlib.Path(arguments.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.lines = []
        self.failed = False
        self.part_end = 0

    def say(self, line):
        print(line, flush=True)
        self.lines.append(line)

    def note(self, verdicts):
        for passed, line in verdicts:
            self.say(f"{'PASS   ' if passed else 'LOOK AT'} {line}")

    def fail(self, line):
        self.failed = True
        self.say(f"FAILED  {line}")

    def run(self, name, limit_s, words):
        """Runs a command within the limits; its output goes to a file. Its exit code."""
        left_s = self.part_end - time.monotonic()
        if left_s < 5:
            self.say(f"LOOK AT {name}: left out, the part's ten minutes are over")
            return None
        began = time.monotonic()
        with open(self.out / f"{name}.txt", "w", encoding="utf-8") as log:
            log.write(" ".join(words) + "\n")
            log.flush()
            try:
                process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT)
            except OSError as error:
                self.say(f"LOOK AT {name}: {error}")
                return None
            try:
                code = process.wait(min(limit_s, left_s))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                try:
                    code = process.wait(GRACE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    code = process.wait()
        self.say(f"        {name}: exit code {code} after {time.monotonic() - began:.0f} s")
        return code

    def calibrate(self, name, limit_s, words):
        """Runs sgdsim-calibrate; what it measured, or None."""
        file = self.out / f"{name}.json"
        verifies = "--verify-only" in words
        words = [f"{self.arguments.bin}/sgdsim-calibrate", "--backend", self.arguments.backend,
                 *words, *([] if verifies else ["--out", str(file), "--force"])]
        code = self.run(name, limit_s, words)
        if code not in (0, 130):
            if code is not None:
                self.fail(f"{name}: {last_line(self.out / (name + '.txt'))}")
            return None
        if verifies:
            self.note([(code == 0, f"{name}: {last_line(self.out / (name + '.txt'))}")])
            return None
        return json.loads(file.read_text(encoding="utf-8"))


def last_line(file):
    lines = file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def size(session, large, small):
    return small if session.arguments.small else large


def part_results(session):
    for name, words in (("nvidia_smi", ["nvidia-smi", "-q", "-d", "CLOCK,ECC,PERFORMANCE,MEMORY"]),
                        ("compiler", ["nvcc", "--version"])):
        if session.arguments.backend == "cuda":
            session.run(name, 30, words)
    everything = "collectives,gtopk,copy,fold,top_k,compress,overhead"
    types = "float32,float16,bfloat16"
    session.calibrate("first_results", 60,
                      ["--ranks", "2,8", "--probe", everything, "--from", "4 B", "--to",
                       size(session, "64 KiB", "4 KiB"), "--verify-only"])
    session.calibrate("all_results", 300,
                      ["--ranks", "2,3,4,5,6,7,8", "--type", types, "--from", "4 B", "--to",
                       size(session, "4 MiB", "4 KiB"), "--block", "4KiB,64KiB", "--verify-only"])
    session.calibrate("odd_results", 120,
                      ["--ranks", "3,5,8", "--type", types, "--from", "1001 B", "--to",
                       size(session, "130 KiB", "9 KiB"), "--per-doubling", "3", "--overlap",
                       "--probe", everything, "--verify-only"])


def part_parts(session):
    record = session.calibrate("overhead", 90, ["--probe", "overhead", "--ranks", "2,4,8",
                                                "--least", "50", "--time-limit",
                                                size(session, "30 s", "2 s"), "-q"])
    if record:
        session.note(overhead_verdicts(record))
    record = session.calibrate("memory", 240,
                               ["--ranks", "2", "--probe", "copy,fold", "--type",
                                "float32,float16,bfloat16", "--from", "1 MiB", "--to",
                                size(session, "1 GiB", "2 MiB"), "--time-limit",
                                size(session, "120 s", "4 s"), "-q"])
    if record:
        session.note(memory_verdicts(record, peak_of(record.get("device", ""),
                                                     session.arguments.peak)))


def part_collectives(session):
    record = session.calibrate("collectives", 240,
                               ["--ranks", "2,4,8", "--probe", "collectives,copy", "--from",
                                "1 KiB", "--to", size(session, "128 MiB", "64 KiB"), "--block",
                                "1MiB,16MiB", "--time-limit", size(session, "150 s", "8 s"), "-q"])
    if record:
        answer = session.out / "fit.txt"
        code = session.run("fit", 60, [f"{session.arguments.bin}/sgdsim", "fit",
                                       str(session.out / "collectives.json"), "--format", "json"])
        text = answer.read_text(encoding="utf-8")
        if code == 0:
            session.note(fit_verdicts(json.loads(text[text.index("\n{") + 1:])))
        elif code is not None:
            session.fail(f"fit: {last_line(answer)}")
    large = size(session, "512 MiB", "1 MiB")
    record = session.calibrate("large", 120,
                               ["--ranks", "2,4,8", "--probe", "collectives,copy", "-a",
                                "ring,be,lp", "--op", "allreduce", "--from", large, "--to", large,
                                "--block", "16MiB", "--overlap", "--time-limit",
                                size(session, "60 s", "4 s"), "-q"])
    if record:
        session.note(traffic_verdicts(record))
    record = session.calibrate("odd", 90,
                               ["--ranks", "2,3,4,5", "-a", "ring", "--op", "allreduce", "--type",
                                "float32,float16", "--from", large, "--to", large, "--time-limit",
                                size(session, "40 s", "4 s"), "-q"])
    if record:
        session.note(odd_verdicts(record))


PLAIN_LOOP = """
import time, torch, torchvision
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torchvision.models.resnet50().to(device).train()
data = torch.randn(64, 3, 224, 224, device=device)
target = torch.randint(0, 1000, (64,), device=device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
def step():
    torch.nn.functional.cross_entropy(model(data), target).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
for _ in range(5): step()
torch.cuda.synchronize()
start = time.time()
for _ in range(20): step()
torch.cuda.synchronize()
print((time.time() - start) / 20 * 1e3)
"""


def part_layers(session):
    if session.run("pytorch", 60, [sys.executable, "-c",
                                   "import torch; assert torch.cuda.is_available()"]) != 0:
        session.say("LOOK AT layers: left out, there is no PyTorch that sees a GPU")
        return
    script = str(pathlib.Path(__file__).with_name("trace_layers.py"))
    for name, words in (("resnet50", ["--batch", "64"]),
                        ("gpt2", ["--batch", "8", "--sequence", "1024"]),
                        ("bert-base", ["--batch", "32"])):
        file = session.out / f"layers_{name}.json"
        code = session.run(f"layers_{name}", 150, [sys.executable, script, name, *words, "--steps",
                                                   "10", "--out", str(file)])
        session.note([(code == 0, f"layers of {name}: "
                                  f"{last_line(session.out / f'layers_{name}.txt')}")])
    script = str(pathlib.Path(__file__).with_name("time_attention.py"))
    code = session.run("attention", 60, [sys.executable, script, "--out",
                                         str(session.out / "attention.json")])
    session.note([(code == 0, f"attention: {last_line(session.out / 'attention.txt')}")])
    if (session.out / "layers_resnet50.json").exists():
        if session.run("plain_loop", 100, [sys.executable, "-c", PLAIN_LOOP]) == 0:
            trace = json.loads((session.out / "layers_resnet50.json").read_text(encoding="utf-8"))
            session.note(layer_verdicts(trace, float(last_line(session.out / "plain_loop.txt"))))


PARTS = {"1": ("environment and results: every result must be right", part_results),
         "2": ("parts: launches of 1 to 3 us, copies and sums at 85 % of the memory's rate or more",
               part_parts),
         "3": ("collectives: ring, be and lp at 0.9 to 1.15 times their memory traffic, odd ranks "
               "within 10 % of even ones, held-out sizes within 5 %", part_collectives),
         "4": ("layers: traces of training steps, within 3 % of a plain loop", part_layers)}


def archive(out):
    file = out.with_suffix(".tar.gz")
    with tarfile.open(file, "w:gz") as tar:
        tar.add(out, arcname=out.name)
    return file


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="1, 2, 3 or 4 (default: all)")
    parser.add_argument("--bin", default="build/release/bin", help="folder of the programs")
    parser.add_argument("--out", help="folder for logs and measurements")
    parser.add_argument("--backend", default="cuda", choices=["cuda", "host"])
    parser.add_argument("--peak", type=float, default=0, help="GB/s of the GPU's memory")
    parser.add_argument("--small", action="store_true", help="small sizes, for a trial")
    arguments = parser.parse_args(words)
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"unknown part \"{part}\"; known: {', '.join(PARTS)}")
    if not arguments.out:
        now = datetime.datetime.now(datetime.timezone.utc)
        arguments.out = f"results/first_gpu_{now:%Y%m%d_%H%M%S}"
    session = Session(arguments)
    for part in arguments.parts or PARTS:
        title, play = PARTS[part]
        session.say(f"\n== Part {part}, {title}")
        session.part_end = time.monotonic() + PART_LIMIT_S
        play(session)
    doubts = [line for line in session.lines if line.startswith(("LOOK AT", "FAILED"))]
    session.say("\n== Summary")
    for line in doubts or ["PASS    everything"]:
        session.say(line)
    (session.out / "summary.txt").write_text("\n".join(session.lines) + "\n", encoding="utf-8")
    print(f"Keep {archive(session.out)}: it holds all logs and measurements.")
    return 1 if session.failed else 5 if doubts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
