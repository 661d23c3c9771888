// One pass over the documents of a step; everything that is asked later is made there.
#include "models/training/packed_documents.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "sim/core/cast.h"
#include "sim/core/error.h"
#include "sim/core/random.h"

namespace sgdsim {
namespace {

constexpr uint64_t packing_seed = 1;
constexpr double most_sigma = 10;

[[noreturn]] void fail_documents(const std::string& where, const std::string& text) {
  throw InputError(where,
                   "\"" + text.substr(0, 40) +
                       "\": expected lengths with counts as 512x100,4096x3, exponential:MEAN, "
                       "lognormal:MEDIAN:SIGMA, or a file with a length, or a length and a count, "
                       "on each line");
}

// The whole text, or nothing.
template <class Number>
bool number_of(std::string_view text, Number& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() && !text.empty();
}

DocumentLengths::Count count_of(std::string_view length, std::string_view count,
                                const std::string& text, const std::string& where) {
  DocumentLengths::Count one{0, 1};
  if (!number_of(length, one.length) || (!count.empty() && !number_of(count, one.count)))
    fail_documents(where, text);
  if (one.length < 1 || one.length > most_document)
    throw InputError(where, "a document of " + std::to_string(one.length) +
                                " tokens: expected 1 to " + std::to_string(most_document));
  if (one.count < 0 || one.count > most_document)
    throw InputError(where, std::to_string(one.count) + " documents of " +
                                std::to_string(one.length) + " tokens: expected 0 to " +
                                std::to_string(most_document));
  return one;
}

void check_any(const DocumentLengths& lengths, const std::string& where) {
  const bool has_some = std::any_of(lengths.counts.begin(), lengths.counts.end(),
                                    [](const auto& one) { return one.count > 0; });
  if (!has_some) throw InputError(where, "it has no document; expected at least one");
}

// Of a distribution: one number, or two.
std::vector<double> parameters_behind(const std::string& text, std::size_t from,
                                      const std::string& where) {
  std::vector<double> values;
  std::istringstream parts(text.substr(from));
  for (std::string part; std::getline(parts, part, ':');) {
    double value = 0;
    if (!number_of(std::string_view(part), value)) fail_documents(where, text);
    values.push_back(value);
  }
  return values;
}

double in_range(double value, double least, double most, const char* what,
                const std::string& where) {
  if (!(value >= least && value <= most)) {
    std::ostringstream out;
    out << what << " " << value << ": expected " << least << " to " << most;
    throw InputError(where, out.str());
  }
  return value;
}

// Draws lengths one after the other.
class Drawer {
 public:
  explicit Drawer(const DocumentLengths& lengths) : lengths_(lengths), random_(packing_seed) {
    uint64_t all = 0;
    for (const auto& one : lengths.counts) {
      all += static_cast<uint64_t>(one.count);
      ends_.push_back(all);
    }
  }
  int64_t next() {
    switch (lengths_.kind) {
      case DocumentLengths::Kind::exponential:
        return whole(random_.exponential(lengths_.mean));
      case DocumentLengths::Kind::lognormal:
        return whole(random_.lognormal(std::log(lengths_.median), lengths_.sigma));
      case DocumentLengths::Kind::counted:
        break;
    }
    const uint64_t drawn = random_.below(ends_.back());
    const auto found = std::upper_bound(ends_.begin(), ends_.end(), drawn);
    return lengths_.counts[static_cast<std::size_t>(found - ends_.begin())].length;
  }

 private:
  static int64_t whole(double length) {
    return static_cast<int64_t>(
        std::clamp(std::round(length), 1.0, static_cast<double>(most_document)));
  }

