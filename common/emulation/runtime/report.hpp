#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/fault.hpp"

namespace convlab::emulation {

/// Puts a failed block into words: what, where (kernel, block, thread, file:line), who waited
/// where. To be called on the worker, after BlockRunner::run returned false.
std::string describe_fault(const BlockRunner& runner);

/// The same for a grid whose time was over between two of its blocks, `begun` of which have run.
std::string describe_time_limit(const KernelCall& call, std::uint64_t begun, std::uint64_t blocks);

/// Receives every report of the emulated device. As compute-sanitizer does, it goes to standard
/// error unless somebody else takes it.
using ReportSink = std::function<void(const std::string& report)>;

/// Replaces the sink and returns the former one. An empty sink means standard error.
ReportSink set_report_sink(ReportSink sink);

void send_report(const std::string& report);

}  // namespace convlab::emulation
