#include "grader/measure/stage_steps.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "common/base/text.hpp"
#include "common/base/unknown_name.hpp"
#include "common/serve/fault_messages.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader {

namespace {

std::string listed(const std::array<unsigned, 3>& index) {
  return std::to_string(index[0]) + "," + std::to_string(index[1]) + "," + std::to_string(index[2]);
}

// The inputs are whole numbers, so every right order of summation gives the same. Memory of the
// device begins as NaN; the device knows which of them were computed.
void compare_output(const TracedRun& run, StageSteps& steps) {
  const std::vector<double> right =
      oracle::exact_sums(steps.shape, run.arrays.input, run.arrays.weights);
  std::vector<std::int64_t> nans;
  for (std::int64_t element = 0; element < std::ssize(right); ++element) {
    const float got = run.arrays.output[element];
    if (std::bit_cast<std::uint32_t>(got) == oracle::kPoisonBits) {
      steps.unwritten.push_back(element);
    } else if (std::isnan(got)) {
      nans.push_back(element);
    } else if (static_cast<double>(got) != right[static_cast<std::size_t>(element)]) {
      steps.wrong.push_back(element);
    }
  }
  const auto& poisoned = run.call.notes.poisoned;
  const bool are_unwritten = poisoned && poisoned->computed == 0 &&
                             poisoned->never_written == static_cast<std::int64_t>(nans.size());
  auto& kind = are_unwritten ? steps.unwritten : steps.wrong;
  kind.insert(kind.end(), nans.begin(), nans.end());
  std::ranges::sort(steps.unwritten);
  std::ranges::sort(steps.wrong);
}

// Of the kernels, each once.
std::vector<std::string> names_of(const std::vector<DeviceLaunch>& launches) {
  std::vector<std::string> names;
  for (const DeviceLaunch& launch : launches) {
    if (std::ranges::count(names, launch.kernel) == 0) names.push_back(launch.kernel);
  }
  return names;
}

// The kernel's launch whose grid is largest, to say which blocks there are.
const DeviceLaunch* launch_of(const std::vector<DeviceLaunch>& launches,
                              const std::string& kernel) {
  const DeviceLaunch* found = nullptr;
  for (const DeviceLaunch& launch : launches) {
    if (launch.kernel != kernel) continue;
    if (found == nullptr || launch.grid > found->grid) found = &launch;
  }
  return found;
}

/// Where a number came from: an element of the input or of the weights.
struct Origin {
  bool is_weight = false;
  std::int64_t element = 0;

  friend auto operator<=>(const Origin&, const Origin&) = default;
};

/// What the threads of a stage do with the numbers of a product. What a thread reads of one array
/// and stores at once in a tile, or in an array between two kernels, is followed there.
class ProductWatch {
 public:
  ProductWatch(const WrongProduct& product, const SourceText& sources)
      : product_(product), sources_(sources) {}

  void look_at(const StepNotes& notes) {
    std::erase_if(kept_, [](const auto& each) { return each.first.first.starts_with("shared"); });
    std::erase_if(filled_, [](const auto& each) { return each.first.starts_with("shared"); });
    by_warp_ = std::ranges::any_of(
        notes.steps, [](const BlockStep& step) { return step.kind == StepKind::kProducts; });
    held_.clear();
    Block block{.index = notes.block, .size = notes.block_size};
    for (const BlockStep& step : notes.steps) {
      const StepPlace& place = notes.places[static_cast<std::size_t>(step.place)];
      const Line here(place.file, place.line);
      if (step.array < 0) {
        if (step.kind == StepKind::kProducts || place.call.starts_with("__shfl")) {
          block.exchanges.insert(here);
        }
        for (auto& [thread, held] : held_) {
          if (!is_of_one_array(held)) use(block, thread, std::exchange(held, {}));
        }
        continue;
      }
      const StepArray& array = notes.arrays[static_cast<std::size_t>(step.array)];
      const std::string role = role_of(array, notes.kernel);
      const std::string between =
          array.space + std::to_string(array.space == "shared" ? step.array : array.memory.bytes);
      for (std::size_t i = 0; i + 3 < step.threads.size(); i += 4) {
        for (std::int64_t k = 0; k < step.threads[i + 1]; ++k) {
          access(block, {.thread = step.threads[i] + k,
                         .begin = step.threads[i + 2] + k * step.threads[i + 3],
                         .bytes = step.bytes,
                         .reads = step.kind == StepKind::kRead,
                         .role = role,
                         .between = between,
                         .line = here});
        }
      }
    }
    for (const auto& [thread, held] : held_) use(block, thread, held);
    is_certain_ = is_certain_ && !notes.is_cut;
    if (block.stores > 0) blocks_.push_back(std::move(block));
  }

