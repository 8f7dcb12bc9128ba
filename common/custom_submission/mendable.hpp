#pragma once

// The beginning of a file whose single edits the grader tries (grader/checks/mend). Each of its
// parts looks up in `chosen` which of its alternatives to take. Its stages do not convolve: their
// input is a list of convolutions with right outputs, and of edits. They write which of these each
// edit makes right, and how many of their outputs. In a .cu file it follows cuda_runtime.h,
// emulated.

#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(CONVLAB_EMULATED)
#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#endif

#include "common/base/conv_shape.hpp"
#include "common/stage/cpu_stage.hpp"
#include "common/stage/stage.hpp"

namespace convlab::mend {

inline constexpr int kMostSites = 1 << 14;

// Of a result: a bit for each example that is right, and above them how many outputs are. A float
// holds these bits.
inline constexpr int kMostExamples = 10;
inline constexpr std::int64_t kMostOutputs = (1 << 14) - 1;

/// The alternative of each part; 0: as it is in the file.
inline int chosen[kMostSites] = {};  // NOLINT: the file's code reads it

inline long long steps_left = 0;  // NOLINT

struct OutOfSteps {};

#if defined(CONVLAB_EMULATED)
inline constexpr bool kIsEmulated = true;
inline bool end_kernel() {
  if (!emulation::in_kernel()) return false;
  emulation::fail_kernel(emulation::KernelFault::kLaunchTimeout, {}, "too many steps");
}
#else
inline constexpr bool kIsEmulated = false;
inline bool end_kernel() {
  return false;
}
namespace emulation {
inline void renew_device() {}
inline void keep_faults_silent() {}
}  // namespace emulation
#endif

/// Called in each loop: an edit may make it endless.
inline void step() {
  if (--steps_left < 0 && !end_kernel()) throw OutOfSteps();
}

template <class Value>
using Of = std::decay_t<Value>;

/// Reads a list of floats. @throws OutOfSteps at its end
class Reader {
 public:
  Reader(const float* begin, std::int64_t count) : at_(begin), end_(begin + count) {}
  int number() { return static_cast<int>(*numbers(1)); }
  const float* numbers(std::int64_t count) {
    if (count < 0 || count > end_ - at_) throw OutOfSteps();
    at_ += count;
    return at_ - count;
  }

