// weft profile new: a profile of a server from what its owner has of it, without running anything of weft on it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/evidence/calibration_profile.hpp"
#include "calibration/evidence/gemm_times.hpp"
#include "calibration/evidence/new_profile.hpp"
#include "calibration/report/profile_report.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

namespace fs = std::filesystem;

struct ProfileOptions {
  std::string base, gemms, topology;
  std::vector<std::string> logs;
  fs::path out;
  Output output;
};

evidence::KnownOfServer known_of_server(const ProfileOptions& options, const Machine& base) {
  evidence::KnownOfServer known;
  for (const std::string& log : options.logs)
    known.logs.push_back({fs::path(log).filename(), evidence::read_nccl_tests_log(log)});
  if (!options.gemms.empty()) known.gemms = evidence::read_gemm_times(options.gemms, base.gpu.max_clock_MHz);
  if (std::ranges::any_of(known.gemms, [](const auto& one) { return one.own_kernel.has_value(); }))
    throw InputError(options.gemms + ": kernel", "expected GEMMs of the library");
  known.gemm_file = fs::path(options.gemms).filename();
  if (!options.topology.empty()) known.topology = evidence::read_server_topology(options.topology);
  known.topology_file = fs::path(options.topology).filename();
  return known;
}

/// The table of kernels that the profile names has to stand beside it.
void write(const nlohmann::ordered_json& base, const fs::path& base_path, const std::string& text,
           const fs::path& out) {
  std::vector<TextFile> files;
  if (base.contains("gemm") && base["gemm"]["kernels"].contains("file")) {
    const std::string name = base["gemm"]["kernels"]["file"];
    const fs::path from = base_path.parent_path() / name, to = out.parent_path() / name;
    std::string table = read_text_file(from);
    if (fs::exists(to) && read_text_file(to) != table)
      throw InputError("--out", "expected a folder whose " + name + ", which the profile names, is that of the base");
    if (!fs::exists(to)) files.push_back({to, std::move(table)});
  }
  files.push_back({out, text});
  write_text_files(files);
}

void run_profile(const ProfileOptions& options) {
  if (options.logs.empty() && options.gemms.empty() && options.topology.empty())
    throw InputError("", "expected at least one of --nccl-tests, --gemms and --topology");
  require_writable(options.out);
  const fs::path path = machine_path(options.base);
  const Machine machine = read_machine(path);
  const nlohmann::ordered_json document = evidence::read_profile(path);
  const evidence::CalibratedProfile profile =
      evidence::new_profile({document, machine}, known_of_server(options, machine), options.out.stem().string());
  write(document, path, profile.text, options.out);
  options.output.write(calibration::report::new_profile_report(profile));
}

}  // namespace

void add_profile_command(CLI::App& app) {
  CLI::App* profile = app.add_subcommand("profile", "Make a machine profile without weft's own measurements");
  profile->require_subcommand(0, 1);
  profile->callback([profile] {
    if (profile->get_subcommands().empty()) throw InputError("profile", "expected a command: new");
  });
  auto [command, options] = add_command(
      *profile, "new", "From logs and topologies of other tools, and a profile of a machine like it", run_profile);
  reads_machine(command.add_option("--base", options.base, "Name or path of the profile of a machine like it"))
      ->required();
  reads(command.add_option("--nccl-tests", options.logs, "Output of nccl-tests: text, or JSON of --json"));
  reads(command.add_option("--gemms", options.gemms,
                           "CSV with the columns m, n, k, time_us, and dtype and clock_MHz where known"));
  reads(command.add_option("--topology", options.topology, "nvidia-smi topo -m, NCCL's topology or hwloc's (XML)"));
  writes(command.add_option("--out", options.out, "Profile to write"))->required();
  options.output.add_to(command);
}

}  // namespace weft::tools::commands
