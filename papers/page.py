"""The page: one HTML file with the looks of the report, tables and pictures inside."""

import statistics
import sys

import claims

sys.path.insert(0, str(claims.root / "web"))
import pages  # noqa: E402
from pages import escaped  # noqa: E402

shade = {"exact": "good", "within": "good", "holds": "good", "fitted": "plain", "differs": "bad", "there": "plain",
         "not possible": "quiet", "remembered": "quiet"}
meaning = {
    "exact": "equal in all printed digits, or to eight digits of a formula",
    "within": "within the band that the file states",
    "holds": "an order or a bound that is so here",
    "fitted": "constants were fitted on these rows: their errors prove nothing",
    "differs": "not so here; the remark says by how much or why",
    "there": "sgdsim has it; no number is printed",
    "not possible": "with the reason",
    "remembered": "from memory, read by nobody: shown and never scored",
}
_style = """
.paper h3 { margin: 1.1rem 0 0.4rem; }
.claims td { padding: 0.55rem 0.7rem; }
.claims .id { white-space: nowrap; overflow-wrap: normal; font-weight: 600; }
.claims .text { width: 40%; }
.pairs th[scope="row"] { min-width: 5.5rem; }
.claims code { display: block; color: var(--muted); font-size: 0.74rem; margin-top: 0.25rem; overflow-wrap: anywhere; }
.claims p { margin: 0; }
.claims .small { margin-top: 0.2rem; }
.pairs { width: 100%; }
.pairs th, .pairs td { padding: 0.05rem 0.5rem 0.05rem 0; border: 0; font-size: 0.82rem; }
.pairs th { color: var(--muted); font-weight: 500; }
.pairs td.figure:last-child { padding-right: 0; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem 2rem; align-items: end; }
.pictures figure { margin: 0; flex: 0 1 auto; max-width: 100%; }
.pictures svg { max-width: 100%; height: auto; display: block; }
.pictures figcaption { font-size: 0.86rem; max-width: 62ch; }
.verdicts td:first-child, .verdicts th:first-child { width: 40%; }
.verdicts th.figure { overflow-wrap: normal; }
@media (max-width: 620px) {
  .claims > thead { display: none; }
  .verdicts td:first-child { min-width: 13rem; }
  .claims > tbody > tr { display: block; border-bottom: 1px solid var(--line-strong); padding: 0.6rem 0; }
  .claims > tbody > tr > td { display: block; width: auto; border: 0; padding: 0.15rem 0; }
  .pictures figure { overflow-x: auto; }
  .pictures svg { min-width: 24rem; }
}
@media print {
  .top { position: static; }
  .claims > tbody > tr, .pictures figure { break-inside: avoid; }
  .paper.card { break-inside: auto; border: 0; padding: 0; }
  .claims .text { width: 38%; }
  .claims td, .claims p, .claims .small, .pairs th, .pairs td { font-size: 7.5pt; line-height: 1.3; padding-top: 0; }
  .claims td { padding: 3pt 5pt; }
  .claims code { font-size: 6pt; margin-top: 1pt; }
  .pairs th.figure, .pairs td.figure, .verdicts th.figure { white-space: nowrap; overflow-wrap: normal; }
  .verdicts th, .verdicts td { padding: 2pt 4pt; }
  .pictures svg { max-height: 7cm; width: auto; }
}
"""
_content = """<section class="card" id="summary"><h1>What the papers claim, and what sgdsim says</h1>
<p>{count} claims of {papers} papers, each with the command that answers it. Verdicts are computed from the answers, and a
test compares them with what the files in <code>papers/</code> state. Published points are hollow, or filled where
constants were fitted on them.</p>
<div class="scroll"><table class="verdicts"><thead><tr><th scope="col">verdict</th>{heads}<th scope="col" class="figure">all</th></tr></thead>
<tbody>{verdicts}</tbody></table></div></section>
{sections}"""


# ---- claims


def ratio_text(published, ours, is_scored):
    if not is_scored or published is None or not float(published):
        return ""
    return f"{ours / float(published):.3f}"


most_pairs = 8


def pairs_table(outcome):
    """Name, published, ours and ratio of each value; the first ones where there are many."""
    unit = outcome.claim.get("unit", "")
    shows_published = any(published is not None for _, published, _ in outcome.pairs)
    heads = ["", "published" if outcome.claim["known"] == "read" else "expected", "here", "ratio"]
    if not shows_published:
        heads = ["", "here"]
    is_bound = outcome.claim["kind"] in ("at most", "at least")
    rows = []
    for name, published, ours in outcome.pairs[:most_pairs]:
        cells = [claims.plain_number(ours)]
        if shows_published:
            sign = {"at most": "≤ ", "at least": "≥ "}.get(outcome.claim["kind"], "")
            cells = [sign + claims.plain_number(published), *cells,
                     "" if is_bound else ratio_text(published, ours, outcome.scored)]
        rows.append(f"<tr><th scope=\"row\">{escaped(name)}</th>"
                    + "".join(f'<td class="figure">{escaped(cell)}</td>' for cell in cells) + "</tr>")
    more = len(outcome.pairs) - most_pairs
    rest = f'<p class="small muted">and {more} more</p>' if more > 0 else ""
    head = "".join(f'<th scope="col" class="figure">{head}</th>' for head in heads)
    caption = f'<p class="small muted">{escaped(unit)}</p>' if unit else ""
    return f'{caption}<table class="pairs"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>{rest}'