 private:
  const float* at_;
  const float* end_;
};

/// A convolution with its right output.
struct Example {
  ConvShape shape;
  const float* input = nullptr;
  const float* weights = nullptr;
  const float* output = nullptr;
};

/// While it lives, a signal that would end the program ends only the edit that is tried: starting
/// the program anew for each of hundreds would take most of the time. What the edit had on the
/// stack and in the heap is lost. The emulated device ends a kernel that fails by itself; a host's
/// signal may come while the runtime is at work, and ends the program.
class Crashes {
 public:
  Crashes() {
    if (kIsEmulated) return;
    thread_ = ::pthread_self();
    struct sigaction action {};
    action.sa_handler = jump_back;
    action.sa_flags = SA_NODEFER;
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &old_[i]);
  }
  ~Crashes() {
    if (kIsEmulated) return;
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &old_[i], nullptr);
  }
  Crashes(const Crashes&) = delete;
  Crashes& operator=(const Crashes&) = delete;

  inline static sigjmp_buf place;  ///< sigsetjmp(place, 0) returns here once more

  /// A copy of the file counts no steps: its endless loop ends after this processor time.
  static void begin_time() { set_time({.tv_sec = 0, .tv_usec = 300'000}); }
  static void end_time() { set_time({}); }

 private:
  static constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGVTALRM};

  static void set_time(timeval time) {
    if (kIsEmulated) return;
    const itimerval timer{{}, time};
    ::setitimer(ITIMER_VIRTUAL, &timer, nullptr);
  }

  // Another thread has no place to go back to: the program ends, and the grader starts it anew.
  static void jump_back(int signal) {
    if (::pthread_equal(::pthread_self(), thread_) != 0) siglongjmp(place, 1);
    std::signal(signal, SIG_DFL);
  }

  inline static pthread_t thread_{};
  std::array<struct sigaction, kSignals.size()> old_{};
};

/// What `new` gives while edits are tried: blocks far from each other, since one that is damaged
/// would end the program. The functions that use it lie in the edited file alone.
class Heap {
 public:
  inline static bool is_open = false;
  inline static bool is_damaged = false;  ///< something was stored beside a block

  static void* take(std::size_t bytes) {
    const std::size_t whole = std::bit_ceil(bytes + 2 * kApart);
    const std::lock_guard lock(mutex_);
    char*& free = free_[static_cast<std::size_t>(std::countr_zero(whole))];
    if (!is_open || (free == nullptr && used_ + whole > kAll)) return std::malloc(bytes);
    if (memory_ == nullptr) {
      void* const all = ::mmap(nullptr, kAll, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (all == MAP_FAILED) return std::malloc(bytes);
      memory_ = static_cast<char*>(all);
    }
    char* const block = free != nullptr ? free : memory_ + std::exchange(used_, used_ + whole);
    if (free != nullptr) std::memcpy(&free, block, sizeof free);
    std::memcpy(block + sizeof block, &whole, sizeof whole);
    std::memset(block + kApart - kGap, kUntouched, kGap);
    std::memset(block + kApart + bytes, kUntouched, kGap);
    std::memcpy(block + 2 * sizeof block, &bytes, sizeof bytes);
    return block + kApart;
  }

  static void give(void* memory) {
    char* const block = static_cast<char*>(memory) - kApart;
    if (memory_ == nullptr || block < memory_ || block >= memory_ + kAll) return std::free(memory);
    const std::lock_guard lock(mutex_);
    std::size_t whole = 0;
    std::memcpy(&whole, block + sizeof block, sizeof whole);
    std::size_t bytes = 0;
    std::memcpy(&bytes, block + 2 * sizeof block, sizeof bytes);
    // It may be damaged all the same.
    is_damaged |= !std::has_single_bit(whole) || bytes + 2 * kApart > whole;
    if (is_damaged) return;
    const auto is_touched = [](char each) { return each != kUntouched; };
    char* const begin = block + kApart;
    is_damaged = std::any_of(begin - kGap, begin, is_touched) ||
                 std::any_of(begin + bytes, begin + bytes + kGap, is_touched);
    char*& free = free_[static_cast<std::size_t>(std::countr_zero(whole))];
    std::memcpy(block, &free, sizeof free);
    free = block;
  }

 private:
  static constexpr std::size_t kApart = std::size_t{1} << 16;
  static constexpr std::size_t kAll = std::size_t{1} << 29;
  static constexpr std::size_t kGap = 256;
  static constexpr char kUntouched = 0x4b;
  inline static std::mutex mutex_{};
  inline static char* memory_ = nullptr;
  inline static std::size_t used_ = 0;
  inline static std::array<char*, 64> free_{};  ///< a list for each size
};

using Make = std::function<std::unique_ptr<Convolution>()>;

/// Arrays far from each other, so that a wrong index rarely ends the program.
class Arena {
 public:
  Arena() : numbers_(4 * kApart) { clear(); }

  /// How many of its outputs are right; not all if something is written beside them.
  std::int64_t count_right(const Make& make, const Example& example) {
    const ConvShape& shape = example.shape;
    float* const input = numbers_.data() + kApart;
    float* const weights = input + kApart;
    float* const output = weights + kApart;
    std::copy_n(example.input, shape.input_size(), input);
    std::copy_n(example.weights, shape.weights_size(), weights);
    std::fill_n(output, shape.output_size(), kUnwritten);
    // A kernel's threads take steps for outputs that do not exist, too.
    steps_left = kIsEmulated ? 200'000 : 2000;
    steps_left +=
        (kIsEmulated ? 40 : 8) * (shape.multiply_adds() + shape.output_size() + shape.input_size());
    if (sigsetjmp(Crashes::place, 0) != 0) {
      Crashes::end_time();
      clear();
      return 0;
    }
    Heap::is_damaged = false;
    try {
      emulation::renew_device();
      Crashes::begin_time();
      const auto convolution = make();
      convolution->prolog(shape, input, weights, output);
      convolution->convolve();
      convolution->epilog();
      Crashes::end_time();
    } catch (...) {
      Crashes::end_time();
      clear();
      return 0;
    }
    const std::int64_t margin = 64;
    const bool stays_inside =
        !Heap::is_damaged &&
        std::all_of(output - margin, output, [](float each) { return each == kBetween; }) &&
        std::all_of(output + shape.output_size(), output + shape.output_size() + margin,
                    [](float each) { return each == kBetween; });
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < shape.output_size(); ++i) right += output[i] == example.output[i];
    stays_inside ? (void)std::fill_n(output, shape.output_size(), kBetween) : clear();
    return stays_inside ? right : std::min(right, shape.output_size() - 1);
  }

 private:
  // Bytes, as loops over elements are slow without optimisation, and most edits end here.
  void clear() { std::memset(numbers_.data(), kByte, numbers_.size() * sizeof(float)); }

  static constexpr std::int64_t kApart = std::int64_t{1} << 17;
  static constexpr float kUnwritten = 1234567.0f;
  static constexpr int kByte = 0x4b;
  static constexpr float kBetween = std::bit_cast<float>(0x4b4b4b4b);
  std::vector<float> numbers_;
};

/// A convolution that tries edits; or, where CONVLAB_MEND lists choices, one edit of a convolution.
class Trial : public Convolution {
 public:
  explicit Trial(Make make) : make_(std::move(make)) {
    const char* text = std::getenv("CONVLAB_MEND");
    const bool is_chosen = text != nullptr;
    while (text != nullptr && *text != '\0') {
      char* end = nullptr;
      const long site = std::strtol(text, &end, 10);
      const long alternative = *end == ':' ? std::strtol(end + 1, &end, 10) : 0;
      if (site >= 0 && site < kMostSites) chosen[site] = static_cast<int>(alternative);
      text = *end == ',' ? end + 1 : nullptr;
    }
    if (is_chosen) own_ = make_();
  }

  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    steps_left = 1LL << 60;
    if (own_) return own_->prolog(shape, input, weights, output);
    try {
      try_all(Reader(input, shape.input_size()), output);
    } catch (const OutOfSteps&) {  // the list ends too early
    }
  }
  void convolve() override {
    if (own_) own_->convolve();
  }
  void epilog() override {
    if (own_) own_->epilog();
  }

 private:
  void try_all(Reader list, float* output) {
    std::vector<Example> examples(static_cast<std::size_t>(list.number()));
    for (Example& each : examples) {
      ConvShape& shape = each.shape;
      for (int* size : {&shape.batch, &shape.out_channels, &shape.in_channels, &shape.height,
                        &shape.width, &shape.kernel, &shape.stride}) {
        *size = list.number();
      }
      each.input = list.numbers(shape.input_size());
      each.weights = list.numbers(shape.weights_size());
      each.output = list.numbers(shape.output_size());
    }
    static Arena arena;
    const Crashes crashes;
    Heap::is_open = !kIsEmulated;
    emulation::keep_faults_silent();
    const int own = list.number();
    const int most_wrong = list.number();
    const auto count = static_cast<int>(examples.size());
    const auto run = [&] {
      int right = 0;
      int wrong = 0;
      std::int64_t outputs = 0;
      const auto try_one = [&](int i) {
        const Example& example = examples[static_cast<std::size_t>(i)];
        const std::int64_t right_outputs = arena.count_right(make_, example);
        right_outputs == example.shape.output_size() ? right |= 1 << i : ++wrong;
        outputs += right_outputs;
      };
      // What the file itself makes wrong comes first, so that most edits end soon.
      for (const bool is_own : {false, true}) {
        for (int i = 0; i + 1 < count && wrong < most_wrong; ++i) {
          if (((own >> i & 1) != 0) == is_own) try_one(i);
        }
      }
      // The last example may be large: only what makes all others right is worth it.
      if (wrong == 0) try_one(count - 1);
      return right | static_cast<int>(std::min(outputs, kMostOutputs)) << kMostExamples;
    };
    for (int edits = list.number(); edits > 0; --edits) {
      std::vector<std::pair<int, int>> choices(static_cast<std::size_t>(list.number()));
      for (auto& [site, alternative] : choices) site = list.number(), alternative = list.number();
      for (const auto& [site, alternative] : choices) chosen[site] = alternative;
      *output++ = static_cast<float>(run());
      for (const auto& choice : choices) chosen[choice.first] = 0;
    }
  }

  Make make_;
  std::unique_ptr<Convolution> own_;  ///< where one edit is chosen
};

