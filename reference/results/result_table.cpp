#include "reference/results/result_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>
#include <vector>

#include "common/base/error.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab {

namespace {

constexpr const char* kBeginResults = "<!-- results: ";
constexpr const char* kBeginLayers = "<!-- layers: ";
constexpr const char* kBeginLimits = "<!-- limits: ";
constexpr const char* kBeginClose = " -->";
constexpr const char* kStages = "stages:";
constexpr const char* kEnd = "<!-- end of results -->";

struct Row {
  std::string title;
  std::map<int, double> sums;  // by batch, milliseconds
};

// The sum of the medians, as in the grader and the plots: the layers are timed one after the other.
double sum_of_medians(const std::vector<LayerResult>& layers) {
  double sum = 0.0;
  for (const LayerResult& layer : layers) sum += spread_of(layer.op_ms).median;
  return sum;
}

// 10000 as "10 000", as in the handbook.
std::string grouped(int number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ' ';
    text += digits[i];
  }
  return text;
}

std::string line_of(const std::string& title, const Row& row, const std::set<int>& batches,
                    const Row& first) {
  std::ostringstream line;
  line << "| " << title << " |";
  for (int batch : batches) {
    const auto sum = row.sums.find(batch);
    if (sum != row.sums.end()) line << ' ' << three_digits(sum->second);
    line << " |";
  }
  const auto mine = row.sums.find(*batches.rbegin());
  const auto baseline = first.sums.find(*batches.rbegin());
  if (mine != row.sums.end() && baseline != first.sums.end()) {
    line << ' ' << three_digits(baseline->second / mine->second);
  }
  line << " |\n";
  return line.str();
}

// Behind an empty line, in lines of 80 columns, as the pages are.
std::string wrapped(const std::string& sentence) {
  constexpr std::size_t kColumns = 80;
  std::istringstream words(sentence);
  std::ostringstream text;
  text << '\n';
  std::size_t column = 0;
  for (std::string word; words >> word;) {
    if (column > 0 && column + 1 + word.size() > kColumns) {
      text << '\n';
      column = 0;
    }
    if (column > 0) text << ' ';
    text << word;
    column += word.size() + (column > 0 ? 1 : 0);
  }
  text << '\n';
  return text.str();
}

std::string caption(const Result& result, const std::string& what,
                    const std::set<std::size_t>& sample_counts) {
  const MachineInfo& machine = result.machine;
  const std::size_t most = *sample_counts.rbegin();
  std::ostringstream text;
  text << what << ", median of " << *sample_counts.begin();
  if (sample_counts.size() > 1) text << " to " << most;
  text << (most == 1 ? " sample. " : " samples. ") << machine.cpu << ", " << machine.cores
       << (machine.cores == 1 ? " thread, " : " threads, ");
  if (!machine.gpu.empty()) text << machine.gpu << ", ";
  text << machine.compiler << ", commit " << machine.commit << ", " << result.created.substr(0, 10)
       << ".";
  return wrapped(text.str());
}

// Emulated runs have no op time.
std::vector<const RunResult*> measured_runs(const Result& result) {
  std::vector<const RunResult*> runs;
  std::set<std::string> networks;
  for (const RunResult& run : result.runs) {
    if (run.device == Device::kEmulated || run.layers.empty()) continue;
    runs.push_back(&run);
    networks.insert(run.network);
  }
  if (runs.empty()) throw EnvironmentError("The result has no measured run to make a table of.");
  if (networks.size() > 1) {
    throw EnvironmentError("The result is about " + std::to_string(networks.size()) +
                           " networks; a table shows one: measure with one --network.");
  }
  return runs;
}

}  // namespace

std::string result_table(const Result& result) {
  std::map<std::pair<int, std::string>, Row> stages;  // by order, then id
  std::map<std::string, Row> libraries;
  std::set<int> batches;
  std::set<std::size_t> sample_counts;
  const std::vector<const RunResult*> runs = measured_runs(result);
  for (const RunResult* run : runs) {
    Row& row = stages[{run->stage.order, run->stage.id}];
    row.title = run->stage.title;
    row.sums[run->batch] = sum_of_medians(run->layers);
    batches.insert(run->batch);
    for (const LayerResult& layer : run->layers) sample_counts.insert(layer.op_ms.size());
  }
  for (const ReferenceLine& line : result.references) {
    if (line.kind != "library" || !batches.contains(line.batch)) continue;
    double sum = 0.0;
    for (double time : line.op_ms) sum += time;
    libraries[line.label].sums[line.batch] = sum;
  }

  std::ostringstream table;
  table << "| stage |";
  for (int batch : batches) table << ' ' << grouped(batch) << " images |";
  table << " times faster |\n|---|";
  for (std::size_t i = 0; i < batches.size(); ++i) table << "--:|";
  table << "--:|\n";
  const Row& first = stages.begin()->second;
  for (const auto& [key, row] : stages) table << line_of(row.title, row, batches, first);
  for (const auto& [label, row] : libraries) {
    table << line_of('*' + label + '*', row, batches, first);
  }
  table << caption(result,
                   "Op time in milliseconds, all convolutions of the network `" +
                       runs.front()->network + "` together",
                   sample_counts);
  return table.str();
}

