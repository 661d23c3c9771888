"""./run calibrate --pack: what it packs starts elsewhere, with nothing but what every machine has.

    pack_test.py BIN_FOLDER
"""
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ""
MOST_B = 40_000_000


def ran(words, folder):
    return subprocess.run(words, cwd=folder, env={}, capture_output=True, text=True, check=False)


class Pack(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.there = pathlib.Path(self.folder.name)
        packed = self.there / "packed.tar.gz"
        said = subprocess.run([ROOT / "run", "calibrate", "--pack", packed, "--bin", BIN],
                              capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertLess(packed.stat().st_size, MOST_B)
        with tarfile.open(packed) as tar:
            tar.extractall(self.there)

    def tearDown(self):
        self.folder.cleanup()

    # In an empty environment, from a folder that holds nothing else.
    def test_the_session_runs_elsewhere(self):
        session = ran([self.there / "first_gpu/run", "calibrate", "--first-gpu", "2", "3", "--backend",
                       "host", "--small", "--out", self.there / "out"], self.there)
        self.assertEqual(session.returncode, 5, session.stdout + session.stderr)
        for part, step in (("2", "overhead"), ("2", "memory"), ("3", "collectives"), ("3", "fit")):
            with tarfile.open(self.there / f"out/part{part}.tar.gz") as tar:
                self.assertIn("schema", json.load(tar.extractfile(f"part{part}/{step}.json")))
        self.assertNotIn("FAILED", session.stdout)

    def test_every_script_finds_what_it_needs(self):
        scripts = sorted((self.there / "first_gpu/calibrate").glob("*.py"))
        self.assertGreaterEqual(len(scripts), 5)
        for script in scripts:
            said = ran([sys.executable, "-B", script, "--help"], self.there)
            self.assertEqual(said.returncode, 0, said.stderr)

    def test_programs_bring_the_libraries_of_cpp_along(self):
        for name in ("sgdsim", "sgdsim-calibrate"):
            program = self.there / "first_gpu/bin" / name
            self.assertTrue(ran([program, "--version"], self.there).stdout.startswith(name))
            content = program.read_bytes()
            for library in (b"libstdc++.so", b"libgcc_s.so", b"libpugixml.so"):
                self.assertNotIn(library, content, name)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
