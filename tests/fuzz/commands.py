#!/usr/bin/env python3
"""Thousands of command lines and input files that are nearly right, each made from one that is.

Files are mutated by their structure: a JSON file loses, gains, repeats or swaps fields and gets
hostile numbers, units and names in places where the original has values; tables and logs lose and
repeat rows and columns; any file may be cut or have bytes changed. Command lines get unknown,
repeated and hostile options. Every command has to end by itself with

  exit code 0, and numbers that can be: no times or parts below zero, nothing that is not finite, no link in use
  above 1, no efficiency above 1 without a warning; or
  exit code 1, 2, 4 or 5, and one sentence on standard error that begins with the program's name,

in --most-seconds and 2 GB. The program under test should be built with sanitizers; what is slow or
large with them is judged by `--fast`, a program without. Everything is decided by --seed: a failure is run
again with --only NUMBER, and --kind tries one command alone.

A page of `sgdsim report` must have the markup of its template, and JSON as its data, whatever names the
answers hold.
"""

import argparse
import concurrent.futures
import copy
import json
import math
import os
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 2 << 30

NUMBERS = [0, -0.0, 1, -1, 2, 3, 7, 0.5, 1e-300, 1e300, 1.8e308, -1e18, 255, 256, 65536, 2**31 - 1, 2**31,
           2**32, 2**53, 2**63 - 1, 2**63, 2**64, 1e12, 1e15, 1e18, 1e19]
UNITS = ["", " ", "B", "KB", "KiB", "MB", "MiB", "GB", "GiB", "TiB", "EiB", "ps", "ns", "us", "µs", "ms", "s", "h",
         "bps", "kbps", "Mbps", "Gbps", "Gbit/s", "GB/s", "ns/B", "ps/B", "s/B", "G", "%", "furlongs"]
TEXTS = ["", " ", "none", "auto", "nccl", "all", "nan", "-nan", "inf", "-inf", "0x10", "1e", "1e999", "--", "-", "\n", "\t",
         "\x00", "\x1b[31mred", "a\nb", "'; touch fuzz_pwned; '", "$(touch fuzz_pwned)", "`touch fuzz_pwned`", "{}", "{= 1 =}",
         "ü", "\u202e", "x" * 5000, "../../../../etc/passwd", "/dev/null", "/dev/full", "/dev/zero", ".", "/", "1..2", "2..1",
         "1..9223372036854775807", "1,2,3", "1:2", "[", "[" * 3000, "{\"a\":" * 2000, "null", "true", "[]", "{}", "\"", "\\"]


def hostile_scalar(dice):
    kind = dice.randrange(6)
    if kind == 0:
        return dice.choice(NUMBERS)
    if kind == 1:
        return f"{dice.choice(NUMBERS)}{dice.choice(['', ' '])}{dice.choice(UNITS)}"
    if kind == 2:
        return dice.choice(TEXTS)
    if kind == 3:
        return dice.choice([None, True, False, [], {}, [[]], {"": ""}])
    if kind == 4:
        return dice.randrange(1, 200)
    return f"{dice.randrange(1, 1000)} {dice.choice(UNITS)}"


