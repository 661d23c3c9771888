"""What each instruction of PTX does, as statements of Python (translate.py says in which surroundings).

A maker gets the translator, the words of the instruction ("add.s32" has two) and its operands. It returns
None for a variant that is not known here: with carry, saturation, flushing of subnormals, or rounding other
than to nearest. Every one is read from the chapter "Instruction Set" of the PTX manual.
"""
import floats
from memory import Fault
from parse import SIZES, Unknown

FLOATS = ("f16", "bf16", "f32", "f64")
WHOLE = tuple(kind + str(bits) for kind in "bus" for bits in (8, 16, 32, 64))
ORDERS = {"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "cta", "cluster", "gpu", "sys", "mmio"}
CACHES = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"}
MEMORIES = {"global": "T.g", "shared": "T.s", "local": "T.l", "const": "T.c"}
# Where shared and local memory lie among generic addresses.
WINDOWS = {"shared": 1 << 60, "local": 1 << 61}


def bits_of(kind):
    return 8 * SIZES[kind]


# ---- what statements call

def divided(a, b):
    if b == 0:
        raise Fault("division by zero")
    return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))


def remainder(a, b):
    return a - b * divided(a, b)


def shifted_right(a, by, bits):
    return a >> min(by, bits)


def shifted_left(a, by, bits):
    return a << by if by < bits else 0 * a


def inserted(a, b, at, count, bits):
    mask = ((1 << (count & 255)) - 1 << (at & 255)) & (1 << bits) - 1
    return b & ~mask | a << (at & 255) & mask


def extracted(a, at, count, bits, is_signed):
    at, count = at & 255, count & 255
    if count == 0:
        return 0
    found = a >> at & (1 << count) - 1
    top = a >> min(at + count - 1, bits - 1) & 1
    if is_signed and top:
        found |= -1 << max(0, min(count, bits - at))
    return found & (1 << bits) - 1


def permuted(a, b, selector):
    both = a | b << 32
    answer = 0
    for i in range(4):
        choice = selector >> 4 * i & 15
        byte = both >> 8 * (choice & 7) & 255
        if choice & 8:
            byte = 255 if byte & 128 else 0
        answer |= byte << 8 * i
    return answer


def looked_up(a, b, c, table):
    answer = 0
    for i in range(8):
        if table >> i & 1:
            answer |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
    return answer & 0xffffffff


def funnel(a, b, by, is_left, wraps):
    by = by & 31 if wraps else min(by, 32)
    both = b << 32 | a
    return (both << by >> 32 if is_left else both >> by) & 0xffffffff


def mask_of(at, count, wraps):
    at, count = (one & 31 if wraps else min(one, 32) for one in (at, count))
    return ((1 << count) - 1 << at) & 0xffffffff


def leading(a, bits, is_signed, counts_shift):
    if is_signed and a >> bits - 1:
        a ^= (1 << bits) - 1
    if a == 0:
        return 0xffffffff
    return bits - a.bit_length() if counts_shift else a.bit_length() - 1


NAMES = {name: value for name, value in list(globals().items()) if callable(value)}
NAMES["floats"] = floats


# ---- makers

def arithmetic(t, words, operands):
    kind, op = words[-1], words[0]
    if kind in FLOATS:
        if words[1:-1] not in ([], ["rn"]):
            return None
        bits = bits_of(kind)
        values = ", ".join(t.read(one, bits) for one in operands[1:])
        call = {"add": "added", "sub": "subtracted", "mul": "multiplied", "div": "divided", "fma": "fused",
                "mad": "fused", "min": "least", "max": "largest", "sqrt": "root"}.get(op)
        if op == "div" and kind == "f32" and "rn" not in words:
            return None
        return t.write(operands[0], f"floats.{call}({kind!r}, {values})", bits, False, True) if call else None
    if kind not in WHOLE or op == "sqrt" or op == "fma":
        return None
    bits, part = bits_of(kind), words[1:-1]
    a, b = (t.number(one, kind) for one in operands[1:3])
    if op in ("mul", "mad"):
        if part not in (["lo"], ["hi"], ["wide"]):
            return None
        text, width = f"{a} * {b}", bits * (2 if part == ["wide"] else 1)
        if part == ["hi"]:
            text = f"({text} >> {bits})"
        if op == "mad":
            text += " + " + t.number(operands[3], kind if part != ["wide"] else kind[0] + str(width))
        return t.write(operands[0], text, width, kind[0] == "s")
    if part:
        return None
    text = {"add": f"{a} + {b}", "sub": f"{a} - {b}", "div": f"divided({a}, {b})", "rem": f"remainder({a}, {b})",
            "min": f"min({a}, {b})", "max": f"max({a}, {b})", "sad": None}[op]
    return t.write(operands[0], text, bits, kind[0] == "s")


