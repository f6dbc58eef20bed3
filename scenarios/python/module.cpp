// The extension of the Python package weft: JSON as text in, JSON as text out, spans as columns. What its functions are
// for is said where people read it, in weft/__init__.py.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "models/base/failure_text.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text_file.hpp"
#include "models/check/check.hpp"
#include "models/execution/executor.hpp"
#include "models/execution/perfetto.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/profile_numbers.hpp"
#include "models/report/trace_picture.hpp"
#include "models/report/writers.hpp"
#include "models/schedule/schedule_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/library/full_answer.hpp"
#include "scenarios/question_text.hpp"
#include "scenarios/report/html_report.hpp"
#include "scenarios/study/grade.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/prediction_json.hpp"
#include "scenarios/study/prediction_lines.hpp"
#include "sim/meaning/meaning_report.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::scenarios::python {
namespace {

namespace py = pybind11;
using library::OpenProfile;
using Profile = std::shared_ptr<OpenProfile>;

/// Others of the interpreter's threads go on while one of ours works.
using WithoutInterpreter = py::call_guard<py::gil_scoped_release>;

// --- Machines --------------------------------------------------------------------------------------------------

std::vector<std::vector<std::string>> numbers_of(const OpenProfile& profile) {
  std::vector<std::vector<std::string>> rows;
  for (const ProfileNumber& number : profile_numbers(read_json_file(profile.path)))
    rows.push_back({number.path, number.value, number.unit, number.source});
  return rows;
}

// --- Questions -------------------------------------------------------------------------------------------------

study::Prediction predicted(const std::string& case_json, const OpenProfile& profile, std::string& id,
                            const study::PredictionOptions& options) {
  const Case request = case_from_json(parse_json(case_json));
  id = request.id;
  sim::SimulatedExecutor executor(sim::times_only);
  return study::predict(request, profile.machine, executor, options);
}

std::string predict(const std::string& case_json, const OpenProfile& profile) {
  std::string id;
  const study::Prediction prediction = predicted(case_json, profile, id, {});
  nlohmann::ordered_json answer = study::to_json(id, prediction);
  answer["grade"] = name_of(study::grade_of(prediction.schedule, prediction.time_us, profile.machine, profile.grades));
  return answer.dump();
}

std::string predict_lines(const std::string& cases, const OpenProfile& profile) {
  sim::SimulatedExecutor executor(sim::times_only);
  std::istringstream in(cases);
  std::ostringstream out;
  study::LineOptions options;
  options.grades = profile.grades;
  study::predict_lines(in, out, profile.machine, executor, options);
  return std::move(out).str();
}

/// What the class Report of Python holds.
struct WholeReport {
  explicit WholeReport(library::FullAnswer full) : answer(std::move(full)) {}

