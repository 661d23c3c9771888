"""Names, colours and words of figures: what is said of an algorithm, a strategy or a number."""

import json
from pathlib import Path

# The one table of colours, of the program and its pages too. Markers and dashes say it again for who
# cannot tell colours apart.
_table = json.loads((Path(__file__).resolve().parent.parent / "app/plot/colours.json").read_text())
others = _table["light"]


def _coloured(kind, looks):
    """Label, colour, marker, dashes: the colour by the name's place in the table."""
    places = _table["names"][kind]
    return {name: (label, others[places.index(name) % len(others)], marker, dashes)
            for name, (label, marker, dashes) in looks.items()}


algorithms = _coloured("algorithms", {
    "mst": ("MST (binomial tree)", "s", (4, 2)),
    "be": ("BE (exchange of halves)", "o", ()),
    "lp": ("LP (linear pipeline)", "^", (1, 1)),
    "ring": ("ring", "D", (6, 2, 1, 2)),
    "recursive_doubling": ("recursive doubling", "v", ()),
    "halving_doubling": ("halving/doubling", "P", ()),
    "double_binary_tree": ("double binary tree", "X", ()),
    "hierarchical": ("hierarchical", "*", ()),
    "direct": ("direct", "<", ()),
    "linear": ("linear", ">", ()),
})
strategies = _coloured("strategies", {
    "naive": ("no overlap, layer by layer", "x", (1, 1)),
    "sync_easgd": ("SyncEASGD (one message)", "s", (4, 2)),
    "wfbp": ("WFBP (a message per layer)", "o", ()),
    "mg_wfbp": ("MG-WFBP", "D", (6, 2, 1, 2)),
    "optimal": ("optimal merging", "^", ()),
    "fixed_buckets": ("fixed buckets", "<", (4, 2)),
    "ddp": ("PyTorch DDP", "v", (1, 1)),
    "horovod": ("Horovod", "P", ()),
    "bytescheduler": ("ByteScheduler", "X", (4, 1, 1, 1)),
    "p3": ("P3", "*", (4, 2)),
    "bsp_lp": ("BSP-SGD", ">", (2, 1)),
})
suites = {
    "tcp_star": ("collectives over TCP", "#0072B2", "o", ()),
    "ddp_gloo_line": ("DDP over gloo (a + bM)", "#009E73", "v", ()),
    "ddp_gloo_curve": ("DDP over gloo (curve)", "#56B4E9", "^", ()),
    "ddl_benchmarks_resnet50": ("ddl-benchmarks, ResNet-50", "#D55E00", "D", ()),
    "pytorch_ddp_dgx1": ("DDP on DGX-1", "#CC79A7", "s", ()),
}
activities = {
    "forward": ("forward", "#009E73"),
    "backward": ("backward", "#56B4E9"),
    "update": ("update", "#CC79A7"),
    "comm": ("message", "#E69F00"),
    "waiting": ("waiting for others", "#F0E442"),
}
markers = "osD^vPX*"


def look(name, looks, place=0):
    """The look of a name that is known, or one by its place."""
    plain = str(name) if isinstance(name, str) else f"{name:g}"
    return looks.get(name, (plain, others[place % 8], markers[place % 8], ()))


# ---- text


def size_text(size_B, _=None):
    for unit in ["B", "KiB", "MiB", "GiB"]:
        if size_B < 1024 or unit == "GiB":
            return f"{size_B:.4g} {unit}"
        size_B /= 1024


def time_text(us, _=None):
    for unit in ["us", "ms", "s"]:
        if us < 1000 or unit == "s":
            return f"{us:.4g} {unit}"
        us /= 1000


def plain_text(value, _=None):
    return f"{value:g}"


def behind_text(percent):
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


_units = {"_us": "us", "_B": "B", "_Gbps": "Gbit/s", "_GBps": "GB/s", "_percent": "%",
          "_ns_per_B": "ns/B", "_samples_per_s": "samples/s"}


def label_of(column):
    """bandwidth_Gbps -> bandwidth (Gbit/s)"""
    for ending, unit in _units.items():
        if column.endswith(ending):
            return f"{column.removesuffix(ending).replace('_', ' ')} ({unit})"
    return column.replace("_", " ")
