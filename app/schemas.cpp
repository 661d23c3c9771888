// All kinds in one list.
#include "app/schemas.h"

#include <algorithm>
#include <array>

#include "app/commands.h"
#include "app/import/steps_imports.h"
#include "app/plot/pivot.h"
#include "app/trace/trace_diff.h"
#include "app/trace/trace_show.h"
#include "study/file_schemas.h"

namespace sgdsim {
namespace {

constexpr auto app_schemas = std::to_array<FileSchema>({
    {"list", "What can be named, and what it means",
     "What `sgdsim list --format json` prints: all kinds of names, or the one that was asked for.",
     schema_of_lists},
    {"pivot", "One figure of points over two columns",
     "What `sgdsim plot POINTS --x F --y F --cell F --format json` prints.", schema_of_pivots},
    {"steps", "How long the steps of training runs took",
     "What `sgdsim import mllog`, `training-log` and `horovod` make of logs. Units are part of the "
     "keys.",
     schema_of_steps},
    {"trace-diff", "How two traces differ",
     "What `sgdsim trace diff FIRST SECOND --format json` prints.", schema_of_trace_differences},
    {"trace-show", "What a trace says, with totals and ready times",
     "What `sgdsim trace show FILE --format json` prints. Units are part of the keys.",
     schema_of_shown_traces},
});

}  // namespace

std::vector<Schema> all_schemas() {
  std::vector<Schema> schemas;
  for (const std::span<const FileSchema> table :
       {file_schemas(), std::span<const FileSchema>(app_schemas)})
    for (const FileSchema& schema : table)
      schemas.push_back({std::string(schema.name), to_json(schema)});
  std::sort(schemas.begin(), schemas.end(),
            [](const Schema& a, const Schema& b) { return a.name < b.name; });
  return schemas;
}

}  // namespace sgdsim
