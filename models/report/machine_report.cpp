#include "models/report/machine_report.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/machine_numbers.hpp"
#include "models/machine/profile_numbers.hpp"

namespace weft::report {
namespace {

std::string range_of(const MachineNumber& number) {
  std::ostringstream text;
  text << number.least << " to " << number.most;
  return text.str();
}

}  // namespace

Table numbers_of(const std::filesystem::path& path) {
  std::map<std::string, MachineNumber> known;
  for (const MachineNumber& number : machine_numbers(read_machine(path))) known[full_name(number)] = number;
  Table table{{"number", "value", "unit", droppable("meaning", 2), droppable("may be", 1), "source"}, {}};
  for (const ProfileNumber& number : profile_numbers(read_json_file(path))) {
    const auto of = known.extract(number.path);
    table.rows.push_back({number.path, number.value, number.unit, of ? of.mapped().meaning : "",
                          of ? range_of(of.mapped()) : "", number.source});
  }
  for (const auto& [path_of, number] : known)
    table.rows.push_back(
        {path_of, nlohmann::json(number.value).dump(), number.unit, number.meaning, range_of(number), "left out: off"});
  return table;
}

Table all_machines() {
  Table table{{"name", "what it is"}, {}};
  if (machine_names().empty())
    throw InputError("WEFT_MACHINES", "expected a folder with machine profiles, got " + machine_folder().string());
  for (const std::string& name : machine_names()) table.rows.push_back({name, profile_description(machine_path(name))});
  return table;
}

}  // namespace weft::report
