// Where each job goes, and what the cluster is for it.
#include "study/jobs/jobs_file.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "models/transport/transport.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "sim/core/refusal.h"
#include "study/beside.h"
#include "study/jobs/free_workers.h"
#include "study/jobs/part_of_cluster.h"
#include "study/layout/usual_reach.h"
#include "study/shipped_inputs.h"
#include "study/step/override.h"
#include "study/traffic/traffic_file.h"
#include "study/transport_choice.h"
#include "topologies/cluster_file.h"
#include "topologies/wiring.h"

namespace sgdsim {
namespace {

constexpr char jobs_schema[] = "sgdsim/jobs/1";
constexpr std::size_t most_jobs = 1000;

// Workers: so many, or which, as "0-3,7" or a list.
Json schema_of_places() { return {{"type", {"string", "array", "integer"}}}; }
Json schema_of_placement() { return {{"type", {"string", "array", "integer"}}, {"minimum", 0}}; }
Json schema_of_job_experiment() { return {{"type", {"string", "object"}}}; }

struct JobFields {
  std::string name;
  std::optional<Value> experiment, placement, servers, workers;
  std::vector<std::string> set;
  Duration start;
};

Json schema_of_workers() {
  return {{"type", "integer"}, {"minimum", 1}, {"maximum", most_workers}};
}

Fields fields_of(JobFields& o) {
  return Fields{
      Field("name", o.name, "for people").otherwise("job and its number"),
      Field("experiment", o.experiment,
            "an experiment, or the path of its file; its own cluster and fidelity do "
            "not matter")
          .like(schema_of_job_experiment),
      {"set", o.set, "fields of the experiment to change, as strategy=wfbp"},
      Field("workers", o.workers, "how many").like(schema_of_workers),
      Field("placement", o.placement,
            "packed: the first free workers; node: whole nodes; leaf: whole leaf switches "
            "(pods of rails); across: whole nodes, one of each leaf in turn; rail: the "
            "first GPU of every node, then the second; spread: evenly over the free "
            "ones, GPU by GPU; random, GPU by GPU, too; or the workers themselves, as "
            "0-3,7, or as a list by rank")
          .otherwise("packed")
          .like(schema_of_placement),
      Field("servers", o.servers,
            "workers of the cluster on which dedicated parameter servers are, as 36-47, "
            "as a list, or how many: then evenly among those that no job has yet")
          .like(schema_of_places),
      {"start", o.start, "when it starts"}};
}

Json schema_of_job() {
  JobFields job;
  WorkFields work;
  return record_schema(
      (fields_of(job) + fields_of(work))
          .exactly_one({"experiment", "schedule", "layout", "collective"}, one_work));
}
Json schema_of_list_of_jobs() { return list_schema(schema_of_job(), 1, most_jobs); }
Json schema_of_jobs_cluster() { return any_of({text_schema(), reference("../cluster/1")}); }
Json schema_of_jobs_fidelity() { return one_of_schema({"message", "flow", "packet"}); }
Json schema_of_jobs_traffic() { return any_of({text_schema(), reference("../traffic/1")}); }

struct JobsFields {
  FileHead head;
  uint64_t seed = 1;
  std::optional<Value> cluster, transport, traffic, jobs;
  std::optional<Fidelity> fidelity;
  std::optional<Routing> routing;
};

void check_has_messages(const Value& fidelity) {
  if (fidelity_named(fidelity.text(), fidelity.where()) == Fidelity::closed_form)
    fidelity.fail("jobs meet by their messages: message, flow or packet");
}

Fields fields_of(JobsFields& o) {
  return head_fields(o.head, jobs_schema) +
         Fields{Field("seed", o.seed,
                      "seed of random placements and hashed routes, and of what jobs draw whose "
                      "experiment says no seed")
                    .from(0, int64_t{1} << 62),
                Field("cluster", o.cluster,
                      "cluster that all jobs are on, the path of its file, or a name of `sgdsim "
                      "list clusters`")
                    .needed()
                    .like(schema_of_jobs_cluster),
                Field("fidelity", o.fidelity,
                      "what messages meet: message (ports of workers, of nodes and of racks, which "
                      "all share that use them), flow or packet (wires)")
                    .also(check_has_messages)
                    .like(schema_of_jobs_fidelity)
                    .otherwise("packet with a transport, else flow"),
                Field("routing", o.routing, "which of several shortest routes messages take")
                    .otherwise("by_destination"),
                Field("transport", o.transport,
                      "messages go as packets; how they are sent, as in experiments")
                    .like(schema_of_transports),
                Field("jobs", o.jobs,
                      "the jobs; each takes its workers from those that jobs before it have left")
                    .needed()
                    .like(schema_of_list_of_jobs),
                Field("traffic", o.traffic,
                      "flows of others and changes of links, or the path of their file; either may "
                      "be missing")
                    .like(schema_of_jobs_traffic)};
}

// Of a collective that is hierarchical: whether it sees no nodes.
void note_lost_nodes(const std::vector<int>& places, const Cluster& cluster,
                     std::vector<std::string>& notes) {
  if (places_per_node(places, cluster.workers_per_node) == 0)
    notes.emplace_back(
        "hierarchical takes each GPU for a node of its own, because the job does not have as many "
        "GPUs in each of its nodes, one node after another (of a collective the option group says "
        "otherwise)");
}

// What a job's places mean that its file does not say.
std::vector<std::string> notes_on(const JobOfFile& job, const Json& experiment,
                                  const Cluster& cluster) {
  const std::string& placement = job.placement;
  const int per_node = cluster.workers_per_node;
  const std::size_t nodes = nodes_of(job.places, per_node);
  std::vector<std::string> notes;
  const bool is_scattered = placement == "spread" || placement == "random";
  if (is_scattered && job.places.size() != nodes * static_cast<std::size_t>(per_node))
    notes.push_back("placement " + placement + " goes GPU by GPU, not node by node: " +
                    std::to_string(job.places.size()) + " GPUs in " + std::to_string(nodes) +
                    (nodes == 1 ? " node" : " nodes") + " of " + std::to_string(per_node));
  const bool is_grouped = experiment.contains(Json::json_pointer("/collective/options/group"));
  if (job.experiment.collective == "hierarchical" && !is_grouped)
    note_lost_nodes(job.places, cluster, notes);
  return notes;
}

// `file`: where it stands, if it has a file of its own.
Json inline_or_file(const Value& value, std::string& file) {
  if (!value.json().is_string()) return value.json();
  file = beside(value.file(), value.text());
  return Document::read(file).root().json();
}

// As inline_or_file, and the cluster may be a name.
Json inline_or_named(const Value& cluster, std::string& place) {
  if (!cluster.json().is_string()) return cluster.json();
  return cluster_document_in(cluster.file(), cluster.text(), place).root().json();
}

// A setting below the experiment of a job, where that is a path, is one of the job's own.
bool set_in_experiment(Json& json, const std::vector<std::string>& steps,
                       const std::string& setting) {
  if (steps.size() < 4 || steps[0] != "jobs" || steps[2] != "experiment") return false;
  if (!json.is_object() || !json.contains("jobs") || !json["jobs"].is_array()) return false;
  for (std::size_t i = 0; i < json["jobs"].size(); ++i) {
    Json& job = json["jobs"][i];
    if (steps[1] != std::to_string(i) || !job.is_object() || !job.contains("experiment")) continue;
    if (!job["experiment"].is_string()) return false;
    if (!job.contains("set")) job["set"] = Json::array();
    if (!job["set"].is_array()) return false;
    // In place of what the file sets there, and within.
    const std::string own = setting.substr(setting.find(".experiment.") + 12);
    const std::string path = path_of_setting(own);
    Json others = Json::array();
    for (const Json& one : job["set"])
      if (!one.is_string() ||
          !(path_of_setting(one.get<std::string>()) + ".").starts_with(path + "."))
        others.push_back(one);
    others.push_back(own);
    job["set"] = std::move(others);
    return true;
  }
  return false;
}

// As apply_settings; what is below a path changes what its file says. Returns the files of the
// parts that were put in place.
std::map<std::string, std::string> apply_to_parts(Json& json, const std::string& file,
                                                  const std::vector<std::string>& settings) {
  std::map<std::string, std::string> files;
  for (const std::string& setting : outer_first(settings)) {
    const std::size_t equals = setting.find('=');
    std::vector<std::string> steps{""};
    if (equals != std::string::npos && equals > 0)
      steps = steps_of(setting.substr(0, equals), "--set " + setting.substr(0, 80));
    const std::string& part = steps.front();
    const bool is_part = part == "cluster" || part == "traffic";
    if (is_part && steps.size() == 1) files.erase(part);
    if (is_part && steps.size() > 1 && json.is_object() && json.contains(part) &&
        json[part].is_string()) {
      std::string& place = files[part];
      const Value value(json[part], file, part);
      const Json content =
          part == "cluster" ? inline_or_named(value, place) : inline_or_file(value, place);
      json[part] = content;
    }
    if (!set_in_experiment(json, steps, setting)) apply_settings(json, {setting});
  }
  return files;
}

// A schedule, a layout or a collective.
void take_work(const WorkOfJob& work, Object& fields, JobsFile& jobs, FreeWorkers& free,
               Random random) {
  for (const char* name : {"set", "servers"})
    if (fields.has(name))
      throw no_effect(fields.at(name).where(), "on a job that has no experiment");
  JobOfFile& job = jobs.jobs.back();
  job.places = free.take(fields, random, work.ranks());
  fields.done();
  const auto workers = static_cast<int64_t>(job.places.size());
  if (work.ranks() && *work.ranks() != workers)
    fields.value().fail("it has " + std::to_string(*work.ranks()) + " ranks, and " +
                        std::to_string(workers) + " workers");
  job.work = work.on(part_of(jobs.cluster, job.places, fields.value()), jobs.reach);
  job.notes = job.work->notes;
  if (work.goes_by_node()) note_lost_nodes(job.places, jobs.cluster, job.notes);
}

void read_job(const Value& value, JobsFile& jobs, const Json& cluster, FreeWorkers& free,
              uint64_t seed) {
  Object fields(value);
  JobOfFile& job = jobs.jobs.emplace_back();
  const std::size_t number = jobs.jobs.size() - 1;
  const auto given = read_record<JobFields>(fields);
  job.name = given.name.empty() ? "job " + std::to_string(number) : given.name;
  for (std::size_t i = 0; i < number; ++i)
    if (jobs.jobs[i].name == job.name)
      value.fail("job " + std::to_string(i) + " has the name \"" + job.name + "\", too");
  job.start = Time() + given.start;
  if (!given.placement)
    job.placement = "packed";
  else if (given.placement->json().is_string())
    job.placement = given.placement->text();
  const Random random = Random(seed).stream(number);
  std::optional<int64_t> asked;
  if (given.workers) asked = given.workers->whole(1, most_workers);
  if (const auto work = WorkOfJob::read(fields, asked, jobs.cluster))
    return take_work(*work, fields, jobs, free, random);
  if (const auto set = fields.find("set"))
    for (const Value& one : set->items())
      for (const auto& [field, why] :
           {std::pair("cluster", "all jobs are on the cluster of this file"),
            std::pair("fidelity", "the fidelity of all jobs is that of this file")})
        if (one.text().starts_with(field)) one.fail(why);
  const Value experiment = fields.at("experiment");
  job.places = free.take(fields, random, std::nullopt);
  if (given.servers) job.server_places = free.take_servers(*given.servers);
  fields.done();
  std::string file;
  Json json = inline_or_file(experiment, file);
  if (!json.is_object()) experiment.fail("expected an experiment, or the path of one");
  // Its own cluster does not matter, nor whether it could be read.
  json["cluster"] = cluster;
  ResolvedExperiment resolved = with_settings_of(
      value.file(),
      resolve_experiment(
          file.empty() ? Value(json, experiment.file(), experiment.path()) : Value(json, file, ""),
          {}),
      given.set);
  if (resolved.json.contains("transport"))
    experiment.fail("the transport of all jobs is that of the jobs file");
  if (resolved.json.contains("traffic"))
    experiment.fail("the traffic beside all jobs is that of the jobs file");
  resolved.json["fidelity"] = name_of(jobs.fidelity);
  job.experiment.cluster = part_of(jobs.cluster, job.places, value);
  read_changes(job.experiment, resolved, {.cluster = true});
  job.experiment.meets_others = true;
  // Jobs alike do not stumble at the same time.
  if (!resolved.json.contains("seed"))
    job.experiment.seed = number == 0 ? seed : Random(seed).stream(number).bits() >> 2;
  const Routing routing = job.experiment.cost.job().options.routing;
  if (routing != Routing::by_destination && routing != jobs.routes.routing)
    experiment.fail("the routing of all jobs is that of the jobs file, which says " +
                    std::string(name_of(jobs.routes.routing)));
  job.experiment.inputs = resolved.json;
  job.notes = notes_on(job, resolved.json, jobs.cluster);
  const ParameterServers* servers = job.experiment.cost.servers();
  if (!job.server_places.empty() && (servers == nullptr || !servers->dedicated))
    value.fail("`servers` are places of dedicated parameter servers, which its experiment has not");
}

// `files`: of the parts that were put in place.
JobsFile read_whole(const Json& json, const std::string& file,
                    std::map<std::string, std::string> files) {
  const Value root(json, file, "");
  const auto given = read_record<JobsFields>(root);
  JobsFile jobs;
  jobs.name = given.head.name;
  if (jobs.name.empty())
    jobs.name = file == "-" ? "jobs" : std::filesystem::path(file).stem().string();
  jobs.routes.seed = given.seed;
  jobs.routes.routing = given.routing.value_or(jobs.routes.routing);
  std::string cluster_file = files["cluster"];
  const Value& cluster = *given.cluster;
  Json cluster_json = inline_or_named(cluster, cluster_file);
  if (has_layout(given.jobs->json())) jobs.reach = add_usual_reach(cluster_json);
  jobs.cluster =
      read_cluster(cluster_file.empty() ? Value(cluster_json, cluster.file(), cluster.path())
                                        : Value(cluster_json, cluster_file, ""))
          .cluster;
  jobs.fidelity = given.fidelity.value_or(given.transport ? Fidelity::packet : Fidelity::flow);
  if (given.routing && jobs.fidelity == Fidelity::packet)
    (given.transport ? *given.transport : root).fail(packets_have_spray);
  if (given.routing && jobs.fidelity == Fidelity::message)
    throw no_effect(root.file() + ": /routing",
                    "at --fidelity " + std::string(name_of(jobs.fidelity)));
  Sent sent = sent_on(jobs.cluster, jobs.fidelity, jobs.routes, given.transport, root);
  jobs.transport = std::move(sent.transport);
  jobs.carrier = std::move(sent.carrier);
  FreeWorkers free(jobs.cluster);
  const Value& list = *given.jobs;
  if (list.items().empty()) list.fail("no jobs");
  if (list.items().size() > most_jobs)
    list.fail("more than " + std::to_string(most_jobs) + " jobs");
  for (const Value& job : list.items()) read_job(job, jobs, cluster_json, free, jobs.routes.seed);
  if (jobs.reach.any())
    for (JobOfFile& job : jobs.jobs) {
      const bool is_layout = job.work && job.work->kind == "layout";
      job.notes.push_back(
          reach_text(jobs.reach) +
          (is_layout ? "" : "; it counts for this job, too, because another one is a layout"));
    }
  if (const auto& traffic = given.traffic) {
    std::string traffic_file = files["traffic"];
    const Json inside = inline_or_file(*traffic, traffic_file);
    const auto wires = jobs.shared();
    TrafficFile read =
        read_traffic(traffic_file.empty() ? *traffic : Value(inside, traffic_file, ""),
                     jobs.cluster, *wires, std::nullopt);
    jobs.traffic = std::move(read.flows);
    jobs.changes = std::move(read.changes);
  }
  return jobs;
}

}  // namespace

JobsSource jobs_source(const std::string& file, const std::vector<std::string>& settings) {
  return {Document::read(file).root().json(), file.starts_with('{') ? "inline" : file, settings};
}

JobsFile read_jobs(const JobsSource& source) {
  Json json = source.json;
  const auto files = apply_to_parts(json, source.file, source.settings);
  try {
    return read_whole(json, source.file, files);
  } catch (const InputError& error) {
    blame_setting(error, source.settings, {files.begin(), files.end()}, source.file + ": ");
    throw;
  }
}

Json schema_of_jobs() { return schema_of_record<JobsFields>(); }

}  // namespace sgdsim
