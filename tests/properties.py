#!/usr/bin/env python3
"""Thousands of random questions that are valid, and what every answer must keep to.

Each question is drawn from its number alone, asked of the program, and judged by arithmetic that needs no
second simulation, but for one: jobs that share a cluster are compared with each job alone, which the
answer has.

  utilisation   no link is used more than fully; nothing is negative, nothing is not a number
  efficiency    workers that wait for each other are not faster together than one alone, times their number
  parts         parts of an iteration, of a critical chain and of a layout's step add up to it
  ends          a run ends, or what keeps it is named (exit code 4); it never dies and never shows a library's words

  tests/properties.py --program build/release/bin/sgdsim --count 20000
  tests/properties.py --program build/release/bin/sgdsim --only 4711        prints the question and the answer

A question is refused (exit code 2) where its parts contradict each other; what part of all that is, is printed.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDING = 1e-9
PICOSECONDS = 1e-5  # in us: each part of a sum is rounded by itself

STRATEGIES = ["naive", "wfbp", "sync_easgd", "mg_wfbp", "optimal", "fixed_buckets", "ddp", "horovod", "bytescheduler", "p3", "omgs", "bsp_lp"]
TRANSPORTS = ["ideal", "dctcp", "pias", "pfabric", "ndp", "mlt", "dlcp", "roce_dcqcn", "tcp"]
ALGORITHMS = ["mst", "be", "lp", "ring", "recursive_doubling", "halving_doubling", "double_binary_tree", "hierarchical", "direct"]


def time_of(dice, most_us):
    return f"{dice.choice([0, 1, 7, 50, 300, most_us])} us"


def trace_of(dice, most_layers=8):
    layers = []
    for number in range(dice.choice([1, 1, 2, 3, most_layers])):
        layers.append({"name": f"l{number}", "parameters": dice.choice([0, 0, 1, 1000, 250_000, 2_000_000]),
                       "forward": time_of(dice, 2000), "backward": time_of(dice, 4000)})
    trace = {"schema": "sgdsim/trace/1", "name": "random", "batch": 32, "layers": layers}
    if dice.random() < 0.4:
        trace["update"] = time_of(dice, 3000)
    return trace


def link_of(dice):
    link = {"latency": f"{dice.choice([0, 0.5, 2, 25])} us", "bandwidth": f"{dice.choice([1, 10, 100, 400])} Gbps"}
    if dice.random() < 0.2:
        link["reduce"] = "0.3 ns/B"
    return link


def cluster_of(dice, most_nodes=9):
    nodes = dice.randrange(1, most_nodes + 1)
    shape = dice.choice(["single_switch", "single_switch", "nvlink_box", "leaf_spine", "ring", "torus", "fully_connected"])
    if shape == "nvlink_box":
        gpus = dice.choice([1, 2, 4])
        return {"shape": shape, "nodes": min(nodes, 4), "gpus_per_node": gpus, "nics_per_node": dice.choice([1, gpus]),
                "gpu_link": link_of(dice), "nic": link_of(dice)}
    if shape == "leaf_spine":
        return {"shape": shape, "nodes": nodes, "nodes_per_leaf": dice.choice([1, 2, 3]), "spines": dice.choice([1, 2]),
                "nic": link_of(dice), "uplink": {"latency": "1 us"}, "oversubscription": dice.choice([1, 2, 8])}
    if shape == "torus":
        return {"shape": shape, "dimensions": [dice.choice([2, 3]), dice.choice([2, 3])], "link": link_of(dice)}
    if shape in ("ring", "fully_connected"):
        return {"shape": shape, "nodes": max(nodes, 3), "link": link_of(dice)}
    return {"shape": shape, "nodes": nodes, "nic": link_of(dice)}


def workers_of(cluster):
    if "dimensions" in cluster:
        return math.prod(cluster["dimensions"])
    return cluster["nodes"] * cluster.get("gpus_per_node", 1)


def transport_of(dice):
    transport = {"name": dice.choice(TRANSPORTS)}
    if transport["name"] in ("mlt", "dlcp") and dice.random() < 0.5:
        transport["parts"] = dice.choice(["A", "B", "C", "AB", "AC", "BC", "ABC"])
    return transport


def experiment_of(dice):
    experiment = {"schema": "sgdsim/experiment/1", "name": "random", "trace": trace_of(dice), "cluster": cluster_of(dice), "strategy": dice.choice(STRATEGIES),
                  "fidelity": dice.choice(["closed_form", "message", "message", "flow", "flow", "packet"]), "seed": dice.randrange(1, 1000)}
    if dice.random() < 0.5:
        experiment["collective"] = {"algorithm": dice.choice(ALGORITHMS)}
    elif dice.random() < 0.4:
        servers = {"servers": dice.choice([1, 1, 2, 3])}
        for field, values in {"placement": ["co_located", "dedicated"], "sharding": ["uniform", "byteps"]}.items():
            if dice.random() < 0.5:
                servers[field] = dice.choice(values)
        experiment["collective"] = {"parameter_server": servers}
    if dice.random() < 0.25:
        experiment["compression"] = dice.choice(["topk", "gtopk", "truncate16", "quantize8", "qsgd", {"name": "topk", "density": 0.1}])
    if dice.random() < 0.35:
        experiment["synchronization"] = dice.choice(["pipe_sgd", "local_sgd", "async_ps", "ssp", {"name": "pipe_sgd", "communication": "layerwise"}])
        if isinstance(experiment["synchronization"], str) and dice.random() < 0.9:
            del experiment["strategy"]  # everything goes in one message: there is no choice
        if isinstance(experiment["synchronization"], str) and dice.random() < 0.9:
            experiment["strategy"] = "sync_easgd"  # the others are refused
    if dice.random() < 0.3:
        experiment["channels"] = dice.choice([2, 4])
    if dice.random() < 0.2:
        experiment["interference"] = dice.choice([1, 1.3])
    if dice.random() < 0.2:
        experiment["workers"] = {"jitter": {"distribution": "lognormal", "sigma": 0.1}}
    if dice.random() < 0.5:
        experiment["iterations"] = dice.choice([1, 3, 12])
    if dice.random() < 0.3:
        experiment["warm_up"] = dice.choice([0, 2])
    if experiment["fidelity"] == "packet" and dice.random() < 0.8:
        experiment["transport"] = transport_of(dice)
    return experiment


def flows_of(dice, workers):
    if workers < 2:
        return [{"generator": "incast", "to": 0, "from": "0", "size": "1 B"}]
    size = dice.choice(["1 B", "1 KB", "64 KB", "1 MB", "20 MB"])
    flows = []
    for _ in range(dice.choice([1, 1, 2])):
        kind = dice.choice(["incast", "permutation", "poisson"])
        if kind == "incast":
            flows.append({"generator": kind, "to": 0, "from": f"1-{workers - 1}" if workers > 2 else "1", "size": size})
        elif kind == "permutation":
            flows.append({"generator": kind, "size": size, "seed": dice.randrange(100)})
        else:
            flows.append({"generator": kind, "load": dice.choice([0.1, 0.5, 0.9]), "size": size, "count": dice.choice([5, 60]), "seed": dice.randrange(100)})
    return flows


def changes_of(dice, cluster, fidelity):
    """Of the first node's link, up or down, in the shapes whose names are simple."""
    ends = {"single_switch": ["node0", "switch"], "leaf_spine": ["node0", "leaf0"], "ring": ["node0", "node1"]}.get(cluster["shape"])
    if ends is None or dice.random() < 0.6:
        return {}
    what = dice.choice(["bandwidth", "bandwidth", "loss"]) if fidelity == "packet" else "bandwidth"
    return {"changes": [{"at": dice.choice(["0 us", "100 us", "3 ms"]), "link": dice.choice([ends, ends[::-1]]), what: dice.choice([0, 0.01, 0.5])}
                        | ({"bandwidth": 4} if what == "bandwidth" and dice.random() < 0.3 else {})]}