def errors_text(outcome):
    if outcome.verdict not in ("within", "fitted", "differs") or len(outcome.errors) < 2:
        return ""
    return (f'<p class="small">{len(outcome.errors)} values: median error {statistics.median(outcome.errors):.1f} %, '
            f"largest {max(outcome.errors):.1f} %</p>")


def commands_of(claim):
    """Its commands, or where its stored values are."""
    return claims.commands_of(claim) or (["stored.csv"] if "stored" in claim else [])


def row_of(outcome):
    claim = outcome.claim
    source = f'{escaped(claim["printed"])} · {escaped(claim["known"])} · {escaped(claim["kind"])}'
    commands = "".join(f"<code>{escaped(command)}</code>" for command in commands_of(claim))
    values = pairs_table(outcome) if outcome.pairs else escaped(claim.get("value", ""))
    remark = "".join(f'<p class="small">{escaped(claim[key])}</p>' for key in ("why_not", "note") if key in claim)
    stored = '<p class="small muted">stored, not run for this page</p>' if "stored" in claim and "runs" not in claim else ""
    return (f'<tr><td class="id">{escaped(claim["id"])}</td><td class="text"><p>{escaped(claim["text"])}</p>'
            f'<p class="small muted">{source}</p>{commands}</td><td>{values}</td>'
            f'<td><span class="chip {shade[outcome.verdict]}">{escaped(outcome.text())}</span>'
            f"{errors_text(outcome)}{remark}{stored}</td></tr>")


def claims_table(judged):
    rows = "\n".join(map(row_of, judged.outcomes))
    return ('<div class="scroll"><table class="claims"><thead><tr><th scope="col">#</th><th scope="col">claim, where it is '
            'printed, command</th><th scope="col">values</th><th scope="col">verdict</th></tr></thead>'
            f"<tbody>{rows}</tbody></table></div>")


# ---- fits, pictures, sections


def fits_table(judged):
    if not judged.fits:
        return ""
    rows = [[fit["text"], ", ".join(f"{constant} {unit}" for constant, unit in zip(fit["constants"], fit["units"])), fit["on"],
             fit["scored"]] for fit, _ in judged.fits]
    return (f'<h3>What was fitted</h3>{pages.table(["what", "constants", "fitted on", "scored on"], rows)}'
            '<p class="small muted">Least squares of relative errors, made again for this page.</p>')


def pictures(judged, drawn):
    if not drawn:
        return ""
    found = "".join(f'<figure>{svg}<figcaption><strong>{escaped(spec["title"])}.</strong> {escaped(spec["text"])} '
                    f'<a href="{spec["name"]}.svg">SVG</a></figcaption></figure>' for spec, svg in drawn)
    return f'<h3>Pictures</h3><div class="pictures">{found}</div>'


def section(judged, drawn):
    file = judged.paper.file
    findings = "".join(f"<p>{escaped(finding)}</p>" for finding in file["findings"])
    return (f'<section class="card paper" id="{judged.paper.name}"><h2>{escaped(file["paper"])}</h2>'
            f'<p class="muted small">{escaped(file["citation"])}</p>{findings}'
            f'<p class="notice">What could be read: {escaped(file["read"])}</p>'
            f"{pictures(judged, drawn)}{fits_table(judged)}<h3>Claims</h3>{claims_table(judged)}</section>")


def counts(judged):
    return {verdict: sum(outcome.verdict == verdict for outcome in judged.outcomes) for verdict in claims.verdicts}


def verdict_rows(all_judged):
    rows = []
    for verdict in claims.verdicts:
        numbers = [counts(judged)[verdict] for judged in all_judged]
        cells = "".join(f'<td class="figure">{number or ""}</td>' for number in [*numbers, sum(numbers)])
        rows.append(f'<tr><td><span class="chip {shade[verdict]}">{verdict}</span> '
                    f'<span class="small muted">{meaning[verdict]}</span></td>{cells}</tr>')
    return "".join(rows)


def page_of(all_judged, drawn):
    """`drawn`: for each paper its figures with their SVG."""
    links = [(judged.paper.name, judged.paper.file["paper"]) for judged in all_judged]
    heads = "".join(f'<th scope="col" class="figure">{escaped(judged.paper.file["paper"])}</th>' for judged in all_judged)
    content = _content.format(heads=heads, papers=len(all_judged), verdicts=verdict_rows(all_judged),
                              count=sum(len(judged.outcomes) for judged in all_judged),
                              sections="\n".join(section(judged, drawn[judged.paper.name]) for judged in all_judged))
    return pages.page("papers, claim by claim", _style, "papers", "Papers", links, content,
                      "Made by <code>./run papers</code>. Pictures lie beside this page as SVG.")
