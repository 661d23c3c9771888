// Every fidelity, synchronizations, servers, layouts, schedules, traffic, jobs, imports, fits,
// plans and advice, as small as they show something.
#include <algorithm>
#include <filesystem>
#include <map>

#include "models/compression/registry.h"
#include "models/strategy/registry.h"
#include "models/transport/registry.h"
#include "sim/core/json.h"
#include "tests/signature.h"

namespace sgdsim {
namespace {

using CommandWords = std::vector<std::string>;

std::string in_source(const std::string& file) {
  return std::string(SGDSIM_SOURCE_DIR) + "/" + file;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(in_source(folder)))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

std::string name_of_file(const std::string& file) {
  return std::filesystem::path(file).stem().string();
}

CommandWords operator+(CommandWords words, const CommandWords& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const char* const every_fidelity[] = {"closed_form", "message", "flow", "packet"};

// Three iterations after the first; of packets, which take a hundred times as long, one, in large
// packets (of the usual size are those of traffic and jobs).
CommandWords run_of(const std::string& experiment, std::string_view fidelity,
                    const CommandWords& settings) {
  const bool are_packets = fidelity == "packet";
  CommandWords words = {"run",        experiment,
                        "--format",   "json",
                        "--fidelity", std::string(fidelity),
                        "--set",      are_packets ? "iterations=1" : "iterations=3",
                        "--set",      are_packets ? "warm_up=0" : "warm_up=1"};
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  if (are_packets) words.insert(words.end(), {"--transport", "tcp packet=64KiB"});
  return words;
}

// At the fidelities where wires are shared; the others are played with every strategy elsewhere.
void add_experiments(std::vector<SignatureGroup>& groups) {
  for (const std::string& file : files_in("app/experiments"))
    groups.push_back(
        {"run " + name_of_file(file), {run_of(file, "flow", {}), run_of(file, "packet", {})}});
}

// A small model on a few workers where links are shared by several pairs.
const CommandWords on_eight = {R"(cluster={"shape": "leaf_spine", "nodes": 8, "nodes_per_leaf": 4,
                        "spines": 2, "nic": {"latency": "5 us", "bandwidth": "10 Gbps"},
                        "uplink": {"latency": "1 us", "bandwidth": "10 Gbps"}})"};
// Unlike each other where there is no formula for all of them.
std::string workers_of(std::string_view fidelity) {
  if (fidelity == "closed_form") return "workers={}";
  return R"(workers={"slow": [{"worker": 3, "factor": 1.2}],
                     "jitter": {"distribution": "lognormal", "sigma": 0.05}})";
}

void add_strategies(std::vector<SignatureGroup>& groups) {
  const std::string file = in_source("app/experiments/googlenet_k80.json");
  for (const StrategyKind& strategy : strategies()) {
    SignatureGroup group{"strategy " + std::string(strategy.name), {}};
    for (const std::string_view fidelity : every_fidelity)
      for (const std::string_view collective : {"ring", "halving_doubling", "double_binary_tree"})
        for (const std::string_view channels : {"1", "2"}) {
          if (fidelity == "packet" && collective != "ring") continue;
          if (strategy.name == "bsp_lp" && channels != "1") continue;
          group.commands.push_back(run_of(
              file, fidelity,
              on_eight + CommandWords{"strategy=" + std::string(strategy.name),
                                      "collective=" + std::string(collective),
                                      "channels=" + std::string(channels), workers_of(fidelity)}));
        }
    groups.push_back(std::move(group));
  }
}

void add_compressions(std::vector<SignatureGroup>& groups) {
  const std::string file = in_source("app/experiments/googlenet_k80.json");
  for (const CompressionKind& compression : compressions()) {
    SignatureGroup group{"compression " + std::string(compression.name), {}};
    for (const char* const fidelity : every_fidelity)
      group.commands.push_back(
          run_of(file, fidelity,
                 on_eight + CommandWords{"compression.name=" + std::string(compression.name)}));
    groups.push_back(std::move(group));
  }
}

