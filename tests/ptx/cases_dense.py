"""Cases of kernels.cu, content.cu and clocks.cu."""
import exact
from cases import FORMATS, Case, Given, Room, Wanted, close_numbers, numbers_of

HUGE_GRID = (2**24, 256)  # 2^32 threads, which is 0 to whoever divides by the lowest 32 bits


def ties_and_limits(form):
    """Pairs whose sums are ties, cancel, overflow, or are no number."""
    digits = form.mantissa_bits + 1
    whole = [(2**digits, 1), (2**digits + 2, 1), (-2**digits, -1), (2**digits, 3), (1.5, -1.5)]
    pairs = [tuple(exact.bits_of(form, one) for one in pair) for pair in whole]
    infinite, top = exact.infinity(form), 1 << form.bits - 1
    return pairs + [(0, 0), (top, top), (0, top), (infinite - 1, infinite - 1), (infinite, 1),
                    (infinite, infinite), (infinite, infinite | top), (infinite + 1, 0), (1, 1), (top | 1, 1),
                    (top | (infinite - 1), top | 1)]


def sum_case(form, shifts, count, shape, reason, *, pairs=None, in_place=False, **options):
    """shifts: how many elements behind an aligned address to, from and with lie."""
    size, in_pack = form.bits // 8, 128 // form.bits
    a = close_numbers(form, count, count + 1) if pairs is None else [pair[0] for pair in pairs]
    b = numbers_of(form, count, count + 2) if pairs is None else [pair[1] for pair in pairs]
    if pairs is None:
        b = [x if i % 3 == 0 else y for i, (x, y) in enumerate(zip(b, close_numbers(form, count, count + 3)))]
    is_alike = len({shift % in_pack for shift in shifts}) == 1
    head = min(-shifts[0] % in_pack, count) if is_alike else 0
    packs = (count - head) // in_pack if is_alike else 0
    buffers = {"with": Given(size, b, shifts[2] * size)}
    if in_place:
        buffers["to"] = Given(size, a, shifts[0] * size, True)
    else:
        buffers |= {"to": Room(size * count, shifts[0] * size), "from": Given(size, a, shifts[1] * size)}
    wanted = Wanted(size, [exact.sum_of(form, x, y) for x, y in zip(a, b)], form)
    return Case(f"{reason}: {count} at {shifts}", shape, buffers, ["to", "to" if in_place else "from", "with", head,
                                                                   packs, count], {"to": wanted}, **options)


def sums(kind):
    form = FORMATS[kind]
    n = 128 // form.bits
    yield sum_case(form, (0, 0, 0), 9 * n + n - 1, (1, 1), "one thread")
    yield sum_case(form, (1, 1, 1), 13 * n + 2, (2, 1), "two blocks")
    yield sum_case(form, (0, 0, 0), 1, HUGE_GRID, "a grid that is larger than all", blocks=[0], threads=[0, 1])
    yield sum_case(form, (0, 0, 0), n, HUGE_GRID, "a grid that is larger than all", blocks=[0], threads=[0, 1])
    yield sum_case(form, (n - 1, n - 1, n - 1), 2 * n, (1, 2), "a head and a tail")
    pairs = ties_and_limits(form)
    yield sum_case(form, (0, 0, 0), len(pairs), (1, 1), "ties and limits", pairs=pairs)
    pairs = pairs[:n - 1] if n > 4 else pairs[4:7]
    yield sum_case(form, (0, 0, 0), len(pairs), (1, 1), "ties and limits, one by one", pairs=pairs)
    for packs in (1, 2, 3, 4, 5, 7, 8, 16, 18, 23):
        yield sum_case(form, (0, 0, 0), packs * n, (1, 1), "packs only")
    for packs, shape in ((1, (1, 2)), (3, (1, 2)), (4, (2, 1)), (9, (1, 2)), (7, (1, 3))):
        yield sum_case(form, (0, 0, 0), packs * n, shape, "several threads")
    for count in (1, 2, 3, 4, 5, 6, 7, 9):
        yield sum_case(form, (0, 1, 0), count, (1, 1), "unlike modulo 16")
    # Not for mutants: each alignment and length, orders of threads, and blocks as a launch has them.
    for shift in range(n):
        for count in (0, n - 1, n, 2 * n + 1):
            yield sum_case(form, (shift, shift + n, shift), count, (2, 3), "alike", for_mutants=False)
            yield sum_case(form, (shift, shift, shift), count, (1, 4), "in place", in_place=True, for_mutants=False)
            yield sum_case(form, (shift, shift, shift + 1), count, (1, 4), "unlike", for_mutants=False)
    # A block of 256 threads takes 512 packs at a time.
    for packs in (255, 256, 257, 511, 512, 513) if n == 4 else (256, 513):
        yield sum_case(form, (2, 2, 2), n - 2 + packs * n + 1, (1, 256), "a block of 256", for_mutants=False)
    yield sum_case(form, (2, 2, 2), 514 * n - 1, (2, 256), "blocks of 256", for_mutants=False)