def nudged(dice, value):
    """Something near to the value, so that many files stay valid."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return dice.choice([value * 2, value / 2, value + 1, value - 1, -value, value * 1000, int(value) if math.isfinite(value) else 0, 1, 0, str(value)])
    if isinstance(value, str):
        number = re.match(r"^\s*([0-9.eE+-]+)(.*)$", value)
        if number and dice.random() < 0.8:
            try:
                factor = dice.choice([0, 0.001, 0.5, 2, 10, 1e3, 1e6, 1e12, -1])
                return f"{float(number[1]) * factor:g}{number[2]}"
            except ValueError:
                pass
        return dice.choice([value + value, value[: len(value) // 2], value.upper(), value + " ", [value]])
    return hostile_scalar(dice)


def places(node, path=()):
    yield path
    if isinstance(node, dict):
        for key in node:
            yield from places(node[key], path + (key,))
    elif isinstance(node, list):
        for index in range(min(len(node), 40)):
            yield from places(node[index], path + (index,))


def at(node, path):
    for step in path:
        node = node[step]
    return node


def mutate_json(dice, document, donors):
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        spots = [path for path in places(document) if path]
        if not spots:
            return document
        path = dice.choice(spots)
        parent, last = at(document, path[:-1]), path[-1]
        action = dice.randrange(10)
        if action < 3:
            parent[last] = nudged(dice, parent[last])
        elif action < 5:
            parent[last] = hostile_scalar(dice)
        elif action == 5:
            del parent[last]
        elif action == 6 and isinstance(parent, list):
            parent[last:last] = [copy.deepcopy(parent[last])] * dice.choice([1, 1, 2, 50])
        elif action == 7 and isinstance(parent, dict):
            parent[dice.choice([str(last) + "s", "name", "valid", "schema", "", "nodes", "base"])] = parent[last]
        elif action == 8:
            donor = dice.choice(donors)
            parent[last] = copy.deepcopy(at(donor, dice.choice(list(places(donor)))))
        else:
            parent[last] = dice.choice([[parent[last]], {"name": parent[last]}, {"value": parent[last]}])
    return document


def mutate_lines(dice, text):
    lines = text.split("\n")
    for _ in range(dice.choice([1, 1, 2, 4])):
        spot = dice.randrange(len(lines))
        action = dice.randrange(7)
        if action == 0:
            del lines[spot]
            lines = lines or [""]
        elif action == 1:
            lines[spot:spot] = [lines[spot]] * dice.choice([1, 2, 100])
        elif action == 2:
            words = re.split(r"([\s,;]+)", lines[spot])
            word = dice.randrange(len(words))
            words[word] = str(hostile_scalar(dice))
            lines[spot] = "".join(words)
        elif action == 3:
            dice.shuffle(lines)
        elif action == 4:
            lines[spot] = lines[spot].replace(",", dice.choice([";", "\t", ",,", " , "]))
        elif action == 5:
            lines = lines[: spot + 1]
        else:
            lines[spot] = lines[spot][: dice.randrange(len(lines[spot]) + 1)]
    return "\n".join(lines)


def mutate_bytes(dice, data):
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 3, 10])):
        spot = dice.randrange(len(data) + 1)
        action = dice.randrange(4)
        if action == 0:
            data[spot:spot] = bytes([dice.randrange(256)])
        elif action == 1 and spot < len(data):
            data[spot] = dice.randrange(256)
        elif action == 2:
            data = data[:spot]
        else:
            data[0:0] = dice.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"[[[[", b"\n"])
    return bytes(data)


class Seeds:
    """Files of every kind that the program reads, by kind."""

    def __init__(self):
        def all_in(*patterns):
            return sorted(path for pattern in patterns for path in ROOT.glob(pattern))

        self.files = {
            "experiment": all_in("app/experiments/*.json"),
            "sweep": all_in("app/sweeps/*.json"),
            "cluster": all_in("topologies/data/*.json"),
            "trace": all_in("traces/data/*.json"),
            "case": all_in("models/*/data/*.json", "models/training/data/cases/*.json", "traces/data/cases/*.json"),
            "model": all_in("models/training/data/models/*.json"),
            "gpu": all_in("models/training/data/gpus/*.json"),
            "log": all_in("traces/measurement/data/*", "tests/data/*.log", "tests/data/*.txt"),
            "table": all_in("tests/data/*.csv", "traces/data/*.csv"),
            "goal": all_in("app/schedules/*.goal"),
            "chakra": all_in("tests/data/chakra/*.et*"),
            "flows": all_in("app/flows/*.csv"),
            "traffic": all_in("app/flows/*.json"),
            "jobs": all_in("app/job_files/*.json"),
            "execution_trace": all_in("tests/data/execution_trace*.json"),
        }
        self.files = {kind: files for kind, files in self.files.items() if files}
        self.json = {path: json.loads(path.read_text()) for kind in ("experiment", "sweep", "cluster", "trace", "case", "traffic", "jobs", "model", "gpu", "execution_trace")
                     for path in self.files.get(kind, [])}
        self.help = {}
        self.answers, self.lock = {}, threading.Lock()

    def answer(self, program, kind):
        """What the program prints for ANSWERS[kind], as text."""
        with self.lock:
            if kind not in self.answers:
                done = subprocess.run([program, *ANSWERS[kind]], capture_output=True, text=True, timeout=600, cwd=ROOT)
                if done.returncode not in (0, 5):
                    raise RuntimeError(f"sgdsim {shlex.join(ANSWERS[kind])}: {done.stderr}")
                self.answers[kind] = done.stdout
            return self.answers[kind]

    def options_of(self, program, command):
        if command not in self.help:
            text = subprocess.run([program, *command.split(), "--help"], capture_output=True, text=True, timeout=60).stdout
            self.help[command] = re.findall(r"^\s+(?:-\w,)?(--[A-Za-z0-9-]+)", text, re.M)
        return self.help[command]


# Answers that a report shows: what the program prints for these, once per run of this script.
ANSWERS = {
    "result": ["run", "app/experiments/googlenet_k80.json", "--set", "iterations=2", "--format", "json"],
    "servers": ["run", "app/experiments/resnet50_servers_18.json", "--format", "json"],
    "timeline": ["run", "app/experiments/googlenet_k80.json", "--timeline", "-", "--set", "cluster.nodes=2", "--format", "json", "--out", "/dev/null"],
    "points": ["sweep", "app/experiments/googlenet_k80.json", "--axis", "cluster.nodes=2,4,8", "--axis", "strategy=wfbp,ddp", "--quiet"],
    "best": ["sweep", "app/sweeps/nodes_bandwidth.json", "--minimize", "metrics.iteration_us", "--format", "json"],
    "plan": ["plan", "app/experiments/googlenet_k80.json", "--also", "compression=truncate16", "--format", "json"],
    "tune": ["tune", "app/experiments/googlenet_k80.json", "--axis", "strategy=wfbp,optimal", "--format", "json"],
    "collective": ["collective", "-a", "auto", "-n", "1 MiB", "-c", "topologies/data/dgx_h100_4.json", "--format", "json"],
    "collectives": ["collective", "--sweep", "-a", "ring,mst", "-p", "2..8", "-n", "1 KiB,1 MB", "-c", "topologies/data/10gbe_16.json", "--format", "json"],
    "fit": ["fit", "tests/data/nccl_tests.log", "--format", "json"],
    "validation": ["validate", "models/strategy/data/pytorch_ddp_dgx1.json", "--rows", "--format", "json"],
    "advice": ["advise", "traces/data/googlenet_k80.json", "-c", "topologies/data/10gbe_16.json", "--format", "json"],
    "layout_points": ["layout", "llama3.1_8b", "--axis", "gpus=8,16", "-c", "topologies/data/dgx_h100_4.json", "--format", "json"],
    "layouts": ["layout", "llama3.1_8b", "--gpus", "8", "-c", "topologies/data/dgx_h100_4.json", "--format", "json"],
}
HOSTILE_NAMES = ["</script><script>fuzz_pwned()</script>", "<!--<script>", "\"><img src=x onerror=alert(1)>", "' --out x", "$(touch fuzz_pwned)", "&amp;&#60;",
                 "\u202e\u2028\u2029", "\U0001F4A5" * 40, "x" * 200, "-rf", "__proto__", "constructor", "/* data */", "$&$1", "\\u003c", " ", ".json"]


TABLE = "index,name,params,fwd_us,bwd_us\n0,conv1,9408,120.5,260\n1,fc,2048000,40,90\n2,pool,0,3,0\n"
SYSTEM_XML = """<system version="1"><cpu numaid="0" affinity="ffff" arch="x86_64"><pci busid="0000:00:10.0" class="0x060400"
link_speed="16.0 GT/s PCIe" link_width="16"><pci busid="0000:00:11.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
<gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:00:12.0" count="12" tclass="0x030200"/></gpu></pci></pci></cpu></system>
"""
# Layouts as training programs say them; numbers in them become counts of every size.
FOREIGN_LAYOUTS = [
    "--nnodes 4 --nproc-per-node 8 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 64",
    "--nnodes 2 --nproc-per-node 8 --tensor-model-parallel-size 1 --context-parallel-size 2 --micro-batch-size 2 --global-batch-size 32 --seq-length 4096 "
    "--num-layers-per-virtual-pipeline-stage 4 --pipeline-model-parallel-size 2 --recompute-granularity full --recompute-num-layers 2 --recompute-method block",
    "trainer:\n  devices: 8\n  num_nodes: 4\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 128\n  tensor_model_parallel_size: 4\n"
    "  pipeline_model_parallel_size: 2\n  virtual_pipeline_model_parallel_size: 2\n",
    '{"train_batch_size": 256, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 8, "zero_optimization": {"stage": 3, "mics_shard_size": 4}}',
    "[training]\nlocal_batch_size = 8\nglobal_batch_size = 64\nseq_len = 4096\n[parallelism]\ndata_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 4\n"
    "tensor_parallel_degree = 2\npipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 1\n",
]
COUNTS = [0, 1, 2, 3, 7, 8, 64, 65536, 65537, 10**6, 1048576, 1048577, 2**26, 10**8, 2**31 - 1, 2**31, 2**32, 10**12, 2**40, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, "1e8",
          "1e16", "1e19", -1, "NaN", "Infinity", "auto", "null", "2.5"]
TRANSPORTS = ["ideal", "dctcp", "pias", "pfabric", "ndp", "mlt", "dlcp", "roce_dcqcn"]
LONG_NAMES = ["x" * 256, "x" * 300, "x" * 300 + ".json", "d/" * 150 + "f", "ü" * 200, "x" * 5000, "x" * 300 + "/f.json"]
PROFILE_LOG = "# size count type redop root time algbw busbw\n 1024 256 float sum -1 10.5 0.1 0.2 0 11 0.1 0.2 0\n"

# Fields that --set and --axis may meet, with values that mostly make sense.
FIELDS = {
    "cluster.nodes": ["2", "4", "16", "64", "1000"], "cluster.nic.bandwidth": ["1 Gbps", "100 Gbps", "1 kbps"],
    "cluster.nic.latency": ["0 us", "5 us", "1 s"], "strategy": ["wfbp", "optimal", "ddp", "p3", "horovod", "omgs", "bytescheduler"],
    "fidelity": ["closed_form", "message"], "iterations": ["1", "3", "10"], "warm_up": ["0", "2"], "channels": ["1", "2", "8"],
    "collective.algorithm": ["ring", "mst", "recursive_doubling", "auto", "nccl", "hierarchical"], "synchronization":
    ["none", "local_sgd", "pipe_sgd", "ssp", "async_ps"], "compression": ["none", "truncate16", '{"name":"topk","density":0.01}'],
    "trace.update": ["0 us", "1 ms"], "trace.compute_scale": ["0.5", "2"], "strategy.bucket": ["1 MiB", "25 MiB"],
    "collective.options.ports": ["shared", "turns"], "collective.options.alpha": ["wire"], "collective.options.send_buffer": ["1 MB"],
    "workers.jitter": ["0.1", "0"], "seed": ["1", "2"], "interference": ["0.1"],
}


class Input:
    """One command line and the folder with its files."""

    def __init__(self, seeds, program, seed, number, folder, kind=None):
        self.kind = kind
        self.dice = random.Random(f"{seed}.{number}")
        self.seeds, self.program, self.number, self.folder = seeds, program, number, folder
        self.made = 0
        self.words = self.command()

    def save(self, name, data):
        self.made += 1
        path = self.folder / f"{self.made}_{name}"
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
        return str(path)

    def shipped(self, kind):
        return self.dice.choice(self.seeds.files[kind])

    def chakra_files(self):
        """A trace that ships, of two ranks or four, some of whose files have changed."""
        dice = self.dice
        trace = dice.choice(["pair", "deadlock", "four"])
        words = []
        for rank in range(4 if trace == "four" else 2):
            data = (ROOT / f"tests/data/chakra/{trace}.{rank}.et").read_bytes()
            path = self.folder / f"{trace}.{rank}.et"
            path.write_bytes(mutate_bytes(dice, data) if dice.random() < 0.3 else data)
            words.append(str(path))
        if trace == "four" and dice.random() < 0.5:
            words += ["--groups", str(ROOT / "tests/data/chakra/four.groups.json")]
        return words

    def json_file(self, kind, mutate=None):
        """A file of this kind: as it ships, or changed, with the files that it names."""
        dice, path = self.dice, self.shipped(kind)
        document = copy.deepcopy(self.seeds.json[path])
        self.make_absolute(document, path.parent)
        if kind in ("experiment", "case") and dice.random() < 0.2:
            for name, part in (("trace", "trace"), ("cluster", "cluster")):
                if isinstance(document.get(name), str) and dice.random() < 0.5:
                    document[name] = self.json_file(part)
        if kind in ("traffic", "jobs"):  # a mutated load brings a thousand times as many flows
            document = json.loads(re.sub(r'"duration": "[^"]*"', '"duration": "0.3 ms"', json.dumps(document)))
        if kind == "trace" and len(document.get("layers", [])) > 40 and dice.random() < 0.9:
            document["layers"] = document["layers"][:40]
        if mutate if mutate is not None else dice.random() < 0.8:
            donors = [self.seeds.json[self.shipped(kind)], document]
            document = mutate_json(dice, document, donors)
        text = json.dumps(document, ensure_ascii=dice.random() < 0.5)
        data = text.encode("utf-8", "surrogatepass")
        if dice.random() < 0.05:
            data = mutate_bytes(dice, data)
        return self.save(path.name, data)

    @staticmethod
    def make_absolute(document, folder):
        holders = [document, document.get("base")]
        holders += document["jobs"] if isinstance(document.get("jobs"), list) else []
        for holder in (one for one in holders if isinstance(one, dict)):
            for key in ("trace", "cluster", "base", "experiment"):
                if isinstance(holder.get(key), str):
                    holder[key] = str((folder / holder[key]).resolve())

    def text_file(self, kind):
        dice = self.dice
        if kind == "table":
            text = TABLE
        elif kind == "xml":
            text = SYSTEM_XML
        elif kind in ("goal", "flows"):
            text = self.shipped(kind).read_text()
        elif "log" in self.seeds.files and dice.random() < 0.9:
            text = self.shipped("log").read_text(errors="replace")[:20000]
        else:
            text = PROFILE_LOG
        if dice.random() < 0.85:
            text = mutate_lines(dice, text)
        data = text.encode("utf-8", "surrogatepass")
        if dice.random() < 0.15:
            data = mutate_bytes(dice, data)
        return self.save(kind, data)

    def hostile_object(self, document):
        """With a name that is markup, a path or a word of JavaScript in place of some text or key."""
        spots = [path for path in places(document) if path and isinstance(at(document, path), str)]
        for path in self.dice.sample(spots, min(len(spots), self.dice.choice([0, 1, 1, 5]))):
            at(document, path[:-1])[path[-1]] = self.dice.choice(HOSTILE_NAMES)
        holders = [document] + [at(document, path) for path in places(document) if isinstance(at(document, path), dict)]
        if self.dice.random() < 0.2:
            self.dice.choice(holders)[self.dice.choice(HOSTILE_NAMES)] = hostile_scalar(self.dice)
        return document

    def answer_file(self, kind):
        """An answer of the program, mostly changed, in a file whose name may be hostile."""
        dice = self.dice
        text = self.seeds.answer(self.program, kind)
        if dice.random() < 0.5:
            made = []
            lines = text.splitlines() if kind in ("points", "layout_points") else [text]
            for line in lines:
                document = json.loads(line)
                if dice.random() < 0.5:
                    document = self.hostile_object(document)
                if dice.random() < (0.2 if kind == "points" else 0.6):
                    document = mutate_json(dice, document, [document])
                made.append(json.dumps(document, ensure_ascii=dice.random() < 0.5))
            text = "\n".join(made) + "\n"
        if dice.random() < 0.15:
            text = mutate_lines(dice, text)
        data = text.encode("utf-8", "surrogatepass")
        if dice.random() < 0.1:
            data = mutate_bytes(dice, data)
        name = dice.choice(HOSTILE_NAMES).replace("/", "_") if dice.random() < 0.3 else f"{kind}.json"
        return self.save(name, data)

    def report(self):
        dice = self.dice
        files = [self.answer_file(dice.choice(sorted(ANSWERS))) for _ in range(dice.choice([1, 1, 1, 2, 3]))]
        if dice.random() < 0.3:
            files.append(self.json_file(dice.choice(["experiment", "sweep"]), mutate=dice.random() < 0.3))
        if dice.random() < 0.1:  # the sweep that was asked
            files = [self.answer_file("points"), str(ROOT / "app/experiments/googlenet_k80.json")]
            files += ["--axis", "cluster.nodes=2,4,8", "--axis", "strategy=wfbp,ddp"]
        title = ["--title=" + dice.choice(HOSTILE_NAMES)] if dice.random() < 0.4 else []
        out = ["--out", str(self.folder / "page.html")] if dice.random() < 0.3 else []
        return ["report", *files, *title, *out, *self.options("report", 1)]

    def setting(self):
        field = self.dice.choice(sorted(FIELDS))
        value = self.dice.choice(FIELDS[field]) if self.dice.random() < 0.75 else str(hostile_scalar(self.dice))
        return f"{field}={value}" if self.dice.random() < 0.97 else str(hostile_scalar(self.dice))

    def axis(self):
        field = self.dice.choice(sorted(FIELDS))
        if self.dice.random() < 0.25:
            return f"{field}={hostile_scalar(self.dice)}"
        return f"{field}=" + ",".join(self.dice.sample(FIELDS[field], self.dice.randrange(1, len(FIELDS[field]) + 1)))

    def transport(self):
        name = self.dice.choice(TRANSPORTS)
        fields = ["packet=9000B", "packet=64B", "header=0B", "spray=random", "buffer=20KB", "first_window=1", "queue=1", "loss_bound=0.5", "loss_bound=1",
                  "parts=A", "important=0", "timeout=10us", "least_timeout=20us", "mark_above=0", "pause=false", "window=3", "thresholds=[\"1KB\",\"9KB\"]"]
        return " ".join([name] + self.dice.sample(fields, self.dice.choice([0, 0, 1, 2])))

    def foreign_layout(self):
        """A layout of a training program with counts of every size, as flags or in a file that may have comments and NaN."""
        dice = self.dice
        text = dice.choice(FOREIGN_LAYOUTS)
        numbers = list(re.finditer(r"(?<=[ :=])[0-9]+", text))
        for spot in sorted(dice.sample(numbers, min(len(numbers), dice.choice([0, 1, 1, 2, 3, 6]))), key=lambda one: -one.start()):
            text = text[: spot.start()] + str(dice.choice(COUNTS)) + text[spot.end():]
        if text.startswith("--"):
            return text if dice.random() < 0.7 else self.save("layout.sh", text)
        if text.startswith("{"):
            text = dice.choice(["", "// of a tutorial\n", "/* {} */"]) + text
            return self.save("layout.json", text)
        return self.save("layout.toml" if text.startswith("[") else "layout.yaml", text)

    def many_small_flows(self):
        """Traffic of many messages of a few bytes: one packet each, and every rule of a transport that comes after it."""
        dice = self.dice
        size = dice.choice(["1 B", "2 B", "64 B", "1 KB", "1500 B", "9 KB", "30 KB"])
        last = dice.choice([3, 7, 15])
        flows = []
        for _ in range(dice.choice([1, 1, 2])):
            flows.append(dice.choice([
                {"generator": "incast", "to": 0, "from": f"1-{last}", "size": size, "flows_each": dice.choice([1, 10, 50])},
                {"generator": "permutation", "size": size},
                {"generator": "poisson", "load": dice.choice([0.01, 0.5, 0.9]), "size": size, "count": dice.choice([1, 100, 1000])},
                {"generator": "incast", "to": last, "from": f"0-{last - 1}", "size": size},
            ]))
        cluster = {"shape": dice.choice(["single_switch", "leaf_spine"]), "nodes": last + 1,
                   "nic": {"latency": dice.choice(["0 us", "1 us", "1 ms"]), "bandwidth": dice.choice(["1 Mbps", "1 Gbps", "10 Gbps", "400 Gbps"])}}
        if cluster["shape"] == "leaf_spine":
            cluster.update({"nodes_per_leaf": 2, "spines": dice.choice([1, 2]), "uplink": {"latency": "1 us", "bandwidth": dice.choice(["1 Gbps", "10 Gbps"])}})
        flows = self.save("flows.json", json.dumps({"schema": "sgdsim/traffic/1", "flows": flows}))
        cluster = self.save("cluster.json", json.dumps({"schema": "sgdsim/cluster/1", **cluster}))
        fields = dice.sample(["packet=9000B", "packet=64B", "header=0B", "spray=random", "buffer=20KB"], dice.choice([0, 0, 1, 2]))
        transport = self.transport() if dice.random() < 0.2 else " ".join([dice.choice(TRANSPORTS), *fields])
        return ["traffic", flows, "--cluster", cluster, "--fidelity", "packet", "--transport", transport, "--format", "json"]

    def outlasting_jobs(self):
        """Jobs that end long before the others' traffic does, or after it."""
        dice = self.dice
        job = {"experiment": str(ROOT / "app/experiments/googlenet_k80.json"), "workers": dice.choice([2, 3, 4]),
               "set": ["iterations=1", "strategy=" + dice.choice(["wfbp", "ddp", "p3"])]}
        cluster = {"shape": "single_switch", "nodes": 8, "nic": {"latency": "1 us", "bandwidth": dice.choice(["1 Gbps", "10 Gbps", "100 Gbps"])}}
        document = {"schema": "sgdsim/jobs/1", "cluster": cluster, "jobs": [job] * dice.choice([1, 1, 2]),
                    "traffic": {"flows": {"generator": "incast", "to": dice.choice([0, 7]), "from": "1-3", "size": dice.choice(["1 KB", "100 MB", "5 GB"])}}}
        if dice.random() < 0.3:
            document["transport"] = self.transport()
            document["traffic"]["flows"]["size"] = dice.choice(["1 KB", "1 MB"])
            document["jobs"][0]["set"] += ["trace.gradient_scale=0.01"]
        if dice.random() < 0.4:
            document["cluster"] = self.save("cluster.json", json.dumps({"schema": "sgdsim/cluster/1", **cluster}))
            return ["jobs", self.save("jobs.json", json.dumps(document)), "--set", dice.choice(["cluster.nodes=9", "cluster.nic.latency=2 us", "cluster.nodes=x"]), "--format", "json"]
        return ["jobs", self.save("jobs.json", json.dumps(document)), "--format", "json"]

    def resumed_sweep(self):
        """A sweep that goes on with a file of its points, some of whose lines have changed, or with zeros behind them."""
        dice = self.dice
        lines = self.seeds.answer(self.program, "points").splitlines()
        made = []
        for line in lines[: dice.randrange(len(lines) + 1)]:
            if dice.random() < 0.3:
                line = json.dumps(mutate_json(dice, json.loads(line), [json.loads(line)]), ensure_ascii=dice.random() < 0.5)
            made.append(line + "\n")
        data = "".join(made).encode("utf-8", "surrogatepass")
        data += dice.choice([b"", b"", b"\x00" * 100, lines[0][:40].encode(), lines[0][:40].encode() + b"\x00" * 5000, b"\x00\n", lines[0].encode()])
        out = self.save("points.jsonl", data)
        return ["sweep", str(ROOT / ANSWERS["points"][1]), *ANSWERS["points"][2:], "--out", out, "--resume", *self.options("sweep", 1)]

    def long_name(self):
        dice = self.dice
        name = dice.choice(LONG_NAMES)
        own = str(ROOT / "app/experiments/googlenet_k80.json")
        return dice.choice([["model", "show", name], ["model", "show", "llama3.1_8b", "--layout", name], ["run", name], ["report", name], ["fit", name], ["merge", name],
                            ["layout", "llama3.1_8b", "--gpu", name, "-c", str(ROOT / "topologies/data/dgx_h100_4.json"), "--gpus", "8"], ["validate", name],
                            ["collective", "-a", "ring", "-n", "1 MB", "-c", name], ["run", own, "--out", name], ["import", "kineto", name], ["export", "dot", name],
                            ["replay", name], ["traffic", name, "-c", name], ["jobs", name], ["trace", "show", name], ["sweep", name, "--axis", "seed=1,2"],
                            ["run", own, "--set", "cluster=" + name]])

    def meanwhile(self):
        dice = self.dice
        ends = dice.choice(['"vertex": "node0"', '"link": ["node0/nic0", "switch"]', '"link": ["leaf0", "spine1"]', '"vertex": "gpu0"'])
        what = dice.choice(['"bandwidth": 0', '"bandwidth": 0.5', '"loss": 0.1', '"bandwidth": 1e300', '"loss": 2'])
        flows = dice.choice(["", '"flows": [{"generator": "incast", "to": 0, "from": "1-3", "size": "1 MB"}], '])
        return "{" + flows + '"changes": [{"at": "%s", %s, %s}]}' % (dice.choice(["0 s", "1 ms", "-1 s"]), ends, what)

    def layout(self):
        sizes = ["tp2", "tp8", "pp2", "pp4", "cp2", "vp2", "ep4", "dp2", "dp16", "mbs2", "ga8", "zero1", "zero3", "sp"]
        words = ["recompute=full", "recompute=selective", "recompute=block:2", "recompute=uniform:3", "recompute=block:99999", "schedule=gpipe", "schedule=zb1p", "schedule=dualpipe", "schedule=zbv", "attention=unfused",
                 "ends=layers", "gradients=bf16", "overlap=off", "sends=split", "accumulate=apart", "kernels=eager", "kernels=compiled", "recompute=operations",
                 "stages=spread", "stages=4+5x13", "stages=8x3+8", "stages=0x0", "stages=1x99999", "first=8", "last=100000", "tp0", "ga9999999"]
        chosen = self.dice.sample(sizes, self.dice.randrange(1, 6)) + self.dice.sample(words, self.dice.choice([0, 0, 1, 2]))
        return " ".join(chosen)

    def value_of(self, option):
        dice = self.dice
        good = {
            "--set": self.setting, "--axis": self.axis, "--also": self.setting, "--fidelity": lambda: dice.choice(["closed_form", "message", "flow", "packet"]),
            "--format": lambda: dice.choice(["json", "table"]), "--out": lambda: str(self.folder / dice.choice(["out.json", "no/out", "out.svg"])),
            "--timeline": lambda: str(self.folder / "timeline.json"), "--picture": lambda: str(self.folder / "picture.svg"),
            "--case": lambda: str(self.folder / "case.json"), "--report": lambda: str(self.folder / "report.html"),
            "--timeline-workers": lambda: dice.choice(["0", "0-3", "3-1", "0,2", "99999"]),
            "--timeline-iterations": lambda: dice.choice(["0", "0-2", "3-1", "7"]),
            "--threads": lambda: dice.choice(["1", "2", "4"]), "--shard": lambda: dice.choice(["1/2", "2/2", "0/2", "3/2", "1/0"]),
            "--columns": lambda: dice.choice(["cluster.nodes,metrics.iteration_us", "strategy", "workers"]),
            "--minimize": lambda: dice.choice(["metrics.iteration_us", "metrics.iteration_us.mean", "total_ps"]),
            "--over": lambda: dice.choice(["strategy", "cluster.nodes"]), "--emit": lambda: dice.choice(["slurm", "parallel", "shell", "k8s"]),
            "--option": lambda: dice.choice(["ports=shared", "ports=turns", "send_buffer=1 MB", "send_buffer=0 B", "direct=at_once", "alpha=wire",
                                             "gamma=overlap", "duplex=link", "chunks=fractional", "mst_reduce=eager", "be_barrier=off", "routing=hashed", "routing=split"]),
            "--tasks": lambda: dice.choice(["1", "4", "1000"]), "--ranks": lambda: dice.choice(["2", "5", "16", "64", "2..64 step x2"]),
            "--bytes": lambda: dice.choice(["1", "1 KB", "100 MB", "4 GiB", "7 B"]), "--algorithm": lambda: dice.choice(["ring", "mst", "be", "lp", "auto"]),
            "--cluster": lambda: self.json_file("cluster"), "--into": lambda: self.json_file("cluster"),
            "--alpha": lambda: dice.choice(["10 us", "0 us"]), "--beta": lambda: dice.choice(["0.8 ns/B", "10 Gbps"]),
            "--gamma": lambda: "0.1 ns/B", "--op": lambda: dice.choice(["allreduce", "broadcast", "allgather", "reduce"]),
            "--segments": lambda: dice.choice(["1", "2", "auto"]), "--from-collective": lambda: dice.choice(["ring", "mst"]),
            "--groups": lambda: str(ROOT / "tests/data/chakra/four.groups.json"), "--flops": lambda: dice.choice(["1e12", "0", "5"]),
            "--L": lambda: dice.choice(["2000", "1 us", "0"]), "--o": lambda: dice.choice(["10", "0.5"]), "--g": lambda: "7", "--S": lambda: dice.choice(["0", "64 KiB"]),
            "--transport": self.transport, "--routing": lambda: dice.choice(["by_destination", "hashed", "split"]), "--bins": lambda: dice.choice(["1", "30"]),
            "--traffic": self.meanwhile,
            "--links": lambda: dice.choice(["0", "3", "1000"]), "--seed": lambda: "5", "--G": lambda: dice.choice(["1", "0.08", "1 ns/B"]), "--O": lambda: "0.01", "--max-events": lambda: dice.choice(["1", "100"]),
            "--gpus": lambda: dice.choice(["1", "7", "16", "96", "1024"]), "--gpu": lambda: self.json_file("gpu") if dice.random() < 0.7 else "a100",
            "--layout": self.layout, "--memory": lambda: dice.choice(["80GB", "1 KB", "10 TB"]), "--reserve": lambda: dice.choice(["0B", "2 GiB"]),
            "--sequence": lambda: dice.choice(["1", "4096", "100000000"]), "--global-batch": lambda: dice.choice(["1", "1024", "1152"]),
            "--precision": lambda: dice.choice(["bf16", "fp8"]), "--gradients": lambda: dice.choice(["fp32", "bf16"]), "--lines": lambda: dice.choice(["1", "100000"]),
            "--max-sim-time": lambda: dice.choice(["1 ns", "1 s"]), "--block": lambda: dice.choice(["1 KiB", "1 MiB"]), "--most": lambda: dice.choice(["1", "10", "100"]),
        }
        if option in good and dice.random() < 0.85:
            return good[option]()
        return str(hostile_scalar(dice))

    def options(self, command, most=3):
        words = []
        flags = {"--help", "--gantt", "--resume", "--dry-run", "--quiet", "--sweep", "--rows", "--in-place", "--version", "--force", "--exact", "--breaks", "--margins"}
        known = self.seeds.options_of(self.program, command)
        for _ in range(self.dice.randrange(most + 1)):
            option = self.dice.choice(known) if self.dice.random() < 0.97 else str(hostile_scalar(self.dice))
            words.append(option)
            if option not in flags and self.dice.random() < 0.97:
                words.append(self.value_of(option))
        return words

    def command(self):
        dice = self.dice
        kind = dice.choices(["run", "plan", "sweep", "tune", "collective", "fit", "validate", "import", "export", "merge", "replay", "traffic", "jobs", "layout", "model", "report",
                             "foreign", "small_flows", "outlasting", "resume", "trace", "long_name", "need", "other"],
                            [22, 10, 18, 6, 12, 8, 6, 7, 5, 3, 6, 6, 5, 5, 3, 6, 8, 6, 4, 5, 6, 2, 4, 3])[0]
        kind = self.kind or kind
        light = ["--set", "iterations=2"] if dice.random() < 0.5 else []
        as_json = ["--format", "json"] if dice.random() < 0.5 else []  # whose numbers are checked
        made = {"small_flows": self.many_small_flows, "outlasting": self.outlasting_jobs, "resume": self.resumed_sweep, "long_name": self.long_name}
        if kind in made:
            return made[kind]()
        if kind == "foreign":
            command = ["model", "show", "llama3.1_8b"] if dice.random() < 0.7 else ["layout", "llama3.1_8b", "-c", str(ROOT / "topologies/data/dgx_h100_4.json"), "--memory", "100 TB"]
            gpus = ["--gpus", str(dice.choice(COUNTS))] if dice.random() < 0.4 else []
            return [*command, "--layout", self.foreign_layout(), *gpus, "--format", "json"]
        if kind == "trace":
            command = dice.choice(["run", "run", "advise", "plan"])
            return [command, self.json_file("trace"), "-c", str(ROOT / "topologies/data/10gbe_16.json"), "--fidelity", "closed_form", "--format", dice.choice(["json", "table"])]
        if kind in ("run", "plan"):
            return [kind, self.json_file("experiment"), *light, *as_json, *self.options(kind)]
        if kind == "sweep":
            source = self.json_file(dice.choice(["sweep", "experiment"]))
            axes = [word for _ in range(dice.randrange(3)) for word in ("--axis", self.axis())]
            return ["sweep", source, *axes, *self.options("sweep")] + (["--dry-run"] if dice.random() < 0.3 else [])
        if kind == "tune":
            return ["tune", self.json_file("experiment"), "--axis", self.axis(), "--most", dice.choice(["3", "10"]), *self.options("tune", 2)]
        if kind == "need":
            axis = dice.choice(["cluster.nodes=2..16", "cluster.nic.bandwidth=1Gbps..100Gbps", "cluster.nic.latency=0us..1ms", "cluster.nodes=8..2", "seed=1..9:4",
                                f"cluster.nic.bandwidth={hostile_scalar(dice)}..{hostile_scalar(dice)}", self.axis()])
            target = dice.choice(["step=100ms", "efficiency=0.9", "throughput>=100", "metrics.idle_us<=1us", f"step={hostile_scalar(dice)}", str(hostile_scalar(dice))])
            return ["need", self.json_file("experiment"), "--axis", axis, "--target", target, *as_json, *self.options("need", 2)]
        if kind == "collective":
            words = ["collective", "--algorithm", self.value_of("--algorithm"), "--bytes", self.value_of("--bytes")]
            words += ["--cluster", self.json_file("cluster")] if dice.random() < 0.5 else ["--ranks", self.value_of("--ranks"), "--alpha", "10 us", "--beta", "1 ns/B"]
            words += ["--option", self.value_of("--option")] * (dice.random() < 0.5) + ["--option", "ports=shared"] * (dice.random() < 0.3)
            return words + as_json + self.options("collective")
        if kind == "replay":
            words = ["replay", self.text_file("goal")] if dice.random() < 0.6 else ["replay", *self.chakra_files()]
            words += ["--cluster", self.json_file("cluster")] if dice.random() < 0.4 else ["--L", self.value_of("--L"), "--G", self.value_of("--G")]
            return words + as_json + self.options("replay")
        if kind == "report":
            return self.report()
        if kind == "layout":
            return ["layout", self.json_file("model"), "--cluster", self.json_file("cluster"), *as_json, *self.options("layout", 4)]
        if kind == "model":
            return ["model", "show", self.json_file("model"), "--layout", self.layout(), *self.options("model show", 2)]
        if kind == "jobs":
            return ["jobs", self.json_file("jobs"), *as_json, *self.options("jobs")]
        if kind == "traffic":
            flows = self.text_file("flows") if dice.random() < 0.4 else self.json_file("traffic")
            packets = ["--fidelity", "packet", "--transport", self.transport()] if dice.random() < 0.5 else []
            return ["traffic", flows, "--cluster", self.json_file("cluster"), *packets, *as_json, *self.options("traffic")]
        if kind == "fit":
            nccl = ["--from-collective", "nccl", "--cluster", self.json_file("cluster")] if dice.random() < 0.3 else []
            return ["fit", self.text_file("log"), *nccl, *self.options("fit", 4)]
        if kind == "validate":
            return ["validate", self.json_file("case"), *self.options("validate", 1)]
        if kind == "import" and dice.random() < 0.2:
            traced = self.json_file("execution_trace")
            return dice.choice([["import", traced, "--out", str(self.folder / "parameters.csv")], ["import", "kineto", traced], ["advise", traced],
                                ["import", "kineto", str(ROOT / "tests/data/kineto_with_ids.json"), "--execution-trace", traced]])
        if kind == "import":
            format_name, file_kind = dice.choice([("layers-csv", "table"), ("nccl-xml", "xml"), ("", "log")])
            listed = subprocess.run([self.program, "import", "--help"], capture_output=True, text=True).stdout
            formats = re.findall(r"^  ([a-z][a-z0-9-]+)  ", listed, re.M)
            return ["import", dice.choice(formats or [format_name]), self.text_file(file_kind), *self.options("import", 2)]
        if kind == "export" and dice.random() < 0.2:
            return ["export", "chakra", self.json_file("experiment"), "--set", "cluster.nodes=2", "--out", str(self.folder / "step"),
                    *self.options("export chakra", 2)]
        if kind == "export" and dice.random() < 0.5:
            return ["export", "goal", self.json_file("experiment"), *light, *self.options("export goal", 2)]
        if kind == "export":
            return ["export", dice.choice(["dot", "graphml", "topology", "cluster"]), self.json_file("cluster"), *self.options("export", 2)]
        if kind == "merge":
            return ["merge", self.text_file("log"), self.json_file("sweep"), *self.options("merge", 2)]
        return [dice.choice(["list", "schema", "trace", "", "--version", str(hostile_scalar(dice))]), *self.options("list", 2),
                str(hostile_scalar(dice))]


