"""Tests of calibrate/trace_layers.py. Those of the recorder itself need PyTorch and skip without it."""
import argparse
import collections
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "calibrate"))
import trace_layers  # noqa: E402
import traced_step  # noqa: E402
from traced_step_test import Fake  # noqa: E402

HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_TORCHVISION = HAS_TORCH and importlib.util.find_spec("torchvision") is not None


class Ticks:
    """A clock that shows the next of these moments whenever it is looked at, and what was done with it."""

    def __init__(self, moments):
        self.moments = iter(moments)
        self.done = []

    def now(self):
        self.done.append("now")
        return next(self.moments)

    def ms_between(self, start, end):
        self.done.append("read")
        return end - start

    def finish(self):
        self.done.append("finish")


class FakeLoss:
    def __init__(self, backward=lambda: None):
        self.backward = backward


class Hooks:
    """What PyTorch calls, and can be told not to."""

    def __init__(self):
        self.hooks = []

    def register(self, hook):
        self.hooks.append(hook)
        return argparse.Namespace(remove=lambda: self.hooks.remove(hook))

    def fire(self, *words):
        for hook in self.hooks:
            hook(self, *words)


class FakeParameter(Hooks):
    register_post_accumulate_grad_hook = Hooks.register
    accumulate = Hooks.fire

    def numel(self):
        return 1


class FakeModule(Hooks):
    """A module with one parameter."""
    register_forward_hook = Hooks.register

    def __init__(self):
        super().__init__()
        self.weight = FakeParameter()

    def call(self):
        self.fire("inputs", "output")

    def parameters(self, recurse):
        return [self.weight]


