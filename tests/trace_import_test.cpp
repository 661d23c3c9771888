// Logs of other programs as traces: one small file of our own per format, and lines that must be
// refused with a sentence that names them.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/registry.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

std::string sample(const std::string& name) {
  return std::string(SGDSIM_SOURCE_DIR) + "/tests/data/" + name;
}

LogText log_of(const std::string& name) { return {read_text(sample(name)), name, {}}; }

const TraceFormat& format_named(const std::string& name) {
  for (const TraceFormat& format : trace_formats)
    if (format.name == name) return format;
  REQUIRE_MESSAGE(false, name);
  return trace_formats[0];
}

void check_layer(const Layer& layer, const std::string& name, int64_t parameters,
                 int64_t backward_ns) {
  CHECK(layer.name == name);
  CHECK(layer.parameters == parameters);
  CHECK(layer.gradient == Bytes(4 * parameters));
  CHECK(layer.backward == Duration::ns(backward_ns));
}

TEST_CASE("layers csv: rows in any order, with ready times") {
  const Trace trace = layers_csv(log_of("layers.csv"));
  REQUIRE(trace.layers.size() == 3);
  check_layer(trace.layers[0], "conv1", 9408, 30'000);
  check_layer(trace.layers[1], "embedding", 0, 250);
  check_layer(trace.layers[2], "fc", 1000, 20'500);
  CHECK(trace.forward() == Duration::us(30));
  CHECK(trace.has_ready);
  CHECK(trace.layers[1].ready == Duration::ns(90'750));
  CHECK(trace.name == "layers");
  CHECK(trace.source == "imported from layers.csv (layers-csv)");
  CHECK(trace.notes == std::vector<std::string>{"compress_us was left out: the time to compress "
                                                "belongs to the strategy"});
}

TEST_CASE("layers csv: without forward times, line ends of Windows, blank lines") {
  LogText log{
      "index,name,params,bytes,fwd_us,bwd_us\r\n1, a ,1,8,,4\r\n\r\n2,b,2,8,,8\r\n", "f", {}};
  Trace trace = layers_csv(log);
  CHECK(trace.layers[0].name == "a");
  CHECK(trace.layers[0].gradient == Bytes(8));
  CHECK(trace.layers[1].forward == Duration::us(4));
  CHECK(trace.notes.size() == 1);
  log.forward = Duration::us(3);
  trace = layers_csv(log);
  CHECK(trace.layers[1].forward == Duration::us(2));
  CHECK(trace.notes.empty());
}

// The same two layers as people write them.
TEST_CASE("layers csv: columns by name, in any order, with other units and separators") {
  struct Table {
    std::string reason;
    std::string text;
    std::size_t notes = 0;
  };
  const std::vector<Table> tables = {
      {"what people have", "name,params,fwd_us,bwd_us\n\"a, b\",10,1500,2500\nc,3,1,2\n"},
      {"another order", "bwd_us,name,fwd_us,params\n2500,\"a, b\",1500,10\n2,c,1,3\n"},
      {"rows by index", "name,index,params,fwd_us,bwd_us\nc,2,3,1,2\n\"a, b\",1,10,1500,2500\n"},
      {"other units",
       "name,params,forward_ms,backward_ns\n\"a, b\",10,1.5,2500000\nc,3,1e-3,2000\n"},
      {"seconds", "name,params,fwd_s,bwd_s\n\"a, b\",10,0.0015,0.0025\nc,3,1e-6,2e-6\n"},
      {"semicolons", "name;params;fwd_us;bwd_us\na, b;10;1500;2500\nc;3;1;2\n"},
      {"tabs", "name\tparams\tfwd_us\tbwd_us\na, b\t10\t1500\t2500\nc\t3\t1\t2\n"},
      {"a byte order mark, Windows, capitals, quoted titles",
       "\xef\xbb\xbf\"Name\",Parameters,Forward_us,BWD_us\r\n\"a, b\",10,1500,2500\r\nc,3,1,2\r\n"},
      {"bytes that say what is usual",
       "name,bytes,params,fwd_us,bwd_us\n\"a, b\",40,10,1500,2500\n"
       "c,12,3,1,2\n"},
      {"no units: microseconds, with a note for each column",
       "\nlayer,params,fwd,bwd\n\"a, b\",10,1500,2500\nc,3,1,2\n", 2},
      {"units in the cells", "name,params,fwd,bwd\n\"a, b\",10,1.5 ms,2500 us\nc,3,1us,2 us\n", 2},
  };
  for (const Table& table : tables) {
    INFO(table.reason);
    const Trace trace = layers_csv({table.text, "f", {}});
    REQUIRE(trace.layers.size() == 2);
    check_layer(trace.layers[0], "a, b", 10, 2'500'000);
    check_layer(trace.layers[1], "c", 3, 2000);
    CHECK(trace.layers[0].forward == Duration::us(1500));
    CHECK(trace.layers[1].forward == Duration::us(1));
    CHECK(trace.notes.size() == table.notes);
  }
  const Trace quotes = layers_csv({"name,params,bwd_us\n\"a \"\"b\"\"\",1,2\n", "f", {}});
  CHECK(quotes.layers[0].name == "a \"b\"");
}

TEST_CASE("b-caffe log: the last profiled dump, weights and bias joined") {
  const Trace trace = b_caffe_log(log_of("b_caffe.log"));
  REQUIRE(trace.layers.size() == 3);
  check_layer(trace.layers[0], "blob 0", 104, 12'500);
  check_layer(trace.layers[1], "blob 2", 64, 7'250);
  check_layer(trace.layers[2], "blob 3", 352, 1'000'100);
  CHECK(trace.layers[0].tensors == std::vector<int64_t>{96, 8});
  CHECK(trace.layers[1].tensors == std::vector<int64_t>{64});
  CHECK(trace.forward() == Duration::ps(trace.backward().ps() / 2));
  CHECK(trace.name == "b_caffe");
}

TEST_CASE("b-caffe log: a dump of zeros after a profiled one does not count") {
  const std::string line = "distributed.cpp:112] [0, 8, ";
  const Trace trace = b_caffe_log({line + "3, 1]\n" + line + "0, 0]\n", "f", {}});
  CHECK(trace.backward() == Duration::us(3));
}

// Two dumps of three blobs of 3 us and of 5 us, and a part of a third one.
TEST_CASE("b-caffe log: a dump that is cut off does not replace a whole one") {
  const auto blob = [](int id, const std::string& us) {
    return "distributed.cpp:112] [" + std::to_string(id) + ", " + std::to_string(8 + id) + ", " +
           us + ", 1]\n";
  };
  const auto dump = [&](const std::string& us) { return blob(0, us) + blob(1, us) + blob(2, us); };
  const std::string whole = dump("3") + dump("5");
  for (const std::string& end :
       std::vector<std::string>{blob(0, "7"), blob(0, "7") + blob(1, "7"),
                                blob(0, "7") + blob(1, "7") + "I0101 distributed.cpp:112] [2, 1"}) {
    INFO(end);
    const Trace trace = b_caffe_log({whole + end, "f", {}});
    REQUIRE(trace.layers.size() == 2);
    CHECK(trace.backward() == Duration::us(10));
    REQUIRE(trace.notes.size() == 2);
    CHECK(trace.notes[0].starts_with("a later dump was left out: it ends after "));
  }
  CHECK(b_caffe_log({whole + dump("7"), "f", {}}).notes.size() == 1);
  CHECK(refusal_of([&] {
          b_caffe_log({dump("0") + blob(0, "3"), "f", {}});
        }) == "f: was cut off: what was profiled ends after 1 of 3 blobs");
}

TEST_CASE("netai log: backward order becomes forward order") {
  const Trace trace = netai_log(log_of("netai.bk.log"));
  REQUIRE(trace.layers.size() == 3);
  check_layer(trace.layers[0], "tensor 1", 32, 1'234'000);
  check_layer(trace.layers[1], "tensor 2", 1000, 0);
  check_layer(trace.layers[2], "tensor 3", 10, 100'500);
}

TEST_CASE("mgwfbp log: seconds and elements, the last of several") {
  const Trace trace = mgwfbp_log(log_of("mgwfbp.log"));
  REQUIRE(trace.layers.size() == 3);
  check_layer(trace.layers[0], "tensor 1", 64, 0);
  check_layer(trace.layers[1], "tensor 2", 9408, 25'000);
  check_layer(trace.layers[2], "tensor 3", 1000, 1'000'000);
}

struct Refused {
  std::string format;
  std::string text;
  std::string sentence;
};

const std::string csv_head = "index,name,params,bytes,fwd_us,bwd_us\n";
const std::string csv_required = "expected a header with the columns name, params and bwd_us; ";
const std::string csv_known =
    "index, name, params, bytes, tensors, fwd_us, bwd_us, compress_us, ready_us; times may also "
    "end in _ns, _ms or _s";
const std::string blob = "distributed.cpp:112] ";
const std::string times = "layerwise backward times: ";
const std::string sizes = "layerwise backward sizes: ";

const std::vector<Refused> refused = {
    {"layers-csv", "", "f: line 1: " + csv_required + "\"name\" is missing"},
    {"layers-csv", "index,name,bytes\n", "f: line 1: " + csv_required + "\"params\" is missing"},
    {"layers-csv", "name,params\n", "f: line 1: " + csv_required + "\"bwd_us\" is missing"},
    {"layers-csv", "name,params,bwd_us,fwd_min\n",
     "f: line 1: unknown column \"fwd_min\"; known: " + csv_known},
    {"layers-csv", "name,params,bwd_us,bytes_s\n",
     "f: line 1: unknown column \"bytes_s\" (did you mean \"bytes\"?); known: " + csv_known},
    {"layers-csv", "name,params,bwd_us,backward_ms\n",
     "f: line 1: the columns \"bwd_us\" and \"backward_ms\" say the same; keep one"},
    {"layers-csv", "name,params,bwd_us\n\"a,1,1\n",
     "f: line 2: a double quote is not closed on this line"},
    {"layers-csv", "name;params;bwd_us\na;1;1,5,5\n",
     "f: line 2: expected bwd_us, a number of at least 0, got \"1,5,5\""},
    {"layers-csv", "name,params,bytes,bwd_us\na,1,,1\n",
     "f: line 2: expected bytes, a whole number from 0 to 16000000000000, got \"\""},
    {"layers-csv", csv_head, "f: expected at least one layer, got none"},
    {"layers-csv", csv_head + "1,a,1,4,1\n", "f: line 2: expected 6 fields, got 5"},
    {"layers-csv", csv_head + "0,a,1,4,1,1\n",
     "f: line 2: expected index, a whole number from 1 to 1, got \"0\""},
    {"layers-csv", csv_head + "1,a,1,4,1,1\n\n1,b,1,4,1,1\n",
     "f: line 4: the index 1 occurs twice"},
    {"layers-csv", csv_head + "1,a,-1,4,1,1\n",
     "f: line 2: expected params, a whole number from 0 to 1000000000000, got \"-1\""},
    {"layers-csv", csv_head + "1,a,1,4 B,1,1\n",
     "f: line 2: expected bytes, a whole number from 0 to 16000000000000, got \"4 B\""},
    {"layers-csv", csv_head + "1,a,1,4,1,x\n",
     "f: line 2: expected bwd_us, a number of at least 0, got \"x\""},
    {"layers-csv", csv_head + "1,a,1,4,1,-2\n",
     "f: line 2: expected bwd_us, a number of at least 0, got \"-2\""},
    {"layers-csv", csv_head + "1,a,1,4,1,nan\n",
     "f: line 2: expected bwd_us, a number of at least 0, got \"nan\""},
    {"layers-csv", csv_head + "1,a,1,4,1,\n",
     "f: line 2: expected bwd_us, a number of at least 0, got \"\""},
    {"layers-csv", csv_head + "1,a,1,4,1,1e20\n",
     "f: line 2: expected bwd_us of at most 3600 s, got \"1e20\" times 1 us"},
    {"layers-csv", csv_head + "1,a,1,4,1,1\n2,b,1,4,,1\n",
     "f: line 3: fwd_us is empty here and not in the first layer; all have it or none"},
    {"layers-csv", csv_head + "1,,1,4,1,1\n",
     "f: line 2: expected a name of 1 to 255 bytes without control characters"},
    {"layers-csv", "index,name,params,bytes,fwd_us,bwd_us,ready_us\n1,a,1,4,1,1,5\n2,b,1,4,1,1,6\n",
     "f: line 2: ready at 5 us, before the layer after it (6 us); backward runs from the last "
     "layer to the first"},
    {"b-caffe-log", "nothing\n",
     "f: no line of distributed.cpp: with [param_id, parameters, backward_us, comm_us]"},
    {"b-caffe-log", blob + "[0, 8, 0, 0]\n", "f: all backward times are 0: not yet profiled"},
    {"b-caffe-log", blob + "0, 8, 1, 0\n",
     "f: line 1: expected [param_id, parameters, backward_us, comm_us] at the end"},
    {"b-caffe-log", blob + "[0, 8, 1]\n", "f: line 1: expected 4 or 5 numbers, got 3"},
    {"b-caffe-log", blob + "[1, 8, 1, 0]\n", "f: line 1: expected param_id 0, got 1"},
    {"b-caffe-log", blob + "[0, 8, 1, 0]\n" + blob + "[2, 8, 1, 0]\n",
     "f: line 2: expected param_id 1, got 2"},
    {"b-caffe-log", blob + "[0, 8, 1, ?]\n",
     "f: line 1: expected a communication time, a number of at least 0, got \"?\""},
    {"netai-log", "text\n1\n",
     "f: expected a line of text, the number of batches and the number of tensors"},
    {"netai-log", "text\n2\n1\n1,4\n",
     "f: line 2: expected the number of batches, a whole number from 1 to 1, got \"2\""},
    {"netai-log", "text\n1\n2\n1,4\n", "f: expected 2 tensors, got 1"},
    {"netai-log", "text\n1\n1\n1\n", "f: line 4: expected wait_us,bytes, got 1 fields"},
    {"netai-log", "text\n1\n1\n1,5\n",
     "f: line 4: expected bytes of whole parameters of 4 bytes, got \"5\""},
    {"mgwfbp-log", sizes + "[1]\n", "f: no line with \"layerwise backward times: [...]\""},
    {"mgwfbp-log", times + "[1]\n", "f: no line with \"layerwise backward sizes: [...]\""},
    {"mgwfbp-log", times + "[1,\n" + sizes + "[1]\n",
     "f: line 1: expected the list to end with ] on this line"},
    {"mgwfbp-log", times + "[1, 2]\n" + sizes + "[1]\n",
     "f: line 2: expected as many sizes as times, 2, got 1"},
    {"mgwfbp-log", times + "[]\n" + sizes + "[]\n",
     "f: line 1: expected a time, a number of at least 0, got \"\""},
    {"mgwfbp-log", times + "[3601]\n" + sizes + "[1]\n",
     "f: line 1: expected a time of at most 3600 s, got \"3601\" times 1 s"},
};

TEST_CASE("imports: what is wrong is refused with a sentence that names the line") {
  for (const Refused& row : refused) {
    INFO(row.format << ": " << row.text);
    CHECK_THROWS_WITH_AS(format_named(row.format).read({row.text, "f", {}}), row.sentence.c_str(),
                         InputError);
  }
}

TEST_CASE("imports: the command writes a trace file") {
  const Ran answer =
      call_sgdsim({"import", "netai-log", sample("netai.bk.log"), "--batch", "32", "--name", "x",
                   "--model", "m", "--device", "d", "--forward", "2 ms"});
  CHECK(answer.exit_code == 0);
  CHECK(answer.log.empty());
  const Trace trace = read_trace(Document::parse(answer.out, "out").root());
  CHECK(trace.name == "x");
  CHECK(trace.model == "m");
  CHECK(trace.device == "d");
  CHECK(trace.batch == 32);
  CHECK(trace.forward() == Duration::ms(2));
  CHECK(call_sgdsim({"import", "b-caffe-log", sample("b_caffe.log")}).log ==
        "sgdsim: note: the forward time is not known: half of the backward time is assumed\n");
  CHECK(call_sgdsim({"import", "mgwfbp-log", sample("layers.csv")}).exit_code == 2);
}

TEST_CASE("trace show: a table for people, JSON for scripts") {
  const std::string file = std::string(SGDSIM_SOURCE_DIR) + "/traces/data/resnet50_a100_ddp.json";
  const Ran table = call_sgdsim({"trace", "show", file});
  CHECK(table.exit_code == 0);
  CHECK(table.out.find("161 layers, 161 tensors; ready times are measured") != std::string::npos);
  CHECK(table.out.find("25557032  97.5 MiB") != std::string::npos);
  const Ran answer = call_sgdsim({"trace", "show", file, "--format", "json"});
  const Json json = Json::parse(answer.out);
  CHECK(json["schema"] == "sgdsim/trace-show/1");
  CHECK(json["parameters"] == 25'557'032);
  CHECK(json["last_ready_us"] == 182191.825);
  CHECK(!json.contains("batch"));
  CHECK(json["layers"].size() == 161);
  CHECK(json["layers"][160]["ready_us"] == 100658.169);
  CHECK(call_sgdsim({"trace", "show", sample("layers.csv")}).exit_code == 2);
}

}  // namespace
}  // namespace sgdsim
