#include "common/stage/run_stage.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>

#include "common/base/error.hpp"
#include "common/base/stopwatch.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab {

namespace {

std::unique_ptr<Convolution> make_for(DeviceSession* device, const Stage& stage) {
  if (device != nullptr) {
    device->release_pinned();
    require_capability(device->info(), stage.needs, ("Stage '" + stage.id + "'").c_str());
  }
  return stage.make();
}

// On a device every phase must be complete before the next one begins.
double time_phase(DeviceSession* device, const char* name, const std::function<void()>& phase) {
  const Stopwatch watch;
  phase();
  if (device != nullptr) device->fence(name);
  return watch.milliseconds();
}

bool is_gpu(const DeviceSession* device) {
  return device != nullptr && device->info().device == Device::kGpu;
}

// On an emulated device nothing is measured. Empties no cache and asks for no clock.
OpSample time_op(DeviceSession* device, const std::function<void()>& op) {
  if (is_gpu(device)) return device->time_now(op);
  const Stopwatch watch;
  op();
  if (device == nullptr) return {.host_ms = watch.milliseconds()};
  device->fence("convolve");
  return {};
}

/// The work of a phase on the device; -1 kernels if unknown.
struct Work {
  int kernels = -1;
  std::int64_t read_back = 0;
};

Work work_of(DeviceSession* device, const char* name, const std::function<void()>& phase) {
  Work work;
  try {
    if (device != nullptr) device->start_profile();
    work.kernels = device != nullptr ? 0 : -1;
  } catch (const EnvironmentError&) {
    // There is no profiler on this machine.
  }
  phase();
  if (device != nullptr) device->fence(name);
  if (work.kernels < 0) return work;
  const Profile profile = device->stop_profile();
  for (const ProfileEntry& kernel : profile.kernels) work.kernels += kernel.calls;
  for (const ProfileEntry& copy : profile.copies) {
    if (copy.name == "device to host") work.read_back += copy.bytes;
  }
  return work;
}

/// Whole images of an input array, one behind the other in device memory, where a prolog has copied
/// them in one piece or in parts.
struct Part {
  std::byte* begin = nullptr;
  int first = 0;
  int images = 0;
};

constexpr std::int64_t kKeyWords = 4;

/// The first numbers of an image, bit by bit; an image may have fewer.
using Key = std::array<std::uint32_t, kKeyWords>;

/// The searched array.
struct Wanted {
  std::map<Key, int> images{};  ///< by what they begin with
  std::vector<Key> ends{};      ///< what they end with: in padded rows it lies elsewhere
  std::int64_t image_bytes = 0;
  std::int64_t key_bytes = 0;
};

Key key_at(const std::byte* place, std::int64_t bytes) {
  Key key{};
  std::memcpy(key.data(), place, static_cast<std::size_t>(bytes));
  return key;
}

Wanted describe(const float* input, const ConvShape& shape) {
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(float));
  Wanted wanted{.image_bytes = shape.input_image_size() * kWord,
                .key_bytes = std::min(shape.input_image_size(), kKeyWords) * kWord};
  const auto* const bytes = reinterpret_cast<const std::byte*>(input);
  for (int image = 0; image < shape.batch; ++image) {
    const std::byte* const begin = bytes + image * wanted.image_bytes;
    wanted.images.emplace(key_at(begin, wanted.key_bytes), image);
    wanted.ends.push_back(key_at(begin + wanted.image_bytes - wanted.key_bytes, wanted.key_bytes));
  }
  return wanted;
}

// The consecutive images at this place.
Part part_at(DeviceSession& device, std::byte* place, std::int64_t room, const Wanted& wanted) {
  const auto rows = static_cast<int>(std::min<std::int64_t>(
      room / wanted.image_bytes, static_cast<std::int64_t>(wanted.ends.size())));
  std::vector<std::byte> begins(static_cast<std::size_t>(rows * wanted.key_bytes));
  std::vector<std::byte> ends(begins.size());
  const auto read = [&](std::byte* from, std::vector<std::byte>& to) {
    return device.read_rows(from, wanted.image_bytes, wanted.key_bytes, rows, to.data());
  };
  Part part{.begin = place};
  if (rows == 0 || !read(place, begins) ||
      !read(place + wanted.image_bytes - wanted.key_bytes, ends)) {
    return part;
  }
  for (; part.images < rows; ++part.images) {
    const std::int64_t at = part.images * wanted.key_bytes;
    const auto found = wanted.images.find(key_at(begins.data() + at, wanted.key_bytes));
    if (found == wanted.images.end()) break;
    if (part.images == 0) part.first = found->second;
    if (found->second != part.first + part.images) break;
    const Key& end = wanted.ends[static_cast<std::size_t>(found->second)];
    if (key_at(ends.data() + at, wanted.key_bytes) != end) break;
  }
  return part;
}

