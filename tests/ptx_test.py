"""The kernels as nvcc makes them, interpreted thread by thread, and with each instruction left out.

Compiles every file of calibrate/cuda with kernels to PTX, for four generations of GPUs, and runs it in
tests/ptx/ on memory that checks every access. Of one generation every mutant is tried, of the others a
sixteenth, which --seed chooses; --all tries all. --only sum_packs: one kernel. Exit code 77: skipped, with the
reason. It does not show what ptxas makes of PTX, and leaves out the kernels of CUB.
"""
import argparse
import functools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/ptx"))

import cases_chosen  # noqa: E402
import cases_dense  # noqa: E402
import cases_sparse  # noqa: E402
import mutants  # noqa: E402
from memory import Fault  # noqa: E402
from parse import kernels_of  # noqa: E402
from translate import Program  # noqa: E402

GENERATIONS = (75, 80, 90, 100)
WITH_ALL_MUTANTS = 90
SAMPLE = 16  # of the others one mutant of so many, another one in each of them
RELEASE = (13, 0)  # of the toolkit whose code mutants.py explains
NOBODY_SEES = "nobody sees that it lacks"
TABLE = {**cases_chosen.TABLE, **cases_dense.TABLE, **cases_sparse.TABLE}


def sources():
    return sorted((SOURCE / "calibrate/cuda").glob("*.cu"))


def kernels_in_source():
    """As the source has them, so that none is forgotten."""
    names = set()
    for file in sources():
        names |= set(re.findall(r"__global__\s+(?:void\s+)?(?:__launch_bounds__\([^)]*\)\s*)?(?:void\s+)?(\w+)\(",
                                file.read_text()))
    return names


@functools.cache
def functions_in_source():
    """Structs that CUB calls for each entry."""
    return {name for file in sources()
            for name in re.findall(r"struct (\w+) \{[^}]*__device__ \w+ operator\(\)", file.read_text())}


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def find_nvcc(given):
    found = shutil.which(given) if given else shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not found:
        skip("nvcc is not found")
    said = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    release = re.search(r"release (\d+)\.(\d+)", said)
    if not release or int(release[1]) < 12:
        skip("nvcc 12 or later is needed")
    return found, (int(release[1]), int(release[2]))


def joined(folder, files):
    """One file that includes them all: most of the time goes into headers, and kernels come out the same."""
    whole = folder / "kernels.cu"
    whole.write_text("".join(f'#include "{file}"\n' for file in files))
    return whole


def compiled(nvcc, folder, generation, file):
    """The PTX, or None where the generation is younger than the toolkit."""
    output = folder / f"kernels.{generation}.ptx"
    ran = subprocess.run([nvcc, "-ptx", f"-arch=sm_{generation}", "-std=c++20", "-I", SOURCE / "tests/ptx",
                          "-I", SOURCE, "-o", output, file], capture_output=True, text=True, cwd=folder)
    said = ran.stdout + ran.stderr
    if ran.returncode != 0 and re.search("Unsupported gpu architecture|is not defined for option 'gpu-arch", said):
        return None
    if ran.returncode != 0 and re.search("unsupported (GNU|clang) version", said):
        skip("nvcc does not know the C++ compiler")
    assert ran.returncode == 0, said
    return output.read_text()


def name_of(symbol):
    """The kernel's name and the type that it is made for, of _ZN...9sum_packsI6__halfEEv...

    Kernels that ask a function of sparse.cu (cub/cub.cuh) have the function's name."""
    at, names = 3, []
    while symbol[at].isdigit():
        digits = re.compile(r"\d+").match(symbol, at)
        at = digits.end() + int(digits[0])
        names.append(symbol[digits.end():at])
    if names[-1] in ("ask_entries", "ask_pairs"):
        asked = re.search(rf"\d({'|'.join(functions_in_source())})I(f|\d+\w*?)E", symbol)
        return asked[1], asked[2]
    kind = re.match(r"I(f|\d+)", symbol[at:])
    if kind and kind[1] != "f":
        return names[-1], symbol[at + 1:at + kind.end() + int(kind[1])]
    return names[-1], kind[1] if kind else ""


def programs_of(text):
    """Those of this project; CUB's are CUB's business."""
    for kernel in kernels_of(text, lambda symbol: symbol.startswith("_ZN6sgdsim")):
        yield (*name_of(kernel.name), Program(kernel, Fault))


