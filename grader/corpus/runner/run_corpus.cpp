// Runs the corpus: every file of this folder through the real `grader check --solution FILE`. An
// exploit must get the diagnosis that its header names, a control must pass.
//
//     build/ci/bin/exploit-corpus --runs cpu,emulated        what needs no GPU
//     build/ci/bin/exploit-corpus --runs gpu                 on a machine that has one
//     build/ci/bin/exploit-corpus replay_by_shape            one of them, with what the grader says
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/in_threads.hpp"
#include "common/base/printable.hpp"
#include "common/base/run_process.hpp"
#include "common/base/run_program.hpp"
#include "common/base/testing/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/json_fields.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/corpus/runner/corpus_case.hpp"
#include "grader/corpus/runner/mistake.hpp"
#include "grader/corpus/runner/mistakes_page.hpp"

namespace {

namespace fs = std::filesystem;
using convlab::grader::CorpusCase;

const fs::path kPage = CONVLAB_SOURCE_DIR "/docs/diagnoses.md";

/// A file of the corpus, as its header describes it.
struct Entry {
  std::string name{};
  fs::path from{};  ///< the file of the corpus
  fs::path file{};  ///< what the grader gets
  bool is_exploit = false;
  std::string diagnosis{};             ///< empty for a control
  std::set<std::string> runs{};        ///< cpu, emulated, gpu
  std::string batch{};                 ///< of the network; empty: a small one
  std::string options{};               ///< more words for the command line
  std::string says{};                  ///< must stand in what the grader prints
  std::string warns{};                 ///< the only warning; empty: there is none
  convlab::grader::Mistake mistake{};  ///< the file is made of it, in the corpus of mistakes

  [[nodiscard]] bool is_mistake() const { return !mistake.name.empty(); }
};

struct Options {
  fs::path folder = CONVLAB_SOURCE_DIR "/grader/corpus/exploits";
  std::string runs = "cpu,emulated";
  // A check waits for a third of its time: for files, for links, to see that nothing computes.
  int jobs = 2 * static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::string> names{};
  std::string json{};
  std::string page{};

  [[nodiscard]] bool has_exploits() const { return folder.filename() == "exploits"; }
  /// Small changes of right solutions, grader/corpus/mistakes.
  [[nodiscard]] bool has_mistakes() const { return folder.filename() == "mistakes"; }
};

struct Outcome {
  std::string got{};  ///< the first finding; empty where it passed
  std::string warned{};
  int exit_code = 0;
  std::string said{};
  std::string missing{};  ///< words that a mistake should bring about
  double seconds = 0.0;
};

std::set<std::string> words(const std::string& text, char separator) {
  std::set<std::string> found;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) {
    if (!word.empty()) found.insert(word);
  }
  return found;
}

// Exploits and controls tell more in their headers than other files do.
Entry make_entry(const CorpusCase& read, const fs::path& from, bool has_exploits) {
  const bool is_control = has_exploits && !read.field("Tempts").empty();
  std::vector<std::string> needed = {"What", "Runs"};
  if (has_exploits && !is_control) {
    needed.insert(needed.end(), {"Fools", "Caught by", "Diagnosis"});
  }
  for (const std::string& key : needed) {
    if (read.field(key).empty()) {
      throw convlab::UsageError(from.string() + ": the header of " + read.name +
                                " has no line '// " + key + "'");
    }
  }
  return {.name = read.name,
          .from = from,
          .is_exploit = has_exploits && !is_control,
          .diagnosis = read.field("Diagnosis"),
          .runs = words(read.field("Runs"), ' '),
          .batch = read.field("Batch"),
          .options = read.field("Options"),
          .says = read.field("Says"),
          .warns = read.field("Warns")};
}