  const DocumentLengths& lengths_;
  Random random_;
  std::vector<uint64_t> ends_;
};

}  // namespace

DocumentLengths parse_documents(const std::string& text, const std::string& where) {
  DocumentLengths lengths;
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const std::string name = text.substr(0, colon);
    const std::vector<double> values = parameters_behind(text, colon + 1, where);
    const auto most = static_cast<double>(most_document);
    if (name == "exponential" && values.size() == 1) {
      lengths.kind = DocumentLengths::Kind::exponential;
      lengths.mean = in_range(values[0], 1, most, "a mean of", where);
    } else if (name == "lognormal" && values.size() == 2) {
      lengths.kind = DocumentLengths::Kind::lognormal;
      lengths.median = in_range(values[0], 1, most, "a median of", where);
      lengths.sigma = in_range(values[1], 0, most_sigma, "a sigma of", where);
    } else {
      fail_documents(where, text);
    }
    return lengths;
  }
  std::istringstream entries(text);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const std::size_t by = entry.find('x');
    const bool has_count = by != std::string::npos;
    if (has_count && by + 1 == entry.size()) fail_documents(where, text);
    lengths.counts.push_back(count_of(std::string_view(entry).substr(0, by),
                                      has_count ? std::string_view(entry).substr(by + 1) : "", text,
                                      where));
  }
  check_any(lengths, where);
  return lengths;
}

DocumentLengths read_documents(const std::string& content, const std::string& where) {
  DocumentLengths lengths;
  std::istringstream lines(content);
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == ',' || c == '\t' || c == '\r'; }, ' ');
    std::istringstream words(line);
    std::string length, count, more;
    words >> length >> count >> more;
    const std::string place = where + ": line " + std::to_string(number);
    const bool is_head = number == 1 && length.find_first_of("0123456789") == std::string::npos;
    if (length.empty() || length.front() == '#' || is_head) continue;
    if (!more.empty()) fail_documents(place, line);
    lengths.counts.push_back(count_of(length, count, line, place));
  }
  check_any(lengths, where);
  return lengths;
}

PackedDocuments::PackedDocuments(const Transformer& model, const DocumentLengths& lengths,
                                 int64_t sequence, int64_t batch, const std::string& where)
    : sequence_(sequence) {
  pack(lengths, batch, where);
  double all = 0;
  for (const auto& [length, count] : counts_) {
    all += real(count);
    for (std::size_t mixing = 0; mixing < mixings.size(); ++mixing) {
      if (!model.mixes(mixings[mixing].second)) continue;
      for (const auto& [name, convention] : flop_conventions)
        flop_[mixing][static_cast<std::size_t>(convention)] +=
            real(count) / real(batch) *
            attention_core_flop(model, mixings[mixing].second, length, convention);
    }
  }
  pieces_ = all / real(batch);
  pairs_part_ = squares_.back() / (real(batch) * real(sequence) * real(sequence));
  for (int64_t replicas = 1; replicas * replicas <= batch; ++replicas) {
    if (batch % replicas != 0) continue;
    known_[replicas] = slowest_of(replicas);
    known_[batch / replicas] = slowest_of(batch / replicas);
  }
}

void PackedDocuments::pack(const DocumentLengths& lengths, int64_t batch,
                           const std::string& where) {
  Drawer drawer(lengths);
  int64_t pieces = 0;
  int64_t left = 0;  // of the document that goes on
  squares_.push_back(0);
  for (int64_t i = 0; i < batch; ++i) {
    double squares = 0;
    for (int64_t room = sequence_; room > 0;) {
      if (left == 0) left = drawer.next();
      const int64_t piece = std::min(left, room);
      left -= piece;
      room -= piece;
      squares += real(piece) * real(piece);
      ++counts_[piece];
      if (++pieces > most_packed_pieces)
        throw InputError(where, "the sequences of a step have more than " +
                                    std::to_string(most_packed_pieces) +
                                    " documents, the most that are packed; longer documents or a "
                                    "smaller global batch would fit");
    }
    squares_.push_back(squares_.back() + squares);
  }
}

// Sums of whole numbers, far below 2^53: differences of them are exact.
double PackedDocuments::slowest_of(int64_t replicas) const {
  const auto sequences = static_cast<int64_t>(squares_.size()) - 1;
  const int64_t of_replica = std::max<int64_t>(1, sequences / replicas);
  const int64_t counted = std::min(replicas, sequences / of_replica);
  double most = 0;
  for (int64_t i = 0; i < counted; ++i)
    most = std::max(most, squares_[at((i + 1) * of_replica)] - squares_[at(i * of_replica)]);
  return most * real(counted) / squares_[at(counted * of_replica)];
}

double PackedDocuments::slowest(int64_t replicas) const {
  const auto found = known_.find(replicas);
  return found != known_.end() ? found->second : slowest_of(replicas);
}

}  // namespace sgdsim