// Looks for the images of `input` at the beginning of each allocation, and for its first image
// everywhere. It recognises an image by its first and last four numbers, so they should be random.
// @return none if an image is in none of them; nothing without a record of what is allocated
std::optional<std::vector<Part>> find_copies(DeviceSession& device, const float* input,
                                             const ConvShape& shape) {
  const auto allocations = device.allocations();
  if (!allocations) return std::nullopt;
  const Wanted wanted = describe(input, shape);
  const auto* const first = reinterpret_cast<const std::uint32_t*>(input);
  const std::vector<std::uint32_t> words(
      first, first + wanted.key_bytes / std::int64_t{sizeof(std::uint32_t)});
  std::vector<Part> parts;
  std::vector<bool> present(wanted.ends.size());
  for (const MemoryRange& range : *allocations) {
    std::vector<std::byte*> places = device.places_of(range, words);
    std::erase(places, range.begin);
    places.insert(places.begin(), range.begin);
    for (std::byte* place : places) {
      const Part part = part_at(device, place, range.bytes - (place - range.begin), wanted);
      std::fill_n(present.begin() + part.first, part.images, true);
      if (part.images > 0) parts.push_back(part);
    }
  }
  if (std::ranges::find(present, false) != present.end()) parts.clear();
  return parts;
}

using Places = std::vector<std::byte*>;

// The places in this memory with the same words.
Places places_of(const std::vector<MemoryContent>& memory, const float* numbers,
                 std::int64_t count) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(numbers);
  Places places;
  for (const MemoryContent& content : memory) {
    const auto end = content.words.end();
    for (auto at = content.words.begin();; at += count) {
      at = std::search(at, end, words, words + count);
      if (at == end) break;
      places.push_back(content.begin + (at - content.words.begin()) * sizeof(float));
    }
  }
  return places;
}

// Turns the sign of about every second number: of floats, or, where the words are none, of halves.
// Indices and zeros stay.
void turn_signs(std::vector<std::uint32_t>& words, std::mt19937& random) {
  const auto is_float = [](std::uint32_t word) {
    const float size = std::fabs(std::bit_cast<float>(word));
    return size > 1e-6F && size < 1e6F;
  };
  const auto has_two = [](std::uint32_t word) {
    return (word >> 16U) != 0 && (word & 0xffffU) != 0;
  };
  const auto nonzero = static_cast<double>(words.size()) -
                       static_cast<double>(std::ranges::count(words, std::uint32_t{0}));
  const bool are_floats =
      static_cast<double>(std::ranges::count_if(words, is_float)) > 0.9 * nonzero;
  const bool are_halves =
      static_cast<double>(std::ranges::count_if(words, has_two)) > 0.5 * nonzero;
  for (std::uint32_t& word : words) {
    const std::uint32_t signs =
        static_cast<std::uint32_t>(random()) & (are_floats ? 0x8000'0000U : 0x8000'8000U);
    if (are_floats ? is_float(word) : are_halves && has_two(word)) word ^= signs;
  }
}

// Turns the sign of one number of an array, if that array holds numbers.
void turn_one(std::vector<MemoryContent>& memory, std::mt19937& random) {
  if (memory.empty()) return;
  std::vector<std::uint32_t>& words = memory[random() % memory.size()].words;
  std::vector<std::uint32_t> turned = words;
  turn_signs(turned, random);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (turned[i] != words[i]) places.push_back(i);
  if (places.empty()) return;
  const std::size_t place = places[random() % places.size()];
  words[place] = turned[place];
}

// Whether most numbers that reach an output reach too few for a convolution: there a pixel reaches
// one of each map, a weight all of one. A part of a host's sum reaches its own.
template <typename Run>
bool reach_few(const ConvShape& shape, const std::vector<float>& usual, std::mt19937& random,
               const Run& run_with) {
  constexpr int kMostProbes = 30;
  constexpr std::size_t kProbes = 9;
  std::vector<std::int64_t> reached;
  for (int probe = 0; probe < kMostProbes && reached.size() < kProbes; ++probe) {
    const std::vector<float> got =
        run_with([&](std::vector<MemoryContent>& memory) { turn_one(memory, random); });
    std::int64_t count = 0;
    for (std::size_t i = 0; i < got.size(); ++i) count += got[i] != usual[i] ? 1 : 0;
    if (count > 0) reached.push_back(count);
  }
  std::ranges::sort(reached);
  const std::int64_t maps = shape.out_channels;
  return !reached.empty() &&
         reached[reached.size() / 2] < std::min(maps, shape.output_size() / maps);
}

