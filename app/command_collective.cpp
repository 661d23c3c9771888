// `sgdsim collective`: one collective, or a table of them over algorithms, ranks and sizes.
#include <algorithm>
#include <memory>

#include "app/collective_options.h"
#include "app/commands.h"
#include "app/nccl_answer.h"
#include "app/ranges.h"
#include "app/table.h"
#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

int64_t total_B(const std::vector<Bytes>& messages) {
  int64_t sum = 0;
  for (const Bytes size : messages) sum += size.count();
  return sum;
}

// A number of bytes: whole where it is whole, which fractional chunks are not.
Json bytes_json(double size_B) {
  if (size_B == std::floor(size_B) && size_B < 0x1p63) return static_cast<int64_t>(size_B);
  return size_B;
}

Json to_json(const CollectiveArguments& arguments, const CollectiveAnswer& answer, int ranks,
             const std::vector<Bytes>& messages) {
  Json json = {{"schema", "sgdsim/collective/1"},
               {"algorithm", answer.algorithm},
               {"operation", arguments.operation},
               {"ranks", ranks},
               {"size_B", total_B(messages)},
               {"time_ps", answer.time.ps()},
               {"time_us", answer.time.us()},
               {"messages", answer.traffic.messages},
               {"wire_B", bytes_json(answer.traffic.wire_B)},
               {"algbw_GBps", answer.algbw_GBps},
               {"busbw_GBps", answer.busbw_GBps},
               {"fidelity", std::string(name_of(answer.fidelity))},
               {"path", answer.path}};
  if (messages.size() > 1) {
    json["messages_B"] = Json::array();
    for (const Bytes size : messages) json["messages_B"].push_back(size.count());
  }
  if (!arguments.block.empty()) json["block_B"] = parse_bytes(arguments.block, "--block").count();
  if (!arguments.options.empty()) json["options"] = arguments.options;
  if (!answer.candidates.empty()) {
    json["candidates"] = Json::array();
    for (const Candidate& candidate : answer.candidates) {
      Json row = {{"algorithm", candidate.algorithm}};
      if (candidate.time)
        row["time_us"] = candidate.time->us();
      else
        row["why_not"] = candidate.why_not;
      json["candidates"].push_back(row);
    }
  }
  if (!answer.warnings.empty()) json["warnings"] = answer.warnings;
  return json;
}

void print_answer(std::ostream& out, const CollectiveArguments& arguments,
                  const CollectiveAnswer& answer, int ranks, const std::vector<Bytes>& messages) {
  out << answer.algorithm << ' ' << arguments.operation << " of "
      << to_text(Bytes(total_B(messages))) << " among " << ranks << " ranks\n";
  Table table({"", ""});
  table.add({"time", short_duration(answer.time.us(), 6)});
  table.add({"algorithm bandwidth", rounded(answer.algbw_GBps) + " GB/s"});
  table.add({"bus bandwidth", rounded(answer.busbw_GBps) + " GB/s"});
  table.add({"messages", std::to_string(answer.traffic.messages)});
  table.add({"bytes on the wire", short_size(answer.traffic.wire_B)});
  table.add({"fidelity", std::string(name_of(answer.fidelity)) + " (" + answer.path + ")"});
  table.print(out, 2);
  if (answer.candidates.empty()) return;
  out << "\nall that offer it:\n";
  for (const Candidate& candidate : answer.candidates)
    out << "  " << candidate.algorithm << ": "
        << (candidate.time ? short_duration(candidate.time->us(), 4) : candidate.why_not) << '\n';
}

void answer_one(const CollectiveArguments& arguments, Streams streams) {
  std::vector<Bytes> messages;
  for (const std::string& size : arguments.bytes) messages.push_back(parse_bytes(size, "--bytes"));
  const int ranks = ranks_of(arguments).front();
  const Cluster cluster = cluster_of(arguments, ranks);
  if (arguments.algorithm == "nccl") return answer_like_nccl(arguments, cluster, messages, streams);
  const CollectiveQuestion question = question_of(arguments, arguments.algorithm, messages);
  const CollectiveAnswer answer = simulate_collective(question, cluster, "collective");
  for (const std::string& warning : answer.warnings)
    streams.log << "sgdsim: warning: " << warning << '\n';
  if (arguments.format == "json")
    streams.out << to_json(arguments, answer, ranks, messages).dump(2) << '\n';
  else
    print_answer(streams.out, arguments, answer, ranks, messages);
}

// One cell of a sweep: an answer, or why there is none.
struct SweepPoint {
  std::string algorithm;
  int ranks = 0;
  Bytes size;
  std::optional<CollectiveAnswer> answer;
  std::string why_not;
};

std::vector<std::string> algorithms_of(const CollectiveArguments& arguments) {
  std::vector<std::string> names;
  if (arguments.algorithm != "all") return split_list(arguments.algorithm);
  const Operation operation = operation_named(arguments.operation, "--op");
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.offers(operation)) names.emplace_back(algorithm.name);
  return names;
}