std::string layer_table(const Result& result) {
  std::map<std::tuple<int, std::string, int>, const RunResult*> rows;  // by order, id, batch
  std::set<std::size_t> sample_counts;
  std::size_t layers = 0;
  const std::vector<const RunResult*> runs = measured_runs(result);
  for (const RunResult* run : runs) {
    rows[{run->stage.order, run->stage.id, run->batch}] = run;
    layers = std::max(layers, run->layers.size());
    for (const LayerResult& layer : run->layers) sample_counts.insert(layer.op_ms.size());
  }
  std::ostringstream table;
  table << "| stage | images |";
  for (const char* time : {" op time ", " layer time "}) {
    for (std::size_t i = 1; i <= layers; ++i) table << time << i << " |";
  }
  table << "\n|---|--:|";
  for (std::size_t i = 0; i < 2 * layers; ++i) table << "--:|";
  table << '\n';
  for (const auto& [key, run] : rows) {
    table << "| `" << run->stage.id << "` | " << grouped(run->batch) << " |";
    for (const auto times : {&LayerResult::op_ms, &LayerResult::layer_ms}) {
      for (const LayerResult& layer : run->layers) {
        table << ' ' << three_digits(spread_of(layer.*times).median) << " |";
      }
    }
    table << '\n';
  }
  table << caption(
      result, "Milliseconds for each convolution of the network `" + runs.front()->network + "`",
      sample_counts);
  return table.str();
}

std::string stage_table(const std::vector<Result>& results,
                        const std::vector<std::string>& stages) {
  std::map<std::string, std::map<int, const RunResult*>> measured;  // by stage, batch
  std::set<int> batches;
  const Result* newest = nullptr;
  for (const Result& result : results) {
    for (const RunResult& run : result.runs) {
      const bool wanted = std::find(stages.begin(), stages.end(), run.stage.id) != stages.end();
      if (!wanted || run.device == Device::kEmulated || run.layers.size() != 2) continue;
      measured[run.stage.id][run.batch] = &run;
      batches.insert(run.batch);
      newest = &result;
    }
  }
  if (measured.empty()) return "Nothing was measured yet.\n";
  std::ostringstream table;
  table << "| stage |";
  for (int batch : batches) table << ' ' << grouped(batch) << " images |";
  table << " convolution 1 | convolution 2 | layer time |\n|---|";
  for (std::size_t i = 0; i < batches.size() + 3; ++i) table << "--:|";
  table << "\n";
  for (const std::string& stage : stages) {
    if (!measured.contains(stage)) continue;
    const auto& runs = measured.at(stage);
    table << "| `" << stage << "` |";
    for (int batch : batches) {
      if (runs.contains(batch))
        table << ' ' << three_digits(sum_of_medians(runs.at(batch)->layers));
      table << " |";
    }
    double layer_time = 0.0;
    if (const auto largest = runs.find(*batches.rbegin()); largest != runs.end()) {
      for (const LayerResult& layer : largest->second->layers) {
        table << ' ' << three_digits(spread_of(layer.op_ms).median) << " |";
        if (!layer.layer_ms.empty()) layer_time += spread_of(layer.layer_ms).median;
      }
    } else {
      table << " | |";
    }
    table << (layer_time > 0.0 ? ' ' + three_digits(layer_time) : "") << " |\n";
  }
  table << wrapped("Milliseconds, medians; the convolutions and the layer time at " +
                   grouped(*batches.rbegin()) + " images. " + newest->machine.gpu + ", commit " +
                   newest->machine.commit + ", " + newest->created.substr(0, 10) + ".");
  return table.str();
}

