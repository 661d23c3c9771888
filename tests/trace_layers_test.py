"""Tests of calibrate/trace_layers.py. Those of the recorder itself need PyTorch and skip without it."""
import importlib.util
import json
import os
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SPEC = importlib.util.spec_from_file_location("trace_layers",
                                              os.path.join(ROOT, "calibrate", "trace_layers.py"))
trace_layers = importlib.util.module_from_spec(SPEC)
sys.dont_write_bytecode = True
SPEC.loader.exec_module(trace_layers)

HAS_TORCH = importlib.util.find_spec("torch") is not None


class Pure(unittest.TestCase):
    def test_medians(self):
        self.assertEqual(trace_layers.medians([[1, 5], [2, 9], [9, 7]]), [2, 7])
        with self.assertRaises(ValueError):
            trace_layers.medians([[1], [1, 2]])

    def test_durations_never_go_back(self):
        self.assertEqual(trace_layers.durations([2, 5, 4, 7], 1), [1, 3, 0, 2])

    # Forward ends at 1, 3 and 4 ms; backward starts at 5; ready at 12, none, 7.
    def test_layers(self):
        layers = trace_layers.layers_of(["a", "relu", "b"], [[6, 2], [], [3]], [1.0, 3.0, 4.0],
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

    def test_names(self):
        self.assertEqual(trace_layers.unique_names(["a", "b", "a"]), ["a", "b", "a#2"])

    def test_text_is_json(self):
        layers = trace_layers.layers_of(["a", "b"], [[1], [1]], [1.0, 2.0], [8.0, 6.0], 3.0)
        trace = trace_layers.trace_of({"name": "two", "batch": 4}, layers, 0.5, 3)
        self.assertEqual(json.loads(trace_layers.text_of(trace)), trace)


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class WithTorch(unittest.TestCase):
    def test_a_small_model_on_the_cpu(self):
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
        recorder = trace_layers.Recorder(model, trace_layers.Clock(torch, torch.device("cpu")))
        forward, ready, start, update = recorder.step(lambda: model(torch.randn(4, 8)).sum(),
                                                      lambda loss: loss.backward(), lambda: None)
        self.assertEqual(recorder.layer_names(), ["0", "1", "2"])
        self.assertEqual(recorder.layer_tensors(), [[128, 16], [], [32, 2]])
        self.assertTrue(0 < forward[0] <= forward[1] <= forward[2] <= start)
        self.assertTrue(start <= ready[2] <= ready[0])
        self.assertIsNone(ready[1])
        self.assertGreaterEqual(update, 0)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--sample":  # a trace for sgdsim to read
        sample = trace_layers.layers_of(["a", "relu", "b"], [[6, 2], [], [3]], [1.0, 3.0, 4.0],
                                        [12.0, None, 7.0], 5.0)
        sys.stdout.write(trace_layers.text_of(
            trace_layers.trace_of({"name": "sample", "batch": 4}, sample, 0.5, 3)))
    else:
        unittest.main()
