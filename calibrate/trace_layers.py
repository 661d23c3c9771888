#!/usr/bin/env python3
"""Records the layers of a real training step as a trace file (sgdsim/trace/1), with PyTorch.

    python3 calibrate/trace_layers.py resnet50 --batch 64 --out resnet50.json
    python3 calibrate/trace_layers.py bert-base --batch 32 --sequence 128 --out bert.json

    python3 calibrate/trace_layers.py my_models:small --batch 16 --out small.json
    python3 calibrate/trace_layers.py resnet50 --batch 64 --plain

Models: those of torchvision by name; bert-base and gpt2 of transformers. Random weights and data:
times do not depend on them. MODULE:FUNCTION is a model of your own: the function is called with the
batch and the device, and returns the model and a function that returns the loss of a forward pass.

What is measured. A layer is a module that is called in forward and holds parameters of its own or has
no modules inside, in the order of first calls. Parameters of a module that is never called itself
(inside attention, say) belong to the module around it. A moment is taken when a call of a layer ends
and when the gradient of each parameter has been accumulated. The forward time of a layer is that
between the end of its calls and the end of the call before each (of the last call: up to the start
of backward, with the loss); its backward time goes from the ready time of the layers after to its
own. So the times of all layers add up to the passes, the pauses of a GPU that waits for its CPU stay
where they are, and the backward of a layer without parameters counts for the layer before it. Each
moment is the median over steps.

Steps follow each other without a wait, as in training, and all moments are read at the end. Calls
during the backward pass (activation checkpointing) are no forward time: they compute activations
again, before the gradients of their checkpoint are ready, and that time is in the backward time of
the layer whose gradient is ready next. Accumulation of gradients over micro-batches is refused.

After recording, the same steps run without a hook, and a note says what recording costs. --plain runs
only these, and prints what a whole step takes: what the recorded layers must add up to.

When it is wrong: a parameter that two layers share counts for the first of them, and is ready when
the last has added its part. Layers whose backward overlaps (branches) get the time between their
ends. Taking a moment costs the CPU some microseconds, which shows where kernels are shorter than
that. On a CPU, where there are no events, times are those of the host.
"""
import argparse
import collections
import contextlib
import datetime
import json
import os
import stat
import statistics
import sys
import threading
import time
import traceback

from traced_step import (OPTIMIZERS, PRECISIONS, BadInput, check_not_compiled, check_not_distributed,
                         enable_checkpointing, first_line, in_precision, make_model, make_update)


# ---- what needs no PyTorch

def medians(steps):
    """Lists of moments, one per step, as one list of medians."""
    return [statistics.median(values) for values in zip(*steps)]


def durations(moments, start):
    """Times between successive moments; one that lies before its predecessor takes none."""
    answer = []
    last = start
    for moment in moments:
        answer.append(max(0.0, moment - last))
        last = max(last, moment)
    return answer


def forward_times(count, calls, call_ms, backward_start_ms):
    """The forward time of each of `count` layers, which end calls in this order at these moments.
    What comes after the last call is the loss and belongs to it."""
    times = [0.0] * count
    for layer, duration in zip(calls, durations(call_ms[:-1] + [backward_start_ms], 0.0)):
        times[layer] += duration
    return times


def time_text(ms):
    return f"{round(ms * 1000, 3):.12g} us"


def layers_of(names, tensors, forward_ms, ready_ms, backward_start_ms):
    """The layers of a trace. Lists are in forward order: the names, the parameter counts of each
    layer's tensors, its forward time, and when its last gradient was ready (None: it has none and no
    backward of its own), from the start of the step. Times are in ms."""
    # A layer without a moment in backward ends with the layer after it.
    ready = list(ready_ms)
    last = backward_start_ms
    for i in reversed(range(len(ready))):
        if ready[i] is None or ready[i] < last:
            ready[i] = last
        last = ready[i]
    backward = list(reversed(durations(list(reversed(ready)), backward_start_ms)))
    layers = []
    for i, name in enumerate(names):
        layer = {"name": name, "parameters": sum(tensors[i]), "forward": time_text(forward_ms[i]),
                 "backward": time_text(backward[i]), "ready": time_text(ready[i])}
        if tensors[i]:
            layer["tensors"] = tensors[i]
        layers.append(layer)
    return layers


