// The report of weft explore --html: one file that needs no other and no network.
//
// The page, its style and its script are bundled when weft is built (scenarios/report/page). Here the content is
// written into it, as JSON: whatever is drawn stands in the file, for programs too.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "models/machine/machine.hpp"
#include "models/report/report.hpp"
#include "scenarios/study/answer_report.hpp"

namespace weft::scenarios::report {

/// {"title", "verdict": [sentences], "conditions": [[what, value]], "sources": [{"source", "grade", "numbers":
/// [names]}], "comparison": of the first measured run with the simulated one before it, or null} beside what the
/// study's to_json() has. `printed`: what the terminal says; `profile`: the file of `machine`.
nlohmann::ordered_json html_content(const study::AnswerReport& answer, const Machine& machine,
                                    const weft::report::Report& printed, const std::filesystem::path& profile);

/// The page with the content in it. Throws InputError, field "page", for one that has no place for it.
std::string html_report(const nlohmann::ordered_json& content, std::string_view page);

/// The bundled page, which is looked for as report_page() does. Throws InputError, `field`, where this weft was built
/// without npm and has none.
std::string read_report_page(const std::string& field, const std::filesystem::path& share = {});

}  // namespace weft::scenarios::report
