#include "grader/report/explain/explain.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "common/serve/fault_messages.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/numbers.hpp"
#include "grader/report/profile/profile.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

std::string quoted(const std::string& name) {
  return "`" + name + "`";
}

std::string count_of(std::int64_t number, const std::string& what) {
  return grouped(number) + " " + what + (number == 1 ? "" : "s");
}

// What to think of it.
std::string verdict(const AccessNote& note) {
  const double average = average_parts(note);
  if (note.space == "shared") {
    return note.conflicts == 0 ? "No bank conflict." : "Lanes use one bank, at different words.";
  }
  if (note.most == 1) return "All lanes share it.";
  if (note.space == "constant") return "They are read one after the other.";
  constexpr double kStillGood = 1.6;  // a row may begin inside a sector
  if (average <= kStillGood * needed_sectors(note)) return "Coalesced.";
  const double lanes = static_cast<double>(note.lanes) / static_cast<double>(note.requests);
  return average >= 0.9 * lanes ? "Not coalesced: nearly every lane needs a sector of its own."
                                : "Coalesced in part.";
}

std::string lines_text(const KernelCounts& kernel, const SourceText& sources) {
  std::string text;
  const AccessNote* last = nullptr;
  for (const AccessNote& note : kernel.accesses) {
    if (last == nullptr || last->line != note.line || last->file != note.file) {
      text += sources.quoted_line(note.file, note.line);
    }
    text +=
        paragraph("      ", cost_text({.note = note, .array = quoted(array_name(note, sources))}) +
                                ". " + verdict(note));
    last = &note;
  }
  return text;
}

std::string need_text(const BarrierNote& note, const SourceText& sources) {
  const std::string before = std::to_string(note.before);
  const std::string behind = std::to_string(note.behind);
  return "Line " + before + (note.before_writes ? " writes " : " reads ") +
         quoted(array_name(note, sources)) + ", and after the barrier line " + behind +
         " of another thread " +
         (!note.behind_writes  ? "reads it"
          : note.before_writes ? "writes the same element"
                               : "overwrites it") +
         " (" + count_of(note.elements, "time") + ").";
}

// A block may take its strips in a loop, and with one image have only one.
std::string needless_text(const KernelCounts& kernel, const BarrierNote& barrier) {
  const std::string no_use = "o thread uses after it what another thread used just before it";
  if (barrier.times > kernel.launched_blocks) {
    return "N" + no_use + ", so this convolution does not need it.";
  }
  return "Each block meets it once in this run, and n" + no_use +
         ". If it stands in a loop that goes on with more images, it may be needed there.";
}

std::string barriers_text(const KernelCounts& kernel, const SourceText& sources) {
  std::string text;
  for (const BarrierNote& barrier : kernel.barriers) {
    if (barrier.times == 0) continue;
    text += sources.quoted_line(barrier.file, barrier.line);
    std::string needs;
    for (const BarrierNote& note : kernel.barriers) {
      if (note.before == 0 || note.line != barrier.line || note.file != barrier.file) continue;
      needs += paragraph("      ", need_text(note, sources));
    }
    text += needs.empty() ? paragraph("      ", needless_text(kernel, barrier)) : needs;
  }
  return text;
}

std::string thread_text(const KernelCounts& kernel, const SourceText& sources) {
  std::map<std::string, std::int64_t> loads;
  for (const AccessNote& note : kernel.accesses) {
    if (!note.writes) loads[array_name(note, sources)] += note.most_by_one;
  }
  std::string list;
  for (const auto& [name, count] : loads) {
    if (count == 0) continue;  // no thread was followed there
    list += (list.empty() ? "" : ", ") + grouped(count) + " of " + quoted(name);
  }
  std::string text;
  if (kernel.storing > 0) {
    text = grouped(kernel.storing) + " of " + grouped(kernel.threads) + " threads store " +
           (kernel.outputs_of_one == 1 ? "one output"
                                       : "up to " + count_of(kernel.outputs_of_one, "output")) +
           (kernel.storing < kernel.threads
                ? "; " + grouped(kernel.threads - kernel.storing) + " have none. "
                : ". ");
  }
  if (!list.empty()) text += "The busiest thread loads " + list + ".";
  return text;
}

}  // namespace

