#!/usr/bin/env python3
"""The first session on a new GPU: four parts, each of use alone, in less than half an hour.

Every part says what it must show and what it has shown: PASS, or LOOK AT with the figure. What is
missing never passes. No setting of the GPU is changed.

    first_gpu.py [PART...] [--peak GB/S] [--out FOLDER]

1 results:     what machine it is; every collective and part, of every type, among 2 to 8 ranks
2 parts:       what starting and launching cost; copies and sums against the memory's rate
3 collectives: against memory traffic; odd numbers of ranks; the fit and what it predicts
4 layers:      layer traces of training steps, where PyTorch is installed

Nothing that was measured is lost: after every step the summary and the archive of its part
(part1.tar.gz, ...) are written anew beside the old ones and renamed, and only then is the step told.
SIGINT, SIGTERM and SIGHUP end the step under way, which writes what it has, and then the session.

Exit code 0: all passed; 1: a wrong result, or a command that failed; 5: something to look at; 130:
interrupted. A trial on a machine without a GPU: --backend host --small.
"""
import argparse
import ctypes
import datetime
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import verdicts  # noqa: E402

# Steps: seconds after which one is ended, and those that it should take on one H100, by estimate.
# Limits of a part stay below ten minutes, and all of them below half an hour.
STEPS = {"1": {"nvidia_smi": (15, 3), "compiler": (10, 1), "first_results": (40, 10),
               "all_results": (260, 120), "odd_results": (110, 45)},
         "2": {"overhead": (60, 35), "memory": (160, 120), "overlap": (80, 50)},
         "3": {"collectives": (250, 170), "fit": (30, 2), "large": (110, 75), "odd": (80, 50)},
         "4": {"pytorch": (40, 15), "layers_resnet50": (100, 40), "plain_resnet50": (60, 25),
               "layers_gpt2": (100, 45), "layers_bert-base": (100, 45), "attention": (60, 25)}}
GRACE_S = 20  # of a limit, between SIGINT, after which a measurement is written, and SIGKILL
GRACE_ONCE_INTERRUPTED_S = 5
PYTHON = sys.executable or os.readlink("/proc/self/exe")  # an empty environment hides it


class Interrupted(BaseException):
    pass


