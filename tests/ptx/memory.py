"""Memory of a GPU in which every access is checked.

A fault is: an access that is not aligned to its size, that leaves a buffer by a byte, that writes what is
only to be read, that reads what nobody has written, or that meets an access of another thread to the same
byte, one of them writing, with no barrier between them (a race). Buffers lie far apart, so that
whatever leaves one meets nothing. Wrong in what it allows: accesses of threads that a flag in memory
orders are called a race, unless they are volatile or atomic.
"""


class Fault(Exception):
    """What a kernel must not do; the text says what."""


class Buffer:
    def __init__(self, name, size, content=None, is_writable=False):
        self.name = name
        self.bytes = bytearray(content if content is not None else size)
        self.is_known = content is not None
        self.known = None if self.is_known else bytearray(size)
        self.is_writable = is_writable
        self.meetings = 0  # writes that may meet others: atomic ones and volatile ones
        if is_writable:
            self.written = [None] * len(self.bytes)
            self.read = [None] * len(self.bytes)
            self.shared = [None] * len(self.bytes)  # by accesses that may meet each other


def is_ordered(one, other):
    """Stamps are (block, thread, barriers passed, warp, barriers of the warp passed)."""
    if one[0] != other[0] or one[0] is None:
        return False
    return one[1] == other[1] or one[2] != other[2] or (one[3] == other[3] and one[4] != other[4])


def check_order(buffer, stamps, at, size, stamp, what):
    part = stamps[at:at + size]
    if part.count(None) == size:
        return
    for place, other in enumerate(part):
        if other is not None and other is not stamp and not is_ordered(other, stamp):
            raise Fault(f"race: thread {stamp[1]} of block {stamp[0]} {what} byte {at + place} of {buffer.name}, "
                        f"as thread {other[1]} of block {other[0]} does")


def joined(one, other):
    """The stamp of a byte that one thread has read and another reads."""
    if one is None or one is other or is_ordered(one, other):
        return other
    return (other[0] if one[0] == other[0] else None, None, other[2], None, None)


class Memory:
    """Buffers from `base` on, one every 2^`slot_log2` bytes."""

    def __init__(self, base, slot_log2):
        self.base = base
        self.slot_log2 = slot_log2
        self.slots = {}

    def add(self, buffer, shift=0):
        """The address of the buffer's first byte, `shift` behind an aligned one."""
        slot = (self.base >> self.slot_log2) + 1 + len(self.slots)
        self.slots[slot] = (buffer, (slot << self.slot_log2) + 256 + shift)
        return self.slots[slot][1]

    def place(self, address, size):
        found = self.slots.get(address >> self.slot_log2)
        if address % size:
            raise Fault(f"address {address:#x} is not aligned to {size} bytes")
        if found is None:
            raise Fault(f"nothing lies at address {address:#x}")
        buffer, first = found
        at = address - first
        if at < 0 or at + size > len(buffer.bytes):
            raise Fault(f"bytes {at} to {at + size} of {buffer.name}, which has {len(buffer.bytes)}")
        return buffer, at

    def load(self, address, size, thread, is_shared=False):
        buffer, at = self.place(address, size)
        if not buffer.is_known and buffer.known.find(0, at, at + size) >= 0:
            raise Fault(f"byte {at} of {buffer.name} is read before it is written")
        if buffer.is_writable:
            stamp = thread.stamp
            check_order(buffer, buffer.written, at, size, stamp, "reads")
            if is_shared:
                buffer.shared[at:at + size] = [stamp] * size
            else:
                check_order(buffer, buffer.shared, at, size, stamp, "reads")
                buffer.read[at:at + size] = [joined(one, stamp) for one in buffer.read[at:at + size]]
        return int.from_bytes(buffer.bytes[at:at + size], "little")

    def store(self, address, size, value, thread, is_shared=False):
        buffer, at = self.place(address, size)
        if not buffer.is_writable:
            raise Fault(f"byte {at} of {buffer.name} is written, which is only to be read")
        stamp = thread.stamp
        check_order(buffer, buffer.written, at, size, stamp, "writes")
        check_order(buffer, buffer.read, at, size, stamp, "writes")
        if is_shared:
            buffer.meetings += 1
            buffer.shared[at:at + size] = [stamp] * size
        else:
            check_order(buffer, buffer.shared, at, size, stamp, "writes")
            buffer.written[at:at + size] = [stamp] * size
        buffer.bytes[at:at + size] = value.to_bytes(size, "little")
        if not buffer.is_known:
            buffer.known[at:at + size] = b"\1" * size