// Options that have no effect on one algorithm of many are left out for that one.
CollectiveArguments arguments_for(const CollectiveArguments& arguments,
                                  const std::string& algorithm) {
  CollectiveArguments mine = arguments;
  if (algorithm == "auto") return mine;
  const Algorithm& chosen = algorithm_named(algorithm, "--algorithm");
  std::erase_if(mine.options, [&](const std::string& option) {
    const std::string key = option.substr(0, option.find('='));
    return key != "alpha" && key != "chunks" && chosen.name != "hierarchical" &&
           std::find(chosen.options.begin(), chosen.options.end(), key) == chosen.options.end();
  });
  if (!chosen.takes_block) mine.block.clear();
  return mine;
}

std::vector<SweepPoint> sweep(const CollectiveArguments& arguments) {
  const std::vector<std::string> names = algorithms_of(arguments);
  std::vector<Bytes> sizes;
  for (const std::string& list : arguments.bytes)
    for (const Bytes size : parse_sizes(list, "--bytes")) sizes.push_back(size);
  std::vector<SweepPoint> points;
  for (const int ranks : ranks_of(arguments)) {
    const Cluster cluster = cluster_of(arguments, ranks);
    for (const Bytes size : sizes)
      for (const std::string& name : names) {
        const CollectiveArguments mine =
            names.size() > 1 ? arguments_for(arguments, name) : arguments;
        const CollectiveQuestion question = question_of(mine, name, {size});
        SweepPoint point{name, ranks, size, {}, {}};
        try {
          point.answer = simulate_collective(question, cluster, "");
        } catch (const InputError& error) {
          point.why_not = error.what();
        }
        points.push_back(std::move(point));
      }
  }
  if (std::all_of(points.begin(), points.end(), [](const auto& p) { return !p.answer; }))
    throw InputError("collective", "no point has an answer: " + points.front().why_not);
  return points;
}

void print_sweep(std::ostream& out, const std::vector<SweepPoint>& points, std::size_t columns) {
  std::vector<std::string> head{"ranks", "size"};
  for (std::size_t c = 0; c < columns; ++c) head.push_back(points[c].algorithm);
  if (columns > 1) head.emplace_back("fastest");
  Table table(head);
  for (std::size_t row = 0; row < points.size(); row += columns) {
    std::vector<std::string> cells{std::to_string(points[row].ranks),
                                   short_size(static_cast<double>(points[row].size.count()))};
    const SweepPoint* best = nullptr;
    for (std::size_t c = 0; c < columns; ++c) {
      const SweepPoint& point = points[row + c];
      cells.push_back(point.answer ? short_duration(point.answer->time.us()) : "-");
      if (point.answer && (best == nullptr || point.answer->time < best->answer->time))
        best = &point;
    }
    if (columns > 1) cells.push_back(best == nullptr ? "-" : best->algorithm);
    table.add(cells);
  }
  table.print(out, 0);
}

void answer_sweep(const CollectiveArguments& arguments, Streams streams) {
  const std::vector<SweepPoint> points = sweep(arguments);
  if (arguments.format == "table")
    return print_sweep(streams.out, points, algorithms_of(arguments).size());
  Json json = {{"schema", "sgdsim/collective-sweep/1"}, {"points", Json::array()}};
  for (const SweepPoint& point : points) {
    if (point.answer) {
      json["points"].push_back(to_json(arguments_for(arguments, point.algorithm), *point.answer,
                                       point.ranks, {point.size}));
      continue;
    }
    json["points"].push_back({{"schema", "sgdsim/collective/1"},
                              {"algorithm", point.algorithm},
                              {"operation", arguments.operation},
                              {"ranks", point.ranks},
                              {"size_B", point.size.count()},
                              {"why_not", point.why_not}});
  }
  streams.out << json.dump(1) << '\n';
}

}  // namespace

void add_collective_command(CLI::App& program, Streams streams) {
  CLI::App* command =
      program.add_subcommand("collective", "Simulate one collective, or a table of them.");
  auto arguments = std::make_shared<CollectiveArguments>();
  add_options(*command, *arguments);
  command->footer(
      "Examples:\n"
      "  sgdsim collective -a lp --op broadcast -p 8 -n \"244 MB\" --alpha \"10 us\" --beta "
      "\"0.1 ns/B\"\n"
      "  sgdsim collective --sweep -a all --op allreduce -p 2..64 -n \"4 KiB..64 MiB\" \\\n"
      "      -c topologies/data/10gbe_16.json --set nodes=64");
  command->callback([arguments, streams] {
    if (arguments->sweep)
      answer_sweep(*arguments, streams);
    else
      answer_one(*arguments, streams);
  });
}

}  // namespace sgdsim
