// Every fidelity, synchronizations, servers, layouts, schedules, traffic, jobs, imports, fits,
// plans and advice, as small as they show something.
#include <algorithm>
#include <filesystem>

#include "models/compression/registry.h"
#include "models/strategy/registry.h"
#include "models/synchronization/registry.h"
#include "models/transport/registry.h"
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

CommandWords run_of(const std::string& experiment, const char* fidelity,
                    const CommandWords& settings) {
  CommandWords words = {"run", experiment, "--format", "json", "--fidelity", fidelity};
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  return words;
}

// At the every_fidelity where wires are shared; the others are played with every strategy
// elsewhere.
void add_experiments(std::vector<SignatureGroup>& groups) {
  for (const std::string& file : files_in("app/experiments"))
    groups.push_back({"run " + name_of_file(file),
                      {run_of(file, "flow", {"iterations=3", "warm_up=1"}),
                       run_of(file, "packet", {"iterations=1", "warm_up=0"})}});
}

// A small model on a few workers, unlike each other, where links are shared by several pairs.
const CommandWords on_eight = {R"(cluster={"shape": "leaf_spine", "nodes": 8, "nodes_per_leaf": 4,
                        "spines": 2, "nic": {"latency": "5 us", "bandwidth": "10 Gbps"},
                        "uplink": {"latency": "1 us", "bandwidth": "10 Gbps"}})",
                               "iterations=3", "warm_up=1"};
const std::string uneven = R"(workers={"slow": [{"worker": 3, "factor": 1.2}],
                                       "jitter": {"distribution": "lognormal", "sigma": 0.05}})";

void add_strategies(std::vector<SignatureGroup>& groups) {
  const std::string file = in_source("app/experiments/googlenet_k80.json");
  for (const StrategyKind& strategy : strategies()) {
    SignatureGroup group{"strategy " + std::string(strategy.name), {}};
    for (const char* const fidelity : every_fidelity)
      for (const char* const collective :
           {"collective=ring", "collective=halving_doubling", "collective=double_binary_tree"})
        for (const char* const channels : {"channels=1", "channels=2"})
          if (std::string_view(fidelity) != "packet" ||
              std::string_view(collective) == "collective=ring")
            group.commands.push_back(
                run_of(file, fidelity,
                       on_eight + CommandWords{"strategy=" + std::string(strategy.name), collective,
                                               channels, uneven}));
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

// The experiment names a strategy, which most of them refuse: its trace does not.
void add_synchronizations(std::vector<SignatureGroup>& groups) {
  const std::string file = in_source("traces/data/googlenet_k80.json");
  std::vector<std::string> names = {"synchronous"};
  for (const SynchronizationKind& kind : synchronizations()) names.emplace_back(kind.name);
  for (const std::string& name : names) {
    SignatureGroup group{"synchronization " + name, {}};
    const std::string chosen = "synchronization=" + name;
    for (const char* const fidelity : every_fidelity) {
      group.commands.push_back(run_of(file, fidelity, on_eight + CommandWords{chosen, uneven}));
      for (const char* const servers :
           {R"({"servers": 1, "placement": "dedicated"})",
            R"({"servers": 3, "placement": "dedicated", "sharding": "byteps"})",
            R"({"servers": 8, "placement": "co_located"})",
            R"({"servers": 8, "placement": "co_located", "sharding": "byteps", "barrier": true})"})
        group.commands.push_back(run_of(
            file, fidelity,
            on_eight +
                CommandWords{chosen, uneven,
                             std::string("collective={\"parameter_server\": ") + servers + "}"}));
    }
    groups.push_back(std::move(group));
  }
}

void add_layouts(std::vector<SignatureGroup>& groups) {
  const auto layout = [](const char* model, const char* gpus, const char* words,
                         const char* fidelity) {
    return CommandWords{"layout",
                        model,
                        "-c",
                        in_source("topologies/data/dgx_h100_4.json"),
                        "--gpus",
                        gpus,
                        "--sequence",
                        "512",
                        "--layout",
                        words,
                        "--fidelity",
                        fidelity,
                        "--memory",
                        "400 GB",
                        "--global-batch",
                        "16",
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
    for (const char* const words : {"tp2 ep4 pp2 dp4", "ep8 dp16 zero1", "pp4 ep4 dp4 vp2"})
      experts.commands.push_back(layout("mixtral_8x7b", "16", words, fidelity));
  groups.push_back(std::move(experts));
  groups.push_back({"layout by packets",
                    {layout("llama3.1_8b", "4", "tp2 pp2 dp1", "packet"),
                     layout("llama3.1_8b", "4", "pp2 dp2 zero1", "packet")}});
  SignatureGroup uneven_gpus{"layout with uneven GPUs", {}};
  for (const char* const fidelity : {"message", "flow"})
    uneven_gpus.commands.push_back(layout("llama3.1_8b", "16", "tp2 pp2 dp4", fidelity) +
                                   CommandWords{"--workers",
                                                R"({"slow": [{"worker": 3, "factor": 1.2}],
                  "jitter": {"distribution": "lognormal", "sigma": 0.05}})",
                                                "--iterations", "4", "--seed", "5"});
  groups.push_back(std::move(uneven_gpus));
  SignatureGroup search{"layout search", {}};
  for (const char* const model : {"llama3.1_8b", "llama3.1_70b", "mixtral_8x7b", "deepseek_v3"})
    for (const char* const gpus : {"32", "256", "2048"})
      search.commands.push_back({"layout", model, "-c",
                                 in_source("topologies/data/dgx_h100_4.json"), "--gpus", gpus,
                                 "--format", "json"});
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
    for (const Transport& transport : transports())
      group.commands.push_back({"traffic", file, "-c", cluster, "--format", "json", "--fidelity",
                                "packet", "--transport", std::string(transport.name),
                                "--max-events", "500000"});
    groups.push_back(std::move(group));
  }
}

// Up to an event: what has happened until then is hashed.
void add_jobs(std::vector<SignatureGroup>& groups) {
  for (const std::string& file : files_in("app/job_files"))
    groups.push_back({"jobs " + name_of_file(file),
                      {{"jobs", file, "--format", "json", "--max-events", "1000000"},
                       {"jobs", file, "--format", "json", "--max-sim-time", "20 ms"}}});
}

void add_answers(std::vector<SignatureGroup>& groups) {
  SignatureGroup plans{"plan", {}};
  SignatureGroup advice{"advise", {}};
  for (const std::string& file : files_in("app/experiments")) {
    const CommandWords quickly = {file,    "--format",     "json",  "--set",    "fidelity=message",
                                  "--set", "iterations=3", "--set", "warm_up=0"};
    plans.commands.push_back(CommandWords{"plan"} + quickly);
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
    fits.commands.push_back({"fit", in_source(file), "--from-collective", "ring", "--crossings",
                             "2", "--op", "allreduce", "--format", "json"});
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
