"""The three schedules of MG-WFBP written down once more, without sgdsim: what its answers are compared with.

`trace` is the answer of `sgdsim trace show`; times are in us, sizes in bytes.
"""

alpha, beta, gamma = 45.25, 0.9934107462565104e-3, 2.5e-3  # of the simulation: us, us/B, us/B


def cost_of(nodes):
    """a and b of the ring."""
    return 2 * (nodes - 1) * alpha, (nodes - 1) / nodes * (2 * beta + gamma)


def merged(gradients, start_up, per_byte):
    """Algorithm 1, from the output to the input: (ready, bytes) of each message."""
    messages, free, size = [], 0.0, 0
    for place, (ready, gradient) in enumerate(gradients):
        free = max(free, ready)
        size += gradient
        if place + 1 < len(gradients) and gradients[place + 1][0] - free < start_up:
            continue
        messages.append((ready, size))
        free, size = free + start_up + per_byte * size, 0
    return messages


def iteration_us(strategy, trace, nodes):
    start_up, per_byte = cost_of(nodes)
    gradients = [(layer["ready_us"], layer["gradient_B"]) for layer in reversed(trace["layers"]) if layer["gradient_B"]]
    if strategy == "sync_easgd":
        gradients = [(gradients[-1][0], sum(size for _, size in gradients))]
    elif strategy == "mg_wfbp":
        gradients = merged(gradients, start_up, per_byte)
    end = 0.0
    for ready, size in gradients:
        end = max(end, ready) + start_up + per_byte * size
    return end


def piece_time(fit, size):
    """What a curve of `sgdsim fit` says of a size."""
    pieces = [piece for piece in fit["fits"][0]["pieces"] if piece["from_B"] <= size]
    return pieces[-1]["alpha_us"] + pieces[-1]["beta_ps_per_B"] * 1e-6 * size
