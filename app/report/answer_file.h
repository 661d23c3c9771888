// Files that a report shows: what the program wrote with --out or --format json, each known by its
// content and checked against its schema before anything is shown.
//
// A file holds one JSON object, or one per line: points of a sweep, results, or answers along axes;
// or it is a database of points.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/schema_check.h"

namespace sgdsim {

struct AnswerFile {
  // asked: an experiment or a sweep, by which commands can be named.
  enum class Kind { points, results, axis_points, document, timeline, asked };

  std::string name;
  Kind kind = Kind::document;
  std::string schema;        // "sgdsim/plan/1"
  std::vector<Json> values;  // one, or one per line; of points none
  std::vector<std::string> notes;
};

// Takes the point of a line, because a hundred thousand of them are not kept.
using UsePoint = std::function<void(const Json& point, const std::string& file, int64_t line)>;

// InputError if it is none of these.
AnswerFile read_answer_file(const std::string& file, const SchemaShelf& shelf,
                            const UsePoint& use_point);

}  // namespace sgdsim
