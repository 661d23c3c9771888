"""Every claim of the papers beside what sgdsim says, and published points on top of our curves.

    python3 papers/build.py [--sgdsim PROGRAM] [--out results/papers]   index.html and an SVG for each figure
    python3 papers/build.py --docs                                      docs/papers.md, without pictures

Exit code 1 if a verdict is not what its file states.
"""

import argparse
import pathlib
import sys
import time

sys.dont_write_bytecode = True
import claims  # noqa: E402
import docs  # noqa: E402
import page  # noqa: E402
import pages  # noqa: E402


def drawn_figures(all_judged, out):
    """The SVG files, and for each paper the same for the page."""
    import pictures  # needs matplotlib
    drawn = {}
    for judged in all_judged:
        drawn[judged.paper.name] = []
        for spec in judged.paper.figures:
            svg = pictures.draw(judged, spec)
            (out / f"{spec['name']}.svg").write_text(svg)
            drawn[judged.paper.name].append((spec, pictures.for_page(svg, spec["title"])))
    return drawn


def write_page(all_judged, out):
    (out / "index.html").write_text(page.page_of(all_judged, drawn_figures(all_judged, out)))


def summary(all_judged):
    """How many claims have which verdict."""
    verdicts = [outcome.verdict for judged in all_judged for outcome in judged.outcomes]
    found = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in claims.verdicts if verdict in verdicts)
    return f"{len(verdicts)} claims of {len(all_judged)} papers: {found}"


def main():
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sgdsim", default=pages.default_program(), help="the program")
    parser.add_argument("--out", default="results/papers", help="folder of the page and its figures")
    parser.add_argument("--docs", action="store_true", help="write docs/papers.md")
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out)
    all_judged = claims.judged_papers(arguments.sgdsim, out)
    if arguments.docs:
        (claims.root / "docs/papers.md").write_text(docs.page_of(all_judged))
    else:
        write_page(all_judged, out)
    breaches = [breach for judged in all_judged for breach in judged.breaches()]
    for breach in breaches:
        print(breach, file=sys.stderr)
    print(f"{summary(all_judged)}; {time.monotonic() - started:.0f} s")
    if not arguments.docs:
        print(f"Page and figures: {out}/index.html")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
