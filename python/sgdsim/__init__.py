"""sgdsim from Python: questions of the command line, answered by the library.

    import sgdsim
    step = sgdsim.run("resnet50_v100", cluster="25gbe_16", set={"cluster.nodes": 64})
    step.metrics.iteration_us.mean
    sgdsim.collective("ring", ranks=16, bytes="64 MiB", cluster="10gbe_16").time
    table = sgdsim.sweep("resnet50_v100", {"cluster.nodes": range(2, 65)}, cluster="25gbe_16")
    table["metrics.iteration_us"]

A function for each question; its arguments are the options of the command of that name, and its answer the JSON that
`--format json` prints, as an object; a sweep answers with columns. Files may be given as dicts. Two arguments are not
options: base="FOLDER", from which relative paths count instead of the working folder, and progress=, a function of
(done, total) that is called now and then and ends the answer where it returns False; progress=False shows nothing.
Nothing but Python 3.9 is needed; NumPy and pandas are used where they are there.
"""

import json
import os
import warnings

from .answers import Answer, Error, InputError, Interrupted, Time, Warning
from .native import Reply
from .native import version as __version__
from .progress import shown as _shown

__all__ = ["Answer", "Error", "InputError", "Interrupted", "Table", "Time", "Warning", "advise", "ask", "collective",
           "compare", "diagnose", "fit", "goodput", "import_profile", "jobs", "layout", "learn", "model_laws",
           "model_show", "need", "plan", "replay", "run", "sweep", "timeline", "traffic", "tune", "validate"]

_decode = json.JSONDecoder(object_hook=Answer).decode


def __getattr__(name):
    if name == "Table":  # few need it at once
        from .table import Table

        return Table
    raise AttributeError(f"module sgdsim has no {name}")


def _word(value):
    """Paths, ranges and numbers of other libraries become JSON."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, range):
        return list(value)
    for convert in ("tolist", "item"):
        if hasattr(value, convert):
            return getattr(value, convert)()
    raise TypeError(f"{type(value).__name__} is no JSON value")


_encode = json.JSONEncoder(default=_word, allow_nan=False).encode


# What names files, in questions and inside of files; and what is a word in some of them.
_files = {"base", "case", "cluster", "documents", "execution_trace", "experiment", "failures", "file", "files", "fit",
          "goodput", "gpu", "groups", "inside", "into", "jobs", "layout", "like", "model", "names", "parameters", "question",
          "record", "schedule", "sweep", "trace", "traffic", "workers"}
_words = {("import_profile", "model"), ("model_laws", "parameters"), ("diagnose", "layout"), ("compare", "layout")}


def _place(base, name, value):
    """A file of the folder; names of what sgdsim ships, and other words, stay."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str) or not value or os.path.isabs(value):
        return value
    file = os.path.join(base, value)
    may_be_folder = name in ("files", "record") or (name in ("file", "experiment") and os.sep in value)
    return file if os.path.isfile(file) or (may_be_folder and os.path.isdir(file)) else value


def _setting(base, text):
    """cluster=x.json, or along an axis cluster=x.json,y.json."""
    field, equals, values = text.partition("=")
    name = field.split(".")[-1].strip()
    if not equals or name not in _files:
        return text
    return field + equals + ",".join(_place(base, name, one) for one in values.split(","))


def _from(base, name, value):
    """What is said of a field, or of a member of what is given in place of a file, with the files of the folder."""
    if isinstance(value, (list, tuple)):
        return [_from(base, name, one) for one in value]
    if isinstance(value, dict):
        return {key: _from(base, str(key).split(".")[-1], one) for key, one in dict.items(value)}
    if name in ("set", "axis") and isinstance(value, str):
        return _setting(base, value)
    return _place(base, name, value) if name in _files else value


def _folder(base):
    """Absolute: the working folder of a notebook may change, or be gone."""
    try:
        base = os.path.abspath(base)
    except (OSError, TypeError, ValueError) as wrong:
        raise InputError(2, f"base: {wrong}", "", "base", str(wrong)) from None
    if not os.path.isdir(base):
        raise InputError(2, f"base: {base} is no folder", "", "base", f"{base} is no folder")
    return base


