"""What a case is: buffers, arguments, and what the buffers must hold after a launch.

A buffer has exactly the bytes that count, so that a byte before or behind it is a fault. What a kernel is
to write it must write whole, because its bytes are unknown before.
"""
import random

from machine import Host, launch
from memory import Fault

import exact

FORMATS = {"f": exact.FLOAT32, "6__half": exact.FLOAT16, "13__nv_bfloat16": exact.BFLOAT16}
SPECIALS = {"float32": (0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0x3f800000, 0xbf800001),
            "float16": (0, 0x8000, 1, 0x83ff, 0x0400, 0x7bff, 0x3c00, 0xbc01),
            "bfloat16": (0, 0x8000, 1, 0x807f, 0x0080, 0x7f7f, 0x3f80, 0xbf81)}


class Given:
    """A buffer: numbers of so many bytes each, `shift` bytes behind an aligned address."""

    def __init__(self, size, numbers, shift=0, is_writable=False):
        self.content = b"".join(n.to_bytes(size, "little") for n in numbers)
        self.shift, self.is_writable = shift, is_writable


class Room:
    """A buffer that nobody has written yet."""

    def __init__(self, size, shift=0):
        self.size, self.shift = size, shift


class Wanted:
    """What a buffer must hold: numbers of so many bytes; None is any NaN of the format."""

    def __init__(self, size, numbers, form=None):
        self.size, self.numbers, self.form = size, numbers, form
        self.whole = None if None in numbers else b"".join(one.to_bytes(size, "little") for one in numbers)

    def first_wrong(self, content):
        if content == self.whole:
            return None
        if len(content) != self.size * len(self.numbers):
            return f"{len(content)} bytes"
        for i, wanted in enumerate(self.numbers):
            found = int.from_bytes(content[i * self.size:(i + 1) * self.size], "little")
            if found != wanted and not (wanted is None and exact.is_nan(self.form, found)):
                return f"number {i} is {found:#x} instead of {wanted if wanted is None else hex(wanted)}"
        return None


class Case:
    """arguments: names of buffers, whole numbers, or lists of (bytes, one of both), which are structs. check(buffers,
    host, instructions) says what else is wrong."""

    def __init__(self, reason, shape, buffers, arguments, wanted, *, at_tick=None, for_mutants=True, check=None,
                 limit=4_000_000,
                 tick_ns=1000, **options):
        self.reason, self.shape, self.buffers, self.arguments, self.wanted = reason, shape, buffers, arguments, wanted
        self.at_tick, self.for_mutants, self.check, self.options = at_tick, for_mutants, check, options
        self.last_steps = 0  # instructions of the last run
        self.limit, self.tick_ns = limit, tick_ns

    def wrong(self, program, order=None, limit=None):
        """What is wrong, or None."""
        limit = limit or self.limit
        host = Host(self.tick_ns)
        places, buffers = {}, {}
        for name, one in self.buffers.items():
            if isinstance(one, Given) and not one.is_writable:
                places[name] = host.given(name, one.content, one.shift)
            else:
                content = one.content if isinstance(one, Given) else None
                size = len(content) if content is not None else one.size
                places[name], buffers[name] = host.room(name, size, one.shift, content)
        if self.at_tick:
            host.at_tick = lambda ns: self.at_tick(ns, buffers)

        def value_of(one):
            if isinstance(one, list):
                return b"".join(value_of(member).to_bytes(size, "little") for size, member in one)
            return places[one] if isinstance(one, str) else one
        arguments = [value_of(one) for one in self.arguments]
        try:
            left = launch(program, host, *self.shape, arguments, order=order, limit=limit, **self.options)
        except Fault as fault:
            return str(fault)
        self.last_steps = limit - left
        for name, wanted in self.wanted.items():
            if buffers[name].known is not None and 0 in buffers[name].known:
                return f"byte {buffers[name].known.find(0)} of {name} is not written"
            if wanted.first_wrong(buffers[name].bytes):
                return name + ": " + wanted.first_wrong(buffers[name].bytes)
        return self.check(buffers, host, self.last_steps) if self.check else None


def numbers_of(form, count, seed, specials=True):
    """Finite numbers of every size, and the special ones first."""
    draw = random.Random(seed)
    numbers = list(SPECIALS[form.name]) if specials else []
    while len(numbers) < count:
        bits = draw.getrandbits(form.bits)
        if not exact.is_nan(form, bits) and not exact.is_infinite(form, bits):
            numbers.append(bits)
    draw.shuffle(numbers)
    return numbers[:count]


def close_numbers(form, count, seed):
    """Numbers between 1/4 and 16 of either sign, which sums round."""
    draw = random.Random(seed)
    one = (1 << form.exponent_bits - 1) - 1  # the exponent of 1 as it is stored
    return [draw.getrandbits(1) << form.bits - 1 | one + draw.randrange(-2, 4) << form.mantissa_bits
            | draw.getrandbits(form.mantissa_bits) for _ in range(count)]
