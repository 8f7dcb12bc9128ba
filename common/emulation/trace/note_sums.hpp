#pragma once

// Lists of notes in which notes of the same thing are one (access_counts.cpp).

#include <algorithm>
#include <tuple>
#include <vector>

#include "common/base/device_notes.hpp"

namespace convlab::emulation {

// An unrolled loop is one line at several places of the program.
template <typename Note, typename Key, typename Merge>
inline void add(std::vector<Note>& notes, const Note& note, Key&& key, Merge&& merge) {
  const auto same = std::ranges::find(notes, key(note), key);
  if (same == notes.end()) return notes.push_back(note);
  merge(*same);
}

inline void add(std::vector<AccessNote>& notes, const AccessNote& note) {
  const auto key = [](const AccessNote& each) {
    return std::tie(each.kernel, each.file, each.line, each.space, each.writes, each.atomic,
                    each.bytes, each.memory.variable, each.memory.argument);
  };
  add(notes, note, key, [&](AccessNote& same) {
    same.requests += note.requests;
    same.lanes += note.lanes;
    same.parts += note.parts;
    same.conflicts += note.conflicts;
    same.least = std::min(same.least, note.least);
    same.most = std::max(same.most, note.most);
    same.threads = std::max(same.threads, note.threads);
    same.most_by_one += note.most_by_one;
  });
}

// Needs of one pair of lines, too.
inline void add(std::vector<BarrierNote>& notes, const BarrierNote& note) {
  const auto key = [](const BarrierNote& each) {
    return std::tie(each.file, each.line, each.before, each.behind, each.before_writes,
                    each.behind_writes);
  };
  add(notes, note, key, [&](BarrierNote& same) { same.elements += note.elements; });
}

inline void add(std::vector<ProductNote>& notes, const ProductNote& note) {
  const auto key = [](const ProductNote& each) {
    return std::tie(each.kernel, each.file, each.line, each.kind);
  };
  add(notes, note, key, [&](ProductNote& same) {
    same.multiply_adds += note.multiply_adds;
    same.warp_operations += note.warp_operations;
  });
}

}  // namespace convlab::emulation