class Trial:
    """One kernel of one generation."""

    def __init__(self, name, kind, program, cases):
        self.name, self.kind, self.program = name, kind, program
        self.cases = cases
        self.shown = []  # cases that have shown a mutant, the last one first
        self.failures = []

    def say(self, text):
        self.failures.append(f"{self.name} {self.kind}: {text}")

    def run(self):
        """The kernel as it is; some cases once more, with threads in an order drawn by lot."""
        self.limits, self.runs = {}, {}
        for i, case in enumerate(self.cases):
            program, self.runs[id(case)] = self.program.watched() if case.for_mutants else (self.program, set())
            for order in (None, i + 1) if i % 8 == 0 else (None,):
                wrong = case.wrong(program, order)
                if wrong:
                    self.say(f"{case.reason}: {wrong}")
            self.limits[id(case)] = 4 * case.last_steps + 200
        self.for_mutants = sorted((case for case in self.cases if case.for_mutants), key=lambda case: case.last_steps)

    def cases_through(self, at):
        """Those for mutants that come to the instruction, short ones first."""
        run = self.program.run_of(at)
        return [case for case in self.for_mutants if run in self.runs[id(case)]]

    def is_shown(self, at):
        """Neighbours are mostly shown by the same case, by those behind it, or by what has shown others."""
        mutant, cases = self.program.without(at), self.cases_through(at)
        if self.shown and self.shown[0] in cases:
            last = cases.index(self.shown[0])
            cases = [*cases[last:last + 3], *(case for case in self.shown if case in cases), *cases]
        for case in dict.fromkeys(cases):
            if case.wrong(mutant, limit=self.limits[id(case)]):
                self.shown = [case, *(one for one in self.shown if one is not case)]
                return True
        return False

    def changes_nothing(self, at):
        """Whether a register holds what the instruction brings before it does so, in every case."""
        program, translator = self.program, self.program.translator
        register = f"R[{translator.numbers[program.kernel.instructions[at].operands[0]]}]"
        return not any(case.wrong(program.with_check(at, register)) for case in self.cases_through(at))

    def count_mutants(self, places, explained):
        reasons = mutants.Reasons(self.name, self.program.kernel, self.changes_nothing)
        for at in places:
            if self.is_shown(at):
                continue
            reason = reasons.of(at)
            if reason is None:
                self.say(f"{NOBODY_SEES} {mutants.text_of(self.program.kernel.instructions[at])}")
            else:
                explained[reason] = explained.get(reason, 0) + 1


class Trials:
    """All kernels of all generations, and what came of them."""

    def __init__(self, asked):
        self.asked = asked
        self.cases, self.explained, self.failures = {}, {}, []
        self.tried = self.dropped = 0

    def places(self, generation, size):
        """The instructions that are left out, one by one."""
        if self.asked.all or generation == WITH_ALL_MUTANTS:
            return range(size)
        return range((GENERATIONS.index(generation) + self.asked.seed) % SAMPLE, size, SAMPLE)

    def add(self, generation, name, kind, program):
        if (name, kind) not in self.cases:
            self.cases[name, kind] = list(TABLE[name](kind))
        trial = Trial(name, kind, program, self.cases[name, kind])
        trial.run()
        self.tried += len(trial.cases)
        if not trial.failures:
            places = self.places(generation, len(program.kernel.instructions))
            self.dropped += len(places)
            trial.count_mutants(places, self.explained)
        self.failures += [f"sm_{generation} {one}" for one in trial.failures]

    def told(self, release):
        """Prints all of it; whether everything is right."""
        print(f"{len(self.cases)} kernels, {self.tried} cases, {self.dropped} mutants (seed {self.asked.seed}), "
              f"of which {sum(self.explained.values())} cannot be seen:")
        for reason, times in sorted(self.explained.items()):
            print(f"  {times:3} {reason}")
        print(f"{time.process_time():.0f} s, without those of nvcc")
        print(*self.failures, sep="\n")
        unseen = sum(NOBODY_SEES in one for one in self.failures)
        # What cannot be seen was read in the code of one release; others make something else of a kernel.
        allowed = 0 if release == RELEASE else self.dropped // 50
        return unseen == len(self.failures) and unseen <= allowed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvcc")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only")
    asked = parser.parse_args()
    nvcc, release = find_nvcc(asked.nvcc)
    files = [file for file in sources() if "__global__" in file.read_text()]
    difference = (kernels_in_source() | functions_in_source()) ^ set(TABLE)
    assert not difference, f"kernels without cases, or cases without a kernel: {sorted(difference)}"
    trials = Trials(asked)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        file = joined(folder, files)
        texts = {generation: pool.submit(compiled, nvcc, folder, generation, file) for generation in GENERATIONS}
        for generation, text in texts.items():
            if text.result() is None:
                print(f"nvcc {release[0]}.{release[1]} does not know sm_{generation}")
                continue
            for name, kind, program in programs_of(text.result()):
                if asked.only in (None, name):
                    trials.add(generation, name, kind, program)
    sys.exit(0 if trials.told(release) else 1)


if __name__ == "__main__":
    main()
