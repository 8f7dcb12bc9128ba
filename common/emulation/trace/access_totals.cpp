#include "common/emulation/trace/access_totals.hpp"

#include <algorithm>
#include <string_view>

#include "common/emulation/runtime/report.hpp"
#include "common/emulation/trace/note_lists.hpp"

namespace convlab::emulation {
namespace {

void take_accesses(const Totals& all, AccessNotes& notes) {
  for (const auto& [which, total] : all.totals) {
    if (total.requests == 0) continue;
    const ReportPlace& source = source_of(static_cast<Place>(std::get<1>(which) >> kSpotBits));
    AccessNote note = total;
    note.file = name_of(source.file);
    note.line = static_cast<int>(source.line);
    add(notes.accesses, note);
  }
  for (const auto& [kernel, loads] : all.local_loads) {
    // Neighbouring lanes find the same variable in neighbouring words.
    constexpr std::int64_t kWordsOfSector = 8;
    add(notes.accesses, AccessNote{.kernel = kernel,
                                   .space = "local",
                                   .bytes = 4,
                                   .requests = (loads + kWarpSize - 1) / kWarpSize,
                                   .lanes = loads,
                                   .parts = (loads + kWordsOfSector - 1) / kWordsOfSector});
  }
}

void take_products(const Totals& all, AccessNotes& notes) {
  for (const auto& [call, product] : all.products) notes.products.push_back(product);
  std::map<std::string, Products> by_kernel;
  for (const auto& [which, count] : all.made)
    by_kernel[which.first].add(all.places_of_products[which.second], count.threads);
  for (const auto& [which, count] : all.made) {
    const Product& product = all.places_of_products[which.second];
    const ReportPlace& source = source_of(product.place);
    const auto add_kind = [&](const char* kind, double numbers) {
      if (numbers == 0.0) return;
      const double at_once = kind == std::string_view("half2") ? 2.0 : 1.0;
      const auto times = [&](double count_of) { return static_cast<std::int64_t>(count_of); };
      add(notes.products,
          {.kernel = which.first,
           .file = name_of(source.file),
           .line = static_cast<int>(source.line),
           .kind = kind,
           .multiply_adds = times(static_cast<double>(count.threads) * numbers),
           .warp_operations = times(static_cast<double>(count.warps) * numbers / at_once)});
    };
    add_kind(product.kind, product.numbers);
    const Products& of_kernel = by_kernel[which.first];
    if (product.doubles > 0)
      add_kind("double", product.doubles * static_cast<double>(of_kernel.own_doubles()) /
                             static_cast<double>(of_kernel.doubles));
  }
}

void take_barriers(const Totals& all, AccessNotes& notes) {
  for (const auto& [site, barrier] : all.met) notes.barriers.push_back(barrier);
  for (const auto& [key, count] : all.needs) {
    const Need& need = key;  // clang 14 captures no structured binding
    add(notes.barriers,
        {.kernel = count.kernel,
         .file = name_of(need.barrier.file),
         .line = static_cast<int>(need.barrier.line),
         .variable = count.variable,
         .before = static_cast<int>(source_of(need.before).line),
         .before_writes = need.before_writes,
         .behind = static_cast<int>(source_of(need.behind).line),
         .behind_writes = std::ranges::any_of(all.totals,
                                              [&](const auto& total) {
                                                return std::get<1>(total.first) ==
                                                       spot_of(need.behind, Space::kShared, true);
                                              }),
         .elements = count.pairs});
  }
}

}  // namespace

AccessNotes take_notes(Totals& all) {
  AccessNotes notes = std::exchange(all.sums, {});
  take_accesses(all, notes);
  take_products(all, notes);
  take_barriers(all, notes);
  shorten(notes);
  all.totals.clear();
  all.local_loads.clear();
  all.products.clear();
  all.made.clear();
  all.met.clear();
  all.needs.clear();
  return notes;
}

}  // namespace convlab::emulation