  void is_incomplete() { is_certain_ = false; }

  /// What was seen, in lines.
  [[nodiscard]] Seen text() const {
    if (blocks_.empty()) {
      return is_certain_ ? quoted("no thread stores this output. Others are stored here:", stores_)
                         : std::string();
    }
    if (product_.pixel < 0) return stores_text();
    const Origin pixel{false, product_.pixel};
    const Origin weight{true, product_.weight};
    for (const Origin& other :
         {Origin{false, product_.other_pixel}, Origin{true, product_.other_weight}}) {
      if (other.element >= 0) {
        return quoted("the way of " + name_of(other) + " to this sum:", uses_of({other}));
      }
    }
    for (const Origin& origin : {weight, pixel}) {
      if (!uses_of({origin}).empty()) continue;
      if (!is_certain_ || product_.factor != 0.0) return stores_text();
      const auto loads = loads_.find(origin);
      const std::string none = "no thread that works on this output ";
      return loads == loads_.end()
                 ? quoted(none + "reads " + name_of(origin) + ". That array is read here:",
                          loads_of_array(origin.is_weight))
                 : quoted(name_of(origin) + " is loaded here, but " + none + "takes it from there:",
                          loads->second) +
                       quoted("the sum takes its numbers from here:", uses_of({}));
    }
    std::vector<std::string> readers;
    for (const Block& block : blocks_) {
      for (const auto& [thread, own] : block.uses) {
        if (own.contains(pixel) && own.contains(weight)) {
          readers.push_back(thread_name(block, thread));
        }
      }
    }
    if (readers.empty()) return stores_text();
    const std::string both = name_of(weight) + " and " + name_of(pixel);
    const std::string who = readers.size() == 1 ? readers[0] + " reads "
                            : readers.size() == 2
                                ? readers[0] + " and " + readers[1] + " both read "
                                : std::to_string(readers.size()) + " threads, " + readers[0] +
                                      " and " + readers[1] + " among them, read ";
    Seen text = quoted(who + both + ":", uses_of({pixel, weight}));
    const bool is_lost = product_.factor == 0.0;
    if (!is_lost && static_cast<double>(readers.size()) >= product_.factor) return text;
    Lines exchanges;
    for (const Block& block : blocks_) {
      exchanges.insert(block.exchanges.begin(), block.exchanges.end());
    }
    return text + quoted("its sum goes through:", exchanges) + stores_text();
  }

 private:
  using Line = std::pair<std::string, int>;
  using Lines = std::set<Line>;
  using Uses = std::map<Origin, Lines>;

  /// A block that stores the output.
  struct Block {
    std::array<unsigned, 3> index{};
    std::array<unsigned, 3> size{};
    int stores = 0;
    std::set<std::int64_t> storing{};
    Lines store_lines{};
    Lines exchanges{};                      ///< between lanes, or on tensor cores
    std::map<std::int64_t, Uses> uses{};    ///< by thread, or by the first thread of a warp
    std::map<std::int64_t, Lines> blind{};  ///< as uses: reads of what nobody has written
  };

  struct Access {
    std::int64_t thread;
    std::int64_t begin;
    int bytes;
    bool reads;
    const std::string& role;
    const std::string& between;
    const Line& line;
  };

  // Lanes of a warp compute a product of tensor cores together.
  [[nodiscard]] std::int64_t owner(std::int64_t thread) const {
    return by_warp_ ? thread / 32 * 32 : thread;
  }

  static bool is_of_one_array(const Uses& held) {
    return held.empty() || held.begin()->first.is_weight == held.rbegin()->first.is_weight;
  }

  void use(Block& block, std::int64_t thread, const Uses& held) const {
    Uses& uses = block.uses[owner(thread)];
    for (const auto& [origin, lines] : held) uses[origin].insert(lines.begin(), lines.end());
  }

