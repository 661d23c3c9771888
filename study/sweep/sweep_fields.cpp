// What each field says.
#include "study/sweep/sweep_fields.h"

#include "study/sweep/axis.h"
#include "study/sweep/sweep_file.h"

namespace sgdsim {
namespace {

Json open_object() { return {{"type", "object"}, {"additionalProperties", true}}; }
// A trace or cluster that an axis gives may be missing, so it need not be an experiment yet.
Json schema_of_base() { return any_of({text_schema(), open_object()}); }
Json schema_of_zip() { return list_schema(list_schema(text_schema(), 1)); }
Json schema_of_where() { return list_schema(text_schema()); }

}  // namespace

Fields fields_of(SweepFields& o) {
  return head_fields(o.head, sweep_schema) +
         Fields{Field("base", o.base,
                      "the experiment that the axes change, or the path of its file; a trace or "
                      "cluster that an axis gives may be missing")
                    .needed()
                    .like(schema_of_base),
                Field("set", o.set,
                      "fields of the base that are different here, as paths with dots, and their "
                      "values")
                    .like(open_object),
                Field("axes", o.axes,
                      "fields of the experiment, as paths with dots (cluster.nic.bandwidth), and "
                      "their values: a list, or a range of which both ends are part")
                    .like(schema_of_axes),
                Field("zip", o.zip, "groups of axes that move together").like(schema_of_zip),
                Field("where", o.where,
                      "conditions; points for which one of them does not hold are left out: a "
                      "comparison of fields, numbers, quantities, words and products of them; "
                      "several are joined by and, alternatives by or")
                    .like(schema_of_where)};
}

Json schema_of_sweeps() {
  Json json = schema_of_record<SweepFields>();
  json["required"] = {"base", "axes"};  // without axes, a command line has them
  return json;
}

}  // namespace sgdsim