def repeated_notes(steps):
    """Of calls in the backward pass. Their time is in backward times, before the next gradient, since
    no gradient of a checkpoint is ready before all its activations are there."""
    repeated = max(step.repeated for step in steps)
    return [f"recomputation: the backward pass repeats {repeated} calls of layers; their time is in the "
            "backward time of the layer whose gradient is ready next"] if repeated else []


COST_WARNING_PERCENT = 3


def cost_of_recording(steps, plain_steps):
    """In percent, and a note."""
    with_ms, without_ms = (statistics.median(step.step_ms for step in some)
                           for some in (steps, plain_steps))
    percent = 100 * (with_ms / without_ms - 1)
    return percent, (f"recording costs {percent:.1f} % of a step ({with_ms:.3f} ms with hooks, "
                     f"{without_ms:.3f} ms without)")


def trace_of(about, layers, update_ms, steps, gradient_B=4):
    trace = {"schema": "sgdsim/trace/1"}
    trace.update(about)
    trace["source"] = (f"Recorded by calibrate/trace_layers.py: medians of {steps} steps after "
                       "warm-up, random data.")
    trace["update"] = time_text(update_ms)
    trace["bytes_per_parameter"] = gradient_B
    trace["layers"] = layers
    return trace


def text_of(trace):
    """JSON with a line per layer."""
    head = {key: value for key, value in trace.items() if key != "layers"}
    lines = ",\n".join("    " + json.dumps(layer) for layer in trace["layers"])
    return json.dumps(head, indent=2)[:-2] + ',\n  "layers": [\n' + lines + "\n  ]\n}\n"


# ---- what does

class Clock:
    """Moments in the stream of a device; on a CPU, of the host."""

    def __init__(self, torch, device):
        self.torch = torch
        self.is_cuda = device.type == "cuda"

    def now(self):
        if not self.is_cuda:
            return time.perf_counter()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def ms_between(self, start, end):
        return start.elapsed_time(end) if self.is_cuda else (end - start) * 1e3

    def finish(self):
        if self.is_cuda:
            self.torch.cuda.synchronize()


Layer = collections.namedtuple("Layer", "name module parameters")


def enclosing_call(model, name, called):
    """The module that is called nearest around the one of this name. The model itself always is."""
    while model.get_submodule(name) not in called:
        name = name.rpartition(".")[0]
    return model.get_submodule(name)


MICRO_BATCHES = ("accumulation of gradients over micro-batches is not recorded; give a loss function "
                 "that returns the loss of one micro-batch")
CALLS_BACKWARD = f"the loss function calls backward itself: {MICRO_BATCHES}"


def check_accumulated_once(model, accumulated, calls, all_calls):
    """A backward pass accumulates each gradient once. Where it computes activations again it may be
    made of several: then a parameter with several uses gets its gradient in parts."""
    is_repeated = sum(all_calls.values()) > sum(calls.values())
    for name, parameter in model.named_parameters():
        if accumulated[name] <= 1:
            continue
        uses = sum(calls[module] for module in model.modules()
                   if any(own is parameter for own in module.parameters(recurse=False)))
        if not (is_repeated and uses > 1):
            raise BadInput(f"the gradient of {name} is accumulated {accumulated[name]} times in a step: "
                           f"{MICRO_BATCHES}")


def run_first_pass(model, run_forward):
    """How often the forward pass calls each module, in the order of first calls. The backward pass
    leaves its gradients."""
    calls, accumulated = collections.Counter(), collections.Counter()
    hooks = [module.register_forward_pre_hook(lambda module, _inputs: calls.update([module]))
             for module in model.modules()]
    hooks += [after_accumulation(parameter, lambda name=name: accumulated.update([name]))
              for name, parameter in model.named_parameters() if parameter.requires_grad]
    loss = run_forward()
    if accumulated:
        raise BadInput(CALLS_BACKWARD)
    if not hasattr(loss, "backward"):
        raise BadInput(f"the loss function must return the loss, got {type(loss).__name__}")
    calls_in_forward = calls.copy()
    loss.backward()
    for hook in hooks:
        hook.remove()
    check_accumulated_once(model, accumulated, calls_in_forward, calls)
    return calls_in_forward


