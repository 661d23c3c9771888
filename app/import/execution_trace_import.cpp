// Tables of what is there; a trace is refused, because there are no times.
#include "app/import/execution_trace_import.h"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <tuple>

#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/table.h"
#include "study/write_text.h"
#include "traces/complete.h"
#include "traces/kineto/collective_kind.h"
#include "traces/kineto/execution_trace.h"

namespace sgdsim {
namespace {

using profiler::ExecutionTrace;
using profiler::TracedCollective;
using profiler::TracedGradient;
using profiler::TracedSteps;

constexpr char table_head[] = "name,elements\n";
constexpr std::size_t most_table_rows = 40;

struct ExecutionTraceArguments {
  std::string file;
  std::string out;
  bool force = false;
};

std::string known_or_mark(bool is_known, const std::string& text) { return is_known ? text : "?"; }

struct GradientSum {
  int64_t gradients = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
  bool is_known = true;

  void add(const ExecutionTrace& trace, const TracedGradient& one) {
    ++gradients;
    is_known = is_known && one.elements >= 0;
    if (one.elements < 0) return;
    elements += one.elements;
    if (elements > most_parameters)
      throw InputError(trace.file, "its gradients have more than " +
                                       std::to_string(most_parameters) + " elements of one type");
    bytes += one.elements * one.element_B;
  }
};

// Those of one step where steps are alike, else all.
void print_gradients(const ExecutionTrace& trace, const TracedSteps& steps, std::ostream& out) {
  std::map<std::string, GradientSum> sums;
  const bool is_one = steps.are_alike();
  for (const auto& step : steps.gradients) {
    for (const TracedGradient& one : step) sums[trace.type_of(one)].add(trace, one);
    if (is_one) break;
  }
  if (sums.empty()) {
    out << "\nno gradients (torch::autograd::AccumulateGrad)\n";
    return;
  }
  Table table({is_one ? "gradients of a step" : "gradients of all steps, which differ", "how many",
               "parameters", "size"});
  for (const auto& [type, sum] : sums)
    table.add({type.empty() ? "unknown type" : printable(type), std::to_string(sum.gradients),
               known_or_mark(sum.is_known, std::to_string(sum.elements)),
               known_or_mark(sum.is_known, short_size(static_cast<double>(sum.bytes)))});
  out << '\n';
  table.print(out);
}

void print_collectives(const ExecutionTrace& trace, std::ostream& out) {
  profiler::CallLevel level = profiler::CallLevel::dispatcher;
  for (const TracedCollective& one : trace.collectives) level = std::min(level, one.level);
  std::map<std::tuple<std::string, int64_t, int64_t>, int64_t> counts;
  for (const TracedCollective& one : trace.collectives) {
    if (one.level != level) continue;
    const int64_t element_B = profiler::bytes_of_type(one.facts.type);
    const bool is_known = one.facts.elements >= 0 && element_B > 0;
    const std::string kind = profiler::kind_of(one.facts, "");
    ++counts[{kind == profiler::unknown_kind && !one.facts.collective.empty() ? one.facts.collective
                                                                              : kind,
              one.facts.group_size, is_known ? one.facts.elements * element_B : -1}];
  }
  if (counts.empty()) {
    out << "\nno collectives\n";
    return;
  }
  Table table({"collective", "ranks", "size", "how often"});
  std::size_t rows = 0;
  for (const auto& [key, count] : counts) {
    if (++rows > most_table_rows) continue;
    const int64_t ranks = std::get<1>(key);
    const int64_t size_B = std::get<2>(key);
    table.add({printable(std::get<0>(key)), known_or_mark(ranks > 0, std::to_string(ranks)),
               known_or_mark(size_B >= 0, short_size(static_cast<double>(size_B))),
               std::to_string(count)});
  }
  out << '\n';
  table.print(out);
  if (rows > most_table_rows) out << "  (and " << rows - most_table_rows << " more)\n";
}

void print_contents(const ExecutionTrace& trace, std::ostream& out) {
  const TracedSteps steps = profiler::steps_of(trace);
  out << printable(trace.file) << ": " << trace.nodes << " nodes, " << trace.operators
      << " operators, " << steps.gradients.size()
      << (steps.gradients.size() == 1 ? " step" : " steps") << " with gradients";
  if (!steps.told_by.empty()) out << " (told apart by " << steps.told_by << ')';
  if (!trace.schema.empty()) out << ", schema " << printable(trace.schema);
  out << '\n';
  print_gradients(trace, steps, out);
  print_collectives(trace, out);
}

std::string parameter_rows(const ExecutionTrace& trace) {
  std::string text = table_head;
  for (const auto& [name, elements] : profiler::parameters_of(trace).parameters)
    text += name + "," + std::to_string(elements) + "\n";
  return text;
}

void import_execution_trace(const ExecutionTraceArguments& arguments, Streams streams) {
  const std::string& out = arguments.out;
  if (out.ends_with(".json"))  // a trace was meant
    throw InputError(arguments.file, profiler::why_no_times(arguments.file));
  OutputGuard({arguments.file}, arguments.force)
      .claim("--out", out, {.schema = {}, .beginning = table_head});
  ByteSource source(arguments.file);
  const ExecutionTrace trace = profiler::read_execution_trace(source);
  print_contents(trace, out == "-" ? streams.log : streams.out);
  if (!out.empty()) return write_text(parameter_rows(trace), out, streams.out);
  streams.log << "sgdsim: note: " << printable(arguments.file) << ": "
              << profiler::why_no_times(arguments.file) << '\n';
}

}  // namespace

void add_execution_trace_import(CLI::App& import, Streams streams) {
  CLI::App* one = import.add_subcommand(std::string(execution_trace_format),
                                        "Execution traces of PyTorch, which have no times: what "
                                        "they hold, and a table of parameters.");
  auto arguments = std::make_shared<ExecutionTraceArguments>();
  one->add_option("FILE", arguments->file,
                  "execution trace (.json or .json.gz); - is standard input")
      ->required();
  one->add_option("-o,--out", arguments->out,
                  "table (CSV) name,elements to write, for import kineto --parameters");
  add_force_option(*one, arguments->force);
  one->footer("Example:\n  sgdsim import execution-trace tests/data/execution_trace.json");
  one->callback([arguments, streams] { import_execution_trace(*arguments, streams); });
}

}  // namespace sgdsim
