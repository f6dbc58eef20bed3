#include "calibration/device/conditions.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "calibration/device/check.hpp"

namespace weft::calibration::device {
namespace {

// NVML's C interface, as documented in its API reference; the toolkit need not bring its header.
using Device = void*;
constexpr int success = 0, insufficient_size = 7;
constexpr int sm_clock = 1;              // NVML_CLOCK_SM
constexpr unsigned instant_power = 186;  // NVML_FI_DEV_POWER_INSTANT, in milliwatts

/// nvmlFieldValue_t.
struct FieldValue {
  unsigned id = 0, scope = 0;
  long long time_us = 0, latency_us = 0;
  int type = 0, result = 0;
  std::uint64_t value = 0;  ///< a union of numbers; the low half holds an unsigned int
};
static_assert(sizeof(FieldValue) == 40);

/// nvmlProcessInfo_t.
struct ProcessInfo {
  unsigned process = 0;
  unsigned long long bytes = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};
static_assert(sizeof(ProcessInfo) == 24);

/// Variables that change what NCCL, CUDA and cuBLAS do.
std::vector<std::string> environment_of_libraries() {
  std::vector<std::string> found;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    for (const std::string_view prefix : {"NCCL_", "CUDA_", "CUBLAS"})
      if (text.starts_with(prefix)) found.emplace_back(text);
  }
  std::ranges::sort(found);
  return found;
}

/// Bits of nvmlDeviceGetCurrentClocksEventReasons that are no wish of the user's.
constexpr std::array clock_limit_names{
    std::pair{0x04U, "power cap"}, std::pair{0x08U, "hardware slowdown"}, std::pair{0x10U, "sync boost"},
    std::pair{0x20U, "thermal"},   std::pair{0x40U, "hardware thermal"},  std::pair{0x80U, "hardware power brake"},
};

/// Whether the contexts of this process share GPU 0 with those of others.
std::string mps() {
  int is_on = 0;
  if (cudaDeviceGetAttribute(&is_on, cudaDevAttrMpsEnabled, 0) != cudaSuccess) return "";
  return is_on != 0 ? "on" : "off";
}

std::string dotted(int version, int major_unit, int minor_unit) {
  return std::to_string(version / major_unit) + "." + std::to_string(version % major_unit / minor_unit);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

Sensors::Sensors(int gpu) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return;
  const auto init = reinterpret_cast<int (*)()>(symbol("nvmlInit_v2"));
  const auto find = reinterpret_cast<int (*)(const char*, Device*)>(symbol("nvmlDeviceGetHandleByPciBusId_v2"));
  std::array<char, 32> bus{};
  WEFT_CHECK(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), gpu));
  if (init == nullptr || find == nullptr || init() != success || find(bus.data(), &device_) != success)
    device_ = nullptr;
}

void* Sensors::symbol(const char* name) const { return library_ != nullptr ? dlsym(library_, name) : nullptr; }

std::string Sensors::driver() const {
  std::array<char, 96> text{};
  const auto read = reinterpret_cast<int (*)(char*, unsigned)>(symbol("nvmlSystemGetDriverVersion"));
  if (device_ == nullptr || read == nullptr || read(text.data(), static_cast<unsigned>(text.size())) != success)
    return "unknown";
  return text.data();
}

double Sensors::clock_MHz(const char* name) const {
  unsigned value = 0;
  const auto read = reinterpret_cast<int (*)(Device, int, unsigned*)>(symbol(name));
  return device_ != nullptr && read != nullptr && read(device_, sm_clock, &value) == success ? value : 0;
}

double Sensors::sm_clock_MHz() const { return clock_MHz("nvmlDeviceGetClockInfo"); }

double Sensors::max_sm_clock_MHz() const { return clock_MHz("nvmlDeviceGetMaxClockInfo"); }

double Sensors::application_clock_MHz() const { return clock_MHz("nvmlDeviceGetApplicationsClock"); }

std::uint64_t Sensors::field(unsigned id) const {
  FieldValue asked;
  asked.id = id;
  const auto read = reinterpret_cast<int (*)(Device, int, FieldValue*)>(symbol("nvmlDeviceGetFieldValues"));
  if (device_ == nullptr || read == nullptr || read(device_, 1, &asked) != success || asked.result != success) return 0;
  return asked.value & 0xffffffffU;
}

