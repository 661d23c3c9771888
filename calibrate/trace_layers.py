#!/usr/bin/env python3
"""Records the layers of a real training step as a trace file (sgdsim/trace/1), with PyTorch.

    python3 calibrate/trace_layers.py resnet50 --batch 64 --out resnet50.json
    python3 calibrate/trace_layers.py bert-base --batch 32 --sequence 128 --out bert.json

Models: those of torchvision by name; bert-base and gpt2 of transformers. Random weights and data:
times do not depend on them.

What is measured. An event is recorded when a layer's forward ends and when the gradient of each
parameter has been accumulated. A layer is a module without children that is called in forward, in
the order of its first call. Its forward time goes from the end of the layer before to its own end,
its backward time from the ready time of the layer after to its own; so the times of all layers add up
to the passes, and the pauses of a GPU that waits for its CPU stay where they are. Each boundary is
the median over steps. Recording costs an event per boundary, below 1 us each on a GPU.

When it is wrong: a parameter that two layers share counts for the first of them, and is ready when
the last has added its part. Layers whose backward overlaps (branches) get the time between their
ends. On a CPU, where there are no events, times are those of the host.
"""
import argparse
import datetime
import json
import statistics
import sys
import time


# ---- what needs no PyTorch

def medians(steps):
    """Lists of boundaries, one per step, as one list of medians."""
    if len({len(step) for step in steps}) != 1:
        raise ValueError("steps have different numbers of layers: the model is not the same each time")
    return [statistics.median(values) for values in zip(*steps)]


def durations(boundaries, start):
    """Times between successive boundaries; one that lies before its predecessor takes none."""
    answer = []
    last = start
    for boundary in boundaries:
        answer.append(max(0.0, boundary - last))
        last = max(last, boundary)
    return answer


def time_text(ms):
    return f"{round(ms * 1000, 3):.12g} us"


def layers_of(names, tensors, forward_ms, ready_ms, backward_start_ms):
    """The layers of a trace. Lists are in forward order: the names, the parameter counts of each
    layer's tensors, when its forward ended, and when its last gradient was ready (None: it has none
    and no backward of its own). Times are from the start of the step, in ms."""
    # A layer without a boundary in backward ends with the layer after it.
    ready = list(ready_ms)
    last = backward_start_ms
    for i in reversed(range(len(ready))):
        if ready[i] is None or ready[i] < last:
            ready[i] = last
        last = ready[i]
    forward = durations(forward_ms, 0.0)
    backward = list(reversed(durations(list(reversed(ready)), backward_start_ms)))
    layers = []
    for i, name in enumerate(names):
        layer = {"name": name, "parameters": sum(tensors[i]), "forward": time_text(forward[i]),
                 "backward": time_text(backward[i]), "ready": time_text(ready[i])}
        if tensors[i]:
            layer["tensors"] = tensors[i]
        layers.append(layer)
    return layers


def unique_names(names):
    """Names that occur again get a number, as layers of a trace have different ones."""
    seen = {}
    answer = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        answer.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return answer


def trace_of(about, layers, update_ms, steps):
    trace = {"schema": "sgdsim/trace/1"}
    trace.update(about)
    trace["source"] = (f"Recorded by calibrate/trace_layers.py: medians of {steps} steps after "
                       "warm-up, random data.")
    trace["update"] = time_text(update_ms)
    trace["bytes_per_parameter"] = about.get("bytes_per_parameter", 4)
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


