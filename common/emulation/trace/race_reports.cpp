// What is told of the races that were met.
#include <algorithm>
#include <ranges>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/trace/race_detector.hpp"

namespace convlab::emulation {

constexpr std::size_t kMostRaces = 256;

void RaceDetector::tell(const Race& race) {
  const std::uint64_t key =
      (std::uint64_t{race.first.place} << 32U) ^ (std::uint64_t{race.second.place} << 8U) ^
      (static_cast<std::uint64_t>(race.scope) << 4U) ^ (race.first.flags & kWrites) << 1U ^
      (race.second.flags & kWrites) ^ (race.updates ? 8U : 0U);
  if (races_.size() == kMostRaces || !known_races_.try_emplace(key, races_.size()).second) return;
  races_.push_back(race);
  races_.back().number = races_.size();
  races_.back().memory = memory_at(reinterpret_cast<const void*>(race.address),
                                   grids_[block_of(by_thread(race).unit).grid].name);
}

RaceSide RaceDetector::side_of(const Touch& touch) const {
  const BlockOf& block = block_of(touch.unit);
  const Grid& grid = grids_[block.grid];
  if (grid.is_transfer) return {.writes = (touch.flags & kWrites) != 0, .call = grid.name};
  const dim3& size = grid.block;
  const Unit rank = touch.unit - block.base;
  const ReportPlace& place = source_of(touch.place);
  return {.file = name_of(place.file),
          .line = static_cast<int>(place.line),
          .block = array_of(block.index),
          .thread = {rank % size.x, rank / size.x % size.y, rank / size.x / size.y},
          .writes = (touch.flags & kWrites) != 0,
          .atomic = (touch.flags & kAtomic) != 0,
          .by_warp = (touch.flags & kByWarp) != 0};
}

FaultRecord RaceDetector::record_of(const Race& race) const {
  const Grid& grid = grids_[block_of(by_thread(race).unit).grid];
  FaultRecord record{.kind = FaultKind::kRace,
                     .text = "two threads use one element, and nothing orders them",
                     .kernel = grid.name,
                     .has_thread = true,
                     .memory = race.memory,
                     .launch_line = static_cast<int>(grid.launch.line),
                     .grid = {grid.size.x, grid.size.y, grid.size.z},
                     .block_size = {grid.block.x, grid.block.y, grid.block.z}};
  RaceFacts facts{.scope = race.scope,
                  .first = side_of(race.first),
                  .second = side_of(race.second),
                  .updates = race.updates};
  if (race.order == ProgramOrder::kSecondBefore ||
      (race.order == ProgramOrder::kByLine && facts.second.line < facts.first.line))
    std::swap(facts.first, facts.second);
  if (race.between != nullptr) {
    facts.between = race.between;
    facts.between_line = static_cast<int>(race.between_site.line);
  }
  record.file = facts.second.file;
  record.line = facts.second.line;
  record.block = facts.second.block;
  record.thread = facts.second.thread;
  record.writes = facts.second.writes;
  record.race = std::move(facts);
  return record;
}

// All places that touch what lanes of a warp race on: if lanes meet there, they read and write in
// the order of the program.
std::string RaceDetector::meeting_places() const {
  std::set<std::uintptr_t> places;
  for (const Race& race : races_) {
    if (race.scope != RaceScope::kWarp) continue;
    const std::uintptr_t begin = race.address - static_cast<std::uintptr_t>(race.memory.offset);
    const std::uintptr_t end = begin + static_cast<std::uintptr_t>(race.memory.bytes);
    for (Place place = 1; place < first_address_.size(); ++place) {
      if (first_address_[place] < begin || first_address_[place] >= end) continue;
      if (const auto address = address_in_program(place)) places.insert(address);
    }
  }
  std::ostringstream list;
  list << std::hex;
  for (const auto place : places) list << (place == *places.begin() ? "" : ",") << place;
  return list.str();
}

std::vector<FaultRecord> RaceDetector::all() {
  const auto worth = [](const Race& race) {
    const bool both_write = (race.first.flags & race.second.flags & kWrites) != 0;
    const bool one_place = both_write && race.first.place == race.second.place;
    const bool in_warp = race.scope == RaceScope::kWarp;
    const bool no_thread = (race.first.flags & race.second.flags & kTransfer) != 0;
    return std::tuple(no_thread, in_warp && !both_write, !race.updates, !one_place, in_warp,
                      race.number);
  };
  std::ranges::sort(races_, {}, worth);
  std::set<std::pair<int, int>> told;
  std::vector<FaultRecord> records;
  for (const Race& race : races_) {
    FaultRecord record = record_of(race);
    if (told.emplace(record.race->first.line, record.race->second.line).second)
      records.push_back(std::move(record));
  }
  return records;
}

std::optional<FaultRecord> RaceDetector::take() {
  std::optional<FaultRecord> result;
  if (const auto records = all(); !records.empty()) {
    result = records.front();
    result->race->meeting_places = meeting_places();
  }
  pages_.clear();
  latest_ = {};
  released_.clear();
  races_.clear();
  known_races_.clear();
  blocks_.clear();
  grids_.clear();
  first_address_.clear();
  next_unit_ = kWarpSize;
  now_ = 1;
  safe_ = 0;
  return result;
}

}  // namespace convlab::emulation
