// Line by line, word by word.
#include "traces/htsim_matrix.h"

#include <limits>
#include <optional>

#include "sim/core/error.h"
#include "traces/log_text.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

constexpr int64_t longest = int64_t{1} << 62;

class MatrixReader {
 public:
  MatrixReader(std::string file, int workers) : file_(std::move(file)), workers_(workers) {}

  void read(std::string_view line, const std::string& where) {
    split_words(line, words_);
    const std::vector<std::string_view>& words = words_;
    if (words.empty() || words.front().starts_with('#')) return;
    if (words.front() == "Nodes") return read_count(words, nodes_, workers_, where);
    if (words.front() == "Connections")
      return read_count(words, connections_, static_cast<int64_t>(most_flows), where);
    if (words.front() == "Triggers" || words.front() == "trigger" || words.front() == "Failures")
      throw InputError(where, "triggers and failures are not simulated; only starts are");
    read_connection(words, where);
  }

  std::vector<PlainFlow> flows() {
    if (!nodes_) throw InputError(file_, "the line \"Nodes N\" is missing");
    if (flows_.empty()) throw InputError(file_, "no connections");
    if (connections_ && *connections_ != static_cast<int64_t>(flows_.size()))
      throw InputError(file_, "says " + std::to_string(*connections_) + " connections, and has " +
                                  std::to_string(flows_.size()));
    sort_by_start(flows_);
    return std::move(flows_);
  }

 private:
  static void read_count(const std::vector<std::string_view>& words, std::optional<int64_t>& count,
                         int64_t most, const std::string& where) {
    if (words.size() != 2 || count)
      throw InputError(where, "expected one line \"" + std::string(words.front()) + " N\"");
    count = whole_in(words[1], std::string(words.front()), 1, most, where);
  }

  void read_connection(const std::vector<std::string_view>& words, const std::string& where) {
    if (!nodes_) throw InputError(where, "expected \"Nodes N\" before the first connection");
    const std::size_t arrow = words.front().find("->");
    if (arrow == std::string_view::npos)
      throw InputError(where, "expected FROM->TO, got \"" + std::string(words.front()) + "\"");
    PlainFlow flow;
    flow.from = node_in(words.front().substr(0, arrow), where);
    flow.to = node_in(words.front().substr(arrow + 2), where);
    if (flow.from == flow.to)
      throw InputError(where, "node " + std::to_string(flow.to) + " would send to itself");
    bool has_start = false;
    bool has_size = false;
    for (std::size_t i = 1; i < words.size(); i += 2) {
      const std::string_view name = words[i];
      if (i + 1 == words.size())
        throw InputError(where, "the value of " + std::string(name) + " is missing");
      const std::string_view value = words[i + 1];
      if (name == "start") {
        flow.start = Time() + Duration::ps(whole_in(value, "a start in ps", 0, longest, where));
        has_start = true;
      } else if (name == "size") {
        flow.size = Bytes(whole_in(value, "a size in bytes", 1,
                                   std::numeric_limits<int64_t>::max() / 1024, where));
        has_size = true;
      } else if (name == "id") {
        whole_in(value, "an id", 0, longest, where);
      } else if (name == "trigger" || name == "send_done_trigger" || name == "recv_done_trigger") {
        throw InputError(where, std::string(name) + " is not simulated; only starts are");
      } else {
        throw InputError(where, "unknown word \"" + std::string(name.substr(0, 40)) +
                                    "\"; known: id, start, size");
      }
    }
    if (!has_start || !has_size)
      throw InputError(where, std::string(has_start ? "size" : "start") + " is missing");
    if (flows_.size() == most_flows)
      throw InputError(where, "more than " + std::to_string(most_flows) + " connections");
    flows_.push_back(flow);
  }

  int node_in(std::string_view word, const std::string& where) const {
    return static_cast<int>(whole_in(word, "a node", 0, *nodes_ - 1, where));
  }

  std::string file_;
  int workers_;
  std::optional<int64_t> nodes_;
  std::optional<int64_t> connections_;
  std::vector<PlainFlow> flows_;
  std::vector<std::string_view> words_;  // of the line
};

}  // namespace

bool is_htsim_matrix(std::string_view text) {
  LineReader lines(text);
  std::string_view line;
  std::vector<std::string_view> words;
  while (lines.next(line)) {
    split_words(line, words);
    if (words.empty() || words.front().starts_with('#')) continue;
    return words.front() == "Nodes";
  }
  return false;
}

std::vector<PlainFlow> parse_htsim_matrix(const std::string& text, const std::string& file,
                                          int workers) {
  MatrixReader reader(file, workers);
  LineReader lines(text);
  std::string_view line;
  for (int64_t number = 1; lines.next(line); ++number)
    reader.read(line, file + ": line " + std::to_string(number));
  return reader.flows();
}

std::string to_htsim_matrix(const std::vector<PlainFlow>& flows, int nodes) {
  std::string text =
      "Nodes " + std::to_string(nodes) + "\nConnections " + std::to_string(flows.size()) + "\n";
  for (std::size_t i = 0; i < flows.size(); ++i)
    text += std::to_string(flows[i].from) + "->" + std::to_string(flows[i].to) + " id " +
            std::to_string(i + 1) + " start " + std::to_string(flows[i].start.ps()) + " size " +
            std::to_string(flows[i].size.count()) + "\n";
  return text;
}

}  // namespace sgdsim
