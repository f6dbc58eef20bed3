#include "calibration/device/profiler.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "calibration/device/graph_nodes.hpp"

namespace weft::calibration::device {
namespace {

Profiler* profiler = nullptr;  // CUPTI's buffer callbacks carry no context

constexpr std::size_t buffer_bytes = std::size_t{8} << 20, buffer_alignment = 64;

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                        CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

/// Our own kernels by their plain names, "barrier_kernel"; a library's as it stands.
std::string readable(const char* name) {
  if (name == nullptr) return "kernel";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                              &std::free);
  const std::string full = status == 0 ? demangled.get() : name;
  const std::string ours = "device::(anonymous namespace)::";
  const std::size_t begin = full.find(ours);
  if (begin == std::string::npos) return name;
  const std::string plain = full.substr(begin + ours.size());
  return plain.substr(0, plain.find_first_of("<("));
}

ActivityRecord record_of(const CUpti_ActivityKernel10& kernel) {
  ActivityRecord record;
  record.name = readable(kernel.name);
  record.start_ns = kernel.start;
  record.end_ns = kernel.end;
  record.correlation = kernel.correlationId;
  record.graph_node = kernel.graphNodeId;
  record.grid = {kernel.gridX, kernel.gridY, kernel.gridZ};
  record.block = {kernel.blockX, kernel.blockY, kernel.blockZ};
  record.cluster = {static_cast<int>(kernel.clusterX), static_cast<int>(kernel.clusterY),
                    static_cast<int>(kernel.clusterZ)};
  record.registers = kernel.registersPerThread;
  record.static_shared_memory = kernel.staticSharedMemory;
  record.dynamic_shared_memory = kernel.dynamicSharedMemory;
  return record;
}

template <class MemoryOperation>
ActivityRecord record_of(const MemoryOperation& operation, const char* name) {
  ActivityRecord record;
  record.name = name;
  record.start_ns = operation.start;
  record.end_ns = operation.end;
  record.correlation = operation.correlationId;
  record.graph_node = operation.graphNodeId;
  record.bytes = static_cast<Bytes>(operation.bytes);
  return record;
}

}  // namespace

Profiler::Profiler() {
  profiler = this;
  WEFT_CHECK(cuptiSubscribe(&subscriber_, &Profiler::on_callback, this));
  WEFT_CHECK(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED));
  WEFT_CHECK(cuptiActivityRegisterCallbacks(&Profiler::request_buffer, &Profiler::complete_buffer));
  for (const CUpti_ActivityKind kind : kinds) WEFT_CHECK(cuptiActivityEnable(kind));
}

Profiler::~Profiler() {
  for (const CUpti_ActivityKind kind : kinds) WEFT_REPORT(cuptiActivityDisable(kind));
  WEFT_REPORT(cuptiActivityFlushAll(1));
  WEFT_REPORT(cuptiUnsubscribe(subscriber_));
  profiler = nullptr;
}

void Profiler::request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer != nullptr ? buffer_bytes : 0;
  *max_records = 0;
}

void Profiler::complete_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                               std::size_t valid) {
  CUpti_Activity* record = nullptr;
  if (profiler != nullptr) {
    const std::lock_guard lock(profiler->mutex_);
    while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) profiler->take(*record);
    profiler->count_dropped(context, stream);
  }
  std::free(buffer);
}

/// Of the buffers of this context and stream since the last time it was asked.
void Profiler::count_dropped(CUcontext context, std::uint32_t stream) {
  std::size_t count = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &count) == CUPTI_SUCCESS) dropped_ += count;
}

void Profiler::take(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      records_.push_back(record_of(reinterpret_cast<const CUpti_ActivityKernel10&>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      records_.push_back(record_of(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record), "memcpy"));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:  // between two GPUs
      records_.push_back(record_of(reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record), "memcpy"));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      records_.push_back(record_of(reinterpret_cast<const CUpti_ActivityMemset4&>(record), "memset"));
      break;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& tag = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
      tags_[tag.correlationId] = tag.externalId;
      break;
    }
    default:
      break;
  }
}

void Profiler::on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE || id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) return;
  const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
  const auto& graph = *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor);
  std::uint64_t clone = 0, original = 0;
  if (cuptiGetGraphNodeId(graph.node, &clone) != CUPTI_SUCCESS) return;
  if (cuptiGetGraphNodeId(graph.originalNode, &original) != CUPTI_SUCCESS) return;
  auto& own = *static_cast<Profiler*>(self);
  const std::lock_guard lock(own.mutex_);
  own.original_of_clone_[clone] = original;
}

void Profiler::clear() {
  WEFT_CHECK(cuptiActivityFlushAll(1));
  const std::lock_guard lock(mutex_);
  records_.clear();
  tags_.clear();
  dropped_ = 0;
}

std::vector<ActivityRecord> Profiler::records() {
  WEFT_CHECK(cuptiActivityFlushAll(1));
  const std::lock_guard lock(mutex_);
  std::vector<ActivityRecord> sorted = records_;
  std::ranges::stable_sort(sorted, {}, &ActivityRecord::start_ns);
  return sorted;
}

std::size_t Profiler::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void Profiler::begin_capture() {
  const std::lock_guard lock(mutex_);
  captured_nodes_.clear();
  operation_of_node_.clear();
  original_of_clone_.clear();
}

void Profiler::note_captured(OperationId id, cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  WEFT_CHECK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr));
  if (status != cudaStreamCaptureStatusActive) return;
  for (const cudaGraphNode_t node : nodes_of(graph)) {
    if (!captured_nodes_.insert(node).second) continue;
    std::uint64_t node_id = 0;
    WEFT_CHECK(cuptiGetGraphNodeId(node, &node_id));
    const std::lock_guard lock(mutex_);
    operation_of_node_[node_id] = id;
  }
}

void Profiler::note_replaced(cudaGraphNode_t from, cudaGraphNode_t to) {
  std::uint64_t before = 0, after = 0;
  WEFT_CHECK(cuptiGetGraphNodeId(from, &before));
  WEFT_CHECK(cuptiGetGraphNodeId(to, &after));
  const std::lock_guard lock(mutex_);
  if (const auto found = operation_of_node_.find(before); found != operation_of_node_.end())
    operation_of_node_[after] = found->second;
}

void Profiler::trace_host_calls(bool wanted) {
  if (wanted == traces_host_calls_) return;
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER})
    WEFT_CHECK(wanted ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind));
  traces_host_calls_ = wanted;
}

void Profiler::push(std::uint64_t tag) {
  WEFT_CHECK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, tag));
}

void Profiler::pop() {
  std::uint64_t tag = 0;
  WEFT_CHECK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &tag));
}

OperationId Profiler::operation_of_node(std::uint64_t graph_node) const {
  const std::lock_guard lock(mutex_);
  // A graph may be cloned more than once on its way to an executable.
  for (int steps = 0; steps < 8; ++steps) {
    if (const auto found = operation_of_node_.find(graph_node); found != operation_of_node_.end()) return found->second;
    const auto original = original_of_clone_.find(graph_node);
    if (original == original_of_clone_.end()) break;
    graph_node = original->second;
  }
  return -1;
}

bool Profiler::find_tag(std::uint32_t correlation, std::uint64_t& tag) const {
  const std::lock_guard lock(mutex_);
  const auto found = tags_.find(correlation);
  if (found == tags_.end()) return false;
  tag = found->second;
  return true;
}

}  // namespace weft::calibration::device
