// Logs of training programs: the lines of NeMo and Megatron-LM as they print them, rates, and what
// does not count.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/steps/registry.h"

namespace sgdsim {
namespace {

StepRun training_run(const std::string& text) { return training_log({text, "f", {}}); }

std::string nemo_line(int step, const std::string& seconds) {
  const std::string number = std::to_string(step);
  return "Training epoch 0, iteration " + number +
         "/249 | lr: 1.961e-06 | global_batch_size: 8 | " + "global_step: " + number +
         " | reduced_train_loss: 1.315 | train_step_timing in s: " + seconds + "\n";
}

std::string bar(const std::string& step, const std::string& seconds) {
  return "Epoch 0: : 4%|4 | 4/100 [00:12<04:48, reduced_train_loss=0.0172, global_step=" + step +
         ", consumed_samples=25600.0, train_step_timing in s=" + seconds + "]\r";
}

std::string megatron_line(const std::string& iteration, const std::string& ms,
                          const std::string& batch) {
  return " [2025-04-13 23:41:12] iteration " + iteration +
         "/    1000 | consumed samples:          160 | elapsed time per iteration (ms): " + ms +
         " | learning rate: 0.000000E+00 | global batch size: " + batch +
         " | loss scale: 8388608.0 |\n";
}

bool notes(const StepRun& run, const std::string& text) { return has_note(run, text); }

TEST_CASE("training log: steps of every kind of line") {
  const StepRun nemo = training_run("noise\n" + nemo_line(0, "7.126") + nemo_line(1, "2.505"));
  CHECK(nemo.steps == std::vector<Duration>{Duration::ms(7126), Duration::ms(2505)});
  CHECK(nemo.global_batch == 8);
  CHECK(nemo.notes.empty());
  // A progress bar writes over its line; the same step counts once.
  const StepRun bars =
      training_run(bar("98.00", "3.130") + bar("98.00", "3.130") + bar("99.00", "4"));
  CHECK(bars.steps == std::vector<Duration>{Duration::ms(3130), Duration::s(4)});
  CHECK(notes(bars, "1 line dropped: the same step occurred before"));
  const StepRun megatron = training_run(megatron_line("      10", "1147.6", "   16") +
                                        megatron_line("      20", "1000", "   16"));
  CHECK(megatron.steps == std::vector<Duration>{Duration::us(1'147'600), Duration::s(1)});
  CHECK(megatron.global_batch == 16);
  CHECK(notes(megatron, "mean of up to 10 steps"));
  const StepRun rates = training_run(
      "step 1 | global_batch_size: 64 | samples_per_second: 128.0\n"
      "{\"global_batch_size\": 64, \"samples_per_second\": 32}\n");
  CHECK(rates.steps == std::vector<Duration>{Duration::ms(500), Duration::s(2)});
  CHECK(notes(rates, "global_batch_size / samples_per_second"));
}

// Three digits and a letter, as of a second and more.
TEST_CASE("training log: nanotron's numbers") {
  const auto line = [](const std::string& iteration, const std::string& ms) {
    return "01/01/2025 10:00:00 [INFO|DP=0|PP=0|TP=0|ip-1]: iteration: " + iteration +
           " / 100 | consumed_tokens: 4.19M | elapsed_time_per_iteration_ms: " + ms +
           " | tokens_per_sec: 2M | global_batch_size: 512 | lm_loss: 10 | lr: 3e-4\n";
  };
  const StepRun run = training_run(line("1", "990") + line("2", "1.05K") + line("3", "12K"));
  CHECK(run.steps == std::vector<Duration>{Duration::ms(990), Duration::ms(1050), Duration::s(12)});
  CHECK(run.global_batch == 512);
  CHECK(notes(training_run(line("1", "990") + line("2", "K")), "1 line dropped: no time above 0"));
}

// Megatron-LM divides by the steps since its last line: 1, 99 and 100 of them; 2.5 + 99 + 200 s.
TEST_CASE("training log: means count as often as the steps that they are of") {
  const StepRun run =
      training_run(megatron_line("1", "2500", "512") + megatron_line("100", "1000", "512") +
                   megatron_line("200", "2000", "512"));
  CHECK(run.stands_for == std::vector<int64_t>{1, 99, 100});
  CHECK(steps_of(run) == 200);
  const StepSummary summary = summary_of(run);
  CHECK(summary.warm_up == 0);
  CHECK(summary.mean == Duration::us(1'507'500));
  CHECK(summary.median == Duration::ms(2000));  // the 101st of 200
  CHECK(summary.p95 == Duration::ms(2000));
  CHECK(*summary.samples_per_s == doctest::Approx(512 / 1.5075));
  // A run that goes on: its first line is of as many as the second, at most.
  CHECK(training_run(megatron_line("510", "1", "8") + megatron_line("520", "1", "8") +
                     megatron_line("530", "1", "8"))
            .stands_for == std::vector<int64_t>{10, 10, 10});
  CHECK(
      training_run(megatron_line("5", "1", "8") + megatron_line("6", "1", "8")).stands_for.empty());
}

// A job that goes back to what it has saved: slow first steps are no reason to take it for another
// run, ten steps of twice the time are; and so are ten of half of it.
TEST_CASE("training log: a run that goes back with other times is another one") {
  const auto lines = [](int from, int to, const std::string& ms) {
    std::string text;
    for (int step = from; step <= to; ++step)
      text += megatron_line(std::to_string(step), ms, "512");
    return text;
  };
  const std::string first = lines(1, 40, "100");
  CHECK(
      notes(training_run(first + lines(20, 20, "900") + lines(21, 60, "100")), "21 lines dropped"));
  CHECK(notes(training_run(first + lines(32, 60, "200")), "9 lines dropped"));
  for (const char* ms : {"200", "50"})
    CHECK(holds(refusal_of([&] { training_run(first + lines(20, 60, ms)); }),
                "it goes back to step 20, with other times, and goes on to step 41: these are two "
                "runs"));
  CHECK(holds(refusal_of([&] { training_run(first + lines(20, 40, "200")); }),
              "it goes back to step 20, with other times: these are two runs"));
}

// 12.8 samples a second in steps of 1.25 s are 16 samples. The other line of the same steps is not
// read, too.
TEST_CASE("training log: DeepSpeed") {
  const auto pipe = [](const std::string& steps, const std::string& time, const std::string& rate) {
    return "steps: " + steps + " loss: 7.1000 iter time (s): " + time + " samples/sec: " + rate +
           "\n";
  };
  const auto timer = [](const std::string& step, const std::string& rate) {
    return "[2025-01-01 00:00:00,000] [INFO] [timer.py:199:stop] epoch=0/micro_step=" + step +
           "/global_step=" + step + ", RunningAvgSamplesPerSec=12.345, CurrSamplesPerSec=" + rate +
           ", MemAllocated=10.0GB, MaxMemAllocated=20.0GB\n";
  };
  const StepRun run = training_run(pipe("10", "1.250", "12.800") + timer("10", "99.5") +
                                   pipe("20", "2.500", "6.400") + timer("20", "99.5"));
  CHECK(run.steps == std::vector<Duration>{Duration::ms(1250), Duration::ms(2500)});
  CHECK(run.stands_for == std::vector<int64_t>{10, 10});
  CHECK(run.global_batch == 16);
  // 16,384 a second in steps of 2.500 s are 40,960, give or take eight: that is not said.
  CHECK(!training_run(pipe("10", "2.500", "16384.000")).global_batch);
  // Of a rate alone the batch is in the configuration, or asked for. 50 samples at 12.5 a second.
  const std::string configuration =
      "[INFO] [config.py:984:print]   train_batch_size ............. 50\n"
      "[INFO] [config.py:984:print]   train_micro_batch_size_per_gpu  5\n";
  const StepRun rate = training_run(configuration + timer("10", "12.5") + timer("20", "25"));
  CHECK(rate.steps == std::vector<Duration>{Duration::s(4), Duration::s(2)});
  CHECK(rate.stands_for.empty());
  CHECK(rate.global_batch == 50);
  CHECK_THROWS_WITH_AS(training_run(timer("10", "12.5")),
                       doctest::Contains("CurrSamplesPerSec, and no global_batch_size before it; "
                                         "give --batch"),
                       InputError);
  CHECK(training_log({timer("10", "12.5"), "f", {}, 25}).steps ==
        std::vector<Duration>{Duration::s(2)});
}

std::string titan_line(const std::string& step, const std::string& tps) {
  return "[rank0]:[titan] 2025-01-01 00:00:00,000 - root - INFO - \x1b[31mstep: " + step +
         "  \x1b[32mloss:  8.2  \x1b[34mtps: " + tps + "  \x1b[36mtflops: 140.1\x1b[39m\n";
}

// 64 sequences of 8,192 tokens on 8 GPUs are 65,536 tokens of each; at 32,768 a second 2 s. The
// second line is the mean of steps 2 to 10.
TEST_CASE("training log: torchtitan") {
  const std::string lines = titan_line(" 1", "32,768") + titan_line("10", "65,536") +
                            "validate step: 10  loss: 8.1  tps: 1,000\n" +
                            titan_line("20", "131,072");
  const std::string trainer =
      "[titan] - INFO - Trainer is initialized with local batch size 8, global batch size 64, "
      "gradient accumulation steps 1, sequence length 8192, total steps 1000 (warmup 2)\n";
  for (const std::string mesh :
       {"Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]\n",
        "Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=4, cp=1, tp=2, "
        "ep=4, etp=1\n"}) {
    INFO(mesh);
    const StepRun run = training_run(mesh + trainer + lines);
    CHECK(run.steps == std::vector<Duration>{Duration::s(2), Duration::s(1), Duration::ms(500)});
    CHECK(run.stands_for == std::vector<int64_t>{1, 9, 10});
    CHECK(run.global_batch == 64);
    CHECK(run.sequence_length == 8192);
    CHECK(notes(run, "a step is 65536 tokens of a GPU / tps"));
  }
  CHECK_THROWS_WITH_AS(training_run(trainer + lines), doctest::Contains("give --tokens"),
                       InputError);
  const StepRun given = training_log({lines, "f", {}, {}, 32'768});
  CHECK(given.steps.front() == Duration::s(1));
  CHECK(!given.global_batch);
}

// A summary: 200 steps in 100 s, of 64 / 2 = 32 samples each.
TEST_CASE("training log: the summary of Hugging Face's Trainer") {
  for (const std::string& text :
       {std::string("{'loss': 2.1, 'epoch': 0.1}\n{'train_runtime': 100.0, "
                    "'train_samples_per_second': 64.0, 'train_steps_per_second': 2.0, "
                    "'train_loss': 1.5}\n"),
        std::string("{'train_runtime': '100', 'train_samples_per_second': '64', "
                    "'train_steps_per_second': '2', 'train_loss': '1.5'}\n")}) {
    INFO(text);
    const StepRun run = training_run(text);
    CHECK(run.steps == std::vector<Duration>{Duration::ms(500)});
    CHECK(run.stands_for == std::vector<int64_t>{200});
    CHECK(run.global_batch == 32);
    CHECK(notes(run, "one mean over the whole run"));
  }
  // 0.05 stands for 0.0495 to 0.0505: 5 steps in 100 s, which 64 samples a second leave open.
  const StepRun slow = training_run(
      "{'train_runtime': 100.0, 'train_samples_per_second': 64.0, 'train_steps_per_second': 0.05}");
  CHECK(slow.steps == std::vector<Duration>{Duration::s(20)});
  CHECK(!slow.global_batch);
}

// 0.002 stands for 0.0015 to 0.0025: in 18,000 s from 27 to 45 steps. Other lines say that it was
// 30, of 600 s; a bar of an evaluation does not fit.
TEST_CASE("training log: how many steps a Trainer's run had, from the rest of the log") {
  const std::string summary =
      "{'train_runtime': 18000.0, 'train_samples_per_second': 0.1, 'train_steps_per_second': "
      "0.002}\n";
  const std::string bars =
      "100%|#####| 8/8 [00:10<00:00, 1.2s/it]\r100%|#####| 30/30 [4:59:03<00:00, 598.1s/it]\n";
  for (const std::string& text : std::vector<std::string>{
           bars + summary, summary + bars, "  Total optimization steps = 30\n" + summary,
           "TrainOutput(global_step=30, training_loss=9.7, metrics=" + summary,
           "{\"global_step\": 30,\n \"train_runtime\": 18000.0,\n\"x\": 1,\n"
           "\"train_steps_per_second\": 0.002}\n"}) {
    INFO(text);
    const StepRun run = training_run(text);
    CHECK(run.steps == std::vector<Duration>{Duration::s(600)});
    CHECK(run.stands_for == std::vector<int64_t>{30});
    CHECK_FALSE(notes(run, "is rounded"));
  }
  const StepRun open = training_run(summary);
  CHECK(open.steps == std::vector<Duration>{Duration::s(500)});
  CHECK(notes(open, "from 27 to 45 steps, and 36 are taken"));
  // It ended before what was planned, so that the rate is of other steps.
  const StepRun early = training_run("TrainOutput(global_step=9, metrics=" + summary);
  CHECK(early.steps == std::vector<Duration>{Duration::s(2000)});
  CHECK(
      training_run("  Total train batch size (w. parallel, distributed & accumulation) = 1,024\n" +
                   summary)
          .global_batch == 1024);
}

// 0:36:40.00 are 2,200 s, a day more 88,600.
TEST_CASE("training log: the block of metrics that the Trainer prints") {
  const auto block = [](const std::string& runtime) {
    return "***** train metrics *****\n  epoch                    =        3.0\n"
           "  train_runtime            = " +
           runtime + "\n  train_samples_per_second =        8.0\n" +
           "  train_steps_per_second   =        0.5\n  Total optimization steps = " +
           (runtime.size() > 12 ? "44,300\n" : "1,100\n");
  };
  for (const std::string& runtime : {std::string("0:36:40.00"), std::string("1 day, 0:36:40.00")}) {
    INFO(runtime);
    CHECK(training_run(block(runtime)).steps == std::vector<Duration>{Duration::s(2)});
  }
  CHECK_FALSE(
      has_step_times("train_runtime = 5\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"
                     "train_steps_per_second = 3\n"));
}

// Megatron-DeepSpeed prints seconds, or names with underscores; AMD's Primus the time and its mean
// until then.
TEST_CASE("training log: lines of programs made of Megatron-LM") {
  const StepRun seconds = training_run(
      "[default7]: iteration 94768/ 115311 | elapsed time per iteration (s): 215.82 | global batch "
      "size: 2048 | samples per second: 9.490 |\n"
      "[default7]: iteration 94769/ 115311 | elapsed time per iteration (s): 215.99 | global batch "
      "size: 2048 | samples per second: 9.482 |\n");
  CHECK(seconds.steps == std::vector<Duration>{Duration::ms(215'820), Duration::ms(215'990)});
  CHECK(seconds.global_batch == 2048);
  // DeepSpeed's own rate stands beside it, and leaves out three of four micro-batches.
  const auto line = [](int step, const std::string& stamp) {
    const std::string number = std::to_string(step);
    return "[2024-04-21 02:45:" + stamp + ",500] [INFO] global_step=" + number +
           ", CurrSamplesPerSec=64.0, MemAllocated=4.75GB\n[2024-04-21 02:45:" + stamp +
           "] - iteration= " + number + "/ 317892 | elapsed_time_per_iteration_ms=16000.0 | " +
           "global_batch_size= 256 | samples_per_second=16.0 |\n";
  };
  const StepRun names = training_run(line(3, "08") + line(4, "24") + line(5, "40"));
  CHECK(names.steps == std::vector<Duration>(3, Duration::s(16)));
  CHECK(names.global_batch == 256);
  CHECK(names.notes.empty());
  const StepRun mean = training_run(
      "iteration 12124/ 36000 | elapsed time per iteration (ms): 2701.3/2712.7 | global batch "
      "size: 256 |\niteration 12125/ 36000 | elapsed time per iteration (ms): 2703.0/2712.0 | "
      "global batch size: 256 |\n");
  CHECK(mean.steps == std::vector<Duration>{Duration::us(2'701'300), Duration::ms(2703)});
}

// 256 samples at 64 a second are 4 s, and lines are 16 s apart: 4 times as long.
TEST_CASE("training log: times are held against the stamps of their lines") {
  const auto lines = [](const std::string& rate) {
    std::string text = "global_batch_size: 256\n";
    for (const int second : {10, 26, 42})
      text += "[2024-04-21 23:59:" + std::to_string(second) +
              ",250] global_step=" + std::to_string(second / 16 + 1) +
              ", CurrSamplesPerSec=" + rate + "\n";
    return text;
  };
  const StepRun wrong = training_run(lines("64"));
  CHECK(wrong.steps == std::vector<Duration>(3, Duration::s(4)));
  CHECK(
      notes(wrong, "by the stamps of the lines a step takes 16 s, 4 times what CurrSamplesPerSec"));
  CHECK_FALSE(notes(training_run(lines("16")), "stamps"));
}

// Lines at 100, 200, 1000 and 1100: those between are missing, and 400 steps are told of.
TEST_CASE("training log: a gap between lines is no mean over it") {
  std::string text;
  for (const std::string number : {"100", "200", "1000", "1100"})
    text += megatron_line(number, "1000", "16");
  const StepRun run = training_run(text);
  CHECK(run.stands_for == std::vector<int64_t>{100, 100, 100, 100});
  CHECK(notes(run, "1 gap between the numbers of lines"));
  CHECK(notes(run, "mean of up to 100 steps"));
  // Since when a lone mean counts is not known.
  CHECK(training_run(megatron_line("12125", "1000", "16")).stands_for.empty());
}

TEST_CASE("training log: nanoGPT and build-nanogpt") {
  const StepRun run = training_run(
      "step 0: train loss 4.2, val loss 4.3\niter 0: loss 4.2, time 9000.00ms, mfu -100.00%\n"
      "iter 10: loss 3.2, time 150.12ms, mfu 20.10%\niter 20: loss 3.1, time 1.50s\n");
  CHECK(run.steps == std::vector<Duration>{Duration::us(150'120), Duration::ms(1500)});
  CHECK(run.stands_for.empty());
  CHECK(training_run("step     7 | loss: 3.2 | dt: 300.50ms | tok/sec: 1700000.00\n").steps ==
        std::vector<Duration>{Duration::us(300'500)});
  CHECK(notes(training_run("iter 1: loss 1, time 5.00ms\niter 2: loss 1, time 5.00min\n"),
              "1 line dropped: no time above 0"));
  // Words that stand in others, or for something else.
  for (const std::string& text :
       {std::string("step 3: see https: width: 5\n"), std::string("iter 3: time to go\n"),
        std::string("the time 3ms was short\n"), std::string("steps: 4 tps 5\n")})
    CHECK(!has_step_times(text));
}

TEST_CASE("training log: what does not count is counted") {
  struct Row {
    std::string text;
    std::string note;
  };
  for (const Row& row :
       std::vector<Row>{{nemo_line(1, "nan"), "no time above 0"},
                        {nemo_line(1, "-2"), "no time above 0"},
                        {nemo_line(1, "0"), "no time above 0"},
                        {nemo_line(1, "1e30"), "no time above 0"},
                        {nemo_line(1, ""), "no time above 0"},
                        {nemo_line(1, "1,010.0"), "no time above 0"},
                        {"step 2 | train_step_timing in s: 2", "the file ends within the line"},
                        {nemo_line(0, "9"), "the same step occurred before"}}) {
    INFO(row.text);
    const StepRun run = training_run(nemo_line(0, "1.0") + row.text);
    CHECK(run.steps == std::vector<Duration>{Duration::s(1)});
    CHECK(notes(run, row.note));
  }
  const std::string megatron = megatron_line("4", "1000", "8");
  CHECK(notes(training_run(megatron + megatron_line("5", "x", "8")), "no time above 0"));
  CHECK(notes(training_run(megatron + megatron_line("5", "0", "16")), "global_batch_size changes"));
  // The file ends within the batch, or with a whole line.
  const StepRun cut =
      training_run(nemo_line(0, "1.5") + "train_step_timing in s: 2.5, global_batch_size: 1");
  CHECK(cut.global_batch == 8);
  CHECK(cut.steps.size() == 2);
  CHECK(training_run(nemo_line(0, "1.5") + "train_step_timing in s: 2.5").steps.back() ==
        Duration::ms(2500));
  CHECK(!training_run("step 1 | train_step_timing in s: 2.5 | global_batch_size: 1,024\n")
             .global_batch);
  // What wandb and the summary of a Trainer print are no steps.
  const StepRun run = training_run(nemo_line(0, "1.0") + "wandb: train_step_timing in s 3.1\n" +
                                   "{'train_samples_per_second': 5.0}\n");
  CHECK(run.steps.size() == 1);
  CHECK(run.notes.empty());
}

TEST_CASE("training log: what is refused") {
  for (const std::string& text : {std::string(), std::string("hello\n"), nemo_line(1, "x"),
                                  std::string("samples_per_second: 3\n")}) {
    INFO(text);
    const std::string said = refusal_of([&] { training_run(text); });
    CHECK(holds(said, "f: no step: expected lines"));
    for (const std::string program : {"Megatron-LM", "NeMo", "DeepSpeed", "torchtitan", "nanoGPT",
                                      "build-nanogpt", "Hugging Face"})
      CHECK(holds(said, "\n  " + program + ": "));
  }
}

// A rate is samples per second; 1,152 of them are a step.
TEST_CASE("training log: MLPerf logs without times of steps") {
  const auto line = [](const std::string& key, const std::string& value, int step) {
    return R"(0: :::MLLOG {"namespace": "", "time_ms": 17, "event_type": "POINT_IN_TIME", "key": ")" +
           key + R"(", "value": )" + value + R"(, "metadata": {"step": )" + std::to_string(step) +
           "}}\n";
  };
  const std::string start = line("global_batch_size", "1152", 0) + line("run_start", "null", 0);
  const StepRun run = mllog({start + line("tracked_stats", R"({"throughput": 576.0})", 3072) +
                                 line("tracked_stats", R"({"throughput": 576.0})", 3072) +
                                 line("tracked_stats", R"({"throughput": 1152})", 6144),
                             "f",
                             {}});
  CHECK(run.steps == std::vector<Duration>{Duration::s(2), Duration::s(1)});
  CHECK(notes(run, "a step is global_batch_size / throughput"));
  CHECK(notes(run, "the same step occurred before"));
  CHECK(*run.stated_samples_per_s == doctest::Approx(864));
  CHECK_THROWS_WITH_AS(mllog({line("tracked_stats", R"({"throughput": 576.0})", 1), "f", {}}),
                       doctest::Contains("a throughput, and no global_batch_size"), InputError);
  CHECK_THROWS_AS(mllog({start + line("tracked_stats", R"({"throughput": 0})", 1), "f", {}}),
                  InputError);
  const StepRun printed = mllog({start + nemo_line(0, "7") + nemo_line(1, "2") +
                                     line("tracked_stats", R"({"train_epoch_timing": 234.9})", 1),
                                 "f",
                                 {}});
  CHECK(printed.steps == std::vector<Duration>{Duration::s(7), Duration::s(2)});
  CHECK(printed.global_batch == 1152);
  CHECK(notes(printed, "those that the training program prints"));
}

TEST_CASE("training log: the command knows it by its content") {
  const std::string file = std::string(SGDSIM_SOURCE_DIR) + "/tests/data/nemo_log.txt";
  const Ran answer = call_sgdsim({"import", file, "--format", "json"});
  REQUIRE(answer.exit_code == 0);
  const Json json = Json::parse(answer.out);
  CHECK(json["runs"][0]["steps"] == 4);
  CHECK(json["runs"][0]["step_median_us"] == 2'250'000);
  // 4, 2.5, 2 and 1.5 s: the first one warms up.
  CHECK(json["runs"][0]["warm_up_steps"] == 1);
  CHECK(json["runs"][0]["samples_per_s"] == 8 / 2.0);
  // Two times of ten steps each are 20 steps.
  const Temporary log(Temporary::Kind::file,
                      megatron_line("10", "1000", "8") + megatron_line("20", "2000", "8"));
  const Ran means =
      call_sgdsim({"import", "training-log", log.name(), "--format", "json", "--batch", "16"});
  REQUIRE(means.exit_code == 0);
  const Json run = Json::parse(means.out)["runs"][0];
  CHECK(run["steps"] == 20);
  CHECK(run["times"] == 2);
  CHECK(run["global_batch_size"] == 16);
}

}  // namespace
}  // namespace sgdsim
