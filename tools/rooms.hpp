// Short names for the rooms that this folder asks.
#pragma once

namespace weft::scenarios::study {}
namespace weft::calibration::fitting {}
namespace weft::calibration::evidence {}

namespace weft::tools {

namespace study = scenarios::study;
namespace fitting = calibration::fitting;
namespace evidence = calibration::evidence;

}  // namespace weft::tools
