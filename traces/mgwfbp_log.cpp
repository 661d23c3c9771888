// Logs of MG-WFBP for PyTorch (repository HKBU-HPML/MG-WFBP): anywhere in the log of rank 0, the
// lines `layerwise backward times: [...]` (seconds) and `layerwise backward sizes: [...]`
// (elements), one number per tensor in backward order. Of several, the last counts. Gradients are
// of 4 bytes per element.
#include "sim/core/error.h"
#include "traces/complete.h"
#include "traces/registry.h"

namespace sgdsim {
namespace {

struct NumberList {
  std::vector<std::string_view> words;
  std::string where;
};

NumberList last_list(const LogText& log, const std::vector<LogLine>& lines,
                     const std::string& title) {
  const std::string start = title + ": [";
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const std::size_t at = line->text.find(start);
    if (at == std::string_view::npos) continue;
    const std::string_view list = line->text.substr(at + start.size());
    const std::size_t close = list.find(']');
    if (close == std::string_view::npos)
      throw InputError(line->where, "expected the list to end with ] on this line");
    return {split(list.substr(0, close)), line->where};
  }
  throw InputError(log.file, "no line with \"" + start + "...]\"");
}

}  // namespace

bool is_mgwfbp_log(std::string_view text) {
  return text.find("layerwise backward times:") != std::string_view::npos;
}

Trace mgwfbp_log(const LogText& log) {
  const std::vector<LogLine> lines = lines_of(log);
  const NumberList times = last_list(log, lines, "layerwise backward times");
  const NumberList sizes = last_list(log, lines, "layerwise backward sizes");
  if (times.words.size() != sizes.words.size())
    throw InputError(sizes.where, "expected as many sizes as times, " +
                                      std::to_string(times.words.size()) + ", got " +
                                      std::to_string(sizes.words.size()));
  Trace trace = trace_from(log, "mgwfbp-log");
  trace.framework = "PyTorch";
  for (std::size_t i = times.words.size(); i-- > 0;) {
    Layer layer;
    layer.name = "tensor " + std::to_string(trace.layers.size() + 1);
    layer.backward = time_in(times.words[i], Duration::s(1), "a time", times.where);
    layer.parameters = whole_in(sizes.words[i], "a size", 0, most_parameters, sizes.where);
    layer.gradient = Bytes(4 * layer.parameters);
    trace.layers.push_back(std::move(layer));
  }
  complete(trace, log);
  return trace;
}

}  // namespace sgdsim