// The experiment names a strategy, which most of them refuse: its trace does not. Asynchronous
// workers need servers, which wait for nobody.
void add_synchronizations(std::vector<SignatureGroup>& groups) {
  const std::string file = in_source("traces/data/googlenet_k80.json");
  const CommandWords evenly = {R"({"servers": 1, "placement": "dedicated"})",
                               R"({"servers": 3, "placement": "dedicated"})",
                               R"({"servers": 8, "placement": "co_located"})"};
  const CommandWords by_tensor = {
      R"({"servers": 3, "placement": "dedicated", "sharding": "byteps"})",
      R"({"servers": 8, "placement": "co_located", "sharding": "byteps", "barrier": true})"};
  const CommandWords by_hash = {
      R"({"servers": 3, "placement": "dedicated", "sharding": "byteps"})"};
  const auto add = [&](const std::string& name, const CommandWords& chosen, bool is_asynchronous) {
    SignatureGroup group{"synchronization " + name, {}};
    for (const char* const fidelity : every_fidelity) {
      const CommandWords all = on_eight + chosen + CommandWords{workers_of(fidelity)};
      if (!is_asynchronous) group.commands.push_back(run_of(file, fidelity, all));
      for (const std::string& servers : evenly + (is_asynchronous ? by_hash : by_tensor))
        group.commands.push_back(
            run_of(file, fidelity,
                   all + CommandWords{"collective={\"parameter_server\": " + servers + "}"}));
    }
    groups.push_back(std::move(group));
  };
  add("none", {}, false);
  add("pipe_sgd", {"synchronization=pipe_sgd"}, false);
  add("local_sgd", {"synchronization=local_sgd"}, false);
  add("async_ps", {"synchronization=async_ps"}, true);
  add("ssp", {R"(synchronization={"name": "ssp", "staleness": 0})"}, true);
}

void add_layouts(std::vector<SignatureGroup>& groups) {
  const auto layout = [](const char* model, const char* gpus, const char* words,
                         std::string_view fidelity) {
    return CommandWords{"layout",
                        model,
                        "-c",
                        in_source("topologies/data/dgx_h100_4.json"),
                        "--gpus",
                        gpus,
                        "--sequence",
                        fidelity == "packet" ? "64" : "512",
                        "--layout",
                        words,
                        "--fidelity",
                        std::string(fidelity),
                        "--memory",
                        "400 GB",
                        "--global-batch",
                        "64",
                        "--format",
                        "json"};
  };
  for (const char* const words :
       {"tp2 pp2 dp4", "tp4 sp pp4 vp2 zero1", "pp4 dp4 schedule=gpipe zero1",
        "pp4 dp4 schedule=zb1p", "pp4 vp2 dp4 schedule=zbv", "pp4 dp4 schedule=dualpipe",
        "dp16 zero2", "dp16 zero3", "tp2 cp2 dp4 zero3", "dp16 zero3 hsdp8"}) {
    SignatureGroup group{std::string("layout ") + words, {}};
    for (const char* const fidelity : {"closed_form", "message", "flow"})
      group.commands.push_back(layout("llama3.1_8b", "16", words, fidelity));
    groups.push_back(std::move(group));
  }
  SignatureGroup experts{"layout of experts", {}};
  for (const char* const fidelity : {"closed_form", "message", "flow"})
    for (const char* const words : {"tp2 sp ep4 pp2 dp4", "ep8 dp16 zero1", "pp4 ep4 dp4 vp2"})
      experts.commands.push_back(layout("mixtral_8x7b", "16", words, fidelity));
  groups.push_back(std::move(experts));
  groups.push_back({"layout by packets",
                    {layout("llama3.1_8b", "4", "tp2 pp2 dp1", "packet"),
                     layout("vit_large", "4", "pp2 dp2 zero1", "packet")}});
  SignatureGroup uneven_gpus{"layout with uneven GPUs", {}};
  for (const char* const fidelity : {"message", "flow"})
    uneven_gpus.commands.push_back(layout("llama3.1_8b", "16", "tp2 pp2 dp4", fidelity) +
                                   CommandWords{"--workers",
                                                R"({"slow": [{"worker": 3, "factor": 1.2}],
                  "jitter": {"distribution": "lognormal", "sigma": 0.05}})",
                                                "--iterations", "4", "--seed", "5"});
  groups.push_back(std::move(uneven_gpus));
  SignatureGroup search{"layout search", {}};
  const auto find = [&](const char* model, const char* gpus) {
    search.commands.push_back({"layout", model, "-c", in_source("topologies/data/dgx_h100_4.json"),
                               "--gpus", gpus, "--format", "json"});
  };
  for (const char* const gpus : {"32", "256", "2048"}) find("llama3.1_8b", gpus);
  find("llama3.1_70b", "256");
  find("mixtral_8x7b", "256");
  find("deepseek_v3", "256");
  groups.push_back(std::move(search));
}

