// The words in which cases are written, for those who draw cases.
#pragma once

#include "scenarios/parts.hpp"
#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

using scenarios::AsyncInput;
using scenarios::AsyncTp;
using scenarios::AttentionKernelWorkload;
using scenarios::Case;
using scenarios::CollectiveWorkload;
using scenarios::Concurrent;
using scenarios::ConcurrentPair;
using scenarios::CopyPattern;
using scenarios::CopyWorkload;
using scenarios::Decomposition;
using scenarios::Family;
using scenarios::Ficco;
using scenarios::FiccoChunks;
using scenarios::FiccoCompute;
using scenarios::FiccoGemm;
using scenarios::FiccoTransport;
using scenarios::FirstLaunched;
using scenarios::GemmSource;
using scenarios::GemmWorkload;
using scenarios::PairOp;
using scenarios::PairWorkload;
using scenarios::Parts;
using scenarios::RowKernel;
using scenarios::RowKernelWorkload;
using scenarios::ScheduleChoice;
using scenarios::Serial;
using scenarios::Workload;

}  // namespace weft::calibration::evidence
