"""Cases of sparse.cu: the choice of what is largest, and what CUB asks of each entry for it."""
import exact
from cases import FORMATS, Case, Given, Room, Wanted, numbers_of
from cases_dense import HUGE_GRID

FLOAT32 = exact.FLOAT32


def zeros_of(form):
    """How many of the lowest bits of a float32 are zero that was one of the format."""
    return FLOAT32.mantissa_bits - form.mantissa_bits


def wide(form, bits):
    return exact.converted(form, FLOAT32, bits)


def key_of(form, bits):
    return (wide(form, bits) & 0x7fffffff) >> zeros_of(form)


def pair_of(index, bits):
    return index << 32 | bits


def choices(_):
    for wanted in (1, 2**32 - 1):
        yield Case(f"{wanted} wanted", (1, 1), {"choice": Room(8)}, ["choice", wanted],
                   {"choice": Wanted(4, [0, wanted])})


def digit_case(bits, counts, wanted, digits, shape, *, is_part=False, **options):
    """counts: entries for each value of the digit; those of the highest values are taken first. is_part: only
    the threads that might take themselves for the right one."""
    missing, digit = wanted, len(counts) - 1
    while counts[digit] < missing:
        missing -= counts[digit]
        digit -= 1
    if is_part:
        options["threads"] = sorted({0, max(digit - 1, 0), digit, min(digit + 1, 255), min(len(counts), 255)})
    return Case(f"{bits} bits, {wanted} of {counts[-9:]}", shape,
                {"after": Room(8), "before": Given(4, [digits, wanted]), "histogram": Given(4, counts)},
                ["after", "before", "histogram", bits], {"after": Wanted(4, [digits << bits | digit, missing])},
                **options)


