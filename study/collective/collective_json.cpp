// Points of collectives as JSON, sgdsim/collective/1 and sgdsim/collective-sweep/1.
#include <cmath>

#include "models/collective/registry.h"
#include "sim/core/fields.h"
#include "sim/core/quantity.h"
#include "study/collective/collective_report.h"
#include "study/collective/nccl_answer.h"
#include "study/collective/ranges.h"
#include "study/shell_word.h"
#include "study/transport_choice.h"
#include "study/wire_use.h"
#include "topologies/wiring.h"

namespace sgdsim {
namespace {

// A number of bytes: whole where it is whole, which fractional chunks are not.
Json bytes_json(double size_B) {
  if (size_B == std::floor(size_B) && size_B < 0x1p63) return static_cast<int64_t>(size_B);
  return size_B;
}

// What gives this point alone.
std::string command_of(const CollectivePoint& point, const CollectiveArguments& arguments) {
  std::string command = "sgdsim collective";
  auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) command += " " + option + "=" + shell_word(value);
  };
  add("--algorithm", point.algorithm);
  add("--op", point.operation);
  add("--ranks", std::to_string(point.ranks));
  for (const Bytes size : point.sizes) add("--bytes", std::to_string(size.count()) + "B");
  add("--cluster", arguments.cluster);
  for (const std::string& setting : arguments.settings) add("--set", setting);
  add("--alpha", arguments.alpha);
  add("--beta", arguments.beta);
  add("--gamma", arguments.gamma);
  add("--block", arguments.block);
  add("--root", arguments.root);
  for (const std::string& option : arguments.options) add("--option", option);
  add("--fidelity", arguments.fidelity);
  add("--transport", arguments.transport);
  add("--traffic", arguments.traffic);
  add("--path", arguments.path);
  add("--start", arguments.starts);
  add("--jitter", arguments.jitter);
  add("--seed", arguments.seed);
  return command;
}

// ---- the fields of a point

Json schema_of_bytes_on_wires() { return {{"type", "number"}, {"minimum", 0}}; }
Json schema_of_option_list() {
  return list_schema({{"type", "string"}, {"pattern", "^[a-z_]+=[^=]+$"}}, 1);
}
Json schema_of_nccl_pairs() {
  return {{"type", "string"}, {"pattern", "^(Tree|Ring|NVLS|NVLSTree|PAT)/(LL|LL128|Simple)$"}};
}

// All algorithms, and what is none by itself.
std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.emplace_back(algorithm.name);
  names.insert(names.end(), {"auto", "nccl"});
  return names;
}

struct ToldCandidate {
  Candidate candidate = {};
};
Fields fields_of(const ToldCandidate& told) {
  const Candidate& one = told.candidate;
  return Fields{{"algorithm", one.algorithm, "an algorithm, or a pair of NCCL's"},
                Field("time_us", one.time ? std::optional(one.time->us()) : std::nullopt,
                      "what it would take")
                    .at_least(0),
                {"why_not", one.time ? std::nullopt : std::optional(one.why_not),
                 "why it is out of the question here"}}
      .exactly_one({"time_us", "why_not"}, "a candidate has a time or a reason");
}

