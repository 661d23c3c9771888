// Words of names; times until something is gained are none of a gain.
#include "study/sweep/gains.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace sgdsim {
namespace {

constexpr std::array<const char*, 29> gain_words = {
    "accuracy",   "algbw",      "busbw",       "delivered",   "efficiency", "gain",
    "gains",      "gbps",       "gflops",      "goodput",     "hfu",        "mfu",
    "overlap",    "overlapped", "pflops",      "productive",  "qps",        "saved",
    "saving",     "savings",    "scaling",     "speedup",     "speedups",   "tflops",
    "throughput", "useful",     "utilisation", "utilization", "utilised"};
// "time_to_accuracy_us", "speedup_loss_percent", "not_productive".
constexpr std::array<const char*, 12> cost_words = {"cost",     "deviation", "error", "errors",
                                                    "failures", "lost",      "loss",  "losses",
                                                    "not",      "stderr",    "to",    "without"};

// In small letters: tokens, per, s of tokens_per_s; a slash is a word, too.
std::vector<std::string> words_in_name(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0)
      words.back() += static_cast<char>(std::tolower(byte));
    else if (letter == '/')
      words.insert(words.end(), {"per", ""});
    else if (letter != '-')
      words.emplace_back();
  }
  return words;
}

// So much a second.
bool is_rate(const std::vector<std::string>& words) {
  constexpr std::array<const char*, 4> seconds = {"s", "sec", "second", "seconds"};
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "per" &&
        std::find(seconds.begin(), seconds.end(), words[i + 1]) != seconds.end())
      return true;
  return false;
}

template <std::size_t count>
bool has_any(const std::vector<std::string>& words, const std::array<const char*, count>& table) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(table.begin(), table.end(), word) != table.end();
  });
}

// mean, p95 and what else a distribution has.
bool is_of_distribution(const std::string& name) {
  constexpr std::array<const char*, 6> names = {"mean", "median", "low", "high", "max", "min"};
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  return name.size() > 1 && name[0] == 'p' &&
         name.find_first_not_of("0123456789", 1) == std::string::npos;
}

}  // namespace

std::string field_of_column(const std::string& column) {
  std::string path = column;
  for (std::size_t point = path.rfind('.'); point != std::string::npos; point = path.rfind('.')) {
    const std::string last = path.substr(point + 1);
    if (!is_of_distribution(last)) return last;
    path.resize(point);
  }
  return path;
}

bool is_gain(const std::string& column) {
  const std::vector<std::string> words = words_in_name(field_of_column(column));
  return !has_any(words, cost_words) && (has_any(words, gain_words) || is_rate(words));
}

double as_cost(const std::string& column, double figure) {
  return is_gain(column) ? -figure : figure;
}

const char* best_word(const std::string& column) { return is_gain(column) ? "largest" : "least"; }

}  // namespace sgdsim
