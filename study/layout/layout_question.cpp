// Reading words, and asking.
#include "study/layout/layout_question.h"

#include <algorithm>
#include <optional>

#include "models/collective/nccl_box.h"
#include "models/training/memory.h"
#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"
#include "study/beside.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_answer.h"
#include "study/layout/layout_breaks.h"
#include "study/layout/layout_files.h"
#include "study/layout/layout_sweep.h"
#include "study/shipped_inputs.h"
#include "study/step/override.h"
#include "study/transport_choice.h"
#include "study/wire_use.h"
#include "study/wire_words.h"

namespace sgdsim {
namespace {

constexpr int usual_iterations = 20;  // where GPUs are random

constexpr int64_t near_lines = 1000;  // more than one word can be changed to

constexpr int64_t wired_layouts = 11;  // of a search, each of which is played on wires

// Nothing: the best of each family.
std::optional<int64_t> lines_of(const LayoutWords& words) {
  if (words.lines) return words.lines;
  if (!words.axes.empty()) return 1;
  const bool sends =
      is_on_wires(fidelity_named(words.fidelity, "--fidelity")) || !words.traffic.empty();
  if (sends) return wired_layouts;
  if (!words.near.empty()) return near_lines;
  return std::nullopt;
}

void check_margins(const LayoutWords& words) {
  if (!words.margins) return;
  if (!words.layout.empty())
    throw InputError("--margins", "compares the layouts of a search; leave --layout out");
  if (words.fidelity != "closed_form")
    throw InputError("--margins", "is of the closed form; leave --fidelity out");
}

// The layout that is asked about, and the option that says it.
bool names_layout(const LayoutWords& words) { return !words.layout.empty() || !words.near.empty(); }
const char* option_of(const LayoutWords& words) {
  return words.near.empty() ? "--layout" : "--near";
}

std::optional<Sites> sites_of(const LayoutWords& words) {
  return words.sites.empty() ? std::nullopt : std::optional(load_sites(words.sites));
}

// GPUs and sequences of each.
LayoutWords at_one_site(LayoutWords words, const std::optional<Sites>& sites) {
  if (!sites) return words;
  for (const auto& [option, number] :
       {std::pair("--gpus", &words.gpus), std::pair("--global-batch", &words.batch)}) {
    if (*number % sites->sites != 0)
      throw InputError(option, "expected a multiple of the " + std::to_string(sites->sites) +
                                   " sites, all of which have as many, got " +
                                   std::to_string(*number));
    *number /= sites->sites;
  }
  return words;
}

// What a given layout says about GPUs and batch must be what the options say.
void check_given(const LayoutWords& words, const Layout& layout,
                 const std::optional<Sites>& sites) {
  const std::string option = option_of(words);
  const std::string where =
      sites ? " at each of " + std::to_string(sites->sites) + " sites" : std::string();
  if (words.gpus > 0 && layout.gpus() != words.gpus)
    throw InputError(option, "tp x pp x cp x dp is " + std::to_string(layout.gpus()) +
                                 ", but --gpus is " + std::to_string(words.gpus) + where);
  if (words.batch > 0 && layout.batch() != words.batch)
    throw InputError(option, "dp x mbs x ga is " + std::to_string(layout.batch()) +
                                 ", but --global-batch is " + std::to_string(words.batch) + where);
  if (!words.gradients.empty())
    throw no_effect("--gradients",
                    "with " + option + "; say gradients=" + words.gradients + " there");
  if (!words.with.empty())
    throw InputError("--with",
                     "is about a search; say \"" + words.with.substr(0, 60) + "\" in " + option);
  if (words.lines.value_or(1) > 1 && words.near.empty())
    throw InputError("--lines", "is about a search, and " + option + " is one layout");
  if (words.program != "any")
    throw no_effect("--program", "with " + option + ": it is about a search");
}

FailingTraining training_of(const LayoutWords& words, const LayoutQuestion& question) {
  if (question.tokens == 0) throw needs("--goodput", "--tokens, the work, as 15T");
  const std::string who = "the layout";
  const StepSize size = question.step_size();
  const int64_t of_node =
      std::clamp<int64_t>(question.cluster.cluster.workers_per_node, 1, size.gpus);
  FailingTraining training(words.goodput, {{"step", {}, who},
                                           {"steps", {}, who},
                                           {"tokens", std::to_string(size.tokens), who},
                                           {"tokens_per_step", std::to_string(size.of_step()), who},
                                           {"nodes", (size.gpus + of_node - 1) / of_node, who},
                                           {"gpus_per_node", of_node, who}});
  // Whatever the layout: is it one at all?
  std::vector<std::string> settings;
  if (training.needs_replicas()) settings.emplace_back("shrink.replicas=2");
  if (training.needs_bytes()) settings.emplace_back("save.copy.bytes=1 B");
  if (training.keeps_copies_on_gpus()) settings.emplace_back("save.copy.free=1 B");
  training.question(Duration::s(1), settings);
  return training;
}

void note_attention(LayoutQuestion& question, bool is_said, Layout& layout) {
  const std::string note = settle_attention(question.gpu, question.model, is_said, layout);
  if (!note.empty()) question.notes.push_back(note);
}

// What a practitioner would take for the whole of a training, and is not.
void note_training(const LayoutWords& words, bool is_given, LayoutQuestion& question) {
  if (!is_given && words.batch == 0)
    question.notes.push_back(
        "no --global-batch is given: a step has a sequence for each GPU, " +
        tokens_text(question.step_size().of_step()) +
        " tokens here, and steps of more GPUs are larger; a training has its own batch");
  if (words.goodput.empty())
    question.notes.emplace_back(
        "days and GPU-hours are of steps alone: failures, saves, restarts and evaluations come on "
        "top (--goodput FILE counts the first three)");
}

LayoutQuestion question_of(const LayoutWords& words, const Transformer& model,
                           const ForeignLayout* given, std::optional<Sites> sites) {
  const int64_t gpus = given != nullptr ? given->layout.gpus() : words.gpus;
  const std::string place = place_of(words.cluster);
  Json cluster = cluster_json(words.cluster, words.settings);
  const UsualReach reach = add_usual_reach(cluster);
  ClusterFile file = cluster_in(Value(cluster, place, ""), gpus);
  FoundGpu found = gpu_for(words.gpu, file.cluster);
  LayoutQuestion question{.model = model, .cluster = std::move(file), .gpu = std::move(found.gpu)};
  question.cluster_json = std::move(cluster);
  question.reach = reach;
  question.cluster_place = place;
  question.precision = precision_named(words.precision, "--precision");
  check_precision(question.gpu, question.precision, "--precision");
  LayoutSpace& space = question.space;
  space.sites = sites;
  space.gpus = gpus > 0 ? gpus : question.cluster.cluster.network.workers();
  if (space.gpus > most_gpus)
    throw InputError("--gpus", "expected at most " + std::to_string(most_gpus) + " GPUs, got " +
                                   std::to_string(space.gpus));
  const int64_t usual =
      given != nullptr ? given->sequence.value_or(model.sequence) : model.sequence;
  space.sequence = words.sequence > 0 ? words.sequence : usual;
  if (given != nullptr) question.notes = given->notes;
  if (!found.note.empty()) question.notes.push_back(found.note);
  check_sequence(question.model, space.sequence, "--sequence");
  space.batch = given != nullptr  ? given->layout.batch()
                : words.batch > 0 ? words.batch
                                  : space.gpus;
  space.memory = words.memory.empty() ? question.gpu.memory : parse_bytes(words.memory, "--memory");
  space.reserve = words.reserve.empty() ? usual_reserve : parse_bytes(words.reserve, "--reserve");
  if (space.reserve >= space.memory)
    throw InputError("--reserve", "expected less than the memory of " + to_text(space.memory) +
                                      ", got " + to_text(space.reserve));
  space.half_gradients = words.gradients == "bf16";
  if (!words.with.empty()) space.base = parse_shared_words(words.with, "--with");
  if (given == nullptr) note_attention(question, says_attention(words.with), space.base);
  space.documents =
      load_documents(words.documents, model, space.sequence, space.batch, "--documents");
  space.program = named_in(training_programs, "program", words.program, "--program");
  for (const std::string& algorithm : words.algorithms)
    question.algorithms.add(algorithm, "--algorithm");
  question.algorithms.nccl = nccl_view(reach, question.gpu);
  const bool is_said = question.cluster.cluster.nccl && question.cluster.cluster.nccl->generation;
  if (question.algorithms.has_nccl() && !is_said)
    if (std::string note = nccl_note(question.gpu.name, question.algorithms.nccl.generation);
        !note.empty())
      question.notes.push_back(std::move(note));
  if (!words.tokens.empty()) {
    question.tokens = parse_tokens(words.tokens, "--tokens");
    note_training(words, given != nullptr, question);
  }
  question.asks_margins = words.margins;
  if (!words.goodput.empty()) question.training.emplace(training_of(words, question));
  return question;
}

// What only a played step can show.
void check_play(const LayoutWords& words) {
  const bool plays = words.fidelity != "closed_form";
  const bool is_given = !words.layout.empty();
  if (!plays)
    refuse_idle({{"--workers", !words.workers.empty()},
                 {"--iterations", words.iterations > 0},
                 {"--seed", words.seed.has_value()},
                 {words.limits.given(), words.limits.any()}},
                "without --fidelity message");
  check_routes(words.fidelity, words.routing, words.transport);
  check_traffic_option(words.traffic, plays);
  if (!is_given && !words.workers.empty())
    throw needs("--workers", "--layout: it numbers GPUs of one layout");
}

// Whether wires draw something.
bool draws_routes(const LayoutWords& words) {
  return words.fidelity == "packet" || words.routing == "hashed";
}

LayoutPlay play_options(const LayoutWords& words) {
  LayoutPlay options;
  const bool no_seed = words.seed && !draws_routes(words);
  if (words.workers.empty()) {
    refuse_idle({{"--seed", no_seed}, {"--iterations", words.iterations > 1}},
                "without random --workers");
    return options;
  }
  const Document document = words.workers.front() == '{'
                                ? Document::parse(words.workers, "--workers")
                                : Document::read(words.workers);
  options.workers = read_workers(document.root());
  const bool is_random = options.workers.is_random();
  if (!is_random && no_seed) throw no_effect("--seed", "without random --workers");
  if (words.seed) options.seed = *words.seed;
  if (!is_random && words.iterations > 1)
    throw InputError("--iterations", "all iterations are alike: --workers says nothing random");
  if (is_random) options.iterations = words.iterations > 0 ? words.iterations : usual_iterations;
  return options;
}

// How messages go, and what else is on the wires.
void read_wires(const LayoutWords& words, LayoutQuestion& question) {
  if (!is_on_wires(question.fidelity) && words.traffic.empty()) return;
  StepWires& wires = question.wires;
  wires.fidelity = question.fidelity;
  if (words.seed) wires.routes.seed = *words.seed;
  if (!words.routing.empty()) wires.routes.routing = routing_named(words.routing, "--routing");
  const Cluster& cluster = question.cluster.cluster;
  Sent sent = sent_on(cluster, question.fidelity, wires.routes, transport_in(words.transport));
  wires.carrier = std::move(sent.carrier);
  wires.payload = sent.payload;
  question.transport = std::move(sent.transport);
  if (words.traffic.empty()) return;
  question.traffic = read_meanwhile(words.traffic, "--traffic", cluster,
                                    *shared_at(question.fidelity, cluster, wires.routes));
}

ForeignLayout given_layout(const LayoutWords& words, const Transformer& model,
                           const std::optional<Sites>& sites) {
  ForeignLayout given;
  if (!names_layout(words)) return given;
  if (!words.layout.empty() && !words.near.empty())
    throw no_effect("--near", "with --layout, which prices one layout only");
  const std::string& text = words.near.empty() ? words.layout : words.near;
  const std::string option = option_of(words);
  const Json cluster = cluster_json(words.cluster, words.settings);
  const Cluster there = cluster_in(Value(cluster, place_of(words.cluster), ""), 0).cluster;
  const int64_t usual = there.network.workers();
  const GpuCount gpus = {.given = words.gpus, .usual = usual, .of_node = there.workers_per_node};
  given = load_layout(text, option, gpus, model);
  if (given.is_text) {
    given.layout = completed(given.layout, text, words.gpus > 0 ? words.gpus : usual, words.batch);
    check_sizes(given.layout, option);
  }
  check_given(words, given.layout, sites);
  return given;
}

// A sweep of layouts as a list.
}  // namespace

Fields layout_fields(LayoutWords& words) {
  return Fields{
             Field("model", words.model,
                   "a model of `sgdsim list models`, a model file, or config.json of Hugging Face")
                 .needed()
                 .option("MODEL"),
             Field("cluster", words.cluster,
                   "cluster file; boxes at one switch grow to the GPUs asked for")
                 .needed()
                 .option("-c,--cluster"),
             {"set", words.settings, "change a field of the cluster: nic.bandwidth=\"100 Gbps\""},
             {"axis", words.axes,
              "answer for every value, and every combination of several: gpus=64..1024, "
              "cluster.nic.bandwidth=\"100 Gbps,400 Gbps\""},
             Field("gpus", words.gpus, "number of GPUs (default: those of the cluster)")
                 .from(1, most_gpus),
             {"gpu", words.gpu,
              "a GPU of `sgdsim list gpus`, or a GPU file (default: the cluster's, or h100)"},
             Field("sequence", words.sequence, "tokens of a sequence (default: the model's own)")
                 .from(1, most_sequence),
             Field("global_batch", words.batch,
                   "sequences of a step (default: one for each GPU, or what a given layout says)")
                 .from(1, most_global_batch),
             Field("precision", words.precision,
                   "precision of matrix products in layers: bf16 (default), fp8 or nvfp4")
                 .one_of({"bf16", "fp8", "nvfp4"}),
             Field("gradients", words.gradients,
                   "how gradients are kept and exchanged: fp32 (default) or bf16")
                 .one_of({"fp32", "bf16"}),
             Field("algorithm", words.algorithms,
                   "algorithm of the collectives, or of one operation: "
                   "allreduce=double_binary_tree; auto: for every size the one that takes least; "
                   "nccl: what NCCL's model chooses (default: ring, alltoall=direct)")
                 .option("-a,--algorithm"),
             {"tokens", words.tokens,
              "tokens to train on, as 15T or 300B: adds days and GPU-hours"},
             {"goodput", words.goodput,
              "with --tokens: a question of `sgdsim goodput` without step, work and nodes, a file "
              "or "
              "JSON itself, as '{\"failures\": \"llama3_h100\", \"save\": ...}': adds when the "
              "training ends on a machine that fails"},
             {"sites", words.sites,
              "copies of the training far apart, a file or JSON itself, as '{\"sites\": 2, "
              "\"bandwidth\": \"100 Gbps\", \"latency\": \"30 ms\", \"every\": 100}': each has its "
              "part of --gpus and --global-batch"},
             Field("program", words.program,
                   "layouts that a program can do: any (default), megatron, torchtitan")
                 .one_of({"any", "megatron", "torchtitan"}),
             {"memory", words.memory, "memory of a GPU (default: that of the GPU file)"},
             {"reserve", words.reserve,
              "part of it for CUDA, NCCL and fragmentation (default: 2 GiB)"},
             {"layout", words.layout,
              "price this layout only, as \"tp8 pp9 vp7 zero1 sp\" or a file; dp follows from "
              "--gpus, ga from --global-batch"},
             {"near", words.near,
              "of this layout and those that differ from it in one word: which is the fastest"},
             {"with", words.with,
              "words that every layout of a search has, as \"lora=16 offload=optimizer\""},
             {"documents", words.documents,
              "lengths of the documents that are packed into sequences, as "
              "\"512x100,4096x3\" (length x count), \"lognormal:600:1.2\", or a file of them; "
              "default: each sequence is one"},
             Field("lines", words.lines,
                   "number of the fastest to print (default: the best of each kind; all with "
                   "--near, 1 with "
                   "--axis)")
                 .from(1, 1'000'000),
             Field("fidelity", words.fidelity,
                   "closed_form (default); message: passes and sends of every rank are simulated; "
                   "flow: every message of every GPU, on wires that they share; packet: and every "
                   "packet of it")
                 .one_of({"closed_form", "message", "flow", "packet"}),
             routing_field(words.routing),
             transport_field(words.transport),
             traffic_beside_field(words.traffic),
             {"workers", words.workers,
              "slow or jittering GPUs, as `workers` of an experiment: JSON or a file"},
             Field("seed", words.seed,
                   "seed of random workers, and of what packets and routes draw (default: 1)")
                 .from(0, int64_t{1} << 62),
             Field("iterations", words.iterations,
                   "steps to simulate where workers are random (default: 20)")
                 .from(1, 100'000),
             {"breaks", words.breaks,
              "what the fastest layout loses with each kind of link, and a GPU, at half of its "
              "rate or gone"},
             {"margins", words.margins,
              "of a search: how slow each kind of link may get until another layout is faster"},
         } +
         limit_fields(words.limits);
}

AnsweredLayouts answer_layouts(const LayoutWords& asked, bool wants_slices, Stopper& stopper) {
  const std::optional<Sites> sites = sites_of(asked);
  const LayoutWords words = at_one_site(asked, sites);
  check_play(words);
  check_margins(words);
  const bool is_given = !words.layout.empty();
  const Transformer model = load_model(words.model);
  ForeignLayout given = given_layout(words, model, sites);
  LayoutQuestion question =
      question_of(words, model, names_layout(words) ? &given : nullptr, sites);
  if (names_layout(words)) note_attention(question, given.says_attention, given.layout);
  if (!words.near.empty()) {
    check_layout(model, given.layout, question.space.sequence, "--near");
    question.space.near = given.layout;
  }
  question.fidelity = fidelity_named(words.fidelity, "--fidelity");
  read_wires(words, question);
  question.play = play_options(words);
  question.play.stopper = &stopper;
  LayoutAnswer answer = is_given ? price_layout(question, given.layout, wants_slices)
                                 : find_layouts(question, lines_of(words));
  if (words.breaks) answer.breaks = breaks_of(question, answer.best.front());
  return {std::move(question), std::move(answer)};
}

Answer answer_layout(const Value& asked, const Watch& watch) {
  LayoutWords words = words_of(asked, layout_fields);
  Stopper stopper(watch, limits_of(words.limits));
  if (!words.axes.empty()) {
    LayoutSweep sweep(words);
    return answer_points(sweep.points(), [&](int64_t) { return sweep.next_answer(stopper); });
  }
  try {
    const auto [question, answer] = answer_layouts(words, false, stopper);
    return {to_json(question, answer), warnings_of(question, answer)};
  } catch (const StuckStep& stuck) {
    return {Json(), {}, exit_stuck, stuck.what()};
  }
}

}  // namespace sgdsim