  void access(Block& block, const Access& access) {
    constexpr std::int64_t kElement = sizeof(float);
    Uses& held = held_[access.thread];
    const std::int64_t first = access.begin / kElement;
    const std::int64_t last = (access.begin + access.bytes - 1) / kElement;
    if (access.role == "output") {
      use(block, access.thread, std::exchange(held, {}));
      if (!access.reads) stores_.insert(access.line);
      if (access.reads || product_.output < first || product_.output > last) return;
      ++block.stores;
      block.storing.insert(access.thread);
      block.store_lines.insert(access.line);
    } else if (!access.role.empty() && access.reads) {
      for (std::int64_t element = first; element <= last; ++element) {
        const Origin origin{access.role == "weights", element};
        held[origin].insert(access.line);
        loads_[origin].insert(access.line);
      }
    } else if (access.reads) {
      if (access.between.starts_with("shared") && !is_filled(access)) {
        block.blind[owner(access.thread)].insert(access.line);
      }
      auto from = kept_.lower_bound({access.between, access.begin});
      const std::pair end(access.between, access.begin + access.bytes);
      is_certain_ = is_certain_ && written_.contains(access.between);
      for (; from != kept_.end() && from->first < end; ++from) {
        for (const auto& [origin, way] : from->second) {
          held[origin].insert(way.begin(), way.end());
          held[origin].insert(access.line);
        }
      }
    } else {
      written_.insert(access.between);
      for (int i = 0; i < access.bytes; ++i) filled_.insert({access.between, access.begin + i});
      if (!is_of_one_array(held)) return use(block, access.thread, std::exchange(held, {}));
      // The elements of a vector lie behind each other.
      std::int64_t at = access.begin;
      const bool is_vector = std::ssize(held) * kElement == access.bytes;
      if (is_vector || held.empty()) kept_[{access.between, at}] = {};
      for (const auto& [origin, lines] : std::exchange(held, {})) {
        kept_[{access.between, at}][origin].insert(lines.begin(), lines.end());
        if (is_vector) at += kElement;
      }
    }
  }

  [[nodiscard]] bool is_filled(const Access& access) const {
    for (int i = 0; i < access.bytes; ++i) {
      if (!filled_.contains({access.between, access.begin + i})) return false;
    }
    return true;
  }

  [[nodiscard]] Seen stores_text() const {
    Lines blind;
    Lines lines;
    int count = 0;
    std::size_t threads = 0;
    for (const Block& block : blocks_) {
      for (const std::int64_t thread : block.storing) {
        if (const auto found = block.blind.find(owner(thread)); found != block.blind.end()) {
          blind.insert(found->second.begin(), found->second.end());
        }
      }
      lines.insert(block.store_lines.begin(), block.store_lines.end());
      count += block.stores;
      threads += block.storing.size();
    }
    const std::string who =
        threads == 1 ? thread_name(blocks_.front(), *blocks_.front().storing.begin()) + " stores"
                     : count_of(threads, "thread") + " store";
    const bool often = threads == 1 && count > 1;
    return quoted("its sum reads here what nobody has written:", blind) +
           quoted(who + " this output " + (often ? count_of(count, "time") + " " : "") + "here:",
                  lines);
  }

  [[nodiscard]] std::string role_of(const StepArray& array, const std::string& kernel) const {
    if (array.space == "constant") return "weights";
    return array_role(array.memory, array.space, kernel, product_.shape, sources_);
  }

  [[nodiscard]] Lines loads_of_array(bool is_weight) const {
    Lines lines;
    for (const auto& [origin, own] : loads_) {
      if (origin.is_weight == is_weight) lines.insert(own.begin(), own.end());
    }
    return lines;
  }

  /// The way of these numbers to the output, or of all: that by the threads that store it, where
  /// these take them; others may take them for other outputs.
  [[nodiscard]] Lines uses_of(const std::vector<Origin>& origins) const {
    Lines lines;
    Lines of_storing;
    for (const Block& block : blocks_) {
      for (const auto& [thread, own] : block.uses) {
        const bool stores = std::ranges::any_of(
            block.storing, [&, user = thread](std::int64_t each) { return owner(each) == user; });
        for (const auto& [origin, way] : own) {
          const bool is_wanted = std::ranges::find(origins, origin) != origins.end();
          if (is_wanted || origins.empty()) lines.insert(way.begin(), way.end());
          if (is_wanted && stores) of_storing.insert(way.begin(), way.end());
        }
      }
    }
    return of_storing.empty() ? lines : of_storing;
  }

  static std::string name_of(const Origin& origin) {
    return "element " + std::to_string(origin.element) + " of the " +
           (origin.is_weight ? "weights" : "input");
  }

  static std::string thread_name(const Block& block, std::int64_t thread) {
    const auto rank = static_cast<unsigned>(thread);
    return "thread " +
           index_text({rank % block.size[0], rank / block.size[0] % block.size[1],
                       rank / block.size[0] / block.size[1]}) +
           " of block " + index_text(block.index);
  }

