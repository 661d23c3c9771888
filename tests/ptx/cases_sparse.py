"""Cases of sparse.cu: keys and pairs before sorts, sums and stores after them, and fewer bits."""
import exact
from cases import FORMATS, Case, Given, Room, Wanted, close_numbers, numbers_of
from cases_dense import HUGE_GRID

FLOAT32 = exact.FLOAT32
NO_INDEX = 0xffffffff


def zeros_of(form):
    """How many of the lowest bits of a float32 are zero that was one of the format."""
    return FLOAT32.mantissa_bits - form.mantissa_bits


def wide(form, bits):
    return exact.converted(form, FLOAT32, bits)


def key_of(form, bits):
    return (wide(form, bits) & 0x7fffffff) >> zeros_of(form)


def pair_of(index, bits):
    return index << 32 | bits


def shapes_of_fours():
    """Elements, whether they can be taken four at a time, and the grid."""
    return [(39, True, (1, 1), {}), (26, True, (1, 2), {}), (13, False, (2, 1), {}), (4, True, (1, 2), {}),
            (3, True, (1, 1), {}), (8, True, (1, 1), {}), (12, True, (1, 1), {}), (16, True, (1, 1), {}),
            (5, False, (1, 1), {}), (2, False, (1, 1), {}), (1, False, HUGE_GRID, {"blocks": [0], "threads": [0, 1]}),
            (4, True, HUGE_GRID, {"blocks": [0], "threads": [0, 1]}), (6, False, (1, 1), {}), (7, False, (1, 1), {}),
            (23, False, (1, 1), {}), (8, False, (1, 1), {}), (2, True, HUGE_GRID, {"blocks": [0], "threads": [0, 1]})]


def large_shapes_of_fours():
    return [(0, True, (1, 2)), (1023, True, (1, 256)), (1025, False, (2, 256)), (1029, True, (2, 256))]


def in_fours(make):
    """make(elements, fours, shape, shift in elements, options) for all shapes."""
    for elements, can, shape, options in shapes_of_fours():
        yield make(elements, elements // 4 if can else 0, shape, 0 if can else 1, options)
    for elements, can, shape in large_shapes_of_fours():
        yield make(elements, elements // 4 if can else 0, shape, 0 if can else 3, {"for_mutants": False})


def keys(kind):
    form = FORMATS[kind]

    def make(elements, fours, shape, shift, options):
        data = numbers_of(form, elements, elements)
        return Case(f"{elements} elements, {fours} fours", shape,
                    {"keys": Room(4 * elements), "pairs": Room(8 * elements),
                     "data": Given(form.bits // 8, data, shift * form.bits // 8)},
                    ["keys", "pairs", "data", fours, elements],
                    {"keys": Wanted(4, [key_of(form, one) for one in data]),
                     "pairs": Wanted(8, [pair_of(i, wide(form, one)) for i, one in enumerate(data)])}, **options)
    return in_fours(make)


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

    def make(elements, fours, shape, shift, options):
        data = (ties + numbers_of(FLOAT32, elements, 3 * elements))[:elements]
        narrow = [exact.converted(FLOAT32, exact.FLOAT16, one) for one in data]
        return Case(f"{elements} elements, {fours} fours", shape,
                    {"to": Room(2 * elements, 2 * shift), "from": Given(4, data, 4 * shift)},
                    ["to", "from", fours, elements], {"to": Wanted(2, narrow, exact.FLOAT16)}, **options)
    return in_fours(make)


def largest_of(kind):
    form = FORMATS[kind]
    rows = [(3, True, 1, 2), (1030, True, 1, 1029), (259, False, 1, 258), (515, True, 2, 0), (1100, True, 1, 3)]
    rows += [(1100, True, 1, 4 * place) for place in (40, 70, 100, 130, 165, 200, 235)]  # in each warp
    rows += [(1024, True, 1, 4 * place + 1) for place in (1, 2, 4, 8, 16, 31)]  # at each distance in a warp
    rows += [(4 * 256 * 9 + 2, True, 1, 4 * 256 * 5 + 400), (4 * 256 * 6, True, 1, 4 * 256 * 3 + 5),
             (256 * 9 + 5, False, 1, 256 * 7 + 30), (4 * 256 * 5, True, 1, 4 * 256 * 4 + 2)]
    rows += [(2060, True, 1, 1030), (900, False, 1, 600), (9, True, 1, 5), (9, True, 1, 6),
             (9, True, 1, 7), (0, True, 1, None)]
    rows.append((4 * 256 * 4, True, 1, 4 * 256 + 9))
    shapes = [(blocks, 256, {}) for _, _, blocks, _ in rows]
    for can in (True, False):
        rows.append((200, can, 1, 99))
        shapes.append((*HUGE_GRID, {"blocks": [0]}))

    def check(buffers, _, __, blocks):
        found = buffers["largest"].meetings
        return None if found == blocks else f"{found} atomic maxima of {blocks} blocks"
    for (elements, can, blocks, place), (*shape, options) in zip(rows, shapes):
        data = close_numbers(form, elements, elements)
        if place is not None:
            data[place] = exact.bits_of(form, 1000 if place % 2 else -1000)
        top = (1 << form.bits - 1) - 1
        largest = wide(form, max((one & top for one in data), default=0))  # magnitudes order as their bits do
        shift = 0 if can else form.bits // 8
        yield Case(f"{elements} elements, the largest at {place}", shape,
                   {"largest": Given(4, [0], 0, True), "from": Given(form.bits // 8, data, shift)},
                   ["largest", "from", elements // 4 if can else 0, elements], {"largest": Wanted(4, [largest])},
                   check=lambda *seen, blocks=blocks: check(*seen, blocks), **options)
    if form.bits == 16:
        nan = exact.infinity(form) + 1

        def is_nan(buffers, *_):
            found = int.from_bytes(buffers["largest"].bytes, "little")
            return None if exact.is_nan(FLOAT32, found) else "no NaN"
        yield Case("a NaN is larger than all", (1, 256),
                   {"largest": Given(4, [0], 0, True), "from": Given(2, [nan, 1, 2, 3])},
                   ["largest", "from", 1, 4], {}, for_mutants=False, check=is_nan)


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

    def make(elements, fours, shape, shift, options, scale=None):
        data = [exact.bits_of(form, one) for one in (1, 0, -254, 127, 3, -1, 253)][:elements]
        data += close_numbers(form, elements - len(data), elements + 9)
        scale = exact.bits_of(FLOAT32, 2) if scale is None else scale
        is_positive = 0 < scale < 0x7f800000
        codes = [code_of(form, one, scale) if is_positive else 0 for one in data]
        return Case(f"{elements} elements, {fours} fours, scale {scale:#x}", shape,
                    {"to": Room(elements, 0 if shift == 0 else 1), "scale": Given(4, [scale]),
                     "from": Given(form.bits // 8, data, shift * form.bits // 8)},
                    ["to", "scale", "from", fours, elements], {"to": Wanted(1, codes)}, **options)
    yield from in_fours(make)
    for scale in (0, 0x7fc00000):  # nothing but zeros; something is no number
        yield from in_fours(lambda *given, scale=scale: make(*given, scale=scale))


TABLE = {"keys_of_data": keys, "gather_pairs": gathers, "add_equal": sums_of_pairs, "store_first": stores,
         "to_16": halves, "largest_bits": largest_of, "scale_of": scales, "to_8": bytes_of}