// What was asked beyond algorithm, ranks and sizes.
Fields choice_fields(const CollectiveArguments& arguments) {
  std::optional<int64_t> block_B, root, seed;
  std::optional<double> sigma;
  std::optional<std::vector<double>> starts_us;
  if (!arguments.block.empty()) block_B = parse_bytes(arguments.block, "--block").count();
  if (!arguments.root.empty()) root = parse_whole(arguments.root, 0, INT32_MAX, "--root");
  if (!arguments.jitter.empty()) {
    sigma = parse_number(arguments.jitter, 0, most_jitter, "--jitter");
    seed = arguments.seed.empty() ? 1 : parse_whole(arguments.seed, 0, INT64_MAX, "--seed");
  }
  if (!arguments.starts.empty()) {
    starts_us.emplace();
    for (const std::string& start : split_list(arguments.starts))
      starts_us->push_back(parse_duration(start, "--start").us());
  }
  return {
      Field("block_B", std::move(block_B),
            "bytes of a block of a pipeline, where --block was given")
          .at_least(1),
      Field("root", std::move(root),
            "the rank that holds or gets the result, where --root was given")
          .at_least(0),
      {"network",
       arguments.cluster_read && arguments.cluster_read->kind != NetworkKind::unsaid
           ? std::optional(arguments.cluster_read->kind)
           : std::nullopt,
       "what sends the messages, as the cluster file says; not given: it does not say"},
      Field("options", arguments.options,
            "the options that were given, as key=value; `sgdsim list options` says what each means")
          .like(schema_of_option_list)
          .if_any(),
      Field("jitter_sigma", std::move(sigma),
            "sigma of the lognormal factor of mean 1 on the time of every message, where --jitter "
            "was given")
          .from(0, most_jitter),
      Field("seed", std::move(seed), "seed of the jitter, where there is any").at_least(0),
      Field("starts_us", std::move(starts_us), "when each rank starts, where --start was given")
          .at_least(0)};
}

// Null: there is none.
Fields answer_fields(const CollectiveAnswer* answer, const std::optional<NcclTable>& nccl,
                     const std::string& command) {
  const CollectiveAnswer none;
  const CollectiveAnswer& is = answer != nullptr ? *answer : none;
  const auto if_answered = [&](const auto& value) {
    return answer != nullptr ? std::optional(value) : std::nullopt;
  };
  const bool has_messages = answer != nullptr && !nccl;
  std::vector<ToldCandidate> candidates;
  for (const Candidate& candidate : is.candidates) candidates.push_back({candidate});
  return Fields{Field("time_ps", if_answered(is.time.ps()),
                      "from the moment 0 until the last worker is done")
                    .at_least(0),
                Field("time_us", if_answered(is.time.us()), "the same in microseconds").at_least(0),
                Field("messages", has_messages ? std::optional(is.traffic.messages) : std::nullopt,
                      "how many messages were sent from one worker to another; a block of a "
                      "pipeline counts as one on every edge")
                    .at_least(0),
                Field("wire_B", has_messages ? bytes_json(is.traffic.wire_B) : Json(),
                      "bytes of all these messages together; a fraction only with "
                      "chunks=fractional")
                    .like(schema_of_bytes_on_wires)
                    .if_any(),
                Field("algbw_GBps", if_answered(is.algbw_GBps),
                      "size_B divided by the time; 1 GB is 10^9 bytes; 0 where the time is 0")
                    .at_least(0),
                Field("busbw_GBps", if_answered(is.busbw_GBps),
                      "algbw_GBps times 2(P-1)/P for an all-reduce, (P-1)/P for reduce-scatter, "
                      "all-gather and all-to-all, 1 for broadcast and reduce: comparable with the "
                      "bandwidth of a link")
                    .at_least(0),
                {"fidelity", if_answered(is.fidelity),
                 "how much was simulated: a published formula, every message, every message as a "
                 "flow, or every packet"},
                transport_taken_field(is.transport),
                Field("path", if_answered(is.path),
                      "which engine computed it; all give the same picosecond")
                    .like(schema_of_paths)} +
         use_fields_if_any(is.wires.kinds.empty() ? nullptr : &is.wires) +
         Fields{Field("nccl_choice",
                      nccl && answer != nullptr ? std::optional(pair_name(nccl->choice()))
                                                : std::nullopt,
                      "the algorithm and protocol that NCCL's model chooses")
                    .like(schema_of_nccl_pairs),
                Field("candidates", std::move(candidates),
                      "everything that was compared: algorithms from the fastest on with "
                      "--algorithm auto, pairs of algorithm and protocol with --algorithm nccl")
                    .filled("candidate")
                    .if_any(),
                Field("warnings", std::vector<std::string>(is.warnings),
                      "what makes the time less certain than it looks")
                    .filled("warning")
                    .if_any(),
                {"command", if_answered(command),
                 "the `sgdsim collective` that gives this point alone, for a shell"}};
}

Json required_fields(std::vector<std::string> names) { return {{"required", std::move(names)}}; }

