"""The pictures: published points on top of our curves, as SVG in the colours of the report.

Hollow markers are published, filled ones published and fitted on; lines and bars are what sgdsim says.
"""

import io
import math
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: E402

import claims  # noqa: E402

plt.style.use(claims.root / "notebooks/sgdsim.mplstyle")
# As web/common/theme.css has them, so that the page can put its own in their place.
series = ["#0072b2", "#d57f00", "#009e73", "#d55e00", "#b5598c", "#3a9bd9", "#9a8a00", "#6b7280"]
order = [1, 3, 4, 5, 8]  # of curves that choose none: told apart best
names = {colour: f"--series-{place + 1}" for place, colour in enumerate(series)}
text_colour, line_colour, card_colour = "#16191d", "#dfe3e7", "#ffffff"
names |= {text_colour: "--text", line_colour: "--line", card_colour: "--card"}
plt.rcParams.update({"text.color": text_colour, "axes.labelcolor": text_colour, "xtick.color": text_colour,
                     "ytick.color": text_colour, "axes.edgecolor": text_colour, "grid.color": line_colour,
                     "axes.titleweight": "bold", "axes.titlesize": 9, "figure.facecolor": card_colour,
                     "axes.facecolor": card_colour, "savefig.facecolor": card_colour})


# ---- what a curve shows


def ours_of(curve, names_here):
    """x and y of our curve."""
    if "run" not in curve:
        return claims.value(curve["x"], names_here), claims.value(curve["y"], names_here)
    points = [point for point in names_here[curve["run"]] if claims.is_at(point, curve["where"])]
    pairs = [(point["axes"][curve["x"]], claims.value(curve["y"], names_here | {"point": point})) for point in points]
    return [x for x, _ in pairs], [y for _, y in pairs]


def published_of(paper, curve, names_here):
    """The published points of a curve, as (x, y); a curve may show a part of a series, or in another unit."""
    if "figure" not in curve:
        return []
    points = paper.series(curve["figure"], curve["series"])
    return claims.value(curve.get("published", "published"), names_here | {"published": points})


# ---- axes


def tick(number, _=None):
    return f"{number:,.0f}" if abs(number) >= 10 else f"{number:g}"


def scale(axis, spec, found):
    """Ticks at the values that are there, where they are few; logarithmic ones at 1, 2 and 5."""
    axis.axes.set(**{f"{axis.axis_name}label": spec.get("label", "")})
    base, few = spec.get("log"), sorted(set(found)) if len(set(found)) <= 8 else []
    if base:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
        span = math.log10(max(found) / min(found))
        axis.set_major_locator(LogLocator(16) if base == 2 and span > 4 else LogLocator(10, (1, 2, 5) if span < 2.5 else (1,)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(power if base == 2 and max(found) >= 1e5 else tick))
    if few and axis.axis_name == "x" and (base == 2 or not base and all(value == int(value) for value in few)):
        axis.set_ticks(few)
    if "from" in spec:
        axis.axes.set(**{f"{axis.axis_name}lim": (spec["from"], None)})


def power(number, _=None):
    for unit, size in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:g}"


# ---- panels


def draw_curve(axes, curve, colour, ours, published):
    dashes = (4, 2) if curve.get("dashed") else (None, None)
    if "marker" in curve:
        axes.plot(*ours, linestyle="", marker=curve["marker"], color=colour, markersize=6)
    else:
        axes.plot(*ours, color=colour, dashes=dashes)
    size = 2 if curve.get("small") else 5
    for x, y in published:
        is_fitted = x in curve.get("fitted", [])
        axes.plot([x], [y], linestyle="", marker="o", markersize=size, markeredgecolor=colour,
                  markeredgewidth=0.5 if curve.get("small") else 1.2, color=colour if is_fitted else card_colour)


def draw_curves(axes, panel, curves):
    xs, ys = [], []
    for curve, colour, ours, published in curves:
        if "bound" in curve:
            axes.axhline(curve["bound"], color=text_colour, linewidth=1, dashes=(1, 2))
            axes.annotate(curve["label"], (1, curve["bound"]), xycoords=("axes fraction", "data"), ha="right",
                          va="bottom", fontsize=8)
            ys.append(curve["bound"])
            continue
        draw_curve(axes, curve, colour, ours, published)
        xs += list(ours[0]) + [x for x, _ in published]
        ys += list(ours[1]) + [y for _, y in published]
    for axis, spec, found in ((axes.xaxis, panel["x"], xs), (axes.yaxis, panel["y"], ys)):
        scale(axis, spec, [value for value in found if not isinstance(value, str)] or [0])


