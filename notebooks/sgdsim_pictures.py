"""Whole pictures of answers of the module, one function each; what several share is in sgdsim_figures.

    figure = pictures.winners(sgdsim.sweep("...", minimize="metrics.iteration_us"))
    figures.save(figure, "winners")

Every picture takes what it finds: missing keys, one point, a hundred thousand.
"""

import pandas

import sgdsim_figures as figures
import sgdsim_results as results
from sgdsim_figures import plt

place = "nodes", "bandwidth_Gbps"  # of maps, down and across


def two_digits(value):
    return f"{value:.2f}"


def one_digit(value):
    return f"{value:.1f}"


def grid_of(panels, **sizes):
    """A figure with as many panels, and panels for nothing more that are left empty."""
    figure, axes = plt.subplots(-(-panels // 4) or 1, min(4, panels) or 1, squeeze=False, sharey=True, **sizes)
    for one in axes.flat[panels:]:
        one.set_axis_off()
    return figure, axes


# ---- strategies


def winners(best, title="The fastest strategy (how much longer the next takes)"):
    """The groups of a sweep with minimize= over nodes and bandwidth."""
    figure, axes = plt.subplots(figsize=(5.6, 3.8))
    figures.winner_map(axes, results.best(best), *place)
    axes.set_title(title)
    return figure


def efficiencies(table):
    """A map for each strategy of a sweep over nodes and bandwidth."""
    points = results.points(table)
    names = list(points.strategy.dropna().unique())[:8]
    figure, panels = grid_of(len(names), figsize=(9.6, 4.8), sharex=True)
    for axes, name in zip(panels.flat, names):
        image = figures.heat_map(axes, points[points.strategy == name], *place, "efficiency", text=two_digits, vmin=0, vmax=1)
        axes.set_title(figures.look(name, figures.strategies)[0])
        axes.label_outer()
    if names and image:
        figure.colorbar(image, ax=panels, label="efficiency", shrink=0.8)
    return figure


def fastest_map(axes, table):
    """The speed-up of the fastest strategy, coloured by its efficiency; the image."""
    points = results.points(table).dropna(subset=["iteration_us"])
    points = points[points.strategy != "optimal"]  # a bound, which no program reaches
    points = points.loc[points.groupby(list(place)).iteration_us.idxmin()]
    return figures.heat_map(axes, points, *place, "efficiency", "speedup", text=one_digit, vmin=0, vmax=1)


def speedups(table):
    figure, axes = plt.subplots(figsize=(4.6, 3.4))
    image = fastest_map(axes, table)
    axes.set_title("Speed-up of the fastest strategy")
    if image:
        figure.colorbar(image, label="efficiency")
    return figure


def winners_and_speedups(best, table):
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.9))
    figures.winner_map(left, results.best(best), *place)
    left.set_title("The fastest strategy (how much longer the next takes)")
    fastest_map(right, table)
    right.set_title("Its speed-up over one node (colour: divided by nodes)")
    return figure


