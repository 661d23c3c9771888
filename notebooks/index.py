"""Writes index.html into a folder of executed notebooks: each question and its figures.

    python3 notebooks/index.py results/notebooks
"""

import html
import json
import pathlib
import re
import sys

_page = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>sgdsim: figures</title>
<style>
body {{ font-family: sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
figure {{ display: inline-block; margin: 0 1rem 1rem 0; vertical-align: top; }}
img {{ max-height: 17rem; max-width: 100%; }}
figcaption {{ font-size: 0.8rem; }}
</style></head><body>
<h1>What sgdsim answers, drawn</h1>
{sections}
</body></html>
"""
_section = """<h2><a href="{name}.html">{title}</a></h2>
<p>{about}</p>
{figures}"""
_figure = """<figure><a href="{name}.svg"><img src="{name}.svg" alt="{name}"></a>
<figcaption>{name}: <a href="{name}.svg">SVG</a> <a href="{name}.pdf">PDF</a>
<a href="{name}.png">PNG</a></figcaption></figure>"""


def figures_of(notebook):
    """The names of the figures that a notebook saves, in their order."""
    source = "".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    return re.findall(r'figures\.save\(\w+, "(\w+)"', source)


def section_of(path):
    notebook = json.loads(path.read_text())
    title, _, about = "".join(notebook["cells"][0]["source"]).partition("\n")
    shown = [_figure.format(name=name) for name in figures_of(notebook)
             if not name.startswith("readme_")]
    return _section.format(name=path.stem, title=html.escape(title.strip("# ")),
                           about=html.escape(about.strip().split("\n\n")[0]), figures="\n".join(shown))


def write(folder):
    notebooks = sorted(pathlib.Path(__file__).resolve().parent.glob("*.ipynb"))
    page = _page.format(sections="\n".join(map(section_of, notebooks)))
    (pathlib.Path(folder) / "index.html").write_text(page)


if __name__ == "__main__":
    write(sys.argv[1])
