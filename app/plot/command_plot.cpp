// `sgdsim plot`: a figure for a paper from the points of a sweep.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/field_options.h"
#include "app/plot/figure.h"
#include "app/plot/pivot.h"
#include "app/plot/winners.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "sim/core/output.h"
#include "sim/core/refusal.h"
#include "study/write_text.h"

namespace sgdsim {
namespace {

struct PlotArguments {
  PlotRequest request;
  std::string best;
  std::string cell;
  std::string format;
  std::string out;
  bool log_x = false;
  bool log_y = false;
  bool linear_x = false;
  bool linear_y = false;
  bool force = false;
};

Spacing spacing_of(bool is_log, bool is_linear, const char* option) {
  if (is_log && is_linear) throw InputError(option, "an axis is either logarithmic or linear");
  return is_log ? Spacing::logarithmic : is_linear ? Spacing::linear : Spacing::by_range;
}

// A table that is printed has no figure's words and scales; one of cells compares nothing.
void refuse_figure_words(const PlotArguments& arguments) {
  const PlotRequest& request = arguments.request;
  const bool has_cells = !arguments.cell.empty();
  refuse_idle({{"--best", has_cells && !arguments.best.empty()},
               {"--by", has_cells && !request.by.empty()},
               {"--out", !arguments.out.empty()},
               {"--panel", !request.panel.empty()},
               {"--title", !request.title.empty()},
               {"--x-label", !request.x_label.empty()},
               {"--y-label", !request.y_label.empty()},
               {"--log-x", arguments.log_x || arguments.linear_x},
               {"--log-y", arguments.log_y || arguments.linear_y}},
              "where --cell prints a table, or --best a map of winners; `sgdsim sweep "
              "--minimize COLUMN --picture FILE.svg` draws one");
}

void say(const LeftOut& left_out, Streams streams) {
  if (left_out.without_result > 0)
    streams.log << "sgdsim: warning: "
                << (left_out.without_result == 1 ? "1 row has no result, and is left out\n"
                                                 : std::to_string(left_out.without_result) +
                                                       " rows have no result, and are left out\n");
  if (left_out.missing > 0)
    streams.log << "sgdsim: warning: " << left_out.missing << " of " << left_out.of
                << " points of the sweep " << (left_out.missing == 1 ? "is" : "are")
                << " missing: a shard, or a sweep that has not ended\n";
  if (left_out.torn_line > 0)
    streams.log << "sgdsim: warning: line " << left_out.torn_line
                << " is cut off, and is left out: what wrote it was interrupted\n";
}

void print_map(const PlotArguments& arguments, Streams streams) {
  const PlotRequest& request = arguments.request;
  refuse_figure_words(arguments);
  say(print_winners(streams.out, request, arguments.best, standard_output()), streams);
}

void print_cells(const PlotArguments& arguments, Streams streams) {
  refuse_figure_words(arguments);
  const Pivot pivot = pivot_of(arguments.request, arguments.cell);
  print(streams.out, pivot, arguments.format);
  say(pivot.left_out, streams);
}

void plot(PlotArguments& arguments, Streams streams) {
  PlotRequest& request = arguments.request;
  if (!arguments.cell.empty()) {
    print_cells(arguments, streams);
    return;
  }
  if (!arguments.format.empty())
    throw InputError("--format", "is for --cell; a figure is what the name of --out ends in");
  if (!arguments.best.empty()) {
    print_map(arguments, streams);
    return;
  }
  if (arguments.out.empty())
    throw InputError("--out",
                     "needed: FILE.svg or FILE.pdf; or --best COLUMN for a map of winners "
                     "over --x and --y, or --cell COLUMN for a table, printed");
  const bool is_pdf = arguments.out.ends_with(".pdf");
  if (!is_pdf && !arguments.out.ends_with(".svg") && arguments.out != "-")
    throw InputError("--out", "expected a name that ends in .svg or .pdf, got \"" +
                                  arguments.out.substr(0, 60) + "\"; - is SVG to standard output");
  request.x_spacing = spacing_of(arguments.log_x, arguments.linear_x, "--log-x");
  request.y_spacing = spacing_of(arguments.log_y, arguments.linear_y, "--log-y");
  OutputGuard({request.file}, arguments.force)
      .claim("--out", arguments.out,
             {.schema = {}, .beginning = is_pdf ? pdf_beginning : picture_beginning});
  const PlotData data = plot_data(request);
  const Drawing drawing = figure_of(data, request);
  write_text(is_pdf ? pdf_of(drawing) : svg_of(drawing), arguments.out, streams.out);
  say(data.left_out, streams);
  for (const std::string& note : data.notes)
    streams.log << "sgdsim: warning: " << printable(note) << '\n';
}

void add_options(CLI::App& command, PlotArguments& arguments) {
  PlotRequest& request = arguments.request;
  command
      .add_option("POINTS", request.file,
                  "points of sgdsim sweep (lines or a database), another answer with a list of "
                  "objects, or CSV")
      ->required();
  command.add_option("--x", request.x, "column across: nodes, cluster.nic.bandwidth, ...")
      ->required();
  command.add_option("--y", request.y, "column up: speedup, iteration, throughput, ...")
      ->required();
  command.add_option("--by", request.by,
                     "one curve for each value of a column (default: what names methods)");
  command.add_option("--panel", request.panel,
                     "one panel for each value of a column (default: the one that also varies)");
  make_repeatable(command.add_option("--where", request.where,
                                     "rows that are shown: \"nodes >= 8 and strategy != naive\""));
  command.add_option("-o,--out", arguments.out, "FILE.svg or FILE.pdf");
  command.add_option("--best", arguments.best,
                     "print a map over --x and --y in place of a figure: which method is best by "
                     "this column");
  command.add_option("--cell", arguments.cell,
                     "print a table over --x (across) and --y (down) in place of a figure: what "
                     "each point has in this column");
  add_format_option(command, arguments.format, {"table", "csv", "json"});
  command.add_option("--title", request.title, "words above the figure (default: none)");
  command.add_option("--x-label", request.x_label, "words below (default: the column, its unit)");
  command.add_option("--y-label", request.y_label, "words beside (default: the column, its unit)");
  command.add_flag("--log-x", arguments.log_x, "logarithmic across (default: if x spans a decade)");
  command.add_flag("--log-y", arguments.log_y, "logarithmic up (default: if y spans a decade)");
  command.add_flag("--linear-x", arguments.linear_x, "linear across");
  command.add_flag("--linear-y", arguments.linear_y, "linear up, from zero");
  add_force_option(command, arguments.force);
}

}  // namespace

void add_plot_command(CLI::App& program, Streams streams) {
  CLI::App* command =
      program.add_subcommand("plot", "Draw a figure for a paper from points: SVG or PDF.");
  auto arguments = std::make_shared<PlotArguments>();
  add_options(*command, *arguments);
  command->footer(
      "Example:\n"
      "  sgdsim sweep app/sweeps/nodes_bandwidth.json --out results/points.jsonl\n"
      "  sgdsim plot results/points.jsonl --x nodes --y speedup --by strategy \\\n"
      "      --where \"bandwidth == 10Gbps\" --out results/speedup.svg");
  command->callback([arguments, streams] { plot(*arguments, streams); });
}

}  // namespace sgdsim
