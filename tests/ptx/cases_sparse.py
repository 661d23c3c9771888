"""Cases of sparse.cu: pairs before sorts and after them, and fewer bits."""
import exact
from cases import FORMATS, Case, Given, Room, Wanted, close_numbers, numbers_of
from cases_chosen import FLOAT32, key_of, pair_of, wide
from cases_dense import HUGE_GRID

NO_INDEX = 0xffffffff


def shapes_of_packs(n):
    """Elements, whether they can be taken n at a time, and the grid."""
    two = {"blocks": [0], "threads": [0, 1]}
    packs = [(9 * n + n - 1, (1, 1), {}), (6 * n + 2, (1, 2), {}), (n, (1, 2), {}), (n - 1, (1, 1), {}),
             (3 * n, (1, 2), {}), (4 * n, (2, 1), {}), (7 * n + 1, (1, 3), {}), (1, (2, 1), {}),
             (n, HUGE_GRID, two), (2 * n, HUGE_GRID, two), (2, HUGE_GRID, two)]
    packs += [(many * n, (1, 1), {}) for many in (1, 2, 3, 4, 5, 8, 16, 17)]
    singles = [(many, (1, 1), {}) for many in (2, 3, 4, 5, 6, 7, 8, 23)] + [(13, (2, 1), {}), (1, HUGE_GRID, two)]
    return [(elements, True, *others) for elements, *others in packs] + [
        (elements, False, *others) for elements, *others in singles]


def large_shapes_of_packs(n):
    return [(0, True, (1, 2)), (256 * n - 1, True, (1, 256)), (256 * n + 1, True, (1, 256)), (1025, False, (2, 256)),
            (512 * n + n, True, (1, 256)), (515 * n + 1, True, (2, 256))]


