"""Kernels with one instruction less, and which of them may give the right result all the same.

A mutant that no case shows is either proven to be the same kernel (a rule below), or stands in the list of
what cannot be seen, with its reason. Whatever else survives is a case that is missing.
"""
import re

# (kernel, at most so many in each, the instruction before, the instruction, why it cannot be seen). Read in the
# PTX of CUDA 13.0.
UNSEEN = [
    ("keep_busy", 5, "", r"(fma\.rn\.f32|st\.global\.f32|cvta|ld\.param\.u64 \S+ \[.*_param_2\])",
     "the value is never negative, so that it is stored nowhere; it is there for the time that it takes"),
    ("keep_busy", 1, r"setp\.ne\.s64 \S+ \S+ 0", r"@\S+ bra", "three rounds more or less show in time only"),
    ("largest_bits", 2, r"(setp\.ne\.s32 \S+ \S+ 0|bar\.sync 0)", r"@\S+ bra",
     "threads beside the first reduce the block too, and nobody takes what they find"),
    ("largest_bits", 1, r"setp\.gt\.s32 \S+ \S+ 15", r"@\S+ bra",
     "lanes from 16 on take part in the last step of a warp's reduction too, and nobody takes what they find"),
    ("largest_bits", 5, r"max\.u32", r"@\S+ bra",
     "in the place of a second pack that is not there stands the first, which makes nothing larger"),
    ("sum_packs", 5, r"setp\.ge\.s64", r"@\S+ bra", "the first of two packs is there, or the loop would have ended"),
    *[(name, turns - 1, previous, r"@\S+ bra",
       f"in a loop of {turns} turns, the second pack is there where a turn follows")
      for name, turns, previous in (("sum_packs", 4, r"(add\.f32|cvt\.rn)"), ("copy_packs", 2, r"st\.global"),
                                    ("to_16", 4, r"st\.global"), ("to_8", 4, r"(st\.global|setp\.ge\.s64)"))],
    ("take_digit", 2, r"setp\.eq\.s32 \S+ \S+ 0", r"@\S+ bra",
     "where a loop of 16 leaves nothing over, the shorter ones behind it find nothing"),
    ("add_equal", 10, r"(setp\.(ge|eq)\.s64|mov\.pred)", r"@\S+ bra",
     "in a loop of four, what has an element of its thread behind it is not the last, before it not the first"),
    ("add_equal", 10, "", r"mov\.pred", "the truth that such a branch keeps"),
]


NAME = r"[%$\w][\w~]*"  # of a register, or a number


def text_of(instruction):
    guard = f"@{'!' * instruction.guard[1]}{instruction.guard[0]} " if instruction.guard else ""
    return guard + " ".join([instruction.op, *instruction.operands])


def written(instruction):
    """Registers that it writes; a store writes none, which does no harm here."""
    if not instruction.operands or instruction.op.startswith(("st.", "bra", "red.", "bar.")):
        return set()
    return set(re.findall(NAME, instruction.operands[0]))


def followers(kernel, at):
    instruction = kernel.instructions[at]
    if instruction.op.startswith("bra"):
        target = kernel.labels[instruction.operands[0]]
        return [target, at + 1] if instruction.guard else [target]
    if instruction.op.startswith(("ret", "exit")) and not instruction.guard:
        return []
    return [at + 1]


def is_repeated(kernel, at):
    """On every way to it the same instruction was done, and nothing has changed what it reads or writes."""
    instruction = kernel.instructions[at]
    if instruction.op.startswith(("ld.global", "ld.shared", "ld.volatile", "st", "atom", "bra", "bar", "shfl")):
        return False
    if "globaltimer" in text_of(instruction) or "clock" in text_of(instruction):
        return False
    registers = set(re.findall(NAME, " ".join([*instruction.operands, *(instruction.guard or ())[:1]])))
    holds = [at_start > 0 for at_start in range(len(kernel.instructions))]  # before each; at first all but one
    changes = True
    while changes:
        changes = False
        for now, one in enumerate(kernel.instructions):
            is_same = now != at and text_of(one) == text_of(instruction)
            after = is_same or (holds[now] and (now == at or not written(one) & registers))
            for following in followers(kernel, now):
                if following < len(holds) and holds[following] and not after:
                    holds[following] = False
                    changes = True
    return holds[at]


def is_wide_division(kernel, at):
    """A branch between two divisions: that of 64 bits gives what that of 32 gives, where both may be done."""
    if not kernel.instructions[at].op.startswith("bra") or at + 1 >= len(kernel.instructions):
        return False
    wide = kernel.instructions[at + 1]
    if not re.match(r"(div|rem)\.[us]64", wide.op):
        return False
    word, answer = wide.op[:3], wide.operands[0]
    narrow = {one.operands[0] for one in kernel.instructions if one.op == word + ".u32"}
    return any(one.op == "cvt.u64.u32" and one.operands[0] == answer and one.operands[1] in narrow
               for one in kernel.instructions)


class Reasons:
    """Why a kernel is the same without an instruction, or why nobody sees it."""

    def __init__(self, name, kernel, changes_nothing):
        self.name, self.kernel, self.changes_nothing = name, kernel, changes_nothing
        self.left = [most for _, most, *_ in UNSEEN]

    def of(self, at):
        """None: nobody knows."""
        instruction = self.kernel.instructions[at]
        if is_repeated(self.kernel, at):
            return "the same was done before"
        if is_wide_division(self.kernel, at):
            return "a division of 64 bits in the place of one of 32"
        if instruction.op in ("mov.u64", "add.s64") and self.changes_nothing(at):
            return "brings a number to where it is already, in every case"
        before = text_of(self.kernel.instructions[at - 1]) if at else ""
        for i, (name, _, previous, pattern, reason) in enumerate(UNSEEN):
            if (name == self.name and self.left[i] > 0 and re.match(previous, before)
                    and re.match(pattern, text_of(instruction))):
                self.left[i] -= 1
                return reason
        return None
