// The text of Megatron-LM is written out as one letter a layer; the rest is arithmetic.
#include "study/layout/foreign_stages.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "models/training/stage_lengths.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_letters = 200'000;

ForeignStages wrong_stages(const std::string& sentence) {
  ForeignStages none;
  none.wrong = sentence;
  return none;
}

// Writes out repetitions: of one letter, or of what is in parentheses, which are not nested.
class LetterReader {
 public:
  explicit LetterReader(const std::string& text) : text_(text) {}

  std::optional<std::string> read() {
    std::string all;
    while (place_ < text_.size()) {
      const char c = text_[place_];
      std::optional<std::string> part;
      if (c == '(') {
        const std::size_t end = text_.find(')', place_);
        if (end == std::string::npos) return std::nullopt;
        part = LetterReader(text_.substr(place_ + 1, end - place_ - 1)).read();
        if (!part || part->empty()) return std::nullopt;
        place_ = end + 1;
        if (place_ == text_.size() || text_[place_] != '*') return std::nullopt;
      } else if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') {
        part = std::string(1, c);
        ++place_;
      } else {
        return std::nullopt;
      }
      const auto times = read_times();
      if (!times || all.size() + part->size() * *times > most_letters) return std::nullopt;
      for (std::size_t i = 0; i < *times; ++i) all += *part;
    }
    return all;
  }

 private:
  // "*29", or nothing, which is once.
  std::optional<std::size_t> read_times() {
    if (place_ == text_.size() || text_[place_] != '*') return 1;
    std::size_t times = 0;
    const char* begin = text_.data() + place_ + 1;
    const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), times);
    if (problem != std::errc() || times > most_letters) return std::nullopt;
    place_ += 1 + static_cast<std::size_t>(end - begin);
    return times;
  }

  std::string text_;
  std::size_t place_ = 0;
};

}  // namespace

ForeignStages stages_of_megatron(const std::string& text) {
  std::string bare = text;
  bare.erase(std::remove(bare.begin(), bare.end(), ','), bare.end());
  const auto letters = LetterReader(bare).read();
  if (!letters)
    return wrong_stages(
        "expected stages as in Et*3|(tt|)*29m|L, of E, t, m, L and |, with *N "
        "behind a letter or parentheses, and at most " +
        std::to_string(most_letters) + " letters; got \"" + text.substr(0, 80) + "\"");
  const auto count = [&](char c) { return std::count(letters->begin(), letters->end(), c); };
  if (letters->empty() || letters->front() != 'E' || letters->back() != 'L' || count('E') != 1 ||
      count('L') != 1)
    return wrong_stages(
        "expected one E, the embedding, at its beginning, and one L, the loss, at "
        "its end; got \"" +
        text.substr(0, 80) + "\"");
  const std::size_t first = letters->find('m');
  if (first != std::string::npos && letters->find('t', first) != std::string::npos)
    return wrong_stages("a layer t stands behind a layer m, which predicts from the last of them");
  ForeignStages stages;
  stages.predictions = count('m');
  stages.layers.push_back(0);
  for (const char c : *letters) {
    if (c == '|') stages.layers.push_back(0);
    if (c == 't') ++stages.layers.back();
  }
  return stages;
}

ForeignStages stages_of_torchtitan(int64_t layers, int64_t chunks, int64_t first_less,
                                   int64_t last_less) {
  const int64_t units = layers + first_less + last_less;
  const int64_t least = units / chunks;
  if (std::max<int64_t>({first_less, last_less, 1}) > least)
    return wrong_stages(std::to_string(layers) + " layers, with " + std::to_string(first_less) +
                        " less on the first and " + std::to_string(last_less) +
                        " less on the last of " + std::to_string(chunks) +
                        " stages, leave no layers for one of them; fewer stages would fit");
  ForeignStages stages;
  for (int64_t i = 0; i < chunks; ++i)
    stages.layers.push_back(least + (i < units % chunks ? 1 : 0));
  stages.layers.front() -= first_less;
  stages.layers.back() -= last_less;
  return stages;
}

ForeignStages stages_of_splits(const std::vector<std::string>& splits, int64_t layers) {
  ForeignStages stages;
  int64_t before = 0;
  for (const std::string& split : splits) {
    const std::string_view name = split;
    constexpr std::string_view start = "layers.";
    int64_t layer = -1;
    const bool is_layer = name.starts_with(start);
    const char* end = name.data() + name.size();
    if (!is_layer || std::from_chars(name.data() + start.size(), end, layer).ptr != end ||
        layer < before || layer >= layers)
      return wrong_stages("expected names in order from layers." + std::to_string(before) +
                          " to layers." + std::to_string(layers - 1) + ", got \"" +
                          split.substr(0, 80) + "\"");
    stages.layers.push_back(layer - before);
    before = layer;
  }
  stages.layers.push_back(layers - before);
  return stages;
}

ForeignStages stages_with_end(int64_t layers, int64_t chunks, bool is_loss) {
  if ((layers + 1) % chunks != 0)
    return wrong_stages("counts as a layer, but the " + std::to_string(layers + 1) +
                        " do not divide by the " + std::to_string(chunks) +
                        " stages of pp x vp; --layout \"... stages=spread\" takes any number");
  ForeignStages stages;
  stages.layers.assign(static_cast<std::size_t>(chunks), (layers + 1) / chunks);
  --(is_loss ? stages.layers.back() : stages.layers.front());
  return stages;
}

}  // namespace sgdsim