void add_schedules(std::vector<SignatureGroup>& groups) {
  SignatureGroup goal{"replay of GOAL", {}};
  SignatureGroup chakra{"replay of Chakra", {}};
  for (const char* const cluster : {"10gbe_16", "leaf_spine_144", "torus_4x4x4", "10gbe_2x8"})
    for (const char* const fidelity : {"message", "flow", "packet"}) {
      const CommandWords on = {
          "-c",         in_source(std::string("topologies/data/") + cluster + ".json"),
          "--format",   "json",
          "--fidelity", fidelity};
      goal.commands.push_back(CommandWords{"replay", in_source("app/schedules/ring_4.goal")} + on);
      CommandWords four = {"replay"};
      for (const char rank : {'0', '1', '2', '3'})
        four.push_back(in_source(std::string("tests/data/chakra/four.") + rank + ".et"));
      chakra.commands.push_back(
          four + CommandWords{"--groups", in_source("tests/data/chakra/four.groups.json")} + on);
    }
  for (const CommandWords& loggops : {CommandWords{"--L", "2000", "--G", "1"},
                                      CommandWords{"--L", "5000", "--o", "1000", "--g", "500",
                                                   "--G", "0.4", "--O", "0.1", "--S", "65536"}})
    for (const char* const file :
         {"app/schedules/ring_4.goal", "app/schedules/two_processors.goal"})
      goal.commands.push_back(CommandWords{"replay", in_source(file), "--format", "json"} +
                              loggops);
  groups.push_back(std::move(goal));
  groups.push_back(std::move(chakra));
}

void add_traffic(std::vector<SignatureGroup>& groups) {
  const std::string cluster = in_source("topologies/data/leaf_spine_144.json");
  for (const std::string& file : files_in("app/flows")) {
    SignatureGroup group{"traffic " + name_of_file(file), {}};
    for (const char* const routing : {"by_destination", "hashed", "split"})
      group.commands.push_back(
          {"traffic", file, "-c", cluster, "--format", "json", "--routing", routing});
    const std::map<std::string, std::string_view> of_long = {{"poisson_half", "ndp"},
                                                             {"web_search_and_incast", "dlcp"}};
    const auto one = of_long.find(name_of_file(file));
    for (const Transport& transport : transports())
      if (one == of_long.end() || transport.name == one->second)
        group.commands.push_back({"traffic", file, "-c", cluster, "--format", "json", "--fidelity",
                                  "packet", "--transport", std::string(transport.name)});
    groups.push_back(std::move(group));
  }
}

