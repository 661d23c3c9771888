// Names before files: a name of what ships has neither a dot nor a slash beyond its own.
#include "study/layout/layout_files.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "models/training/memory.h"
#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "sim/core/foreign_json.h"
#include "study/beside.h"
#include "study/layout/flat_kind.h"
#include "study/layout/shipped.h"
#include "study/shipped_inputs.h"
#include "study/table.h"

namespace sgdsim {
namespace {

const ShippedFile* find_shipped(std::span<const ShippedFile> files, const std::string& name) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

// Letters in lower case, and digits: "Llama-3 70B" and "llama3_70b" are one name. A GPU may have
// its maker and its socket, too.
std::string plain(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view maker = "nvidia";
  if (text.starts_with(maker)) text.erase(0, maker.size());
  for (const std::string_view socket : {"sxm", "sxm4", "sxm5"})
    if (text.ends_with(socket)) text.erase(text.size() - socket.size());
  return text;
}

// "llama3.1_70b": "llama3_70b", which has the same sizes.
std::string without_minor(const std::string& name) {
  const std::size_t point = name.find('.');
  if (point == std::string::npos) return name;
  const std::size_t after = name.find_first_not_of("0123456789", point + 1);
  return name.substr(0, point) + (after == std::string::npos ? "" : name.substr(after));
}

const ShippedFile* find_loosely(std::span<const ShippedFile> files, const std::string& name) {
  const std::string asked = plain(name);
  for (std::string (*known)(const std::string&) :
       {+[](const std::string& one) { return one; }, +without_minor})
    for (const ShippedFile& file : files)
      if (plain(known(std::string(file.name))) == asked) return &file;
  return nullptr;
}

bool is_there(const std::string& file) {
  std::error_code problem;  // a name of 300 letters, say
  return std::filesystem::exists(file, problem);
}

bool is_path(const std::string& name) {
  return name == "-" || name.starts_with('{') || name.find('/') != std::string::npos ||
         name.ends_with(".json") || is_there(name);
}

// config.json of Hugging Face may be what Python writes; a file of ours is JSON.
Json read_file(const std::string& name) {
  const bool is_inline = name.starts_with('{');
  const std::string text = is_inline ? name : read_text(name);
  const std::string where = is_inline ? "inline" : name;
  Json json = foreign_json(text, where);
  return json.is_object() && json.contains("model_type") && !json.contains("schema")
             ? json
             : Document::parse(text, where).root().json();
}

Json load(const std::string& kind, const std::string& name, std::span<const ShippedFile> files) {
  if (const ShippedFile* file = find_shipped(files, name))
    return Document::parse(file->text, name).root().json();
  if (is_path(name)) return read_file(name);
  if (const ShippedFile* file = find_loosely(files, name))
    return Document::parse(file->text, std::string(file->name)).root().json();
  std::vector<std::string> known;
  for (const ShippedFile& file : files) known.emplace_back(file.name);
  throw InputError("", unknown_name(kind, name, known) + "; a file of yours ends in .json");
}

// What the value of a case names.
struct NamedFile {
  std::string name;  // as errors say it
  Json json;
};
NamedFile load_beside(const Value& value, const std::string& kind,
                      std::span<const ShippedFile> files) {
  std::string name = value.text();
  if (find_shipped(files, name) == nullptr) name = beside(value.file(), name);
  return {name, load(kind, name, files)};
}

bool is_layout_file(const std::string& text) {
  for (const char* ending : {".json", ".sh", ".yaml", ".yml", ".toml", ".txt", ".py"})
    if (text.ends_with(ending)) return true;
  return text.find('/') != std::string::npos || is_there(text);
}

bool can_grow(const std::string& shape) {
  return shape == "nvlink_box" || shape == "single_switch";
}

// One change to a layout that may make it smaller.
struct Saving {
  std::string name;
  Layout layout;
};

// What a layout says that does not go with more shards.
std::string words_to_go(const Layout& layout, int zero) {
  std::string words;
  if (zero >= 2 && layout.adds_apart) words += " without accumulate=apart";
  if (zero >= 2 && !layout.overlaps) words += " without overlap=off";
  return words;
}

std::vector<Saving> possible_savings(const Layout& layout, bool runs_flash) {
  std::vector<Saving> all;
  auto add = [&](const std::string& name, auto change) {
    Layout changed = layout;
    change(changed);
    if (!(changed == layout)) all.push_back({name, changed});
  };
  for (int zero = layout.zero + 1; zero <= 3; ++zero)
    add("zero" + std::to_string(zero) + words_to_go(layout, zero), [&](Layout& l) {
      l.zero = zero;
      if (zero < 2) return;
      l.adds_apart = false;
      l.overlaps = true;
    });
  if (layout.keeps_scores && runs_flash)
    add("attention=flash", [](Layout& l) {
      l.keeps_scores = false;
      l.recompute_modules.set(RecomputedModule::core_attn, false);
      if (l.recompute == Recompute::selective ||
          (l.recompute == Recompute::modules && l.recompute_modules.are_none()))
        l.recompute = Recompute::none;
    });
  add("recompute=full", [](Layout& l) {
    l.recompute = Recompute::full;
    l.recompute_layers = 0;
    l.recompute_modules = {};
  });
  add("sp", [](Layout& l) {
    l.sequence_parallel = true;
    l.splits_sends = false;  // sp does
  });
  if (layout.chunks > 1) add("vp1", [](Layout& l) { l.chunks = 1; });
  if (layout.micro_batch > 1)
    add("mbs1", [](Layout& l) {
      l.micro_batches *= l.micro_batch;
      l.micro_batch = 1;
    });
  add("gradients=bf16", [](Layout& l) { l.half_gradients = true; });
  auto twice = [&](const std::string& name, int64_t Layout::*size) {
    add(name + std::to_string(2 * (layout.*size)) + " (on twice the GPUs)",
        [&](Layout& l) { l.*size *= 2; });
  };
  twice("tp", &Layout::tensor);
  twice("pp", &Layout::pipeline);
  twice("cp", &Layout::context);
  return all;
}

}  // namespace

Transformer load_model(const std::string& name) {
  const Json json = load("model", name, shipped_models());
  return read_transformer(Value(json, name, ""));
}

Gpu load_gpu(const std::string& name) {
  const Json json = gpu_json(name);
  return read_gpu(Value(json, name, ""));
}

FoundGpu gpu_for(const std::string& asked, const Cluster& cluster) {
  if (!asked.empty()) return {load_gpu(asked)};
  constexpr char usual[] = "h100";
  if (cluster.gpu.empty()) return {load_gpu(usual)};
  const bool ships = find_shipped(shipped_gpus(), cluster.gpu) != nullptr ||
                     find_loosely(shipped_gpus(), cluster.gpu) != nullptr;
  FoundGpu found{load_gpu(ships ? cluster.gpu : usual)};
  if (!ships)
    found.note = cluster.name + " has " + cluster.gpu +
                 " GPUs, of which no file ships: H100s are priced. Say which otherwise, by a name "
                 "of `sgdsim list gpus` or a file of theirs (--gpu; in files, the field gpu)";
  else if (cluster.gpu_memory > Bytes())
    found.gpu.memory = cluster.gpu_memory;
  return found;
}

Json gpu_json(const std::string& name) { return load("GPU", name, shipped_gpus()); }

Transformer model_in(const Value& value) {
  if (!value.json().is_string()) return read_transformer(value);
  const NamedFile model = load_beside(value, "model", shipped_models());
  return read_transformer(Value(model.json, model.name, ""));
}

Gpu gpu_in(const Value& value) {
  if (!value.json().is_string()) return read_gpu(value);
  const NamedFile gpu = load_beside(value, "GPU", shipped_gpus());
  return read_gpu(Value(gpu.json, gpu.name, ""));
}

ForeignLayout load_layout(const std::string& text, const std::string& where, const GpuCount& gpus,
                          const Transformer& model) {
  const bool is_flags = text.starts_with("--") || (is_training_command(text) && !is_there(text));
  if (!is_flags && !is_layout_file(text) && text.find(".py:") == std::string::npos)
    return {.program = "",
            .layout = parse_layout(text, where),
            .is_text = true,
            .says_attention = says_attention(text)};
  // "FILE.py:NAME": a recipe of several.
  constexpr std::string_view python = ".py:";
  const std::size_t named = is_flags ? std::string::npos : text.rfind(python);
  const bool has_name = named != std::string::npos;
  const std::string file = has_name ? text.substr(0, named + python.size() - 1) : text;
  const std::string recipe = has_name ? text.substr(named + python.size()) : "";
  const std::string content = is_flags ? text : read_text(file);
  const FlatSettings settings = FlatSettings::read(content, is_flags ? where : file, recipe);
  if (settings.find("schema")) {
    const Document document = Document::parse(content, text);
    return {.program = "",
            .layout = read_layout(document.root()),
            .says_attention = document.root().json().contains("attention")};
  }
  ForeignLayout found = foreign_layout(settings, gpus, model);
  found.notes.insert(found.notes.begin(),
                     "read as " + found.program + ": " + to_text(found.layout));
  return found;
}

ClusterFile cluster_in(const Value& value, int64_t gpus) {
  if (value.json().is_string()) return load_cluster(beside(value.file(), value.text()), gpus);
  ClusterFile file = read_cluster(value);
  if (file.cluster.network.crowding().any())
    value.child("nic").child("efficiency").fail(crowding_is_for("layouts"));
  const int64_t workers = file.cluster.network.workers();
  if (gpus <= workers) return file;
  if (!can_grow(file.shape))
    throw InputError(value.where(), "the cluster has " + std::to_string(workers) + " GPUs, and " +
                                        std::to_string(gpus) +
                                        " are asked for; give it as many nodes");
  const int64_t per_node = file.cluster.workers_per_node;
  Json larger = value.json();
  larger["nodes"] = (gpus + per_node - 1) / per_node;
  return read_cluster(Value(larger, value.file(), value.path()));
}

ClusterFile load_cluster(const std::string& file, int64_t gpus) {
  const Document document = cluster_document(file);
  return cluster_in(document.root(), gpus);
}

void check_sequence(const Transformer& model, int64_t sequence, const std::string& where) {
  // Some of those that are learned are for other things, such as kinds of sentences.
  const int64_t most =
      model.longest > 0 ? std::min(model.positions, model.longest) : model.positions;
  if (model.positions > 0 && sequence > most)
    throw InputError(where, "a sequence of " + std::to_string(sequence) + " is longer than the " +
                                std::to_string(most) + " positions that the model has learned");
}

std::shared_ptr<const PackedDocuments> load_documents(const std::string& text,
                                                      const Transformer& model, int64_t sequence,
                                                      int64_t batch, const std::string& where) {
  if (text.empty()) return nullptr;
  if (model.patches)
    throw InputError(where, "the input of this model are images, not documents; leave it out");
  const bool is_file = text.find('/') != std::string::npos || is_there(text);
  const DocumentLengths lengths =
      is_file ? read_documents(read_text(text), text) : parse_documents(text, where);
  return std::make_shared<const PackedDocuments>(model, lengths, sequence, batch, where);
}

bool says_attention(const std::string& words) {
  return (" " + words).find(" attention=") != std::string::npos;
}

std::string settle_attention(const Gpu& gpu, const Transformer& model, bool is_said,
                             Layout& layout) {
  if (gpu.runs_flash || model.heads == 0 || layout.keeps_scores) return "";
  const std::string sentence = "FlashAttention does not run on " + gpu.name;
  if (is_said) return sentence + ", and attention=flash is priced as if it did";
  if (model.indexer) return sentence + ", and sparse attention is priced as if it did";
  layout.keeps_scores = true;
  return sentence + ": scores of attention are written to memory (attention=unfused)";
}

void check_layout(const Transformer& model, const Layout& layout, int64_t sequence,
                  const std::string& where) {
  const std::string misfit = misfit_of(model, layout, sequence);
  if (!misfit.empty()) throw InputError(where, misfit);
}

std::string gib_text(double size_B) { return rounded(size_B / bytes_of_gib, 4) + " GiB"; }

std::string savings_text(const Transformer& model, const Layout& layout, int64_t sequence,
                         bool runs_flash) {
  constexpr std::size_t most = 5;
  const double now = largest_memory(model, layout, sequence).total_B();
  std::vector<std::pair<double, std::string>> gains;
  for (const Saving& saving : possible_savings(layout, runs_flash)) {
    if (saving.layout.gpus() > most_gpus) continue;
    if (!misfit_of(model, saving.layout, sequence).empty()) continue;
    const double gain = now - largest_memory(model, saving.layout, sequence).total_B();
    if (gain > now / 1000) gains.emplace_back(gain, saving.name);
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (gains.size() > most) gains.resize(most);
  std::string text;
  for (const auto& [gain, name] : gains)
    text +=
        (text.empty() ? "" : ", ") + name + (text.empty() ? " would save " : " ") + gib_text(gain);
  return text;
}

void check_memory(const Transformer& model, const Layout& layout, int64_t sequence, Bytes memory,
                  Bytes reserve, const std::string& where, bool runs_flash) {
  const StageMemory largest = largest_memory(model, layout, sequence);
  const double room = static_cast<double>(memory.count()) - static_cast<double>(reserve.count());
  if (largest.total_B() <= room) return;
  const std::string savings = savings_text(model, layout, sequence, runs_flash);
  throw InputError(
      where, "stage " + std::to_string(largest.stage) + " needs " + gib_text(largest.total_B()) +
                 " and " + gib_text(static_cast<double>(reserve.count())) +
                 " in reserve, which is " + gib_text(largest.total_B() - room) + " more than the " +
                 gib_text(static_cast<double>(memory.count())) + " of a GPU; " +
                 (savings.empty() ? "no single change helps" : savings));
}

}  // namespace sgdsim
