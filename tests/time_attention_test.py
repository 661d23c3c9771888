"""Tests of calibrate/time_attention.py. A stand-in takes the place of PyTorch."""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PROGRAM = os.path.join(ROOT, "calibrate", "time_attention.py")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(PROGRAM))
SPEC = importlib.util.spec_from_file_location("time_attention", PROGRAM)
time_attention = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(time_attention)

SHAPE = argparse.Namespace(batch=2, heads=8, head_size=64, type="bfloat16", kernel="any")


def sample():
    """An H100 (989 TFLOP/s) at a half of its peak forward, and at two fifths backward."""
    def samples(sequence):
        flop = 2 * 8 * 64 * sequence**2
        return {"forward": [2 * flop / 494.5e12 * 1e3], "backward": [5 * flop / 395.6e12 * 1e3]}
    return time_attention.measurement_of(SHAPE, {"device": "invented H100"},
                                         {s: samples(s) for s in (4096, 8192)})


class Pure(unittest.TestCase):
    # 4 positions see 1 + 2 + 3 + 4 scores, and so on; of a large square that is a half.
    def test_flop_of_a_small_head_by_drawing(self):
        sequence, head_size = 1024, 2
        scores = sum(range(1, sequence + 1))
        counted = 2 * 2 * head_size * scores  # two products, a multiplication and an addition each
        flop = time_attention.flop_of("forward", 1, 1, head_size, sequence)
        self.assertAlmostEqual(flop / counted, 1, delta=1 / sequence)
        self.assertEqual(time_attention.flop_of("backward", 3, 7, 64, 512),
                         2.5 * time_attention.flop_of("forward", 3, 7, 64, 512))

    def test_size(self):
        self.assertEqual(time_attention.size_of(2, 8, 64, 100, 2), 4 * 2 * 8 * 64 * 100 * 2)

    def test_sequences(self):
        self.assertEqual(time_attention.sequences_of("8, 4,8"), [4, 8])
        for text in ("", "0", "-4", "4,", "4.5", "1e3", "99999999", "\u0664", "a"):
            with self.assertRaises(time_attention.BadInput, msg=text):
                time_attention.sequences_of(text)

    def test_a_point_is_the_median(self):
        point = time_attention.point_of(SHAPE, "forward", 16, [3.0, 1.0, 2.0])
        self.assertEqual(point["time_us"], 2000)
        self.assertEqual(point["samples_us"], [3000, 1000, 2000])
        with self.assertRaises(time_attention.BadInput):
            time_attention.point_of(SHAPE, "forward", 16, [0.0])


# As far as the program uses PyTorch. Attention takes 2 ms and its gradients 4 ms at least, and
# there is no memory for more than 64 positions.
STAND_IN = """
import time
from types import SimpleNamespace
__version__ = "0.0"
bfloat16 = float16 = float32 = None
class device:
    def __init__(self, text):
        if text not in ("cpu", "cuda"): raise RuntimeError("Expected one of cpu, cuda")
        self.type, self.index = text, None
class Tensor:
    def __init__(self, shape): self.shape = shape
    def requires_grad_(self): return self
def randn(*shape, device, dtype): return Tensor(shape)
def get_num_threads(): return 3
def attention(queries, keys, values, is_causal):
    assert is_causal and queries.shape == keys.shape == values.shape
    if queries.shape[2] > 64: raise RuntimeError("not enough memory\\nat line 3")
    time.sleep(0.002)
def gradients(output, operands, gradient):
    assert len(operands) == 3 and gradient.shape == operands[0].shape
    time.sleep(0.004)
cuda = SimpleNamespace(is_available=lambda: False, is_initialized=lambda: False)
nn = SimpleNamespace(functional=SimpleNamespace(scaled_dot_product_attention=attention))
autograd = SimpleNamespace(grad=gradients)
"""


def run(*arguments, torch=STAND_IN):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
            file.write(torch)
        return subprocess.run([sys.executable, "-B", PROGRAM, *arguments], capture_output=True,
                              text=True, env={**os.environ, "PYTHONPATH": folder}, check=False)


class Program(unittest.TestCase):
    def test_what_is_written(self):
        ran = run("--sequence", "64,32", "--batch", "3", "--heads", "4", "--head-size", "16",
                  "--type", "float32", "--steps", "5", "--warm-up", "1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        written = json.loads(ran.stdout)
        self.assertEqual(written["device"], "CPU, 3 threads")
        forward, backward = written["series"]
        self.assertEqual((forward["algorithm"], backward["algorithm"]), ("forward", "backward"))
        for one, products, least_us in ((forward, 2, 2000), (backward, 5, 4000)):
            self.assertEqual(one["note"], "causal, 3 x 4 heads of 16, kernel any")
            self.assertEqual([p["size_B"] for p in one["points"]],
                             [4 * 4 * 3 * 4 * 16 * s for s in (32, 64)])
            self.assertEqual([p["flop"] for p in one["points"]],
                             [products * 3 * 4 * 16 * s * s for s in (32, 64)])
            for point in one["points"]:
                self.assertEqual(len(point["samples_us"]), 5)
                self.assertGreaterEqual(min(point["samples_us"]), least_us)

    def test_what_is_refused_is_one_sentence(self):
        missing = "raise ModuleNotFoundError(name='torch')"
        for arguments, torch, sentence in (
                ([], missing, "PyTorch is not installed"),
                (["--sequence", "32,65"], STAND_IN,
                 "attention over 65 positions cannot be computed: not enough memory"),
                (["--sequence", "no"], STAND_IN,
                 "--sequence: expected lengths as 4096,8192, got no"),
                (["--kernel", "flash"], STAND_IN,
                 "--kernel: PyTorch 0.0 cannot be told to take flash"),
                (["--device", "tpu"], STAND_IN,
                 "--device: expected cpu, cuda or cuda:N, got tpu"),
                (["--out", "no/such/folder/a.json"], STAND_IN,
                 "no/such/folder/a.json: cannot be written")):
            ran = run(*arguments, torch=torch)
            self.assertEqual(ran.returncode, 2)
            self.assertEqual(ran.stdout, "")
            self.assertEqual(ran.stderr.splitlines()[-1], f"time_attention.py: {sentence}")
            self.assertNotIn("Traceback", ran.stderr)

    def test_numbers_out_of_range(self):
        for option in ("--batch=0", "--heads=-1", "--head-size=99999999", "--steps=0",
                       "--warm-up=-1"):
            ran = run(option)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(f"{option.partition('=')[0]}: expected ", ran.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--sample":  # a measurement for sgdsim to read
        json.dump(sample(), sys.stdout)
    else:
        unittest.main()
