"""libsgdsim.so through ctypes: one call, its answer, and how it is ended."""

import ctypes
import json
import os
import signal
import threading
import weakref

_Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_nobody = _Progress()


class Schema(ctypes.Structure):
    """ArrowSchema of the C data interface."""


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("private_data", ctypes.c_void_p)]


class Array(ctypes.Structure):
    """ArrowArray."""


Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))),
                  ("dictionary", ctypes.POINTER(Array)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
                  ("private_data", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    """ArrowArrayStream."""


Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", ctypes.c_void_p)]


def _open():
    here = os.path.dirname(os.path.abspath(__file__))
    beside = [os.path.join(here, "libsgdsim.so"), os.path.join(here, "../../build/release/lib/libsgdsim.so")]
    # PREFIX/lib/python3/dist-packages/sgdsim, or PREFIX/lib/python3.11/site-packages/sgdsim: PREFIX/lib is above.
    beside += [os.path.join(here, "../../..", folder, "libsgdsim.so.1")
               for folder in (".", f"{os.uname().machine}-linux-gnu", "../lib64")]
    found = next((file for file in beside if os.path.exists(file)), "libsgdsim.so.1")
    try:
        library = ctypes.CDLL(found)
    except OSError as problem:
        raise ImportError(f"libsgdsim.so cannot be opened ({problem}); it is looked for beside this module, in "
                          "build/release/lib of a checkout, and where the system looks: ./run install PREFIX") from None
    answer = ctypes.c_void_p
    for name, result, arguments in (
            ("ask_watched", ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, _Progress,
                                           ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]),
            ("json", ctypes.c_void_p, [answer, ctypes.POINTER(ctypes.c_size_t)]),
            ("error", ctypes.c_char_p, [answer]),
            ("error_place", ctypes.c_char_p, [answer]),
            ("warnings", ctypes.c_char_p, [answer]),
            ("columns", ctypes.c_int, [answer, ctypes.POINTER(Stream)]),
            ("free", None, [answer]),
            ("version", ctypes.c_char_p, [])):
        function = getattr(library, "sgdsim_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_sgdsim = _open()
version = _sgdsim.sgdsim_version().decode()


class _Lent(weakref.ref):
    """What the library lent to a holder. Its callback is a function of the library, so no line of Python runs when the
    holder goes: a Ctrl-C that arrives in a __del__ would be dropped."""

    __slots__ = ("_as_parameter_",)


_lent = {}  # by id: two of one holder are equal
_most_lent = 64


def give_back(holder, function, argument):
    """Calls a function of the library with argument when holder is gone."""
    global _most_lent
    if len(_lent) > _most_lent:
        for key, one in list(_lent.items()):
            if one() is None:
                _lent.pop(key, None)
        _most_lent = 2 * len(_lent) + 64
    lent = _Lent(holder, function)
    lent._as_parameter_ = argument
    _lent[id(lent)] = lent


class Reply:
    """An answer in the library's memory."""

    __slots__ = ("_handle", "code", "raised", "stopped", "interrupt", "__weakref__")

    def __init__(self, command, fields, progress=None):
        """progress(done, total) is called now and then; if it returns False, the answer ends there."""
        self._handle = ctypes.c_void_p()
        self.raised, self.stopped, self.interrupt = None, False, None
        is_main = threading.current_thread() is threading.main_thread()
        # Python would raise KeyboardInterrupt anywhere in look(), where ctypes drops it: a note is taken instead.
        before = signal.getsignal(signal.SIGINT) if is_main else None
        if not callable(before):
            before = None

        def look(_, done, total):
            try:
                if progress is not None and progress(done, total) is False:
                    self.stopped = True
            except BaseException as problem:
                self.raised = problem
            return int(self.interrupt is not None or self.stopped or self.raised is not None)

        def note(number, frame):
            self.interrupt = (before, number, frame)

        watch = _Progress(look) if before is not None or progress is not None else _nobody
        if before is not None:
            signal.signal(signal.SIGINT, note)
        try:
            self.code = _sgdsim.sgdsim_ask_watched(command.encode(), fields, len(fields), watch, None,
                                                   ctypes.byref(self._handle))
        finally:
            if before is not None:
                signal.signal(signal.SIGINT, before)
            give_back(self, _sgdsim.sgdsim_free, self._handle)

    @property
    def json(self):
        size = ctypes.c_size_t()
        text = _sgdsim.sgdsim_json(self._handle, ctypes.byref(size))
        return ctypes.string_at(text, size.value).decode()

    @property
    def error(self):
        return _sgdsim.sgdsim_error(self._handle).decode()

    @property
    def place(self):
        return json.loads(_sgdsim.sgdsim_error_place(self._handle))

    @property
    def warnings(self):
        text = _sgdsim.sgdsim_warnings(self._handle)
        return () if text == b"[]" else json.loads(text)

    def stream(self):
        """The columns, as a new ArrowArrayStream that somebody must release."""
        stream = Stream()
        if _sgdsim.sgdsim_columns(self._handle, ctypes.byref(stream)) != 0:
            raise MemoryError("there is not enough memory for the columns")
        return stream