def digits(_):
    """Every value of a digit of every width, with the wanted one first and last among those that have it."""
    for bits in range(1, 9):
        kinds = 1 << bits
        before = (0, 0x5a5a5a, 0x7fffff)[bits % 3]
        full = [1 + i % 3 for i in range(kinds)]
        gaps = [(0, 1, 5, 2, 0, 0, 3)[(i + bits) % 7] for i in range(kinds - 2)] + [1, 0]
        places = [(full, digit) for digit in range(kinds) if bits != 7 or digit % 3 < 2]
        places += [(gaps, digit) for digit in range(kinds) if gaps[digit] and (bits < 6 or digit % 16 < 2)]
        for counts, digit in places:
            above = sum(counts[digit + 1:])
            for wanted in sorted({above + 1, above + counts[digit]}):
                yield digit_case(bits, counts, wanted, before, (1, 256 if bits > 4 else kinds + 3), is_part=bits > 4,
                                 for_mutants=bits < 4 or (bits == 6 and counts is full and digit < 18))
    # As a launch has them: 256 threads, one of which finds itself.
    for bits, wanted in ((8, 1), (8, 256), (7, 100), (1, 2)):
        yield digit_case(bits, [1 + i % 2 for i in range(1 << bits)], wanted, 3, (1, 256), for_mutants=False)
    # Counts that are negative to whoever takes them for numbers with a sign; and all of one value.
    half = 2**31
    for counts, wanted in (([half - 1, half], half), ([half - 1, half], half + 1), ([half, half - 1], 2**32 - 1),
                           ([0, 2**32 - 1], 2**32 - 1), ([2**32 - 1, 0], 1), ([2**32 - 1, 0], 2**32 - 1),
                           ([half, 0, 3, half - 4], half)):
        yield digit_case(len(counts) // 2, counts, wanted, 0, (1, 4))


def joins(kind):
    """The first come from those above, the others from the equal ones."""
    form = FORMATS[kind]
    one = {"blocks": [0], "threads": [0, 1, 2, 3]}
    rows = [(count, above, (1, 1), {}) for count in (1, 2, 3, 4, 5, 11) for above in sorted({0, 1, count // 2, count})]
    rows += [(5, 3, (1, 2), {}), (7, 2, (2, 1), {}), (1, 1, (1, 2), {}), (1, 0, (1, 2), {}), (2, 1, HUGE_GRID, one)]
    for above in (0, 255, 256, 257, 512):  # at the border of a block
        rows += [(512, above, (2, 256), {"for_mutants": False}), (513, above, (1, 256), {"for_mutants": False})]
    for count, above, shape, options in rows:
        entries = [(i * 7919 + 13, value) for i, value in enumerate(numbers_of(form, count + 2, count))]
        pairs = [pair_of(index, wide(form, value)) for index, value in entries]
        yield Case(f"{above} above of {count}", shape,
                   {"keys": Room(4 * count), "pairs": Room(8 * count), "above": Given(8, pairs[:above]),
                    "equal": Given(8, pairs[above:]), "above_count": Given(4, [above])},
                   ["keys", "pairs", "above", "equal", "above_count", count],
                   {"keys": Wanted(4, [key_of(form, value) for _, value in entries[:count]]),
                    "pairs": Wanted(8, pairs[:count])}, **options)


def neighbours(form, bits):
    """The number, others that share the highest bits of its key, or not, and both signs."""
    top = 1 << form.bits - 1
    return [bits, bits ^ top, bits ^ 1, bits + 1, bits - 1] + [bits ^ 1 << at for at in range(1, form.bits - 1)]


def finite(form, numbers):
    return [one for one in numbers if not exact.is_nan(form, one) and not exact.is_infinite(form, one)]


def digits_of_entries(kind):
    """The digit behind `below` bits, or -1 where those before it are others."""
    form = FORMATS[kind]
    key_bits = 31 - zeros_of(form)
    for bits in range(1, 9):
        for below in sorted({key_bits - bits, (key_bits - bits) // 2, 5, 1, 0}):
            data = finite(form, neighbours(form, exact.bits_of(form, -1.3))) + [0, 1]
            chosen = key_of(form, data[0]) >> below + bits
            digits = [key_of(form, one) >> below & (1 << bits) - 1 if key_of(form, one) >> below + bits == chosen
                      else 2**32 - 1 for one in data]
            first, at = (0, 0) if bits < 4 else (1, 2)  # of the iterator, and added to it
            entries = [(8, "data"), (8, "choice"), (4, below), (4, bits), (8, first)]
            yield Case(f"{bits} bits behind {below}", (1, len(data) - first - at),
                       {"to": Room(4 * (len(data) - first - at)), "choice": Given(4, [chosen, 77]),
                        "data": Given(form.bits // 8, data)},
                       ["to", entries, at], {"to": Wanted(4, digits[first + at:])})


def pairs_of_entries(kind):
    form = FORMATS[kind]
    data = numbers_of(form, 40, 3)
    pairs = [pair_of(i, wide(form, one)) for i, one in enumerate(data)]
    for first, at in ((0, 0), (2, 0), (0, 3), (4, 5)):
        count = len(data) - first - at
        yield Case(f"from {first} + {at}", (1, count),
                   {"to": Room(8 * count), "data": Given(form.bits // 8, data)},
                   ["to", [(8, "data"), (8, first)], at], {"to": Wanted(8, pairs[first + at:])})


def questions(kind, is_chosen):
    form = FORMATS[kind]
    for number in (0, 1.3, -2.5, 1e-4):
        least = exact.bits_of(form, number)
        entries = finite(form, neighbours(form, least)[:4 if number == 0 else None])
        pairs = [pair_of(i * 0x9e3779b1 % 2**32, wide(form, one)) for i, one in enumerate(entries)]
        answers = [int(is_chosen(key_of(form, one), key_of(form, least))) for one in entries]
        assert {0, 1} == set(answers)
        yield Case(f"least {number}", (1, len(pairs)),
                   {"to": Room(len(pairs)), "pairs": Given(8, pairs), "choice": Given(4, [key_of(form, least), 99])},
                   ["to", "pairs", [(8, "choice")]], {"to": Wanted(1, answers)})


TABLE = {"begin_choice": choices, "take_digit": digits, "join": joins, "DigitOf": digits_of_entries,
         "PairAt": pairs_of_entries, "IsAbove": lambda kind: questions(kind, lambda key, least: key > least),
         "IsLeast": lambda kind: questions(kind, lambda key, least: key == least)}