std::vector<Entry> read_mistakes(const fs::path& folder, const fs::path& scratch) {
  std::vector<Entry> corpus;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    if (each.path().extension() != ".mistake") continue;
    Entry entry;
    entry.mistake = convlab::grader::read_mistake(
        each.path(), CONVLAB_SOURCE_DIR "/reference/solutions/typical");
    entry.name = entry.mistake.name;
    entry.diagnosis = entry.mistake.finding;
    entry.runs = entry.mistake.milestone == "m1" ? std::set<std::string>{"cpu"}
                 : entry.mistake.only_emulated   ? std::set<std::string>{"emulated"}
                                                 : std::set<std::string>{"emulated", "gpu"};
    // The name that the student knows.
    const std::string name = "conv_forward" + entry.mistake.from.extension().string();
    entry.file = scratch / entry.mistake.milestone / each.path().stem() / name;
    convlab::write_atomically(entry.file, convlab::grader::make_mistake(entry.mistake));
    corpus.push_back(entry);
  }
  std::ranges::sort(corpus, {}, &Entry::name);
  return corpus;
}

std::vector<Entry> read_corpus(const Options& options, const fs::path& scratch) {
  const fs::path& folder = options.folder;
  if (options.has_mistakes()) return read_mistakes(folder, scratch);
  std::vector<Entry> corpus;
  std::set<std::pair<std::string, fs::path>> names;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    const std::string kind = each.path().extension().string();
    const std::string place = each.path().parent_path().filename().string();
    if ((kind != ".cpp" && kind != ".cu") || place == "runner" || place == "tests") continue;
    std::map<std::string, fs::path> files;  // cases that differ in their header share one
    for (const CorpusCase& read : convlab::grader::read_cases(each.path())) {
      Entry entry = make_entry(read, each.path(), options.has_exploits());
      fs::path& file = files[read.text];
      if (file.empty()) {
        file = scratch / (entry.diagnosis.empty() ? "controls" : "files") / (read.name + kind);
        convlab::write_atomically(file, read.text);
      }
      entry.file = file;
      if (!names.emplace(read.name, file).second) {
        throw convlab::UsageError(each.path().string() + ": there is another " + read.name);
      }
      corpus.push_back(entry);
    }
  }
  // Those that ask for a batch of their own take long: none of them shall be left for the end.
  std::ranges::sort(corpus, [](const Entry& a, const Entry& b) {
    return std::tuple(a.batch.empty(), a.file, a.name) <
           std::tuple(b.batch.empty(), b.file, b.name);
  });
  return corpus;
}

// Nothing that a submission says may reach a terminal raw.
bool is_printable(const std::string& text) {
  return std::ranges::none_of(text,
                              [](char c) {
                                return (static_cast<unsigned char>(c) < ' ' && c != '\n') ||
                                       c == '\x7f';
                              }) &&
         convlab::printable(text) == text;
}