  library::FullAnswer answer;
  weft::report::Report report = answer.report();
};

WholeReport reported(const Scenario& scenario, const Profile& profile) {
  return WholeReport({as_machine_computes(scenario, profile->machine), profile, {.has_losses = true}});
}

WholeReport report_scenario(const std::string& scenario_json, const std::string& folder, const Profile& profile) {
  return reported(scenario_from_json(parse_json(scenario_json), folder), profile);
}

/// `what`: a file, a folder or words; without `gpus` and `sizes` those of the scenario, or else all of the machine's
/// GPUs and the usual sizes.
WholeReport report_question(const std::string& what, const Profile& profile, std::optional<int> gpus,
                            const std::vector<std::int64_t>& sizes) {
  return reported(read_question(what, {.gpus = gpus, .sizes = sizes, .machine_gpus = profile->machine.gpus}), profile);
}

// --- Schedules -------------------------------------------------------------------------------------------------

std::string build(const std::string& case_json, const OpenProfile& profile) {
  std::string id;
  Schedule schedule = predicted(case_json, profile, id, {.serial = false}).schedule;
  schedule.machine = profile.machine.name;
  return to_json(schedule).dump();
}

Schedule checked(const std::string& schedule_json) {
  Schedule schedule = schedule_from_json(parse_json(schedule_json));
  weft::check(schedule);
  return schedule;
}

std::string check(const std::string& schedule_json) { return sim::meaning::meaning_in_words(checked(schedule_json)); }

Trace traced(const std::string& schedule_json, const OpenProfile& profile, const std::string& perfetto) {
  const Schedule schedule = checked(schedule_json);
  study::require_machine(schedule, profile.machine);
  const sim::SimulatedExecutor executor;
  if (perfetto.empty()) return executor.run(schedule, profile.machine, nullptr);
  const Timeline timeline = executor.observe(schedule, profile.machine);
  write_perfetto(perfetto, {timeline});
  return timeline.trace;
}

Trace simulated(const std::string& schedule_json, const OpenProfile& profile, const std::string& perfetto,
                const std::string& svg) {
  Trace trace = traced(schedule_json, profile, perfetto);
  if (!svg.empty()) write_text_file(svg, weft::report::svg_picture({trace}));
  return trace;
}

/// What `of` says of each span.
template <class Number, class Of>
py::array_t<Number> numbers(const std::vector<Span>& spans, const Of& of) {
  py::array_t<Number> values(static_cast<py::ssize_t>(spans.size()));
  auto view = values.template mutable_unchecked<1>();
  for (std::size_t i = 0; i < spans.size(); ++i) view(static_cast<py::ssize_t>(i)) = of(spans[i]);
  return values;
}

template <class Of>
py::list texts(const std::vector<Span>& spans, const Of& of) {
  py::list values(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) values[i] = py::str(std::string(of(spans[i])));
  return values;
}

py::dict columns_of(const std::vector<Span>& spans) {
  py::dict columns;
  columns["operation"] = texts(spans, [](const Span& span) { return span.operation; });
  columns["kind"] = texts(spans, [](const Span& span) { return span.kind; });
  columns["stream"] = texts(spans, [](const Span& span) { return span.stream; });
  columns["gpu"] = numbers<std::int32_t>(spans, [](const Span& span) { return span.gpu; });
  columns["start_us"] = numbers<double>(spans, [](const Span& span) { return span.start_us; });
  columns["end_us"] = numbers<double>(spans, [](const Span& span) { return span.end_us; });
  columns["limited_by"] = texts(spans, [](const Span& span) { return name_of(span.limit); });
  columns["detail"] = texts(spans, [](const Span& span) { return span.detail; });
  return columns;
}

py::dict simulate(const std::string& schedule_json, const OpenProfile& profile, const std::string& perfetto,
                  const std::string& svg) {
  const Trace trace = [&] {
    const py::gil_scoped_release released;
    return simulated(schedule_json, profile, perfetto, svg);
  }();
  py::dict result;
  result["machine"] = trace.machine;
  result["time_us"] = trace.time_us;
  result["limited_by"] = std::string(name_of(trace.limited_by));
  result["clock_MHz"] = trace.clock_MHz;
  result["power_W"] = trace.power_W;
  result["spans"] = columns_of(trace.spans);
  return result;
}

// --- Errors ----------------------------------------------------------------------------------------------------

void add_errors(py::module_& module) {
  static PyObject* const input_error =
      py::exception<InputError>(module, "InputError", PyExc_ValueError).release().ptr();
  static PyObject* const execution_error =
      py::exception<ExecutionError>(module, "ExecutionError", PyExc_RuntimeError).release().ptr();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const InputError& error) {
      py::object value = py::reinterpret_borrow<py::object>(input_error)(error.what());
      value.attr("field") = error.field();
      PyErr_SetObject(input_error, value.ptr());
    } catch (const ExecutionError& error) {
      PyErr_SetString(execution_error, error.what());
    } catch (const std::system_error& error) {
      PyErr_SetString(PyExc_OSError, failure_text(error).c_str());
    }
  });
}

}  // namespace

PYBIND11_MODULE(_weft, module) {
  add_errors(module);
  module.attr("__version__") = WEFT_VERSION;
  py::class_<OpenProfile, Profile>(module, "Machine")
      .def(py::init<const std::string&>(), py::arg("name_or_path"), WithoutInterpreter())
      .def_property_readonly("name", [](const OpenProfile& profile) { return profile.machine.name; })
      .def_property_readonly("gpus", [](const OpenProfile& profile) { return profile.machine.gpus; })
      .def_property_readonly("path", [](const OpenProfile& profile) { return profile.path.string(); })
      .def_property_readonly("description",
                             [](const OpenProfile& profile) { return profile_description(profile.path); })
      .def("__repr__", [](const OpenProfile& profile) { return "weft.machine('" + profile.machine.name + "')"; });
  py::class_<WholeReport>(module, "Report")
      .def_property_readonly("verdict", [](const WholeReport& whole) { return whole.report.sections.front().notes; })
      .def("written", [](const WholeReport& whole, const std::string& format) { return written(whole.report, format); })
      .def(
          "losses_picture", [](const WholeReport& whole) { return whole.answer.losses_picture(); },
          WithoutInterpreter())
      .def(
          "page", [](const WholeReport& whole) { return whole.answer.page(report::read_report_page("page")); },
          WithoutInterpreter())
      .def("__str__", [](const WholeReport& whole) { return written(whole.report, "text"); })
      .def("_repr_markdown_", [](const WholeReport& whole) { return written(whole.report, "markdown"); });
  module.def("machines", [] { return machine_names(); });
  module.def("numbers", numbers_of);
  module.def("predict", predict, WithoutInterpreter());
  module.def("predict_lines", predict_lines, WithoutInterpreter());
  module.def("report_scenario", report_scenario, WithoutInterpreter());
  module.def("report_question", report_question, WithoutInterpreter());
  module.def("build", build, WithoutInterpreter());
  module.def("check", check, WithoutInterpreter());
  module.def("simulate", simulate);
}

}  // namespace weft::scenarios::python
