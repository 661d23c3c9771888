"""How answers look in a notebook: a table, and a small picture beside it."""

import html

from .answers import rows_of

_colours = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000")
_most_rows = 10
_most_bars = 20


def _text(value):
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _grid(names, rows):
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_text(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def bars(labelled, unit=""):
    """Values beside their names, as SVG."""
    most = max((value for _, value in labelled), default=0)
    if most <= 0:
        return ""
    lines = []
    for i, (label, value) in enumerate(labelled[:_most_bars]):
        y = 18 * i
        lines.append(f'<text x="155" y="{y + 12}" text-anchor="end">{html.escape(str(label)[:26])}</text>'
                     f'<rect x="160" y="{y + 2}" width="{max(0, value) / most * 220:.1f}" height="13" fill="{_colours[0]}"/>'
                     f'<text x="{165 + max(0, value) / most * 220:.1f}" y="{y + 12}">{value:.4g} {html.escape(unit)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="480" height="{18 * len(lines) + 4}" '
            f'font-family="sans-serif" font-size="11" fill="currentColor">{"".join(lines)}</svg>')


def lines(series, x_name, y_name):
    """{name: [(x, y), ...]} as SVG; both from 0."""
    points = [point for one in series.values() for point in one]
    right, top = (max((point[i] for point in points), default=0) for i in (0, 1))
    if right <= 0 or top <= 0:
        return ""
    drawn = []
    for i, (name, one) in enumerate(list(series.items())[:len(_colours)]):
        path = " ".join(f"{40 + x / right * 300:.1f},{150 - y / top * 140:.1f}" for x, y in sorted(one))
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{_colours[i]}" stroke-width="1.5"/>'
                     f'<text x="350" y="{16 + 15 * i}" fill="{_colours[i]}">{html.escape(name[:34])}</text>')
    return ('<svg xmlns="http://www.w3.org/2000/svg" width="560" height="175" font-family="sans-serif" font-size="11" '
            'fill="currentColor"><path d="M40 10V150H340" fill="none" stroke="currentColor"/>'
            f'<text x="36" y="16" text-anchor="end">{top:.3g}</text><text x="340" y="165" text-anchor="end">{right:.4g} '
            f'{html.escape(x_name)}</text><text x="44" y="10">{html.escape(y_name)}</text>{"".join(drawn)}</svg>')


def _leaves(value, name=""):
    for key, one in dict.items(value):
        path = f"{name}.{key}" if name else key
        if isinstance(one, dict):
            yield from _leaves(one, path)
        elif not isinstance(one, list):
            yield path, one


def _times(rows):
    """Of each row its first time: what is drawn."""
    for row in rows:
        leaves = list(_leaves(row))
        time = next(((path, value) for path, value in leaves
                     if path.split(".")[-1].endswith("_us") and isinstance(value, (int, float))), None)
        if time:
            yield next((str(value) for _, value in leaves if isinstance(value, str)), ""), time[1]


def answer_html(answer):
    rows = rows_of(answer)
    if rows[0] is answer:
        metrics = dict.get(answer, "metrics", {})
        parts = [(name[:-3], metrics[name]) for name in ("forward_us", "backward_us", "update_us", "compression_us",
                                                         "comm_exposed_us") if metrics.get(name)]
        return _grid(("", ""), [leaf for leaf in _leaves(answer) if not leaf[0].startswith("inputs.")]) + bars(parts, "us")
    names = [name for name, _ in _leaves(rows[0])]
    shown = [[dict(_leaves(row)).get(name) for name in names] for row in rows[:_most_rows]]
    more = f"<p>{len(rows) - _most_rows} more rows</p>" if len(rows) > _most_rows else ""
    return _grid(names, shown) + more + bars(list(_times(rows)), "us")


def table_html(table):
    axes = [name for name in table.columns if name.startswith("axes.")]
    figures = [name for name in ("metrics.iteration_us.mean", "metrics.comm_exposed_us", "metrics.speedup", "error")
               if name in table]
    names = axes + figures
    lists = [table.column(name).to_list() for name in names]
    text = _grid([name[len("axes."):] if name.startswith("axes.") else name for name in names],
                 list(zip(*(one[:_most_rows] for one in lists))))
    if len(table) > _most_rows:
        text += f"<p>{len(table)} points, {len(table.columns)} columns</p>"
    times = "metrics.iteration_us.mean"
    number = next((i for i, values in enumerate(lists[:len(axes)])
                   if len(values) > 1 and all(isinstance(value, (int, float)) for value in values)), None)
    if times not in figures or number is None:
        return text
    series = {}
    y = lists[names.index(times)]
    for row, time in enumerate(y):
        if time is not None:
            name = ", ".join(_text(lists[i][row]) for i in range(len(axes)) if i != number)
            series.setdefault(name, []).append((lists[number][row], time))
    return text + lines(series, axes[number][len("axes."):], times)
