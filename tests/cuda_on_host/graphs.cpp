// Graphs of the interface: captured from streams, uploaded, launched.
#include "tests/cuda_on_host/machine.h"

using namespace sgdsim::cuda_on_host;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return answer([&] {
    demand_alive(stream);  // the default stream cannot be captured
    demand_no_capture();
    machine.capture = stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream;
    stream->capture->streams = {stream};
    stream->capture->nodes = {{nullptr, stream->lane, {}, nullptr}};
    stream->tip = 0;
  });
}

namespace {

// Every stream that joined must have been waited for, with all that was queued in it.
bool is_joined(const Capture& capture) {
  std::vector<bool> is_before(capture.nodes.size(), false);
  is_before[capture.origin->tip] = true;
  for (std::size_t i = capture.nodes.size(); i-- > 0;)
    if (is_before[i])
      for (const std::size_t before : capture.nodes[i].after) is_before[before] = true;
  return std::all_of(capture.streams.begin(), capture.streams.end(),
                     [&](cudaStream_t stream) { return is_before[stream->tip]; });
}

}  // namespace

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return answer([&] {
    *graph = nullptr;
    demand_alive(stream);
    const std::shared_ptr<Capture> capture = stream->capture;
    demand(capture && capture->origin == stream, cudaErrorStreamCaptureUnmatched);
    const bool is_whole = is_joined(*capture);
    end_capture(*capture);
    demand(capture->is_valid, cudaErrorStreamCaptureInvalidated);
    demand(is_whole, cudaErrorStreamCaptureUnjoined);
    *graph = new CUgraph_st{std::move(capture->nodes)};
    keep(*graph);
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return answer_always([&] { destroy(graph); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned flags) {
  return answer([&] {
    demand_no_capture();
    demand_alive(graph);
    demand(flags == 0, cudaErrorNotSupported);
    *exec = new CUgraphExec_st{.nodes = graph->nodes};
    keep(*exec);
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return answer_always([&] { destroy(exec); });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t handle) {
  return answer([&] {
    demand_no_capture();
    demand_alive(exec);
    queue(stream_of(handle), [is_uploaded = exec->is_uploaded] { *is_uploaded = true; });
  });
}

// A graph that was not uploaded is now, for which the driver may wait for the GPU.
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  return answer([&] {
    demand_no_capture();
    demand_alive(exec);
    const cudaStream_t stream = stream_of(handle);
    if (!std::exchange(*exec->is_uploaded, true)) finish_all();
    queue(
        stream, [] { machine.priorities.clear(); }, exec->last);
    std::vector<WorkPointer> works;
    std::vector<WorkPointer> all = {stream->last};
    for (const Node& node : exec->nodes) {
      std::vector<WorkPointer> after = {stream->last};
      for (const std::size_t before : node.after) after.push_back(works[before]);
      works.push_back(add_work(node.play, node.lane, after));
      if (node.records != nullptr) node.records->recorded = works.back();
      launch(works.back());
    }
    all.insert(all.end(), works.begin(), works.end());
    exec->last = stream->last = add_work(nullptr, stream->lane, all);
    if (machine.launches_block) finish(stream->last);
  });
}
