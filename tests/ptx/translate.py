"""Makes Python of PTX: a function for each run of instructions that nothing enters or leaves in between.

Such a function takes the registers (a list of whole numbers, the bits of each register without a sign, None
before it is written) and the thread, and returns the number of the next one, or -1 at the end. An
instruction at which threads wait for each other is a run of its own and returns a tuple instead: what it
waits for, the next run, the registers that take the answer, and what it brings. Arithmetic with None is a
TypeError, so that every register that is read before it is written shows; what PTX only moves is
written such that it computes something. An instruction that is not known here is an error that names it.

When it is wrong: nvcc may compute with a variable that has no value yet and throw the result away, which is an
error here, unless selp is what throws it away. Of the code tried, only CUB's sort of a block does so, on sm_100.
"""
import bisect
import re
import struct

import floats
import operations
from parse import SIZES, Unknown

SPECIAL = re.compile(r"%(tid|ntid|ctaid|nctaid)\.[xyz]|%(laneid|warpid|nwarpid|smid|nsmid|gridid|clock|clock64|"
                     r"clock_hi|globaltimer|globaltimer_lo|lanemask_(eq|le|lt|ge|gt))")
# Where a thread is, which every kernel asks.
PLACES = {"%tid.x": "T.number", "%ctaid.x": "T.block.number", "%ntid.x": "T.sizes[1]", "%nctaid.x": "T.sizes[0]",
          "%laneid": "(T.number % 32)"}
WAITS = ("bar", "barrier", "shfl", "vote", "match", "redux", "membar", "fence", "nanosleep")


def is_watched(words):
    """A load in a loop that waits for another thread: others go on after it."""
    return words[0] == "ld" and operations.may_meet(words)


class Translator:
    def __init__(self, kernel):
        self.kernel = kernel
        self.numbers = {name: i for i, name in enumerate(kernel.registers)}
        self.variables = {one.name: one for one in kernel.variables}

    # ---- operands

    def width(self, register):
        kind = self.kernel.registers[register]
        return 1 if kind == "pred" else 8 * SIZES[kind]

    def read(self, operand, bits):
        """An expression: the operand as a number of so many bits without a sign."""
        mask = (1 << bits) - 1
        if operand in self.numbers:
            text = f"R[{self.numbers[operand]}]"
            return text if self.width(operand) <= bits else f"({text} & {mask})"
        if operand[0] == "{":
            parts = [one.strip() for one in operand[1:-1].split(",")]
            each = bits // len(parts)
            return "(" + " | ".join(f"{self.read(one, each)} << {i * each}" for i, one in enumerate(parts)) + ")"
        if operand in PLACES:
            return PLACES[operand]
        if SPECIAL.fullmatch(operand):
            return f"(T.special({operand!r}) & {mask})"
        whole = re.fullmatch(r"(-?)(0[xX][0-9a-fA-F]+|\d+)U?", operand)
        if whole:
            number = int(whole[2], 0 if whole[2][:2] in ("0x", "0X") or whole[2] == "0" else 10)
            return str((-number if whole[1] else number) & mask)
        exact = re.fullmatch(r"0[fFdD]([0-9a-fA-F]+)", operand)
        if exact:
            bits_of_type = int(exact[1], 16)
            if operand[1] in "dD" and bits == 32:
                bits_of_type = floats.bits_of("f32", struct.unpack(">d", struct.pack(">Q", bits_of_type))[0])
            return str(bits_of_type)
        name, _, beyond = operand.partition("+")
        if name.strip() in self.variables:
            return f"(T.address({name.strip()!r}) + {int(beyond or 0)})"
        raise Unknown("operand " + operand)

    def signed(self, operand, bits):
        half = 1 << (bits - 1)
        return f"(({self.read(operand, bits)} ^ {half}) - {half})"

    def number(self, operand, kind):
        """An expression: the value of a whole number of the type."""
        bits = 8 * SIZES[kind]
        return self.signed(operand, bits) if kind[0] == "s" else self.read(operand, bits)

    def write(self, operand, text, bits, is_signed=False, is_narrow=False):
        """Statements that store an expression of so many bits. `is_narrow`: it has no more of them."""
        if operand == "_":
            return [text]
        if operand[0] == "{":
            parts = [one.strip() for one in operand[1:-1].split(",")]
            each = bits // len(parts)
            lines = [f"v = {text}"]
            for i, one in enumerate(parts):
                lines += self.write(one, f"v >> {i * each} & {(1 << each) - 1}", each, is_signed, True)
            return lines
        if operand not in self.numbers:
            raise Unknown("destination " + operand)
        width = self.width(operand)
        if is_signed and width > bits:
            half = 1 << (bits - 1)
            text, is_narrow = f"(({text} & {(1 << bits) - 1} ^ {half}) - {half})", False
        if not is_narrow or width < bits:
            text = f"({text}) & {(1 << width) - 1 if is_signed else (1 << min(width, bits)) - 1}"
        return [f"R[{self.numbers[operand]}] = {text}"]

    def address(self, operand):
        """Of [register + 4], [variable + 4] or [4]."""
        inner = operand.strip()[1:-1].strip()
        name, _, beyond = inner.partition("+")
        name, beyond = name.strip(), int(beyond or 0)
        if name in self.numbers:
            return f"R[{self.numbers[name]}] + {beyond}"
        if name in self.variables:
            return f"T.address({name!r}) + {beyond}"
        return self.read(inner, 64)

    def condition(self, guard):
        return f"R[{self.numbers[guard[0]]}] ^ {int(guard[1])}"

    # ---- instructions

    def lines_of(self, instruction):
        words = instruction.op.split(".")
        maker = operations.MAKERS.get(words[0])
        lines = maker(self, words, instruction.operands) if maker else None
        if lines is None:
            raise Unknown("instruction " + instruction.text)
        if instruction.guard:
            return [f"if {self.condition(instruction.guard)}:"] + ["    " + line for line in lines]
        return lines

    def end_of(self, at, runs):
        """How a run ends that ends with this instruction; None if it goes on."""
        instruction = self.kernel.instructions[at]
        words = instruction.op.split(".")
        follows = runs.get(at + 1)
        if words[0] in WAITS:
            lines = operations.wait(self, words, instruction.operands, follows, at)
        elif words[0] in ("ret", "exit"):
            lines = ["return -1"]
        elif words[0] == "bra":
            lines = [f"return {runs[self.kernel.labels[instruction.operands[0]]]}"]
        elif words[0] == "trap" or (words[0] == "call" and "__assertfail" in instruction.text):
            lines = [f"raise Fault({instruction.text!r})"]
        elif is_watched(words):
            lines = operations.load(self, words, instruction.operands) + [f"return ('pause', {follows}, ())"]
        else:
            return None
        if instruction.guard:
            return [f"if {self.condition(instruction.guard)}:", *("    " + one for one in lines), f"return {follows}"]
        return lines

    def first_of_runs(self):
        """Where runs begin."""
        firsts = {0, *self.kernel.labels.values()}
        for at, instruction in enumerate(self.kernel.instructions):
            words = instruction.op.split(".")
            if words[0] in ("bra", "ret", "exit", "trap", "call") or is_watched(words):
                firsts.add(at + 1)
            if words[0] in WAITS:
                firsts |= {at, at + 1}
        return sorted(one for one in firsts if one < len(self.kernel.instructions))

    def source(self, first, end, runs, change):
        """The text of the run. change(at, lines): what stands there in the place of an instruction."""
        lines = []
        for at in range(first, end):
            last = self.end_of(at, runs)
            lines += change(at, last if last is not None else self.lines_of(self.kernel.instructions[at]))
        lines.append(f"return {runs.get(end)}")
        return "def run(R, T):\n    " + "\n    ".join(lines) + "\n"


