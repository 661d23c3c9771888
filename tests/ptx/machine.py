"""Runs a kernel on a grid of threads. A thread is a generator that stops where it waits for others.

Threads of a block run one after the other until each waits at a barrier, at an instruction of its warp, or
pauses (a fence, a volatile load); blocks run one after the other. `order` draws by lot who comes
first, because nothing may depend on it. Wrong for what needs two blocks at once (one that waits for another
ends in a fault: too many steps), for the GPU's memory model (a store is seen at once by everybody), and
for time: the timer advances by a fixed amount each time that it is read.
"""
import random

from memory import Buffer, Fault, Memory
from operations import WINDOWS


class Host:
    """What surrounds a launch: the memory of the GPU, its timer, and what the host does meanwhile."""

    def __init__(self, tick_ns=1000):
        self.memory = Memory(7 << 32, 24)
        self.ns = 1_000_000
        self.tick_ns = tick_ns
        self.at_tick = lambda ns: None  # called whenever the timer is read
        self.variables = {}  # of the whole grid

    def tick(self):
        self.ns += self.tick_ns
        self.at_tick(self.ns)
        return self.ns

    def given(self, name, content, shift=0):
        return self.memory.add(Buffer(name, len(content), content), shift)

    def room(self, name, size, shift=0, content=None):
        """Where the kernel may write; unknown before, unless there is content."""
        buffer = Buffer(name, size, content, True)
        return self.memory.add(buffer, shift), buffer

    def variable(self, name, program):
        if name not in self.variables:
            one = next(one for one in program.kernel.variables if one.name == name)
            self.variables[name] = self.memory.add(Buffer(name, one.bytes, one.first, True))
        return self.variables[name]


