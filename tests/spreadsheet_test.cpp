// Tables as spreadsheets write them.
#include "traces/spreadsheet.h"

#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "tests/texts.h"
#include "traces/flows_csv.h"
#include "traces/registry.h"

namespace sgdsim {
namespace {

const std::string table = "name;params;fwd_us;bwd_us\r\nconv;100;1,5;2,25\r\nfc;7;3;4,125\r\n";

void check_table(const std::string& text) {
  REQUIRE(is_layers_csv(text));
  const Trace trace = layers_csv({text, "a.csv", {}});
  REQUIRE(trace.layers.size() == 2);
  CHECK(trace.layers[0].name == "conv");
  CHECK(trace.layers[0].forward == Duration::ns(1500));
  CHECK(trace.layers[0].backward == Duration::ns(2250));
  CHECK(trace.layers[1].backward == Duration::ns(4125));
}

TEST_CASE("spreadsheets: decimal commas, sep=, byte order marks and UTF-16 are read") {
  check_table(table);
  check_table("sep=;\r\n" + table);
  check_table("\xef\xbb\xbf" + table);
  check_table("\xef\xbb\xbfsep=;\n" + table);
  check_table(utf16(table, false));
  check_table(utf16("sep=;\r\n" + table, true));
}

TEST_CASE("spreadsheets: a comma that may separate thousands is refused") {
  const auto backward_us = [](const std::string& cells) {
    std::string text = "name;params;bwd_us\n";
    for (char layer = 'a'; const std::string& cell :
                           {cells.substr(0, cells.find(' ')), cells.substr(cells.find(' ') + 1)})
      text += std::string(1, layer++) + ";100;" + cell + "\n";
    return layers_csv({text, "a.csv", {}}).layers[0].backward.us();
  };
  for (const char* cells : {"1,234 5", "1,234 2,345", "1,234 2.5", "1,5 2.345"}) {
    CAPTURE(cells);
    CHECK_THROWS_WITH_AS(backward_us(cells), doctest::Contains("a.csv: line 2: is the comma in"),
                         InputError);
  }
  for (const char* cells : {"1,234 0,567", "1,234 2,5", "1,234 12345,678"})
    CHECK(backward_us(cells) == 1.234);
  CHECK(backward_us("1.234 2.5") == 1.234);
}

TEST_CASE("spreadsheets: a name with a comma stays, and so does what is no number") {
  CHECK(with_decimal_point("1,5") == "1.5");
  CHECK(with_decimal_point("0,25 ms") == "0.25 ms");
  for (const char* same : {"", ",", "1,", ",5", "a,5", "1,5,6", "1.5", "12", "1,x"})
    CHECK(with_decimal_point(same) == same);
  const Trace trace = layers_csv({"name;params;bwd_us\n1,5;100;2\n", "a.csv", {}});
  CHECK(trace.layers[0].name == "1,5");
}

TEST_CASE("spreadsheets: workbooks and broken UTF-16 are refused") {
  for (const char* start : {"PK\x03\x04", "\xd0\xcf\x11\xe0"}) {
    CHECK(is_layers_csv(start));
    CHECK_THROWS_WITH_AS(layers_csv({start, "a.xlsx", {}}),
                         "a.xlsx: an Excel workbook: save it as CSV, and import that", InputError);
  }
  CHECK_THROWS_AS(plain_table(std::string("\xff\xfe"
                                          "a\0b",
                                          5),
                              "a"),
                  InputError);
  CHECK_THROWS_AS(plain_table("\xff\xfe\x01\xd8", "a"), InputError);
  CHECK_THROWS_AS(plain_table("\xff\xfe\x01\xdc", "a"), InputError);
  CHECK(plain_table(std::string("\xff\xfe\x3d\xd8\x00\xde", 6), "a") == "\xf0\x9f\x98\x80");
  CHECK(plain_table(std::string("\xff\xfe\xac\x20", 4), "a") == "\xe2\x82\xac");
  CHECK(plain_table(std::string("\xff\xfe\xe9\x00", 4), "a") == "\xc3\xa9");
  CHECK(plain_table("sep=", "a") == "");
  CHECK(plain_table("sep=abc\n", "a") == "sep=abc\n");
}

TEST_CASE("spreadsheets: tables of flows, too") {
  const std::string flows = "start_us,from,to,size_B\n0,0,1,100\n";
  CHECK(parse_flows_csv(utf16(flows, false), "a.csv", 2).size() == 1);
  CHECK(parse_flows_csv("\xef\xbb\xbf" + flows, "a.csv", 2).size() == 1);
  CHECK_THROWS_AS(parse_flows_csv("PK\x03\x04", "a.xlsx", 2), InputError);
  // As an Excel of Europe writes them; tabs, too.
  for (const std::string mark : {";", "\t"}) {
    INFO(mark);
    const std::string table = "\"from\"" + mark + "to" + mark + "size_B" + mark + "start_ms\r\n" +
                              "1" + mark + "0" + mark + "2000" + mark + "1,25\r\n" + "0" + mark +
                              "1" + mark + "1000" + mark + "0,5\r\n";
    CHECK(is_flows_csv(table));
    const auto two = parse_flows_csv((mark == ";" ? "sep=;\r\n" : "") + table, "a.csv", 2);
    REQUIRE(two.size() == 2);
    CHECK(two[0].start == Time() + Duration::us(500));
    CHECK(two[0].size == Bytes(1000));
    CHECK(two[1].start == Time() + Duration::us(1250));
  }
  CHECK_THROWS_WITH_AS(parse_flows_csv("start_us;from;to;size_B\n1,234;0;1;100\n", "a.csv", 2),
                       doctest::Contains("a.csv: line 2: is the comma in \"1,234\" a decimal one"),
                       InputError);
  for (const char* text : {"", "# start_us,from,to,size_B\n", "from,to\n", "PK\x03\x04"})
    CHECK_FALSE(is_flows_csv(text));
}

}  // namespace
}  // namespace sgdsim
