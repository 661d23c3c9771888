"""An Arrow stream read as the C data interface describes it, in Python, to see that other readers can."""

import ctypes

_pointer_of = ctypes.PyDLL(None).PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def read(table, library):
    """{name: (values, unit)}, as a reader that takes the stream over and releases all."""
    capsule = table.__arrow_c_stream__()
    theirs = library.Stream.from_address(_pointer_of(capsule, b"arrow_array_stream"))
    stream = library.Stream()
    ctypes.memmove(ctypes.byref(stream), ctypes.byref(theirs), ctypes.sizeof(stream))
    ctypes.memset(ctypes.byref(theirs), 0, ctypes.sizeof(theirs))  # moved: the capsule releases nothing
    schema, array, end = library.Schema(), library.Array(), library.Array()
    assert stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)) == 0
    assert stream.get_next(ctypes.byref(stream), ctypes.byref(array)) == 0
    assert stream.get_next(ctypes.byref(stream), ctypes.byref(end)) == 0
    assert not end.release, "one piece, then the end"
    stream.release(ctypes.byref(stream))
    assert not stream.release
    assert schema.format == b"+s" and array.n_children == schema.n_children and array.n_buffers == 1
    columns = {}
    for i in range(schema.n_children):
        field, column = schema.children[i].contents, array.children[i].contents
        columns[field.name.decode()] = (_values(field, column, array.length), _unit(field.metadata))
    array.release(ctypes.byref(array))
    schema.release(ctypes.byref(schema))
    assert not array.release and not schema.release
    return columns


def _unit(at):
    if not at:
        return ""
    text = ctypes.string_at(at, 4)
    assert int.from_bytes(text, "little") == 1, "one pair"
    pieces, place = [], at + 4
    for _ in range(2):
        size = ctypes.c_int32.from_address(place).value
        pieces.append(ctypes.string_at(place + 4, size).decode())
        place += 4 + size
    assert pieces[0] == "unit"
    return pieces[1]


def _values(field, column, length):
    assert column.length == length and column.offset == 0
    kind = field.format.decode()
    if kind == "n":
        assert column.n_buffers == 0
        return [None] * length
    assert column.n_buffers == 2
    bit = lambda buffer, i: ctypes.c_uint8.from_address(column.buffers[buffer] + i // 8).value >> i % 8 & 1
    if kind == "b":
        values = [bit(1, i) == 1 for i in range(length)]
    else:
        of = {"l": ctypes.c_int64, "g": ctypes.c_double, "i": ctypes.c_int32}[kind]
        values = list((of * length).from_address(column.buffers[1])) if length else []
    if kind == "i":
        assert field.dictionary.contents.format == b"U"
        texts = column.dictionary.contents
        ends = (ctypes.c_int64 * (texts.length + 1)).from_address(texts.buffers[1])
        letters = ctypes.string_at(texts.buffers[2], ends[texts.length])
        words = [letters[ends[i]:ends[i + 1]].decode() for i in range(texts.length)]
        assert len(set(words)) == len(words), "every text once"
        values = [words[place] for place in values]
    missing = [bool(column.buffers[0]) and bit(0, i) == 0 for i in range(length)]
    assert sum(missing) == column.null_count
    return [None if gone else value for value, gone in zip(values, missing)]
