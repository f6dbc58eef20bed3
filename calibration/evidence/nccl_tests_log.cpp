#include "calibration/evidence/nccl_tests_log.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "models/base/input_error.hpp"
#include "models/base/json_object.hpp"
#include "models/base/text.hpp"
#include "models/base/text_file.hpp"

namespace weft::calibration::evidence {
namespace {

namespace fs = std::filesystem;

/// Bus bandwidths are printed with two decimals, and rounded by hand in some logs.
constexpr double accepted_deviation = 0.04;
constexpr double least_GBps_to_tell = 5;
constexpr double longest_transfer_us = 1e9;

/// A row of a log before it is known which collective it is of.
struct LogRow {
  NcclTestsPoint point;
  double alg_GBps = 0, bus_GBps = 0;
  bool reduces = false;
  bool is_wrong = false;
};

/// A run as its log says it.
struct Said {
  std::string program;  ///< "all_reduce_perf"; "" where it is not named
  std::set<std::string> hosts;
  int ranks = 0;
  std::string gpu, nccl;
  std::vector<LogRow> rows;
};

std::optional<CollectiveKind> kind_in(const std::string& name) {
  static const std::vector<std::pair<std::string, CollectiveKind>> words{
      {"all_reduce", CollectiveKind::all_reduce},         {"allreduce", CollectiveKind::all_reduce},
      {"all_gather", CollectiveKind::all_gather},         {"allgather", CollectiveKind::all_gather},
      {"reduce_scatter", CollectiveKind::reduce_scatter}, {"reducescatter", CollectiveKind::reduce_scatter},
      {"alltoall", CollectiveKind::all_to_all},           {"all_to_all", CollectiveKind::all_to_all}};
  for (const auto& [word, kind] : words)
    if (name.find(word) != std::string::npos) return kind;
  return std::nullopt;
}

/// doc/PERFORMANCE.md of nccl-tests: of what a rank sends or receives, over the size.
double bus_factor(CollectiveKind kind, int gpus) {
  const double share = static_cast<double>(gpus - 1) / gpus;
  return kind == CollectiveKind::all_reduce ? 2 * share : share;
}

/// Of the fastest row, whose bandwidths have the most digits; empty where all are too slow to tell.
std::optional<double> factor_of(const Said& said) {
  const auto fastest = std::ranges::max_element(said.rows, {}, &LogRow::alg_GBps);
  if (fastest->alg_GBps < least_GBps_to_tell) return std::nullopt;
  return fastest->bus_GBps / fastest->alg_GBps;
}

CollectiveKind kind_of(const Said& said, const fs::path& path) {
  if (!said.program.empty()) {
    if (const auto kind = kind_in(said.program)) return *kind;
    throw InputError(path.string(), "expected all_reduce, all_gather, reduce_scatter or alltoall, got \"" +
                                        shown_name(said.program) + "\"");
  }
  if (const auto kind = kind_in(path.filename().string())) return *kind;
  const std::optional<double> factor = factor_of(said);
  const bool is_all_reduce =
      factor && std::abs(*factor / bus_factor(CollectiveKind::all_reduce, said.ranks) - 1) < accepted_deviation;
  if (said.rows.front().reduces && is_all_reduce) return CollectiveKind::all_reduce;
  if (said.rows.front().reduces && factor) return CollectiveKind::reduce_scatter;
  throw InputError(path.string(),
                   "expected a log that names its program, or a file whose name has all_gather or alltoall");
}

NcclTestsRun run_of(const Said& said, const fs::path& path) {
  if (said.rows.empty())
    throw InputError(path.string(), "expected rows of sizes and times as nccl-tests prints them, got none");
  if (said.ranks < 2) throw InputError(path.string(), "expected at least 2 ranks, got " + std::to_string(said.ranks));
  if (said.hosts.size() > 1)
    throw InputError(path.string(),
                     "expected ranks of one server, got " + joined({said.hosts.begin(), said.hosts.end()}));
  NcclTestsRun run{.kind = kind_of(said, path), .gpus = said.ranks, .gpu = said.gpu, .nccl = said.nccl, .points = {}};
  const double expected = bus_factor(run.kind, run.gpus);
  if (const auto factor = factor_of(said); factor && std::abs(*factor / expected - 1) > accepted_deviation)
    throw InputError(path.string(), "expected bus bandwidths of " + std::string(name_of(run.kind)) + " on " +
                                        std::to_string(run.gpus) + " GPUs, " + fixed(expected, 3) +
                                        " times the algorithm's, got " + fixed(*factor, 3) + " times");
  std::map<Bytes, double> times_us;
  for (const LogRow& row : said.rows) {
    if (row.is_wrong)
      throw InputError(path.string(),
                       "expected right results, got wrong ones of " + std::to_string(row.point.bytes) + " bytes");
    if (row.point.bytes > 0) times_us.emplace(row.point.bytes, row.point.time_us);
  }
  for (const auto& [bytes, time_us] : times_us) run.points.push_back({bytes, time_us});
  if (run.points.size() < 2) throw InputError(path.string(), "expected at least two sizes");
  return run;
}

// --- Text ------------------------------------------------------------------------------------------------------

std::optional<double> number_in(const std::string& word) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  return !word.empty() && *end == '\0' && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

constexpr std::size_t words_of_body = 4;  ///< time, algbw, busbw, #wrong; once out of place, once in place

/// size count type [redop [root]] and both bodies. Throws InputError for a row that ends otherwise.
LogRow row_in(const std::vector<std::string>& words, const std::string& place) {
  const char* const expected = "size, count, type, redop, root and twice time, algbw, busbw and #wrong";
  if (words.size() < 3 + 2 * words_of_body) throw InputError(place, std::string("expected ") + expected);
  const std::size_t body = words.size() - 2 * words_of_body;
  const auto bytes = number_in(words[0]), time_us = number_in(words[body]), alg = number_in(words[body + 1]),
             bus = number_in(words[body + 2]);
  const bool is_possible = bytes && *bytes >= 0 && *bytes < 1e15 && time_us && *time_us > 0 &&
                           *time_us < longest_transfer_us && alg && *alg >= 0 && bus && *bus >= 0;
  if (!is_possible) throw InputError(place, std::string("expected numbers for ") + expected);
  const auto wrong = number_in(words[body + 3]);
  return {
      .point = {static_cast<Bytes>(*bytes), *time_us},
      .alg_GBps = *alg,
      .bus_GBps = *bus,
      .reduces = words[3] == "sum" || words[3] == "prod" || words[3] == "max" || words[3] == "min" || words[3] == "avg",
      .is_wrong = wrong && *wrong != 0};
}

void read_remark(const std::string& line, Said& said) {
  static const std::regex rank(R"(#\s+Rank\s+\d+ .*\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*))");
  static const std::regex program(R"(# Collective test starting:\s*(\S+))");
  static const std::regex nccl(R"(R?N?CCL version\s*:?\s*(\d[\d.]*))");
  static const std::regex library(R"(nccl-library=(\d+))");
  constexpr std::size_t longest_remark = 2000;  // std::regex needs as much stack as a line is long
  if (line.size() > longest_remark) return;
  std::smatch match;
  if (std::regex_search(line, match, rank)) {
    ++said.ranks;
    said.hosts.insert(match[1]);
    said.gpu = match[2];
    while (!said.gpu.empty() && std::isspace(static_cast<unsigned char>(said.gpu.back()))) said.gpu.pop_back();
  } else if (std::regex_search(line, match, program)) {
    said.program = match[1];
  } else if (std::regex_search(line, match, nccl)) {
    said.nccl = match[1];
  } else if (std::regex_search(line, match, library)) {
    const long code = std::atol(match[1].str().c_str());  // 22809: 2.28.9
    said.nccl =
        std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
  }
}

/// A run's head comes after the rows of the one before it.
bool begins_run(const std::string& line) {
  return line.find("# nThread") != std::string::npos || line.find("# Collective test starting") != std::string::npos ||
         line.find("# nccl-tests version") != std::string::npos;
}

std::vector<Said> runs_in_text(const std::string& text, const fs::path& path) {
  std::vector<Said> runs(1);
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (begins_run(line) && !runs.back().rows.empty()) runs.emplace_back();
    std::istringstream in(line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    const bool is_row = words.size() > 5 && number_in(words[0]) && number_in(words[1]) && !number_in(words[2]);
    if (is_row)
      runs.back().rows.push_back(row_in(words, path.string() + ": line " + std::to_string(number)));
    else
      read_remark(line, runs.back());
  }
  return runs;
}

// --- JSON ------------------------------------------------------------------------------------------------------

/// Numbers that are none, such as "nan", count as nothing.
double number_or_zero(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

/// Only what is needed is read: newer versions add keys.
Said run_in_json(const nlohmann::json& json) {
  Said said;
  JsonObject object(json);
  if (const auto arguments = object.list_or_empty("args"); !arguments.empty())
    said.program = fs::path(arguments.front().string()).filename();
  if (const std::int64_t code = object.integer_or("nccl_version", 0); code > 0)
    said.nccl =
        std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
  JsonObject config = object.object("config");
  const std::int64_t of_process = config.integer("nthreads", 1, 1024) * config.integer("ngpus", 1, 1024);
  for (const JsonValue& device : config.list("devices")) {  // the first of each process
    JsonObject one = device.object();
    said.ranks = static_cast<int>(std::min<std::int64_t>(said.ranks + of_process, std::numeric_limits<int>::max()));
    said.hosts.insert(one.string("hostname"));
    said.gpu = one.string("device_info");
  }
  for (const JsonValue& result : object.list("results")) {
    JsonObject one = result.object();
    const JsonValue body = one.at("out_of_place");
    if (body.is_null()) body.fail("times out of place");
    JsonObject times = body.object();
    const std::string redop = one.string_or("redop", "none");
    said.rows.push_back({.point = {one.integer("size", 0), times.number("time", 1e-3, longest_transfer_us)},
                         .alg_GBps = times.number("alg_bw", 0),
                         .bus_GBps = times.number("bus_bw", 0),
                         .reduces = redop != "none",
                         .is_wrong = number_or_zero(body.json(), "nwrong") != 0});
  }
  return said;
}

}  // namespace

std::vector<NcclTestsRun> read_nccl_tests_log(const fs::path& path) {
  const std::string text = read_text_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  std::vector<Said> said;
  if (first != std::string::npos && text[first] == '{') {
    const nlohmann::json json = read_json_file(path);
    try {
      said.push_back(run_in_json(json));
    } catch (const InputError& error) {
      throw error.in_file(path.string());
    }
  } else {
    said = runs_in_text(text, path);
  }
  std::vector<NcclTestsRun> runs;
  for (const Said& one : said) runs.push_back(run_of(one, path));
  return runs;
}

}  // namespace weft::calibration::evidence
