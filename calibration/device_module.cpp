#include "calibration/device_module.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace weft::calibration {

std::filesystem::path device_module_path() {
  if (const char* path = std::getenv("WEFT_DEVICE_PART"); path && *path) return path;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libweft_device.so";
}

DeviceModule load_device_module() {
  const std::filesystem::path path = device_module_path();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw ExecutionError(std::string("cannot load the device part: ") + dlerror());
  const auto fill = reinterpret_cast<FillDeviceModule>(dlsym(library, fill_device_module_name));
  if (fill == nullptr) throw ExecutionError(path.string() + ": " + dlerror());
  DeviceModule module;
  fill(module);
  return module;
}

}  // namespace weft::calibration