def in_packs(n, make):
    """make(elements, packs, shape, shift in elements, options) for all shapes."""
    for elements, can, shape, options in shapes_of_packs(n):
        yield make(elements, elements // n if can else 0, shape, 0 if can else 1, options)
    for elements, can, shape in large_shapes_of_packs(n):
        yield make(elements, elements // n if can else 0, shape, 0 if can else n - 1, {"for_mutants": False})


def pairs_in_memory(form, indices, values):
    """All indices, then all values."""
    size = form.bits // 8
    content = b"".join(i.to_bytes(4, "little") for i in indices) + b"".join(v.to_bytes(size, "little") for v in values)
    return Given(1, content)


def grids(most):
    """Counts and grids, up to some loops a thread."""
    one = {"blocks": [0], "threads": [0, 1, 2, 3]}
    return [(most, (1, 1), {}), (5, (1, 2), {}), (3, (2, 1), {}), (1, (1, 2), {}), (2, (1, 1), {}), (3, (1, 1), {}),
            (4, (1, 1), {}), (1, HUGE_GRID, one), (2, HUGE_GRID, one), (300, (2, 256), {"for_mutants": False})]


def gathers(kind):
    form = FORMATS[kind]
    for count, shape, options in grids(6):
        indices = [[(i * 7919 + 13 * s) % 2**32 for i in range(count)] for s in (1, 2)]
        values = [numbers_of(form, count, count + s) for s in (1, 2)]
        both = list(zip(indices[0] + indices[1], values[0] + values[1]))
        yield Case(f"{count} pairs", shape,
                   {"keys": Room(8 * count), "pairs": Room(16 * count),
                    "a": pairs_in_memory(form, indices[0], values[0]),
                    "b": pairs_in_memory(form, indices[1], values[1])},
                   ["keys", "pairs", "a", "b", count],
                   {"keys": Wanted(4, [index for index, _ in both]),
                    "pairs": Wanted(8, [pair_of(index, wide(form, value)) for index, value in both])}, **options)


def added(form, sorted_pairs):
    """Of two neighbours with one index the first takes the sum, the second nothing."""
    new_keys, new_pairs = [], []
    for i, (index, value) in enumerate(sorted_pairs):
        is_second = i > 0 and sorted_pairs[i - 1][0] == index
        if i + 1 < len(sorted_pairs) and sorted_pairs[i + 1][0] == index:
            value = exact.sum_of(form, value, sorted_pairs[i + 1][1])
        nothing = is_second or index == NO_INDEX
        new_keys.append(0 if nothing else key_of(form, value) + 1)
        new_pairs.append(pair_of(NO_INDEX, 0) if nothing else pair_of(index, wide(form, value)))
    return new_keys, new_pairs


def sums_of_pairs(kind):
    form = FORMATS[kind]
    tie = [exact.bits_of(form, one) for one in (2**(form.mantissa_bits + 1), 1, 2**(form.mantissa_bits + 1) + 2, -1)]
    short = [exact.bits_of(form, one) for one in (1.5, -1.5, 3, -7)]
    one = (1, 1)
    rows = [([0, 0, 3, 4, 4, 9, 11, 11], tie[:2] + short[:1] + tie[2:] + short[2:] + short[:1], one, {}),
            ([2, 2, 5, 5, 6, 8, 8, 9, NO_INDEX, NO_INDEX], short + tie[1:3] + tie[1:2] + short[:3], (1, 2), {}),
            ([1, 4, 6, 9, 12, 15, 17, 20, 30], short + short + short[:1], one, {}),
            ([7], short[:1], (1, 2), {}), ([7, 7], [tie[2], tie[1]], (2, 1), {}), ([7, 7], tie[:2], one, {}),
            ([7, NO_INDEX], short[:2], one, {}), ([NO_INDEX], short[:1], one, {}), ([1, 4, 6], short[1:], one, {}),
            ([3, 3, 4], short[:3], one, {}), ([3, 4, 4], short[:3], one, {}), ([0, 0], [short[3], short[2]], one, {}),
            ([5], short[:1], HUGE_GRID, {"blocks": [0], "threads": [0, 1]}), ([0, 1], [0, 1], one, {})]
    rows += [([7, 7], [tie[0], exact.bits_of(form, number)], one, {}) for number in (1.5, 0.5)]  # up, and down
    many = sorted(index for index in range(200) for _ in range(1 + index % 2))
    rows.append((many, close_numbers(form, len(many), 5), (2, 256), {"for_mutants": False}))
    for indices, values, shape, options in rows:
        sorted_pairs = list(zip(indices, values))
        new_keys, new_pairs = added(form, sorted_pairs)
        yield Case(f"indices {indices[:9]}", shape,
                   {"keys": Room(4 * len(indices)), "pairs": Room(8 * len(indices)),
                    "sorted": Given(8, [pair_of(index, wide(form, value)) for index, value in sorted_pairs])},
                   ["keys", "pairs", "sorted", len(indices)],
                   {"keys": Wanted(4, new_keys), "pairs": Wanted(8, new_pairs)}, **options)


def stores(kind):
    form = FORMATS[kind]
    ties = [exact.bits_of(FLOAT32, one) for one in (2049, 2051, 257, 259, -2049, 3, 1e-7, 65520, 65519, -1e30)]
    for count, shape, options in grids(11):
        values = (ties + numbers_of(FLOAT32, count, count))[:count]
        if count == 4:
            values = numbers_of(FLOAT32, count, count + 40)
        if count < 4:  # rounded up, down and to even
            whole = 2**(form.mantissa_bits + 1)
            values = [exact.bits_of(FLOAT32, whole + one) for one in (1.5, 0.5, 1)][:count]
            values = values[::-1] if count == 2 else values
        indices = [(i * 40503 + 3) % 2**32 for i in range(count)]
        content = b"".join(i.to_bytes(4, "little") for i in indices)
        narrow = [exact.converted(FLOAT32, form, one) for one in values]
        content += b"".join(one.to_bytes(form.bits // 8, "little") for one in narrow)
        yield Case(f"{count} pairs", shape,
                   {"to": Room(len(content)), "pairs": Given(8, [pair_of(*one) for one in zip(indices, values)])},
                   ["to", "pairs", count], {"to": Wanted(1, list(content))}, **options)


def halves(_):
    ties = [exact.bits_of(FLOAT32, one) for one in (2049, 2051, 65519, 65520, 3 * 2.0**-25, 2.0**-25, -1e9, 0.1)]

    def make(elements, packs, shape, shift, options):
        data = (ties + numbers_of(FLOAT32, elements, 3 * elements))[:elements]
        narrow = [exact.converted(FLOAT32, exact.FLOAT16, one) for one in data]
        return Case(f"{elements} elements, {packs} packs", shape,
                    {"to": Room(2 * elements, 2 * shift), "from": Given(4, data, 4 * shift)},
                    ["to", "from", packs, elements], {"to": Wanted(2, narrow, exact.FLOAT16)}, **options)
    return in_packs(4, make)


def largest_of(kind):
    form = FORMATS[kind]
    n = 128 // form.bits
    turn = 256 * n  # elements that the threads of a block take at a time
    rows = [(3, True, 1, 2), (turn + n + 2, True, 1, turn + n + 1), (515, True, 2, 0), (0, True, 1, None)]
    rows += [(turn + 19 * n, True, 1, n * place) for place in (3, 40, 70, 100, 130, 165, 200, 235)]  # in each warp
    rows += [(turn, True, 1, n * place + 1) for place in (1, 2, 4, 8, 16, 31)]  # at each distance in a warp
    rows += [(turn + 9 * n, True, 1, turn + 4 * n + 1), (256 * 9 + 5, False, 1, 256 * 7 + 30), (900, False, 1, 600),
             (2 * turn + 12, True, 1, turn + 6), (2 * turn + 2 * n, True, 2, 2 * turn + n + 1)]
    rows = [(*row, 256, {}) for row in rows]
    huge = {"blocks": [0]}
    rows += [(200, can, HUGE_GRID[0], 99, 256, huge) for can in (True, False)]
    # One warp: each place of the packs of a lane, in as many turns as nvcc unrolls and one more; single elements.
    warp = {"has_zeros": True}
    rows += [(32 * n * packs + n, True, 1, 32 * n * pack + 3 * n + k, 32, warp)
             for packs in (10 if n == 4 else 6,) for pack in range(packs) for k in range(n)]
    rows += [(32 * n * 18 + n, True, 1, 32 * n * pack + 2, 32, warp) for pack in (8, 15, 16, 17)] if n == 4 else []
    rows += [(32 * n * packs, True, 1, 32 * n * (packs - 1) + n, 32, warp) for packs in (1, 2, 3, 4, 5, 7)]
    rows += [(32 * turns, False, 1, 32 * place + 5, 32, warp) for turns in (1, 2, 3, 5, 8) for place in range(turns)]
    rows += [(32 * n * packs + n - 1, True, 1, 32 * n * packs + 2, 32, warp) for packs in (1, 9)]

    def check(buffers, blocks):
        found = buffers["largest"].meetings
        return None if found == blocks else f"{found} atomic maxima of {blocks} blocks"
    for elements, can, blocks, place, threads, options in rows:
        data = close_numbers(form, elements, elements)
        if place is not None:
            data[place] = exact.bits_of(form, 1000 if place % 2 else -1000)
        top = (1 << form.bits - 1) - 1
        largest = wide(form, max((one & top for one in data), default=0))  # magnitudes order as their bits do
        shift = 0 if can else form.bits // 8
        yield Case(f"{elements} elements, the largest at {place}", (blocks, threads),
                   {"largest": Given(4, [0], 0, True), "from": Given(form.bits // 8, data, shift)},
                   ["largest", "from", elements // n if can else 0, elements], {"largest": Wanted(4, [largest])},
                   check=lambda seen, _, __, met=len(options.get("blocks", range(blocks))): check(seen, met),
                   **options)
    if form.bits == 16:
        nan = exact.infinity(form) + 1

        def is_nan(buffers, *_):
            found = int.from_bytes(buffers["largest"].bytes, "little")
            return None if exact.is_nan(FLOAT32, found) else "no NaN"
        yield Case("a NaN is larger than all", (1, 256),
                   {"largest": Given(4, [0], 0, True), "from": Given(2, [nan, *range(1, 8)])},
                   ["largest", "from", 1, 8], {}, for_mutants=False, check=is_nan)


def scales(_):
    for number in (254, 1, 0, 3.4e38, 1e-45):
        bits = exact.bits_of(FLOAT32, number)
        yield Case(f"of {number}", (1, 1), {"scale": Given(4, [bits], 0, True)}, ["scale"],
                   {"scale": Wanted(4, [exact.quotient(bits, exact.bits_of(FLOAT32, 127))])})


def code_of(form, value, by):
    """The nearest whole number to the rounded quotient, as a byte."""
    quotient = exact.quotient(wide(form, value), by)
    number = exact.nearest_even(exact.magnitude(FLOAT32, quotient))
    return (-number if exact.sign_of(FLOAT32, quotient) else number) % 256


def bytes_of(kind):
    form = FORMATS[kind]

    def make(elements, packs, shape, shift, options, scale=None):
        data = [exact.bits_of(form, one) for one in (1, 0, -254, 127, 3, -1, 253)][:elements]
        data += close_numbers(form, elements - len(data), elements + 9)
        scale = exact.bits_of(FLOAT32, 2) if scale is None else scale
        is_positive = 0 < scale < 0x7f800000
        codes = [code_of(form, one, scale) if is_positive else 0 for one in data]
        return Case(f"{elements} elements, {packs} packs, scale {scale:#x}", shape,
                    {"to": Room(elements, 0 if shift == 0 else 1), "scale": Given(4, [scale]),
                     "from": Given(form.bits // 8, data, shift * form.bits // 8)},
                    ["to", "scale", "from", packs, elements], {"to": Wanted(1, codes)}, **options)
    yield from in_packs(128 // form.bits, make)
    for scale in (0, 0x7fc00000):  # nothing but zeros; something is no number
        yield from in_packs(128 // form.bits, lambda *given, scale=scale: make(*given, scale=scale))


TABLE = {"gather_pairs": gathers, "add_equal": sums_of_pairs, "store_first": stores,
         "to_16": halves, "largest_bits": largest_of, "scale_of": scales, "to_8": bytes_of}