def traffic_of(dice, cluster, fidelity):
    return {"schema": "sgdsim/traffic/1", "name": "random", "flows": flows_of(dice, workers_of(cluster))} | changes_of(dice, cluster, fidelity)


def goal_of(dice, ranks):
    lines = [f"num_ranks {ranks}"]
    operations = [[] for _ in range(ranks)]
    for tag in range(dice.choice([1, 4, 12])):
        source, target = dice.sample(range(ranks), 2) if ranks > 1 else (0, 0)
        size = dice.choice([1, 1000, 100_000, 2_000_000])
        if source != target:
            operations[source].append(f"send {size}b to {target} tag {tag}")
            operations[target].append(f"recv {size}b from {source} tag {tag}")
        operations[dice.randrange(ranks)].append(f"calc {dice.choice([0, 10, 100_000])}")
    for rank in range(ranks):
        lines.append(f"rank {rank} {{")
        for number, operation in enumerate(operations[rank]):
            lines.append(f"l{number}: {operation}")
            if number and operation.startswith("calc") and dice.random() < 0.5:
                lines.append(f"l{number} requires l{number - 1}")
        lines.append("}")
    return "\n".join(lines) + "\n"


def layout_question(dice, save):
    gpus = dice.choice([8, 16, 32])
    words = ["layout", dice.choice(["llama3.1_8b", "mixtral_8x7b", "gpt3_175b"]), "-c", "topologies/data/dgx_h100_4.json", "--gpus", str(gpus), "--lines", "3"]
    if dice.random() < 0.7:
        tp, pp = dice.choice([1, 2, 4]), dice.choice([1, 2])
        words += ["--layout", " ".join([f"tp{tp}", f"pp{pp}", f"dp{gpus // tp // pp}", f"vp{dice.choice([1, 2]) if pp > 1 else 1}", f"ga{4 * pp}",
                                        f"ep{dice.choice([1, 2])}" if words[1] == "mixtral_8x7b" else "", f"zero{dice.choice([0, 1, 2, 3])}", dice.choice(["", "recompute=full", "recompute=selective", "overlap=off"]),
                                        dice.choice(["", "stages=spread", "first=6", "last=12"]) if pp > 1 else ""]),
                  "--memory", "10 TB"]
    else:
        words += ["--memory", "10 TB", "--global-batch", str(gpus * dice.choice([1, 4]))]
    if "--layout" in words and dice.random() < 0.3:
        words += ["--fidelity", dice.choice(["message", "flow"])]
    return words


