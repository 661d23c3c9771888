"""The page: one HTML file with the table of all, and a section for each suite with its picture and rows."""

import judged
import pages
import scatter
from pages import Html, escaped

longest = 160  # characters of a name or label; longer ones end with three dots
most_beyond = 25
_style = """
.class { margin: 1rem 0 0; }
.suite-head { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); gap: 0.5rem 2rem; align-items: start; }
.suite > p.lead { font-size: 0.95rem; }
.suite > h3, .suite-head + h3 { margin-top: 1rem; }
.facts { margin: 0.4rem 0; }
.facts dt { color: var(--muted); font-size: 0.8rem; font-weight: 600; margin-top: 0.5rem; }
.facts dd, .facts p { margin: 0 0 0.3rem; font-size: 0.9rem; max-width: 75ch; }
.all td:first-child, .by-suite td:first-child { min-width: 11rem; }
.all th, .by-suite th { white-space: normal; vertical-align: bottom; }
.part { color: var(--muted); padding-left: 0.8rem; display: block; margin: 0; }
.labels { width: auto; min-width: min(100%, 44rem); }
.rows { max-height: 34rem; overflow: auto; }
.points .what { display: block; min-width: 14rem; overflow-wrap: anywhere; }
.reasons { margin: 0.4rem 0; padding-left: 1.6rem; font-size: 0.9rem; max-width: 75ch; }
""" + scatter.style + """
@media (max-width: 900px) { .suite-head { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 620px) {
  .plot-card text { font-size: 13.5px; }
  .all td:first-child, .by-suite td:first-child { min-width: 8rem; }
}
@media print {
  .suite.card { break-inside: auto; border: 0; padding: 0; }
  .suite-head { display: block; }
  .plot-card { width: 9cm; }
  .plot-card, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .points .what { min-width: 0; }
  th, td { padding: 2pt 4pt; }
  th { font-size: 6.5pt; }
  th.figure, td.figure { overflow-wrap: normal; }
  .points .figure, .labels .figure { white-space: nowrap; }
  .all td:first-child, .by-suite td:first-child { min-width: 0; }
  .class { margin-bottom: 0.4rem; }
  pre.command { max-height: none; }
}
"""
_summary = """<section class="card" id="summary"><h1>What sgdsim is validated against</h1>
<p>{files} case files with {rows} measured times, of which {held} are held: predicted, and judged by a tolerance. Parameters were
fitted on the fitted rows, so that their errors prove nothing; reported rows are shown with the reason why they are not judged; rows below
range are smaller than the sizes for which parameters are meant. Errors of the table are those of held rows.</p>
{table}
<p class="small muted">An error is predicted / measured - 1. Median, 90th percentile (p90) and largest error are of absolute values; the
signed median is above 0 where predictions are too long. A tolerance bounds the median and the 90th percentile of a suite, and what its section
says besides.</p></section>
<section class="card" id="suites"><h2>Suite by suite</h2><p class="small">Cases of one suite are judged together.</p>{suites}</section>"""


def short(text):
    return text if len(text) <= longest else text[:longest] + "..."


# ---- the tables of all


def shown(cells):
    """A line of the table, with a sign for the last cell, and parts of a class moved in."""
    name, *figures, met = cells
    if isinstance(name, str) and name.startswith("of these, "):
        name = Html(f'<span class="part">{escaped(name)}</span>')
    if met == "-":
        return [name, *figures, met]
    return [name, *figures, Html(f'<span class="chip {"good" if met == "yes" else "bad"}">{escaped(short(met))}</span>')]


def class_table(suites):
    return pages.table(judged.heads, map(shown, judged.class_lines(suites)), "all")


def suite_table(suites, ids):
    rows = [shown([Html(f'<a href="#{ids[suite.name]}">{escaped(short(suite.name))}</a>'),
                   *judged.line("", [suite])[1:-1], "no" if suite.breaches else "yes"])
            for _, members in judged.by_class(suites) for suite in members]
    return pages.table(["suite", *judged.heads[1:]], rows, "by-suite")


# ---- a suite


def stated(suite, field):
    """What the files say in a field of their source; where they differ, each with its cases."""
    names = {}
    for content in suite.contents:
        names.setdefault(content["source"].get(field, ""), []).append(content["name"])
    names.pop("", None)
    if len(names) == 1:
        return escaped(next(iter(names)))
    return "".join(f'<p>{escaped(text)} <span class="muted">({escaped(short(", ".join(cases)))})</span></p>'
                   for text, cases in names.items())


