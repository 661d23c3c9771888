"""Arithmetic on the bits of floating-point numbers, as PTX rounds it: to nearest, ties to even.

Numbers are computed in double and rounded once more, which is right for sums, products, quotients and
roots of float32 and of shorter types (Figueroa 1995: 53 >= 2 x 24 + 2 bits). A fused multiply-add first
rounds to odd (Boldo and Melquiond 2008). Every NaN that arithmetic makes is 0x7fffffff, or 0x7fff in 16
bits, as the PTX manual has it. What rounds another way than to nearest, or flushes subnormals, is refused.
"""
import math
import struct

NAN_BITS = {"f16": 0x7fff, "bf16": 0x7fff, "f32": 0x7fffffff, "f64": 0x7fffffffffffffff}
_codes = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}
_formats = {kind: tuple(struct.Struct(code) for code in codes) for kind, codes in _codes.items()}
_INFINITIES = {"f16": 0x7c00, "f32": 0x7f800000}


def value_of(kind, bits):
    if kind == "bf16":
        kind, bits = "f32", bits << 16
    number, whole = _formats[kind]
    return number.unpack(whole.pack(bits | 0))[0]  # None | 0 is a TypeError


def bits_of(kind, value):
    """Of a double."""
    if value != value:
        return NAN_BITS[kind]
    if kind == "bf16":
        return bfloat16_bits(value)
    number, whole = _formats[kind]
    try:
        return whole.unpack(number.pack(value))[0]
    except OverflowError:
        return _INFINITIES[kind] | (value < 0) << {"f16": 15, "f32": 31}[kind]


def bfloat16_bits(value):
    """By way of a float32 that is rounded to odd, so that nothing is rounded twice."""
    bits = bits_of("f32", value)
    near = value_of("f32", bits)
    if near != value and not math.isinf(near) and bits & 1 == 0:
        bits += 1 if abs(near) < abs(value) else -1
    if bits & 0x7fffffff == 0x7f800000:
        return bits >> 16
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16


def fused(kind, a, b, c):
    x, y, z = value_of(kind, a), value_of(kind, b), value_of(kind, c)
    if kind == "f64":
        raise ValueError("fused multiply-add of float64")  # no kernel has one
    product = x * y  # exact: 24 bits times 24 bits
    total = product + z
    if math.isfinite(total):
        part = total - product
        error = (product - (total - part)) + (z - part)
        mantissa = struct.unpack("<q", struct.pack("<d", total))[0]
        if error != 0 and mantissa & 1 == 0:
            total = math.nextafter(total, math.inf if error > 0 else -math.inf)
    return bits_of(kind, total)


def added(kind, a, b):
    return bits_of(kind, value_of(kind, a) + value_of(kind, b))


def subtracted(kind, a, b):
    return bits_of(kind, value_of(kind, a) - value_of(kind, b))


def multiplied(kind, a, b):
    return bits_of(kind, value_of(kind, a) * value_of(kind, b))


def divided(kind, a, b):
    x, y = value_of(kind, a), value_of(kind, b)
    if y != 0:
        return bits_of(kind, x / y)
    if x == 0 or x != x:
        return NAN_BITS[kind]
    return bits_of(kind, math.copysign(math.inf, x) * math.copysign(1, y))


def root(kind, a):
    x = value_of(kind, a)
    return bits_of(kind, math.nan if x < 0 else math.sqrt(x))


def least(kind, a, b):
    """A NaN loses against a number, and -0 is less than 0."""
    return min((v for v in (a, b) if value_of(kind, v) == value_of(kind, v)),
               key=lambda v: (value_of(kind, v), math.copysign(1, value_of(kind, v))), default=NAN_BITS[kind])


def largest(kind, a, b):
    return max((v for v in (a, b) if value_of(kind, v) == value_of(kind, v)),
               key=lambda v: (value_of(kind, v), math.copysign(1, value_of(kind, v))), default=NAN_BITS[kind])


_WHOLE = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def to_whole(kind, bits, how, lowest, highest):
    """A NaN becomes 0, and what is out of range the end of the range."""
    value = value_of(kind, bits)
    if value != value:
        return 0
    if math.isinf(value):
        return lowest if value < 0 else highest
    return min(max(_WHOLE[how](value), lowest), highest)


def to_integral(kind, bits, how):
    value = value_of(kind, bits)
    if value != value or math.isinf(value):
        return bits_of(kind, value)
    return bits_of(kind, math.copysign(float(_WHOLE[how](value)), value))


def from_whole(kind, number):
    """Of at most 53 bits, which double has exactly."""
    if abs(number) > 1 << 53:
        raise ValueError("a whole number of more than 53 bits as a float")
    return bits_of(kind, float(number))


def compared(kind, relation, a, b):
    """Relations with u hold for unordered numbers as well."""
    x, y = value_of(kind, a), value_of(kind, b)
    is_unordered = x != x or y != y
    if relation in ("num", "nan"):
        return is_unordered == (relation == "nan")
    if is_unordered:
        return relation.endswith("u")
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[relation[:2]]