class Thread:
    def __init__(self, block, number, host, sizes):
        self.block, self.number, self.host, self.sizes = block, number, host, sizes
        self.barriers = self.warp_barriers = 0
        self.g, self.s, self.c = host.memory, block.shared, block.constant
        self.l = None
        self.own = block.addresses
        self.restamp()

    def add_local(self, one):
        if self.l is None:
            self.l, self.own = Memory(0, 20), dict(self.own)
        self.own[one.name] = self.l.add(Buffer(one.name, one.bytes, None, True))

    def restamp(self):
        self.stamp = (self.block.number, self.number, self.barriers, self.number // 32, self.warp_barriers)

    def special(self, name):
        """Registers that few kernels ask for; translate.py has the others."""
        known = {"%tid.y": 0, "%tid.z": 0, "%ntid.y": 1, "%ntid.z": 1, "%ctaid.y": 0, "%ctaid.z": 0, "%nctaid.y": 1,
                 "%nctaid.z": 1, "%warpid": self.number // 32, "%smid": self.block.processor}
        if name in known:
            return known[name]
        lane = self.number % 32
        masks = {"%lanemask_eq": 1 << lane, "%lanemask_lt": (1 << lane) - 1, "%lanemask_le": (2 << lane) - 1}
        masks["%lanemask_ge"] = 0xffffffff ^ masks["%lanemask_lt"]
        masks["%lanemask_gt"] = 0xffffffff ^ masks["%lanemask_le"]
        if name in masks:
            return masks[name]
        if name in ("%globaltimer", "%globaltimer_lo"):
            return self.host.tick()
        if name in ("%clock", "%clock64"):
            return 2 * self.host.tick()  # a clock of 2 GHz
        raise Fault("special register " + name)

    def address(self, name):
        return self.own[name] if name in self.own else self.host.variable(name, self.block.program)

    def parameter(self, name, at, size):
        content = self.block.parameters[name]
        if at + size > len(content):
            raise Fault(f"parameter {name} has {len(content)} bytes")
        return int.from_bytes(content[at:at + size], "little")

    def generic(self, address):
        for space, memory in (("local", self.l), ("shared", self.s)):
            if address >= WINDOWS[space]:
                return memory, address - WINDOWS[space]
        return self.g, address

    def go(self, program, limit):
        registers = [None] * len(program.translator.numbers)
        code, sizes, run = program.code, program.sizes, 0
        try:
            while run != -1:
                limit[0] -= sizes[run]
                if limit[0] < 0:
                    raise Fault("does not end")
                run = code[run](registers, self)
                if run.__class__ is tuple:
                    answer = yield run
                    for place, value in zip(run[2], answer or ()):
                        registers[place] = value
                    run = run[1]
                if run is None:
                    raise Fault("runs on behind the last instruction")
        except TypeError as error:
            if "NoneType" in str(error):
                raise Fault("a register is read before it is written") from None
            raise


class Block:
    """Its shared memory, and who of its threads waits for what."""

    def __init__(self, program, number, threads, host, parameters, sizes, dynamic, has_zeros):
        self.program, self.number, self.parameters = program, number, parameters
        self.processor = 1000 - number if number <= 1000 else 0
        self.shared, self.constant, self.addresses = Memory(0, 20), Memory(1 << 40, 24), {}
        for one in program.kernel.variables:
            if one.space == "shared":
                size = one.bytes or dynamic
                first = bytes(size) if has_zeros else None
                self.addresses[one.name] = self.shared.add(Buffer(one.name, size, first, True))
            elif one.space == "const":
                self.addresses[one.name] = self.constant.add(Buffer(one.name, one.bytes, one.first))
        self.threads = [Thread(self, i, host, sizes) for i in threads]
        for one in program.kernel.variables:
            if one.space == "local":
                for thread in self.threads:
                    thread.add_local(one)

    def play(self, program, limit, draw):
        waiting = {}
        ready = [(thread, thread.go(program, limit), None) for thread in self.threads]
        while ready:
            if draw:
                draw.shuffle(ready)
            for thread, runner, answer in ready:
                try:
                    waiting[thread.number] = (thread, runner, runner.send(answer))
                except StopIteration:
                    waiting.pop(thread.number, None)
            ready = self.released(waiting)
            if not ready and waiting:
                raise Fault(f"{len(waiting)} threads wait for ever")

    def released(self, waiting):
        """Takes those out that may go on, with what they get."""
        free = {}
        for number, (thread, _, wish) in waiting.items():
            if number in free:
                continue
            if wish[0] == "pause":
                free[number] = None
            elif wish[0] == "warp":
                first = number // 32 * 32
                group = [first + lane for lane in range(32) if wish[4] >> lane & 1]
                if number not in group:
                    raise Fault("a thread is not in the mask of its own instruction")
                if all(one in waiting and waiting[one][2][:1] == ("warp",) and waiting[one][2][3:5] == wish[3:5]
                       for one in group):
                    wishes = {one: waiting[one][2] for one in group}
                    free.update({one: answer_of_warp(one, wishes) for one in group})
                    for one in group if wish[5] == "sync" else ():
                        waiting[one][0].warp_barriers += 1
                        waiting[one][0].restamp()
        at_barrier = {n: wish for n, (_, _, wish) in waiting.items() if wish[0] == "bar"}
        if not free and at_barrier:
            free = self.past_barrier(waiting, at_barrier)
        return [(*waiting.pop(number)[:2], answer) for number, answer in free.items()]

    def past_barrier(self, waiting, at_barrier):
        """Of one barrier: all threads that have not ended, or as many as it counts."""
        which = min(wish[3] for wish in at_barrier.values())
        here = {n: wish for n, wish in at_barrier.items() if wish[3] == which}
        counts = {wish[4] for wish in here.values()}
        if len(counts) > 1 or len(here) < (max(counts) or len(waiting)):
            raise Fault(f"{len(here)} of {len(waiting)} threads come to barrier {which}")
        for number in here:
            waiting[number][0].barriers += 1
            waiting[number][0].restamp()
        truths = [wish[6] for wish in here.values()]
        value = {None: None, "popc": sum, "and": all, "or": any}[next(iter(here.values()))[5]]
        answer = None if value is None else (int(value(truths)),)
        return {number: answer for number in here}


def answer_of_warp(number, wishes):
    wish, lane, first = wishes[number], number % 32, number // 32 * 32
    kind, how = wish[5], wish[6] if len(wish) > 6 else None  # (kind, next, places, at, mask, kind of warp, how, ...)
    if kind == "sync":
        return None
    if kind == "shfl":
        by, clamp = wish[8] & 31, wish[9]
        segment = clamp >> 8 & 31
        highest = lane & segment | clamp & 31 & ~segment
        lowest = lane & segment
        source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": lowest | by & ~segment & 31}[how]
        is_inside = source >= highest if how == "up" else source <= highest
        if not is_inside:
            source = lane
        if first + source not in wishes:
            raise Fault("a shuffle reads from a thread that takes no part")
        return wishes[first + source][7], int(is_inside)
    values = {one: wishes[one][7] for one in wishes}
    if kind == "vote":
        ballot = sum(1 << one % 32 for one, truth in values.items() if truth)
        return ({"ballot": ballot, "all": int(all(values.values())), "any": int(any(values.values())),
                 "uni": int(len(set(values.values())) == 1)}[how],)
    if kind == "match":
        same = sum(1 << one % 32 for one, value in values.items() if value == values[number])
        are_all = len(set(values.values())) == 1
        return (same,) if how == "any" else (same if are_all else 0, int(are_all))
    total = None
    for value in values.values():
        total = value if total is None else {"add": lambda a, b: a + b, "min": min, "max": max,
                                             "and": lambda a, b: a & b, "or": lambda a, b: a | b,
                                             "xor": lambda a, b: a ^ b}[how](total, value)
    return (total & 0xffffffff,)


def launch(program, host, grid, block, arguments, *, blocks=None, threads=None, order=None, limit=2_000_000,
           dynamic=0, has_zeros=False):
    """Runs the blocks and threads that are given of a grid that may be larger; all of them otherwise. has_zeros:
    shared memory is zero at the start, as warps that are left out would leave it."""
    limit = [limit]
    draw = random.Random(order) if order else None
    parameters = {}
    for (name, size), value in zip(program.kernel.parameters.items(), arguments, strict=True):
        parameters[name] = value if isinstance(value, bytes) else (value % 256**size).to_bytes(size, "little")
    numbers = list(blocks if blocks is not None else range(grid))
    if draw:
        draw.shuffle(numbers)
    for number in numbers:
        Block(program, number, threads if threads is not None else range(block), host, parameters, (grid, block),
              dynamic, has_zeros).play(program, limit, draw)
    return limit[0]