class CpuFunction : public Convolution {
 public:
  explicit CpuFunction(ConvForward function) : function_(function) {}
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    function_(shape, input, weights, output);
  }
  void convolve() override {}
  void epilog() override {}

 private:
  ConvForward function_;
};

inline int copy_site = 0;       // NOLINT: in front of each copy of the file
inline int copy_of_stages = 0;  // NOLINT

/// What follows is a copy of the file; 0: the file itself.
struct Copy {
  Copy(int site, int number) { copy_site = site, copy_of_stages = number; }
};

/// Of each stage what its copies make.
inline std::map<std::string, std::map<int, Make>>& copied_stages() {
  static std::map<std::string, std::map<int, Make>> all;
  return all;
}

/// Registers a stage whose convolution is a trial, or keeps it as a copy.
inline void register_trial(Stage stage, Make make) {
  if (copy_of_stages != 0) {
    copied_stages()[stage.id][copy_of_stages] = std::move(make);
    return;
  }
  const Make chosen_copy = [id = stage.id, make = std::move(make)] {
    const auto& copies = copied_stages()[id];
    const auto copy = copies.find(chosen[copy_site]);
    return copy == copies.end() ? make() : copy->second();
  };
  stage.make = [chosen_copy] { return std::make_unique<Trial>(chosen_copy); };
  StageRegistration{std::move(stage)};
}

