// Evaluating costs, and the constants a and b behind them.
#include "models/strategy/cost.h"

#include <algorithm>
#include <cmath>

#include "models/collective/network_defaults.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"

namespace sgdsim {
namespace {

constexpr int64_t longest_B = int64_t{1} << 34;  // so long that chunks do not matter

// f(size) at the longest size whose time the clock can hold.
template <class F>
auto at_longest(const F& f) {
  for (int64_t size_B = longest_B; size_B > 1; size_B /= 16) {
    try {
      return f(size_B);
    } catch (const InputError&) {
      // a slow link: a shorter message says as much
    }
  }
  return f(1);
}

// a: the time with free bytes. b: the time per byte of a long message. On a network of unlike pairs
// the parts of an algorithm have costs of their own, which the second form asks for.
std::optional<Line> line_of(const Algorithm& algorithm, CollectiveJob job, int64_t long_B) {
  const Network* network = job.network;
  job.share.total = Bytes(long_B);
  job.share.fractional = true;
  const PairCost cost = job.cost.at(static_cast<double>(long_B));
  job.network = nullptr;  // sub-teams then charge job.cost as well
  job.cost = PairCost{cost.latency, {}, {}, cost.rendezvous};
  const auto start_up = closed_form_of(algorithm, job);
  job.cost = cost;
  const auto whole = closed_form_of(algorithm, job);
  if (!start_up || !whole) return std::nullopt;
  const auto long_ps = static_cast<double>(long_B);
  auto start_up_ps = static_cast<double>(start_up->ps());
  auto whole_ps = static_cast<double>(whole->ps());
  job.network = network;
  const auto real = network == nullptr ? whole : closed_form_of(algorithm, job);
  if (real != whole) {
    job.share.total = Bytes(1);
    const auto one_ps = static_cast<double>(closed_form_of(algorithm, job)->ps());
    whole_ps = static_cast<double>(real->ps());
    start_up_ps = one_ps - (whole_ps - one_ps) / (long_ps - 1);
  }
  return Line{start_up_ps, (whole_ps - start_up_ps) / long_ps};
}

Line least_squares(const std::vector<CostSample>& samples) {
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  const auto count = static_cast<double>(samples.size());
  for (const CostSample& sample : samples) {
    const auto x = static_cast<double>(sample.size.count());
    const auto y = static_cast<double>(sample.time.ps());
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double spread = count * sum_xx - sum_x * sum_x;
  const double slope = spread > 0 ? std::max(0., (count * sum_xy - sum_x * sum_y) / spread) : 0;
  return {std::max(0., (sum_y - slope * sum_x) / count), slope};
}

Duration least_of(const std::vector<Line>& lines, Bytes size) {
  const auto size_B = static_cast<double>(size.count());
  double least = lines.front().at(size_B);
  for (const Line& line : lines) least = std::min(least, line.at(size_B));
  return Duration::nearest_ps(least);
}

}  // namespace

MessageCost MessageCost::of_algorithm(const Algorithm& algorithm, const CollectiveJob& job) {
  MessageCost cost;
  cost.exchange_ = &algorithm;
  cost.job_ = job;
  const auto line = at_longest([&](int64_t long_B) { return line_of(algorithm, job, long_B); });
  cost.lines_ = {line.value_or(Line())};
  cost.check_line();
  return cost;
}

MessageCost MessageCost::of_lines(std::vector<Line> lines) {
  MessageCost cost;
  cost.exchange_ = lines;
  cost.lines_ = std::move(lines);
  cost.is_line_ = true;
  return cost;
}

MessageCost MessageCost::of_curve(Curve curve) {
  MessageCost cost;
  cost.exchange_ = std::move(curve);
  return cost;
}

MessageCost MessageCost::of_servers(const ParameterServers& servers) {
  MessageCost cost;
  cost.exchange_ = std::make_shared<const ParameterServers>(servers);
  cost.fit_line();
  return cost;
}

MessageCost MessageCost::of_formula(std::function<Duration(Bytes)> formula, StandIns stand_ins) {
  MessageCost cost;
  cost.exchange_ = Formula{std::move(formula), std::move(stand_ins)};
  cost.fit_line();
  return cost;
}

MessageCost MessageCost::with_messages() const {
  MessageCost cost = *this;
  const Formula* formula = std::get_if<Formula>(&exchange_);
  if (formula == nullptr || formula->stand_ins.algorithms.empty()) return cost;
  cost.plays_stand_ins_ = true;
  for (const MessageCost& algorithm : formula->stand_ins.algorithms)
    if (algorithm.is_known()) cost.job_ = algorithm.job_;
  return cost;
}

std::string MessageCost::stand_in_of(const Transfer& transfer) const {
  if (!plays_stand_ins_) return {};
  const StandIns& stand_ins = std::get<Formula>(exchange_).stand_ins;
  const StandIn one = stand_ins.choose(transfer.size);
  const Way& way = stand_ins.algorithms[one.number].exchange_;
  return std::string(one.stands_for) + " as " + std::string(std::get<const Algorithm*>(way)->name);
}

MessageCost MessageCost::cheapest(std::vector<MessageCost> algorithms) {
  MessageCost cost;
  cost.job_ = algorithms.front().job_;
  cost.exchange_ = std::move(algorithms);
  cost.fit_line();
  return cost;
}

MessageCost MessageCost::compressed(const MessageCost& exchange, Compression compression) {
  MessageCost cost = exchange;
  cost.density_ = density_at(compression.densities, 0);
  cost.compression_ = std::make_shared<const Compression>(std::move(compression));
  if (std::vector<MessageCost>* algorithms = cost.algorithms())
    for (MessageCost& candidate : *algorithms) candidate.compression_ = cost.compression_;
  cost.fit_line();
  return cost;
}

MessageCost MessageCost::at_density(double density) const {
  MessageCost cost = *this;
  cost.density_ = density;
  cost.fit_line();
  return cost;
}

MessageCost MessageCost::on(const Network& network) const {
  MessageCost cost = *this;
  cost.for_each_job([&](CollectiveJob& job) { job.network = &network; });
  return cost;
}

// Where messages meet, all go by the options of one algorithm: of one that shares ports.
MessageCost MessageCost::on_ports(const Cluster& cluster) const {
  MessageCost cost = *this;
  if (const auto* algorithm = std::get_if<const Algorithm*>(&exchange_))
    cost.job_.options = with_network(job_.options, cluster, **algorithm, true);
  if (std::vector<MessageCost>* candidates = cost.algorithms())
    for (MessageCost& candidate : *candidates) {
      candidate = candidate.on_ports(cluster);
      if (candidate.is_known() && candidate.job_.options.shares_ports)
        cost.job_.options = candidate.job_.options;
    }
  return cost;
}

MessageCost MessageCost::among_others() const {
  MessageCost cost = *this;
  cost.for_each_job([](CollectiveJob& job) { job.options = with_others(job.options); });
  return cost.with_messages();
}

// Those that it chooses from; null: there is no choice.
std::vector<MessageCost>* MessageCost::algorithms() {
  if (Formula* formula = std::get_if<Formula>(&exchange_)) return &formula->stand_ins.algorithms;
  return std::get_if<Candidates>(&exchange_);
}

template <class Change>
void MessageCost::for_each_job(const Change& change) {
  change(job_);
  if (std::vector<MessageCost>* candidates = algorithms())
    for (MessageCost& candidate : *candidates) change(candidate.job_);
}

// Through the times of a single byte and of a message so long that whole entries do not matter. The
// line is zero where the algorithm has no closed form.
void MessageCost::fit_line() {
  CollectiveJob job = job_;
  auto time_ps = [&](int64_t size_B) -> std::optional<double> {
    const Encoded group = encoded({.size = Bytes(size_B)});
    auto sum_ps = static_cast<double>(group.local.ps());
    for (int i = 0; i < group.transfer_count; ++i) {
      const auto time = known(group.transfers[static_cast<std::size_t>(i)], job);
      if (!time) return std::nullopt;
      sum_ps += static_cast<double>(time->ps());
    }
    return sum_ps;
  };
  lines_ = {at_longest([&](int64_t long_B) {
    const auto short_ps = time_ps(1);
    const auto long_ps = time_ps(long_B);
    if (!short_ps || !long_ps) return Line();
    return Line{*short_ps, std::max(0., (*long_ps - *short_ps) /
                                            static_cast<double>(std::max<int64_t>(1, long_B)))};
  })};
  check_line();
}

// Whether the cost follows its line at sizes from a byte on. Whole chunks and entries may add the
// time of a few bytes for each worker.
void MessageCost::check_line() {
  const Line line = lines_.front();
  is_line_ = false;
  if (job_.network != nullptr && job_.network->has_bands()) return;
  const double workers = servers() != nullptr ? servers()->workers : job_.size();
  const double rounding_ps = 8 * workers * (line.per_byte_ps + 1);
  CollectiveJob job = job_;
  is_line_ = at_longest([&](int64_t long_B) {
    for (int64_t size_B = 1; size_B <= long_B; size_B *= 16) {
      const Encoded group = encoded({.size = Bytes(size_B)});
      auto sum_ps = static_cast<double>(group.local.ps());
      for (int i = 0; i < group.transfer_count; ++i) {
        const auto time = known(group.transfers[static_cast<std::size_t>(i)], job);
        if (!time) return true;  // there is nothing to plan by but the line
        sum_ps += static_cast<double>(time->ps());
      }
      const double expected_ps = line.at(static_cast<double>(size_B));
      if (std::abs(sum_ps - expected_ps) > rounding_ps + 1e-6 * expected_ps) return false;
    }
    return true;
  });
}

const std::vector<Line>& MessageCost::no_lines() {
  static const std::vector<Line> none;
  return none;
}

double MessageCost::planned_ps(Bytes size) const {
  if (is_line_ && lines_.size() == 1) return lines_.front().at(static_cast<double>(size.count()));
  return static_cast<double>(of(size).ps());
}

double MessageCost::saved_ps(Bytes first, Bytes second) const {
  if (is_line_ && lines_.size() == 1) return lines_.front().start_up_ps;
  return static_cast<double>((of(first) + of(second) - of(first + second)).ps());
}

Duration MessageCost::of(Bytes size) const {
  CollectiveJob job = job_;
  return of(size, job);
}

Duration MessageCost::of(Bytes size, CollectiveJob& scratch) const {
  if (size.count() == 0 || (is_algorithm() && job_.size() == 1)) return {};
  if (compression_ != nullptr) return of(encoded({.size = size}), scratch);
  return exchange(Transfer{job_.operation, size, {}}, scratch).steady();
}

Encoded MessageCost::encoded(const Group& group) const {
  if (is_algorithm() && job_.size() == 1) return {};  // there is nobody to send to
  const TensorPart part{group.first_layer, group.first_piece, group.piece};
  Encoded encoded;
  if (compression_ != nullptr) {
    encoded = compression_->encode(group, density_);
    for (Transfer& transfer : encoded.transfers) transfer.part = part;
    return encoded;
  }
  encoded.transfers[0] = {job_.operation, group.size, {}};
  encoded.transfers[0].part = part;
  encoded.transfer_count = 1;
  encoded.elements = encoded.sent = encoded.delivered = static_cast<double>(group.size.count());
  return encoded;
}

Duration MessageCost::of(const Encoded& encoded) const {
  CollectiveJob job = job_;
  return of(encoded, job);
}

Duration MessageCost::of(const Encoded& encoded, CollectiveJob& scratch) const {
  return exchange(encoded, scratch).steady();
}

ExchangeTime MessageCost::exchange(const Encoded& encoded, CollectiveJob& scratch) const {
  ExchangeTime sum;
  for (int i = 0; i < encoded.transfer_count; ++i) {
    const ExchangeTime one = exchange(encoded.transfers[static_cast<std::size_t>(i)], scratch);
    sum.together += one.after(sum.spread);
    sum.spread = one.spread;
    if (i == 0) sum.absorbed = one.absorbed;
  }
  sum.together += encoded.local;
  return sum;
}

ExchangeTime MessageCost::exchange(const Transfer& transfer, CollectiveJob& scratch) const {
  if (servers() != nullptr && transfer.size.count() > 0) {
    ParameterServers servers = *this->servers();
    servers.cost = servers.cost.with(transfer.folding);
    return push_pull_time(servers, transfer.size, transfer.part);
  }
  if (const auto time = known(transfer, scratch)) return {*time, {}, {}};
  // Some strategies plan by times, whatever the fidelity.
  const InputError unknown = no_formula(
      "", std::string(std::get<const Algorithm*>(exchange_)->name) + " with these options");
  throw InputError("", std::string(unknown.what()) +
                           " and a strategy that needs no times to plan by, as wfbp or mg_wfbp");
}

std::optional<Duration> MessageCost::known(const Transfer& transfer, CollectiveJob& scratch) const {
  if (transfer.size.count() == 0) return Duration();
  if (const auto* algorithm = std::get_if<const Algorithm*>(&exchange_)) {
    std::optional<Network> network;
    prepare(scratch, transfer, network);
    std::optional<Duration> time = (*algorithm)->formula(scratch);
    if (time) *time += scratch.start();
    return time;
  }
  if (servers() != nullptr) return exchange(transfer, scratch).steady();
  if (std::holds_alternative<Candidates>(exchange_)) {
    const MessageCost& best = cheapest_for(transfer);
    CollectiveJob job = best.job_;
    return best.known(transfer, job);
  }
  if (const Formula* formula = std::get_if<Formula>(&exchange_))
    return formula->price(transfer.size);
  if (const Lines* lines = std::get_if<Lines>(&exchange_)) return least_of(*lines, transfer.size);
  return std::get<Curve>(exchange_).at(transfer.size);
}

void MessageCost::prepare(CollectiveJob& job, const Transfer& transfer,
                          std::optional<Network>& network) const {
  job.share.total = transfer.size;
  job.share.fractional = job_.share.fractional || transfer.fractional;
  if (compression_ == nullptr) return;
  job.cost = job_.cost.with(transfer.folding);
  job.network = job_.network;
  if (transfer.folding == Folding() || job_.network == nullptr) return;
  network = job_.network->with(transfer.folding);
  job.network = &*network;
}

// The first of equals.
const MessageCost& MessageCost::cheapest_for(const Transfer& transfer) const {
  const Candidates& candidates = std::get<Candidates>(exchange_);
  const MessageCost* best = nullptr;
  std::optional<Duration> least;
  for (const MessageCost& candidate : candidates) {
    CollectiveJob job = candidate.job_;
    const auto time = candidate.known(transfer, job);
    if (!time || (least && *least <= *time)) continue;
    least = time;
    best = &candidate;
  }
  if (best == nullptr) throw no_formula("", "auto with these options");
  return *best;
}

const MessageCost& MessageCost::played_for(const Transfer& transfer) const {
  if (std::holds_alternative<Candidates>(exchange_)) return cheapest_for(transfer);
  if (!plays_stand_ins_) return *this;
  const StandIns& stand_ins = std::get<Formula>(exchange_).stand_ins;
  return stand_ins.algorithms[stand_ins.choose(transfer.size).number];
}

Program MessageCost::program_of(const Transfer& transfer, std::optional<Network>& network) const {
  const MessageCost& one = played_for(transfer);
  const Algorithm& algorithm = *std::get<const Algorithm*>(one.exchange_);
  CollectiveJob job = one.job_;
  one.prepare(job, transfer, network);
  if (plays_stand_ins_) {
    const StandIns& stand_ins = std::get<Formula>(exchange_).stand_ins;
    job.launch = launch_for(stand_ins.latency(transfer.size), algorithm, job);
  }
  return schedule_of(algorithm, job);
}

MessageCost MessageCost::without_folds() const {
  MessageCost cost = *this;
  const Folding nothing{0, {}};
  if (is_algorithm() && job_.network != nullptr)
    cost.kept_network_ = std::make_shared<const Network>(job_.network->with(nothing));
  cost.for_each_job([&](CollectiveJob& job) {
    job.cost = job.cost.with(nothing);
    if (cost.kept_network_) job.network = cost.kept_network_.get();
  });
  return cost;
}

Duration MessageCost::network_free(Bytes size, const MessageCost& without) const {
  if (lines_.empty()) return curve()->samples().front().time;
  const auto size_B = static_cast<double>(size.count());
  const Line& cheapest =
      *std::min_element(lines_.begin(), lines_.end(),
                        [&](const Line& a, const Line& b) { return a.at(size_B) < b.at(size_B); });
  const bool starts_in_flight = !is_algorithm() || job_.wire();
  const Duration start_up =
      starts_in_flight ? Duration::nearest_ps(std::max(0., cheapest.start_up_ps)) : job_.start();
  if (!is_algorithm() || compression_ != nullptr) return start_up;
  return start_up + std::max(Duration(), of(size) - without.of(size));
}

Line MessageCost::line() const {
  return lines_.empty() ? least_squares(curve()->samples()) : lines_.front();
}

}  // namespace sgdsim