class Pure(unittest.TestCase):
    def test_medians(self):
        self.assertEqual(trace_layers.medians([[1, 5], [2, 9], [9, 7]]), [2, 7])

    def test_durations_never_go_back(self):
        self.assertEqual(trace_layers.durations([2, 5, 4, 7], 1), [1, 3, 0, 2])

    # Layer 1 is called twice: 1 to 3 ms and 6 to 10 ms. From 11 ms on there is only the loss.
    def test_forward_times(self):
        self.assertEqual(trace_layers.forward_times(3, [0, 1, 2, 1, 0], [1, 3, 6, 10, 11], 15),
                         [1 + 5, 2 + 4, 3])

    # Forward takes 1, 2 and 1 ms; backward starts at 5; ready at 12, none, 7.
    def test_layers(self):
        layers = trace_layers.layers_of(["a", "relu", "b"], [[6, 2], [], [3]], [1.0, 2.0, 1.0],
                                        [12.0, None, 7.0], 5.0)
        self.assertEqual([l["forward"] for l in layers], ["1000 us", "2000 us", "1000 us"])
        self.assertEqual([l["backward"] for l in layers], ["5000 us", "0 us", "2000 us"])
        self.assertEqual([l["ready"] for l in layers], ["12000 us", "7000 us", "7000 us"])
        self.assertEqual([l["parameters"] for l in layers], [8, 0, 3])
        self.assertNotIn("tensors", layers[1])

    def test_a_gradient_that_is_ready_early_waits_for_the_layers_after_it(self):
        layers = trace_layers.layers_of(["a", "b"], [[1], [1]], [1.0, 2.0], [6.0, 8.0], 3.0)
        self.assertEqual([l["ready"] for l in layers], ["8000 us", "8000 us"])
        self.assertEqual([l["backward"] for l in layers], ["0 us", "5000 us"])

    # A step is one loop, with hooks or without: forward from 1 to 4, backward to 9, update to 11.
    def test_plain_steps(self):
        clock = Ticks([1, 4, 9, 11] * 2)
        steps = trace_layers.run_steps(trace_layers.Recorder([], clock), 2, FakeLoss, lambda: None)
        self.assertEqual([step.step_ms for step in steps], [10, 10])
        self.assertEqual(steps[0].update_ms, 2)
        plain = trace_layers.plain_of({"notes": ["precision tf32"]}, steps)
        self.assertEqual(plain, {"notes": ["precision tf32"], "step_ms": 10, "steps_ms": [10, 10]})

    # The device is waited for before the first step and after the last, and read only then.
    def test_no_step_waits_for_the_device(self):
        clock = Ticks(range(100))
        trace_layers.run_steps(trace_layers.Recorder([], clock), 3, FakeLoss, lambda: None)
        self.assertEqual(clock.done, ["finish", *["now"] * 4 * 3, "finish", *["read"] * 3 * 3])

    # Forward: start 0, a ends at 1, b at 2, backward from 3. Both are called again; b is ready at 4, a
    # at 5; backward ends at 6, the update at 7.
    def test_calls_in_the_backward_pass_are_no_forward_time(self):
        a, b = FakeModule(), FakeModule()
        layers = [trace_layers.Layer("a", a, [a.weight]), trace_layers.Layer("b", b, [b.weight])]

        def forward():
            a.call()
            b.call()
            return FakeLoss(lambda: (a.call(), b.call(), b.weight.accumulate(), a.weight.accumulate()))
        recorder = trace_layers.Recorder(layers, Ticks(range(8)))
        step, = trace_layers.run_steps(recorder, 1, forward, lambda: None)
        self.assertEqual(step, trace_layers.Step([0, 1], [1, 2], 3, [5, 4], 1, 7, repeated=2))
        trace = trace_layers.layers_of_steps(layers, [step])
        self.assertEqual([layer["forward"] for layer in trace], ["1000 us", "2000 us"])
        self.assertEqual([layer["backward"] for layer in trace], ["1000 us", "1000 us"])
        recorder.remove_hooks()
        self.assertEqual([a.hooks, b.hooks, a.weight.hooks, b.weight.hooks], [[], [], [], []])

    def test_a_step_that_accumulates_while_it_goes_forward_is_refused(self):
        a = FakeModule()

        def forward():
            a.call()
            a.weight.accumulate()
            return FakeLoss()
        recorder = trace_layers.Recorder([trace_layers.Layer("a", a, [a.weight])], Ticks(range(1, 9)))
        with self.assertRaisesRegex(trace_layers.BadInput, "calls backward itself: .*micro-batch"):
            trace_layers.run_steps(recorder, 1, forward, lambda: None)

    # A parameter of one use is accumulated once; one of two uses twice, if the backward pass calls
    # modules again (in parts of its own), and else only if there are several backward passes.
    def test_gradients_that_are_accumulated_twice(self):
        a, b = FakeModule(), FakeModule()
        model = Fake(modules=[("a", a), ("b", b)], parameters=[("a", a.weight), ("b", b.weight)])
        for accumulated, calls, repeated, is_right in (
                ({"a": 1, "b": 1}, {a: 1, b: 2}, {}, True), ({"a": 1, "b": 2}, {a: 1, b: 2}, {b: 2}, True),
                ({"a": 1, "b": 2}, {a: 1, b: 2}, {}, False), ({"a": 2, "b": 1}, {a: 1, b: 2}, {b: 2}, False)):
            count = collections.Counter
            check = lambda: trace_layers.check_accumulated_once(
                model, count(accumulated), count(calls), count(calls) + count(repeated))
            if is_right:
                check()
                continue
            with self.assertRaisesRegex(trace_layers.BadInput, "accumulated 2 times .*micro-batch"):
                check()

    def test_a_layer_that_the_recorded_steps_do_not_call_is_refused(self):
        layers = [trace_layers.Layer(name, None, []) for name in "ab"]
        step = trace_layers.Step([0], [1], 3, [None, None], 1, 7, repeated=0)
        with self.assertRaisesRegex(trace_layers.BadInput, "does not call the same layers"):
            trace_layers.layers_of_steps(layers, [step])

    def steps(self, *steps_ms, repeated=0):
        return [trace_layers.Step([], [], 0, [], 0, ms, repeated) for ms in steps_ms]

    # The medians are 102 and 100 ms.
    def test_what_recording_costs(self):
        percent, note = trace_layers.cost_of_recording(self.steps(300, 102, 7), self.steps(100))
        self.assertAlmostEqual(percent, 2)
        self.assertEqual(note, "recording costs 2.0 % of a step (102.000 ms with hooks, 100.000 ms "
                               "without)")

    # Hooks cannot make a step shorter by much: then it is the machine.
    def test_a_high_cost_is_a_warning(self):
        for ms, is_far, is_hooks in ((102.9, False, False), (103.1, True, True), (97.1, False, False),
                                     (96.9, True, False)):
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                note = trace_layers.cost_note(lambda: self.steps(100), self.steps(ms))
            self.assertIn(note, said.getvalue())
            self.assertEqual("warning: " in said.getvalue(), is_far)
            self.assertEqual("the machine was not quiet" in said.getvalue(), is_far)
            self.assertEqual("layers with short kernels" in said.getvalue(), is_hooks)

    def test_the_record_outlives_plain_steps_that_fail(self):
        for error, reason in ((RuntimeError("no memory\nat all"), "no memory"),
                              (KeyboardInterrupt(), "KeyboardInterrupt")):
            def fail():
                raise error  # pylint: disable=cell-var-from-loop
            with contextlib.redirect_stderr(io.StringIO()):
                note = trace_layers.cost_note(fail, self.steps(100))
            self.assertEqual(note, f"recording costs an unknown part of a step: {reason}")

    def test_repeated_calls_are_a_note(self):
        self.assertEqual(trace_layers.repeated_notes(self.steps(1, 1)), [])
        note, = trace_layers.repeated_notes(self.steps(1, 1, repeated=12))
        self.assertIn("the backward pass repeats 12 calls of layers", note)

    def test_text_is_json(self):
        layers = trace_layers.layers_of(["a", "b"], [[1], [1]], [1.0, 2.0], [8.0, 6.0], 3.0)
        trace = trace_layers.trace_of({"name": "two", "batch": 4}, layers, 0.5, 3)
        self.assertEqual(json.loads(trace_layers.text_of(trace)), trace)


