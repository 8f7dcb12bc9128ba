#include "grader/class/tests/made_up_class.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string_view>

#include "common/base/whole_file.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/class/term.hpp"

namespace convlab::grader::testing {

namespace fs = std::filesystem;

void write_archive(const fs::path& file, const std::vector<ArchiveEntry>& entries) {
  fs::create_directories(file.parent_path());
  archive* a = ::archive_write_new();
  if (file.extension() == ".zip") {
    ::archive_write_set_format_zip(a);
  } else {
    ::archive_write_set_format_pax_restricted(a);
    ::archive_write_add_filter_gzip(a);
  }
  bool good = ::archive_write_open_filename(a, file.c_str()) == ARCHIVE_OK;
  for (const ArchiveEntry& each : entries) {
    archive_entry* entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, each.name.c_str());
    ::archive_entry_set_filetype(entry, each.kind);
    ::archive_entry_set_perm(entry, 0644);
    ::archive_entry_set_size(entry, static_cast<la_int64_t>(each.text.size()));
    if (!each.link.empty()) ::archive_entry_set_symlink(entry, each.link.c_str());
    if (!each.hard_link.empty()) ::archive_entry_set_hardlink(entry, each.hard_link.c_str());
    // The only warning is about a name that cannot be converted. Some tests need such a name.
    good = good && ::archive_write_header(a, entry) >= ARCHIVE_WARN;
    if (!each.text.empty()) {
      good = good && ::archive_write_data(a, each.text.data(), each.text.size()) >= 0;
    }
    ::archive_entry_free(entry);
  }
  good = ::archive_write_close(a) == ARCHIVE_OK && good;
  ::archive_write_free(a);
  if (!good) throw std::runtime_error("cannot write " + file.string());
}

namespace {

struct Kind {
  const char* source;   // a case of grader/corpus/exploits; empty: not a source at all
  const char* becomes;  // what the grader must say
};

constexpr std::array kKinds = {Kind{"double_sums.cpp", "passed"},
                               Kind{"openmp_threads.cpp", "passed"},
                               Kind{"ignores_stride.cpp", "E-stride"},
                               Kind{"chunked_im2col.cpp", "passed"},
                               Kind{"wrong_borders.cpp", "E-terms"},
                               Kind{"another_order_each_time.cpp", "passed"},
                               Kind{"does_not_compile.cpp", "E-build"},
                               Kind{"last_channel_only.cpp", "E-last-channel"},
                               Kind{"chatty.cpp", "passed"},
                               Kind{"endless_loop.cpp", "E-timeout"},
                               Kind{"", "refused"},
                               Kind{"transposed_weights.cpp", "E-transposed-weights"},
                               Kind{"plain_kernel.cu", "passed"},
                               Kind{"gpu_reads_beyond.cu", "E-outside"}};

constexpr const char* kPlace = "milestones/m1_cpu_baseline/conv_forward.cpp";
constexpr const char* kKernelPlace = "milestones/m2_gpu_baseline/conv_forward.cu";

// Takes some ways to break a grader's reader in turn.
void write_hostile(const fs::path& folder, const std::string& name, int turn) {
  const fs::path archive = folder / (name + ".tar.gz");
  if (turn % 4 == 0) return write_archive(archive, {{"../../" + std::string(kPlace), "int a;\n"}});
  if (turn % 4 == 1) return write_archive(archive, {{kPlace, "", AE_IFLNK, "/etc/passwd"}});
  if (turn % 4 == 2) return write_atomically(archive, "this is no archive");
  fs::create_directories(folder / name);
}

// What the stub gives where the number leaves this remainder: two in five are wrong.
CheckResult stub_result(int number) {
  constexpr std::array kFindings = {"E-stride", "E-outside"};
  CheckResult check;
  check.result.program = "grader check";
  check.result.milestone = "m1";
  const auto kind = static_cast<std::size_t>(number % 5);
  check.result.verdict = kind < kFindings.size() ? Verdict::kFailed : Verdict::kPassed;
  if (kind < kFindings.size()) {
    check.findings = {{.id = kFindings.at(kind), .title = "a mistake", .seen = "conv.cpp:4"}};
    check.score = Score{.items = {{.stage = "baseline", .item = "cases", .points = 100}}};
    return check;
  }
  const double time = 2.0 + 0.25 * number;
  const SpeedMeasure speed{.reference = "baseline",
                           .yours_ms = {{time}},
                           .reference_ms = {{4.0}},
                           .speed = 4.0 / time,
                           .bound_ms = 1.0};
  check.score = Score{.items = {{.stage = "baseline",
                                 .item = "cases",
                                 .points = 100,
                                 .earned = 100.0 - number,
                                 .credit = Credit::kPartial},
                                {.stage = "baseline",
                                 .item = "speed",
                                 .batch = 1000,
                                 .credit = Credit::kEarned,
                                 .speed = speed}}};
  return check;
}

}  // namespace

