#include "common/emulation/trace/note_lists.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>

namespace convlab::emulation {

namespace {

constexpr std::size_t kMostNotes = 100;

template <typename Note, typename Key, typename Merge>
void add_as_one(std::vector<Note>& notes, const Note& note, Key&& key, Merge&& merge) {
  const auto same = std::ranges::find(notes, key(note), key);
  if (same == notes.end()) return notes.push_back(note);
  merge(*same);
}

}  // namespace

void add(std::vector<AccessNote>& notes, const AccessNote& note) {
  const auto key = [](const AccessNote& each) {
    return std::tie(each.kernel, each.file, each.line, each.space, each.writes, each.atomic,
                    each.bytes, each.memory.variable, each.memory.argument);
  };
  add_as_one(notes, note, key, [&](AccessNote& same) {
    same.requests += note.requests;
    same.lanes += note.lanes;
    same.parts += note.parts;
    same.conflicts += note.conflicts;
    same.threads = std::max(same.threads, note.threads);
  });
}

void add(std::vector<BarrierNote>& notes, const BarrierNote& note) {
  const auto key = [](const BarrierNote& each) {
    return std::tie(each.file, each.line, each.before, each.behind, each.before_writes,
                    each.behind_writes);
  };
  add_as_one(notes, note, key, [&](BarrierNote& same) { same.elements += note.elements; });
}

void add(std::vector<ProductNote>& notes, const ProductNote& note) {
  const auto key = [](const ProductNote& each) {
    return std::tie(each.kernel, each.file, each.line, each.kind);
  };
  add_as_one(notes, note, key, [&](ProductNote& same) {
    same.multiply_adds += note.multiply_adds;
    same.warp_operations += note.warp_operations;
  });
}

namespace {

template <typename Note, typename Blank>
void shorten_list(std::vector<Note>& notes, std::int64_t& left_out, Blank&& blank) {
  if (notes.size() <= kMostNotes) return;
  const std::vector<Note> others(notes.begin() + kMostNotes, notes.end());
  notes.resize(kMostNotes);
  left_out += static_cast<std::int64_t>(others.size());
  for (Note note : others) {
    note.kernel.clear();
    note.file.clear();
    note.line = 0;
    blank(note);
    add(notes, note);
  }
}

}  // namespace

void shorten(AccessNotes& notes) {
  std::ranges::stable_sort(notes.accesses, std::ranges::greater(), &AccessNote::parts);
  shorten_list(notes.accesses, notes.left_out, [](AccessNote& note) { note.memory = {}; });
  shorten_list(notes.products, notes.left_out, [](ProductNote&) {});
  notes.barriers.resize(std::min(notes.barriers.size(), kMostNotes));
}

}  // namespace convlab::emulation
