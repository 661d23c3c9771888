"""The same workloads by sgdsim and by SimGrid, answers first: python3 bench/peers/compare.py SGDSIM PEER [--small]

SGDSIM is the program, PEER is simgrid_peer.cpp, compiled. Each line has both times, their ratio,
and by how much the answers differ. Latencies are those for which both models share alike: SimGrid's
CM02 gives flows of shorter routes a larger share, so that they are 0 on fat trees.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

BANDWIDTH_BPS = 12.5e9


def cluster(shape, k, hosts):
    nic = {"latency": "1 us" if shape == "single_switch" else "0 us", "bandwidth": "100 Gbps"}
    json_cluster = {"schema": "sgdsim/cluster/1", "shape": shape, "nodes": hosts, "nic": nic}
    if shape == "fat_tree":
        json_cluster.update(k=k, uplink=nic)
    return json_cluster


def timed(command):
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def report(name, ours_s, theirs_s, worst):
    print(f"{name:<44} {ours_s:8.3f} s {theirs_s:9.2f} s {theirs_s / ours_s:8.1f}x   {worst:.1e}", flush=True)


def compare_flows(programs, folder, name, traffic, shape, k, hosts):
    with open(f"{folder}/cluster.json", "w") as out:
        json.dump(cluster(shape, k, hosts), out)
    with open(f"{folder}/traffic.json", "w") as out:
        json.dump({"flows": traffic}, out)
    command = [programs[0], "traffic", f"{folder}/traffic.json", "-c", f"{folder}/cluster.json", "--format", "json"]
    flows = json.loads(timed(command)[1])["flows"]
    ours_s, _ = timed([*command, "--no-flows"])
    with open(f"{folder}/flows.csv", "w") as out:
        out.write("start_us,from,to,size_B\n")
        for flow in flows:
            out.write(f"{flow['start_ps'] / 1e6:.6f},{flow['from']},{flow['to']},{flow['size_B']}\n")
    latency = 1e-6 if shape == "single_switch" else 0
    theirs_s, text = timed([programs[1], "flows", f"{folder}/flows.csv", shape, str(k), str(hosts), str(latency),
                            str(BANDWIDTH_BPS)])
    worst = 0
    for flow, line in zip(flows, text.split(), strict=True):
        ours = (flow["end_ps"] - flow["start_ps"]) / 1e12
        theirs = float(line) - flow["start_ps"] / 1e12
        worst = max(worst, abs(ours / theirs - 1))
    report(name, ours_s, theirs_s, worst)
    return worst


def compare_collective(programs, folder, name, algorithm, size_B, shape, k, hosts):
    with open(f"{folder}/cluster.json", "w") as out:
        json.dump(cluster(shape, k, hosts), out)
    ours_s, text = timed([programs[0], "collective", "-a", algorithm, "-n", f"{size_B} B", "-c", f"{folder}/cluster.json",
                          "--fidelity", "flow", "--format", "json"])
    ours = json.loads(text)["time_ps"] / 1e12
    latency = 1e-6 if shape == "single_switch" else 0
    theirs_s, text = timed([programs[1], algorithm, str(size_B), shape, str(k), str(hosts), str(latency),
                            str(BANDWIDTH_BPS)])
    worst = abs(ours / float(text) - 1)
    report(name, ours_s, theirs_s, worst)
    return worst


def main():
    programs = [os.path.abspath(program) for program in sys.argv[1:3]]
    small = "--small" in sys.argv
    count = 1000 if small else 20000
    hosts, k = (128, 8) if small else (1024, 16)
    poisson = {"generator": "poisson", "size": "1 MB", "count": count}
    print(f"{'':<44} {'sgdsim':>10} {'SimGrid':>11} {'ratio':>9}   answers differ by")
    worst = []
    with tempfile.TemporaryDirectory() as folder:
        for algorithm in ("ring", "recursive_doubling"):
            for shape in ("single_switch", "fat_tree"):
                worst.append(compare_collective(programs, folder, f"{algorithm}, {hosts} hosts, {shape}", algorithm,
                                                1 << 24, shape, k, hosts))
        for load in (0.3, 0.5):
            worst.append(compare_flows(programs, folder, f"{count} Poisson flows, load {load}, {hosts} hosts",
                                       {**poisson, "load": load}, "fat_tree", k, hosts))
        worst.append(compare_flows(programs, folder, f"{count} Poisson flows, load 0.8, 128 hosts", {**poisson, "load": 0.8},
                                   "fat_tree", 8, 128))
        worst.append(compare_flows(programs, folder, f"permutation, {hosts} hosts",
                                   {"generator": "permutation", "size": "2 MB"}, "fat_tree", k, hosts))
        worst.append(compare_flows(programs, folder, "incast of 1000", {"generator": "incast", "size": "1 MB"},
                                   "single_switch", 0, 1001))
    if max(worst) > 1e-6:
        sys.exit("answers differ by more than 1e-6")


if __name__ == "__main__":
    main()
