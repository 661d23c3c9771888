// The measured cases that ship: the bars that predictions must meet, the parameters as their rows
// give them, the page that shows the figures, and the exit codes that scripts rely on.
#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <map>
#include <sys/wait.h>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/validate/validation.h"
#include "tests/source_tree.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

const std::filesystem::path root = SGDSIM_SOURCE_DIR;

std::vector<std::string> tcp_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(root / "models/collective/data"))
    if (entry.path().filename().string().starts_with("tcp_star_"))
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<CaseFile> tcp_cases() {
  std::vector<CaseFile> cases;
  for (const std::string& file : tcp_files()) cases.push_back(read_case_file(file));
  return cases;
}

// The same cases under the other reading of alpha.
std::vector<CaseFile> tcp_cases_with_alpha_at_the_ports() {
  std::vector<CaseFile> cases;
  for (const std::string& file : tcp_files()) {
    Json json = Document::read(file).root().json();
    json["options"]["alpha"] = "port";
    cases.push_back(read_case(Value(json, file, "")));
  }
  return cases;
}

// ---- the bars; they stand here as well as in the files, so that no file can soften them

TEST_CASE("validation: collectives over real TCP are predicted within the bars") {
  const std::vector<CaseFile> cases = tcp_cases();
  REQUIRE(cases.size() == 6);
  const std::vector<SuiteResult> suites = validate(cases);
  REQUIRE(suites.size() == 1);
  const SuiteResult& suite = suites.front();
  CHECK(suite.judged.rows.size() == 899);
  CHECK(suite.judged.held.rows == 645);
  CHECK(suite.judged.held.median <= 1);
  CHECK(suite.judged.held.p90 <= 6);
  std::size_t held_labels = 0;
  for (const LabelResult& label : suite.judged.labels) {
    if (label.use != RowUse::held) continue;
    ++held_labels;
    CHECK_MESSAGE(label.errors.median <= 2, label.label);
  }
  CHECK(held_labels == 20);
  CHECK(suite.tolerance == Tolerance{1, 6, 2, Bytes(16 << 10), {}});
  CHECK(suite.breaches.empty());
}

CaseFile step_case(const std::string& name) {
  return read_case_file((root / "models/strategy/data" / (name + ".json")).string());
}

// The cases of a suite, in the order of their names.
std::vector<CaseFile> step_cases(const std::string& suite) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root / "models/strategy/data"))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  std::vector<CaseFile> cases;
  for (const std::string& name : names)
    if (name.starts_with(suite)) cases.push_back(step_case(name));
  return cases;
}

TEST_CASE("validation: steps of PyTorch DDP over gloo are predicted within the bars") {
  struct Row {
    std::string suite;
    double median;
    double max;
  };
  for (const Row& row : {Row{"ddp_gloo_curve", 0.5, 3}, Row{"ddp_gloo_line", 1.5, 8}}) {
    INFO(row.suite);
    const std::vector<CaseFile> cases = step_cases(row.suite);
    const std::vector<SuiteResult> suites = validate(cases);
    REQUIRE(suites.size() == 1);
    const SuiteResult& suite = suites.front();
    CHECK(suite.name == row.suite);
    CHECK(suite.judged.held.rows == 36);
    CHECK(suite.judged.held.median <= row.median);
    CHECK(suite.judged.held.max <= row.max);
    CHECK(suite.tolerance.median_percent == row.median);
    CHECK(suite.tolerance.max_percent == row.max);
    CHECK(suite.breaches.empty());
    for (const CaseFile& one : cases) {  // buckets exactly as PyTorch formed them
      const Document document = Document::read(one.file);
      for (const Value& measured : document.root().child("measured").items())
        CHECK(measured.json().contains("messages_B"));
    }
    for (const RowResult& result : suite.judged.rows) CHECK(result.wrong.empty());
  }
}

TEST_CASE("validation: steps with two all-reduces in flight are predicted within the bars") {
  const CaseFile one = step_case("ddp_gloo_two_threads");
  const SuiteResult suite = validate(std::vector{one}).front();
  CHECK(suite.judged.held.rows == 18);
  CHECK(suite.judged.held.median <= 1);
  CHECK(suite.judged.held.p90 <= 8);
  CHECK(suite.breaches.empty());
  for (const RowResult& result : suite.judged.rows) CHECK(result.wrong.empty());
}

// ---- the parameters