PROGRAM = os.path.join(ROOT, "calibrate", "trace_layers.py")


def said_by(*arguments, **environment):
    """What the recorder prints on bad input; it must exit with 2."""
    ran = subprocess.run([sys.executable, "-B", PROGRAM, *arguments], capture_output=True, text=True,
                         env={**os.environ, **environment}, check=False)
    if ran.returncode != 2 or ran.stdout or "Traceback" in ran.stderr:
        raise AssertionError(f"exit code {ran.returncode}: {ran.stdout}{ran.stderr}")
    return ran.stderr


class Ends(unittest.TestCase):
    """Programs that end while a GPU, for which a stand-in of PyTorch speaks, does something or other.
    An ordinary end says so, as one that waits for a kernel could not."""

    def end(self, synchronize, run, out=subprocess.PIPE):
        text = f"""
import argparse, atexit, sys, threading
sys.path.insert(0, {os.path.join(ROOT, "calibrate")!r})
import trace_layers
def synchronize(device): {synchronize}
sys.modules["torch"] = argparse.Namespace(cuda=argparse.Namespace(
    is_initialized=lambda: True, current_device=lambda: 3, synchronize=synchronize))
atexit.register(lambda: print("ordinary end", file=sys.stderr))
def run():
    {run}
trace_layers.leave(run, within_s=0.2)
"""
        return subprocess.run([sys.executable, "-B", "-c", text], stdout=out, stderr=subprocess.PIPE,
                              text=True, check=False)

    SPINS = "threading.Event().wait()"

    def test_an_idle_gpu(self):
        ran = self.end("assert device == 3", "print('out'); return 2")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (2, "out\n", "ordinary end\n"))

    def test_a_kernel_that_spins_or_a_gpu_that_is_lost(self):
        for synchronize in (self.SPINS, "raise RuntimeError('lost')"):
            for run, code, said in (("trace_layers.write('out', '-'); return 0", 0, ""),
                                    ("print('out', end=''); return 2", 2, ""),
                                    ("print('out', end=''); raise ValueError('wrong')", 1, "wrong"),
                                    ("print('out', end=''); raise KeyboardInterrupt", 130,
                                     "interrupted")):
                ran = self.end(synchronize, run)
                self.assertEqual((ran.returncode, ran.stdout), (code, "out"), ran.stderr)
                self.assertIn(said, ran.stderr)
                self.assertIn("the GPU does not become idle", ran.stderr)
                self.assertNotIn("ordinary end", ran.stderr)

    def test_a_file_is_whole_before_the_end(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "trace.json")
            self.end(self.SPINS, f"trace_layers.write('x' * 100_000, {file!r})")
            self.assertEqual(os.path.getsize(file), 100_000)

    def test_what_is_no_file_can_be_written_to(self):
        for name in ("/dev/null", "/dev/stdout"):
            trace_layers.write("", name)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_a_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            ran = self.end("pass", "trace_layers.write('out', '-')", out=full)
        self.assertIn("standard output: cannot be written: No space left on device", ran.stderr)
        self.assertEqual(ran.returncode, 1)
        with self.assertRaisesRegex(trace_layers.BadInput, "/dev/full: cannot be written: No space"):
            trace_layers.write("out", "/dev/full")


