"""Invented profiles of PyTorch in the habits of many programs and versions, with what is true of them.

A job is drawn or written down as numbers first: what computes, which all-reduces follow, which other collectives
stop the device. Every figure that a reader should find follows from these numbers by hand; then the events are
written, in the habit that is asked for: where sizes stand, what tells steps apart, what a kernel is called.

Device time of a step, in microseconds since its first kernel:
  forward, [another collective, alone], one kernel per gradient, all-reduces as soon as their last gradient is
  ready and the one before has ended, the optimizer's kernel, and nothing until the next step.
"""

import copy
import dataclasses
import gzip
import json
import statistics

ORIGIN_US = 1_000_000
AHEAD_US = 400  # how long after its launch a kernel runs


@dataclasses.dataclass
class Other:
    """A collective that is no exchange of gradients, while nothing computes."""
    name: str = "all_to_all"
    kernel: str = "ncclDevKernel_SendRecv(ncclDevComm*, unsigned long, ncclWork*)"
    elements: int = 4096
    us: int = 700
    where: str = "forward"  # or "backward": behind the first gradient's kernel, from an operator of backward
    group: str = "1"


@dataclasses.dataclass
class Job:
    ranks: int = 2
    steps: int = 4
    forward_us: int = 3000
    gradients: list = dataclasses.field(default_factory=lambda: [(1000, 500), (200_000, 800), (30_000, 300), (512, 400)])
    buckets: list = dataclasses.field(default_factory=lambda: [2, 2])  # gradients in each
    transfer_us: list = dataclasses.field(default_factory=lambda: [900, 350])
    waiting_us: object = None  # of (rank, step, bucket)
    others: list = dataclasses.field(default_factory=list)
    update_us: int = 600
    gap_us: int = 1200
    loading_us: int = 0  # of the gap, in front of the step
    element_B: int = 4

    def waiting(self, rank, step, bucket):
        return self.waiting_us(rank, step, bucket) if self.waiting_us else 0

    def stop_us(self, where):
        return sum(one.us for one in self.others if one.where == where)

    def starts(self):
        """When each gradient's kernel starts."""
        at = self.forward_us + self.stop_us("forward")
        all_of_them = []
        for number, (_, us) in enumerate(self.gradients):
            all_of_them.append(at)
            at += us + (self.stop_us("backward") if number == 0 else 0)
        return all_of_them

    def ready(self):
        return [start + us for start, (_, us) in zip(self.starts(), self.gradients)]

    def exchanges(self, rank, step):
        """Start and end of each all-reduce."""
        ready, before, gradient, spans = self.ready(), 0, 0, []
        for bucket, count in enumerate(self.buckets):
            gradient += count
            start = max(before, ready[gradient - 1])
            before = start + self.transfer_us[bucket] + self.waiting(rank, step, bucket)
            spans.append((start, before))
        return spans

    def end_of_exchange(self, rank, step):
        return max([self.ready()[-1]] + [end for _, end in self.exchanges(rank, step)])

    def busy_us(self):
        """Until the longest step's optimizer ends."""
        return max(self.end_of_exchange(rank, step) for rank in range(self.ranks) for step in range(self.steps)) + self.update_us

    def period_us(self):
        return self.busy_us() + self.gap_us

    def bucket_elements(self):
        sizes, gradient = [], 0
        for count in self.buckets:
            sizes.append(sum(elements for elements, _ in self.gradients[gradient:gradient + count]))
            gradient += count
        return sizes

    # What a reader should find, over the steps after the first and the recorded ranks.

    def truth(self, ranks=1, told_by="profiler"):
        steps = list(range(self.steps))
        if told_by == "forward" and len(steps) > 1:
            steps = steps[:-1]  # nothing tells where the last one ends
        if len(steps) > 1:
            steps = steps[1:]
        every = [(rank, step) for rank in range(ranks) for step in steps]
        spans = {one: self.exchanges(*one) for one in every}
        exposed = statistics.median(self.end_of_exchange(*one) - self.ready()[-1] for one in every)
        transfers = [min(spans[one][b][1] - spans[one][b][0] for one in every) for b in range(len(self.buckets))]
        others = self.stop_us("forward") + self.stop_us("backward")
        return {"iteration_us": self.period_us(), "gradients_exposed_us": exposed, "others_exposed_us": others,
                "exposed_us": exposed + others, "transfer_us": transfers,
                "bytes": [n * self.element_B for n in self.bucket_elements()],
                "computing_us": self.forward_us + sum(us for _, us in self.gradients) + self.update_us,
                "other_bytes": [one.elements * self.element_B for one in self.others]}