def one_operand(t, words, operands):
    op, kind = words[0], words[-1]
    bits = bits_of(kind)
    a = t.read(operands[1], bits)
    if kind in FLOATS:
        top = 1 << bits - 1
        text = {"neg": f"{a} ^ {top}", "abs": f"{a} & {top - 1}"}.get(op)
    else:
        text = {"neg": f"-{a}", "abs": f"abs({t.number(operands[1], kind)})", "not": f"~{a}",
                "popc": f"bin({a}).count('1')", "clz": f"{bits} - {a}.bit_length()",
                "brev": f"int(bin({a} | {1 << bits})[:2:-1], 2)"}.get(op)
        if op == "bfind":
            text = f"leading({a}, {bits}, {kind[0] == 's'}, {'shiftamt' in words})"
    if text is None or (len(words) > 2 and op != "bfind"):
        return None
    if kind == "pred":
        text = f"{t.read(operands[1], 1)} ^ 1"
    return t.write(operands[0], text, 32 if op in ("popc", "clz", "bfind") else bits)


def logic(t, words, operands):
    kind = words[-1]
    if len(words) != 2:
        return None
    sign = {"and": "&", "or": "|", "xor": "^"}[words[0]]
    bits = 1 if kind == "pred" else bits_of(kind)
    a, b = (t.read(one, bits) for one in operands[1:3])
    return t.write(operands[0], f"{a} {sign} {b}", bits, False, True)


def shift(t, words, operands):
    bits = bits_of(words[-1])
    if len(words) != 2:
        return None
    name = "shifted_left" if words[0] == "shl" else "shifted_right"
    a = t.read(operands[1], bits) if words[0] == "shl" else t.number(operands[1], words[-1])
    by = t.read(operands[2], 32)
    if by.isdigit() and int(by) < bits:
        return t.write(operands[0], f"{a} {'<<' if words[0] == 'shl' else '>>'} {by}", bits, words[-1][0] == "s")
    return t.write(operands[0], f"{name}({a}, {by}, {bits})", bits, words[-1][0] == "s")


def bit_field(t, words, operands):
    kind = words[-1]
    bits = bits_of(kind)
    if words[0] == "bfi":
        a, b = (t.read(one, bits) for one in operands[1:3])
        at, count = (t.read(one, 32) for one in operands[3:5])
        return t.write(operands[0], f"inserted({a}, {b}, {at}, {count}, {bits})", bits, False, True)
    at, count = (t.read(one, 32) for one in operands[2:4])
    return t.write(operands[0], f"extracted({t.read(operands[1], bits)}, {at}, {count}, {bits}, {kind[0] == 's'})",
                   bits, False, True)


def words_of_32(t, words, operands):
    values = [t.read(one, 32) for one in operands[1:]]
    if words in (["prmt", "b32"], ["lop3", "b32"]):
        name = "permuted" if words[0] == "prmt" else "looked_up"
        return t.write(operands[0], f"{name}({', '.join(values)})", 32, False, True)
    if words[0] == "bmsk" and words[1] in ("clamp", "wrap"):
        return t.write(operands[0], f"mask_of({', '.join(values)}, {words[1] == 'wrap'})", 32, False, True)
    if words[0] == "shf" and words[1] in ("l", "r") and words[2] in ("wrap", "clamp"):
        return t.write(operands[0], f"funnel({', '.join(values)}, {words[1] == 'l'}, {words[2] == 'wrap'})", 32)
    return None


def compare(t, words, operands):
    relation, kind, bits = words[1], words[-1], bits_of(words[-1])
    if kind in FLOATS:
        a, b = (t.read(one, bits) for one in operands[1:3])
        text = f"floats.compared({kind!r}, {relation!r}, {a}, {b})"
    else:
        relation = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(relation, relation)
        a, b = (t.number(one, kind) for one in operands[1:3])
        sign = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.get(relation)
        # An exclusive or fails where a register was not written, and equality does not.
        text = f"{a} {sign} {b}" if sign else f"({a} ^ {b}) {'==' if relation == 'eq' else '!='} 0"
    places = operands[0].split("|")
    joined = "" if len(words) == 3 else {"and": " & ", "or": " | ", "xor": " ^ "}[words[2]]
    if joined:
        negated = operands[3].startswith("!")
        joined += f"({t.read(operands[3].lstrip('!'), 1)} ^ {int(negated)})"
    lines = [f"v = {text}"]
    for place, one in zip(places, ("v", "(not v)")):
        lines += t.write(place.strip(), one + joined, 1, False, True)
    return lines


