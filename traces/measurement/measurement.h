// What somebody measured: times of collectives and of their parts, by message size.
//
// A series is one curve: one operation, one number of ranks, one data type, one group of ranks, one
// way to place them and, where it has a note, to do it.
// Sizes follow nccl-tests: the bytes of the whole message, for all-gather, reduce-scatter,
// all-to-all, gather and scatter those of all ranks together (of all-to-all: that one rank sends).
// `copy` is one message from one rank to another and `fold` the reduction of a received message
// into the receiver's data. `attention` is that of a layer on one GPU, its forward or its backward
// pass, with the size of queries, keys, values and output. `overlap` is a product or an exchange,
// alone or beside the other, with the size of the message.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/json.h"
#include "sim/core/units.h"

namespace sgdsim {

inline constexpr double longest_us = 3.6e9;  // an hour

struct MeasuredPoint {
  Bytes size;
  Duration time;     // of one operation, above 0
  double flop = 0;   // of attention
  double error = 0;  // half the 95 % interval of the time, over the time; 0: not stated
};

// How NCCL was told to do it, as its environment spells it. Empty, or 0: as it liked.
struct NcclSetting {
  std::string algorithm = {};  // Ring, Tree, NVLS, ...
  std::string protocol = {};   // LL, LL128, Simple
  int channels = 0;
  bool in_graph = false;  // calls were captured in a graph, and hold nothing of the host
};

struct Series {
  std::string operation;
  std::string algorithm;  // empty: not stated
  std::string type;       // of the elements; empty: not stated
  bool in_place = false;
  int ranks = 0;                // 0: not stated
  int nodes = 0;                // that the ranks were on; 0: not stated
  bool is_of_messages = false;  // between two, whatever `ranks` is asked for of collectives
  std::optional<Bytes> block;   // of a pipeline
  std::string group;            // the communicator or process group; empty: not stated
  std::string placement;        // "4 virtual ranks on one GPU"; empty: not stated
  std::string note;             // how it was done, where there are several ways
  NcclSetting nccl = {};
  std::vector<MeasuredPoint> points;
  // Whether this is a table of a log, and what the log says of how it was measured, by names
  // ("Number of qps"). Only for tidy(): neither is written.
  bool is_table = false;
  std::map<std::string, std::string> settings = {};
};

struct Measurement {
  std::string name;
  std::string source;
  std::string device;  // empty: not stated
  std::vector<Series> series;
  std::vector<std::string> notes;  // what a reader of the numbers must know
};

// A file to read, and what is told where it does not say.
struct MeasuredText {
  std::string text;
  std::string file;
  std::optional<int> ranks;
  std::string operation;
};

inline constexpr int most_measured_ranks = 1 << 24;
inline constexpr char measurement_schema[] = "sgdsim/measurement/1";

// The operations that a series may be of: collectives and their parts.
const std::vector<std::string>& measured_operations();

void note_once(Measurement& measurement, const std::string& note);

// Tables of which the log says that they were set otherwise become series of their own, with what
// differs as their note. Series of the same kind become one, of repeated sizes the median counts,
// which a note says of tables; sizes ascend, and empty series go. InputError where nothing is left.
void tidy(Measurement& measurement, const std::string& file);

// A time of `us` microseconds as a measured point has it; empty if it is no time above 0 and below
// one hour.
std::optional<Duration> measured_time(double us);

// Reads the registered format of this name, or, without one, that which the content tells.
Measurement read_measurement(MeasuredText text, std::string_view format = "");

// What one or several files hold.
struct MeasuredFiles {
  std::string files;  // "a.log", or "a.log and 3 more"
  Measurement measurement;
};

// The same of several files. Those of a format with one file a process are read as one.
std::vector<MeasuredFiles> read_measurements(std::vector<MeasuredText> texts,
                                             std::string_view format = "");

// As a file of sgdsim/measurement/1. Series without a number of ranks are left out.
std::string to_text(const Measurement& measurement);
Json schema_of_measurements();

}  // namespace sgdsim
