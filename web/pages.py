"""What pages share that Python writes: looks of the report, the frame around their parts, tables, and escaped text."""

import html
import os
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent

_style = """
.chip { display: inline-block; border-radius: 999px; padding: 0.05rem 0.55rem; font-size: 0.8rem; font-weight: 600;
  border: 1px solid currentColor; white-space: nowrap; }
.chip.good { color: var(--good); } .chip.bad { color: var(--bad); } .chip.quiet { color: var(--muted); }
.chip.plain { color: var(--accent); }
@media print {
  nav { display: none; }
  .chip { font-size: 7.5pt; line-height: 1.3; padding-top: 0; }
}
"""
_frame = """<!DOCTYPE html>
<!-- made by sgdsim -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>sgdsim: {title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#{id}">To the {id}</a>
<header class="top"><div class="wide">
<div class="brand"><span class="logo" aria-hidden="true"><i></i><i></i><i></i></span>sgdsim: {title}</div>
<nav aria-label="{label}">{links}</nav></div></header>
<main class="wide" id="{id}">
{content}
<footer class="muted small"><p>{footer}</p></footer>
</main>
</body>
</html>
"""


def default_program():
    return os.environ.get("SGDSIM_PROGRAM", root / "build/release/bin/sgdsim")


class Html(str):
    """Text that is HTML already; tables escape all other."""


def escaped(text):
    """Text as HTML; what stands between ` is a name in the program."""
    return re.sub(r"`([^`]+)`", r'<span class="mono">\1</span>', html.escape(str(text)))


def table(heads, rows, classes=""):
    """Columns whose head ends with > hold figures. Cells that are not Html are escaped."""
    figures = [' class="figure"' if head.endswith(">") else "" for head in heads]
    head = "".join(f'<th scope="col"{figure}>{escaped(text.removesuffix(">"))}</th>' for text, figure in zip(heads, figures))
    body = "\n".join("<tr>" + "".join(f"<td{figure}>{found if isinstance(found, Html) else escaped(found)}</td>"
                                      for found, figure in zip(row, figures)) + "</tr>" for row in rows)
    return Html(f'<div class="scroll"><table class="{classes}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')


def style(own):
    web = root / "web"
    theme = (web / "common/theme.css").read_text().replace("/* dark */", (web / "common/theme-dark.css").read_text())
    return theme + (web / "report/page.css").read_text() + _style + own


def page(title, own_style, id, label, links, content, footer):
    """The whole file. `id` is that of its main part, `links` are pairs of an anchor and its text."""
    return _frame.format(title=escaped(title), style=style(own_style), id=id, label=label, content=content, footer=footer,
                         links="".join(f'<a href="#{anchor}">{escaped(text)}</a>' for anchor, text in links))