// PhaseKernels::computed; -1 also if convolve reads a copy of the input.
double computed_part(const Stage& stage, const ConvShape& shape, const float* input,
                     const float* weights, float* output, DeviceSession& device) {
  const auto run = [&](const std::function<void()>& change) {
    const std::unique_ptr<Convolution> convolution = make_for(&device, stage);
    convolution->prolog(shape, input, weights, output);
    device.fence("prolog");
    change();
    convolution->convolve();
    device.fence("convolve");
    convolution->epilog();
    device.fence("epilog");
    const TrueNumbers numbers(&device, output, shape.output_size());
    return std::vector<float>(numbers.data(), numbers.data() + shape.output_size());
  };
  const auto run_with = [&](const std::function<void(std::vector<MemoryContent>&)>& change) {
    return run([&] {
      std::vector<MemoryContent> memory = device.memory();
      change(memory);
      for (const MemoryContent& content : memory)
        device.overwrite(content.begin, reinterpret_cast<const float*>(content.words.data()),
                         static_cast<std::int64_t>(content.words.size()));
    });
  };
  const std::vector<float> usual = run([] {});
  bool has_copies = false;
  const std::vector<float> of_zeros = run([&] {
    const TrueNumbers numbers(&device, input, shape.input_size());
    const Places copies = places_of(device.memory(), numbers.data(), shape.input_size());
    has_copies = !copies.empty();
    const std::vector<float> zeros(static_cast<std::size_t>(shape.input_size()));
    for (std::byte* copy : copies) device.overwrite(copy, zeros.data(), shape.input_size());
  });
  if (has_copies && of_zeros != usual) return -1;
  constexpr std::int64_t kFewest = 16;
  if (shape.taps() < kFewest) return 1.0;  // the signs of one product turn its own alone
  std::mt19937 random(kFewest);
  std::vector<bool> computed(usual.size());
  constexpr int kTurns = 5;  // of a few whole numbers a sum often keeps its size once
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::vector<float> got = run_with([&](std::vector<MemoryContent>& memory) {
      for (MemoryContent& content : memory) turn_signs(content.words, random);
    });
    for (std::size_t i = 0; i < got.size(); ++i)
      computed[i] = computed[i] || usual[i] == 0.0F || std::fabs(got[i]) != std::fabs(usual[i]);
  }
  if (reach_few(shape, usual, random, run_with)) return 0.0;
  return static_cast<double>(std::ranges::count(computed, true)) /
         static_cast<double>(computed.size());
}

}  // namespace

PhaseTimes run_in_steps(const Stage& stage, const ConvShape& shape, const float* input,
                        const float* weights, float* output, DeviceSession* device,
                        const std::function<Step(int copies)>& next) {
  const std::unique_ptr<Convolution> convolution = make_for(device, stage);
  PhaseTimes times;
  const double prolog_ms =
      time_phase(device, "prolog", [&] { convolution->prolog(shape, input, weights, output); });
  const auto true_input = [&] { return TrueNumbers(device, input, shape.input_size()); };
  const auto copies =
      device == nullptr ? std::nullopt : find_copies(*device, true_input().data(), shape);
  const int count = copies ? static_cast<int>(copies->size()) : -1;
  // The grader's clock runs from pause to pause. Where others use the GPU, too, emptying its cache
  // waits for them, so that lies before a pause.
  const auto ask_with_empty_cache = [&] {
    if (is_gpu(device)) device->empty_cache();
    return next(count);
  };
  for (Step step = ask_with_empty_cache(); step != Step::kConvolve;) {
    if (step == Step::kEmptyCall) {
      time_op(device, [] {});
      step = next(count);
      continue;
    }
    if (count > 0) {
      const TrueNumbers numbers = true_input();
      for (const Part& part : *copies) {
        device->overwrite(part.begin, numbers.data() + part.first * shape.input_image_size(),
                          part.images * shape.input_image_size());
      }
    }
    step = ask_with_empty_cache();
  }
  double epilog_ms = 0.0;
  if (device == nullptr) {
    times.samples = {time_op(nullptr, [&] {
      convolution->convolve();
      convolution->epilog();
    })};
  } else {
    times.samples = {time_op(device, [&] { convolution->convolve(); })};
    next(count);
    epilog_ms = time_phase(device, "epilog", [&] { convolution->epilog(); });
    if (is_gpu(device)) times.samples.front().clock_mhz = device->clock_mhz();
  }
  times.op_ms = times.samples.front().score_ms();
  times.layer_ms = times.op_ms == 0.0 ? 0.0 : prolog_ms + times.op_ms + epilog_ms;
  return times;
}

