#include "scenarios/study/prediction_json.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/case_json.hpp"

namespace weft::scenarios::study {

nlohmann::ordered_json to_json(const std::string& id, const Prediction& prediction) {
  nlohmann::ordered_json json{{"id", id},
                              {"time_us", prediction.time_us},
                              {"serial_us", prediction.serial_us},
                              {"bound_us", prediction.bound_us},
                              {"interval_us", {prediction.low_us, prediction.high_us}},
                              {"limited_by", name_of(prediction.limited_by)},
                              {"clock_MHz", prediction.trace.clock_MHz},
                              {"power_W", prediction.trace.power_W},
                              {"outside_calibration", prediction.outside_calibration},
                              {"runnable", prediction.runnable}};
  if (!prediction.runnable) json["not_runnable"] = prediction.not_runnable;
  json["schedule"] = scenarios::to_json(prediction.choice);
  return json;
}

}  // namespace weft::scenarios::study
