// Formats of measurements: one file and one line each. The name is what `--input` calls it; with _
// for - it is the file name and the function name. The first whose content a file has reads it.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "traces/measurement/measurement.h"
#include "traces/measurement/words.h"

namespace sgdsim {

// What a reader of lines finds in a log of that kind.
template <class Reader>
Measurement read_lines(Reader reader, const MeasuredText& text, const char* kind) {
  LineReader lines(text.text);
  for (std::string_view line; lines.next(line);) reader.line(line, lines);
  Measurement measurement = reader.finish();
  measurement.source = kind + (" log " + text.file);
  tidy(measurement, text.file);
  return measurement;
}

struct MeasurementFormat {
  std::string_view name;
  std::string_view description;
  std::string_view example;                       // a file to try it on
  bool (*fits)(std::string_view text) = nullptr;  // whether the content looks like it
  Measurement (*read)(const MeasuredText& text) = nullptr;
  // Of a format with one file a process; all of them are read at once.
  Measurement (*read_together)(std::span<const MeasuredText> texts) = nullptr;
};

Measurement sgdsim_json(const MeasuredText& text);
Measurement nccl_tests_json(const MeasuredText& text);
Measurement rccl_tests_json(const MeasuredText& text);
Measurement osu_log(const MeasuredText& text);
Measurement imb_log(const MeasuredText& text);
Measurement perftest_log(const MeasuredText& text);
Measurement nccl_tests_log(const MeasuredText& text);
Measurement nccl_inspector(const MeasuredText& text);
Measurement nccl_inspector_files(std::span<const MeasuredText> texts);
Measurement flight_recorder(const MeasuredText& text);
Measurement flight_recorder_files(std::span<const MeasuredText> texts);

bool is_sgdsim_json(std::string_view text);
bool is_nccl_tests_json(std::string_view text);
bool is_rccl_tests_json(std::string_view text);
bool is_osu_log(std::string_view text);
bool is_imb_log(std::string_view text);
bool is_perftest_log(std::string_view text);
bool is_nccl_tests_log(std::string_view text);
bool is_nccl_inspector(std::string_view text);
bool is_flight_recorder(std::string_view text);

inline constexpr std::array<MeasurementFormat, 9> measurement_formats{{
    {"sgdsim-json", "What sgdsim-calibrate writes: sgdsim/measurement/1",
     "tests/data/measurement.json", is_sgdsim_json, sgdsim_json},
    {"nccl-inspector", "NCCL's Inspector plug-in, one file a process: give all of them",
     "tests/data/nccl_inspector_rank0.jsonl", is_nccl_inspector, nccl_inspector,
     nccl_inspector_files},
    {"flight-recorder", "Dumps of PyTorch's Flight Recorder, one file a rank: give all of them",
     "tests/data/nccl_trace_rank_0", is_flight_recorder, flight_recorder, flight_recorder_files},
    {"nccl-tests-json", "nccl-tests with -J", "tests/data/nccl_tests.json", is_nccl_tests_json,
     nccl_tests_json},
    {"rccl-tests-json", "rccl-tests, one JSON object a line", "tests/data/rccl_tests.jsonl",
     is_rccl_tests_json, rccl_tests_json},
    {"osu-log", "OSU micro-benchmarks", "tests/data/osu_allreduce.log", is_osu_log, osu_log},
    {"imb-log", "Intel MPI Benchmarks", "tests/data/imb.log", is_imb_log, imb_log},
    {"perftest-log", "perftest: ib_write_bw, ib_send_lat and their likes",
     "tests/data/perftest_write_bw.log", is_perftest_log, perftest_log},
    {"nccl-tests-log", "The tables that nccl-tests and rccl-tests print",
     "tests/data/nccl_tests.log", is_nccl_tests_log, nccl_tests_log},
}};

}  // namespace sgdsim