def find_layers(model, run_forward):
    """The layers that one forward and backward pass shows, and how many parameters it leaves without
    a gradient."""
    called = run_first_pass(model, run_forward)
    has_children = {module: any(True for _ in module.children()) for module in called}
    owner = {}  # of a shared parameter: the first that is called, and rather a module without others
    for module in sorted(called, key=has_children.get):
        for parameter in module.parameters(recurse=False):
            owner.setdefault(parameter, module)
    for name, module in model.named_modules():
        for parameter in module.parameters(recurse=False):
            owner.setdefault(parameter, enclosing_call(model, name, called))

    trained = [p for p in model.parameters() if p.requires_grad]
    own = {module: [] for module in called}
    for parameter in trained:
        if parameter.grad is not None:
            own[owner[parameter]].append(parameter)
    names = {module: name or type(model).__name__ for name, module in model.named_modules()}
    layers = [Layer(names[module], module, own[module]) for module in called
              if own[module] or not has_children[module]]
    return layers, sum(p.numel() for p in trained if p.grad is None)


Hook = collections.namedtuple("Hook", "remove kept")


def after_accumulation(parameter, hook):
    """Calls hook() whenever the gradient of the parameter has been accumulated, as long as the answer
    is kept and not removed."""
    if hasattr(parameter, "register_post_accumulate_grad_hook"):  # PyTorch 2.1 and later
        return parameter.register_post_accumulate_grad_hook(lambda _parameter: hook())
    accumulation = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
    return Hook(accumulation.register_hook(lambda *_gradients: hook()).remove, accumulation)


# Of one step: moments; calls are layers and the moments at which their calls ended.
Moments = collections.namedtuple("Moments",
                                 "start calls backward_start ready backward_end end repeated")
# The same in ms from the start of the step; None for layers without gradients.
Step = collections.namedtuple("Step", "calls call_ms backward_start_ms ready_ms update_ms step_ms "
                                      "repeated")


class Recorder:
    """Hooks on every layer and its parameters; one step at a time. Calls during the backward pass
    compute activations again. They are counted, and take no moment: their time lies before the next
    gradient."""

    def __init__(self, layers, clock):
        self.clock = clock
        self.count = len(layers)
        self.begin()
        self.hooks = []
        for number, layer in enumerate(layers):
            self.hooks.append(layer.module.register_forward_hook(self._call_hook(number)))
            for parameter in layer.parameters:
                self.hooks.append(after_accumulation(parameter, self._ready_hook(number)))

    def _call_hook(self, number):
        def hook(_module, _inputs, _output):
            if self.is_backward:
                self.repeated += 1
            else:
                self.calls.append((number, self.clock.now()))
        return hook

    def _ready_hook(self, number):
        def hook():
            self.ready[number] = self.clock.now()
        return hook

    def remove_hooks(self):
        for hook in self.hooks:
            hook.remove()

    def begin(self):
        self.calls = []
        self.ready = [None] * self.count
        self.repeated = 0
        self.is_backward = False

    def run(self, run_forward, run_backward, run_update):
        """The moments of a step. It waits for nothing, and moments are not read before the end."""
        self.begin()
        start = self.clock.now()
        loss = run_forward()
        if any(self.ready):
            raise BadInput(CALLS_BACKWARD)
        backward_start = self.clock.now()
        self.is_backward = True
        run_backward(loss)
        backward_end = self.clock.now()
        run_update()
        return Moments(start, self.calls, backward_start, self.ready, backward_end, self.clock.now(),
                       self.repeated)


def step_of(moments, clock):
    """What the moments of a step say, once they have all passed."""
    ms = lambda moment: clock.ms_between(moments.start, moment)
    return Step([layer for layer, _ in moments.calls], [ms(moment) for _, moment in moments.calls],
                ms(moments.backward_start), [moment and ms(moment) for moment in moments.ready],
                clock.ms_between(moments.backward_end, moments.end), ms(moments.end),
                moments.repeated)


def run_steps(recorder, count, run_forward, run_update, kind="step"):
    """Steps that follow each other as in training: were each to wait for the GPU, the next would begin
    with an empty queue, and show how long the host takes to launch its first kernels."""
    recorder.clock.finish()
    moments = []
    for number in range(count):
        moments.append(recorder.run(run_forward, lambda loss: loss.backward(), run_update))
        print(f"trace_layers.py: {kind} {number + 1}", file=sys.stderr)
    recorder.clock.finish()
    return [step_of(one, recorder.clock) for one in moments]


