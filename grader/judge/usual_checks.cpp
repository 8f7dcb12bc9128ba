#include "grader/judge/usual_checks.hpp"

#include <map>
#include <utility>

#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

bool is(const Found& found, const char* kind) {
  return found && is_of_kind(*found, kind);
}

Finding no_answer(Experiment experiment, Mode mode) {
  return finding("E-channel/no-run", "", {to_string(experiment), to_string(mode)});
}

namespace {

// The next class to try for a stage that is not exact enough for this one; none after the last.
// None has fewer bits of a factor than were shown.
std::optional<Precision> next_looser(Precision precision) {
  static const std::map<Precision, Precision> looser = {
      {Precision::kTf32, Precision::kTf32Truncated},
      {Precision::kBf16, Precision::kBf16Truncated},
      {Precision::kFp16, Precision::kFp16Products},
      {Precision::kFp16Products, Precision::kFp16Sums}};
  const auto next = looser.find(precision);
  return next == looser.end() ? std::nullopt : std::optional(next->second);
}

/// Where an experiment is asked.
enum class Where { kEverywhere, kAnyShape, kOnCpu, kEmulated, kWithRegions };

struct Usual {
  Experiment experiment;
  Where where = Where::kEverywhere;
};

/// In this order, in one mode and class; the first finding that counts ends them.
constexpr Usual kUsual[] = {{Experiment::kCases},
                            {Experiment::kHiddenShapes},
                            {Experiment::kNarrowIndex, Where::kAnyShape},
                            {Experiment::kPhases},
                            {Experiment::kSmallChanges},
                            {Experiment::kRepeatedInputs, Where::kOnCpu},
                            {Experiment::kStillness},
                            {Experiment::kSecondConvolve, Where::kEmulated},
                            {Experiment::kLittleMemory, Where::kEmulated},
                            {Experiment::kOrders, Where::kEmulated},
                            {Experiment::kTeam, Where::kWithRegions},
                            {Experiment::kLeaks, Where::kEmulated},
                            {Experiment::kNetwork},
                            {Experiment::kHiddenBatches}};

/// Reads the records of one mode.
class Reader {
 public:
  Reader(const Evidence& evidence, const Demands& demands, Mode mode)
      : evidence_(evidence), demands_(demands), mode_(mode) {}

  UsualChecks read() {
    round_.precision = evidence_.precision;
    if (demands_.finds_precision) {
      const Record* shown = evidence_.find(Experiment::kPrecision, mode_);
      if (shown == nullptr) return ask(Experiment::kPrecision);
      round_.precision = shown->precision;
    }
    read_class();
    // A file that rounds nothing promises single precision; one that rounds may round its sums,
    // too.
    const bool rounds = round_.precision != Precision::kFp32;
    while (demands_.finds_precision && rounds && is(round_.found, "rounding")) {
      const auto looser = next_looser(round_.precision);
      if (!looser) break;
      round_ = {.precision = *looser};
      exchanges_ = true;
      read_class();
    }
    return round_;
  }

 private:
  const UsualChecks& ask(Experiment experiment) {
    round_.next = {experiment, mode_, round_.precision, exchanges_, {}, {}};
    return round_;
  }

  [[nodiscard]] bool is_asked(const Usual& usual) const {
    const bool is_emulated = evidence_.device == Device::kEmulated;
    if (demands_.one_case) return usual.experiment == Experiment::kCases;
    switch (usual.where) {
      case Where::kEverywhere:
        return usual.experiment != Experiment::kSmallChanges || exchanges_;
      case Where::kAnyShape:
        return demands_.any_shape;
      case Where::kOnCpu:
        return evidence_.device == Device::kCpu;
      case Where::kEmulated:
        return is_emulated && (usual.experiment == Experiment::kOrders ||
                               usual.experiment == Experiment::kLeaks || demands_.any_shape);
      case Where::kWithRegions:
        return evidence_.has_regions;
    }
    return false;
  }

  void read_class() {
    Found remark;
    for (const Usual& usual : kUsual) {
      if (!is_asked(usual)) continue;
      const Record* const record = evidence_.find(usual.experiment, mode_, round_.precision);
      if (record == nullptr) {
        ask(usual.experiment);
        return;
      }
      // The course never asked when threads of a block may end.
      if (usual.experiment == Experiment::kNetwork && remark && demands_.any_shape) {
        round_.warnings.push_back(*remark);
      }
      if (record->remark) remark = record->remark;
      Found counts = record->finding;
      if (usual.experiment == Experiment::kPhases) {
        counts = of_phases(*record);
        if (round_.next) return;
      }
      // The course never asked what a call leaves.
      if (usual.experiment == Experiment::kLeaks && counts && !demands_.any_shape) {
        round_.warnings.push_back(*std::exchange(counts, std::nullopt));
      }
      if (!counts && record->finding == std::nullopt && record->end != RunEnd::kRight) {
        counts = no_answer(record->experiment, record->mode);
      }
      if (!counts) continue;
      round_.found = counts;
      round_.takes_all = is(counts, "takes-all");
      round_.wrong_cases.insert(record->wrong_cases.begin(), record->wrong_cases.end());
      return;
    }
  }

  // Only an emulated device can tell a conversion from a hidden convolution, and from a copy of the
  // input that the grader did not find.
  Found of_phases(const Record& record) {
    Found told = record.finding;
    if (is(told, "phases") && demands_.prolog_may_compute) {
      exchanges_ = false;
      return std::nullopt;
    }
    const bool on_gpu = evidence_.device == Device::kGpu;
    const bool is_open = on_gpu && is(told, "converted");
    if (is_open && !evidence_.can_emulate) return std::nullopt;
    if (is_open || (on_gpu && is(told, "phases") && evidence_.can_emulate)) {
      const Record* emulated = evidence_.find(Experiment::kPhases, Mode::kEmulated);
      if (emulated == nullptr) {
        ask(Experiment::kPhases);
        round_.next->mode = Mode::kEmulated;
        return std::nullopt;
      }
      told = emulated->finding;
    }
    if (!is(told, "converted")) return is_open ? told : record.finding;
    // The course never asked whether convolve reads the input itself; the network's run does.
    if (!demands_.any_shape) exchanges_ = false;
    round_.warnings.push_back(*told);
    return std::nullopt;
  }

  const Evidence& evidence_;
  const Demands& demands_;
  Mode mode_;
  UsualChecks round_{};
  bool exchanges_ = true;
};

}  // namespace

UsualChecks read_usual_checks(const Evidence& evidence, const Demands& demands, Mode mode) {
  return Reader(evidence, demands, mode).read();
}

}  // namespace convlab::grader
