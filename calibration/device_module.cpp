#include "calibration/device_module.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace weft::calibration {

DeviceModule load_device_module() {
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libweft_device.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw ExecutionError(std::string("cannot load the device part: ") + dlerror());
  const auto fill = reinterpret_cast<FillDeviceModule>(dlsym(library, fill_device_module_name));
  if (fill == nullptr) throw ExecutionError(path.string() + ": " + dlerror());
  DeviceModule module;
  fill(module);
  return module;
}

}  // namespace weft::calibration