def cannot_be(node, path="", warned=False):
    """What no answer may hold, as a list of sentences."""
    found = []
    if isinstance(node, dict):
        warned = warned or bool(node.get("warnings"))  # too few iterations, say
        for key, value in node.items():
            found += cannot_be(value, f"{path}.{key}", warned)
    elif isinstance(node, list):
        for value in node[:1000]:
            found += cannot_be(value, path + "[]", warned)
    elif isinstance(node, float) and not math.isfinite(node):
        found.append(f"{path} is {node}")
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        leaf = path.rsplit(".", 1)[-1]
        timed = re.search(r"(_us|_ps|_ms)(\.|$)", path) and not re.search(r"error|difference|intercept|fit", path)
        if node < 0 and (timed or leaf in ("efficiency", "speedup")):
            found.append(f"{path} is {node}")
        if leaf == "efficiency" and node > 1 + 1e-9 and not warned:
            found.append(f"{path} is {node}")
        if leaf.startswith("utilisation") and not 0 <= node <= 1 + 1e-9:
            found.append(f"{path} is {node}")
        if node < 0 and (".parts." in path or leaf in ("carried_B", "overlap_ratio", "mfu", "slowdown")):
            found.append(f"{path} is {node}")
    return found


def page_fault(page):
    """What is wrong with a page of sgdsim report: its markup must be the template's, whatever the data says."""
    text = page.decode("utf-8", "replace")
    if page != text.encode("utf-8"):
        return "the page is not UTF-8"
    if text.count("<script") != 2 or text.count("</script>") != 2 or "<img" in text:
        return "the page has markup that is not the template's"
    try:
        json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1], parse_constant=lambda name: 1 / 0)
    except (ValueError, TypeError, ZeroDivisionError, RecursionError) as error:
        return f"the data of the page is no JSON: {error}"
    return None


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def play(program, words, folder, seconds):
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=0", UBSAN_OPTIONS="print_stacktrace=1")
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder,
                                 env=environment, preexec_fn=limits)
        timer_end = begin + seconds
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > timer_end:
                child.kill()
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = -9
                return None, b"", b"", seconds, usage.ru_maxrss * 1024
            time.sleep(0.002)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return child.returncode, out.read(64 << 20), err.read(1 << 20), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