class Recorder:
    """Hooks on every layer and every parameter of a model; one step at a time."""

    def __init__(self, model, clock):
        self.clock = clock
        self.order = []  # layers, by their first call
        self.names = {}
        self.parameters = {}
        self.forward = {}
        self.ready = {}
        taken = set()
        for name, module in model.named_modules():
            if any(True for _ in module.children()):
                continue
            self.names[module] = name or type(module).__name__
            own = [p for p in module.parameters(recurse=False) if p.requires_grad and p not in taken]
            taken.update(own)
            self.parameters[module] = own
            module.register_forward_hook(self._after_forward)
            for parameter in own:
                parameter.register_post_accumulate_grad_hook(self._gradient_hook(module))
        # Parameters that stand beside children (a class token) form a layer of their own at the front.
        self.loose = [p for p in model.parameters() if p.requires_grad and p not in taken]
        for parameter in self.loose:
            parameter.register_post_accumulate_grad_hook(self._gradient_hook(None))

    def _after_forward(self, module, _inputs, _output):
        if module not in self.forward:
            if module not in self.order:
                self.order.append(module)
        self.forward[module] = self.clock.now()

    def _gradient_hook(self, module):
        def hook(_parameter):
            self.ready[module] = self.clock.now()
        return hook

    def step(self, run_forward, run_backward, run_update):
        """Boundaries of one step in ms: forward ends, ready times, start of backward, update."""
        self.forward.clear()
        self.ready.clear()
        self.clock.finish()
        start = self.clock.now()
        loss = run_forward()
        backward_start = self.clock.now()
        run_backward(loss)
        backward_end = self.clock.now()
        run_update()
        end = self.clock.now()
        self.clock.finish()
        ms = lambda moment: self.clock.ms_between(start, moment)
        modules = ([None] if self.loose else []) + self.order
        forward = [ms(self.forward[m]) if m is not None else 0.0 for m in modules]
        ready = [ms(self.ready[m]) if m in self.ready else None for m in modules]
        return forward, ready, ms(backward_start), self.clock.ms_between(backward_end, end)

    def layer_names(self):
        return unique_names((["parameters"] if self.loose else []) +
                            [self.names[m] for m in self.order])

    def layer_tensors(self):
        loose = [[p.numel() for p in self.loose]] if self.loose else []
        return loose + [[p.numel() for p in self.parameters[m]] for m in self.order]


def make_model(torch, name, batch, sequence, device):
    """A model, and a function that returns the loss of one forward pass."""
    if name in ("bert-base", "gpt2"):
        import transformers
        if name == "bert-base":
            model = transformers.BertForMaskedLM(transformers.BertConfig())
        else:
            model = transformers.GPT2LMHeadModel(transformers.GPT2Config())
        model = model.to(device).train()
        words = torch.randint(0, model.config.vocab_size, (batch, sequence), device=device)
        return model, lambda: model(input_ids=words, labels=words).loss
    import torchvision
    if not hasattr(torchvision.models, name):
        raise SystemExit(f"trace_layers.py: unknown model {name}; known: bert-base, gpt2 and those of "
                         "torchvision.models")
    model = getattr(torchvision.models, name)(weights=None).to(device).train()
    side = 299 if name == "inception_v3" else 224
    images = torch.randn(batch, 3, side, side, device=device)
    labels = torch.randint(0, 1000, (batch,), device=device)
    loss = torch.nn.CrossEntropyLoss()

    def forward():
        output = model(images)
        return loss(output if torch.is_tensor(output) else output.logits, labels)
    return model, forward


def record(torch, arguments):
    device = torch.device(arguments.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    model, forward = make_model(torch, arguments.model, arguments.batch, arguments.sequence, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    recorder = Recorder(model, Clock(torch, device))

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    steps = []
    for number in range(arguments.warm_up + arguments.steps):
        step = recorder.step(forward, lambda loss: loss.backward(), update)
        if number >= arguments.warm_up:
            steps.append(step)
        print(f"trace_layers.py: step {number + 1}", file=sys.stderr)
    has_ready = [moment is not None for moment in steps[0][1]]
    ready = medians([[moment or 0.0 for moment in step[1]] for step in steps])
    layers = layers_of(recorder.layer_names(), recorder.layer_tensors(),
                       medians([step[0] for step in steps]),
                       [moment if has else None for moment, has in zip(ready, has_ready)],
                       statistics.median(step[2] for step in steps))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    about = {"name": arguments.name or arguments.model, "model": arguments.model,
             "framework": f"PyTorch {torch.__version__}", "device": name,
             "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
             "batch": arguments.batch}
    return trace_of(about, layers, statistics.median(step[3] for step in steps), len(steps))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="resnet50, vgg16, ..., bert-base, gpt2")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--sequence", type=int, default=128, help="words per sample")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--device", help="cuda, cuda:1 or cpu; default the first GPU")
    parser.add_argument("--name", help="of the trace; default the model's")
    parser.add_argument("--out", default="-", help="the trace file; default standard output")
    arguments = parser.parse_args()
    for name in ("batch", "sequence", "steps"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name}: expected at least 1")
    try:
        import torch
    except ImportError:
        print("trace_layers.py: PyTorch is not installed", file=sys.stderr)
        return 2
    text = text_of(record(torch, arguments))
    if arguments.out == "-":
        sys.stdout.write(text)
    else:
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
