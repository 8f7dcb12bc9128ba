// Damaged archives, JSON files, weights and images for all that reads them.
//
//     build/ci/tests/fuzz_files                  a hundred, as a test
//     build/ci/tests/fuzz_files --seconds 600    for ten minutes
//
// A reader may refuse a file with its own exception, and with no other; what it reads holds no
// control characters.
#include <zlib.h>

#include <cmath>
#include <stdexcept>

#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/base/tests/support/mutation_fuzz.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"
#include "common/data/tests/made_up_data.hpp"
#include "common/network/weights.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/class/database.hpp"
#include "grader/class/submitted_files.hpp"
#include "grader/class/tests/made_up_class.hpp"
#include "grader/scores/score_rules.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::grader::testing::ArchiveEntry;
using convlab::grader::testing::write_archive;
using convlab::testing::Mutator;

namespace {

std::string sample_result() {
  CheckResult check;
  check.result = {.program = "grader check", .milestone = "m1", .solution = "student"};
  check.result.created = "2026-11-22T00:00:00Z";
  RunResult run{.network = "fa23"};
  run.batch = 100;
  run.layers = {{.shape = {.batch = 100, .height = 9, .width = 9, .kernel = 3},
                 .op_ms = {1.5, 2.5},
                 .layer_ms = {2, 3}}};
  run.accuracy = AccuracyResult{.correct = 88, .total = 100};
  check.result.runs = {run};
  check.cases = {{.stage = "baseline", .name = "stride 2", .seed = 3}};
  check.findings = {{.id = "E-stride", .title = "a", .seen = "b\nc", .stage = "baseline"}};
  check.sources = {{.path = "conv_forward.cpp", .sha256 = "00"}};
  return to_json(check);
}

std::vector<std::string> sample_archives(const std::filesystem::path& folder) {
  const std::vector<ArchiveEntry> entries = {
      {.name = "milestones/m1_cpu_baseline/conv_forward.cpp", .text = "int main() {}\n"},
      {.name = "milestones/m1_cpu_baseline/more.hpp", .text = std::string(3000, 'x')}};
  std::vector<std::string> samples;
  for (const char* name : {"a.tar.gz", "a.zip"}) {
    write_archive(folder / name, entries);
    samples.push_back(read_text(folder / name));
  }
  return samples;
}

void read_result(const std::string& text) {
  try {
    const CheckResult check = parse_check_result(text, "a file");
    if (to_json(parse_check_result(to_json(check), "the same")) != to_json(check)) {
      throw std::logic_error("a result changes when it is written and read");
    }
    for (const Finding& finding : check.findings) {
      if (printable(finding.seen.text()) != finding.seen.text())
        throw std::logic_error("control characters");
    }
  } catch (const EnvironmentError&) {
  }
}

void read_rules(const std::string& text) {
  try {
    parse_score_rules(text, "a file");
  } catch (const EnvironmentError&) {
  }
}

// Whoever hands it in writes it, and pages show it.
void read_notes(ClassDatabase& database, const std::string& notebook, const std::string& history) {
  database.keep_notes(database.add_student({.name = "doe"}), "m2", notebook, history);
  for (const std::string& name : database.texts(
           "SELECT list || '/' || finding FROM hint WHERE number > 0 UNION SELECT stage FROM "
           "prediction")) {
    if (printable_line(name) != name) throw std::logic_error("a note with a name that is none");
  }
}

// A damaged archive is the author's fault, not the machine's.
void read_archive(const std::filesystem::path& file, const std::string& bytes) {
  write_atomically(file, bytes);
  try {
    for (const SubmittedFile& each : read_submitted_files(file, grader::read_archive)) {
      // A file may be called conv..cpp; a folder may not be called "..".
      if (("/" + each.path + "/").find("/../") != std::string::npos || each.path.front() == '/' ||
          printable_line(each.path) != each.path) {
        throw std::logic_error("a name leaves the folder: " + each.path);
      }
    }
  } catch (const RefusedSubmission&) {
  }
}

Preset small_preset() {
  return {.name = "small",
          .title = "",
          .image_size = 2,
          .layers = {ConvLayer{.out_channels = 2}, DenseLayer{.units = 2}}};
}

// Weights with a right checksum, so that the reader goes on behind it.
void read_weights(std::string bytes) {
  const auto crc = static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(crc >> shift);
  try {
    const std::vector<std::uint8_t> sealed(bytes.begin(), bytes.end());
    for (const Parameter& each : parse_weights(sealed, small_preset(), "a file").parameters) {
      std::size_t size = 1;
      for (const int dim : each.dims) size *= static_cast<std::size_t>(dim);
      if (each.values.size() != size) throw std::logic_error("weights of another size");
      for (const float value : each.values) {
        if (!std::isfinite(value)) throw std::logic_error("a weight that is no number");
      }
    }
  } catch (const EnvironmentError&) {
  }
}

void read_images(const std::string& text) {
  constexpr std::size_t kMost = std::size_t{1} << 20;  // small, so that a bomb is refused quickly
  try {
    const auto bytes = gunzip({text.begin(), text.end()}, kMost, "a file");
    if (format_idx(parse_idx(bytes, 3, "a file")) != bytes) {
      throw std::logic_error("images change when they are written");
    }
  } catch (const EnvironmentError&) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const convlab::testing::TemporaryFolder folder;
  ClassDatabase database(folder.path() / "class.db", ClassDatabase::Access::kGrade);
  const std::vector<std::string> archives = sample_archives(folder.path());
  const std::vector<std::string> results = {sample_result()};
  const std::vector<std::string> rules = {
      read_text(CONVLAB_SOURCE_DIR "/milestones/m1_cpu_baseline/scores.json"),
      read_text(CONVLAB_SOURCE_DIR "/milestones/m4_optimizations/scores.json")};
  const std::vector<std::string> notebooks = {
      R"({"hints": [{"shown": "2027-02-01T10:05:00Z", "list": "E-outside", "number": 1,
          "finding": "E-outside"}], "predictions": {"baseline": {"made": "", "limiter": "memory",
          "loads": 2.0, "reason": ""}}, "explained": {"baseline": {"loads": 2.5}}})"};
  const std::vector<std::string> histories = {
      R"({"created":"2027-02-01T10:10:00Z","milestone":"m2","stages":["baseline"],"findings":[]})"};
  Weights sample = empty_weights(small_preset());
  sample.parameters[0].values = {1, -2};
  sample.parameters[1].values.assign(16, 3);
  sample.parameters[2].values = {4, 5};
  write_weights(folder.path() / "w", sample);
  const std::string sealed = read_text(folder.path() / "w");
  const std::vector<std::string> weights = {sealed.substr(0, sealed.size() - 4)};
  const auto idx = format_idx({{2, 2, 2}, std::vector<std::uint8_t>(8, 7)});
  const auto packed = gzip(idx);
  const std::vector<std::string> images = {{idx.begin(), idx.end()},
                                           {packed.begin(), packed.end()}};
  return convlab::testing::fuzz_main(argc, argv, "fuzz_files", [&](Mutator& mutator) {
    read_result(mutator.mutated(results));
    read_rules(mutator.mutated(rules));
    read_weights(mutator.mutated(weights));
    read_images(mutator.mutated(images));
    read_notes(database, mutator.mutated(notebooks), mutator.mutated(histories));
    const char* name = mutator.below(2) == 0 ? "b.tar.gz" : "b.zip";
    read_archive(folder.path() / name, mutator.mutated(archives));
  });
}