def interrupt(_number, _frame):
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise Interrupted


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_with_parent():
    """In a command: it ends if this program is killed, so that the GPU is not kept busy."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def write_anew(file, content):
    """Either the old content or the new one is there, whenever this program is killed."""
    new = file.with_name(f".{file.name}.new")
    with open(new, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(new, file)


def last_line(file):
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it said nothing"


class Session:
    def __init__(self, arguments):
        self.arguments = arguments
        self.out = pathlib.Path(arguments.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.lines = []
        self.told = 0  # lines that have been printed
        self.failed = False
        self.part = ""
        self.process = None

    @property
    def folder(self):
        return self.out / f"part{self.part}"

    def begin(self, part, title):
        self.part = part
        self.folder.mkdir(exist_ok=True)
        self.say(f"\n== Part {part}, {title}")

    def say(self, line):
        self.lines.append(line)

    def note(self, found):
        for passed, line in found:
            self.say(f"{'PASS   ' if passed else 'LOOK AT'} {line}")

    def fail(self, line):
        self.failed = True
        self.say(f"FAILED  {line}")

    def save(self):
        """What was said and measured so far goes to its files; then it is printed."""
        summary = ("\n".join(self.lines) + "\n").encode()
        write_anew(self.out / "summary.txt", summary)
        if self.part:
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=6) as tar:
                tar.add(self.folder, arcname=self.folder.name)
                entry = tarfile.TarInfo("summary.txt")
                entry.size = len(summary)
                entry.mtime = int(time.time())
                tar.addfile(entry, io.BytesIO(summary))
            write_anew(self.out / f"part{self.part}.tar.gz", packed.getvalue())
        for line in self.lines[self.told:]:
            print(line, flush=True)
        self.told = len(self.lines)

    def end_process(self, grace_s):
        """SIGINT, upon which a measurement is written; then SIGKILL."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def start(self, words, printed, log):
        """What interrupts meanwhile does so when the process is known, so that it is ended, too."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self.process = subprocess.Popen(words, stdout=printed, stderr=log,
                                            stdin=subprocess.DEVNULL, start_new_session=True,
                                            preexec_fn=end_with_parent)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def run(self, name, words, out=None):
        """Runs a step's command within its limit: what it prints goes to a file, its log to
        another. Its exit code; nothing if it could not be started."""
        limit_s = STEPS[self.part][name][0] * self.arguments.scale
        grace_s = min(GRACE_S, limit_s / 4)
        began = time.monotonic()
        with open(self.folder / (out or f"{name}.txt"), "wb") as printed, \
                open(self.folder / f"{name}.log", "wb") as log:
            log.write((" ".join(words) + "\n").encode())
            log.flush()
            self.process = None
            try:
                self.start(words, printed, log)
                code = self.process.wait(limit_s - grace_s)
            except OSError as error:
                self.say(f"LOOK AT {name}: {error}")
                return None
            except subprocess.TimeoutExpired:
                code = self.end_process(grace_s)
            except Interrupted:
                if self.process is not None:
                    self.end_process(GRACE_ONCE_INTERRUPTED_S)
                self.say(f"LOOK AT {name}: interrupted after {time.monotonic() - began:.0f} s")
                raise
        self.say(f"        {name}: exit code {code} after {time.monotonic() - began:.0f} s")
        return code

    def log(self, name):
        return last_line(self.folder / f"{name}.log")

    def read(self, name):
        """An answer in JSON, or nothing where it is none."""
        try:
            return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            self.fail(f"{name}: no answer can be read: {error}")
            return None

    def check_results(self, name, words):
        code = self.run(name, [self.program("sgdsim-calibrate"), "--backend",
                               self.arguments.backend, *words, "--verify-only"])
        if code is not None:
            found = verdicts.of_results(name, code, self.log(name))
            self.note(found) if code in (0, 3, 130) else self.fail(found[0][1])
        self.save()

    def measure(self, name, words, judge=lambda record: []):
        """Measures; judge(record) gives the verdicts on its figures. The record, or nothing."""
        file = self.folder / f"{name}.json"
        file.unlink(missing_ok=True)  # of a session before
        code = self.run(name, [self.program("sgdsim-calibrate"), "--backend",
                               self.arguments.backend, *words, "-q", "--out", str(file), "--force"])
        record = None
        if code is not None:
            if code not in (0, 130):
                self.fail(f"{name}: {self.log(name)}")
            record = self.read(name) if file.exists() or code == 0 else None
            if record is not None:
                self.note(verdicts.of_record(name, record, judge))
        self.save()
        return record

    def program(self, name):
        return str(pathlib.Path(self.arguments.bin) / name)

    def script(self, name):
        return [PYTHON, "-B", str(pathlib.Path(__file__).with_name(name))]

    def size(self, large, small):
        return small if self.arguments.small else large


TYPES = ["float32", "float16", "bfloat16"]
RANKS = [2, 4, 8]


def text_of(numbers):
    return ",".join(str(number) for number in numbers)


def part_results(session):
    if session.arguments.backend == "cuda":
        session.run("nvidia_smi", ["nvidia-smi", "-q"])
        if shutil.which("nvcc"):  # of use to whoever builds there
            session.run("compiler", ["nvcc", "--version"])
        session.save()
    everything = "collectives,gtopk,copy,fold,top_k,compress,overhead"
    session.check_results("first_results", ["--ranks", "2,8", "--probe", everything, "--from", "4 B",
                                            "--to", session.size("64 KiB", "1 KiB")])
    session.check_results("all_results", ["--ranks", session.size("2,3,4,5,6,7,8", "2,3,5"),
                                          "--type", ",".join(TYPES), "--from", "4 B", "--to",
                                          session.size("4 MiB", "1 KiB"), "--block",
                                          "4KiB,64KiB"])
    session.check_results("odd_results", ["--ranks", session.size("3,5,8", "3"), "--type",
                                          ",".join(TYPES), "--from", "1001 B", "--to",
                                          session.size("130 KiB", "3 KiB"), "--per-doubling",
                                          session.size("3", "1"), "--overlap", "--probe",
                                          everything])


def part_parts(session):
    session.measure("overhead", ["--probe", "overhead", "--ranks", text_of(RANKS), "--least", "50",
                                 "--time-limit", session.size("30 s", "2 s")],
                    lambda record: verdicts.overhead(record, RANKS))
    session.measure("memory", ["--ranks", "2", "--probe", "copy,fold", "--type", ",".join(TYPES),
                               "--from", "1 MiB", "--to", session.size("1 GiB", "2 MiB"),
                               "--time-limit", session.size("100 s", "4 s")],
                    lambda record: verdicts.memory(
                        record, verdicts.peak_of(record, session.arguments.peak),
                        TYPES))
    if session.arguments.backend == "cuda":  # threads have nothing beside them
        session.measure("overlap", ["--ranks", "2", "--probe", "overlap", "--type", "bfloat16",
                                    "--from", session.size("32 MiB", "64 KiB"), "--to",
                                    session.size("256 MiB", "64 KiB"), "--time-limit",
                                    session.size("50 s", "3 s")], verdicts.overlaps)


def part_collectives(session):
    record = session.measure("collectives",
                             ["--ranks", text_of(RANKS), "--probe", "collectives,copy", "--from",
                              "1 KiB", "--to", session.size("128 MiB", "16 KiB"), "--block",
                              "1MiB,16MiB", "--time-limit", session.size("160 s", "8 s")])
    if record:
        code = session.run("fit", [session.program("sgdsim"), "fit",
                                   str(session.folder / "collectives.json"), "--format", "json"],
                           "fit.json")
        answer = session.read("fit") if code == 0 else None
        if answer is not None:
            session.note(verdicts.of_record("fit, its record", record,
                                            lambda record: verdicts.fit(answer, record)))
        elif code:
            session.fail(f"fit: {session.log('fit')}")
        session.save()
    large = session.size("512 MiB", "1 MiB")
    session.measure("large", ["--ranks", text_of(RANKS), "--probe", "collectives,copy", "-a",
                              "ring,be,lp", "--op", "allreduce", "--from", large, "--to", large,
                              "--block", "16MiB", "--overlap", "--time-limit",
                              session.size("70 s", "4 s")],
                    lambda record: verdicts.traffic(record, RANKS))
    session.measure("odd", ["--ranks", "2,3,4,5", "-a", "ring", "--op", "allreduce", "--type",
                            "float32,float16", "--from", large, "--to", large, "--time-limit",
                            session.size("45 s", "4 s")],
                    lambda record: verdicts.odd(record, [2, 3, 4, 5], ["float32", "float16"]))


def part_layers(session):
    code = session.run("pytorch", [PYTHON, "-c",
                                   "import torch; assert torch.cuda.is_available()"])
    if code != 0:
        session.say("LOOK AT layers: left out, there is no PyTorch that sees a GPU")
    session.save()
    if code != 0:
        return
    for name, words in (("resnet50", ["--batch", "64"]),
                        ("gpt2", ["--batch", "8", "--sequence", "1024"]),
                        ("bert-base", ["--batch", "32"])):
        step = f"layers_{name}"
        file = session.folder / f"{step}.json"
        file.unlink(missing_ok=True)
        words = [*session.script("trace_layers.py"), name, *words, "--steps", "10"]
        code = session.run(step, [*words, "--out", str(file)])
        session.note([(code == 0, f"layers of {name}: {session.log(step)}")])
        trace = session.read(step) if code == 0 else None
        if trace is not None:
            session.note(verdicts.recording(trace))
        session.save()
        if name == "resnet50" and code == 0:
            plain_code = session.run("plain_resnet50", [*words, "--plain"], "plain_resnet50.json")
            plain = session.read("plain_resnet50") if plain_code == 0 else None
            if trace is not None and plain is not None:
                session.note(verdicts.layers(trace, plain))
            else:
                session.note([verdicts.missing("layers, a plain step")])
            session.save()
    code = session.run("attention", [*session.script("time_attention.py"), "--out",
                                     str(session.folder / "attention.json")])
    session.note([(code == 0, f"attention: {session.log('attention')}")])
    session.save()


PARTS = {"1": ("environment and results: every result must be right", part_results),
         "2": ("parts: launches of 1 to 3 us, copies and sums at 85 % of the memory's rate or more",
               part_parts),
         "3": ("collectives: ring, be and lp at 0.9 to 1.15 times their memory traffic, odd ranks "
               "within 10 % of even ones, held-out sizes within 5 %", part_collectives),
         "4": ("layers: traces of training steps, within 3 % of a plain loop", part_layers)}


def play(session, part):
    """What breaks a part ends neither what it has measured nor the parts after it."""
    title, run = PARTS[part]
    session.begin(part, title)
    try:
        run(session)
    except Exception as error:  # pylint: disable=broad-except
        session.fail(f"part {part} ended by {type(error).__name__}: {error}")
    finally:
        session.save()


def table_of_steps():
    """What docs/calibrate.md shows."""
    lines = ["| part | step | limit s | expected s |", "|---|---|---|---|"]
    for part, steps in STEPS.items():
        lines += [f"| {part} | {name} | {limit} | {expected} |"
                  for name, (limit, expected) in steps.items()]
    sums = [sum(step[i] for steps in STEPS.values() for step in steps.values()) for i in (0, 1)]
    return "\n".join([*lines, f"| all | | {sums[0]} | {sums[1]} |"])


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="1, 2, 3 or 4 (default: all)")
    parser.add_argument("--bin", default="build/release/bin", help="folder of the programs")
    parser.add_argument("--out", help="folder for logs, measurements and one archive for each part")
    parser.add_argument("--backend", default="cuda", choices=["cuda", "host"])
    parser.add_argument("--peak", type=float, default=0, help="GB/s of the GPU's memory")
    parser.add_argument("--small", action="store_true", help="small sizes, for a trial")
    parser.add_argument("--scale", type=float, default=1, help="factor of all limits (default: 1)")
    parser.add_argument("--steps", action="store_true", help="print the steps and their limits, and end")
    arguments = parser.parse_args(words)
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"unknown part \"{part}\"; known: {', '.join(PARTS)}")
    if not arguments.scale > 0:
        parser.error(f"--scale: expected a factor above 0, got {arguments.scale:g}")
    if not arguments.out:
        now = datetime.datetime.now(datetime.timezone.utc)
        arguments.out = f"results/first_gpu_{now:%Y%m%d_%H%M%S}"
    return arguments


def main(words):
    arguments = parse_arguments(words)
    if arguments.steps:
        print(table_of_steps())
        return 0
    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    session = Session(arguments)
    interrupted = False
    try:
        for part in arguments.parts or PARTS:
            play(session, part)
    except Interrupted:
        interrupted = True
        session.say("LOOK AT the session: it was interrupted")
    doubts = [line for line in session.lines if line.startswith(("LOOK AT", "FAILED"))]
    session.say("\n== Summary")
    for line in doubts or ["PASS    everything"]:
        session.say(line)
    session.say(f"Keep {session.out}/: summary.txt, and one archive for each part.")
    session.save()
    for number, handler in before.items():
        signal.signal(number, handler)
    return 130 if interrupted else 1 if session.failed else 5 if doubts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
