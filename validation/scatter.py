"""Predicted against measured times of a suite, as SVG: both axes logarithmic and alike, with a band of 10 %."""

import math

import pages
from pages import escaped

width, height = 500, 430
left, right, top, bottom = 76, 28, 10, 48
side = width - left - right
band_percent = 10
shapes = {"held": "held", "fitted": "fitted", "reported": "reported", "below range": "below"}  # classes of the style
style = """
.plot-card { max-width: 30rem; margin: 0; }
.plot-card svg { width: 100%; height: auto; display: block; }
.plot-card text { fill: var(--muted); font-size: 11.5px; }
.plot-card .grid { stroke: var(--line); fill: none; }
.plot-card .equal { stroke: var(--line-strong); fill: none; }
.plot-card .band { fill: var(--accent-soft); print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.plot-card .held { fill: var(--accent); stroke: var(--card); stroke-width: 0.5px; }
.plot-card .fitted { fill: none; stroke: var(--accent); stroke-width: 1.3px; }
.plot-card .reported { fill: none; stroke: var(--bad); stroke-width: 1.3px; }
.plot-card .below { fill: var(--line-strong); }
.marks { display: flex; flex-wrap: wrap; gap: 0.1rem 1rem; margin: 0.3rem 0 0; padding: 0; list-style: none; font-size: 0.82rem;
  color: var(--muted); }
.plot-card .marks svg { display: inline-block; width: 0.9rem; height: 0.9rem; vertical-align: -0.15rem; margin-right: 0.25rem; }
"""


def time_text(microseconds):
    """Four digits, with the unit that leaves one to three of them before the point."""
    unit, factor = next(((unit, factor) for unit, factor in (("s", 1e6), ("ms", 1e3), ("us", 1), ("ns", 1e-3))
                         if microseconds >= factor), ("ns", 1e-3))
    return f"{microseconds / factor:.4g} {unit}" if microseconds < 1e9 else f"{microseconds / 1e6:,.0f} s"


def ticks(low, high):
    """As many round times as fit, eight at most: from tenths of a decade's first digit to some of the decades."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for tenths in (range(10, 100), range(10, 100, 5), range(10, 100, 10), (10, 20, 50), (10,)):
        found = [tenth * 10.0 ** (decade - 1) for decade in decades for tenth in tenths]
        found = [time for time in found if low <= time <= high]
        if len(found) <= 8:
            return found
    return found[:: math.ceil(len(found) / 8)]


class Scale:
    """Both axes: from the smallest to the largest time, with some room around."""

    def __init__(self, times):
        room = max(1.12, (max(times) / min(times)) ** 0.05)
        self.low, self.high = min(times) / room, max(times) * room

    def part(self, time):
        """0 to 1; what lies outside stays on the edge."""
        return min(1, max(0, math.log(time / self.low) / math.log(self.high / self.low)))

    def x(self, time):
        return round(left + side * self.part(time), 1)

    def y(self, time):
        return round(height - bottom - (height - top - bottom) * self.part(time), 1)


def grid(scale):
    lines, x_axis, y_axis = [], height - bottom, left
    middle = (top + x_axis) / 2
    for time in ticks(scale.low, scale.high):
        x, y, text = scale.x(time), scale.y(time), time_text(time)
        lines.append(f'<path class="grid" d="M{x} {top}V{x_axis}M{y_axis} {y}H{width - right}"/>'
                     f'<text x="{x}" y="{x_axis + 16}" text-anchor="middle">{text}</text>'
                     f'<text x="{y_axis - 6}" y="{y + 4}" text-anchor="end">{text}</text>')
    return "".join(lines) + (f'<text x="{left + side / 2}" y="{height - 8}" text-anchor="middle">measured</text>'
                             f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})">predicted</text>')


def band(scale):
    """Cut at the edges of the picture: a corner of the band is where its line meets the edge."""
    more, less = 1 + band_percent / 100, 1 - band_percent / 100
    low, high = scale.low, scale.high
    corners = [(low, low), (low, low * more), (high / more, high), (high, high), (high, high * less), (low / less, low)]
    points = " ".join(f"{scale.x(measured)},{scale.y(predicted)}" for measured, predicted in corners)
    return (f'<polygon class="band" points="{points}"/>'
            f'<path class="equal" d="M{scale.x(low)} {scale.y(low)}L{scale.x(high)} {scale.y(high)}"/>')


def mark(use, x, y, title=""):
    if use == "reported":
        return f'<path class="reported" d="M{x - 2.5:g} {y - 2.5:g}l5 5m0 -5l-5 5">{title}</path>'
    return f'<circle class="{shapes[use]}" cx="{x}" cy="{y}" r="{2 if use == "below range" else 2.6}">{title}</circle>'


def marks(rows, scale, short):
    """Held rows last, on top. Equal marks are drawn once. Those outside the band say what they are."""
    found = []
    for use in reversed(shapes):
        for row in rows:
            if row.use == use:
                is_off = use != "below range" and abs(row.error) > band_percent
                title = f"<title>{escaped(short(row.label))}: {row.error:+.1f} %</title>" if is_off else ""
                found.append(mark(use, scale.x(row.measured), scale.y(row.predicted), title))
    return "".join(dict.fromkeys(found))


def legend(rows):
    uses = [row.use for row in rows]
    items = "".join(f'<li><svg viewBox="0 0 12 12" aria-hidden="true">{mark(use, 6, 6)}</svg>{use}: {uses.count(use)}</li>'
                    for use in shapes if use in uses)
    return f'<ul class="marks">{items}<li>shaded: within {band_percent} %</li></ul>'


def drawn(name, rows, id, short):
    """A figure; times that are not above 0 have no place on it."""
    rows = [row for row in rows if row.measured > 0 and row.predicted > 0]
    if not rows:
        return ""
    scale = Scale([time for row in rows for time in (row.measured, row.predicted)])
    inside = sum(abs(row.error) <= band_percent for row in rows)
    return pages.Html(
        f'<figure class="plot-card"><svg viewBox="0 0 {width} {height}" role="img" aria-labelledby="{id}-title {id}-text">'
        f'<title id="{id}-title">Predicted against measured times of {escaped(short(name))}</title>'
        f'<desc id="{id}-text">{len(rows)} rows from {time_text(min(row.measured for row in rows))} to '
        f"{time_text(max(row.measured for row in rows))} measured; {inside} are predicted within {band_percent} %.</desc>"
        f"{band(scale)}{grid(scale)}{marks(rows, scale, short)}</svg>{legend(rows)}</figure>")