def tolerance_text(tolerance):
    bounds = [("median_percent", "median"), ("p90_percent", "90th percentile"), ("per_algorithm_median_percent", "median of each label"),
              ("max_percent", "largest error")]
    from_size = f", from {judged.size_text(tolerance['from_size_B'])} on" if tolerance["from_size_B"] else ""
    return ", ".join(f"{name} {tolerance[bound]:g} %" for bound, name in bounds if bound in tolerance) + from_size


def facts(suite):
    found = [("Measured", stated(suite, "measured")), ("Source", stated(suite, "origin")), ("When", stated(suite, "date")),
             ("Fitted", stated(suite, "fitted")), ("Tolerance", escaped(tolerance_text(suite.found["tolerance"]))),
             ("Command", f'<pre class="command">{escaped(suite.command())}</pre>')]
    return '<dl class="facts">' + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in found if text) + "</dl>"


def label_table(suite):
    lines = [[short(label["label"]), label["use"], str(label["rows"]), *judged.error_cells(label)] for label in suite.found["labels"]]
    heads = ["label", "use", "rows>", *judged.heads[5:9]]
    return pages.table(heads, sorted(lines, key=lambda cells: judged.uses.index(cells[1])), "labels")


class Points:
    """Tables of the rows of a suite, worst first, and the reasons that are stated, each once, by its number."""

    def __init__(self, suite):
        self.suite = suite
        self.rows = sorted(suite.rows, key=lambda row: -abs(row.error))
        self.reasons = list(dict.fromkeys(row.reason for row in self.rows if row.reason))

    def table(self, rows, no_reason):
        """With the case only where there are several."""
        heads = ["case", "label", "what ran", "measured>", "predicted>", "error %>", "use", "reason"]
        lines = [[short(row.case), short(row.label), Html(f'<span class="what">{escaped(short(row.point()))}</span>'),
                  scatter.time_text(row.measured), scatter.time_text(row.predicted), judged.signed_text(row.error), row.use,
                  f"({self.reasons.index(row.reason) + 1})" if row.reason else no_reason] for row in rows]
        first = 0 if len(self.suite.files) > 1 else 1
        return pages.table(heads[first:], [cells[first:] for cells in lines], "points")

    def beyond(self):
        """Held rows that are further off than nine of ten may be."""
        found = [row for row in self.rows if row.is_beyond]
        if not found:
            return ""
        bound, held = self.suite.found["tolerance"]["p90_percent"], self.suite.found["held"]["rows"]
        more = f'<p class="small muted">and {len(found) - most_beyond} more: see all rows</p>' if len(found) > most_beyond else ""
        return (f"<h3>Beyond {bound:g} %: {len(found)} of {held} held rows</h3><p class=\"small\">One of ten may be.</p>"
                f"{self.table(found[:most_beyond], 'none is stated')}{more}")

    def stated_reasons(self):
        if not self.reasons:
            return ""
        return ('<h3>Reasons that the files or the documentation state</h3><ol class="reasons">'
                + "".join(f"<li>{escaped(reason)}</li>" for reason in self.reasons) + "</ol>")

    def all(self):
        return (f"<details><summary>All {len(self.rows)} rows, worst first</summary>"
                f'<div class="rows">{self.table(self.rows, "")}</div></details>')


def section(suite, id):
    points = Points(suite)
    about = "".join(f'<p class="lead">{escaped(text)}</p>' for text in dict.fromkeys(one["description"] for one in suite.contents))
    breaches = "".join(f'<p class="notice bad">{escaped(short(one))}</p>' for one in suite.breaches)
    return (f'<section class="card suite" id="{id}"><h2>{escaped(short(suite.name))}</h2>{about}{breaches}'
            f'<div class="suite-head">{facts(suite)}{scatter.drawn(suite.name, suite.rows, id, short)}</div>'
            f"<h3>Errors by label</h3>{label_table(suite)}"
            f"{points.beyond()}{points.stated_reasons()}{points.all()}</section>")


def page_of(suites):
    groups = judged.by_class(suites)
    ids = {suite.name: f"suite-{number}" for number, suite in enumerate((one for _, members in groups for one in members), 1)}
    content = [_summary.format(files=sum(len(suite.files) for suite in suites), rows=f"{sum(len(suite.rows) for suite in suites):,}",
                               held=f"{sum(suite.found['held']['rows'] for suite in suites):,}", table=class_table(suites),
                               suites=suite_table(suites, ids))]
    links = [("summary", "All at once"), ("suites", "Suite by suite")]
    for number, (one, members) in enumerate(groups, 1):
        links.append((f"class-{number}", one.name))
        content.append(f'<h2 class="class" id="class-{number}">{escaped(one.name)}</h2>')
        content += [section(suite, ids[suite.name]) for suite in members]
    return pages.page("validation", _style, "results", "Classes", links, "\n".join(content),
                      "Made by <code>./run validation</code> from what <code>sgdsim validate</code> says.")
