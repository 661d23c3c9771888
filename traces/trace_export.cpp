// Both formats are text with a line for each layer.
#include "traces/trace_export.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

constexpr int64_t ps_per_us = 1'000'000;

// Exact, without trailing zeros: "12.5".
std::string us_text(Duration length) {
  std::string text = std::to_string(length.ps() / ps_per_us);
  std::string decimals = std::to_string(ps_per_us + length.ps() % ps_per_us).substr(1);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return decimals.empty() ? text : text + "." + decimals;
}

std::string cell_of(const std::string& name, const std::string& where) {
  if (name.front() == ' ' || name.back() == ' ')
    throw InputError(
        where, "the layer \"" + name + "\" begins or ends with a blank, which a table cannot hold");
  std::string cell = "\"";
  for (const char letter : name) cell += letter == '"' ? "\"\"" : std::string(1, letter);
  return cell + "\"";
}

// Times one after another in whole nanoseconds: the sum is rounded, not each.
class WholeNanoseconds {
 public:
  int64_t next(Duration length) {
    is_exact_ = is_exact_ && length.ps() % Duration::ns(1).ps() == 0;
    exact_ps_ += length.ps();
    const int64_t ns = (exact_ps_ + Duration::ns(1).ps() / 2) / Duration::ns(1).ps() - written_;
    written_ += ns;
    return ns;
  }
  bool is_exact() const { return is_exact_; }

 private:
  int64_t exact_ps_ = 0;
  int64_t written_ = 0;
  bool is_exact_ = true;
};

// Layers are all that both files have.
void add_common_losses(const Trace& trace, ExportedTrace& answer) {
  const auto lose = [&](const char* what, const std::string& value) {
    if (!value.empty()) answer.lost.push_back(what + (" (" + value + ")"));
  };
  lose("the name of the trace", trace.name);
  lose("the model", trace.model);
  lose("the framework", trace.framework);
  lose("the device", trace.device);
  lose("the date", trace.date);
  lose("the batch", trace.batch > 0 ? std::to_string(trace.batch) : "");
  if (!trace.source.empty()) answer.lost.emplace_back("the source of the figures");
  if (trace.derived) answer.lost.emplace_back("that times are derived");
  if (trace.beside_exchanges)
    answer.lost.emplace_back("that times hold what exchanges slow computing down by");
  if (trace.load > Duration{})
    answer.lost.push_back("the time to load (" + to_text(trace.load) + ")");
  if (!trace.notes.empty()) answer.lost.emplace_back("the notes of the trace");
}

}  // namespace

ExportedTrace to_layers_csv(const Trace& trace, const std::string& where) {
  const bool has_tensors = std::any_of(trace.layers.begin(), trace.layers.end(),
                                       [](const Layer& layer) { return !layer.tensors.empty(); });
  ExportedTrace answer;
  answer.text = "name,params,bytes,fwd_us,bwd_us";
  if (trace.has_ready) answer.text += ",ready_us";
  if (has_tensors) answer.text += ",tensors";
  answer.text += '\n';
  for (const Layer& layer : trace.layers) {
    answer.text += cell_of(layer.name, where) + ',' + std::to_string(layer.parameters) + ',' +
                   std::to_string(layer.gradient.count()) + ',' + us_text(layer.forward) + ',' +
                   us_text(layer.backward);
    if (trace.has_ready) answer.text += ',' + us_text(layer.ready);
    if (has_tensors) answer.text += ',';
    for (std::size_t i = 0; i < layer.tensors.size(); ++i)
      answer.text += (i == 0 ? "" : " ") + std::to_string(layer.tensors[i]);
    answer.text += '\n';
  }
  add_common_losses(trace, answer);
  if (trace.update > Duration{})
    answer.lost.push_back("the time to update (" + to_text(trace.update) + ")");
  return answer;
}

ExportedTrace to_astra_text(const Trace& trace) {
  WholeNanoseconds forward;
  WholeNanoseconds backward;
  bool has_blanks = false;
  bool has_tensors = false;
  std::string layers;
  // The gradient of the first layer is the last, and after it comes the update.
  WholeNanoseconds update;
  const int64_t update_ns = update.next(trace.update);
  for (const Layer& layer : trace.layers) {
    std::string name = layer.name;
    std::replace_if(
        name.begin(), name.end(), [](char letter) { return letter == ' '; }, '_');
    has_blanks = has_blanks || name != layer.name;
    has_tensors = has_tensors || layer.tensors.size() > 1;
    const bool sums = layer.gradient > Bytes();
    const bool is_first = &layer == &trace.layers.front();
    layers += name + "\t-1\t" + std::to_string(forward.next(layer.forward)) +
              "\tNONE\t0\t0\tNONE\t0\t" + std::to_string(backward.next(layer.backward)) + "\t" +
              (sums ? "ALLREDUCE" : "NONE") + "\t" + std::to_string(layer.gradient.count()) + "\t" +
              std::to_string(is_first ? update_ns : 0) + "\n";
  }
  ExportedTrace answer;
  answer.text = "DATA\n" + std::to_string(trace.layers.size()) + "\n" + layers;
  if (!forward.is_exact() || !backward.is_exact() || !update.is_exact())
    answer.lost.emplace_back("parts of nanoseconds");
  if (trace.has_ready) answer.lost.emplace_back("ready times, and with them pauses");
  if (has_tensors) answer.lost.emplace_back("how layers are divided into tensors");
  if (has_blanks) answer.lost.emplace_back("blanks in names (underscores stand for them)");
  const bool is_usual =
      std::all_of(trace.layers.begin(), trace.layers.end(),
                  [](const Layer& layer) { return layer.gradient == Bytes(4 * layer.parameters); });
  if (!is_usual)
    answer.lost.emplace_back("numbers of parameters that are not a quarter of the bytes");
  add_common_losses(trace, answer);
  return answer;
}

}  // namespace sgdsim