def copy_case(shifts, count, shape, reason, **options):
    """shifts: how many bytes behind an aligned address to and from lie."""
    content = [(i * 89 + count) % 256 for i in range(count)]
    is_alike = shifts[0] % 16 == shifts[1] % 16
    head = min(-shifts[0] % 16, count) if is_alike else 0
    packs = (count - head) // 16 if is_alike else 0
    return Case(f"{reason}: {count} at {shifts}", shape,
                {"to": Room(count, shifts[0]), "from": Given(1, content, shifts[1])},
                ["to", "from", head, packs, count], {"to": Wanted(1, content)}, **options)


def copies(_):
    for count in (1, 16, 32):
        yield copy_case((0, 0), count, HUGE_GRID, "a grid that is larger than all", blocks=[0], threads=[0, 1])
    for packs in (1, 2, 3, 4, 5, 6, 7, 8, 9):
        yield copy_case((0, 0), 16 * packs, (1, 1), "packs only")
    for packs, shape in ((3, (1, 2)), (4, (2, 1)), (9, (1, 2)), (5, (1, 3)), (1, (1, 2))):
        yield copy_case((0, 0), 16 * packs + 3, shape, "several threads")
    for shift in (1, 15):
        yield copy_case((shift, shift), 49, (1, 2), "a head and a tail")
    for count in (1, 2, 3, 4, 5, 6, 7, 9):
        yield copy_case((0, 1), count, (1, 1), "unlike modulo 16")
    for shift in range(16):
        for count in (0, 1, 15, 16, 17, 31, 32, 49):
            yield copy_case((shift, shift + 16), count, (2, 3), "alike", for_mutants=False)
            yield copy_case((shift, shift + 1 + count % 15), count, (1, 4), "unlike", for_mutants=False)
    for count in (4095, 4097, 16 * 512 + 15, 16 * 513 + 1):
        yield copy_case((2, 2), count, (1, 256), "a block of 256", for_mutants=False)
        yield copy_case((2, 2), count, (2, 256), "blocks of 256", for_mutants=False)


def gate_case(reason, opens_ns, is_open, ends_ns, tick_ns=1000):
    """The host opens the gate at a time; the kernel must end by itself after five seconds."""
    def at_tick(ns, buffers):
        if ns >= opens_ns:
            buffers["gate"].bytes[0:4] = b"\1\0\0\0"

    def check(buffers, host, _):
        waited = host.ns - 1_000_000
        low, high = ends_ns
        return None if low <= waited <= high else f"ended after {waited} ns"
    closed = Wanted(4, [1, 0]) if is_open else Wanted(4, [0, 1])
    return Case(reason, (1, 1), {"gate": Given(4, [int(opens_ns == 0), 0], 0, True)}, ["gate"], {"gate": closed},
                at_tick=at_tick, check=check, limit=100_000, tick_ns=tick_ns)


def gate(_):
    yield gate_case("open from the start", 0, True, (0, 2000))
    yield gate_case("opens after 40 us", 1_040_000, True, (40_000, 42_000))
    yield gate_case("never opens", 10**15, False, (5_000_000_000, 5_002_000_000), 1_000_000)


def nothing(_):
    yield Case("two blocks", (2, 2), {}, [], {})


def look_wanted(buffers, name, blocks, low_ns, high_ns):
    """Cycles, nanoseconds and the processor of each block; the clock runs at 2 GHz (machine.py)."""
    content = buffers[name].bytes
    for block in range(blocks):
        cycles, ns = (int.from_bytes(content[24 * block + at:24 * block + at + 8], "little") for at in (0, 8))
        processor = int.from_bytes(content[24 * block + 16:24 * block + 20], "little")
        if processor != 1000 - block:
            return f"{name}: processor {processor} for block {block}"
        if not low_ns < ns <= high_ns or not 2 * low_ns < cycles < 2 * ns:
            return f"{name}: {cycles} cycles at {ns} ns"
    return None


def look_room(blocks):
    return Given(1, [255] * 24 * blocks, 0, True)


