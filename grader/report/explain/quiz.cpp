#include "grader/report/explain/quiz.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "common/serve/fault_messages.hpp"
#include "grader/report/explain/walk.hpp"
#include "grader/report/numbers.hpp"

namespace convlab::grader {

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
