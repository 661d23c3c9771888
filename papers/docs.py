"""docs/papers.md: the claims, the commands and the verdicts as text."""

import page

import claims

_head = """# From a paper to its figure

What papers claim, the command that answers it, and what it says. This page is written by `python3 papers/build.py --docs`
from the files in `papers/` ([how they are made](../papers/README.md)), and a test compares it with them. `./run papers` makes a
page of the same with pictures: published points on top of our curves, and [a notebook](../notebooks/papers.ipynb) shows some of them. [Validation](validation.md) discusses errors,
[compression](compression.md) gTop-k and Pipe-SGD, [packets](packets.md) MLT.

A claim was *read* by us, is *derived* from what was read, or is *remembered*: read by nobody here, shown and never scored. Verdicts:

{verdicts}

| | {heads} | all |
|---|{rule}---|
{counts}

"""
_tail = """## Other measurements that are public

| source | command | what it reproduces |
|---|---|---|
| ddl-benchmarks (survey, arXiv 2005.13247) | [A](#commands) | ResNet-50 on 16 GPUs, predicted from 4 and 8: median error 2.28 %, largest 9.54 % |
| PyTorch's DDP benchmark on two DGX-1 | [B](#commands) | 16 measured iteration times, nothing fitted: median error 3.76 %, largest 6.26 % |

B hardly tests the network, because communication is mostly hidden behind the backward pass.

### Commands

**A.** Three networks, judged together:

```sh
sgdsim validate models/strategy/data/ddl_benchmarks_*gbe.json models/strategy/data/ddl_benchmarks_ib.json
```

**B.** Four neural networks on 2 to 16 GPUs:

```sh
sgdsim validate models/strategy/data/pytorch_ddp_dgx1.json
```

The notebooks draw figures from such answers; [docs/figures](figures/README.md) lists them.
"""


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def values(outcome):
    """Published and ours of the first pairs, or the errors where there are many."""
    claim = outcome.claim
    if not outcome.pairs:
        return claim.get("value", ""), ""
    shown = outcome.pairs if len(outcome.pairs) <= 4 else outcome.pairs[:2] + outcome.pairs[-1:]
    gap = [] if len(outcome.pairs) <= 4 else ["..."]

    def listed(texts):
        return ", ".join(texts[:-1] + gap + texts[-1:])

    unit = f" {claim['unit']}" if claim.get("unit") else ""
    published = [claims.plain_number(found) for _, found, _ in shown if found is not None]
    ours = listed([claims.plain_number(found) for _, _, found in shown])
    return claim.get("value") or (listed(published) if published else ""), ours + unit


def verdict(outcome):
    found = outcome.text()
    if outcome.verdict in ("within", "fitted", "differs") and len(outcome.errors) > 1:
        found += f" (largest error {max(outcome.errors):.1f} %)"
    reason = outcome.claim.get("why_not", "")
    return f"{found}. {reason}" if reason else found


def table(judged):
    lines = ["| # | claim | published, or by the formula | here | verdict |", "|---|---|---|---|---|"]
    for outcome in judged.outcomes:
        published, ours = values(outcome)
        known = "" if outcome.claim["known"] == "read" else f" ({outcome.claim['known']})"
        lines.append("| " + " | ".join(map(cell, [outcome.claim["id"], outcome.claim["text"] + known, published, ours,
                                                  verdict(outcome)])) + " |")
    return "\n".join(lines)


def fits(judged):
    if not judged.fits:
        return ""
    lines = ["Fits, by least squares of relative errors:", "", "| what | constants | fitted on | scored on |", "|---|---|---|---|"]
    for fit, _ in judged.fits:
        constants = ", ".join(f"{constant} {unit}" for constant, unit in zip(fit["constants"], fit["units"]))
        lines.append(f"| {fit['text']} | {constants} | {fit['on']} | {fit['scored']} |")
    return "\n".join(lines) + "\n\n"


def commands(judged):
    """The commands of the claims, each once; those that take seconds are not run as examples are."""
    found = list(dict.fromkeys(command for outcome in judged.outcomes for command in page.commands_of(outcome.claim)
                               if command.startswith("sgdsim")))
    short = [command for command in found if " jobs " not in command]
    long = [command for command in found if " jobs " in command]
    blocks = ["```sh\n" + "\n".join(short) + "\n```"] if short else []
    blocks += ["```\n" + "\n".join(long) + "\n```"] if long else []
    return "\n\n".join(blocks)


def section(judged):
    file = judged.paper.file
    findings = "\n".join(f"* {finding}" for finding in file["findings"])
    return (f"## {file['paper']}\n\n{file['citation']}. {file['read']}\n\n{findings}\n\n{table(judged)}\n\n"
            f"{fits(judged)}{commands(judged)}\n")


def page_of(all_judged):
    verdicts = "\n".join(f"* **{verdict}**: {page.meaning[verdict]};" for verdict in claims.verdicts).removesuffix(";") + "."
    heads = " | ".join(judged.paper.file["paper"] for judged in all_judged)
    counts = []
    for one in claims.verdicts:
        numbers = [page.counts(judged)[one] for judged in all_judged]
        counts.append(f"| {one} | " + " | ".join(str(number) for number in [*numbers, sum(numbers)]) + " |")
    head = _head.format(verdicts=verdicts, heads=heads, rule="---|" * len(all_judged), counts="\n".join(counts))
    return head + "\n".join(map(section, all_judged)) + "\n" + _tail
