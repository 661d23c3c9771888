#!/usr/bin/env python3
"""Times attention as PyTorch computes it, as a measurement (sgdsim/measurement/1).

    python3 calibrate/time_attention.py --heads 32 --head-size 128 --sequence 4096,8192 \\
        --out attention.json
    sgdsim fit products.json attention.json --gpu h100 --name my_h100 --out my_h100.json

What is measured. torch.nn.functional.scaled_dot_product_attention with a causal mask, on random
queries, keys and values of as many heads each: its forward pass, with what the backward pass will
need, and its backward pass, up to the gradients of all three. Times are medians. The FLOP of a
point are those of the matrix products on the scores that the mask leaves: two products forward,
and five backward, because fused kernels compute the scores again.

When it is wrong: where several kernels are possible, PyTorch chooses one of them, and the file does
not say which; --kernel insists on one. Fewer heads for keys and values are not measured. With
short sequences the host that starts the kernels is measured. On a CPU times are those of the host.
"""
import argparse
import contextlib
import datetime
import json
import statistics
import sys

from trace_layers import BadInput, Clock, check_can_write, device_of, first_line, leave, write

ELEMENT_B = {"bfloat16": 2, "float16": 2, "float32": 4}

# The names that PyTorch has for its kernels; nothing where it chooses.
KERNELS = {"any": None, "flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION",
           "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}

# Forward, products are queries times keys, and scores times values. Backward, they are the scores
# again, and the gradients of scores, queries, keys and values.
PRODUCTS = {"forward": 2, "backward": 5}


# ---- what needs no PyTorch

def flop_of(direction, batch, heads, head_size, sequence):
    """A product of a head takes 2 s^2 d FLOP, of which a causal mask leaves half."""
    return PRODUCTS[direction] * batch * heads * head_size * sequence**2


def size_of(batch, heads, head_size, sequence, element_B):
    """The bytes of queries, keys, values and output."""
    return 4 * batch * heads * head_size * sequence * element_B


def sequences_of(text):
    """The numbers of a list as 4096,8192, ascending."""
    words = text.split(",")
    is_length = lambda word: word.isascii() and word.isdecimal() and 0 < int(word) <= 2**24
    if not all(is_length(word.strip()) for word in words):
        raise BadInput(f"--sequence: expected lengths as 4096,8192, got {text}")
    return sorted({int(word) for word in words})


def point_of(arguments, direction, sequence, samples_ms):
    """A point of a measurement, from the time of each call."""
    shape = (arguments.batch, arguments.heads, arguments.head_size, sequence)
    samples_us = [round(ms * 1e3, 3) for ms in samples_ms]
    median = statistics.median(samples_us)
    if median <= 0:
        raise BadInput(f"a sequence of {sequence} is too short to be timed")
    return {"size_B": size_of(*shape, ELEMENT_B[arguments.type]), "time_us": median,
            "samples_us": samples_us, "flop": flop_of(direction, *shape)}


def measurement_of(arguments, about, times):
    """The file; times has, by sequence, the milliseconds of each forward and each backward pass."""
    note = (f"causal, {arguments.batch} x {arguments.heads} heads of {arguments.head_size}, "
            f"kernel {arguments.kernel}")
    record = {"schema": "sgdsim/measurement/1", "name": "attention",
              "source": "calibrate/time_attention.py"}
    record.update(about)
    record["series"] = [
        {"operation": "attention", "algorithm": direction, "type": arguments.type, "ranks": 1,
         "note": note,
         "points": [point_of(arguments, direction, sequence, samples[direction])
                    for sequence, samples in times.items()]}
        for direction in PRODUCTS]
    return record


# ---- what does

def chosen_kernel(torch, name):
    """A context in which attention is computed by that kernel alone."""
    if KERNELS[name] is None:
        return contextlib.nullcontext()
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
        return sdpa_kernel(getattr(SDPBackend, KERNELS[name]))
    except (ImportError, AttributeError) as error:
        raise BadInput(f"--kernel: PyTorch {torch.__version__} cannot be told to take "
                       f"{name}") from error


def time_sequence(torch, arguments, device, sequence):
    """Milliseconds of each forward and each backward pass. Nothing waits for the GPU in between, so
    that it is not idle while the host starts the next pass."""
    shape = (arguments.batch, arguments.heads, sequence, arguments.head_size)
    make = lambda: torch.randn(*shape, device=device, dtype=getattr(torch, arguments.type))
    operands = [make().requires_grad_() for _ in range(3)]
    gradient = make()
    clock = Clock(torch, device)
    moments = []
    for _ in range(arguments.warm_up + arguments.steps):
        start = clock.now()
        output = torch.nn.functional.scaled_dot_product_attention(*operands, is_causal=True)
        between = clock.now()
        torch.autograd.grad(output, operands, gradient)
        moments.append((start, between, clock.now()))
    clock.finish()
    kept = moments[arguments.warm_up:]
    return {"forward": [clock.ms_between(start, between) for start, between, _ in kept],
            "backward": [clock.ms_between(between, end) for _, between, end in kept]}


def record(torch, arguments):
    device = device_of(torch, arguments.device)
    times = {}
    for sequence in arguments.sequences:
        try:
            with chosen_kernel(torch, arguments.kernel):
                times[sequence] = time_sequence(torch, arguments, device, sequence)
        except (RuntimeError, ValueError) as error:  # no memory, or no such kernel for this shape
            raise BadInput(f"attention over {sequence} positions cannot be computed: "
                           f"{first_line(error)}") from error
        print(f"time_attention.py: {sequence} positions", file=sys.stderr)
    is_cuda = device.type == "cuda"
    about = {"backend": "cuda" if is_cuda else "host",
             "device": (torch.cuda.get_device_name(device) if is_cuda
                        else f"CPU, {torch.get_num_threads()} threads"),
             "compiler": f"PyTorch {torch.__version__}",
             "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}
    return measurement_of(arguments, about, times)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sequence", default="2048,4096,8192", help="positions, as 4096,8192")
    parser.add_argument("--batch", type=int, default=1, help="sequences at once")
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--head-size", type=int, default=128)
    parser.add_argument("--type", choices=ELEMENT_B, default="bfloat16")
    parser.add_argument("--kernel", choices=KERNELS, default="any",
                        help="any (default): PyTorch's choice")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--device", help="cuda, cuda:1 or cpu; default the first GPU")
    parser.add_argument("--out", default="-", help="the measurement; default standard output")
    arguments = parser.parse_args()
    for name, least, most in (("batch", 1, 2**20), ("heads", 1, 2**16), ("head_size", 1, 2**16),
                              ("steps", 1, 10**6), ("warm_up", 0, 10**6)):
        if not least <= getattr(arguments, name) <= most:
            parser.error(f"--{name.replace('_', '-')}: expected {least} to {most}")
    return arguments


def main():
    arguments = parse_arguments()
    try:
        arguments.sequences = sequences_of(arguments.sequence)
        if arguments.out != "-":
            check_can_write(arguments.out)
        try:
            import torch
        except ImportError as error:
            raise BadInput("PyTorch is not installed") from error
        write(json.dumps(record(torch, arguments), indent=2) + "\n", arguments.out)
    except BadInput as error:
        print(f"time_attention.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    leave(main)
