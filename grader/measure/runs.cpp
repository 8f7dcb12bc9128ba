#include "grader/measure/runs.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "grader/measure/parts.hpp"

namespace convlab::grader {

Work work_of(const AccessNotes& counted) {
  Work work;
  for (const AccessNote& note : counted.accesses)
    work[note.kernel + " " + note.space + (note.writes ? " stores" : "")] += note.lanes;
  for (const ProductNote& note : counted.products)
    work[note.kernel + " " + note.kind] += note.multiply_adds;
  return work;
}

const std::vector<float>& Runs::with(const std::string& setting, Numbers numbers, bool is_lost) {
  const auto [known, is_new] = outputs.try_emplace({setting, numbers, is_lost, only_tap});
  if (!is_new) return known->second;
  const Arrays arrays = prepare(setting, numbers, is_lost);
  if (!submission.run(stage.id).failure)
    known->second.assign(arrays.output, arrays.output + shape.output_size());
  submission.set_environment({});
  return known->second;
}

bool Runs::works_as_usual(Numbers numbers) {
  for (const Numbers each : {Numbers::kAny, numbers}) {
    if (works.contains(each)) continue;
    prepare("CONVLAB_EMU_TRACE=counts", each, false);
    works[each] = work_of(submission.run(stage.id).accesses);
    submission.set_environment({});
  }
  const Work& usual = works[Numbers::kAny];
  const Work& work = works[numbers];
  constexpr double kMost = 0.03;  // a branch may follow the numbers
  return work.size() == usual.size() && std::ranges::all_of(work, [&](const auto& kind) {
           const auto known = usual.find(kind.first);
           if (known == usual.end()) return false;
           const double both = static_cast<double>(kind.second + known->second);
           return std::abs(both - 2.0 * static_cast<double>(known->second)) <= kMost * both;
         });
}

namespace {

// Names for the device, which may hold commas.
std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += name + ";";
  return list;
}

std::string without(const char* what, const std::vector<std::string>& names) {
  return std::string("CONVLAB_EMU_WORK=without-") + what + ":" + listed(names);
}

// Of the outputs, those that are others if this work is left out: all, if nothing runs without it.
double part_without(const std::string& work, Runs& runs) {
  const auto& usual = runs.with(kAllWork);
  const auto& left = runs.with(work);
  if (left.empty()) return 1.0;
  return share_of_outputs(
      std::min(usual.size(), left.size()), [](std::size_t) { return true; },
      [&](std::size_t i) { return !(usual[i] == left[i]); });
}

}  // namespace

// The part of the outputs that are others if indices are lost that come from memory. Of a table
// each quarter is lost, too: a number that is no table lies in one of them.
double part_of_indices(Runs& runs) {
  constexpr unsigned kQuarters = 4;
  constexpr double kFewest = 8.0;  // of the outputs that need indices of one quarter
  const auto part_without_indices = [&](const std::string& which) {
    return part_without("CONVLAB_EMU_TRACE=no-indices" + which, runs);
  };
  double part = part_without_indices("");
  for (unsigned quarter = 0; quarter < kQuarters; ++quarter) {
    const std::uint64_t key = kCountedSeed / kQuarters * kQuarters + quarter;
    part = std::min(part, kFewest * part_without_indices(":" + std::to_string(key)));
  }
  return part;
}

// Of two outputs side by side that multiply the same input, of which a copy is lost or not: how
// often one of them alone has lost it, of half of all times. A matrix holds it once for each of
// them; so do places of a copy which nobody unrolls not.
double part_of_places(Runs& runs) {
  const ConvShape& shape = runs.shape;
  constexpr std::size_t kEnough = 100;
  std::size_t seen = 0;
  std::size_t alone = 0;
  const auto of_tap = [&](int tap) -> const std::vector<float>& {
    runs.only_tap = tap;
    return runs.with("CONVLAB_EMU_TRACE=no-places:" + std::to_string(kCountedSeed | 1U),
                     Numbers::kOneTap);
  };
  const int taps = static_cast<int>(shape.taps());
  for (int tap = taps - 1; tap >= shape.stride && seen < kEnough; --tap) {
    if (tap % shape.kernel < shape.stride) continue;
    const auto& right = of_tap(tap);
    const auto& left = of_tap(tap - shape.stride);
    for (std::size_t i = 0; i + 1 < std::min(right.size(), left.size()); ++i) {
      if ((static_cast<int>(i) + 1) % shape.out_width() == 0) continue;
      ++seen;
      if ((right[i] == 0.0F) != (left[i + 1] == 0.0F)) ++alone;
    }
  }
  runs.only_tap = 0;
  const bool is_usual = alone > 0 && runs.works_as_usual(Numbers::kOneTap);
  return is_usual ? 2.0 * static_cast<double>(alone) / static_cast<double>(seen) : 0.0;
}