def question(number, seed, save):
    """The words of a command; files are written by `save`."""
    dice = random.Random(f"{seed}/{number}")
    kind = dice.choices(["run", "collective", "jobs", "traffic", "replay", "layout"], [50, 8, 14, 14, 8, 6])[0]
    if kind == "run":
        return ["run", save("experiment.json", experiment_of(dice))]
    cluster = cluster_of(dice)
    workers = workers_of(cluster)
    fidelity = dice.choice(["flow", "packet"])
    packets = ["--transport", json.dumps(transport_of(dice))] if fidelity == "packet" else []
    if kind == "collective":
        words = ["collective", "-a", dice.choice(ALGORITHMS), "-n", dice.choice(["1 B", "10 KB", "3 MB"]), "-c", save("cluster.json", cluster),
                 "--op", dice.choice(["allreduce", "broadcast", "allgather", "reduce_scatter", "alltoall"]), "--fidelity", fidelity]
        return words + ([] if fidelity == "flow" else ["--transport", transport_of(dice)["name"]])
    if kind == "jobs":
        jobs = []
        for number in range(dice.choice([1, 2, 2, 3])):
            experiment = experiment_of(dice)
            for field in ("cluster", "fidelity", "transport", "seed", "workers"):
                experiment.pop(field, None)
            experiment["cluster"] = {"shape": "single_switch", "nodes": 1, "nic": {"latency": "1 us", "bandwidth": "10 Gbps"}}
            jobs.append({"name": f"job{number}", "experiment": experiment, "workers": max(1, workers // 3),
                         "placement": dice.choice(["packed", "spread", "random"]), "start": dice.choice(["0 us", "1 ms"])})
        document = {"schema": "sgdsim/jobs/1", "name": "random", "cluster": cluster, "jobs": jobs}
        if fidelity == "packet":
            document["transport"] = transport_of(dice)
        if dice.random() < 0.5:
            document["traffic"] = {"flows": flows_of(dice, workers)} | changes_of(dice, cluster, fidelity)
        return ["jobs", save("jobs.json", document)]
    if kind == "traffic":
        return ["traffic", save("traffic.json", traffic_of(dice, cluster, fidelity)), "-c", save("cluster.json", cluster), "--fidelity", fidelity,
                *([] if fidelity == "flow" else ["--transport", transport_of(dice)["name"]])]
    if kind == "replay":
        level = dice.choice([["message"], ["message", "--ports", "shared"], ["flow"]])
        return ["replay", save("schedule.goal", goal_of(dice, min(workers, 6))), "-c", save("cluster.json", cluster), "--fidelity", *level]
    return layout_question(dice, save)


def leaves(node, path=""):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, f"{path}.{key}")
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value, path + "[]")
    else:
        yield path, node


def common_faults(answer):
    for path, value in leaves(answer):
        if ".inputs" in path or isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        name = path.rsplit(".", 1)[-1]
        if not math.isfinite(value):
            yield f"{path} is {value}"
        elif value < 0:
            yield f"{path} is {value}"
        elif (name.startswith("utilisation") or name in ("mfu", "overlap_ratio", "delivered_fraction")) and value > 1 + ROUNDING:
            yield f"{path} is {value}, above 1"


def sum_fault(what, parts, whole_us):
    together = math.fsum(parts)
    if abs(together - whole_us) > ROUNDING * whole_us + PICOSECONDS * (len(parts) + 1):
        return f"the parts of {what} add up to {together} us, and it takes {whole_us} us"
    return None


def servers_of(answer):
    """Of asynchronous workers, each of which is one where nobody says otherwise."""
    given = answer["inputs"].get("collective")
    return given["parameter_server"]["servers"] if given else answer["workers"]


