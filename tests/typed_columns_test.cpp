// Columns: what type they have, what is missing, and their units.
#include "study/typed_columns.h"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>

using namespace sgdsim;

namespace {

using Type = TypedColumns::Type;

// One column of these values, null for a row without it.
TypedColumns column_with(const Json& values) {
  TypedColumns columns;
  for (const Json& value : values) {
    Figures row = {{"row", int64_t{1}}};
    if (!value.is_null()) row.push_back({"x", figure_value(value)});
    columns.add(row);
  }
  return columns;
}

std::string text_at(const TypedColumns::Column& column, std::size_t row) {
  const auto place = static_cast<std::size_t>(column.places.at(row));
  const auto begin = static_cast<std::size_t>(column.ends.at(place));
  return column.letters.substr(begin, static_cast<std::size_t>(column.ends.at(place + 1)) - begin);
}

}  // namespace

TEST_CASE("columns: the type that holds all values") {
  struct Row {
    const char* why;
    const char* values;
    Type type;
    int64_t missing;
  };
  const Row rows[] = {
      {"whole numbers", "[1, -2, 9223372036854775807]", Type::whole, 0},
      {"others", "[1.5, 2.5]", Type::number, 0},
      {"whole ones beside others stay exact", "[1, 2.5, 3]", Type::number, 0},
      {"where they would not, all become text", "[9007199254740993, 2.5]", Type::text, 0},
      {"and the other way round", "[2.5, 9007199254740993]", Type::text, 0},
      {"beyond 64 bits", "[18446744073709551615]", Type::text, 0},
      {"yes and no", "[true, false]", Type::flag, 0},
      {"yes and a number", "[true, 1]", Type::text, 0},
      {"texts", "[\"a\", \"b\", \"a\"]", Type::text, 0},
      {"texts and numbers", "[\"a\", 64]", Type::text, 0},
      {"lists", "[[1, 2], [3]]", Type::text, 0},
      {"a gap before, between and behind", "[null, 1, null, 2, null]", Type::whole, 3},
      {"a gap before texts", "[null, \"a\"]", Type::text, 1},
      {"a gap, then whole numbers and others", "[1, null, 2.5]", Type::number, 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    const TypedColumns columns = column_with(Json::parse(row.values));
    const TypedColumns::Column& column = columns.columns().back();
    CHECK(column.name == "x");
    CHECK(column.type == row.type);
    CHECK(column.missing == row.missing);
    CHECK(column.rows == columns.rows());
  }
}

TEST_CASE("columns: values stand where their rows do") {
  const TypedColumns columns = column_with(Json::parse("[\"a\", null, 64, [1], \"a\", true]"));
  const TypedColumns::Column& column = columns.columns().back();
  CHECK(text_at(column, 0) == "a");
  CHECK(text_at(column, 2) == "64");
  CHECK(text_at(column, 3) == "[1]");
  CHECK(text_at(column, 5) == "true");
  CHECK(column.places[0] == column.places[4]);
  CHECK(column.is_there == std::vector<uint8_t>{0b111101});
  const TypedColumns numbers = column_with(Json::parse("[1, 2.5, null]"));
  CHECK(numbers.columns().back().numbers == std::vector<double>{1, 2.5, 0});
}

TEST_CASE("columns: what is not a number is missing") {
  TypedColumns columns;
  for (const double value : {1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    columns.add({{"x", value}});
  CHECK(columns.columns().front().missing == 2);
  CHECK(columns.columns().front().type == Type::number);
}

TEST_CASE("columns: rows may differ, and there may be none") {
  TypedColumns columns;
  CHECK(columns.rows() == 0);
  columns.add({{"a", int64_t{1}}});
  columns.add({{"b", int64_t{2}}});
  columns.add({{"b", int64_t{3}}, {"a", int64_t{4}}});
  REQUIRE(columns.columns().size() == 2);
  CHECK(columns.columns()[0].wholes == std::vector<int64_t>{1, 0, 4});
  CHECK(columns.columns()[1].wholes == std::vector<int64_t>{0, 2, 3});
  CHECK(columns.columns()[0].is_there == std::vector<uint8_t>{0b101});
  CHECK(columns.columns()[1].is_there == std::vector<uint8_t>{0b110});
}

TEST_CASE("columns: the rows of an answer") {
  const Json answer = Json::parse(
      R"({"schema": "x", "plans": [{"a": {"b_us": 1.5}}, {"a": {"b_us": 2}, "c": "d"}]})");
  const TypedColumns columns = columns_of(answer);
  REQUIRE(columns.rows() == 2);
  REQUIRE(columns.columns().size() == 2);
  CHECK(columns.columns()[0].name == "a.b_us");
  CHECK(columns.columns()[0].numbers == std::vector<double>{1.5, 2});
  CHECK(columns.columns()[1].missing == 1);
  CHECK(columns_of(Json::parse(R"({"time_us": 3, "of": {"size_B": 4}})")).columns()[1].name ==
        "of.size_B");
}

TEST_CASE("columns: an answer that is a list has a row for each of it") {
  const TypedColumns columns = columns_of(Json::parse(
      R"([{"axes": {"gpus": 8}, "step_us": 3}, {"axes": {"gpus": 16}, "step_us": 2}])"));
  REQUIRE(columns.rows() == 2);
  REQUIRE(columns.columns().size() == 2);
  CHECK(columns.columns()[0].name == "axes.gpus");
  CHECK(columns.columns()[0].wholes == std::vector<int64_t>{8, 16});
  CHECK(columns.columns()[1].name == "step_us");
  CHECK(columns.columns()[1].wholes == std::vector<int64_t>{3, 2});
  CHECK(columns_of(Json::array()).rows() == 0);
}

TEST_CASE("columns: units stand in names") {
  const std::pair<const char*, const char*> rows[] = {
      {"metrics.iteration_us.p50", "us"},
      {"metrics.throughput_samples_per_s", "samples/s"},
      {"total_ps", "ps"},
      {"size_B", "B"},
      {"convergence.time_to_target_s", "s"},
      {"metrics.speedup", ""},
      {"metrics.iteration_us", "us"},
      {"metrics.iteration_us.mean", "us"},
      {"metrics.iteration_us.n", ""},  // how many
      {"time_to_target_s.median", "s"},
      {"time_to_target_s.seeds_that_reached_it", ""},
      {"algbw_GBps", "GB/s"},
      {"gain_percent", "%"},
      {"h", "h"},
      {"mean_to_failure_h", "h"},
      {"wall.p50.days", "days"},
      {"now.gpu_hours", "h"},
      {"tokens_per_s_per_gpu", "tokens/s"},
      {"maximum", ""},
      {"p50", ""},
      {"metrics.messages", ""},
      {"s", ""},
      {"axes.cluster.nodes", ""},
      {"", ""},
  };
  for (const auto& [name, unit] : rows) {
    const std::string text = name;
    CAPTURE(text);
    CHECK(unit_of(text) == unit);
  }
}

TEST_CASE("figures: nested and back") {
  const Json json =
      Json::parse(R"({"a": 1, "b": {"c": 2.5, "d": {"e": "x"}}, "f": [1, 2], "g": true})");
  Figures figures;
  add_figures(figures, "", json);
  REQUIRE(figures.size() == 5);
  CHECK(figures[2].path == "b.d.e");
  CHECK(std::get<std::string>(figures[3].value) == "[1,2]");
  Json back = json;
  back["f"] = "[1,2]";
  CHECK(json_of(figures) == back);
}