// Minimises the sum of ((a + b s - t) / t)^2 over the points (s, t) by its normal equations.
std::pair<double, double> relative_fit(const std::vector<std::pair<double, double>>& points) {
  double w = 0, ws = 0, wss = 0, wt = 0, wst = 0;
  for (const auto& [s, t] : points) {
    const double weight = 1 / (t * t);
    w += weight;
    ws += weight * s;
    wss += weight * s * s;
    wt += weight * t;
    wst += weight * s * t;
  }
  const double determinant = w * wss - ws * ws;
  return {(wt * wss - ws * wst) / determinant, (w * wst - ws * wt) / determinant};
}

Cluster cluster_in(const std::string& file) {
  const Document document = Document::read(file);
  return read_cluster(document.root().child("cluster")).cluster;
}

// "tcp_star_100mbps" of tcp_star_100mbps_8.json: as many hosts as there may be, the links are
// alike.
std::string link_of(const std::string& file) {
  const std::string name = std::filesystem::path(file).stem().string();
  return name.substr(0, name.rfind('_'));
}

TEST_CASE("validation: start-up and beta are what the fitted rows of all stars with a link give") {
  std::map<std::string, std::vector<std::pair<double, double>>> rows;
  for (const std::string& file : tcp_files())
    for (const CaseRow& row : read_case_file(file).rows)
      if (row.use == RowUse::fitted && row.label == "oneway")
        rows[link_of(file)].emplace_back(row.size.count(), row.measured.ps());
  CHECK(rows.size() == 3);
  for (const std::string& file : tcp_files()) {
    INFO(file);
    const auto& points = rows[link_of(file)];
    CHECK(points.size() % 7 == 0);
    const auto [alpha_ps, beta_ps] = relative_fit(points);
    const PairCost cost = cluster_in(file).network.between(0, 1);
    // Written to 0.01 us for each of two traversals, and to 0.001 ns/B.
    CHECK(std::abs(static_cast<double>(cost.latency.ps()) - alpha_ps) <= 10'000 + 1);
    CHECK(std::abs(cost.per_byte.ps() - beta_ps) <= 0.5 + 1e-6);
  }
}

// Two messages one after the other, one start-up for each: what is missing is the part of the first
// that left while the second did.
TEST_CASE("validation: the sender's buffer is what the fitted row took longer") {
  const std::string file = (root / "models/collective/data/tcp_star_100mbps_4.json").string();
  const PairCost cost = cluster_in(file).network.between(0, 1);
  int found = 0;
  for (const CaseRow& row : read_case_file(file).rows) {
    if (row.use != RowUse::fitted || row.label != "bcast_mst_buf") continue;
    ++found;
    const Duration in_turn = cost.latency * 2 + cost.per_byte * (row.size * 2);
    const double buffer_B = static_cast<double>((row.measured - in_turn).ps()) / cost.per_byte.ps();
    CHECK(std::abs(buffer_B - 740'000) < 15'000);
  }
  CHECK(found == 1);
}

TEST_CASE("validation: the fast hosts of the star with a slow port are those of the even star") {
  const std::string folder = (root / "models/collective/data/").string();
  const Network slow = cluster_in(folder + "tcp_star_slow_port_4.json").network;
  const Network even = cluster_in(folder + "tcp_star_100mbps_4.json").network;
  for (const auto& [from, to] : {std::pair{0, 2}, {2, 3}, {3, 0}}) {
    CHECK(slow.between(from, to).latency == even.between(from, to).latency);
    CHECK(slow.between(from, to).per_byte == even.between(from, to).per_byte);
  }
}

// ---- docs/validation.md

using house::TableRows;

std::string signed_text(double percent) { return (percent > 0 ? "+" : "") + percent_text(percent); }

std::vector<std::string> cells(std::vector<std::string> first, const ErrorSummary& errors) {
  for (const std::string& cell :
       {std::to_string(errors.rows), percent_text(errors.median), percent_text(errors.p90),
        percent_text(errors.max), signed_text(errors.signed_median)})
    first.push_back(cell);
  return first;
}

// "`lp` broadcast": how the rows of each label are played.
std::map<std::string, std::string> plays_of(const Judged& judged) {
  std::map<std::string, std::string> plays;
  for (const RowResult& result : judged.rows) {
    const RowInputs& inputs = result.row->inputs;
    plays[result.row->label] = "`" + inputs.algorithm + "` " + inputs.operation;
  }
  return plays;
}

TableRows label_table(const Judged& judged, RowUse use) {
  auto plays = plays_of(judged);
  TableRows rows;
  for (const LabelResult& label : judged.labels)
    if (label.use == use)
      rows.push_back(cells({"`" + label.label + "`", plays[label.label]}, label.errors));
  if (use == RowUse::held) rows.push_back(cells({"all", ""}, judged.held));
  return rows;
}

TableRows miss_table(const Judged& judged, double from_percent) {
  std::vector<RowResult> misses;
  for (const RowResult& result : judged.rows)
    if (result.row->use == RowUse::held && std::abs(result.error_percent) > from_percent)
      misses.push_back(result);
  std::stable_sort(misses.begin(), misses.end(), [](const auto& a, const auto& b) {
    return std::abs(a.error_percent) > std::abs(b.error_percent);
  });
  TableRows rows;
  for (const RowResult& miss : misses) {
    const std::string& point = miss.row->point;  // "4 ranks, 1 MiB"
    rows.push_back({"`" + miss.file->name + "`", "`" + miss.row->label + "`",
                    point.substr(point.find(", ") + 2), signed_text(miss.error_percent)});
  }
  return rows;
}

std::string page() { return read_text((root / "docs/validation.md").string()); }

const std::string figures = "rows | median % | p90 % | max % | signed median % |";

TEST_CASE("validation: the page shows the errors that the program computes") {
  const std::vector<CaseFile> cases = tcp_cases();
  const SuiteResult suite = validate(cases).front();
  const std::string text = page();
  auto table = [&](const std::string& heading) { return house::markdown_table(text, heading); };
  for (const RowUse use : {RowUse::held, RowUse::fitted, RowUse::reported}) {
    const std::string name(name_of(use));
    INFO(name);
    CHECK(table("| " + name + " | simulated as | " + figures) == label_table(suite.judged, use));
  }
  TableRows by_case;
  for (const CaseResult& one : suite.cases)
    by_case.push_back(cells({"`" + one.file->name + "`"}, one.judged.held));
  CHECK(table("| case | held " + figures) == by_case);
}

TEST_CASE("validation: the page shows the errors of training steps") {
  const std::string text = page();
  for (const char* name : {"ddp_gloo_curve", "ddp_gloo_line", "ddp_gloo_two_threads",
                           "pytorch_ddp_dgx1", "tensorflow_2017", "mgwfbp_k80_10gbe"}) {
    const std::vector<CaseFile> cases = step_cases(name);
    const SuiteResult suite = validate(cases).front();
    CHECK(suite.breaches.empty());
    TableRows expected;
    for (const LabelResult& label : suite.judged.labels)
      if (label.use == RowUse::held)
        expected.push_back(cells({"`" + label.label + "`"}, label.errors));
    for (const CaseResult& one : suite.cases)
      if (cases.size() > 1)
        expected.push_back(cells({"`" + one.file->name + "`"}, one.judged.held));
    expected.push_back(cells({"all"}, suite.judged.held));
    expected.push_back(cells({"perfect scaling"}, suite.judged.perfect_scaling));
    CHECK(house::markdown_table(text, "| `" + std::string(name) + "` | " + figures) == expected);
  }
}

TEST_CASE("validation: the page shows what 4 and 8 GPUs say about 16") {
  std::vector<CaseFile> cases;
  for (const char* network : {"10gbe", "100gbe", "ib"})
    cases.push_back(step_case(std::string("ddl_benchmarks_") + network));
  const SuiteResult suite = validate(cases).front();
  CHECK(suite.judged.held.rows == 12);
  CHECK(suite.judged.held.median <= 5);
  CHECK(suite.judged.held.max <= 15);
  CHECK(suite.breaches.empty());
  TableRows expected;
  for (const RowResult& result : suite.judged.rows)
    if (result.row->use == RowUse::held)
      expected.push_back(
          {"`" + result.file->name + "`", result.row->label, signed_text(result.error_percent)});
  expected.push_back({"median of all", "", percent_text(suite.judged.held.median)});
  expected.push_back({"largest", "", percent_text(suite.judged.held.max)});
  CHECK(house::markdown_table(page(), "| network | method | error % |") == expected);
}

TEST_CASE("validation: the page lists every miss and what alpha at the ports would give") {
  const std::vector<CaseFile> cases = tcp_cases();
  const std::string text = page();
  TableRows misses = house::markdown_table(text, "| case | label | size | error % | see |");
  CHECK(text.find("The " + std::to_string(misses.size()) + " held rows beyond 6 %:") !=
        std::string::npos);
  for (auto& row : misses) {
    REQUIRE(row.size() == 5);
    CHECK(text.find("\n" + row[4].substr(1, 1) + ". ") != std::string::npos);
    row.pop_back();
  }
  CHECK(misses == miss_table(validate(cases).front().judged, 6));
  const std::vector<CaseFile> at_ports = tcp_cases_with_alpha_at_the_ports();
  const Judged judged = validate(at_ports).front().judged;
  TableRows expected;
  for (const LabelResult& label : judged.labels)
    if (label.use == RowUse::held && label.label.ends_with("_chain"))
      expected.push_back(cells({"`" + label.label + "`"}, label.errors));
  expected.push_back(cells({"all"}, judged.held));
  CHECK(house::markdown_table(text, "| alpha=port | " + figures) == expected);
}

TEST_CASE("validation: the page shows the parameters that the files have") {
  const TableRows rows = house::markdown_table(
      page(), "| case | hosts | link | one-way delay | start-up | per byte |");
  REQUIRE(rows.size() == tcp_files().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Network network = cluster_in(tcp_files()[i]).network;
    const PairCost cost = network.between(0, 1);
    INFO(tcp_files()[i]);
    CHECK(rows[i][0] == "`" + std::filesystem::path(tcp_files()[i]).stem().string() + "`");
    CHECK(rows[i][1] == std::to_string(network.workers()));
    CHECK(parse_duration(rows[i][4], "") == cost.latency);
    CHECK(parse_per_byte(rows[i][5], "") == cost.per_byte);
  }
}

// ---- exit codes

int exit_code_of(const std::string& arguments) {
  const std::string line = "cd \"" SGDSIM_SOURCE_DIR "\" && \"" SGDSIM_PROGRAM "\" validate " +
                           arguments + " > /dev/null 2>&1";
  return WEXITSTATUS(std::system(line.c_str()));
}

// Bandwidths by hand: a ring of 16 H100 moves 2 * 15/16 of the bytes. 4.61 ms for 1 GiB are 437
// GB/s on the bus, above the 370 GB/s of NVLink rings: only switches that reduce explain them.
TEST_CASE("validation: NCCL on H100 is predicted from 512 MiB on, and only with NVLink SHARP") {
  const std::vector<CaseFile> cases = {
      read_case_file((root / "models/collective/data/nccl_p5_1.json").string()),
      read_case_file((root / "models/collective/data/nccl_p5_2.json").string())};
  const std::vector<SuiteResult> suites = validate(cases);
  REQUIRE(suites.size() == 1);
  CHECK(suites.front().breaches.empty());
  std::string text = read_text((root / "models/collective/data/nccl_p5_2.json").string());
  const std::string on = R"("nvls": "on")";
  text.replace(text.find(on), on.size(), R"("nvls": "off")");
  const CaseFile without = read_case(Document::parse(text, "without").root());
  CHECK(!validate(std::vector{without}).front().breaches.empty());
  text.replace(text.find("nvls"), 4, "nvlz");
  CHECK_THROWS_WITH_AS(read_case(Document::parse(text, "wrong").root()),
                       doctest::Contains("unknown option \"nvlz\""), InputError);
}

TEST_CASE("validation: exit codes") {
  const std::string data = "models/collective/data/";
  CHECK(exit_code_of(data + "tcp_star_*.json") == 0);
  CHECK(exit_code_of(data + "tcp_star_*.json --rows --format json") == 0);
  CHECK(exit_code_of(data + "tcp_star_slow_port_4.json") == 5);
  CHECK(exit_code_of(data + "tcp_star_slow_port_4.json --format json") == 5);
  CHECK(exit_code_of("tests/bad/case/no_name.json") == 2);
  CHECK(exit_code_of("no/such/file.json") == 2);
  CHECK(exit_code_of(data + "tcp_star_100mbps_2.json " + data + "tcp_star_100mbps_2.json") == 2);
  CHECK(exit_code_of("") == 2);
  CHECK(exit_code_of(data + "tcp_star_100mbps_2.json --format xml") == 2);
}

}  // namespace
}  // namespace sgdsim
