"""Reads the text of PTX: kernels with their parameters, variables, registers, labels and instructions.

It follows the grammar of "PTX ISA" as far as nvcc writes it: braces within a kernel open a scope whose
registers hide others of the same name, which is how inline assembly has names of its own. Wrong where a
file defines functions beside kernels (they are left out), or macros of a preprocessor.
"""
import re
from collections import namedtuple

# guard: (register, whether it is negated) or None. Names of registers are unique within a kernel.
Instruction = namedtuple("Instruction", "guard op operands text")
# space: shared, const, global, local; first: the bytes at the start, or None where nothing is said.
Variable = namedtuple("Variable", "name space bytes align first")
Kernel = namedtuple("Kernel", "name parameters variables registers instructions labels")

SIZES = {"pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4,
         "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16}


class Unknown(Exception):
    """PTX that this reader does not know; the text says which."""


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"^[ \t]*\.(loc|file)\b[^\n]*", "", text, flags=re.M)


def end_of_block(text, start):
    """Of the brace at `start`: the place of the brace that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return at
    raise Unknown("a brace is not closed")


def variable_of(statement):
    """.shared .align 4 .b8 room[44] = {1, 2}; None for what is no variable."""
    found = re.match(r"\.?(?:visible |extern |weak |common )*\.(shared|const|global|local)\s+(?:\.align\s+(\d+)\s+)?"
                     r"(?:\.v([24])\s+)?\.(\w+)\s+([\w$%]+)((?:\[\d*\])*)\s*(?:=\s*(.*))?$", statement, re.S)
    if not found:
        return None
    space, align, vector, kind, name, dimensions, values = found.groups()
    size = SIZES[kind]
    count = int(vector or 1)
    for one in re.findall(r"\[(\d*)\]", dimensions):
        count *= int(one or 0)
    first = None
    if values is not None:
        numbers = [int(n, 0) for n in re.findall(r"-?\b(?:0x[0-9a-fA-F]+|\d+)\b", values)]
        first = b"".join((n % 256**size).to_bytes(size, "little") for n in numbers).ljust(count * size, b"\0")
    elif space in ("const", "global"):
        first = bytes(count * size)  # PTX: without a value, zero
    return Variable(name, space, count * size, int(align or size), first)


def statements_of(body):
    """The statements of a kernel's body, and the braces that open and close scopes."""
    at = 0
    while at < len(body):
        if body[at].isspace() or body[at] == ";":
            at += 1
        elif body[at] in "{}":
            yield body[at]
            at += 1
        else:
            label = re.compile(r"([\w$%]+):(?!:)").match(body, at)
            if label:
                yield label.group(0)
                at = label.end()
                continue
            end = depth = 0
            for end in range(at, len(body)):
                depth += (body[end] == "{") - (body[end] == "}")
                if body[end] == ";" and depth == 0:
                    break
            yield re.sub(r"\s+", " ", body[at:end]).strip()
            at = end + 1


class Scopes:
    """Registers by name, the innermost first."""

    def __init__(self):
        self.levels = [{}]
        self.kinds = {}

    def declare(self, kind, names):
        for name in names.split(","):
            many = re.match(r"(.+)<(\d+)>$", name.strip())
            each = [f"{many[1]}{i}" for i in range(int(many[2]))] if many else [name.strip()]
            for one in each:
                unique = one if one not in self.kinds else f"{one}~{len(self.kinds)}"
                self.levels[-1][one] = unique
                self.kinds[unique] = kind

    def renamed(self, operand):
        def unique(found):
            for level in reversed(self.levels):
                if found[0] in level:
                    return level[found[0]]
            return found[0]
        return re.sub(r"[%$A-Za-z_][\w$]*", unique, operand)


def operands_of(text):
    return [one.strip() for one in re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,{}\[\]()])+", text)]


def instruction_of(statement, scopes):
    guard = None
    guarded = re.match(r"@(!?)([\w$%]+)\s+(.*)", statement, re.S)
    if guarded:
        guard = (scopes.renamed(guarded[2]), guarded[1] == "!")
        statement = guarded[3]
    op, _, rest = statement.partition(" ")
    return Instruction(guard, op, [scopes.renamed(one) for one in operands_of(rest)], statement)


def kernel_of(name, parameters, body, variables):
    known = {}
    align = r"(?:\.align\s+\d+\s+)?"
    pattern = re.compile(align + r"\.(\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)*?" + align + r")?([\w$%]+)(?:\[(\d+)\])?")
    for one in re.findall(r"\.param\s+([^,]+)", parameters):
        found = pattern.match(one.strip())
        known[found[2]] = SIZES[found[1]] * int(found[3] or 1)
    scopes, instructions, labels, own = Scopes(), [], {}, list(variables)
    for statement in statements_of(body):
        if statement == "{":
            scopes.levels.append({})
        elif statement == "}":
            scopes.levels.pop()
        elif statement.endswith(":"):
            labels[statement[:-1]] = len(instructions)
        elif statement.startswith(".reg"):
            _, kind, names = statement.split(None, 2)
            scopes.declare(kind[1:], names)
        elif variable_of(statement):
            own.append(variable_of(statement))
        elif statement.startswith(".") and not statement.startswith((".pragma", ".param")):
            raise Unknown("directive " + statement)
        elif not statement.startswith("."):
            instructions.append(instruction_of(statement, scopes))
    return Kernel(name, known, own, scopes.kinds, instructions, labels)


def kernels_of(text, is_wanted):
    """The kernels whose names are wanted; those of libraries may have instructions that nobody needs."""
    text = without_comments(text)
    variables, kernels, at = [], [], 0
    for start in re.finditer(r"\.entry\s+([\w$]+)\s*\(?|\.func\b|[^;{}]+;", text):
        if start.start() < at:
            continue
        if start[0].startswith(".entry"):
            opening = text.index("{", start.end())
            at = end_of_block(text, opening) + 1
            if is_wanted(start[1]):
                parameters = text[start.end():opening].rpartition(")")[0]
                kernels.append((start[1], parameters, text[opening + 1:at - 1]))
        elif start[0] == ".func":
            opening = re.compile(r"[;{]").search(text, start.end()).start()
            at = end_of_block(text, opening) + 1 if text[opening] == "{" else opening + 1
        elif variable_of(start[0].strip().rstrip(";").strip()):
            variables.append(variable_of(start[0].strip().rstrip(";").strip()))
    return [kernel_of(*one, variables) for one in kernels]