def _asked(command, fields, base):
    asked = {name.rstrip("_"): value for name, value in fields.items() if value is not None}
    if base is not None:
        base = _folder(base)
    try:
        if base is not None:
            asked = {name: value if (command, name) in _words else _from(base, name, value)
                     for name, value in asked.items()}
        return _encode(asked).encode()
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError) as wrong:
        raise InputError(2, f"{command}: {wrong}") from None


def _answer_of(reply, as_columns):
    text = reply.json
    about = _decode(text) if text else None
    if about is None or not as_columns:
        return about
    from .table import Table

    return Table(reply, about)


def _tell_interrupt(reply, answer):
    """Whoever handles Ctrl-C in this program hears of it now."""
    if reply.interrupt is None:
        return
    handler, number, frame = reply.interrupt
    try:
        handler(number, frame)
    except KeyboardInterrupt:
        raise Interrupted(reply.error if reply.code == 130 else "interrupted", answer) from None


def _ended(reply, answer, level):
    """An answer that did not come to its end."""
    if reply.raised is not None:
        reply.raised.answer = answer
        raise reply.raised
    if answer is None or not reply.stopped:
        raise Error(130, reply.error, answer)
    warnings.warn(reply.error, Warning, stacklevel=level + 1)
    return answer


def _first_error(answer, as_columns):
    """Why the first point that failed did, where the answer says it."""
    if as_columns:
        errors = answer.column("error")
    else:
        errors = [point.get("error") for point in answer] if isinstance(answer, list) else []
    return next((f"; the first: {text}" for text in errors if text), "")


def _ask(command, fields, base=None, progress=None, as_columns=False, some_may_fail=False, level=3):
    text = _asked(command, fields, base)
    show = None
    if progress is None or progress is True:
        progress = show = _shown(command)
    try:
        reply = Reply(command, text, progress or None)
    finally:
        if show is not None:
            show.end()
    answer = _answer_of(reply, as_columns)
    _tell_interrupt(reply, answer)
    for note in reply.warnings:
        warnings.warn(note, Warning, stacklevel=level)
    if reply.code == 2:
        place = reply.place
        raise InputError(2, reply.error, place.get("file", ""), place.get("field", ""), place.get("sentence", ""))
    if reply.code == 130:
        return _ended(reply, answer, level)
    if reply.code == 1 and some_may_fail and answer is not None:
        warnings.warn(reply.error + _first_error(answer, as_columns), Warning, stacklevel=level)
        return answer
    if reply.code != 0:
        raise Error(reply.code, reply.error, answer)
    return answer


def _ask_along(command, fields, base, progress):
    """What axis= answers with points, of which some may have no result, as those of a sweep."""
    return _ask(command, fields, base, progress, some_may_fail=bool(fields.get("axis")), level=4)


def ask(command, *, base=None, progress=None, **fields):
    """The answer to any question, by the name of its command. Fields that are None are left out; where a name is a
    word of Python an underscore may follow: try_="strategy=ddp". Points that have no result are an Error, whose answer
    has the others."""
    return _ask(command, fields, base, progress)


def run(experiment, cluster=None, *, base=None, progress=None, **fields):
    """What a training step takes, and why: an experiment, a profile, or a trace with cluster=."""
    return _ask("run", {"experiment": experiment, "cluster": cluster, **fields}, base, progress)


def timeline(experiment, cluster=None, *, base=None, progress=None, **fields):
    """The same as events for Perfetto."""
    return _ask("timeline", {"experiment": experiment, "cluster": cluster, **fields}, base, progress)


def plan(experiment, cluster=None, *, base=None, progress=None, **fields):
    """All strategies on one experiment, best first."""
    return _ask("plan", {"experiment": experiment, "cluster": cluster, **fields}, base, progress)


def advise(file, *, base=None, progress=None, **fields):
    """What to change about a training step, and what that would gain."""
    return _ask("advise", {"file": file, **fields}, base, progress)


def learn(experiment, *, base=None, progress=None, **fields):
    """Small real training in the simulated schedule: time to accuracy."""
    return _ask_along("learn", {"experiment": experiment, **fields}, base, progress)