namespace {

// The least time of the convolutions at this batch, in milliseconds; 0 if the result lacks it.
double limit_ms(const Result& result, const RunResult& run) {
  std::vector<double> limits;
  for (const ReferenceLine& line : result.references) {
    const bool counts = line.label == "memory bound" ||
                        (line.label == "fp32 bound" && run.stage.precision == Precision::kFp32);
    if (!counts || line.batch != run.batch || line.network != run.network) continue;
    limits.resize(line.op_ms.size());
    for (std::size_t i = 0; i < limits.size(); ++i) {
      limits[i] = std::max(limits[i], line.op_ms[i]);
    }
  }
  return std::accumulate(limits.begin(), limits.end(), 0.0);
}

}  // namespace

std::string limits_table(const std::vector<Result>& results,
                         const std::vector<std::string>& stages) {
  constexpr int kBatch = 10000;
  struct Reached {
    double op_ms = 0.0;
    double limit = 0.0;
  };
  std::vector<std::string> gpus;
  std::map<std::pair<int, std::string>, std::map<std::string, Reached>> rows;  // by GPU
  std::string measured;
  for (const Result& result : results) {
    const std::string& gpu = result.machine.gpu;
    if (std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) {
      gpus.push_back(gpu);
      measured += (measured.empty() ? "" : "; ") + gpu + ", commit " + result.machine.commit +
                  ", " + result.created.substr(0, 10);
    }
    for (const RunResult* run : measured_runs(result)) {
      const std::string& id = run->stage.id;
      const bool wanted =
          stages.empty() || std::find(stages.begin(), stages.end(), id) != stages.end();
      if (run->batch != kBatch || !wanted) continue;
      rows[{run->stage.order, id}][gpu] = {sum_of_medians(run->layers), limit_ms(result, *run)};
    }
  }
  std::ostringstream table;
  table << "| stage |";
  for (const std::string& gpu : gpus) table << ' ' << gpu << ", ms | % of the limit |";
  table << "\n|---|";
  for (std::size_t i = 0; i < 2 * gpus.size(); ++i) table << "--:|";
  table << '\n';
  for (const auto& [stage, by_gpu] : rows) {
    table << "| `" << stage.second << "` |";
    for (const std::string& gpu : gpus) {
      const auto found = by_gpu.find(gpu);
      if (found == by_gpu.end()) {
        table << " | |";
        continue;
      }
      const auto& [op_ms, limit] = found->second;
      table << ' ' << three_digits(op_ms) << " | " << std::lround(100.0 * limit / op_ms) << " |";
    }
    table << '\n';
  }
  table << wrapped("The reference's op times at " + grouped(kBatch) +
                   " images, both convolutions together. The limit is the time that moving all "
                   "data once takes, or in single precision all multiply-adds at the peak, for "
                   "each convolution the longer one. " +
                   measured + ".");
  return table.str();
}

namespace {

// The text between the words of a marker: files, then perhaps "stages:" and their names.
std::string table_for(const std::string& marker, const std::string& kind,
                      const std::function<Result(const std::string& file)>& read) {
  std::istringstream words(marker);
  std::vector<Result> results;
  std::vector<std::string> stages;
  bool names_stages = false;
  for (std::string word; words >> word;) {
    if (word == kStages) {
      names_stages = true;
    } else if (names_stages) {
      stages.push_back(word);
    } else {
      results.push_back(read(word));
    }
  }
  if (kind == kBeginLimits) return limits_table(results, stages);
  if (names_stages) return stage_table(results, stages);
  if (results.size() == 1) {
    return kind == kBeginResults ? result_table(results.front()) : layer_table(results.front());
  }
  throw EnvironmentError("The line '" + (kBeginResults + marker) +
                         "' must name one file, or stages.");
}

}  // namespace

std::string with_tables(const std::string& page,
                        const std::function<Result(const std::string& file)>& read) {
  std::string text;
  std::size_t at = 0;
  while (true) {
    std::size_t begin = std::string::npos;
    std::string marker;
    for (const char* kind : {kBeginResults, kBeginLayers, kBeginLimits}) {
      const std::size_t found = page.find(kind, at);
      if (found < begin) marker = kind;
      begin = std::min(begin, found);
    }
    if (begin == std::string::npos) return text + page.substr(at);
    const std::size_t name = begin + marker.size();
    const std::size_t name_end = page.find(kBeginClose, name);
    const std::size_t end = page.find(kEnd, name);
    if (name_end == std::string::npos || end == std::string::npos || end < name_end) {
      throw EnvironmentError("A line '" + marker + "…' is without its '" + kEnd +
                             "': add that line below the table.");
    }
    text += page.substr(at, name_end + std::string(kBeginClose).size() - at) + "\n\n";
    text += table_for(page.substr(name, name_end - name), marker, read) + "\n";
    at = end;
  }
}

}  // namespace convlab