def layers_of_steps(layers, steps):
    """The layers of a trace from several steps that are alike."""
    calls = steps[0].calls
    if any(step.calls != calls for step in steps) or set(calls) != set(range(len(layers))):
        raise BadInput("the model does not call the same layers in every step")
    backward_start = statistics.median(step.backward_start_ms for step in steps)
    forward = forward_times(len(layers), calls, medians([step.call_ms for step in steps]),
                            backward_start)
    ready = [None if None in moments else statistics.median(moments)
             for moments in zip(*(step.ready_ms for step in steps))]
    return layers_of([layer.name for layer in layers],
                     [[p.numel() for p in layer.parameters] for layer in layers],
                     forward, ready, backward_start)


def device_of(torch, text):
    """The device of that name, made current."""
    try:
        device = torch.device(text or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise BadInput(f"--device: expected cpu, cuda or cuda:N, got {text}")
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise BadInput(f"--device: there is no GPU {device.index or 0} that PyTorch can use; "
                           f"there are {count}, from 0")
        torch.cuda.set_device(device.index or 0)
    return device


def prepare(torch, arguments, device):
    """The step: its forward pass and update, the layers that a first one shows, and how many
    parameters get no gradient; as bad input, what PyTorch refuses."""
    try:
        model, forward = make_model(torch, arguments, device)
        check_not_distributed(model)
        check_not_compiled(model, forward)
        if arguments.checkpoint:
            enable_checkpointing(model)
        forward = in_precision(torch, arguments.precision, device, model, forward)
        layers, without_gradient = find_layers(model, forward)
        update = make_update(torch, arguments.optimizer, device, model.parameters())
        return forward, update, layers, without_gradient
    except (RuntimeError, ValueError) as error:  # too large for the memory, too small a batch
        raise BadInput(f"{arguments.model} cannot be trained with a batch of {arguments.batch}: "
                       f"{first_line(error)}") from error


def plain_of(about, steps):
    """The answer of --plain."""
    steps_ms = [step.step_ms for step in steps]
    return {**about, "step_ms": statistics.median(steps_ms), "steps_ms": steps_ms}


def about_of(torch, arguments, device, without_gradient):
    """What the answer says of itself; the notes are what both a trace and plain steps are made with."""
    notes = [f"precision {arguments.precision}"]
    if arguments.optimizer != "sgd":
        notes.append(f"optimizer {arguments.optimizer}")
    if arguments.channels_last:
        notes.append("channels last")
    if arguments.checkpoint:
        notes.append("activation checkpointing")
    if without_gradient:
        notes.append(f"{without_gradient} parameters get no gradient and are left out")
    return {"name": arguments.name or arguments.model, "model": arguments.model,
            "framework": f"PyTorch {torch.__version__}",
            "device": (torch.cuda.get_device_name(device) if device.type == "cuda"
                       else f"CPU, {torch.get_num_threads()} threads"),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "batch": arguments.batch, "notes": notes}


def cost_note(run_plain_steps, steps):
    """What recording costs, by the same steps without hooks. The record outlives their failure."""
    try:
        percent, note = cost_of_recording(steps, run_plain_steps())
    except (Exception, KeyboardInterrupt) as error:  # pylint: disable=broad-except
        reason = first_line(error) or type(error).__name__
        percent, note = 0, f"recording costs an unknown part of a step: {reason}"
    if abs(percent) > COST_WARNING_PERCENT:
        reason = "layers with short kernels look longer than they are, or " if percent > 0 else ""
        print(f"trace_layers.py: warning: {note}; {reason}the machine was not quiet", file=sys.stderr)
    else:
        print(f"trace_layers.py: {note}", file=sys.stderr)
    return note


def record(torch, arguments):
    """The text of a trace, or of what plain steps take."""
    device = device_of(torch, arguments.device)
    forward, update, layers, without_gradient = prepare(torch, arguments, device)
    about = about_of(torch, arguments, device, without_gradient)
    clock = Clock(torch, device)

    def steps_of(recorder, kind):
        count = arguments.warm_up + arguments.steps
        return run_steps(recorder, count, forward, update, kind)[arguments.warm_up:]
    if arguments.plain:
        return json.dumps(plain_of(about, steps_of(Recorder([], clock), "step")), indent=2) + "\n"
    recorder = Recorder(layers, clock)
    steps = steps_of(recorder, "step")
    recorder.remove_hooks()
    recorded = layers_of_steps(layers, steps)
    about["notes"] += repeated_notes(steps)
    if not arguments.no_plain_steps:
        about["notes"].append(cost_note(lambda: steps_of(Recorder([], clock), "plain step"), steps))
    return text_of(trace_of(about, recorded, statistics.median(step.update_ms for step in steps),
                            len(steps), PRECISIONS[arguments.precision]))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="resnet50, vgg16, ..., bert-base, gpt2, or MODULE:FUNCTION")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--sequence", type=int, default=128, help="words per sample")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--device", help="cuda, cuda:1 or cpu; default the first GPU")
    parser.add_argument("--precision", choices=sorted(PRECISIONS), default="float32",
                        help="float32 (default); tf32; bfloat16: automatic mixed precision; "
                             "pure-bfloat16: parameters and gradients, too")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="sgd",
                        help="sgd (default; with momentum), adam, adamw or adamw-fused (one kernel "
                             "for many parameters): what the update takes")
    parser.add_argument("--checkpoint", action="store_true",
                        help="computes activations again in the backward pass (models of transformers)")
    parser.add_argument("--channels-last", action="store_true", help="memory layout of images")
    parser.add_argument("--plain", action="store_true",
                        help="what whole steps take without hooks, as JSON, instead of a trace")
    parser.add_argument("--no-plain-steps", action="store_true",
                        help="leaves out the steps without hooks that say what recording costs")
    parser.add_argument("--name", help="of the trace; default the model's")
    parser.add_argument("--out", default="-", help="the trace file; default standard output")
    arguments = parser.parse_args()
    for name, least in (("batch", 1), ("sequence", 1), ("steps", 1), ("warm_up", 0)):
        if getattr(arguments, name) < least:
            parser.error(f"--{name.replace('_', '-')}: expected at least {least}")
    if arguments.plain and arguments.no_plain_steps:
        parser.error("--plain and --no-plain-steps exclude each other")
    return arguments


