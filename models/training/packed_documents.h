// Sequences into which documents of several lengths are packed: attention stays inside of each, so
// that its FLOP go by the sum of the squares of lengths, not by the square of their sum.
//
// Documents are drawn with a seed, joined one behind the other and cut into sequences, as
// Megatron-LM's and torchtitan's data sets are: no token is lost, and a document may go on in the
// next sequence. Replicas get different documents, and the one with most attention is waited for.
// It is wrong where documents are sorted into sequences by length, and of pipelines and
// context-parallel ranks, whose micro-batches and parts of a sequence are taken to be alike.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/training/transformer.h"

namespace sgdsim {

class Random;

// So many documents of a length, or a distribution.
struct DocumentLengths {
  enum class Kind : uint8_t { counted, exponential, lognormal };
  struct Count {
    int64_t length = 0;
    int64_t count = 0;
  };
  Kind kind = Kind::counted;
  std::vector<Count> counts = {};
  double mean = 0;    // exponential
  double median = 0;  // lognormal
  double sigma = 0;   // of the logarithm
};
// "512x100,4096x3" (length x count), "exponential:800", "lognormal:600:1.2".
DocumentLengths parse_documents(const std::string& text, const std::string& where);
// Of a file: a length, or a length and a count, on each line.
DocumentLengths read_documents(const std::string& content, const std::string& where);

inline constexpr int64_t most_document = int64_t{1} << 32;  // tokens of a document
inline constexpr int64_t most_packed_pieces =
    10'000'000;  // of documents in the sequences of a step

class PackedDocuments {
 public:
  // The sequences of one step. InputError if they have too many pieces of documents.
  PackedDocuments(const Transformer& model, const DocumentLengths& lengths, int64_t sequence,
                  int64_t batch, const std::string& where);

  // Forward, of a layer and sequence, as a mean of all.
  double core_flop(Mixing mixing, FlopConvention convention) const {
    return flop_[static_cast<std::size_t>(mixing)][static_cast<std::size_t>(convention)];
  }
  // How many times the mean the replica has that has most of the squares of lengths.
  double slowest(int64_t replicas) const;
  double pieces() const { return pieces_; }          // of a sequence
  double pairs_part() const { return pairs_part_; }  // of the pairs of whole sequences

 private:
  void pack(const DocumentLengths& lengths, int64_t batch, const std::string& where);
  double slowest_of(int64_t replicas) const;

  int64_t sequence_;
  std::vector<double> squares_;        // of the lengths in all sequences before this one
  std::map<int64_t, int64_t> counts_;  // of pieces of a length
  std::map<int64_t, double> known_;    // by replicas that divide the batch
  std::array<std::array<double, 2>, mixings.size()> flop_{};
  double pieces_ = 0;
  double pairs_part_ = 1;
};

}  // namespace sgdsim
