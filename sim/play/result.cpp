// Sums and means of breakdowns, part by part.
#include "sim/play/result.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sgdsim {
namespace {

constexpr std::array<Duration Breakdown::*, 9> parts = {
    &Breakdown::forward,     &Breakdown::backward,   &Breakdown::update,
    &Breakdown::compression, &Breakdown::waiting,    &Breakdown::communication,
    &Breakdown::exposed,     &Breakdown::overlapped, &Breakdown::idle};

Duration computed(const Breakdown& one) {
  return one.forward + one.backward + one.update + one.compression;
}

}  // namespace

Breakdown& Breakdown::operator+=(const Breakdown& other) {
  for (const auto part : parts) this->*part += other.*part;
  return *this;
}

Breakdown Breakdown::operator*(int64_t times) const {
  Breakdown sum;
  for (const auto part : parts) sum.*part = this->*part * times;
  return sum;
}

Breakdown Breakdown::operator/(int64_t count) const {
  Breakdown mean;
  for (const auto part : parts) mean.*part = Duration::ps((this->*part).ps() / count);
  return mean;
}

Account& Account::operator+=(const Account& other) {
  parts += other.parts;
  carried += other.carried;
  return *this;
}

Breakdown Account::settled(int64_t count, Duration total) const {
  Breakdown mean = parts / count;
  const Duration iteration = Duration::ps(total.ps() / count);
  const Duration compute = computed(mean);
  if (compute > iteration)
    for (const auto part :
         {&Breakdown::forward, &Breakdown::backward, &Breakdown::update, &Breakdown::compression})
      mean.*part = Duration::ps(static_cast<int64_t>(
          std::floor(static_cast<double>((mean.*part).ps()) * (iteration / compute))));
  mean.exposed = iteration - computed(mean);
  const Duration outside =
      std::min({Duration::ps(carried.ps() / count), mean.communication, mean.exposed});
  mean.overlapped = std::min(mean.overlapped, mean.communication - outside);
  mean.waiting = std::min(mean.waiting, mean.exposed - outside);
  mean.idle = mean.exposed - outside - mean.waiting;
  return mean;
}

void CriticalPart::add(const CriticalPart& other) {
  messages += other.messages;
  first_layer = std::min(first_layer, other.first_layer);
  last_layer = std::max(last_layer, other.last_layer);
  length += other.length;
}

Duration StepResult::total() const {
  Duration sum;
  for (const Duration one : iterations) sum += one;
  return sum;
}

void StepResult::settle(const std::vector<Account>& accounts) {
  const auto count = static_cast<int64_t>(iterations.size());
  Breakdown sum;
  for (const Account& account : accounts) {
    workers.push_back(account.settled(count, total()));
    sum += workers.back();
  }
  mean = sum / static_cast<int64_t>(accounts.size());
  // Parts are cut to whole picoseconds, and exposed is what they leave.
  const Duration rest = Duration::ps(total().ps() / count) - computed(mean) - mean.exposed;
  mean.exposed += rest;
  mean.idle += rest;
}

}  // namespace sgdsim