def check_can_write(file):
    """Said before minutes of measuring, not after."""
    folder = os.path.dirname(file) or "."
    if os.path.isdir(file) or not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise BadInput(f"{file}: cannot be written")


def write(text, file):
    """To its end, and to the disk: what is only in a buffer would be lost where the program must end at
    once."""
    try:
        if file == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                os.fsync(stream.fileno())
    except OSError as error:
        if file == "-":  # what is left in the buffer would fail again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        name = "standard output" if file == "-" else file
        raise BadInput(f"{name}: cannot be written: {error.strerror}") from error


def becomes_idle(torch, within_s):
    """Whether the GPU does so. PyTorch waits for it without end, so another thread does that."""
    answers = []

    def wait(device):
        with contextlib.suppress(RuntimeError):  # the GPU is lost
            torch.cuda.synchronize(device)
            answers.append(True)
    with contextlib.suppress(RuntimeError):
        device = torch.cuda.current_device()  # of this thread
        waiting = threading.Thread(target=wait, args=(device,), daemon=True)
        waiting.start()
        waiting.join(within_s)
    return bool(answers)


def leave(run, within_s=5):
    """Ends the program with the exit code that run() returns. An ordinary end waits for the GPU, for
    ever if a kernel still spins; so where it does not become idle, all output is flushed, and the
    process ends without that."""
    try:
        code = run()
    except KeyboardInterrupt:
        print(f"{os.path.basename(sys.argv[0])}: interrupted", file=sys.stderr)
        code = 130
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        code = 1
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and not becomes_idle(torch, within_s):
        print(f"{os.path.basename(sys.argv[0])}: the GPU does not become idle; ended without waiting "
              "for it", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def main():
    arguments = parse_arguments()
    try:
        if arguments.out != "-":
            check_can_write(arguments.out)
        try:
            import torch
        except ImportError as error:
            raise BadInput("PyTorch is not installed") from error
        write(record(torch, arguments), arguments.out)
    except BadInput as error:
        print(f"trace_layers.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    leave(main)