def draw_bars(axes, panel, curves):
    """Groups of bars by name, one bar of a group for each curve; a published one is hollow."""
    many = len(curves)
    for place, (curve, colour, ours, published) in enumerate(curves):
        pairs = published or list(zip(*ours))
        at = [group + (place - (many - 1) / 2) * 0.8 / many for group in range(len(pairs))]
        axes.bar(at, [y for _, y in pairs], 0.72 / many, edgecolor=colour, linewidth=1.2,
                 facecolor=card_colour if curve["label"] == "published" else colour)
        axes.set_xticks(range(len(pairs)), [x for x, _ in pairs])
    axes.grid(axis="x", visible=False)
    axes.set_ylabel(panel["y"]["label"])
    if panel["y"].get("log"):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(tick))
        axes.yaxis.set_minor_locator(NullLocator())


def colour_of(curve, place):
    return series[curve.get("colour", order[place % len(order)]) - 1]


def handle_of(curve, colour, is_bar):
    if is_bar:
        return Patch(edgecolor=colour, facecolor=card_colour if curve["label"] == "published" else colour)
    return Line2D([], [], color=colour, dashes=(4, 2) if curve.get("dashed") else (None, None))


def named(figure, panels):
    """One legend below all panels."""
    found, shows_published, shows_fitted = {}, False, False
    for panel, curves in panels:
        is_bars = panel.get("kind") == "bars"
        for curve, colour, _, published in curves:
            shows_published |= bool(published) and not is_bars
            shows_fitted |= any(x in curve.get("fitted", []) for x, _ in published)
            if curve["label"] and "bound" not in curve:
                found.setdefault(curve["label"], handle_of(curve, colour, is_bars))
    handles = dict(found)
    marker = {"linestyle": "", "marker": "o", "markersize": 5, "markeredgewidth": 1.2, "markeredgecolor": text_colour}
    if shows_published:
        handles["published"] = Line2D([], [], color=card_colour, **marker)
    if shows_fitted:
        handles["published, fitted on"] = Line2D([], [], color=text_colour, **marker)
    figure.legend(handles.values(), handles.keys(), loc="upper center", bbox_to_anchor=(0.5, 0), ncol=4, fontsize=8.5)


# ---- figures


def figure_of(paper, answers, spec):
    """A figure, drawn; notebooks/papers.ipynb shows it as it is."""
    names_here = claims.claim_names(paper, spec, answers)
    panels = []
    for panel in spec["panels"]:
        curves = []
        for place, curve in enumerate(panel["curves"]):
            ours = ([], []) if "bound" in curve else ours_of(curve, names_here)
            curves.append((curve, colour_of(curve, place), ours, published_of(paper, curve, names_here)))
        panels.append((panel, curves))
    columns = spec.get("columns", len(panels))
    rows = -(-len(panels) // columns)
    width = 5.2 if columns == 1 else 3.6 * columns
    figure, grid = plt.subplots(rows, columns, figsize=(width, 2.7 * rows + 0.4), squeeze=False)
    for axes, (panel, curves) in zip(grid.flat, panels):
        (draw_bars if panel.get("kind") == "bars" else draw_curves)(axes, panel, curves)
        axes.set_title(panel.get("title", ""))
    named(figure, panels)
    return figure


def draw(judged, spec):
    """The SVG of a figure, as text."""
    figure = figure_of(judged.paper, judged.answers, spec)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()


def for_page(svg, label):
    """The same inside the page, in the colours of its light or dark set."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    for colour, name in names.items():
        svg = svg.replace(colour, f"var({name})")
    # Ids are those of one picture; the page holds many.
    prefix = re.sub(r"\W", "", label)[:24]
    svg = re.sub(r'(\bid="|href="#|url\(#)', lambda found: found.group(0) + prefix, svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