# They print tables, which may begin with a name that looks like JSON, unless they are asked for JSON.
TABLES = {b"run", b"plan", b"tune", b"collective", b"fit", b"validate", b"replay", b"traffic", b"jobs", b"layout", b"model", b"advise", b"need"}


def judge(words, code, out, err):
    text = err.decode("utf-8", "replace")
    for sign in ("Sanitizer", "runtime error:", "terminate called", "[json.exception", "std::", "basic_string", "Assertion"):
        if sign in text:
            return f"{sign!r} on standard error"
    try:
        err.decode("utf-8")
    except UnicodeDecodeError:
        return "standard error is not UTF-8"
    if any(ord(letter) < 32 and letter not in "\n\r\t" or ord(letter) == 127 for letter in text):
        return "a control character on standard error"
    if code is not None and code < 0:
        return f"killed by signal {-code}"
    if code not in (0, 1, 2, 3, 4, 5):
        return f"exit code {code}"
    if code in (1, 2):
        lines = [line for line in text.strip().split("\n") if line]
        errors = [line for line in lines if line.startswith("sgdsim: ") and not line.startswith(("sgdsim: warning", "sgdsim: note"))]
        if len(errors) != 1 and code == 2:
            return f"{len(errors)} sentences for one error"
        if not lines and not out:  # points that fail say why in their lines
            return "no word about the error"
        if max(map(len, lines), default=0) > 2000:
            return "a line of more than 2,000 characters"
        return None
    if code == 0 and out.startswith(b"<!DOCTYPE html>"):
        return page_fault(out)
    asked = words[0] not in TABLES or b"json" in words if words else True
    if code == 0 and asked and out[:1] in (b"{", b"["):
        try:
            found = []
            for document in [out] if out.count(b"\n{") == 0 else out.split(b"\n"):
                if document.strip():
                    found += cannot_be(json.loads(document, parse_constant=lambda name: math.nan))
        except (ValueError, RecursionError) as error:
            return f"what is printed is no JSON: {error}"
        if found:
            return "; ".join(found[:3])
    return None


