"""Many points as columns: what `sweep` answers."""

import ctypes
import json

from . import native, picture
from .answers import Answer

_numbers = {b"l": (ctypes.c_int64, "<i8"), b"g": (ctypes.c_double, "<f8")}

# A capsule outlives this module's names while a program ends, so its parts stay here until it is released.
_capsules = {}
_name = b"arrow_array_stream"
_python = ctypes.PyDLL(None)  # its own: whoever uses ctypes.pythonapi declares these functions in another way
_new_capsule = _python.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_pointer_of = _python.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


@_Destructor
def _drop(capsule):
    stream = _capsules.pop(_pointer_of(capsule, _name), None)
    if stream is not None and stream.release:
        stream.release(ctypes.byref(stream))


_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _Destructor]


class _Memory:
    """What the library lent: released when nobody looks at it any longer."""

    def __init__(self, reply):
        self.schema, self.array = native.Schema(), native.Array()
        stream = reply.stream()
        try:
            for read, into in ((stream.get_schema, self.schema), (stream.get_next, self.array)):
                if read(ctypes.byref(stream), ctypes.byref(into)) != 0:
                    raise MemoryError(stream.get_last_error(ctypes.byref(stream)).decode())
                if into.release:
                    native.give_back(self, into.release, ctypes.pointer(into))
        finally:
            stream.release(ctypes.byref(stream))


