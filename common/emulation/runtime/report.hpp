#pragma once

#include <functional>
#include <string>

#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/fault.hpp"

namespace convlab::emulation {

/// Puts a failed block into words: what, where (kernel, block, thread, file:line), who waited
/// where. To be called on the worker, after BlockRunner::run returned false.
std::string describe_fault(const BlockRunner& runner);

/// Receives every report of the emulated device. As compute-sanitizer does, it goes to standard
/// error unless somebody else takes it.
using ReportSink = std::function<void(const std::string& report)>;

/// Replaces the sink and returns the former one. An empty sink means standard error.
ReportSink set_report_sink(ReportSink sink);

void send_report(const std::string& report);

}  // namespace convlab::emulation