double Sensors::power_W() const {
  if (const std::uint64_t milliwatts = field(instant_power); milliwatts > 0)
    return static_cast<double>(milliwatts) * 1e-3;
  unsigned milliwatts = 0;
  const auto read = reinterpret_cast<int (*)(Device, unsigned*)>(symbol("nvmlDeviceGetPowerUsage"));
  return device_ != nullptr && read != nullptr && read(device_, &milliwatts) == success ? milliwatts * 1e-3 : 0;
}

double Sensors::energy_J() const {
  unsigned long long millijoules = 0;
  const auto read =
      reinterpret_cast<int (*)(Device, unsigned long long*)>(symbol("nvmlDeviceGetTotalEnergyConsumption"));
  const bool is_read = device_ != nullptr && read != nullptr && read(device_, &millijoules) == success;
  return is_read ? static_cast<double>(millijoules) * 1e-3 : 0;
}

std::uint64_t Sensors::clock_limits() const {
  unsigned long long reasons = 0;
  void* read = symbol("nvmlDeviceGetCurrentClocksEventReasons");
  if (read == nullptr) read = symbol("nvmlDeviceGetCurrentClocksThrottleReasons");  // its name before driver 535
  const auto ask = reinterpret_cast<int (*)(Device, unsigned long long*)>(read);
  if (device_ == nullptr || ask == nullptr || ask(device_, &reasons) != success) return 0;
  std::uint64_t limits = 0;
  for (const auto& [bit, name] : clock_limit_names) limits |= reasons & bit;
  return limits;
}

std::vector<std::string> names_of_clock_limits(std::uint64_t limits) {
  std::vector<std::string> names;
  for (const auto& [bit, name] : clock_limit_names)
    if ((limits & bit) != 0) names.emplace_back(name);
  return names;
}

double Sensors::power_limit_W() const {
  unsigned milliwatts = 0;
  const auto read = reinterpret_cast<int (*)(Device, unsigned*)>(symbol("nvmlDeviceGetEnforcedPowerLimit"));
  return device_ != nullptr && read != nullptr && read(device_, &milliwatts) == success ? milliwatts * 1e-3 : 0;
}

std::string Sensors::mode(const char* name) const {
  unsigned now = 0, after_restart = 0;
  const auto read = reinterpret_cast<int (*)(Device, unsigned*, unsigned*)>(symbol(name));
  if (device_ == nullptr || read == nullptr || read(device_, &now, &after_restart) != success) return "";
  return now != 0 ? "on" : "off";
}

std::string Sensors::ecc() const { return mode("nvmlDeviceGetEccMode"); }

std::string Sensors::mig() const { return mode("nvmlDeviceGetMigMode"); }

int Sensors::processes() const {
  constexpr unsigned most = 64;
  std::array<ProcessInfo, most> found{};
  unsigned count = most;
  const auto read =
      reinterpret_cast<int (*)(Device, unsigned*, ProcessInfo*)>(symbol("nvmlDeviceGetComputeRunningProcesses_v3"));
  if (device_ == nullptr || read == nullptr) return 0;
  const int result = read(device_, &count, found.data());  // where there are more, `count` says how many
  return result == success || result == insufficient_size ? static_cast<int>(count) : 0;
}

Conditions read_conditions(int gpus, const Sensors& sensors) {
  cudaDeviceProp properties{};
  WEFT_CHECK(cudaGetDeviceProperties(&properties, 0));
  int runtime = 0, nccl = 0;
  WEFT_CHECK(cudaRuntimeGetVersion(&runtime));
  WEFT_CHECK(ncclGetVersion(&nccl));
  Conditions conditions;
  conditions.date = utc_now();
  conditions.gpu = properties.name;
  conditions.driver = sensors.driver();
  conditions.cuda = dotted(runtime, 1000, 10);
  conditions.nccl = dotted(nccl, 10000, 100) + "." + std::to_string(nccl % 100);
  conditions.cublaslt = std::to_string(cublasLtGetVersion());
  conditions.gpus = gpus;
  conditions.sms = properties.multiProcessorCount;
  conditions.max_sm_clock_MHz = sensors.max_sm_clock_MHz();
  conditions.power_limit_W = sensors.power_limit_W();
  conditions.commit = WEFT_COMMIT;
  conditions.environment = environment_of_libraries();
  conditions.ecc = sensors.ecc();
  conditions.mig = sensors.mig();
  conditions.mps = mps();
  if (const double clock_MHz = sensors.application_clock_MHz(); clock_MHz < conditions.max_sm_clock_MHz)
    conditions.application_clock_MHz = clock_MHz;
  conditions.other_processes = std::max(0, sensors.processes() - 1);
  return conditions;
}

}  // namespace weft::calibration::device