@dataclasses.dataclass
class Habit:
    facts: str = "kernel"        # of all-reduces: kernel, id, around, dims, none
    shapes: bool = False         # AccumulateGrad has Input Dims
    kernel: str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
    dtype: str = "Float"
    cpp_type: str = "float"
    steps: str = "profiler"      # profiler, optimizer, forward, nothing, device
    distributed: bool = True
    old: bool = False            # Kernel, Runtime, "external id", "stream 7"
    rocm: bool = False
    launches: bool = True
    operators: bool = True       # of the backward pass
    device: bool = True          # else on the CPU, by gloo
    gloo: bool = False           # GPUs, but gloo
    a_list: bool = False         # [...] without an object around it
    cut: bool = False            # no end
    group_ranks: str = "[0, 1]"
    whole_us: bool = False
    thread_of_reduction: str = "backward"  # or "background"


class Writer:
    def __init__(self, job, habit, rank):
        self.job, self.habit, self.rank = job, habit, rank
        self.events, self.ids, self.correlations = [], 1, 1

    def us(self, value):
        at = ORIGIN_US + value
        return at if self.habit.whole_us else at + 0.125

    def event(self, category, name, pid, tid, at, length, args):
        if self.habit.old:
            category = {"kernel": "Kernel", "cuda_runtime": "Runtime"}.get(category, category)
            tid = f"stream {tid}" if category == "Kernel" else str(tid)
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": self.us(at), "dur": length, "args": args})

    def operator(self, name, thread, at, length=40, category="cpu_op", **more):
        self.ids += 1
        self.event(category, name, 11, thread, at, length, {"External id": self.ids, "Record function id": 0, **more})

    def kernel(self, name, thread, launch, start, length, stream=7, **more):
        self.correlations += 1
        if not self.habit.device:
            return self.operator("aten::work", thread, start, length)
        if self.habit.launches:
            call = "hipLaunchKernel" if self.habit.rocm else "cudaLaunchKernel"
            self.event("cuda_runtime", call, 11, thread, launch, 5, {"cbid": 211, "correlation": self.correlations})
        key = "external id" if self.habit.old else "External id"
        self.event("kernel", name, 0, stream, start, length,
                   {key: self.ids, "device": 0, "stream": stream, "correlation": self.correlations, **more})

    def facts(self, name, elements, group, out=None):
        return {"Collective name": name, "In msg nelems": elements, "Out msg nelems": out or elements, "Group size": self.job.ranks,
                "dtype": self.habit.dtype, "In split size": "[]", "Out split size": "[]", "Process Group Name": group,
                "Process Group Ranks": self.habit.group_ranks}

    def reduce(self, bucket, thread, launch, begin, span):
        habit, elements = self.habit, self.job.bucket_elements()[bucket]
        start, length = begin + span[0], span[1] - span[0]
        if habit.device and habit.gloo:  # called ahead of the device, and waits for it
            start, length = launch, begin + span[1] - launch
        if not habit.device or habit.gloo:
            return self.operator("gloo:all_reduce", thread, start, length,
                                 **{"Input Dims": [[elements]], "Input type": [habit.cpp_type]})
        if habit.facts in ("id", "around"):
            self.operator("record_param_comms", thread, launch - 3, 30, **self.facts("allreduce", elements, "0"))
        if habit.facts == "around":
            self.operator("nccl:all_reduce", thread, launch - 2, 20, "user_annotation")
        if habit.facts == "dims":
            self.operator("nccl:all_reduce", thread, launch - 2, 20, "cpu_op" if habit.old else "user_annotation",
                          **{"Input Dims": [[elements]], "Input type": [habit.cpp_type]})
        self.kernel(habit.kernel, thread, launch, start, length, 16,
                    **(self.facts("allreduce", elements, "0") if habit.facts == "kernel" else {}))

    def other(self, one, thread, launch, start):
        facts = self.facts(one.name, one.elements, one.group)
        self.operator("record_param_comms", thread, launch - 3, 30, **facts)
        self.kernel(one.kernel, thread, launch, start, one.us, 20, **facts)

    def step(self, number):
        job, habit = self.job, self.habit
        begin = number * job.period_us()   # of the first kernel's launch; it runs AHEAD_US later
        device = begin + (AHEAD_US if habit.device else 0)
        launch = begin
        main, backward = 21, 22 if habit.device else 21
        if job.loading_us:
            self.operator("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", main,
                          device - job.loading_us, job.loading_us, "user_annotation")
        if habit.steps == "profiler":
            self.operator(f"ProfilerStep#{number + 3}", main, begin - 10 if habit.device else begin, job.period_us(), "user_annotation")
        if habit.steps == "device":
            self.event("gpu_user_annotation", f"ProfilerStep#{number + 3}", 0, 7, device - 5, job.period_us() - 20, {})
        if habit.steps == "forward":
            self.operator("DistributedDataParallel.forward", main, begin - 5, 100, "user_annotation")
        self.kernel("gemm_forward", main, launch, device, job.forward_us)
        at = device + job.forward_us
        for one in job.others:
            if one.where == "forward":
                self.other(one, main, launch + 20, at)
                at += one.us
        spans, bucket, in_bucket, launch = job.exchanges(self.rank, number), 0, 0, begin + 100
        for gradient, ((elements, us), start) in enumerate(zip(job.gradients, job.starts())):
            step_us = 20
            if not habit.device:
                launch, step_us = device + start, 0
            if habit.operators:
                self.operator("autograd::engine::evaluate_function: ConvolutionBackward0", backward, launch + (0 if habit.device else 1), 5)
            self.kernel("gemm_backward", backward, launch + 1, device + start, us)
            if gradient == 0:
                at = device + start + us
                for one in job.others:
                    if one.where == "backward":
                        self.other(one, backward, launch + 4, at)
                        at += one.us
            done = device + start + us if not habit.device else launch + 7
            if habit.operators:
                self.operator("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", backward, done, 8 if habit.device else 0)
                shapes = {"Input Dims": [[elements]], "Input type": [habit.cpp_type]} if habit.shapes else {}
                self.operator("torch::autograd::AccumulateGrad", backward, done, 3 if habit.device else 0, **shapes)
            launch += step_us
            in_bucket += 1
            if bucket < len(job.buckets) and in_bucket == job.buckets[bucket]:
                thread = backward if habit.thread_of_reduction == "backward" else 33
                self.reduce(bucket, thread, done + 4, device, spans[bucket])
                bucket, in_bucket = bucket + 1, 0
        end = job.end_of_exchange(self.rank, number)
        launch = begin + 100 + 25 * len(job.gradients) if habit.device else device + end
        if habit.steps == "optimizer":
            self.operator("Optimizer.step#SGD.step", main, launch, 20 if habit.device else job.update_us, "user_annotation")
        self.kernel("multi_tensor_apply_kernel", main, launch + (3 if habit.device else 0), device + end, job.update_us)

    def text(self):
        job, habit = self.job, self.habit
        for number in range(job.steps):
            self.step(number)
        if habit.a_list:
            text = json.dumps(self.events)
        else:
            whole = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "AMD Instinct" if habit.rocm else "Invented GPU"}]}
            if habit.distributed:
                whole["distributedInfo"] = {"backend": "gloo" if habit.gloo or not habit.device else "nccl", "rank": self.rank, "world_size": job.ranks}
            whole["traceEvents"] = self.events
            text = json.dumps(whole, indent=None if habit.whole_us else 1)
        return text[:-len(json.dumps(self.events[-1])) // 2] if habit.cut else text


def write(job, habit, path, rank=0):
    text = Writer(copy.deepcopy(job), habit, rank).text()
    if str(path).endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