def _axis(field, values, base):
    if isinstance(values, (str, bytes)):
        raise InputError(2, f"axes: {field}: expected a list of values or a range as a dict, got a text", "", field)
    if not isinstance(values, dict):
        values = list(values)
        values = _from(_folder(base), field.split(".")[-1], values) if base is not None else values
    return f"{field}={_encode(values)}"


def sweep(sweep, axes=None, *, jobs=None, minimize=None, maximize=None, base=None, progress=None,
          **fields):
    """All combinations of values, as a Table: axes={"cluster.nodes": range(2, 65), "strategy": ["wfbp", "ddp"]}, on
    jobs= threads. With minimize= or maximize= the best of each group instead."""
    if isinstance(axes, dict):
        try:
            axes = [_axis(field, values, base) for field, values in axes.items()]
        except (TypeError, ValueError) as wrong:
            raise InputError(2, f"axes: {wrong}") from None
    fields = {"sweep": sweep, "axis": axes, "threads": jobs, "minimize": minimize, "maximize": maximize,
              **fields}
    has_best = minimize is not None or maximize is not None
    if not has_best:
        fields["as_columns"] = True
    return _ask("sweep", fields, base, progress, as_columns=not has_best, some_may_fail=True)


def tune(file, *, base=None, progress=None, **fields):
    """The best values of an experiment's fields."""
    return _ask("tune", {"file": file, **fields}, base, progress)


def need(experiment=None, *, base=None, progress=None, **fields):
    """The value of a field with which a target is met: need("resnet50_v100", cluster="25gbe_16",
    axis="cluster.nic.bandwidth=1Gbps..100Gbps", target="efficiency=0.9"); model= asks about layouts."""
    return _ask("need", {"experiment": experiment, **fields}, base, progress)


def collective(algorithm="ring", *, base=None, progress=None, **fields):
    """What one collective takes, or with sweep=True a table of them."""
    return _ask("collective", {"algorithm": algorithm, **fields}, base, progress)


def replay(schedule, *, base=None, progress=None, **fields):
    """A GOAL schedule, or the files of a Chakra trace, on a network."""
    return _ask("replay", {"schedule": schedule, **fields}, base, progress)


def traffic(traffic, *, base=None, progress=None, **fields):
    """Plain flows on the wires of a cluster."""
    return _ask("traffic", {"traffic": traffic, **fields}, base, progress)


def jobs(jobs, *, base=None, progress=None, **fields):
    """Jobs that share one cluster, each against being alone on it."""
    return _ask("jobs", {"jobs": jobs, **fields}, base, progress)


def layout(model, *, base=None, progress=None, **fields):
    """The fastest parallel layouts of a model that fit, or what layout= costs."""
    return _ask_along("layout", {"model": model, **fields}, base, progress)


def model_show(model, *, base=None, progress=None, **fields):
    """Parameters and FLOP of a model; with layout= the memory of every stage."""
    return _ask("model_show", {"model": model, **fields}, base, progress)


def model_laws(model=None, *, base=None, progress=None, **fields):
    """What published laws expect of a large training: loss, batches, what a higher loss costs."""
    given = {} if model is None else {"model": model}
    return _ask("model_laws", {**given, **fields}, base, progress)


def goodput(question=None, *, base=None, progress=None, **fields):
    """When a training ends that fails, saves and restarts, and what it costs."""
    return _ask_along("goodput", {"question": question, **fields}, base, progress)


def fit(file, *, base=None, progress=None, **fields):
    """Start-up and time per byte from measured times."""
    return _ask("fit", {"file": file, **fields}, base, progress)


def import_profile(files, *, base=None, progress=None, **fields):
    """Profiles of PyTorch, one per rank, or their folder, as a trace; with as_case=True the recorded step as a case."""
    return _ask("import_profile", {"files": files, **fields}, base, progress)


def diagnose(record, *, base=None, progress=None, **fields):
    """What slows recorded steps: stragglers, stages, links, sequences."""
    return _ask("diagnose", {"record": record, **fields}, base, progress)


def compare(record, experiment, *, base=None, progress=None, **fields):
    """Recorded steps beside an experiment or another record."""
    return _ask("compare", {"record": record, "experiment": experiment, **fields}, base, progress)


def validate(case, *, base=None, progress=None, **fields):
    """Predictions against measured cases."""
    return _ask("validate", {"case": case, **fields}, base, progress)
