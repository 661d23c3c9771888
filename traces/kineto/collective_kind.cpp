// PyTorch writes allreduce, all_reduce, _allgather_base, ALLTOALL_BASE; NCCL AllReduce, SendRecv.
#include "traces/kineto/collective_kind.h"

#include <cctype>

namespace sgdsim::profiler {
namespace {

struct Known {
  const char* part;
  const char* kind;
};

// The first that occurs counts: "allreduce" holds "reduce".
constexpr Known known_kinds[] = {{"allreduce", all_reduce},
                                 {"reducescatter", "reduce-scatter"},
                                 {"allgather", "all-gather"},
                                 {"alltoall", "all-to-all"},
                                 {"sendrecv", "send/receive or all-to-all"},
                                 {"broadcast", "broadcast"},
                                 {"barrier", "barrier"},
                                 {"send", "send/receive"},
                                 {"recv", "send/receive"},
                                 {"batchp2p", "send/receive"},
                                 {"coalesced", "send/receive"},
                                 {"gather", "gather"},
                                 {"scatter", "scatter"},
                                 {"reduce", "reduce"}};

std::string letters_of(const std::string& name) {
  std::string letters;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

std::string kind_in(const std::string& name) {
  const std::string letters = letters_of(name);
  for (const Known& one : known_kinds)
    if (letters.find(one.part) != letters.npos) return one.kind;
  return {};
}

}  // namespace

std::string kind_of(const CommunicationFacts& facts, const std::string& kernel) {
  if (std::string kind = kind_in(facts.collective); !kind.empty()) return kind;
  if (std::string kind = kind_in(kernel.substr(0, kernel.find('('))); !kind.empty()) return kind;
  return unknown_kind;
}

}  // namespace sgdsim::profiler