def scaling(table):
    """Throughput and efficiency over nodes, a curve for each strategy."""
    points = results.points(table)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    if figures.curves(left, points, "workers", "throughput_samples_per_s"):
        alone = (points.throughput_samples_per_s / points.speedup).median()  # of one worker
        ends = [points.workers.min(), points.workers.max()]
        left.plot(ends, [alone * workers for workers in ends], color="#888888", linewidth=1, label="ideal")
        figures.log_axis(left.xaxis, ticks=points.workers)
        figures.log_axis(left.yaxis)
        left.yaxis.set_major_locator(figures.matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
        left.set(xlabel="nodes", title="Throughput (samples/s)")
        left.legend()
    if figures.curves(right, points, "workers", "efficiency", scale=100):
        figures.log_axis(right.xaxis, ticks=points.workers)
        right.set(xlabel="nodes", ylim=(0, 105), title="Scaling efficiency (%)")
    return figure


def over_nodes(table, column, label, by="strategy", looks=figures.strategies):
    """A time over nodes, in ms."""
    points = results.points(table)
    figure, axes = plt.subplots(figsize=(4.6, 3.5))
    if figures.curves(axes, points, "workers", column, by, looks, scale=1e-3):
        figures.log_axis(axes.xaxis, ticks=points.workers)
        axes.set(xlabel="nodes", ylabel=label, ylim=(0, None))
        axes.legend()
    return figure


def buckets(table, best, merged):
    """Iteration over bucket size, a panel for each bandwidth; circles are the best sizes, dashed lines the optimum of
    `merged` on 16 workers."""
    points, best, optimal = results.points(table), results.best(best), results.points(merged)
    optimal = optimal[(optimal.strategy == "optimal") & (optimal.workers == 16)]
    speeds = sorted(points.bandwidth_Gbps.unique())[:6]
    figure, panels = plt.subplots(1, max(1, len(speeds)), figsize=(2.4 * max(2, len(speeds)), 2.9), squeeze=False)
    for axes, speed in zip(panels.flat, speeds):
        here = points[points.bandwidth_Gbps == speed]
        if not figures.curves(axes, here, "bucket_B", "iteration_us", "bandwidth_Gbps", {}, scale=1e-3):
            continue
        axes.lines[0].set(marker="", linestyle="-")
        for found in best[best.bandwidth_Gbps == speed].dropna(subset=["value"]).head(1).itertuples():
            at = found.bucket_B, found.value / 1000
            axes.plot(*at, "o", color="#D55E00", markersize=6)
            axes.annotate(f"{figures.size_text(at[0])}: {at[1]:.1f} ms", at, xytext=(0.5, 0.9), ha="center",
                          textcoords="axes fraction", fontsize=8,
                          arrowprops={"arrowstyle": "-", "color": "#888888", "linewidth": 0.6})
        for reach in optimal[optimal.bandwidth_Gbps == speed].dropna(subset=["iteration_us"]).head(1).itertuples():
            axes.axhline(reach.iteration_us / 1000, color="black", linewidth=0.9, linestyle="--")
        figures.size_axis(axes, "bucket size")
        low, high = axes.get_ylim()
        axes.set(title=f"{speed:g} Gbit/s", ylim=(low, high + 0.25 * (high - low)))
    panels[0, 0].set_ylabel("iteration (ms)")
    return figure


ways_looks = {
    "dense": ("whole gradients", "#999999", "o", ()),
    "later": ("pipelined", "#CC79A7", "v", ()),
    "truncate16": ("16-bit codes", "#56B4E9", "s", ()),
    "topk": ("top-k, all-gathered", "#E69F00", "D", ()),
    "gtopk": ("gTop-k, up and down a tree", "#009E73", "^", ()),
}


def ways(dense, less, later):
    """Who wins over nodes and bandwidth: whole gradients, less of them, or all of them later."""
    less = results.best(less)
    less["way"] = less.compression if "compression" in less else "less"
    all_ways = pandas.concat([results.best(dense).assign(way="dense"), less, results.best(later).assign(way="later")])
    all_ways = all_ways.dropna(subset=["value"]).sort_values("value", kind="stable")
    here = [name for name in place if name in all_ways]
    groups = all_ways.groupby(here)
    fastest = all_ways.groupby(here, as_index=False).first()
    fastest["behind_percent"] = 100 * (groups.value.nth(1) / groups.value.first() - 1).values
    fastest["ties"] = groups.value.apply(lambda values: int((values <= values.min() * (1 + 1e-6)).sum()) - 1).values
    figure, axes = plt.subplots(figsize=(5.6, 3.8))
    figures.winner_map(axes, fastest, *place, "way", ways_looks)
    axes.set_title("The fastest way (how much longer the next takes)")
    return figure


def densities(table):
    """Efficiency over density, with the selection's cost and without."""
    points = results.points(table)
    points["costs"] = points.selection == "v100" if "selection" in points else True
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.3), sharey=True)
    for axes, costs, title in zip(panels, [True, False], ["Selection on a V100", "Selection for nothing"]):
        if drawn := figures.curves(axes, points[points.costs == costs], "density", "efficiency", "bandwidth_Gbps", {}, 100):
            axes.set(xscale="log", xlabel="density", title=title, ylim=(0, 105))
    panels[0].set_ylabel("scaling efficiency (%)")
    if drawn:
        panels[1].legend(title="Gbit/s", loc="lower left")
    return figure


# ---- one step


def breakdowns(tables):
    """By strategy, a panel for each of {title: table}."""
    figure, panels = plt.subplots(len(tables), 1, figsize=(6.4, 4.2), sharex=True)
    for axes, (title, table) in zip(panels, tables.items()):
        points = results.points(table)
        names = [figures.look(name, figures.strategies)[0] for name in points.strategy.fillna("?")]
        if drawn := figures.breakdown(axes, points, names):
            axes.set_title(title)
            axes.label_outer()
    if drawn:
        panels[-1].legend(loc="upper center", bbox_to_anchor=(0.45, -0.32), ncol=3)
    return figure


def worker_breakdown(run):
    workers = results.workers(run)
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    if figures.breakdown(axes, workers, workers.index):
        axes.set_ylabel("worker")
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.18), ncol=3)
    return figure