PhaseKernels run_phases(const Stage& stage, const ConvShape& shape, const float* input,
                        const float* weights, float* output, DeviceSession* device,
                        const std::function<void()>& pause) {
  std::unique_ptr<Convolution> convolution = make_for(device, stage);
  PhaseKernels kernels;
  kernels.prolog = work_of(device, "prolog", [&] {
                     convolution->prolog(shape, input, weights, output);
                   }).kernels;
  const auto memory = device == nullptr ? std::vector<MemoryContent>{} : device->memory();
  const Places copies =
      places_of(memory, TrueNumbers(device, input, shape.input_size()).data(), shape.input_size());
  kernels.copies = static_cast<int>(copies.size());
  const auto pause_and_copy = [&] {
    pause();
    const TrueNumbers numbers(device, input, shape.input_size());
    for (std::byte* copy : copies) device->overwrite(copy, numbers.data(), shape.input_size());
  };
  pause_and_copy();
  // Without withheld numbers the output shows who computes: the host now holds another input.
  if (!copies.empty() && !device->withholds()) pause();
  const Work work = work_of(device, "convolve", [&] {
    convolution->convolve();
    kernels.unjoined = device != nullptr && device->has_unjoined_work();
  });
  kernels.convolve = work.kernels;
  kernels.read_back = work.read_back;
  kernels.copied_in = !copies.empty() && !device->withholds() &&
                      !places_of(device->memory(), input, shape.input_size()).empty();
  pause_and_copy();
  kernels.epilog = work_of(device, "epilog", [&] { convolution->epilog(); }).kernels;
  const TrueNumbers got(device, output, shape.output_size());
  kernels.finished = !places_of(memory, got.data(), shape.output_size()).empty();
  const bool is_emulated = device != nullptr && device->info().device == Device::kEmulated;
  if (is_emulated && !kernels.copied_in) {
    const std::vector<float> result(output, output + shape.output_size());
    convolution.reset();
    try {
      kernels.computed = computed_part(stage, shape, input, weights, output, *device);
    } catch (const DeviceError&) {
      // The changed word was not a number but, for example, an index.
    }
    std::copy(result.begin(), result.end(), output);
  }
  return kernels;
}

namespace {

// Each call of convolve must write again what prolog has left unwritten.
void make_unwritten(const std::vector<MemoryContent>& memory, DeviceSession& device) {
  constexpr std::uint32_t kUnwritten = ~std::uint32_t{0};
  for (const MemoryContent& content : memory) {
    const auto end = content.words.end();
    for (auto at = std::find(content.words.begin(), end, kUnwritten); at != end;) {
      const auto next =
          std::find_if(at, end, [](std::uint32_t word) { return word != kUnwritten; });
      device.overwrite(content.begin + (at - content.words.begin()) * sizeof(float),
                       reinterpret_cast<const float*>(&*at), next - at);
      at = std::find(next, end, kUnwritten);
    }
  }
}

}  // namespace

PhaseTimes run_stage(const Stage& stage, const ConvShape& shape, const float* input,
                     const float* weights, float* output, const RunPlan& plan) {
  DeviceSession* const device = plan.device;
  const std::unique_ptr<Convolution> convolution = make_for(device, stage);
  const bool emulated = device != nullptr && device->info().device == Device::kEmulated;
  const double prolog_ms =
      time_phase(device, "prolog", [&] { convolution->prolog(shape, input, weights, output); });
  if (plan.tell) plan.tell();
  const auto unwritten =
      emulated && plan.emulated_calls > 1 ? device->memory() : std::vector<MemoryContent>();
  PhaseTimes times;
  std::vector<double> scores;
  const int calls = emulated ? plan.emulated_calls : plan.warm_ups + plan.samples;
  for (int i = 0; i < calls; ++i) {
    if (emulated && i > 0) make_unwritten(unwritten, *device);
    if (is_gpu(device)) device->empty_cache();
    if (plan.tell && i == 0) plan.tell();
    OpSample sample = time_op(device, [&] { convolution->convolve(); });
    if (is_gpu(device) && i + 1 < calls) sample.clock_mhz = device->clock_mhz();
    if (i == 0 && plan.most_ms > 0.0 && sample.host_ms > plan.most_ms) {
      throw Error(ExitCode::kFallsShort,
                  "The first call of a layer took " + three_digits(sample.host_ms) +
                      " ms; the ranked run ends above " + three_digits(plan.most_ms) + " ms.");
    }
    if (emulated || i < plan.warm_ups) continue;
    times.samples.push_back(sample);
    scores.push_back(plan.most_ms > 0.0 ? sample.host_ms : sample.score_ms());
  }
  const double epilog_ms = time_phase(device, "epilog", [&] { convolution->epilog(); });
  if (plan.tell) plan.tell();
  if (emulated) return {};
  if (is_gpu(device)) times.samples.back().clock_mhz = device->clock_mhz();
  mark_slowed(times.samples);
  times.op_ms = spread_of(scores).median;
  times.layer_ms = prolog_ms + times.op_ms + epilog_ms;
  return times;
}

}  // namespace convlab
