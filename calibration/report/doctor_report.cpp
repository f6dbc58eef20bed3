#include "calibration/report/doctor_report.hpp"

#include <nlohmann/json.hpp>

#include "calibration/measurement_json.hpp"

namespace weft::calibration::report {

using namespace weft::report;

namespace {

std::string result_of(const Tried& tried) {
  if (!tried.error.empty()) return tried.error;
  return tried.checked ? "right" : "runs";
}

}  // namespace

Report doctor_report(const Findings& findings) {
  Report made;
  made.notes = findings.notes;
  nlohmann::ordered_json json{{"notes", findings.notes}, {"schedules", nlohmann::ordered_json::array()}};
  Table table{.columns = {"GPUs", "schedule", "time", "result"}, .rows = {}};
  for (const Tried& one : findings.tried) {
    const bool ran = one.error.empty();
    table.rows.push_back(
        {count(one.gpus), one.schedule, ran ? Cell(Number{one.time_us, 1, " us"}) : Cell("-"), result_of(one)});
    json["schedules"].push_back({{"gpus", one.gpus}, {"schedule", one.schedule}, {"runs", ran}});
    json["schedules"].back().update(ran ? nlohmann::ordered_json{{"time_us", one.time_us}, {"checked", one.checked}}
                                        : nlohmann::ordered_json{{"error", one.error}});
  }
  if (!findings.tried.empty()) {
    const Conditions& c = findings.conditions;
    made.sections.push_back(
        {c.gpu + ", driver " + c.driver + ", CUDA " + c.cuda + ", NCCL " + c.nccl + ", cuBLASLt " + c.cublaslt,
         table,
         {}});
    json["conditions"] = to_json(c);
  }
  made.document = json;
  return made;
}

}  // namespace weft::calibration::report