def lanes(timelines, runs, by_layer=True, size=(7.2, 5)):
    """Compute and messages, a panel for each strategy."""
    found = results.runs(runs)
    figure, panels = plt.subplots(len(timelines), figsize=size, sharex=True)
    for axes, (name, timeline) in zip(panels, timelines.items()):
        slices = results.timeline(timeline)
        if not figures.lanes(axes, slices, by_layer=by_layer):
            continue
        run = found.loc[name]
        sent = int((slices.category == "comm").sum())
        title = f"{figures.look(name, figures.strategies)[0]}: {sent} {'message' if sent == 1 else 'messages'}"
        if run.notna().iteration_us and run.notna().comm_exposed_us:
            title += f", {run.iteration_us / 1000:.1f} ms, {run.comm_exposed_us / 1000:.1f} ms of it exposed"
        axes.set_title(title)
    panels[-1].set_xlabel("time (ms)")
    labels = dict(zip(*reversed(panels[0].get_legend_handles_labels())))
    panels[-1].legend(labels.values(), labels.keys(), loc="upper center", bbox_to_anchor=(0.5, -0.5), ncol=4)
    return figure


def layers(timelines):
    """Which layers are in which message, a panel for each strategy."""
    figure, panels = plt.subplots(2, 2, figsize=(8, 5), sharex=True, sharey=True)
    for axes, (name, timeline) in zip(panels.flat, timelines.items()):
        figures.layers_over_time(axes, results.timeline(timeline), figures.look(name, figures.strategies)[0])
    for axes in panels[-1]:
        axes.set_xlabel("time (ms)")
    for axes in panels[:, 0]:
        axes.set_ylabel("layer")
    return figure


def tails(table, by):
    """Median, mean and 99th percentile of the iteration over nodes."""
    points = results.points(table)
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.4), sharey=True)
    for axes, column, title in zip(panels, ["iteration_p50_us", "iteration_us", "iteration_p99_us"],
                                   ["Median iteration (ms)", "Mean iteration (ms)", "99th percentile (ms)"]):
        if drawn := figures.curves(axes, points, "workers", column, by, {}, scale=1e-3):
            figures.log_axis(axes.xaxis, ticks=points.workers)
            axes.set(xlabel="nodes", title=title)
    if drawn:
        panels[0].legend()
    return figure


# ---- collectives


def time_curves(axes, answer):
    if figures.curves(axes, results.collectives(answer), "size_B", "time_us", "algorithm", figures.algorithms):
        figures.size_axis(axes)
        figures.log_axis(axes.yaxis, figures.time_text)
        axes.legend()


