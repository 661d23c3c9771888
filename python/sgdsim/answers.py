"""Answers as objects, and what goes wrong as exceptions."""


class _Copied:
    """An exception that pickle and copy make again with all its members: they would call the class with `args`, the
    sentence alone."""

    def __reduce__(self):
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(kind, arguments, members):
    made = kind.__new__(kind, *arguments)
    made.__dict__.update(members)
    return made


class Error(_Copied, Exception):
    """A question without an answer. `code` is what the command line would exit with; `answer` what there is."""

    def __init__(self, code, sentence, answer=None):
        super().__init__(sentence)
        self.code = code
        self.answer = answer


class InputError(Error):
    """Something in the question is wrong: `file` and `field` say where, `sentence` what was expected and found."""

    def __init__(self, code, text, file="", field="", sentence=""):
        super().__init__(code, text)
        self.file, self.field, self.sentence = file, field, sentence or text


class Interrupted(_Copied, KeyboardInterrupt):
    """Ctrl-C; `answer` has the points of a sweep that were done, or is None."""

    def __init__(self, sentence, answer=None):
        super().__init__(sentence)
        self.answer = answer


class Warning(UserWarning):
    """What the reader must know before trusting an answer."""


class Time(float):
    """A length of time in seconds, that prints itself as the command line does."""

    def __str__(self):
        us = self * 1e6
        if us == 0:
            return "0"
        return f"{us:.6g} us" if us < 1e3 else f"{us / 1e3:.6g} ms" if us < 1e6 else f"{float(self):.6g} s"

    __repr__ = __str__

    @property
    def us(self):
        return self * 1e6

    @property
    def ms(self):
        return self * 1e3

    @property
    def s(self):
        return float(self)


# The lists that answers are about, the more detailed first.
_rows = ("points", "plans", "layouts", "jobs", "flows", "groups", "methods", "lines", "account", "suites")


def rows_of(answer):
    """Its list of points, plans, jobs, flows ...; of an answer without one the answer itself."""
    return next((answer[name] for name in _rows if isinstance(dict.get(answer, name), list) and answer[name]), [answer])


class Answer(dict):
    """The JSON of an answer; members are attributes, too, to read, to set and to delete. answer.time_us is a number,
    answer.time prints itself. Members go before methods of dicts: metrics.update is the time of the update,
    dict.update(metrics, ...) the method."""

    def __getattribute__(self, name):
        if name in self:
            return self[name]
        if name + "_us" in self:
            us = self[name + "_us"]
            if isinstance(us, (int, float)):
                return Time(us / 1e6)
        return super().__getattribute__(name)

    def __getattr__(self, name):
        raise AttributeError(f"no member {name}; there are: {', '.join(self)}")

    def __setattr__(self, name, value):
        self._refuse_time(name)
        self[name] = value

    def __delattr__(self, name):
        self._refuse_time(name)
        if name not in self:
            self.__getattr__(name)
        del self[name]

    def _refuse_time(self, name):
        """The time without a unit is another reading of the member."""
        if name not in self and name + "_us" in self:
            raise AttributeError(f"{name} is {name}_us in another form: change {name}_us, a number of microseconds")

    def __dir__(self):
        return [*super().__dir__(), *self]

    @property
    def rows(self):
        """Its list of points, plans, jobs, flows ...; of an answer without one the answer itself."""
        return rows_of(self)

    def to_pandas(self):
        """Its rows as a table; else one row of all its values."""
        import pandas

        return pandas.json_normalize(rows_of(self))

    def _repr_html_(self):
        from . import picture  # few need it at once

        return picture.answer_html(self)