  [[nodiscard]] Seen quoted(std::string head, const Lines& lines) const {
    constexpr std::size_t kMost = 6;
    Seen text;
    if (lines.size() <= kMost) {
      for (const auto& [file, line] : lines) text += sources_.quote(file, line);
    }
    if (text.empty()) return text;
    head.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(head.front())));
    return "\n" + head + text;
  }

  const WrongProduct& product_;
  const SourceText& sources_;
  bool by_warp_ = false;                 ///< the running kernel uses tensor cores
  bool is_certain_ = true;               ///< what was not seen does not happen
  std::map<std::int64_t, Uses> held_{};  ///< by thread: what it has read and not used yet
  std::map<std::pair<std::string, std::int64_t>, Uses>
      kept_{};                                               ///< by array and byte: the way here
  std::set<std::string> written_{};                          ///< arrays that a kernel fills
  std::set<std::pair<std::string, std::int64_t>> filled_{};  ///< the bytes of these
  std::map<Origin, Lines> loads_{};                          ///< from the arrays of the convolution
  Lines stores_{};                                           ///< of any output
  std::vector<Block> blocks_{};
};

}  // namespace

Seen lines_of_product(Submission& traced, const StageInfo& stage, WrongProduct product) {
  std::vector<DeviceLaunch> launches;
  std::vector<std::string> kernels;
  const auto look = [&] {
    launches = run_traced(traced, stage, product.shape, "off").call.notes.launches;
    kernels = names_of(launches);
  };
  look();
  // Only the first launch of a kernel is recorded: one image may need no other.
  const bool is_in_first =
      product.output < product.shape.output_image_size() &&
      std::max(product.pixel, product.other_pixel) < product.shape.input_image_size();
  if (kernels.size() < launches.size() && is_in_first) {
    product.shape.batch = 1;
    look();
  }
  ProductWatch watch(product, traced.sources());
  if (kernels.size() < launches.size()) watch.is_incomplete();
  for (const std::string& kernel : kernels) {
    const auto& grid = launch_of(launches, kernel)->grid;
    constexpr unsigned kMostBlocks = 32;  // each in a run of its own
    const unsigned all = grid[0] * grid[1] * grid[2];
    if (all > kMostBlocks) watch.is_incomplete();
    for (unsigned i = 0; i < std::min(kMostBlocks, all); ++i) {
      const std::array<unsigned, 3> block = {i % grid[0], i / grid[0] % grid[1],
                                             i / grid[0] / grid[1]};
      watch.look_at(
          run_traced(traced, stage, product.shape, "steps:" + listed(block) + ":" + kernel)
              .call.steps);
    }
  }
  return watch.text();
}

StageSteps record_stage(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                        const WantedBlock& wanted) {
  StageSteps steps{.stage = stage, .shape = shape};
  const TracedRun look = run_traced(submission, stage, shape, "races");
  steps.finding = look.finding;
  steps.race = look.call.race;
  if (look.call.failure) steps.fault = look.call.failure->fault;
  std::vector<DeviceLaunch> launches = look.call.notes.launches;
  std::string kernel = launches.empty() ? "" : launches.back().kernel;
  std::array<unsigned, 3> block{};
  if (steps.race && steps.race->race && !steps.race->kernel.empty()) {
    kernel = steps.race->kernel;
    block = steps.race->race->second.block;
  } else if (steps.fault && !steps.fault->kernel.empty()) {
    kernel = steps.fault->kernel;
    block = steps.fault->block;
    // After a fault the launches are not known.
    if (launch_of(launches, kernel) == nullptr) {
      launches.push_back({.kernel = kernel, .grid = steps.fault->grid});
    }
  }
  if (kernel.empty()) return steps;
  if (!wanted.kernel.empty() && wanted.kernel != kernel) {
    const std::vector<std::string> kernels = names_of(launches);
    if (std::ranges::find(kernels, wanted.kernel) == kernels.end()) {
      throw UsageError(unknown_name("kernel", wanted.kernel, kernels,
                                    " among those that " + stage.id + " launches"));
    }
    kernel = wanted.kernel;
    block = {};
  }
  if (wanted.block) {
    block = *wanted.block;
    const DeviceLaunch* const launch = launch_of(launches, kernel);
    const auto grid = launch == nullptr ? std::array<unsigned, 3>{} : launch->grid;
    if (grid[0] > 0 && (block[0] >= grid[0] || block[1] >= grid[1] || block[2] >= grid[2])) {
      throw UsageError("There is no block " + listed(block) + ": " + kernel +
                       " is launched with blocks from 0,0,0 to " +
                       listed({grid[0] - 1, grid[1] - 1, grid[2] - 1}) + " here.");
    }
  }
  std::vector<std::string> settings = {"CONVLAB_EMU_POISON=numbered"};
  if (steps.fault && !steps.fault->writes) settings.emplace_back("CONVLAB_EMU_READS=forgiven:0");
  TracedRun record =
      run_traced(submission, stage, shape, "steps:" + listed(block) + ":" + kernel, settings, true);
  steps.notes = std::move(record.call.steps);
  if (!record.call.failure) compare_output(record, steps);
  return steps;
}

}  // namespace convlab::grader