class BadInput(unittest.TestCase):
    def test_numbers_out_of_range(self):
        for option in ("--batch=0", "--sequence=0", "--steps=0", "--warm-up=-1"):
            self.assertIn("expected at least", said_by("resnet18", option))

    def test_options(self):
        self.assertIn("--plain and --no-plain-steps exclude each other",
                      said_by("resnet18", "--plain", "--no-plain-steps"))
        self.assertIn("invalid choice: 'fused'", said_by("resnet18", "--optimizer", "fused"))

    def test_a_file_that_cannot_be_written(self):
        for file in ("no/such/folder/trace.json", ROOT):
            self.assertIn("cannot be written", said_by("resnet18", "--out", file))

    # A package of that name which fails as one that is missing does.
    def test_without_pytorch(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
                file.write("raise ModuleNotFoundError(name='torch')\n")
            self.assertEqual(said_by("resnet18", PYTHONPATH=folder),
                             "trace_layers.py: PyTorch is not installed\n")


def tied_language_model(torch):
    """Shaped as GPT-2 and BERT: the weight of the embedding is that of the last layer too, whose bias
    the module around it holds as well; one activation serves several times, and a table of
    parameters stands beside modules."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.places = nn.Parameter(torch.randn(6, 8))
            self.words = nn.Embedding(10, 8)
            self.wide = nn.Linear(8, 16)
            self.act = nn.ReLU()
            self.narrow = nn.Linear(16, 8)
            self.bias = nn.Parameter(torch.zeros(10))
            self.head = nn.Linear(8, 10)
            self.head.weight = self.words.weight
            self.head.bias = self.bias

        def forward(self, words):
            x = self.words(words) + self.places
            x = self.act(self.narrow(self.act(self.wide(x))))
            return self.head(x)
    return Model()


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class WithTorch(unittest.TestCase):
    def record(self, model, data, count=1):
        """Layers, parameters without a gradient, steps and the layers of the trace."""
        import torch
        forward = lambda: model(data).sum()
        layers, left_out = trace_layers.find_layers(model, forward)
        recorder = trace_layers.Recorder(layers, trace_layers.Clock(torch, torch.device("cpu")))
        steps = trace_layers.run_steps(recorder, count, forward,
                                       lambda: model.zero_grad(set_to_none=True))
        return layers, left_out, steps, trace_layers.layers_of_steps(layers, steps)

    def sizes(self, layers):
        return {layer.name: [p.numel() for p in layer.parameters] for layer in layers}

    def test_a_small_model_on_the_cpu(self):
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
        layers, left_out, steps, _ = self.record(model, torch.randn(4, 8))
        self.assertEqual([layer.name for layer in layers], ["0", "1", "2"])
        self.assertEqual(self.sizes(layers), {"0": [128, 16], "1": [], "2": [32, 2]})
        self.assertEqual(left_out, 0)
        step = steps[0]
        self.assertEqual(step.calls, [0, 1, 2])
        self.assertTrue(0 < step.call_ms[0] <= step.call_ms[1] <= step.call_ms[2])
        self.assertLessEqual(step.call_ms[2], step.backward_start_ms)
        self.assertTrue(step.backward_start_ms <= step.ready_ms[2] <= step.ready_ms[0])
        self.assertIsNone(step.ready_ms[1])
        self.assertGreaterEqual(step.update_ms, 0)

    def test_the_times_of_the_layers_add_up(self):
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
        _, _, steps, layers = self.record(model, torch.randn(4, 8))
        us = lambda field: sum(float(layer[field].split()[0]) for layer in layers)
        rounding_us = 1e-3 * len(layers)
        self.assertAlmostEqual(us("forward"), 1e3 * steps[0].backward_start_ms, delta=rounding_us)
        self.assertAlmostEqual(us("forward") + us("backward"), 1e3 * steps[0].ready_ms[0],
                               delta=2 * rounding_us)

    def test_a_tied_weight_counts_once_and_is_ready_last(self):
        import torch
        model = tied_language_model(torch)
        words = torch.randint(0, 10, (3, 6))
        layers, _, steps, _ = self.record(model, words, count=3)
        self.assertEqual(self.sizes(layers),
                         {"Model": [48], "words": [80], "wide": [128, 16], "act": [],
                          "narrow": [128, 8], "head": [10]})
        self.assertEqual(steps[0].calls, [1, 2, 3, 4, 3, 5, 0])
        for step in steps:
            places, embedding, wide, act, narrow, head = step.ready_ms
            self.assertTrue(step.backward_start_ms < head < narrow < wide < embedding)
            self.assertLess(wide, places)
            self.assertIsNone(act)

    # When the hook runs, the gradient must hold what both layers add.
    def test_a_tied_gradient_is_complete_when_it_is_ready(self):
        import torch
        model = tied_language_model(torch)
        words = torch.randint(0, 10, (3, 6))
        model(words).sum().backward()
        expected = model.words.weight.grad.clone()
        model.zero_grad(set_to_none=True)
        seen = []
        kept = trace_layers.after_accumulation(model.words.weight,
                                               lambda: seen.append(model.words.weight.grad.clone()))
        model(words).sum().backward()
        self.assertIsNotNone(kept)
        self.assertEqual(len(seen), 1)
        self.assertTrue(torch.allclose(seen[0], expected))

    def test_parameters_of_modules_that_are_not_called(self):
        import torch

        class Attention(torch.nn.Module):  # the projection is used, but not called
            def __init__(self):
                super().__init__()
                self.scale = torch.nn.Parameter(torch.ones(4))
                self.project = torch.nn.Linear(4, 4)

            def forward(self, x):
                return torch.nn.functional.linear(x * self.scale, self.project.weight,
                                                  self.project.bias)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), Attention())
        layers, _, steps, _ = self.record(model, torch.randn(2, 4))
        self.assertEqual(self.sizes(layers), {"0": [16, 4], "1": [4, 16, 4]})
        self.assertLess(steps[0].ready_ms[1], steps[0].ready_ms[0])

    def test_frozen_and_unused_parameters(self):
        import torch

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Linear(4, 4).requires_grad_(False)
                self.norm = torch.nn.BatchNorm1d(4)
                self.never = torch.nn.Linear(4, 5)
                self.aside = torch.nn.Linear(4, 3)

            def forward(self, x):
                x = self.norm(self.first(x))
                self.aside(x)
                return x
        layers, left_out, steps, trace = self.record(Model(), torch.randn(8, 4))
        self.assertEqual(self.sizes(layers), {"first": [], "norm": [4, 4], "aside": []})
        self.assertEqual(left_out, 25 + 15)  # of never and aside; frozen ones are meant so
        self.assertEqual([layer["parameters"] for layer in trace], [0, 8, 0])
        self.assertEqual(trace[0]["backward"], "0 us")
        self.assertEqual(steps[0].ready_ms[0], None)

    # PyTorch may end the last call of a checkpoint early, once it has what the backward pass needs.
    def test_activations_that_are_computed_again(self):
        import torch
        import torch.utils.checkpoint

        class Model(torch.nn.Module):
            def __init__(self, is_reentrant):
                super().__init__()
                self.first = torch.nn.Linear(4, 4)
                self.block = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(),
                                                 torch.nn.Linear(8, 4))
                self.is_reentrant = is_reentrant

            def forward(self, x):
                for _ in range(2):  # reentrant: its parameters get their gradients in two parts
                    x = torch.utils.checkpoint.checkpoint(self.block, self.first(x),
                                                          use_reentrant=self.is_reentrant)
                return x
        for is_reentrant in (False, True):
            layers, left_out, steps, trace = self.record(Model(is_reentrant), torch.randn(2, 4), 2)
            self.assertEqual(left_out, 0)
            self.assertEqual(self.sizes(layers), {"first": [16, 4], "block.0": [32, 8], "block.1": [],
                                                  "block.2": [32, 4]})
            for step in steps:
                self.assertEqual(step.calls, [0, 1, 2, 3] * 2)
                self.assertIn(step.repeated, (2 * 2, 2 * 3))
                self.assertLess(step.call_ms[-1], step.backward_start_ms)
                self.assertEqual([moment is None for moment in step.ready_ms], [False, False, True, False])
            self.assertTrue(all(layer["forward"] != "0 us" for layer in trace))

    def test_hooks_can_be_removed(self):
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
        clock = Ticks(range(100))
        layers, _ = trace_layers.find_layers(model, lambda: model(torch.ones(2, 4)).sum())
        trace_layers.Recorder(layers, clock).remove_hooks()
        model(torch.ones(2, 4)).sum().backward()
        self.assertEqual(clock.done, [])

    def test_a_model_that_changes_from_step_to_step(self):
        import torch

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)
                self.calls = 0

            def forward(self, x):
                self.calls += 1
                for _ in range(self.calls):
                    x = self.layer(x)
                return x
        with self.assertRaises(trace_layers.BadInput):
            self.record(Model(), torch.randn(2, 4), count=2)

    def own(self, text, *arguments):
        """What the recorder does with a model of this text; the trace, or what it says."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "mine.py"), "w", encoding="utf-8") as file:
                file.write("import torch\n" + text)
            ran = subprocess.run([sys.executable, "-B", PROGRAM, "mine:make", "--device", "cpu",
                                  "--steps", "2", "--warm-up", "0", "--batch", "3", *arguments],
                                 capture_output=True, text=True, cwd=folder, check=False)
        return json.loads(ran.stdout) if ran.returncode == 0 else (ran.returncode, ran.stderr)

    MODEL = ("def make(batch, device):\n"
             "  model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Linear(5, 2)).to(device)\n"
             "  data = torch.randn(batch, 4, device=device)\n"
             "  return model, lambda: model(data).sum()\n")

    def test_own_models_in_every_precision(self):
        for precision, gradient_B in traced_step.PRECISIONS.items():
            trace = self.own(self.MODEL, "--precision", precision)
            self.assertEqual([layer["parameters"] for layer in trace["layers"]], [25, 12])
            self.assertEqual(trace["bytes_per_parameter"], gradient_B)
            self.assertEqual(trace["notes"][:-1], [f"precision {precision}"])
            self.assertRegex(trace["notes"][-1], r"^recording costs -?\d+\.\d % of a step \(\d")
            self.assertEqual(trace["batch"], 3)
            plain = self.own(self.MODEL, "--precision", precision, "--plain")
            self.assertEqual(plain["notes"], trace["notes"][:-1])
            self.assertEqual(len(plain["steps_ms"]), 2)
        trace = self.own(self.MODEL, "--no-plain-steps")
        self.assertEqual(trace["notes"], ["precision float32"])

    # As models of transformers have it.
    def test_checkpointing_of_own_models(self):
        code, said = self.own(self.MODEL, "--checkpoint")
        self.assertEqual(code, 2)
        self.assertIn("--checkpoint: the model has no gradient_checkpointing_enable()", said)
        text = ("from torch.utils.checkpoint import checkpoint\n"
                "class Model(torch.nn.Sequential):\n"
                "  def gradient_checkpointing_enable(self):\n"
                "    self.is_on = True\n"
                "  def forward(self, x):\n"
                "    return checkpoint(super().forward, x, use_reentrant=False)\n" +
                self.MODEL.replace("torch.nn.Sequential", "Model"))
        trace = self.own(text, "--checkpoint", "--no-plain-steps")
        self.assertEqual(trace["notes"][:-1], ["precision float32", "activation checkpointing"])
        self.assertRegex(trace["notes"][-1], "^recomputation: the backward pass repeats [12] calls")
        plain = self.own(text, "--checkpoint", "--plain")
        self.assertEqual(plain["notes"], trace["notes"][:-1])

    # PyTorch fuses it on CPUs since 2.4.
    def test_optimizers_of_own_models(self):
        import torch
        trace = self.own(self.MODEL, "--optimizer", "adamw", "--no-plain-steps")
        self.assertEqual(trace["notes"], ["precision float32", "optimizer adamw"])
        fused = self.own(self.MODEL, "--optimizer", "adamw-fused", "--no-plain-steps")
        if tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 4):
            self.assertEqual(fused["notes"], ["precision float32", "optimizer adamw-fused"])
        else:
            self.assertEqual(fused[0], 2)
            self.assertIn("cannot fuse AdamW on cpu", fused[1])
            self.assertNotIn("Traceback", fused[1])

    def test_own_models_that_cannot_be_recorded(self):
        for text, sentence in (("", "the module mine has no make"),
                               ("def make(batch, device): return 3\n", "must return a model and"),
                               (self.MODEL.replace("def make", "def made") +
                                "def make(batch, device):\n"
                                "  model, loss = made(batch, device)\n"
                                "  return torch.nn.DataParallel(model), loss\n",
                                "it is wrapped in DataParallel"),
                               (self.MODEL.replace("model(data).sum()", "accumulate(model, data)") +
                                "def accumulate(model, data):\n"
                                "  for sample in data:\n"
                                "    loss = model(sample).sum()\n"
                                "    loss.backward()\n"
                                "  return loss\n", "the loss function calls backward itself: accumul"),
                               (self.MODEL.replace("model(data).sum()", "Losses(model, data)") +
                                "class Losses:\n"
                                "  def __init__(self, model, data):\n"
                                "    self.all = [model(sample).sum() for sample in data]\n"
                                "  def backward(self):\n"
                                "    for loss in self.all:\n"
                                "      loss.backward()\n",
                                "the gradient of 0.weight is accumulated 3 times in a step: accumul"),
                               (self.MODEL.replace("model(data).sum()", "model(data).sum().item()"),
                                "the loss function must return the loss, got float")):
            code, said = self.own(text)
            self.assertEqual(code, 2, said)
            self.assertIn(sentence, said)
            self.assertNotIn("Traceback", said)

    def test_what_pytorch_refuses(self):
        self.assertIn("expected cpu, cuda or cuda:N, got abacus",
                      said_by("resnet18", "--device", "abacus"))
        self.assertIn("there is no GPU 99", said_by("resnet18", "--device", "cuda:99"))

    @unittest.skipUnless(HAS_TORCHVISION, "torchvision is not installed")
    def test_models_of_torchvision(self):
        import torch
        import torchvision
        self.assertIn("unknown model resnet;", said_by("resnet"))
        self.assertIn("inception_v3 cannot be trained with a batch of 1",
                      said_by("inception_v3", "--batch", "1"))
        cpu = torch.device("cpu")
        # Residuals with an activation used twice; an auxiliary loss; attention.
        for name in ("resnet18", "googlenet", "vit_b_32"):
            asked = argparse.Namespace(model=name, batch=2, sequence=1, channels_last=True)
            model, forward = traced_step.make_model(torch, asked, cpu)
            layers, left_out = trace_layers.find_layers(model, forward)
            reference = torchvision.models.get_model(name, weights=None)
            self.assertEqual(left_out, 0, name)
            self.assertEqual(sorted(p.numel() for layer in layers for p in layer.parameters),
                             sorted(p.numel() for p in reference.parameters()), name)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--sample":  # a trace for sgdsim to read
        sample = trace_layers.layers_of(["a", "relu", "b"], [[6, 2], [], [3]], [1.0, 2.0, 1.0],
                                        [12.0, None, 7.0], 5.0)
        sys.stdout.write(trace_layers.text_of(
            trace_layers.trace_of({"name": "sample", "batch": 4}, sample, 0.5, 3)))
    else:
        unittest.main()