class Program:
    """A kernel as runs of instructions."""

    def __init__(self, kernel, fault):
        self.kernel = kernel
        self.translator = Translator(kernel)
        firsts = self.translator.first_of_runs()
        self.runs = {first: i for i, first in enumerate(firsts)}
        self.ends = firsts[1:] + [len(kernel.instructions)]
        self.firsts = firsts
        self.names = {"Fault": fault, **operations.NAMES}
        self.code = [self.compiled(i) for i in range(len(firsts))]
        self.sizes = [end - first for first, end in zip(firsts, self.ends)]

    def compiled(self, run, change=lambda at, lines: lines):
        names = dict(self.names)
        exec(self.translator.source(self.firsts[run], self.ends[run], self.runs, change), names)
        return names["run"]

    def changed(self, place, make):
        """Another one, in which make(lines) stands for one instruction."""
        other = object.__new__(Program)
        other.__dict__.update(self.__dict__)
        run = self.run_of(place)
        other.code = list(self.code)
        other.code[run] = self.compiled(run, lambda at, lines: make(lines) if at == place else lines)
        return other

    def watched(self):
        """The same, and a set of the runs that it has come through."""
        seen = set()

        def of(i, run):
            def and_tell(registers, thread):
                seen.add(i)
                return run(registers, thread)
            return and_tell
        other = object.__new__(Program)
        other.__dict__.update(self.__dict__)
        other.code = [of(i, run) for i, run in enumerate(self.code)]
        return other, seen

    def run_of(self, place):
        return bisect.bisect_right(self.firsts, place) - 1

    def without(self, place):
        return self.changed(place, lambda lines: [])

    def with_check(self, place, register):
        """A fault where the instruction changes the register."""
        return self.changed(place, lambda lines: [f"w = {register}", *lines,
                                                  f"if w != {register}: raise Fault('a register changes')"])