std::string walk_text(const StageCounts& facts, const SourceText& sources) {
  std::string text =
      paragraph("", "Counted on the emulated device, in a convolution of one image: " +
                        to_string(facts.shape) + ".");
  for (const KernelCounts& kernel : kernels_of(facts, sources)) {
    text += "\n" + coloured("kernel " + kernel.launch.kernel, Colour::kStrong) + "\n";
    text += sources.quoted_line(kernel.launch.file, kernel.launch.line);
    text += paragraph("  launch   ", launch_text(kernel.launch.grid, kernel.launch.block) + ": " +
                                         count_of(kernel.blocks, "block") + ", " +
                                         count_of(kernel.threads, "thread") + ".");
    if (const std::string own = thread_text(kernel, sources); !own.empty()) {
      text += paragraph("  threads  ", own);
    }
    if (!kernel.accesses.empty()) text += "  memory\n" + lines_text(kernel, sources);
    const std::string barriers = barriers_text(kernel, sources);
    if (!barriers.empty()) text += "  barriers\n" + barriers;
  }
  return text;
}

std::string walk_text(const CheckResult& check, const std::string& stage,
                      const std::vector<ConvShape>& layers) {
  std::string text =
      paragraph("", "A stage on the CPU has no kernel. The times are those of its last check.");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const ConvShape& layer = layers[i];
    text += "\n" + coloured("convolution " + std::to_string(i + 1), Colour::kStrong) + "  " +
            to_string(layer) + "\n";
    text += paragraph("  work     ", grouped(layer.output_size()) + " outputs of " +
                                         count_of(layer.taps(), "multiply-add") + " each: " +
                                         grouped(layer.multiply_adds()) + " for an image.");
    for (const RunResult& run : check.result.runs) {
      if (run.stage.id != stage || i >= run.layers.size() || run.layers[i].op_ms.empty()) continue;
      const double ms = spread_of(run.layers[i].op_ms).median;
      const double per_second = static_cast<double>(layer.multiply_adds()) * run.batch / ms * 1e3;
      text += paragraph("  speed    ",
                        "batch " + std::to_string(run.batch) + ": " + three_digits(ms) + " ms, " +
                            three_digits(per_second * 1e-9) + " billion multiply-adds per second.");
    }
    const double bytes =
        static_cast<double>(layer.input_size() + layer.output_size()) * sizeof(float);
    text += paragraph("  memory   ",
                      short_number(bytes / 1e3) + " kB of input and output for an image: " +
                          short_number(2.0 * static_cast<double>(layer.multiply_adds()) / bytes) +
                          " operations for each byte.");
  }
  return text;
}