struct CpuStage {
  CpuStage(Stage stage, ConvForward function) {
    register_trial(std::move(stage),
                   [function] { return std::make_unique<CpuFunction>(function); });
  }
};

template <class Implementation>
struct ConvolutionStage {
  explicit ConvolutionStage(Stage stage) {
    register_trial(std::move(stage), [] { return std::make_unique<Implementation>(); });
  }
};

}  // namespace convlab::mend

#if !defined(CONVLAB_EMULATED)
void* operator new(std::size_t bytes) {
  if (void* const memory = convlab::mend::Heap::take(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) {
  return operator new(bytes);
}
void operator delete(void* memory) noexcept {
  convlab::mend::Heap::give(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
void operator delete[](void* memory) noexcept {
  operator delete(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  operator delete(memory);
}
#endif

// The file names them with the namespace.
namespace convlab {
using CpuStageMend = mend::CpuStage;
template <class Implementation>
using ConvolutionStageMend = mend::ConvolutionStage<Implementation>;
template <class Implementation>
struct LadderStageMend : mend::ConvolutionStage<Implementation> {
  LadderStageMend(const char* id, const char* title)
      : mend::ConvolutionStage<Implementation>(ladder_stage(id, title)) {}
};
}  // namespace convlab
#define LadderStage LadderStageMend
#define CpuStage CpuStageMend
#define ConvolutionStage ConvolutionStageMend
