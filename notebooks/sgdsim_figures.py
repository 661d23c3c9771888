"""Drawings of the frames of sgdsim_results, in one style; what several notebooks share.

Every drawing takes what it finds: missing keys, one point, a hundred thousand. If there is nothing
to draw, the axes say in one sentence why not.
"""

import matplotlib
import matplotlib.pyplot as plt
import numpy
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

import sgdsim_results
from sgdsim_looks import (activities, algorithms, behind_text, label_of, look, others,  # noqa: F401
                          plain_text, size_text, strategies, suites, time_text)

plt.style.use(sgdsim_results.root / "notebooks/sgdsim.mplstyle")
plt.rcParams["axes.prop_cycle"] = plt.cycler(color=others)
folder = sgdsim_results.results / "notebooks"  # where figures are left


# ---- axes


def log_axis(axis, text=plain_text, ticks=None):
    """A logarithmic axis with these ticks and no others, in words that people say."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    if ticks is not None:
        ticks = sorted(set(ticks))
        axis.set_ticks(ticks[::max(1, len(ticks) // 8)])
    axis.set_major_formatter(FuncFormatter(text))
    axis.set_minor_locator(NullLocator())


def size_axis(axes, label="message size"):
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(base=16, numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(size_text))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def why_not(axes, sentence):
    """In place of a drawing."""
    axes.clear()
    axes.set_axis_off()
    axes.text(0.5, 0.5, sentence, ha="center", va="center", wrap=True, transform=axes.transAxes)
    print(sentence)


def lacks(frame, *columns):
    """Why the frame cannot be drawn over these columns, or nothing."""
    for column in columns:
        if column not in frame or frame[column].isna().all():
            return f"Nothing to draw: no row has {column}."
    if frame.dropna(subset=list(columns)).empty:
        return f"Nothing to draw: no row has all of {', '.join(columns)}."
    return None


most_series = 12


def curves(axes, frame, x, y, by="strategy", looks=strategies, scale=1.0):
    """y over x, a line per value of `by`; True if drawn.

    Where a line has several rows at one x it shows their median, and a band from least to most.
    """
    if sentence := lacks(frame, x, y):
        why_not(axes, sentence)
        return False
    frame = frame.dropna(subset=[x, y])
    groups = frame.groupby(by, sort=False, dropna=False) if by in frame else [("all", frame)]
    if len(groups) > most_series:
        print(f"Drawn: the first {most_series} of {len(groups)} values of {by}.")
    several = 1
    for place, (name, one) in enumerate(groups):
        if place == most_series:
            break
        label, colour, marker, dashes = look(name, looks, place)
        at = one.groupby(x)[y].agg(["median", "min", "max", "size"]).sort_index()
        several = max(several, at["size"].max())
        axes.plot(at.index, at["median"] * scale, color=colour, marker=marker, label=label,
                  dashes=dashes or (None, None), markevery=max(1, len(at) // 12))
        if (at["max"] > at["min"]).any():
            axes.fill_between(at.index, at["min"] * scale, at["max"] * scale, color=colour, alpha=0.15,
                              linewidth=0)
    if several > 1:
        print(f"Lines are medians, bands the range, of up to {several} rows.")
    return True


# ---- maps


def table_of(frame, rows, columns, value):
    """The value over two columns; the median where several rows fall together."""
    return frame.pivot_table(index=rows, columns=columns, values=value, aggfunc="median", sort=True)


def map_axes(axes, table):
    """Names a grid of cells by rows and columns of a table, or some of them where there are many."""
    for axis, names, label, most in [(axes.xaxis, table.columns, table.columns.name, 8),
                                     (axes.yaxis, table.index, table.index.name, 12)]:
        every = max(1, -(-len(names) // most))
        is_size = str(label).endswith("_B")
        axis.set_ticks(range(0, len(names), every),
                       [size_text(name) if is_size else look(name, {})[0] for name in names[::every]])
        axis.set_label_text(label_of(str(label)).removesuffix(" (B)"))
    axes.set(xlim=(-0.5, len(table.columns) - 0.5), ylim=(-0.5, len(table.index) - 0.5))
    axes.grid(False)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


most_cell_texts = 120


def heat_map(axes, frame, rows, columns, shade, printed=None, text=plain_text, vmin=None, vmax=None):
    """A value as colour over rows and columns, and one (the same, if no other is named) printed in
    each cell while there is room; the image, or None."""
    printed = printed or shade
    if sentence := lacks(frame, rows, columns, shade, printed):
        why_not(axes, sentence)
        return None
    frame = frame.dropna(subset=[rows, columns, shade, printed])
    table, shown = (table_of(frame, rows, columns, value) for value in (shade, printed))
    image = axes.imshow(table.to_numpy(float), origin="lower", aspect="auto", vmin=vmin, vmax=vmax)
    map_axes(axes, table)
    if table.size <= most_cell_texts:
        for (r, c), number in numpy.ndenumerate(table.to_numpy(float)):
            if numpy.isfinite(number):
                dark = sum(image.cmap(image.norm(number))[:3]) < 1.5
                axes.text(c, r, text(shown.iat[r, c]), ha="center", va="center", fontsize=7,
                          color="white" if dark else "black")
    return image


def winner_map(axes, best, rows, columns, chosen="strategy", looks=strategies):
    """Who is best in each cell, coloured, with how far behind the next one is, or "= n" where n others are as
    good; True if drawn."""
    if sentence := lacks(best, rows, columns, chosen):
        why_not(axes, sentence)
        return False
    best = best.dropna(subset=[rows, columns, chosen]).drop_duplicates([rows, columns])
    names = list(best[chosen].unique())
    place = {name: number for number, name in enumerate(names)}
    table = best.assign(place=best[chosen].map(place)).pivot(index=rows, columns=columns, values="place")
    colours = [look(name, looks, number)[1] for number, name in enumerate(names)]
    axes.pcolormesh(numpy.arange(len(table.columns) + 1) - 0.5, numpy.arange(len(table.index) + 1) - 0.5,
                    numpy.ma.masked_invalid(table.to_numpy(float)), vmin=-0.5, vmax=len(names) - 0.5,
                    cmap=matplotlib.colors.ListedColormap(colours), edgecolors="white",
                    linewidth=1 if table.size <= most_cell_texts else 0,
                    rasterized=table.size > 2000)
    map_axes(axes, table)
    if table.size <= most_cell_texts and "behind_percent" in best:
        for row in best.itertuples():
            ties = getattr(row, "ties", 0)
            if not ties and row.behind_percent != row.behind_percent:  # nothing else was there
                continue
            colour = look(row._asdict()[chosen], looks)[1]
            bright = sum(matplotlib.colors.to_rgb(colour)) > 1.2
            axes.text(table.columns.get_loc(getattr(row, columns)), table.index.get_loc(getattr(row, rows)),
                      f"= {ties}" if ties else behind_text(row.behind_percent), ha="center", va="center", fontsize=7,
                      color="black" if bright else "white")
    named(axes, [(look(name, looks)[0], look(name, looks, n)[1]) for n, name in enumerate(names)])
    return True


def named(axes, labels, columns=3, below=-0.16):
    """A legend of colours below the axes."""
    axes.legend(handles=[Patch(color=colour, label=label) for label, colour in labels],
                loc="upper center", bbox_to_anchor=(0.5, below), ncol=columns, columnspacing=1.2,
                handlelength=1.2)


# ---- timelines


def from_zero_to(axes, end):
    """Limits that also hold what axes that share them show already."""
    return 0, end if axes.get_autoscalex_on() else max(end, axes.get_xlim()[1])


def joined(slices):
    """Slices of one kind that touch each other, as one."""
    starts = (slices.start_us - slices.end_us.shift()).abs().fillna(1) > 0.001
    runs = slices.groupby(starts.cumsum()).agg({"start_us": "min", "end_us": "max"})
    return runs.assign(duration_us=runs.end_us - runs.start_us)


def lanes(axes, slices, title="", by_layer=True):
    """The lanes of the first worker of a timeline, a box per slice; True if drawn.

    Without `by_layer`, compute is one box where nothing interrupts it.
    """
    if sentence := lacks(slices, "start_us", "duration_us"):
        why_not(axes, sentence)
        return False
    slices = slices[slices.worker == slices.worker.min()]
    names = list(slices.lane.unique())
    span = slices.end_us.max()
    for row, name in enumerate(names):
        for place, (category, some) in enumerate(slices[slices.lane == name].groupby("category", sort=False)):
            label, colour = activities.get(category, (category, others[place % 8]))
            if not by_layer and category != "comm":
                some = joined(some)
            axes.broken_barh(some[["start_us", "duration_us"]].to_numpy() / 1000, (-row - 0.4, 0.8),
                             facecolors=colour, edgecolor="white", linewidth=0.4, label=label,
                             rasterized=len(some) > 2000)
        sent = slices[(slices.lane == name) & (slices.category == "comm")]
        wide = sent[sent.duration_us > 0.025 * span]
        for message in wide.head(100).itertuples():
            axes.text((message.start_us + message.end_us) / 2000, -row,
                      str(message.name).removeprefix("message "), ha="center", va="center", fontsize=7,
                      clip_on=True)
    axes.set_yticks([-row for row in range(len(names))], names)
    axes.set(ylim=(-len(names) + 0.4, 0.6), xlim=from_zero_to(axes, span / 1000), title=title)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    return True


def layers_over_time(axes, slices, title=""):
    """Messages as boxes over the layers that they carry, and when each gradient was ready."""
    backward = slices[(slices.category == "backward")]
    sent = slices[slices.category == "comm"]
    if sentence := lacks(backward, "first_layer", "end_us") or lacks(sent, "first_layer", "start_us"):
        why_not(axes, sentence)
        return False
    boxes = [Rectangle((m.start_us / 1000, m.first_layer - 0.5), m.duration_us / 1000,
                       m.last_layer - m.first_layer + 1) for m in sent.itertuples()]
    axes.add_collection(matplotlib.collections.PatchCollection(
        boxes, facecolor=activities["comm"][1], edgecolor="white", linewidth=0.5,
        rasterized=len(boxes) > 2000))
    axes.plot(backward.end_us / 1000, backward.first_layer, ".", color=activities["backward"][1],
              markersize=3, rasterized=len(backward) > 2000)
    axes.set(xlim=from_zero_to(axes, slices.end_us.max() / 1000), ylim=(-1, slices.last_layer.max() + 1), title=title)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    return True


# ---- breakdowns


_parts = {  # column: label, colour, hatch
    "forward_us": ("forward", "#009E73", ""),
    "backward_us": ("backward", "#56B4E9", ""),
    "update_us": ("update", "#CC79A7", ""),
    "transfer_us": ("exposed: transfer", "#E69F00", ""),
    "wait_us": ("exposed: waiting for others", "#F0E442", "///"),
    "rest_us": ("exposed: idle", "#BBBBBB", ""),
}


def parts_of(frame):
    """The parts that add up to an iteration; exposed communication is split into transfers that no
    compute hides, idle time, and what remains, waiting for others."""
    parts = frame[["forward_us", "backward_us", "update_us"]].fillna(0)
    exposed = frame.comm_exposed_us.fillna(0)
    transfer = (frame.comm_total_us - frame.comm_overlapped_us).fillna(exposed).clip(0, exposed)
    idle = frame.idle_us.fillna(0).clip(0, exposed - transfer)
    return parts.assign(transfer_us=transfer, wait_us=exposed - transfer - idle, rest_us=idle)


most_bars = 40


def breakdown(axes, frame, names):
    """A bar per row from its parts, with the time of the iteration beside it; True if drawn."""
    known = frame.forward_us.notna() | frame.backward_us.notna() | frame.comm_exposed_us.notna()
    if not known.any():
        why_not(axes, "Nothing to draw: no row says where its time went.")
        return False
    frame, names = frame[known], numpy.asarray(names, dtype=object)[known]
    if len(frame) > most_bars:
        print(f"Drawn: the first {most_bars} of {len(frame)} rows.")
        frame, names = frame.head(most_bars), names[:most_bars]
    parts, place = parts_of(frame) / 1000, numpy.arange(len(frame))
    end = numpy.zeros(len(frame))
    for column, (label, colour, hatch) in _parts.items():
        if parts[column].sum() > 0:
            axes.barh(place, parts[column], left=end, height=0.72, color=colour, hatch=hatch, label=label,
                      edgecolor="white", linewidth=0.4)
        end = end + parts[column].to_numpy()
    if "iteration_us" in frame:
        for row, (time_us, right) in enumerate(zip(frame.iteration_us, end)):
            if numpy.isfinite(time_us):
                axes.text(right, row, f" {time_us / 1000:.1f}", va="center", fontsize=7.5)
    axes.set_yticks(place, names)
    axes.set(ylim=(len(frame) - 0.4, -0.6), xlim=(0, 1.12 * end.max()), xlabel="time (ms)")
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    return True


# ---- links


def use_over_time(axes, links):
    """How much of each link is in use, as stairs; a line for all that are used alike. True if drawn."""
    if sentence := lacks(links, "start_us", "interval_us", "used_percent"):
        why_not(axes, sentence)
        return False
    alike = {}
    for name, one in links.dropna(subset=["start_us", "used_percent"]).groupby("link", sort=False):
        alike.setdefault(tuple(one.used_percent.round(6)), []).append(name)
    interval_ms = links.interval_us.max() / 1000
    if len(alike) > most_series:
        print(f"Drawn: the first {most_series} of {len(alike)} kinds of use.")
    for place, (used, names) in enumerate(list(alike.items())[:most_series]):
        _, colour, _, _ = look("", {}, place)
        label = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} alike"
        axes.stairs(used, numpy.arange(len(used) + 1) * interval_ms, baseline=None, color=colour,
                    linewidth=1.2, label=label)
    axes.set(xlabel="time (ms)", ylabel="in use (%)", ylim=(0, 105))
    axes.set_xlim(left=0)
    return True


# ---- predictions


def predicted_over_measured(axes, rows, by="suite", looks=suites, band_percent=10):
    """A point per row, hollow if it is not held; a band on both sides of the diagonal."""
    if sentence := lacks(rows, "measured_us", "predicted_us"):
        why_not(axes, sentence)
        return False
    rows = rows.dropna(subset=["measured_us", "predicted_us"])
    low, high = rows.measured_us.min() / 2e3, rows.measured_us.max() * 2 / 1e3
    off = band_percent / 100
    axes.fill_between([low, high], [low * (1 - off), high * (1 - off)], [low * (1 + off), high * (1 + off)],
                      color="#dddddd", linewidth=0, label=f"within {band_percent} %")
    axes.plot([low, high], [low, high], color="#888888", linewidth=0.8)
    for place, (name, some) in enumerate(rows.groupby(by, sort=False)):
        label, colour, marker, _ = look(name, looks, place)
        for held, part in some.groupby(some.use == "held", sort=False):
            axes.plot(part.measured_us / 1000, part.predicted_us / 1000, marker, color=colour, markersize=3.5,
                      markerfacecolor=colour if held else "none", linestyle="none", alpha=0.7,
                      label=label, rasterized=len(part) > 2000)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), xlabel="measured (ms)",
             ylabel="predicted (ms)", aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(plain_text))
        axis.set_minor_locator(NullLocator())
    handles = {handle.get_label(): handle for handle in axes.get_legend_handles_labels()[0]}
    if (rows.use != "held").any():
        handles["not held"] = matplotlib.lines.Line2D([], [], marker="o", color="#555555", linestyle="none",
                                                      markerfacecolor="none", label="hollow: not held")
    axes.legend(handles=handles.values(), loc="upper left", fontsize=7.5, handletextpad=0.3, borderaxespad=0)
    return True


def error_by_size(axes, rows, by="operation", looks=suites):
    """The error of each row against the size of its message, hollow if it is not held; True if drawn."""
    if sentence := lacks(rows, "size_B", "error_percent"):
        why_not(axes, sentence)
        return False
    rows = rows.dropna(subset=["size_B", "error_percent"])
    axes.axhline(0, color="#888888", linewidth=0.8)
    for place, (name, some) in enumerate(rows.groupby(by, sort=False)):
        label, colour, marker, _ = look(name, looks, place)
        for held, part in some.groupby(some.use == "held", sort=False):
            axes.plot(part.size_B, part.error_percent, marker, color=colour, markersize=3.5,
                      markerfacecolor=colour if held else "none", linestyle="none", alpha=0.7,
                      label=label if held else "_", rasterized=len(part) > 2000)
    axes.set(xscale="log", xlabel="message (bytes)", ylabel="predicted / measured - 1 (%)")
    axes.set_yscale("symlog", linthresh=5)  # straight up to 5 %: a few rows are hundreds of per cent off
    axes.yaxis.set_major_formatter(FuncFormatter(plain_text))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7.5, ncols=2)
    return True


most_table_rows = 24


def error_table(axes, errors):
    """The errors of held rows, as `sgdsim validate` gives them; True if drawn."""
    if sentence := lacks(errors, "median_percent"):
        why_not(axes, sentence)
        return False
    held = errors[(errors.use == "held") & (errors.rows > 0)].dropna(subset=["median_percent"])
    if held.empty:
        why_not(axes, "No row is held to a tolerance.")
        return False
    axes.set_axis_off()
    if len(held) > most_table_rows:  # too many labels: the suites as a whole
        held = held[held.label == "all held"].head(most_table_rows)
    texts = [[row.label if row.label != "all held" else f"all of {row.suite}", f"{row.rows:.0f}",
              f"{row.median_percent:.2f}", f"{row.p90_percent:.2f}", f"{row.max_percent:.2f}"]
             for row in held.itertuples()]
    table = axes.table(texts, colLabels=["held rows", "rows", "median %", "p90 %", "max %"],
                       colWidths=[0.5, 0.1, 0.14, 0.13, 0.13], cellLoc="right", loc="upper center",
                       edges="horizontal")
    table.auto_set_font_size(False)
    table.set_fontsize(7.5)
    for (row, column), cell in table.get_celld().items():
        cell.set(edgecolor="#cccccc", height=1 / (len(texts) + 1.5))
        if column == 0:
            cell.set_text_props(ha="left")
        if row == 0 or texts[row - 1][0].startswith("all of"):
            cell.set_text_props(weight="bold")
    return True


# ---- fits


def fit(axes, residuals, points, pieces, label, place=0):
    """Measured times over size with the lines fitted to them, and below what they leave over."""
    if sentence := lacks(points, "size_B", "time_us") or lacks(pieces, "from_B", "alpha_us", "beta_ps_per_B"):
        why_not(axes, sentence)
        why_not(residuals, sentence)
        return False
    points = points.dropna(subset=["size_B", "time_us"]).sort_values("size_B")
    pieces = pieces.dropna(subset=["from_B", "alpha_us", "beta_ps_per_B"]).sort_values("from_B")
    rules = numpy.maximum(numpy.searchsorted(pieces.from_B, points.size_B, side="right") - 1, 0)
    line_us = pieces.alpha_us.to_numpy()[rules] + pieces.beta_ps_per_B.to_numpy()[rules] * points.size_B / 1e6
    name, colour, marker, _ = look(label, {}, place)
    axes.plot(points.size_B, points.time_us / 1000, marker, color=colour, markerfacecolor="none", label=name)
    axes.plot(points.size_B, line_us / 1000, color=colour, linewidth=0.9)
    inside = points.size_B >= pieces.fitted_from_B.fillna(0).min()
    residuals.axhline(0, color="#888888", linewidth=0.8)
    for part, face in ((inside, colour), (~inside, "none")):
        residuals.plot(points.size_B[part], 100 * (line_us / points.time_us - 1)[part], marker, color=colour,
                       markerfacecolor=face)
    log_axis(axes.yaxis)
    for part in (axes, residuals):
        size_axis(part)
    axes.set_xlabel("")
    return True


# ---- keeping


def save(figure, name, about=""):
    """NAME.svg and NAME.pdf for papers, NAME.png to look at; the same bytes on every run. `about` says below
    the figure which model and cluster it shows."""
    folder.mkdir(parents=True, exist_ok=True)
    if about:
        figure.supxlabel(about, x=0.01, ha="left", fontsize=8, color="#555555")
    for ending, metadata in {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}.items():
        figure.savefig(folder / f"{name}.{ending}", metadata=metadata)
