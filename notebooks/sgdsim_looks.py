"""Names, colours and words of figures: what is said of an algorithm, a strategy or a number."""

# Label, colour, marker, dashes. Okabe and Ito's colours and a few more; markers and dashes say it
# again for who cannot tell colours apart.
algorithms = {
    "mst": ("MST (binomial tree)", "#E69F00", "s", (4, 2)),
    "be": ("BE (exchange of halves)", "#0072B2", "o", ()),
    "lp": ("LP (linear pipeline)", "#009E73", "^", (1, 1)),
    "ring": ("ring", "#D55E00", "D", (6, 2, 1, 2)),
    "recursive_doubling": ("recursive doubling", "#56B4E9", "v", ()),
    "halving_doubling": ("halving/doubling", "#CC79A7", "P", ()),
    "double_binary_tree": ("double binary tree", "#F0E442", "X", ()),
    "hierarchical": ("hierarchical", "#999999", "*", ()),
    "direct": ("direct", "#7B4EA3", "<", ()),
    "linear": ("linear", "#222222", ">", ()),
}
strategies = {
    "naive": ("no overlap, layer by layer", "#999999", "x", (1, 1)),
    "sync_easgd": ("SyncEASGD (one message)", "#E69F00", "s", (4, 2)),
    "wfbp": ("WFBP (a message per layer)", "#0072B2", "o", ()),
    "mg_wfbp": ("MG-WFBP", "#D55E00", "D", (6, 2, 1, 2)),
    "optimal": ("optimal merging", "#000000", "^", ()),
    "fixed_buckets": ("fixed buckets", "#7B4EA3", "<", (4, 2)),
    "ddp": ("PyTorch DDP", "#009E73", "v", (1, 1)),
    "horovod": ("Horovod", "#F0E442", "P", ()),
    "bytescheduler": ("ByteScheduler", "#56B4E9", "X", (4, 1, 1, 1)),
    "p3": ("P3", "#CC79A7", "*", (4, 2)),
    "bsp_lp": ("BSP-SGD", "#8C6D31", ">", (2, 1)),
}
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
others = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442"]
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
