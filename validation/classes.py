"""What sgdsim is validated against, in classes; and where the documentation says why rows are off.

A case file is in the one class whose pattern its path has; tests/validation_test.py checks that each that ships is.
"""

import dataclasses
import fnmatch
import functools
import re

import pages


@dataclasses.dataclass(frozen=True)
class Part:
    """Some rows of a class, which get a line of their own in the table."""

    name: str
    has: object  # of a row


@dataclasses.dataclass(frozen=True)
class Class:
    name: str
    files: tuple
    parts: tuple = ()

    def has(self, file):
        return any(fnmatch.fnmatchcase(file, pattern) for pattern in self.files)


classes = [
    Class("Collectives over TCP", ("models/collective/data/tcp_star_*.json",)),
    Class("Collectives by Open MPI", ("models/collective/data/openmpi_*.json",)),
    Class("Hosts that are shared", ("models/transport/data/contention_*.json",)),
    Class("Steps of PyTorch DDP over gloo", ("models/strategy/data/ddp_gloo_*.json",)),
    Class("Published steps of data parallelism",
          ("models/strategy/data/ddl_benchmarks_*.json", "models/strategy/data/mgwfbp_*.json",
           "models/strategy/data/pytorch_ddp_*.json", "models/strategy/data/tensorflow_2017_*.json")),
    Class("Collectives by NCCL", ("models/collective/data/nccl_*.json",)),
    # Parts as in docs/layouts.md: every step is of a dense model or of a mixture, those of 8B are dense ones.
    Class("Steps of large models", ("models/training/data/cases/*.json",),
          (Part("dense models", lambda row: not row.has_experts),
           Part("mixtures of experts", lambda row: row.has_experts),
           Part("Llama 3.1 8B (dense, too)", lambda row: row.found.get("model") == "llama3.1_8b"))),
]
other = Class("Other cases", ("*",))


def class_of(file):
    return next((one for one in classes if one.has(file)), other)


# ---- why rows are off, in the words of the documentation: suite, label, page, and how the words begin and end

remarks = [
    ("contention_trainings", "two_trainings", "docs/validation.md", "two jobs whose messages of 512 KiB", "is 3 % late."),
    ("contention_buckets", "buckets", "docs/validation.md", "a ring of 64 KiB whose messages", "real rings pay 1.2 ms."),
    ("tensorflow_2017", "AlexNet, DGX-1", "docs/validation.md", "Eight GPUs lose 21 % more", "the source does not say."),
    ("tensorflow_2017", "VGG-16, DGX-1", "docs/validation.md", "Eight GPUs lose 21 % more", "the source does not say."),
    ("tensorflow_2017", "ResNet-50, K80, machines (EC2)", "docs/validation.md", "ResNet-50 on Amazon's machines loses", "misses others."),
    ("tensorflow_2017", "ResNet-152, K80, machines (EC2)", "docs/validation.md", "ResNet-50 on Amazon's machines loses", "misses others."),
    ("mgwfbp_k80_10gbe", "GoogLeNet, WFBP", "docs/validation.md", "GoogLeNet takes 13 to 116 ms longer", "of the 117 ms."),
    ("megatron_bridge", "gpt_oss_120b", "docs/layouts.md", "gpt-oss-120b: 3 to 41 %", "in some versions."),
    ("megatron_bridge", "qwen3_235b_a22b", "docs/layouts.md", "Qwen3 235B-A22B on B300 (44 %)", "longer than with 26.02."),
    ("vtrain_a100", "39.1B", "docs/layouts.md", "three outliers are (-36 %, -23 % and -22 %", "nothing here explains that."),
]


@functools.cache
def document(page):
    return " ".join((pages.root / page).read_text().split())


def words_of(remark):
    _, _, page, begin, end = remark
    start = document(page).index(begin)
    return document(page)[start:document(page).index(end, start) + len(end)]


@functools.cache
def tcp_outliers():
    """The table of outliers of docs/validation.md: case, label, size and error, with what its footnote says."""
    text = (pages.root / "docs/validation.md").read_text().partition("### Outliers")[2].partition("\n### ")[0]
    notes = dict(re.findall(r"^(\d)\. (.*?)(?=^\d\. |^$)", text, re.DOTALL | re.MULTILINE))
    rows = re.findall(r"^\| `(.*?)` \| `(.*?)` \| (.*?) \| (.*?) \| \((\d)\) \|$", text, re.MULTILINE)
    return {(case, label, error): " ".join(notes[note].split()) for case, label, _, error, note in rows}


def stated_reason(suite, case, label, error):
    """What the documentation says of a row that is off, and where; empty if it says nothing. `error` as it is printed."""
    if (case, label, error) in tcp_outliers():
        return f"{tcp_outliers()[case, label, error]} (docs/validation.md)"
    return next((f"{words_of(one)} ({one[2]})" for one in remarks if one[:2] == (suite, label)), "")