def select(t, words, operands):
    """What is not taken may be unknown: nvcc writes so of variables that have no value yet."""
    bits = bits_of(words[-1])
    a, b = (t.read(one, bits) for one in operands[1:3])
    return t.write(operands[0], f"({b} if {t.read(operands[3], 1)} ^ 1 else {a}) ^ 0", bits, False, True)


def move(t, words, operands):
    if len(words) != 2:
        return None
    bits = 1 if words[1] == "pred" else bits_of(words[1])
    return t.write(operands[0], f"{t.read(operands[1], bits)} ^ 0", bits, False, True)


def convert(t, words, operands):
    to, source = words[-2:]
    how = words[1:-2]
    if to in ("f16x2", "bf16x2") and source == "f32" and how == ["rn"]:
        high, low = (f"floats.bits_of({to[:-2]!r}, floats.value_of('f32', {t.read(one, 32)}))" for one in operands[1:])
        return t.write(operands[0], f"{high} << 16 | {low}", 32, False, True)
    if (to in FLOATS or source in FLOATS) and len(how) > 1:
        return None
    if source in FLOATS:
        a = t.read(operands[1], bits_of(source))
        if to in WHOLE and how and how[0] in floats._WHOLE:
            bits = bits_of(to)
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
            return t.write(operands[0], f"floats.to_whole({source!r}, {a}, {how[0]!r}, {low}, {high})", bits,
                           to[0] == "s")
        if to == source and how and how[0] in floats._WHOLE:
            return t.write(operands[0], f"floats.to_integral({to!r}, {a}, {how[0]!r})", bits_of(to), False, True)
        if to in FLOATS and how == (["rn"] if SIZES[to] <= SIZES[source] and to != source else []):
            return t.write(operands[0], f"floats.bits_of({to!r}, floats.value_of({source!r}, {a}))", bits_of(to),
                           False, True)
        return None
    if source not in WHOLE or (to in FLOATS and how != ["rn"]) or (to not in FLOATS and how):
        return None
    a = t.number(operands[1], source)
    if to in FLOATS:
        return t.write(operands[0], f"floats.from_whole({to!r}, {a})", bits_of(to), False, True)
    return t.write(operands[0], a + " + 0", bits_of(to), to[0] == "s")


def convert_address(t, words, operands):
    space = words[-2]
    beyond = WINDOWS.get(space, 0) * (-1 if words[1] == "to" else 1)
    return t.write(operands[0], f"{t.read(operands[1], bits_of(words[-1]))} + {beyond}", bits_of(words[-1]))


def memory_of(t, words, operand):
    """The memory, the address in it, and statements that find both."""
    space = next((word.split("::")[0] for word in words if word.split("::")[0] in MEMORIES), None)
    if space:
        return MEMORIES[space], t.address(operand), []
    return "M", "a", [f"M, a = T.generic({t.address(operand)})"]


def is_access_known(words):
    known = ORDERS | CACHES | set(MEMORIES) | {"v2", "v4", "shared::cta", "param"}
    return all(word in known or word.startswith(("L1::", "L2::")) for word in words[1:-1])


def elements_of(words):
    return 4 if "v4" in words else 2 if "v2" in words else 1