// As they are at ports and as flows; of packets a few workers, where the file has them.
void add_jobs(std::vector<SignatureGroup>& groups) {
  const auto jobs = [](const std::string& file, const char* fidelity,
                       const CommandWords& settings) {
    CommandWords words = {"jobs", file, "--format", "json", "--fidelity", fidelity};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    return words;
  };
  const std::string servers = "jobs.0.experiment.collective.parameter_server.servers=";
  const std::map<std::string, CommandWords> of_few = {
      {"apnet19",
       {"jobs.0.workers=8", servers + "8", "jobs.0.placement=0-3,16-19",
        "jobs.0.experiment.iterations=1", "traffic.flows.duration=2 ms"}},
      {"mlt_simulation",
       {"jobs.0.workers=3", "jobs.0.servers=1",
        "jobs.0.set.1=collective.parameter_server.servers=1"}},
      {"mlt_testbed", {"jobs.0.workers=4", servers + "4"}},
      {"mlt_testbed_dctcp", {"jobs.0.workers=4", servers + "4"}},
      {"mlt_testbed_transformer", {"jobs.0.workers=4", servers + "4"}},
      {"mlt_without_barrier", {"jobs.0.workers=3", "jobs.0.servers=1", servers + "1"}},
      {"two_jobs", {"jobs.0.workers=4", "jobs.1.workers=4"}}};
  for (const std::string& file : files_in("app/job_files")) {
    SignatureGroup group{"jobs " + name_of_file(file), {jobs(file, "flow", {})}};
    // What changes meanwhile has no ports.
    if (read_text(file).find("\"changes\"") == std::string::npos)
      group.commands.push_back(jobs(file, "message", {}));
    if (const auto few = of_few.find(name_of_file(file)); few != of_few.end())
      group.commands.push_back(jobs(file, "packet", few->second));
    groups.push_back(std::move(group));
  }
}

void add_answers(std::vector<SignatureGroup>& groups) {
  SignatureGroup plans{"plan", {}};
  SignatureGroup advice{"advise", {}};
  for (const std::string& file : files_in("app/experiments")) {
    const CommandWords quickly = {file,    "--format",     "json",  "--set",    "fidelity=message",
                                  "--set", "iterations=3", "--set", "warm_up=0"};
    plans.commands.push_back(CommandWords{"plan"} + quickly);
    // Pairs of changes of 64 unlike workers alone take as long as all others.
    if (name_of_file(file) != "resnet50_ddp_straggler")
      advice.commands.push_back(CommandWords{"advise"} + quickly);
  }
  for (const char* const profile :
       {"tests/data/kineto.json", "traces/data/profiles/resnet50_2xA100_rank0.json.gz"})
    advice.commands.push_back({"advise", in_source(profile), "--format", "json"});
  groups.push_back(std::move(plans));
  groups.push_back(std::move(advice));
  SignatureGroup cases{"validate", {}};
  for (const std::string& file : files_in("models/training/data/cases"))
    cases.commands.push_back({"validate", file, "--format", "json"});
  groups.push_back(std::move(cases));
}

void add_files_of_others(std::vector<SignatureGroup>& groups) {
  SignatureGroup fits{"fit", {}};
  for (const char* const file :
       {"tests/data/nccl_tests.log", "tests/data/nccl_tests.json", "tests/data/rccl_tests.jsonl",
        "tests/data/measurement.json", "traces/measurement/data/nccl_a100x8.json"}) {
    fits.commands.push_back({"fit", in_source(file), "--format", "json"});
    fits.commands.push_back({"fit", in_source(file), "--from-collective", "ring", "--op",
                             "allreduce", "--format", "json"});
  }
  fits.commands.push_back(
      {"fit", in_source("tests/data/osu_allreduce.log"), "--ranks", "4", "--format", "json"});
  fits.commands.push_back({"fit", in_source("traces/measurement/data/osu_k80_10gbe.json"), "-p",
                           "8", "--format", "json"});
  fits.commands.push_back({"fit", in_source("tests/data/products.json"), "--gpu", "h100", "--name",
                           "mine", "--format", "json"});
  groups.push_back(std::move(fits));
  SignatureGroup imports{"import", {}};
  for (const std::string& file : files_in("tests/data"))
    imports.commands.push_back({"import", file});
  imports.commands.push_back({"import", "layers-csv", in_source("tests/data/layers.csv"), "--name",
                              "mine", "--batch", "32"});
  groups.push_back(std::move(imports));
}

}  // namespace

std::vector<SignatureGroup> signature_groups() {
  std::vector<SignatureGroup> groups;
  add_experiments(groups);
  add_strategies(groups);
  add_compressions(groups);
  add_synchronizations(groups);
  add_layouts(groups);
  add_schedules(groups);
  add_traffic(groups);
  add_jobs(groups);
  add_answers(groups);
  add_files_of_others(groups);
  return groups;
}

}  // namespace sgdsim