def run_faults(answer):
    metrics = answer["metrics"]
    synchronization = answer["synchronization"]
    random_times = "workers" in answer["inputs"] and bool(answer["inputs"]["workers"])
    # Iterations that overlap end when their packets do, a little earlier or later than the one before.
    varies = random_times or (answer["fidelity"] == "packet" and synchronization != "none")
    # Several servers share the update, which one worker alone does by itself.
    varies = varies or (synchronization in ("async_ps", "ssp") and servers_of(answer) > 1)
    if metrics["efficiency"] > 1 + ROUNDING and not varies:
        yield f"efficiency {metrics['efficiency']} of {answer['strategy']}, {synchronization}"
    parts = [metrics[f"{part}_us"] for part in ("forward", "backward", "update", "compression", "comm_exposed")]
    if synchronization == "none":
        yield sum_fault("an iteration", parts, metrics["iteration_us"]["mean"])
    critical = answer.get("critical")
    if critical:
        if critical["iterations"] < 1 and not critical.get("why"):
            yield "a critical chain of no iteration, and no sentence about it"
        yield sum_fault("the critical chain", [part["length_us"] for part in critical["parts"]], critical["length_us"])
    for part in ("waiting", "idle"):
        if metrics[f"{part}_us"] > metrics["comm_exposed_us"] + PICOSECONDS:
            yield f"{part} {metrics[f'{part}_us']} us, and {metrics['comm_exposed_us']} us are exposed"


def jobs_faults(answer):
    for job in answer["jobs"]:
        # A message that others delay may leave a link to one that more depends on.
        if job.get("slowdown") is not None and job["slowdown"] < 0.995 and answer["fidelity"] == "flow":
            yield f"{job['name']} is faster among others, by {1 - job['slowdown']}"


def traffic_faults(answer):
    if answer["complete"] and answer["flows_ended"] != answer["flow_count"]:
        yield "complete, and not all flows have ended"


def layout_faults(answer):
    for line in answer["layouts"]:
        if "parts" in line:
            yield sum_fault(f"the step of {line['layout']}", list(line["parts"].values()), line["step_us"])


FAULTS = {"run": run_faults, "jobs": jobs_faults, "traffic": traffic_faults, "layout": layout_faults}


def faults_of(words, code, out, err):
    for sign in ("Sanitizer", "runtime error:", "terminate called", "json.exception", "filesystem error", "std::", "basic_string", "Assertion"):
        if sign in err:
            yield f"{sign!r} on standard error"
    if code not in (0, 2, 4):
        yield f"exit code {code}"
    if code == 4 and not err.strip() and not out.strip():
        yield "stuck, and nothing is named"
    if code in (1, 2) and not any(line.startswith("sgdsim: ") for line in err.splitlines()):
        yield "no sentence about the error"
    if code != 0:
        return
    answer = json.loads(out, parse_constant=lambda name: math.nan)
    yield from common_faults(answer)
    yield from (fault for fault in FAULTS.get(words[0], lambda _: ())(answer) if fault)


def ask(arguments, number, keep=None):
    with tempfile.TemporaryDirectory() as folder:
        def save(name, content):
            path = Path(keep or folder) / name
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
            return str(path)

        words = question(number, arguments.seed, save)
        try:
            ran = subprocess.run([arguments.program, *words, "--format", "json"], capture_output=True, text=True, timeout=arguments.most_seconds,
                                 cwd=Path(__file__).resolve().parents[1], stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return words, None, "", "", [f"no answer within {arguments.most_seconds} s"]
        return words, ran.returncode, ran.stdout, ran.stderr, list(faults_of(words, ran.returncode, ran.stdout, ran.stderr))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=1000, help="questions")
    parser.add_argument("--first", type=int, default=0, help="number of the first question")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this question alone, with its files and its answer")
    parser.add_argument("--most-seconds", type=float, default=60, help="for one answer")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    arguments.program = str(Path(arguments.program).resolve())
    if arguments.only is not None:
        folder = tempfile.mkdtemp()
        words, code, out, err, faults = ask(arguments, arguments.only, folder)
        print("sgdsim", *words, "\n" + out[:4000], err, f"exit code {code}", *faults, sep="\n")
        return 1 if faults else 0
    codes = collections.Counter()
    found = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.threads) as pool:
        numbers = range(arguments.first, arguments.first + arguments.count)
        for number, (words, code, _, err, faults) in zip(numbers, pool.map(lambda one: ask(arguments, one), numbers)):
            codes[f"{words[0]} {code}"] += 1
            for fault in faults:
                found += 1
                print(f"{number}, {words[0]}: {fault}", flush=True)
    print(", ".join(f"{kind}: {count}" for kind, count in sorted(codes.items())))
    print(f"{sum(codes.values())} questions, {found} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
