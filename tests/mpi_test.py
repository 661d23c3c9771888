"""sgdsim-calibrate under a real mpirun: 4 processes on this host, results, fits, and what ends it.

mpi_test.py FOLDER_OF_PROGRAMS. Exit code 77: skipped, with the reason.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN = pathlib.Path(sys.argv[1])
CALIBRATE = BIN / "sgdsim-calibrate"


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def command(processes, *words):
    # Open MPI wants to be told that processes may share cores, and that root is meant.
    return ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(processes),
            str(CALIBRATE), "--mpi", "--backend", "host", *words]


def run(processes, *words, expected):
    ran = subprocess.run(command(processes, *words), capture_output=True, text=True, timeout=300)
    assert ran.returncode == expected, (words, ran.returncode, ran.stdout, ran.stderr)
    return ran.stderr


def check_results():
    # Few, because processes that share cores with others agree slowly.
    for processes, ranks, probes in ((4, "2,4", "collectives,gtopk,copy,overhead"), (4, "7", "collectives"),
                                     (3, "4", "pairs")):
        for sizes in (("4 B", "8 B"), ("100 KiB", "200 KiB")):
            log = run(processes, "--ranks", ranks, "--probe", probes, "--from", sizes[0], "--to", sizes[1],
                      "--verify-only", expected=0)
            assert "results are right" in log and "is wrong" not in log, log


def check_times(folder):
    file = folder / "times.json"
    run(4, "--ranks", "2,4", "-a", "ring,mst", "--from", "1 KiB", "--to", "64 KiB", "--least", "6", "--most",
        "6", "--time-limit", "60 s", "-q", "--out", str(file), expected=0)
    record = json.loads(file.read_text())
    assert record["complete"] is True
    for series in record["series"]:
        used = min(series["ranks"], 4)
        assert series["placement"] == f"{used} process{'es' if used > 1 else ''} on 1 node", series
        assert series["processes"] == used and series["nodes"] == 1, series
        assert all(point["verified"] for point in series["points"])
    subprocess.run([BIN / "sgdsim", "fit", file, "--from-collective", "ring", "--op", "allgather"], check=True,
                   capture_output=True, timeout=60)


def end_with(folder, name, end):
    """What `end(mpirun)` does to a long measurement, once it has begun."""
    file = folder / f"{name}.json"
    process = subprocess.Popen(
        command(4, "--ranks", "4", "-a", "ring", "--to", "1 MiB", "--least", "100000", "--most", "1000000", "--error",
                "0.01", "--time-limit", "100 s", "-q", "--out", str(file)), stderr=subprocess.PIPE, text=True)
    time.sleep(5)
    end(process)
    started = time.time()
    log = process.communicate(timeout=60)[1]
    assert time.time() - started < 10, log
    assert process.returncode != 0, log
    record = json.loads(file.read_text())
    assert record["complete"] is False and record["series"], record["notes"]
    return log


def kill_last(process):
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ours = [child for child in map(int, children)
            if "sgdsim-calibrate" in pathlib.Path(f"/proc/{child}/cmdline").read_text()]
    os.kill(ours[-1], signal.SIGKILL)


def main():
    if not shutil.which("mpirun"):
        skip("mpirun is missing; the Debian packages are libopenmpi-dev and openmpi-bin")
    version = subprocess.run([CALIBRATE, "--version"], capture_output=True, text=True, check=True).stdout
    if "MPI yes" not in version:
        skip("sgdsim-calibrate was built without MPI")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_results()
        check_times(folder)
        end_with(folder, "interrupted", lambda process: process.send_signal(signal.SIGINT))
        log = end_with(folder, "killed", kill_last)
        assert "did not answer in time" in log, log
        run(4, "--ranks", "4", "--to", "1 KiB", "--time-limit", "0 s", "--verify-only", expected=3)
        log = run(4, "--ranks", "1", expected=2)
        assert log.count("--ranks: expected whole numbers") == 1, log
        log = run(2, "--to", "1 KiB", "--out", str(folder / "no" / "m.json"), expected=2)
        assert log.count("cannot be written") == 1, log
    print("mpi: ok")


main()