namespace {

// The kernel with the most memory accesses.
const KernelCounts* busiest(const std::vector<KernelCounts>& kernels) {
  const auto accesses = [](const KernelCounts& kernel) {
    std::int64_t all = 0;
    for (const AccessNote& note : kernel.accesses) all += note.lanes;
    return all;
  };
  const auto most = std::max_element(
      kernels.begin(), kernels.end(),
      [&](const KernelCounts& a, const KernelCounts& b) { return accesses(a) < accesses(b); });
  return most == kernels.end() ? nullptr : &*most;
}

std::optional<Question> ask_barrier(const KernelCounts& kernel, const SourceText& sources) {
  const auto need = std::ranges::find_if(kernel.barriers, [](const BarrierNote& note) {
    return note.before != 0 && !note.before_writes;
  });
  const auto other = std::ranges::find_if(
      kernel.barriers, [](const BarrierNote& note) { return note.before_writes; });
  const auto chosen = need != kernel.barriers.end() ? need : other;
  if (chosen == kernel.barriers.end()) return std::nullopt;
  const bool reads_first = !chosen->before_writes;
  const std::string name = array_name(*chosen, sources);
  const std::string before = std::to_string(chosen->before);
  const std::string behind = std::to_string(chosen->behind);
  return Question{
      .text = "You remove this barrier. What can happen on a GPU?",
      .source = sources.quote(chosen->file, chosen->line),
      .choices = {"a thread reads an element of `" + name + "` before another one has written it",
                  "a thread writes an element of `" + name + "` while another one still reads it",
                  "nothing: another barrier separates them"},
      .answer = reads_first ? 1 : 0,
      .why = (reads_first ? "Line " + before + " reads elements that line " + behind +
                                " of another thread writes next: "
                          : "Line " + before + " writes elements that line " + behind +
                                " of another thread uses next: ") +
             grouped(chosen->elements) +
             " times in this convolution, with no other barrier "
             "between."};
}

std::optional<Question> ask_sectors(const KernelCounts& kernel, const StageCounts& facts,
                                    const SourceText& sources) {
  const AccessNote* chosen = nullptr;
  for (const AccessNote& note : kernel.accesses) {
    if (note.space != "global" || note.writes) continue;
    const bool is_input = array_role(note, facts.shape, sources) == "input";
    const bool has_input =
        chosen != nullptr && array_role(*chosen, facts.shape, sources) == "input";
    if (chosen == nullptr || (is_input && !has_input) ||
        (is_input == has_input && note.requests > chosen->requests)) {
      chosen = &note;
    }
  }
  if (chosen == nullptr) return std::nullopt;
  const std::string name = array_name(*chosen, sources);
  return Question{
      .text = "How many sectors of 32 bytes does one load of `" + name +
              "` in this line touch at most, for a whole warp?",
      .source = sources.quote(chosen->file, chosen->line),
      .answer = chosen->most,
      .why = "Counted: " + std::to_string(chosen->least) + " to " + std::to_string(chosen->most) +
             ", " + short_number(average_parts(*chosen)) + " on average. With " +
             launch_text(kernel.launch.grid, kernel.launch.block) +
             " a warp is 32 threads that follow each other along threadIdx.x, then threadIdx.y; "
             "a row that begins inside a sector touches one more."};
}

std::optional<Question> ask_idle(const KernelCounts& kernel, const StageCounts& facts) {
  if (kernel.storing == 0) return std::nullopt;
  const std::int64_t idle = kernel.threads - kernel.storing;
  return Question{
      .text = "One image, " + to_string(facts.shape) + ". How many of the threads of kernel " +
              kernel.launch.kernel + " store no output? The launch has " +
              launch_text(kernel.launch.grid, kernel.launch.block) + ".",
      .answer = idle,
      .why = grouped(kernel.blocks) + " blocks have " + grouped(kernel.threads) + " threads; " +
             grouped(kernel.storing) + " of them store the " + grouped(facts.shape.output_size()) +
             " outputs, " + std::to_string(kernel.outputs_of_one) + " each" +
             (kernel.outputs_of_one == 1 ? "" : " at most") + "."};
}

}  // namespace

std::vector<Question> questions_of(const StageCounts& facts, const SourceText& sources) {
  const std::vector<KernelCounts> kernels = kernels_of(facts, sources);
  const KernelCounts* kernel = busiest(kernels);
  std::vector<Question> questions;
  if (kernel == nullptr) return questions;
  for (auto& question : {ask_barrier(*kernel, sources), ask_sectors(*kernel, facts, sources),
                         ask_idle(*kernel, facts)}) {
    if (question) questions.push_back(*question);
  }
  return questions;
}

std::vector<Question> questions_of(const std::vector<ConvShape>& layers) {
  std::vector<Question> questions;
  if (layers.empty()) return questions;
  const ConvShape& last = layers.back();
  questions.push_back(
      {.text = "How many multiply-adds does one output of the last convolution take? " +
               to_string(last),
       .answer = last.taps(),
       .why = "One for each channel and each weight of the filter: C·K·K = " +
              std::to_string(last.in_channels) + " · " + std::to_string(last.kernel) + " · " +
              std::to_string(last.kernel) + "."});
  const ConvShape& first = layers.front();
  questions.push_back(
      {.text = "How many multiply-adds does the first convolution take for one image? " +
               to_string(first),
       .answer = first.multiply_adds(),
       .why = grouped(first.output_size()) +
              " outputs (M · H_out · W_out = " + std::to_string(first.out_channels) + " · " +
              std::to_string(first.out_height()) + " · " + std::to_string(first.out_width()) +
              ") of " + std::to_string(first.taps()) + " each."});
  return questions;
}

std::optional<bool> is_right(const Question& question, const std::string& text) {
  std::string word;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (!question.choices.empty()) {
    if (word.size() != 1 || word[0] < 'a') return std::nullopt;
    const auto choice = static_cast<std::size_t>(word[0] - 'a');
    if (choice >= question.choices.size()) return std::nullopt;
    return static_cast<std::int64_t>(choice) == question.answer;
  }
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failed != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number == question.answer;
}

std::string answer_text(const Question& question) {
  if (question.choices.empty()) return grouped(question.answer);
  return std::string(1, static_cast<char>('a' + question.answer));
}

}  // namespace convlab::grader