Outcome grade(const Entry& entry, const std::string& place) {
  const auto start = std::chrono::steady_clock::now();
  const std::string name = fs::path(entry.name).filename().string();
  const fs::path json = entry.file.parent_path() / (name + "-" + place + ".json");
  const std::string usual = place == "cpu" ? "5" : place == "emulated" ? "3" : "100";
  // What is wrong here is wrong however it is compiled; without much optimisation it compiles fast.
  // The headers that they share lie beside them, where no submission may look.
  std::vector<std::string> environment = {"CONVLAB_SUBMISSION_OPTIMISE=-O1",
                                          "CONVLAB_ISOLATION_READABLE=" CONVLAB_SOURCE_DIR
                                          "/grader/corpus/exploits"};
  if (place == "emulated") environment.emplace_back("CUDA_VISIBLE_DEVICES=-1");
  std::vector<std::string> command = {
      CONVLAB_BINARY_DIR "/grader",
      "check",
      place == "cpu" ? "m1" : "m2",
      "--solution",
      entry.file.string(),
      "--batches",
      entry.batch.empty() || (place != "gpu" && entry.is_exploit) ? usual : entry.batch,
      "--json",
      json.string()};
  if (entry.is_mistake()) {
    command.insert(command.end(), {"--no-speed", "--seed", "7"});  // the same words every time
  } else {
    command.insert(command.end(), {"--time-limit", place == "emulated" ? "30" : "10"});
  }
  std::istringstream options(entry.options);
  for (std::string word; options >> word;) command.push_back(word);
  const convlab::FinishedProcess run =
      convlab::run_process({.words = command,
                            .environment = environment,
                            .output = convlab::Command::Output::kTogether});
  Outcome outcome{.exit_code = run.exit_code};
  outcome.said = run.output;
  if (!is_printable(outcome.said)) {
    outcome.got = "control characters";
  } else if (fs::exists(json)) {
    const auto check = convlab::grader::read_check_result(json);
    if (!check.findings.empty()) {
      const convlab::grader::Finding& first = check.findings.front();
      outcome.got = first.id;
      const std::string text = first.title + "\n" + seen_text(first) + "\n" + first.cause + "\n" +
                               first.next + "\n" + first.compiler;
      for (const std::string& wanted : entry.mistake.says) {
        if (text.find(wanted) == std::string::npos) outcome.missing += " '" + wanted + "'";
      }
      if (entry.mistake.quotes_line &&
          !convlab::grader::quotes_changed_line(text, convlab::read_text(entry.mistake.from),
                                                convlab::read_text(entry.file))) {
        outcome.missing += " a line of the change";
      }
    }
    for (const auto& warning : check.warnings) outcome.warned += warning.id;
  } else {
    outcome.got = "no result";
  }
  // A header may allow several findings for one cause.
  if (words(entry.diagnosis, ' ').count(outcome.got) == 1) outcome.got = entry.diagnosis;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

// The grader breaks its lines between words.
bool says(const std::string& said, const std::string& words_to_find) {
  std::string flat;
  std::istringstream stream(said);
  for (std::string word; stream >> word;) flat += word + " ";
  return flat.find(words_to_find) != std::string::npos;
}

/// Counts and prints what comes in from all threads.
class Tally {
 public:
  void add(const Entry& entry, const std::string& place, const Outcome& outcome, bool in_full) {
    const bool control = entry.diagnosis.empty();
    const int expected_code = control ? 0 : 1;
    const bool good = outcome.got == entry.diagnosis && outcome.exit_code == expected_code &&
                      outcome.warned == entry.warns && says(outcome.said, entry.says) &&
                      outcome.missing.empty();
    const std::lock_guard lock(mutex_);
    lines_.push_back({entry, place, outcome, good});
    ++(control ? controls_ : exploits_);
    if (good && !control) ++caught_;
    if (!good && control) ++flagged_;
    all_good_ = all_good_ && good;
    std::printf("%-4s %-8s %-22s %-32s %5.1f s\n", good ? "ok" : "BAD", place.c_str(),
                outcome.got.empty() ? "passes" : outcome.got.c_str(), entry.name.c_str(),
                outcome.seconds);
    if (!good) {
      const std::string more = (entry.warns.empty() ? "" : ", warn " + entry.warns) +
                               (entry.says.empty() ? "" : " and say '" + entry.says + "'") +
                               (outcome.missing.empty() ? "" : " and say" + outcome.missing);
      std::printf("     must %s%s\n",
                  control ? "pass" : ("get " + entry.diagnosis + " and exit code 1").c_str(),
                  more.c_str());
    }
    if (!good || in_full) std::printf("%s\n", outcome.said.c_str());
    std::fflush(stdout);
  }

  /// The line that CI shows.
  [[nodiscard]] bool finish(const Options& options) const {
    if (!options.json.empty()) write_json(options.json);
    if (options.has_mistakes()) return finish_mistakes(options);
    const bool exploits = options.has_exploits();
    std::printf("%d of %d %s, %d of %d %s\n", caught_, exploits_,
                exploits ? "exploits caught" : "wrong files get their finding", flagged_, controls_,
                exploits ? "controls flagged" : "right files refused");
    return all_good_ && exploits_ + controls_ > 0;
  }

 private:
  struct Line {
    Entry entry;
    std::string place;
    Outcome outcome;
    bool good = false;
  };

  [[nodiscard]] bool finish_mistakes(const Options& options) const {
    std::vector<convlab::grader::ShownMistake> shown;
    std::vector<convlab::grader::Mistake> all;
    double seconds = 0.0;
    int general = 0;
    for (const Line& line : lines_) {
      seconds += line.outcome.seconds;
      const std::string& id = line.outcome.got;
      general += id == "E-wrong" || id == "E-nan" ? 1 : 0;
      if (line.place != "gpu") all.push_back(line.entry.mistake);
      if (line.good && line.place != "gpu") {
        shown.push_back({line.entry.mistake, line.outcome.said});
      }
    }
    const fs::path page = options.page.empty() ? kPage : fs::path(options.page);
    // Of some mistakes there are no shares.
    const std::string table = options.names.empty() ? shares_table(all) : "";
    if (!options.page.empty()) update_page(page, shown, table);
    std::printf("%d of %d mistakes get their finding, %d a general one; %.1f s each\n%s", caught_,
                exploits_, general, seconds / std::max(1, exploits_), table.c_str());
    const bool is_on_page =
        table.empty() || convlab::read_text(page).find(table) != std::string::npos;
    if (!is_on_page) {
      std::printf("The table of docs/diagnoses.md is another one: --update-page %s\n",
                  page.c_str());
    }
    // As many as the cases themselves announce.
    constexpr int kMostGeneral = 7;
    return all_good_ && exploits_ > 0 && general <= kMostGeneral && is_on_page;
  }

  void write_json(const std::string& file) const {
    convlab::Json list = convlab::Json::array();
    for (const Line& line : lines_) {
      list.push_back({{"name", line.entry.name},
                      {"place", line.place},
                      {"expected", line.entry.diagnosis},
                      {"got", line.outcome.got},
                      {"missing", line.outcome.missing},
                      {"good", line.good},
                      {"seconds", line.outcome.seconds}});
    }
    convlab::write_atomically(file, list.dump(1) + "\n");
  }

  std::mutex mutex_;
  std::vector<Line> lines_;
  int exploits_ = 0;
  int caught_ = 0;
  int controls_ = 0;
  int flagged_ = 0;
  bool all_good_ = true;
};

bool run(const Options& options) {
  struct Job {
    Entry entry;
    std::string place;
  };
  // What is compiled for one case serves those after it that have the same file.
  std::vector<std::vector<Job>> jobs;
  const convlab::testing::TemporaryFolder scratch;
  const std::vector<Entry> corpus = read_corpus(options, scratch.path());
  for (const std::string& place : words(options.runs, ',')) {
    fs::path last;
    for (const Entry& entry : corpus) {
      const bool named = std::ranges::any_of(options.names, [&](const std::string& name) {
        return entry.is_mistake() ? entry.name.find(name) != std::string::npos
                                  : entry.name == name || entry.from.stem() == name;
      });
      if ((!options.names.empty() && !named) || entry.runs.count(place) == 0) continue;
      if (entry.file != last) jobs.emplace_back();
      last = entry.file;
      jobs.back().push_back({entry, place});
    }
  }
  Tally tally;
  convlab::in_threads(jobs.size(), static_cast<std::size_t>(options.jobs), [&](std::size_t i) {
    for (const auto& [entry, place] : jobs[i]) {
      tally.add(entry, place, grade(entry, place), !options.names.empty());
    }
  });
  return tally.finish(options);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Lets the grader check exploits and honest controls.", "exploit-corpus");
  app.add_option("NAME", options.names, "Only these, with all that the grader says");
  app.add_option("--folder", options.folder,
                 "Other files: grader/corpus/course_files, grader/corpus/mistakes")
      ->capture_default_str();
  app.add_option("--runs", options.runs, "Where: cpu, emulated, gpu")->capture_default_str();
  app.add_option("--jobs", options.jobs, "How many at the same time")->capture_default_str();
  app.add_option("--json", options.json, "Also write the outcomes to this file");
  app.add_option("--update-page", options.page,
                 "Of mistakes: renew the examples of this page, docs/diagnoses.md");
  app.footer(
      "Examples:\n"
      "  build/bin/exploit-corpus --runs cpu,emulated\n"
      "  build/bin/exploit-corpus side_stream --runs gpu     one, with all that the grader says\n"
      "  build/bin/exploit-corpus --folder grader/corpus/mistakes --runs cpu,emulated\n"
      "  build/bin/exploit-corpus --folder grader/corpus/mistakes m2/no_guard");
  return convlab::run_program(app, argc, argv, [&] {
    return run(options) ? convlab::ExitCode::kPassed : convlab::ExitCode::kFallsShort;
  });
}