def looks(_):
    def check(buffers, host, _):
        return look_wanted(buffers, "looks", 3, 1_000_000, host.ns)
    yield Case("three blocks", (3, 1), {"looks": look_room(3)}, ["looks"], {}, check=check)


def busy_value(thread, rounds):
    """The thread's number, so many times times 0.999 and plus one, each rounded once."""
    factor = exact.magnitude(exact.FLOAT32, exact.bits_of(exact.FLOAT32, exact.Fraction(999, 1000)))
    value = exact.Fraction(thread)
    for _ in range(rounds):
        value = exact.magnitude(exact.FLOAT32, exact.rounded(exact.FLOAT32, 0, value * factor + 1))
    return value


def busy(_):
    # Never negative, so that nothing is stored.
    def check(buffers, host, steps, rounds):
        if steps < 4 * rounds:
            return f"{steps} instructions of 4 threads for {rounds} rounds"
        for name in ("before", "after"):
            wrong = look_wanted(buffers, name, 2, 1_000_000, host.ns)
            if wrong:
                return wrong
        before, after = (int.from_bytes(buffers[name].bytes[8:16], "little") for name in ("before", "after"))
        return None if before < after else "the look after comes before the one before"
    for rounds in (0, 1, 4, 7, 400, -1):
        assert abs(rounds - 4) > 4 or busy_value(0, rounds) >= 0
        yield Case(f"{rounds} rounds", (2, 2), {"before": look_room(2), "after": look_room(2), "nowhere": Room(4)},
                   ["before", "after", "nowhere", rounds], {},
                   check=lambda *seen, rounds=rounds: check(*seen, rounds), limit=20_000)


def content_numbers(count, length, start):
    period = [(i * 40503 + 7) % 65536 for i in range(length)]
    return period, [period[(start + i) % length] for i in range(count)]


def repeats(_):
    shapes = [(11, 3, 1, (1, 1)), (9, 4, 2, (1, 2)), (7, 5, 4, (2, 1)), (4, 9, 5, (1, 1)),
              (5, 2, 2**33 + 1, (1, 1)), (8, 3, 2**33 + 1, (1, 1)), (7, 3, 2**33 + 1, (1, 1)),
              (1, 1, 0, (1, 2)), (2, 1, 0, (1, 1)), (3, 7, 6, (1, 1))]
    for count, length, start, shape in shapes:
        period, expected = content_numbers(count, length, start)
        yield Case(f"{count} of {length} from {start}", shape,
                   {"to": Room(2 * count, 2), "period": Given(2, period, 6)},
                   ["to", count, "period", length, start], {"to": Wanted(2, expected)})
    for threads in (1, 2):
        period, expected = content_numbers(threads, 3, 1)
        yield Case("a huge grid", HUGE_GRID, {"to": Room(2 * threads), "period": Given(2, period)},
                   ["to", threads, "period", 3, 1], {"to": Wanted(2, expected)}, blocks=[0], threads=[0, 1])
    period, expected = content_numbers(700, 331, 5)
    yield Case("blocks of 256", (3, 256), {"to": Room(1400), "period": Given(2, period)},
               ["to", 700, "period", 331, 5], {"to": Wanted(2, expected)}, for_mutants=False)


def differences(_):
    nowhere = 2**64 - 1
    rows = [(9, (), 1, (1, 2)), (9, (4, 7), 2, (1, 2)), (9, (8,), 0, (2, 2)), (1, (0,), 3, (1, 1)),
            (12, (3, 4, 5), 2**33, (2, 1)), (6, (0, 5), 2, (1, 1)), (3, (), 0, (1, 1)), (2, (), 1, (1, 3))]
    for count, wrong, start, shape in rows:
        period, numbers = content_numbers(count, 5, start)
        for place in wrong:
            numbers[place] ^= 0x8000
        finders = len({place % (shape[0] * shape[1]) for place in wrong})

        def check(buffers, _, __, finders=finders):
            found = buffers["first"].meetings
            return None if found == finders else f"{found} instead of {finders} threads that tell of a difference"
        yield Case(f"{count}, wrong at {wrong}", shape,
                   {"in": Given(2, numbers, 2), "period": Given(2, period), "first": Given(8, [nowhere], 0, True)},
                   ["in", count, "period", 5, start, "first"],
                   {"first": Wanted(8, [min(wrong, default=nowhere)])}, check=check)


TABLE = {"sum_packs": sums, "copy_packs": copies, "wait_for_opening": gate, "nothing": nothing,
         "look_at_clocks": looks, "keep_busy": busy, "repeat_period": repeats, "find_difference": differences}
