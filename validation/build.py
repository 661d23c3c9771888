"""All that sgdsim is validated against: one page, and one table in docs/validation.md.

    python3 validation/build.py [--sgdsim PROGRAM] [--out results/validation] [CASE...]   index.html; all cases that ship
    python3 validation/build.py --docs                                                    the table of docs/validation.md

Exit code 5, as of `sgdsim validate`, if a suite is beyond its tolerance.
"""

import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "web"))
import judged  # noqa: E402
import page  # noqa: E402
import pages  # noqa: E402

document = pages.root / "docs/validation.md"
begin, end = "<!-- begin: ./run validation --docs -->", "<!-- end -->"


def table_for_docs(suites):
    heads = judged.heads
    lines = [[head.removesuffix(">") for head in heads], ["---"] * len(heads), *judged.class_lines(suites)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def with_table(text, suites):
    """The document with the table of today between its markers."""
    if text.count(begin) != 1 or end not in text.partition(begin)[2]:
        raise judged.Refused(f"{document}: expected one {begin} and an {end} after it")
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{table_for_docs(suites)}\n\n{end}{rest.partition(end)[2]}"


def named(file):
    """A file as seen from the root of the repository, which the program starts in."""
    file = pathlib.Path(file).resolve()
    return str(file.relative_to(pages.root) if file.is_relative_to(pages.root) else file)


def written(arguments):
    """The page or the document; what to say, and the exit code."""
    files = [named(file) for file in arguments.cases] or judged.shipped_files()
    suites = judged.suites_of(arguments.sgdsim, files)
    if arguments.docs:
        document.write_text(with_table(document.read_text(encoding="utf-8"), suites), encoding="utf-8")
        made = f"Table: {document.relative_to(pages.root)}"
    else:
        out = pathlib.Path(arguments.out)
        out.mkdir(parents=True, exist_ok=True)
        (out / "index.html").write_text(page.page_of(suites), encoding="utf-8")
        made = f"Page: {out}/index.html"
    for suite in suites:
        for breach in suite.breaches:
            print(f"{suite.name}: {breach}", file=sys.stderr)
    held = sum(suite.found["held"]["rows"] for suite in suites)
    missed = sum(bool(suite.breaches) for suite in suites)
    print(f"{len(files)} case files, {held} held rows: {len(suites) - missed} of {len(suites)} suites within their tolerance\n{made}")
    return 5 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="case files; all that ship if none is given")
    parser.add_argument("--sgdsim", default=pages.default_program(), help="the program")
    parser.add_argument("--out", default="results/validation", help="folder of the page")
    parser.add_argument("--docs", action="store_true", help="write the table of docs/validation.md")
    arguments = parser.parse_args()
    if arguments.docs and arguments.cases:
        parser.error("--docs is about all cases that ship: name none")
    try:
        return written(arguments)
    except judged.Refused as refused:
        print(refused, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
