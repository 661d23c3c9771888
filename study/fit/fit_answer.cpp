// From arguments to fits and files.
#include "study/fit/fit_answer.h"

#include "sim/core/error.h"
#include "study/fit/fit_failures.h"
#include "study/fit/fit_files.h"
#include "study/fit/fit_gpu.h"
#include "study/fit/fit_nccl.h"
#include "study/fit/fit_pairs.h"
#include "study/fit/fit_replay.h"
#include "study/fit/fit_report.h"

namespace sgdsim {
namespace {

// The fit of the links inside nodes, which comes first; `arguments` go on with its cluster.
FitAnswer fit_inside(FitArguments& arguments) {
  if (arguments.link.empty()) arguments.link = "nic";
  arguments.on_cluster = true;
  FitArguments inside = arguments;
  inside.files = arguments.inside;
  inside.link = "gpu_link";
  inside.name.clear();
  inside.ranks.clear();
  inside.options.clear();
  if (inside.from_collective == "hierarchical") inside.from_collective = "ring";
  FitAnswer answer = answer_fit(inside);
  const Json json = cluster_with_link(inside, answer);
  answer.played = played_on(json, inside, answer);
  arguments.into_text = json.dump();
  return answer;
}

}  // namespace

WholeFit answer_whole_fit(FitArguments arguments) {
  WholeFit fit;
  if (!arguments.inside.empty()) fit.inside = fit_inside(arguments);
  fit.answer = answer_fit(arguments);
  fit.arguments = std::move(arguments);
  return fit;
}

Json file_of(WholeFit& fit) {
  FitAnswer& answer = fit.answer;
  const Json json = !fit.arguments.into.empty()   ? cluster_with_link(fit.arguments, answer)
                    : answer.fits.front().is_link ? link_cluster(answer, answer.fits.front().fit)
                                                  : curve_samples(answer);
  if (answer.fits.front().is_link) answer.played = played_on(json, fit.arguments, answer);
  return json;
}

Json to_json(const WholeFit& fit) {
  Json json = to_json_by_fields(fit.answer);
  if (fit.inside) json["inside"] = to_json_by_fields(*fit.inside);
  return json;
}

std::vector<std::string> warnings_of(const WholeFit& fit) {
  std::vector<std::string> all;
  if (fit.inside)
    for (const std::string& note : fit.inside->notes) all.push_back("--inside: " + note);
  all.insert(all.end(), fit.answer.notes.begin(), fit.answer.notes.end());
  return all;
}

Answer answer_fit(const Value& question, const Watch&) {
  FitArguments arguments = words_of(question, fit_fields);
  if (is_of_failures(arguments)) {
    const FailureFit fit = fit_failures(arguments);
    Answer answer{to_json(fit), fit.record.notes};
    answer.json["file"] = file_of(fit);
    return answer;
  }
  if (!arguments.gpu.empty()) {
    GpuFit fit = fit_gpu(arguments);
    return {std::move(fit.file), std::move(fit.notes)};
  }
  if (is_of_pairs(arguments)) {
    const PairsFit fit = fit_pairs(arguments);
    Answer answer{to_json(fit), fit.notes};
    answer.json["file"] = fit.file;
    return answer;
  }
  if (is_of_nccl(arguments)) {
    const NcclLogFit fit = fit_nccl_logs(arguments);
    Answer answer{to_json(fit), fit.notes};
    answer.json["file"] = fit.file;
    return answer;
  }
  arguments.out = "file";  // of the answer
  WholeFit fit = answer_whole_fit(std::move(arguments));
  const Json file = file_of(fit);
  Answer answer{to_json(fit), warnings_of(fit)};
  answer.json["file"] = file;
  return answer;
}

}  // namespace sgdsim