def time_and_bandwidth(answer, link_GBps):
    """Over message size, a curve for each algorithm, and what the link carries."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    time_curves(left, answer)
    left.set_title("Time of an all-reduce among 16")
    if figures.curves(right, results.collectives(answer), "size_B", "busbw_GBps", "algorithm", figures.algorithms):
        figures.size_axis(right)
        figures.log_axis(right.yaxis)
        right.axhline(link_GBps, color="#888888", linewidth=1)
        right.text(2**10, 1.05, "link", color="#666666", va="bottom")
        right.set(ylim=(None, 1.6), title="Bus bandwidth (GB/s)")
    return figure


def over_ranks(answers):
    """Bandwidth over the number of workers, a panel for each operation."""
    figure, panels = plt.subplots(1, len(answers), figsize=(9, 3), sharey=True)
    for axes, (operation, answer) in zip(panels, answers.items()):
        points = results.collectives(answer)
        if drawn := figures.curves(axes, points, "ranks", "algbw_GBps", "algorithm", figures.algorithms):
            figures.log_axis(axes.xaxis, ticks=[2**k for k in range(1, 7)])
            axes.set(title=operation, xlabel="workers", ylim=(0, None))
    panels[0].set_ylabel("256 MiB / time (GB/s)")
    if drawn:
        panels[-1].legend()
    return figure


def fastest_algorithms(axes, answer, title):
    points = results.collectives(answer).dropna(subset=["time_us"])
    fastest = points.loc[points.groupby(["ranks", "size_B"]).time_us.idxmin()]
    figures.winner_map(axes, fastest, "ranks", "size_B", "algorithm", figures.algorithms)
    axes.set(title=title, xlabel="message size", ylabel="workers")


def algorithm_map(answer):
    figure, axes = plt.subplots(figsize=(5.4, 3.9))
    fastest_algorithms(axes, answer, "The fastest all-reduce")
    return figure


def time_and_winners(by_size, of_all):
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.9))
    time_curves(left, by_size)
    left.set_title("All-reduce among 16 workers, 10 Gb/s Ethernet")
    fastest_algorithms(right, of_all, "The fastest of all algorithms")
    return figure


def fits(measurements, answers, titles):
    """Measured times with the lines of fits, and what they leave over, a column for each of {title: {name: fit}}."""
    figure, panels = plt.subplots(2, len(answers), figsize=(8.4, 4.8), sharex=True, sharey="row", height_ratios=[2, 1])
    for column, (title, of_cases) in enumerate(answers.items()):
        for number, (case, fit) in enumerate(of_cases.items()):
            rows = pandas.DataFrame(measurements[case]["series"][0]["points"], columns=["size_B", "time_us"])
            figures.fit(panels[0, column], panels[1, column], rows, results.fitted(fit), titles[case], number)
        if panels[0, column].axison:
            panels[0, column].set_title(title)
    if panels[0, 0].axison:
        panels[0, 0].set_ylabel("one way (ms)")
        panels[1, 0].set_ylabel("residual (%)")
        panels[0, 0].legend()
    return figure


# ---- networks


def slowdowns(answers):
    """Of each job of {(placement, oversubscription): answer}."""
    shared = pandas.concat([results.jobs(answer).assign(placement=placement, oversubscription=ratio)
                            for (placement, ratio), answer in answers.items()])
    names = list(shared.name.dropna().unique())[:2]
    figure, panels = plt.subplots(1, max(1, len(names)), figsize=(8.4, 2.6), squeeze=False, sharey=True)
    for axes, name in zip(panels.flat, names):
        image = figures.heat_map(axes, shared[shared.name == name], "placement", "oversubscription", "slowdown",
                                 text=two_digits, vmin=1, vmax=shared.slowdown.max())
        axes.set_title(f"Slow-down of the job \"{name}\"")
        axes.label_outer()
    if names and image:
        figure.colorbar(image, ax=panels, label="slow-down", shrink=0.9)
    return figure


def busiest_links(answers):
    """Over time, a panel for each of {title: (answer, kind of link or None)}."""
    figure, panels = plt.subplots(1, len(answers), figsize=(9.6, 3.6), sharey=True)
    for axes, (title, (answer, kind)) in zip(panels, answers.items()):
        links = results.use_over_time(answer)
        if figures.use_over_time(axes, links if kind is None else links[links.kind == kind]):
            axes.set_title(title)
            axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return figure


def ended_flows(answers):
    """When flows have ended, a curve for each of {name: answer}."""
    flows = pandas.concat([results.flows(answer).assign(transport=name) for name, answer in answers.items()])
    figure, axes = plt.subplots(figsize=(6.4, 3.4))
    if figures.curves(axes, flows, "took_us", "ended_percent", by="transport"):
        axes.set_xlabel("time since the start (us)")
        axes.set_ylabel("flows that have ended (%)")
        axes.legend(fontsize=8)
    return figure


def longest_queue(answers):
    """What waits in the first of the longest queues."""
    waiting = pandas.concat([results.queues_over_time(answer).assign(transport=name) for name, answer in answers.items()])
    longest = waiting[waiting.queue == waiting.queue.iloc[0]] if len(waiting) else waiting
    longest = longest.assign(start_ms=longest.start_us / 1000)
    figure, axes = plt.subplots(figsize=(6.4, 3.4))
    if figures.curves(axes, longest, "start_ms", "waiting_KB", by="transport"):
        axes.set_xlabel("time since the start (ms)")
        axes.set_ylabel("waits for the receiver's link (KB)")
        axes.legend(fontsize=8)
        waits = longest[longest.waiting_KB > 1]
        if len(waits):
            axes.set_xlim(0, 1.05 * waits.start_ms.max())
    return figure


def delivered_layers(run):
    """What arrives of each layer that is not smaller than a hundredth of the largest."""
    parts = results.delivery(run)
    parts = parts[parts.size_B >= parts.size_B.max() / 100]
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.2), sharey=True)
    for axes, cargo in zip(panels, ["gradients", "parameters"]):
        if figures.curves(axes, parts[parts.cargo == cargo], "layer", "delivered_percent", by="packets"):
            axes.set_title(cargo.capitalize())
            axes.set_xlabel("layer, from the front")
            axes.set_ylabel("delivered (%)")
            axes.legend(fontsize=8)
    return figure


# ---- predictions


def predictions(answer, title, by="suite"):
    """Predicted over measured, beside the errors of held rows."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 3.9), width_ratios=[1, 1])
    figures.predicted_over_measured(left, results.validation(answer), by)
    left.set_title(title)
    figures.error_table(right, results.validation_errors(answer))
    return figure


def errors_by_size(answer):
    figure, axes = plt.subplots(figsize=(7.2, 3.6))
    figures.error_by_size(axes, results.validation(answer))
    return figure