// How many blocks of the kernels that multiply go on if there are twice as many images: each of
// them computes for two then. They need not run.
double part_of_resident_blocks(Runs& runs, const StageCounts& counts) {
  std::vector<std::string> names;
  for (const ProductNote& note : counts.counted.products) names.push_back(note.kernel);
  const auto blocks_of = [&](int images) {
    const ConvShape many{images, 4, 1, 12, 12, runs.shape.kernel, runs.shape.stride};
    runs.submission.restart();
    const auto run =
        run_traced(runs.submission, runs.stage, many, "off", {without("kernels", names)});
    double blocks = 0.0;
    for (const DeviceLaunch& launch : run.call.notes.launches)
      if (std::ranges::count(names, launch.kernel) > 0)
        blocks += 1.0 * launch.grid[0] * launch.grid[1] * launch.grid[2];
    return blocks;
  };
  constexpr int kMany = 10'000;
  const double blocks = blocks_of(kMany);
  return blocks > 0.0 ? std::max(0.0, 2.0 - blocks_of(2 * kMany) / blocks) : 0.0;
}

// The products of kernels that a run of the other convolution does not have; at most the part of
// the output that is made of numbers which these load. A sum that they only pass on is none, where
// numbers are seen to pass at all.
double part_of_layer(Runs& runs, const StageCounts& counts, const ConvShape& other) {
  runs.submission.restart();
  const TracedRun run = run_traced(runs.submission, counts.stage, other, "off");
  std::vector<std::string> names;
  for (const DeviceLaunch& launch : counts.launches) {
    if (std::ranges::count(run.call.notes.launches, launch.code, &DeviceLaunch::code) == 0)
      names.push_back(launch.kernel);
  }
  double all = 0.0;
  double own = 0.0;
  for (const ProductNote& note : counts.counted.products) {
    const auto made = static_cast<double>(note.multiply_adds);
    all += made;
    if (std::ranges::count(names, note.kernel) > 0) own += made;
  }
  if (run.finding || own == 0.0) return 0.0;
  const auto of_loads = [&](const std::string& kernels) {
    return part_with(Numbers::kRandomInputs, "loads", runs, kernels);
  };
  const bool are_seen = of_loads("") >= kClear;
  return std::min(own / all, are_seen ? of_loads(listed(names))
                                      : part_without(without("kernels", names), runs));
}

// The part of the output that kernels make beside which copies may run; at most the part that is
// made of what these copies bring, which are ones then, or take away. The order of streams is known
// only where somebody observes.
double part_beside_copies(Runs& runs) {
  runs.submission.restart();
  const DeviceNotes notes =
      run_traced(runs.submission, runs.stage, runs.shape, "no-shuffles").call.notes;
  if (notes.copies_beside.empty()) return 0.0;
  const auto& usual = runs.with(kAllWork);
  const auto& ones = runs.with(kAllWork, Numbers::kOnes);
  const auto& brought = runs.with(without("inputs", notes.copies_beside));
  const auto& taken = runs.with(without("outputs", notes.copies_beside));
  const double copied = share_of_outputs(
      std::min({usual.size(), ones.size(), brought.size(), taken.size()}),
      [](std::size_t) { return true; },
      [&](std::size_t i) {
        return (brought[i] == ones[i] && brought[i] != usual[i]) || !(taken[i] == usual[i]);
      });
  return std::min(copied, part_without(without("kernels", notes.kernels_beside), runs));
}

// A kernel without which the output is the same is for show: nothing of it counts.
void leave_out_idle(Runs& runs, StageCounts& counts) {
  std::set<std::string> names;
  for (const DeviceLaunch& launch : counts.launches) names.insert(launch.kernel);
  for (const std::string& name : names) {
    if (names.size() < 2 || part_without(without("kernels", {name}), runs) > 0.0) continue;
    const auto is_idle = [&](const auto& note) { return note.kernel == name; };
    std::erase_if(counts.launches, is_idle);
    std::erase_if(counts.counted.accesses, is_idle);
    std::erase_if(counts.counted.products, is_idle);
  }
}

}  // namespace convlab::grader