def asks_much(folder, words):
    """Whether many thousands of nodes, hundreds of iterations or the packets of a large model are to be simulated, which may take its time."""
    if words and words[0] == b"layout" and b"packet" in words:
        return True
    texts = [path.read_bytes() for path in folder.iterdir() if path.is_file()] + words
    asked = [found for text in texts for found in re.findall(rb"(nodes|ranks|iterations)[^0-9]{1,6}([0-9]{1,9})", text)]
    shape = rb'"(groups|routers_per_group|nodes_per_router|nodes|gpus_per_node)": *([0-9]{1,9})'
    workers = max((math.prod(int(number) for _, number in re.findall(shape, text)) for text in texts), default=1)
    return workers > 4096 or any(int(number) > (100 if what == b"iterations" else 4096) for what, number in asked)


def try_one(job):
    seeds, arguments, number, work = job
    folder = Path(tempfile.mkdtemp(dir=work))
    try:
        one = Input(seeds, arguments.program, arguments.seed, number, folder, arguments.kind)
        words = [word.replace("\x00", "") for word in one.words]
        words = [word.encode("utf-8", "surrogatepass")[:120000] for word in words]
        code, out, err, seconds, size = play(arguments.program, words, folder, 6 * arguments.most_seconds)
        fault = judge(words, code, out, err) if code is not None else None
        made = folder / "page.html"
        if fault is None and code == 0 and made.exists():
            fault = page_fault(made.read_bytes())
        if fault is None and (code is None or seconds > arguments.most_seconds or size > MOST_BYTES):
            fast = arguments.fast or arguments.program
            code, out, err, seconds, size = play(fast, words, folder, 3 * arguments.most_seconds)
            if (code is None or seconds > arguments.most_seconds) and not asks_much(folder, words):
                fault = f"{seconds:.0f} s"
            elif size > MOST_BYTES:
                fault = f"{size >> 20} MiB"
        if fault is None and (folder / "fuzz_pwned").exists():
            fault = "a name was executed"
        if fault is None:
            return number, code, None
        kept = Path(arguments.failures) / str(number)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)
        moved = [word.decode("utf-8", "replace").replace(str(folder), str(kept)) for word in words]
        (kept / "why").write_text(f"{fault}\n{shlex.join(['sgdsim', *moved])}\nexit code {code}\n{err.decode('utf-8', 'replace')[:4000]}\n")
        return number, code, f"{fault}: {shlex.join(['sgdsim', *moved])[:300]}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, help="sgdsim, with sanitizers")
    parser.add_argument("--fast", help="sgdsim without them, which judges time and memory")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="inputs")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--kind", help="commands of this kind only, as report")
    parser.add_argument("--only", type=int, help="this input alone")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no more inputs after this time")
    parser.add_argument("--most-seconds", type=float, default=20, help="of processor time that one input may take")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--failures", default="fuzz_failures", help="folder for inputs that fail")
    arguments = parser.parse_args()
    arguments.program = str(Path(arguments.program).resolve())
    arguments.fast = arguments.fast and str(Path(arguments.fast).resolve())
    arguments.failures = str(Path(arguments.failures).resolve())
    numbers = [arguments.only] if arguments.only is not None else range(arguments.first, arguments.first + arguments.count)
    seeds = Seeds()
    end = time.monotonic() + arguments.seconds
    codes, faults, played = {}, [], 0
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(arguments.threads) as pool:
        def guarded(number):
            return None if time.monotonic() > end else try_one((seeds, arguments, number, work))

        for result in pool.map(guarded, numbers):
            if result is None:
                continue
            number, code, fault = result
            played += 1
            codes[code] = codes.get(code, 0) + 1
            if fault:
                faults.append(fault)
                print(f"{number}: {fault}", flush=True)
    print(f"{played} inputs, exit codes " + ", ".join(f"{code}: {count}" for code, count in sorted(codes.items(), key=str)) +
          f"; {len(faults)} faults" + (f", kept in {arguments.failures}" if faults else ""))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