class Column:
    """One column: a sequence of values, None where a row has none. numpy.asarray() of numbers does not copy."""

    def __init__(self, memory, number):
        self._memory = memory
        self._schema = memory.schema.children[number].contents
        self._array = memory.array.children[number].contents
        self.name = self._schema.name.decode()
        self._texts = None

    def __len__(self):
        return self._array.length

    @property
    def unit(self):
        """What its numbers are measured in, or ""."""
        at = self._schema.metadata
        if not at:
            return ""
        key = ctypes.c_int32.from_address(at + 4).value
        size = ctypes.c_int32.from_address(at + 8 + key).value
        return ctypes.string_at(at + 12 + key, size).decode()

    @property
    def missing(self):
        """How many rows have no value."""
        return len(self) if self._schema.format == b"n" else self._array.null_count

    @property
    def texts(self):
        """The different texts of the column, of which it has the places; None for other columns."""
        if self._schema.format != b"i":
            return None
        if self._texts is None:
            words = self._array.dictionary.contents
            ends = (ctypes.c_int64 * (words.length + 1)).from_address(words.buffers[1])
            letters = ctypes.string_at(words.buffers[2], ends[words.length]) if ends[words.length] else b""
            self._texts = [letters[ends[i]:ends[i + 1]].decode() for i in range(words.length)]
        return self._texts

    def _raw(self, kind):
        return (kind * len(self)).from_address(self._array.buffers[1]) if len(self) else ()

    def _bits(self, buffer):
        bits = ctypes.string_at(self._array.buffers[buffer], (len(self) + 7) // 8) if len(self) else b""
        return [bits[i >> 3] >> (i & 7) & 1 for i in range(len(self))]

    def to_list(self):
        kind = self._schema.format
        if kind == b"n":
            return [None] * len(self)
        if kind in _numbers:
            values = list(self._raw(_numbers[kind][0]))
        elif kind == b"b":
            values = [bit == 1 for bit in self._bits(1)]
        else:
            texts = self.texts
            values = [texts[place] if texts else None for place in self._raw(ctypes.c_int32)]
        if not self.missing:
            return values
        return [value if there else None for value, there in zip(values, self._bits(0))]

    def __iter__(self):
        return iter(self.to_list())

    def __getitem__(self, row):
        return self.to_list()[row]

    def __repr__(self):
        return f"<column {self.name} of {len(self)}" + (f", {self.unit}>" if self.unit else ">")

    @property
    def __array_interface__(self):
        if self._schema.format not in _numbers or self.missing or not len(self):
            raise AttributeError("only numbers without gaps are read in place")
        return {"version": 3, "shape": (len(self),), "typestr": _numbers[self._schema.format][1],
                "data": (self._array.buffers[1], True)}

    def __array__(self, dtype=None, copy=None):
        import numpy

        if self._schema.format in _numbers and self.missing:
            values = [float("nan") if value is None else value for value in self.to_list()]
            return numpy.array(values, dtype or float)
        is_object = self._schema.format == b"i" or self.missing
        return numpy.array(self.to_list(), dtype or (object if is_object else None))

    def to_pandas(self):
        import numpy
        import pandas

        if self._schema.format == b"i":
            places = numpy.array(self._raw(ctypes.c_int32), dtype="int32")
            if self.missing:
                places[numpy.array(self._bits(0)) == 0] = -1
            return pandas.Series(pandas.Categorical.from_codes(places, self.texts), name=self.name)
        if self._schema.format == b"l" and self.missing:
            return pandas.Series(self.to_list(), name=self.name, dtype="Int64")
        return pandas.Series(numpy.asarray(self), name=self.name)


class Table:
    """Points as columns. table["metrics.iteration_us"] is a NumPy array over the library's own memory (a list where
    there is no NumPy); pandas, Polars, DuckDB and pyarrow take the table itself, without a copy."""

    def __init__(self, reply, about):
        self._reply, self._memory = reply, _Memory(reply)
        self.about = about
        self.columns = [self._memory.schema.children[i].contents.name.decode()
                        for i in range(self._memory.schema.n_children)]
        self._number_of = {name: i for i, name in enumerate(self.columns)}

    def __len__(self):
        return self._memory.array.length

    @property
    def shape(self):
        return len(self), len(self.columns)

    @property
    def axes(self):
        """The names of what was varied."""
        return [name[len("axes."):] for name in self.columns if name.startswith("axes.")]

    @property
    def complete(self):
        """Whether all points are there: a sweep may have been interrupted."""
        return self.about.done == self.about.points

    @property
    def failed(self):
        """How many points have no result; the column error says why."""
        return self.about.failed

    def column_at(self, place):
        """By its place among `columns`."""
        return Column(self._memory, range(len(self.columns))[place])

    def column(self, name):
        """By the name of --columns: an axis (cluster.nodes) or a path; metrics.iteration_us is its mean. Where the
        strategy is an axis, "strategy" is the axis."""
        for known in ("axes." + name, name, name + ".mean"):
            if known in self._number_of:
                return self.column_at(self._number_of[known])
        raise KeyError(f"no column {name}; there are: {', '.join(self.columns)}")

    def __getitem__(self, name):
        column = self.column(name)
        try:
            import numpy
        except ImportError:
            return column.to_list()
        return numpy.asarray(column)

    def __contains__(self, name):
        return any(known in self._number_of for known in ("axes." + name, name, name + ".mean"))

    @property
    def points(self):
        """The points as objects, as `sgdsim run` would answer each: point.metrics.iteration_us.mean."""
        lists = [(name, self.column_at(place).to_list()) for place, name in enumerate(self.columns)]
        return [_nested(lists, row) for row in range(len(self))]

    def __iter__(self):
        return iter(self.points)

    def __arrow_c_schema__(self):
        raise NotImplementedError("ask for the stream: __arrow_c_stream__")

    def __arrow_c_stream__(self, requested_schema=None):
        stream = self._reply.stream()
        address = ctypes.addressof(stream)
        _capsules[address] = stream
        return _new_capsule(address, _name, _drop)

    def to_pandas(self):
        import pandas

        return pandas.DataFrame({name: self.column_at(place).to_pandas() for place, name in enumerate(self.columns)})

    def __repr__(self):
        return f"<{len(self)} points of {self.about.sweep}: {len(self.columns)} columns>"

    def _repr_html_(self):
        return picture.table_html(self)


def _nested(lists, row):
    point = Answer()
    for name, values in lists:
        value = values[row]
        if value is None:
            continue
        if name.startswith("axes."):
            point.setdefault("axes", Answer())[name[len("axes."):]] = value
            continue
        at = point
        *steps, last = name.split(".")
        for step in steps:
            at = at.setdefault(step, Answer())
        at[last] = json.loads(value) if name == "warnings" else value
    return point