// None of these fields.
Json rule_without(const std::vector<std::string>& names) {
  Json any = Json::array();
  for (const std::string& name : names) any.push_back(required_fields({name}));
  return {{"anyOf", std::move(any)}};
}

// An answer, an answer of NCCL's model, which knows no messages, or none.
Json rule_of_answers() {
  Json played = required_fields({"time_ps", "time_us", "messages", "wire_B", "algbw_GBps",
                                 "busbw_GBps", "fidelity", "path", "command"});
  played["not"] = rule_without({"why_not", "nccl_choice"});
  Json modelled = required_fields({"time_ps", "time_us", "algbw_GBps", "busbw_GBps", "fidelity",
                                   "path", "nccl_choice", "candidates", "command"});
  modelled["properties"] = {{"algorithm", {{"const", "nccl"}}},
                            {"fidelity", {{"const", "closed_form"}}},
                            {"path", {{"const", "formula"}}}};
  modelled["not"] = rule_without({"why_not", "messages", "wire_B"});
  Json none = required_fields({"why_not"});
  none["not"] = rule_without({"time_ps", "time_us"});
  return {{"oneOf", {played, modelled, none}}};
}

Fields point_fields_of(const CollectivePoint& point, const CollectiveArguments& arguments) {
  const CollectiveAnswer* answer = point.answer ? &*point.answer : nullptr;
  std::optional<std::vector<int64_t>> sizes_B;
  if (point.sizes.size() > 1) {
    sizes_B.emplace();
    for (const Bytes size : point.sizes) sizes_B->push_back(size.count());
  }
  return (Fields{answer_kind("sgdsim/collective/1"),
                 Field("algorithm",
                       std::string(answer != nullptr ? answer->algorithm : point.algorithm),
                       "the algorithm that was simulated: with --algorithm auto, the cheapest one")
                     .one_of(algorithm_names()),
                 Field("operation", point.operation, "what the collective achieves")
                     .one_of(operation_names()),
                 {"cluster", point.cluster,
                  "the name of the cluster, or alpha-beta where --alpha and --beta gave one cost "
                  "for every pair"},
                 Field("ranks", point.ranks, "how many workers took part").from(1, most_workers),
                 Field("size_B", point.total().count(),
                       "bytes of the message, in the convention of nccl-tests: of an all-gather "
                       "all that one rank holds afterwards, of a reduce-scatter or all-to-all all "
                       "that it held before; of several messages the sum")
                     .at_least(0),
                 Field("sizes_B", std::move(sizes_B),
                       "bytes of each message, where --bytes was given several times")
                     .at_least(0)
                     .entries(2, INT64_MAX, "messages")} +
          choice_fields(arguments) +
          answer_fields(answer, point.nccl, answer != nullptr ? command_of(point, arguments) : "") +
          Fields{Field("why_not", std::string(answer != nullptr ? "" : point.why_not),
                       "why this point of a sweep has no answer, in a sentence")
                     .filled("letter")
                     .if_any()})
      .also(rule_of_answers);
}

Json schema_of_point_list() { return list_schema(reference("../collective/1"), 1); }

Fields sweep_fields(const Json& points) {
  return {answer_kind("sgdsim/collective-sweep/1"),
          Field("points", points,
                "one point per algorithm, size and number of ranks; algorithms change fastest, "
                "then sizes, then ranks; at least one has an answer")
              .like(schema_of_point_list)};
}

}  // namespace

Json to_json(const CollectivePoint& point, const CollectiveArguments& arguments) {
  return written(point_fields_of(point, arguments));
}
Json schema_of_collective_answers() { return record_schema(point_fields_of({}, {})); }

Json to_json(const std::vector<CollectivePoint>& points, const CollectiveArguments& arguments) {
  Json list = Json::array();
  for (const CollectivePoint& point : points)
    list.push_back(to_json(point, arguments_for(arguments, point.algorithm)));
  return written(sweep_fields(list));
}
Json schema_of_collective_sweeps() { return record_schema(sweep_fields(Json::array())); }

}  // namespace sgdsim