def may_meet(words):
    return bool({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"} & set(words))


def load(t, words, operands):
    if not is_access_known(words) or len(operands) != 2:  # a third one is a policy of caches
        return None
    kind, count = words[-1], elements_of(words)
    size = SIZES[kind] * count
    if "param" in words:
        name, _, at = operands[1][1:-1].partition("+")
        return t.write(operands[0], f"T.parameter({name.strip()!r}, {int(at or 0)}, {size})", 8 * size,
                       kind[0] == "s", True)
    memory, address, lines = memory_of(t, words, operands[1])
    text = f"{memory}.load({address}, {size}, T{', True' if may_meet(words) else ''})"
    return lines + t.write(operands[0], text, 8 * size, kind[0] == "s", True)


def store(t, words, operands):
    if not is_access_known(words) or "param" in words or len(operands) != 2:
        return None
    size = SIZES[words[-1]] * elements_of(words)
    memory, address, lines = memory_of(t, words, operands[0])
    meets = ", True" if may_meet(words) else ""
    return lines + [f"{memory}.store({address}, {size}, {t.read(operands[1], 8 * size)} | 0, T{meets})"]


def atomic(t, words, operands):
    op, kind = words[-2], words[-1]
    others = [word for word in words[1:-2] if word not in ORDERS and word.split("::")[0] not in MEMORIES]
    if others not in ([], ["noftz"]) or kind not in WHOLE + FLOATS:
        return None
    is_reduction = words[0] == "red"
    place, *values = operands if is_reduction else operands[1:]
    bits = bits_of(kind)
    memory, address, lines = memory_of(t, words, place)
    b = t.read(values[0], bits)
    c = t.read(values[1], bits) if len(values) > 1 else None
    half = 1 << bits - 1
    flip = f" ^ {half}" if kind[0] == "s" else ""
    new = {"add": f"(v + {b}) & {2 * half - 1}", "and": f"v & {b}", "or": f"v | {b}", "xor": f"v ^ {b}",
           "exch": f"{b} | 0", "cas": f"({c} if (v ^ {b}) == 0 else v)",
           "min": f"min(v{flip}, {b}{flip}){flip}", "max": f"max(v{flip}, {b}{flip}){flip}",
           "inc": f"(0 if v >= {b} else v + 1)", "dec": f"({b} if v == 0 or v > {b} else v - 1)"}.get(op)
    if kind in FLOATS:
        new = f"floats.added({kind!r}, v, {b})" if op == "add" else None
    if new is None:
        return None
    size = SIZES[kind]
    lines += [f"v = {memory}.load({address}, {size}, T, True)",
              f"{memory}.store({address}, {size}, {new}, T, True)"]
    return lines if is_reduction else lines + t.write(operands[0], "v", bits, kind[0] == "s", True)


def hint(t, words, operands):
    return [t.address(operands[0])] if words[0] == "prefetch" else None


MAKERS = {**dict.fromkeys(("add", "sub", "mul", "mad", "fma", "div", "rem", "min", "max", "sqrt"), arithmetic),
          **dict.fromkeys(("neg", "abs", "not", "popc", "clz", "brev", "bfind"), one_operand),
          **dict.fromkeys(("and", "or", "xor"), logic), **dict.fromkeys(("shl", "shr"), shift),
          **dict.fromkeys(("bfi", "bfe"), bit_field), **dict.fromkeys(("prmt", "lop3", "shf", "bmsk"), words_of_32),
          "setp": compare, "selp": select, "mov": move, "cvt": convert, "cvta": convert_address, "ld": load,
          "st": store, **dict.fromkeys(("atom", "red"), atomic), "prefetch": hint}


# ---- where threads wait

def wait(t, words, operands, follows, at):
    """Statements that return what a thread waits for."""
    def places(text):
        names = [one.strip() for one in text.split("|")]
        return "(" + "".join(f"{t.numbers[one]}, " for one in names) + ")"

    def read(operand, bits):
        return t.read(operand, bits) + " | 0"  # which None does not survive

    if words[0] in ("membar", "fence", "nanosleep"):
        return [f"return ('pause', {follows}, ())"]
    if words[:2] == ["bar", "warp"]:
        return [f"return ('warp', {follows}, (), {at}, {read(operands[0], 32)}, 'sync')"]
    if words[0] in ("bar", "barrier"):
        if "sync" in words:
            numbers = [read(one, 32) for one in operands] + ["0"]
            return [f"return ('bar', {follows}, (), {numbers[0]}, {numbers[1]}, None, None)"]
        if "red" in words:
            *counts, last = operands[1:]
            truth = f"({read(last.lstrip('!'), 1)}) ^ {int(last.startswith('!'))}"
            how = next(one for one in ("popc", "and", "or") if one in words)
            return [f"return ('bar', {follows}, {places(operands[0])}, {read(counts[0], 32)}, "
                    f"{read(counts[1], 32) if counts[1:] else 0}, {how!r}, {truth})"]
    if words[1] == "sync" and words[0] == "shfl":
        values = ", ".join(read(one, 32) for one in operands[1:4])
        return [f"return ('warp', {follows}, {places(operands[0])}, {at}, {read(operands[4], 32)}, 'shfl', "
                f"{words[2]!r}, {values})"]
    if words[1] == "sync" and words[0] == "vote":
        truth = f"({read(operands[1].lstrip('!'), 1)}) ^ {int(operands[1].startswith('!'))}"
        return [f"return ('warp', {follows}, {places(operands[0])}, {at}, {read(operands[2], 32)}, "
                f"'vote', {words[2]!r}, {truth})"]
    if words[0] == "match" and words[2] == "sync" or words[0] == "redux" and words[-1] in WHOLE:
        kind = words[-1]
        how = words[1] if words[0] == "match" else words[2]
        return [f"return ('warp', {follows}, {places(operands[0])}, {at}, {read(operands[2], 32)}, "
                f"{words[0]!r}, {how!r}, {t.number(operands[1], kind)} | 0)"]
    raise Unknown("instruction " + ".".join(words))
