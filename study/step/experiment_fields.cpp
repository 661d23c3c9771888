// What each field says.
#include "study/step/experiment_fields.h"

#include "models/strategy/strategy.h"
#include "models/synchronization/synchronization.h"
#include "models/transport/transport.h"
#include "models/worker/worker.h"
#include "study/step/collective_field.h"
#include "study/step/experiment.h"

namespace sgdsim {
namespace {

constexpr char experiment_schema[] = "sgdsim/experiment/1";
constexpr int most_iterations = 10'000'000;
constexpr int64_t most_accumulated = 1 << 16;

Json scale_schema(double most) {
  return {{"type", "number"}, {"minimum", 1e-6}, {"maximum", most}};
}

Json schema_of_compression() {
  OwnCollective usual;
  return schema_of_compressions(schema_of(fields_of(usual)));
}

void check_above_0(const Value& length) {
  if (length.duration() <= Duration()) length.fail("expected a time above 0");
}

Json schema_of_trace() {
  return any_of({text_schema(), reference("../trace/1"), schema_of_record<ScaledTrace>()});
}

Json schema_of_cluster() { return any_of({text_schema(), reference("../cluster/1")}); }

// A path, "none", or the object; with flows it is a file of its own, too.
Json schema_of_traffic() { return any_of({text_schema(), reference("../traffic/1")}); }

Json schema_of_convergence_field() {
  return any_of({text_schema(), reference("../convergence/1")});
}

}  // namespace

Fields fields_of(ScaledTrace& trace) {
  return {
      Field("file", trace.file, "path of the trace's file, relative to this one").needed(),
      Field("compute_scale", trace.compute_scale, "in place of the trace's field of this name")
          .like([] { return scale_schema(1e6); }),
      Field("gradient_scale", trace.gradient_scale, "in place of the trace's field of this name")
          .like([] { return scale_schema(1); })};
}

Fields fields_of(OwnCollective& o) {
  return {Field("collective", o.collective, "how it is exchanged, as the experiment's collective")
              .otherwise("what it is made for")
              .like(schema_of_collectives)};
}

Fields fields_of(ExperimentFields& o) {
  return head_fields(o.head, experiment_schema) +
         Fields{
             Field("trace", o.trace,
                   "a trace, the path of its file or the name of one that ships, or a path with "
                   "scales for its compute times and gradients")
                 .needed()
                 .like(schema_of_trace),
             Field("cluster", o.cluster,
                   "a cluster, the path of its file, or the name of one that ships")
                 .needed()
                 .like(schema_of_cluster),
             Field("collective", o.collective,
                   "how one gradient message is exchanged, or the path of a file that sgdsim fit "
                   "wrote")
                 .otherwise("nccl where nodes have several GPUs and network cards, else a ring")
                 .like(schema_of_collectives),
             Field("compression", o.compression, "what is sent in place of the gradients")
                 .otherwise("none")
                 .like(schema_of_compression),
             Field("strategy", o.strategy, "which gradients share a message, and when it goes")
                 .otherwise("ddp; sync_easgd with a synchronization that sends all at once")
                 .like(schema_of_strategies),
             Field("synchronization", o.synchronization,
                   "when a worker goes on, if not when all gradients are summed")
                 .otherwise("none")
                 .like(schema_of_synchronizations),
             {"fidelity", o.fidelity, "how much is simulated"},
             Field("traffic", o.traffic,
                   "what else is on the wires (fidelity message: at the ports), and links that "
                   "change "
                   "(flow and packet), or the path of such a file; see docs/traffic.md")
                 .otherwise("none")
                 .like(schema_of_traffic),
             Field("transport", o.transport,
                   "fidelity packet: how packets are sent; see docs/packets.md")
                 .otherwise("ideal, but tcp where the cluster's network is tcp, mpi or gloo")
                 .like(schema_of_transports),
             Field("iterations", o.iterations, "measured iterations")
                 .from(1, most_iterations)
                 .otherwise("1, or what the mean of the synchronization needs"),
             Field("warm_up", o.warm_up, "iterations before them")
                 .from(0, most_iterations)
                 .otherwise("2, or what the synchronization needs to reach its steady state"),
             Field("accumulation", o.accumulation,
                   "micro-batches of a step, each of the trace's batch, of which only the last one "
                   "exchanges gradients, as with no_sync of PyTorch's DDP")
                 .from(1, most_accumulated)
                 .otherwise("1"),
             Field("seed", o.seed, "seed of all random draws").from(0, int64_t{1} << 62),
             Field("channels", o.channels,
                   "messages of a worker that may be in flight, which share the ports")
                 .from(1, most_channels)
                 .otherwise("1; the cluster's `network` may say more"),
             Field("interference", o.interference,
                   "factor on compute times while the worker communicates")
                 .from(1, 1000)
                 .otherwise("1"),
             Field("alone", o.alone,
                   "time of an iteration on one worker, as it was measured: speed-up and "
                   "efficiency are over it")
                 .also(check_above_0)
                 .otherwise("what the trace's own work takes"),
             Field("convergence", o.convergence,
                   "how many iterations training needs, so that results say the time to target, "
                   "or the path of a file that sgdsim learn wrote")
                 .like(schema_of_convergence_field),
             Field("workers", o.workers, "how unlike workers are")
                 .like(schema_of_record<WorkerModel>)};
}

Json schema_of_experiments() { return schema_of_record<ExperimentFields>(); }

}  // namespace sgdsim