void make_stub_class(const fs::path& folder, int count) {
  constexpr int kResults = 50;
  constexpr int kAttempts = 4;
  constexpr int kDays = 28;
  for (int i = 0; i < kResults; ++i) {
    write_check_result(folder / "results" / (std::to_string(i) + ".json"), stub_result(i));
  }
  write_atomically(folder / "grader",
                   "#!/bin/sh\n"
                   "# grader check m1 --solution FILE --json RESULT …\n"
                   "cd '" +
                       folder.string() +
                       "' || exit 3\n"
                       "number=$(tr -dc 0-9 <\"$4\")\n"
                       "echo \"begin $number\" >>checks.txt\n"
                       "sleep 0.$((number % 4))\n"
                       "cp results/$((number % 50)).json \"$6\"\n"
                       "echo \"end $number\" >>checks.txt\n");
  fs::permissions(folder / "grader", fs::perms::owner_all);
  const std::int64_t begin = *time_of("2027-02-01T08:00Z");
  for (int i = 0; i < count; ++i) {
    const fs::path file = folder / "submissions" /
                          ("s" + std::to_string(10'000 + i / kAttempts) + "-m1-" +
                           std::to_string(i % kAttempts) + ".cpp");
    write_atomically(file, "// " + std::to_string(i) + "\n");
    const std::int64_t received = begin + (i % kAttempts * kDays / kAttempts + i % 7) * 86'400 + i;
    fs::last_write_time(file, std::chrono::file_clock::from_sys(
                                  std::chrono::sys_seconds(std::chrono::seconds(received))));
  }
}

std::vector<std::pair<std::string, std::string>> make_class(const fs::path& folder, int count) {
  std::vector<std::pair<std::string, std::string>> expected;
  int hostile = 0;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    const std::string name =
        "student" + std::string(number.size() < 3 ? 3 - number.size() : 0, '0') + number;
    const Kind& kind = kKinds[static_cast<std::size_t>(i) % kKinds.size()];
    expected.emplace_back(name, kind.becomes);
    if (*kind.source == '\0') {
      write_hostile(folder, name, hostile++);
      continue;
    }
    // Every student writes another text.
    const std::string text = read_text(fs::path(CASES) / kind.source) + "// by " + name + "\n";
    const bool is_kernel = std::string_view(kind.source).ends_with(".cu");
    const std::string milestone = is_kernel ? "m2" : "m1";
    const std::string place = is_kernel ? kKernelPlace : kPlace;
    const std::string packed = milestone + "-submission/" + place;
    switch (i % 4) {
      case 0:
        write_archive(folder / (name + ".tar.gz"),
                      {{milestone + "-submission", "", AE_IFDIR}, {packed, text}});
        break;
      case 1:
        write_atomically(folder / (name + (is_kernel ? "-m2.cu" : ".cpp")), text);
        break;
      case 2:
        write_atomically(folder / name / place, text);
        break;
      default:
        write_archive(folder / (name + "_" + milestone + "-submission.zip"), {{packed, text}});
    }
  }
  return expected;
}

}  // namespace convlab::grader::testing
