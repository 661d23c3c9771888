#!/usr/bin/env python3
"""What sgdsim says of a profile is what was recorded.

  kinds       profiles in the habits of many programs and versions import at the first try, and iteration, exposed
              time and bytes are those of hand arithmetic (tests/profile_kinds.py)
  property    over random profiles: figures of the first answer are those of the record, parts add up to the
              iteration, the replay that gains rest on is within 10 % of the record, else there are no gains

  tests/profiles_test.py --program build/release/bin/sgdsim --count 1000
  tests/profiles_test.py --program build/release/bin/sgdsim --only 47      keeps the profile and prints the answer
"""

import argparse
import dataclasses
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from profile_kinds import Habit, Job, Other, write  # noqa: E402

ALL_TO_ALL = Other()
ALL_GATHER = Other("_allgather_base", "ncclDevKernel_AllGather_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", 10_000, 400)
SCATTER = Other("_reduce_scatter_base", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevComm*)", 20_000, 500, "backward")
TENSOR = [Other("allreduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 65_536, 300, where, "2") for where in ("forward", "backward")]
SEND = Other("send", "ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)", 4096, 250)
OLD = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"
RCCL = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
RCCL_OLD = "void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)"

# Name, job, habit, how many ranks have a profile, ending. Of all, `import FILE` must make a trace at the first try.
KINDS = [
    ("DDP, sizes at the kernels", Job(), Habit(), 1, ".json"),
    ("sizes at record_param_comms, by its number", Job(), Habit(facts="id"), 1, ".json"),
    ("sizes around the launch", Job(), Habit(facts="around"), 1, ".json"),
    ("sizes as Input Dims of nccl:all_reduce", Job(), Habit(facts="dims"), 1, ".json"),
    ("PyTorch 1.9: Kernel, external id, stream 7", Job(), Habit(facts="dims", old=True, kernel=OLD, distributed=False), 1, ".json"),
    ("Input Dims of AccumulateGrad", Job(), Habit(shapes=True), 1, ".json"),
    ("Input Dims of both, nothing else", Job(), Habit(facts="dims", shapes=True, distributed=False), 1, ".json"),
    ("RCCL: ncclDevKernel_Generic", Job(), Habit(rocm=True, kernel=RCCL), 1, ".json"),
    ("RCCL before: rcclGenericKernel", Job(), Habit(rocm=True, kernel=RCCL_OLD, facts="id"), 1, ".json"),
    ("BFloat16", Job(element_B=2), Habit(dtype="BFloat16", cpp_type="c10::BFloat16", shapes=True), 1, ".json"),
    ("no ProfilerStep#, but Optimizer.step", Job(), Habit(steps="optimizer"), 1, ".json"),
    ("no ProfilerStep#, but DistributedDataParallel.forward", Job(), Habit(steps="forward"), 1, ".json"),
    ("one step and nothing that marks it", Job(steps=1, gap_us=0), Habit(steps="nothing"), 1, ".json"),
    ("one ProfilerStep#", Job(steps=1), Habit(), 1, ".json"),
    ("one GPU alone", Job(ranks=1, buckets=[], transfer_us=[]), Habit(distributed=False, shapes=True), 1, ".json"),
    ("a folder of two ranks", Job(), Habit(), 2, ".json"),
    ("a folder, ranks in the names", Job(), Habit(distributed=False), 2, ".json.gz"),
    ("packed", Job(), Habit(), 1, ".json.gz"),
    ("a list without an object around it", Job(), Habit(a_list=True), 1, ".json"),
    ("a fragment", Job(steps=5), Habit(cut=True), 1, ".json"),
    ("kernels only", Job(), Habit(steps="device", launches=False, operators=False), 1, ".json"),
    ("no GPU: gloo", Job(transfer_us=[200, 300]), Habit(device=False), 1, ".json"),
    ("GPUs, but gloo", Job(), Habit(gloo=True), 1, ".json"),
    ("experts: all-to-all", Job(others=[ALL_TO_ALL]), Habit(), 1, ".json"),
    ("sharded: all-gather and reduce-scatter", Job(buckets=[], transfer_us=[], others=[ALL_GATHER, SCATTER]), Habit(shapes=True), 1, ".json"),
    ("tensor parallel beside data parallel", Job(others=TENSOR), Habit(), 1, ".json"),
    ("pipeline: sends", Job(others=[SEND]), Habit(), 1, ".json"),
    ("all-reduces from another thread", Job(), Habit(thread_of_reduction="background"), 1, ".json"),
    ("ranks of the group as a list, whole microseconds", Job(), Habit(group_ranks=[0, 1], whole_us=True), 1, ".json"),
    ("waiting for data", Job(loading_us=900), Habit(), 1, ".json"),
]


class Wrong(Exception):
    pass


def run(program, *words):
    answer = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=60, check=False)
    if answer.returncode not in (0, 2):
        raise Wrong(f"exit code {answer.returncode}: {answer.stderr[-300:]}")
    return answer


def put(job, habit, ranks, ending, folder):
    if ranks == 1:
        write(job, habit, folder / f"profile{ending}")
        return folder / f"profile{ending}"
    for rank in range(ranks):
        write(job, habit, folder / f"rank-{rank}{ending}", rank)
    return folder


def near(what, got, wanted, part=0.01):
    if got is None or not math.isclose(got, wanted, rel_tol=part, abs_tol=0.5):
        raise Wrong(f"{what}: {got}, and by hand {wanted}")


def check_record(recorded, truth):
    for figure in ("iteration_us", "gradients_exposed_us", "others_exposed_us", "exposed_us"):
        near(figure, recorded[figure], truth[figure])
    parts = sum(part["time_us"] for part in recorded["parts"])
    near("sum of parts", parts, recorded["iteration_us"], 1e-6)
    near("computing", sum(part["time_us"] for part in recorded["parts"] if part["part"] == "computing"), truth["computing_us"])
    if any(part["time_us"] < 0 for part in recorded["parts"]):
        raise Wrong("a part is less than nothing")
    if [bucket.get("size_B") for bucket in recorded["buckets"]] != truth["bytes"]:
        raise Wrong(f"buckets {recorded['buckets']}, and by hand {truth['bytes']}")
    others = [one for one in recorded["collectives"] if not one["of_gradients"]]
    near("bytes of other collectives", sum(one["count"] * one["size_B"] for one in others), sum(truth["other_bytes"]))
    near("exposed percent", recorded["exposed_percent"], 100 * recorded["exposed_us"] / recorded["iteration_us"], 1e-6)


def check_gains(advice):
    """Gains rest on a replay that is what was recorded, and say nothing against the record."""
    recorded = advice["recorded"]
    if not advice["lines"]:
        if not advice.get("why_no_gains"):
            raise Wrong("neither gains nor a reason")
        near("now", advice["now"]["iteration_us"], recorded["iteration_us"], 1e-9)
        return
    off = abs(recorded["replayed_us"] / recorded["iteration_us"] - 1)
    if off > 0.1:
        raise Wrong(f"gains, although the replay is {100 * off:.1f} % off")
    now = advice["now"]
    near("now", now["iteration_us"], recorded["replayed_us"], 1e-6)
    if now["workers"] != recorded["group_size"]:
        raise Wrong(f"{now['workers']} workers, and {recorded['group_size']} exchange gradients")
    # No setting of communication removes more than what is exposed.
    most = recorded["iteration_us"] / max(recorded["iteration_us"] - recorded["exposed_us"], 1e-9) * 1.1 + 0.01
    for line in advice["lines"]:
        if "compute" not in line["kinds"] and 1 + line["gain_percent"] / 100 > most:
            raise Wrong(f"{line['change']} gains {line['gain_percent']:.1f} %, and {recorded['exposed_percent']:.1f} % are exposed")


def check_kind(program, kind, folder):
    name, job, habit, ranks, ending = kind
    path = put(job, habit, ranks, ending, folder)
    trace = folder / "made" / "trace.json"
    trace.parent.mkdir()
    imported = run(program, "import", path, "--out", trace, "--model", "invented")
    if imported.returncode != 0:
        raise Wrong(f"is not imported: {imported.stderr}")
    made = json.loads(trace.read_text())
    parameters = sum(layer["parameters"] for layer in made["layers"])
    near("parameters", parameters, sum(elements for elements, _ in job.gradients))
    answer = run(program, "advise", path, "--format", "json")
    if answer.returncode != 0:
        raise Wrong(f"no advice: {answer.stderr}")
    advice = json.loads(answer.stdout)
    truth = job.truth(ranks, habit.steps)
    if habit.gloo or not habit.launches:
        truth["transfer_us"] = None
    if habit.steps == "nothing" or job.steps == 1 and habit.steps == "profiler" and not habit.device:
        truth["iteration_us"] = job.busy_us()
    check_record(advice["recorded"], truth)
    if advice["recorded"]["ranks"] != job.ranks:
        raise Wrong(f"{advice['recorded']['ranks']} ranks, and by hand {job.ranks}")
    if truth["transfer_us"] is not None:
        for bucket, wanted in zip(advice["recorded"]["buckets"], truth["transfer_us"]):
            near("transfer", bucket["transfer_us"], wanted)
    check_gains(advice)
    return bool(advice["lines"])


def random_job(dice):
    gradients = [(dice.choice([1, 64, 1000, 50_000, 2_000_000]) + dice.randrange(50), dice.randrange(20, 900)) for _ in range(dice.choice([1, 2, 5, 12]))]
    buckets, left = [], len(gradients)
    while left > 0:
        buckets.append(dice.randint(1, left))
        left -= buckets[-1]
    job = Job(ranks=dice.choice([2, 3, 8, 64]), steps=dice.choice([1, 2, 3, 5]), forward_us=dice.randrange(100, 5000), gradients=gradients,
              buckets=buckets, transfer_us=[dice.choice([30, 200, 900, 4000]) + dice.randrange(100) for _ in buckets],
              update_us=dice.randrange(10, 800), gap_us=dice.choice([0, 200, 3000]))
    if dice.random() < 0.4:
        waits = {}
        most = dice.choice([50, 600, 5000])
        job.waiting_us = lambda rank, step, bucket: waits.setdefault((rank, step, bucket), random.Random(f"{rank} {step} {bucket} {most}").randrange(most))
    for one in (ALL_TO_ALL, ALL_GATHER, SCATTER, SEND):
        if dice.random() < 0.2 and (one.where == "forward" or len(gradients) > 1):
            job.others.append(dataclasses.replace(one, us=dice.randrange(50, 3000)))
    if dice.random() < 0.2:
        job.loading_us = job.gap_us // 2
    return job


def random_habit(dice):
    return Habit(facts=dice.choice(["kernel", "id", "around", "dims"]), shapes=dice.random() < 0.5,
                 steps=dice.choice(["profiler", "profiler", "optimizer", "forward"]), distributed=True,
                 old=dice.random() < 0.2, rocm=dice.random() < 0.2)


def check_random(program, number, folder):
    dice = random.Random(number)
    job, habit = random_job(dice), random_habit(dice)
    if job.steps == 1 and habit.steps != "profiler":
        job.gap_us = 0
    ranks = dice.choice([1, 1, 1, 2])
    path = put(job, habit, ranks, dice.choice([".json", ".json.gz"]), folder)
    answer = run(program, "advise", path, "--format", "json")
    if answer.returncode != 0:
        raise Wrong(f"no advice: {answer.stderr}")
    advice = json.loads(answer.stdout)
    truth = job.truth(ranks, habit.steps)
    if job.steps == 1 and habit.steps != "profiler":
        truth["iteration_us"] = statistics.median(job.end_of_exchange(rank, 0) for rank in range(ranks)) + job.update_us
    check_record(advice["recorded"], truth)
    if advice["recorded"]["ranks"] != job.ranks:
        raise Wrong(f"{advice['recorded']['ranks']} ranks, and by hand {job.ranks}")
    check_gains(advice)
    ran = run(program, "run", path, "--format", "json")
    if advice["recorded"].get("replayed_us"):
        if json.loads(ran.stdout)["recorded"] != advice["recorded"]:
            raise Wrong("run and advise do not say the same of the record")
    elif ran.returncode != 2:
        raise Wrong("run plays what cannot be played")
    return bool(advice["lines"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    arguments = parser.parse_args()
    failures, gains = [], 0
    checks = [(kind[0], lambda folder, kind=kind: check_kind(arguments.program, kind, folder)) for kind in KINDS]
    checks += [(f"random {number}", lambda folder, number=number: check_random(arguments.program, number, folder))
               for number in range(arguments.first, arguments.first + arguments.count)]
    if arguments.only is not None:
        checks = [(f"random {arguments.only}", lambda folder: check_random(arguments.program, arguments.only, folder))]
    for name, check in checks:
        with tempfile.TemporaryDirectory() as folder:
            try:
                gains += check(Path(folder))
            except (Wrong, KeyError, ValueError, subprocess.TimeoutExpired) as error:
                failures.append(f"{name}: {error!r}")
    print(f"{len(checks)} profiles ({len(KINDS)} kinds), {gains} with gains, {len(failures)} wrong")
    for failure in failures[:20]:
        print("  " + failure)
    return 1 if failures or gains == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
