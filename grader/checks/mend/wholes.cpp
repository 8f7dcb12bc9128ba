#include "grader/checks/mend/wholes.hpp"

#include <string>
#include <string_view>

namespace convlab::grader::mend {

namespace {

using rewrite::Source;
using Form = Site::Form;

class Wholes {
 public:
  Wholes(const Source& source, Form form, std::size_t begin, std::size_t end, const Names& names,
         std::vector<Change>& changes)
      : source_(source), form_(form), begin_(begin), end_(end), names_(names), changes_(changes) {}

  void run() {
    if (form_ == Form::kStatement) turn_copy(), change_bytes(), change_launch();
    if (form_ == Form::kValue) turn_matrix(begin_, end_);
    for (std::size_t i = begin_; i < end_; ++i) {
      if (source_.is(i, "[") && source_.opens(i)) turn_matrix(i + 1, source_.partner(i));
    }
    if (form_ != Form::kMacro) add_least();
  }

 private:
  static constexpr const char* kToDevice = "cudaMemcpyHostToDevice";
  static constexpr const char* kToHost = "cudaMemcpyDeviceToHost";

  struct Operand {
    std::size_t begin, end;
  };

  void add(Kind kind, const std::vector<Splice>& splices) {
    changes_.push_back({kind, splices.front().begin, spliced(source_, begin_, end_, splices)});
  }

  [[nodiscard]] std::string text(const Operand& operand) const {
    return source_.text(operand.begin, operand.end);
  }

  [[nodiscard]] std::size_t after(std::size_t i) const {
    return source_.opens(i) ? source_.partner(i) + 1 : i + 1;
  }

  // row * columns + column of a matrix that is stored the other way: column * rows + row
  void turn_matrix(std::size_t begin, std::size_t end) {
    std::vector<Operand> parts;  // the factors, and what is added
    std::size_t from = begin;
    bool is_added = false;
    for (std::size_t i = begin; i <= end; i = i < end ? after(i) : i + 1) {
      const bool adds = i < end && source_.is(i, "+");
      const bool ends = i == end || adds || source_.is(i, "*");
      if (is_added && i < end && ends) return;
      if (!ends) continue;
      parts.push_back({from, i});
      from = i + 1;
      is_added |= adds;
    }
    if (!is_added || parts.size() < 3) return;
    for (std::size_t k = 1; k + 1 < parts.size(); ++k) {
      if (!names_.sizes.contains(text(parts[k]))) return;
    }
    for (const std::string& product : names_.products) {
      const std::string turned = text(parts.back()) + " * " + product + " + " + text(parts.front());
      add(Kind::kExchange, {{begin, end, turned}});
    }
  }

  // A copy in the other direction, its pointers exchanged or as they are.
  void turn_copy() {
    const std::vector<Atom> atoms = atoms_in(source_, begin_, end_);
    for (const Atom& direction : atoms) {
      const std::string own = source_.text(direction.begin, direction.end);
      if (own != kToDevice && own != kToHost) continue;
      const Splice turned{direction.begin, direction.end, own == kToDevice ? kToHost : kToDevice};
      add(Kind::kName, {turned});
      for (std::size_t b = 1; b < atoms.size(); ++b) {
        const Atom& first = atoms[b - 1];
        const Atom& second = atoms[b];
        if (first.is_number || second.is_number || second.end > direction.begin) continue;
        add(Kind::kExchange, {{first.begin, first.end, source_.text(second.begin, second.end)},
                              {second.begin, second.end, source_.text(first.begin, first.end)},
                              turned});
      }
    }
  }

  // Each argument of the brackets that end at `close`.
  [[nodiscard]] std::vector<Operand> arguments(std::size_t begin, std::size_t close) const {
    std::vector<Operand> all;
    for (std::size_t i = begin; i <= close; ++i) {
      if (source_.opens(i) && i < close) i = source_.partner(i);
      if (i != close && !source_.is(i, ",")) continue;
      all.push_back({begin, i});
      begin = i + 1;
    }
    return all;
  }

  // The size of what is allocated, copied or filled, as a whole.
  void change_bytes() {
    for (std::size_t i = begin_; i + 1 < end_; ++i) {
      const std::string_view name = source_[i].text;
      const bool takes_bytes = name.starts_with("cudaM") || name == "memset" || name == "memcpy";
      if (!takes_bytes || !source_.is(i + 1, "(") || !source_.opens(i + 1)) continue;
      const auto all = arguments(i + 2, source_.partner(i + 1));
      if (name == "cudaMemcpyToSymbol" && all.size() == 3)
        add(Kind::kLaunch, {{all[2].end, all[2].end, ", 0, cudaMemcpyDeviceToDevice"}});
      const std::size_t which = name.starts_with("cudaMalloc") ? 1 : 2;
      if (which >= all.size()) continue;
      for (const std::string& bytes : names_.bytes) {
        if (bytes != text(all[which]))
          add(Kind::kBytes, {{all[which].begin, all[which].end, bytes}});
      }
    }
  }

  // kernel<<<grid, block, bytes of shared memory, stream>>>
  void change_launch() {
    std::size_t open = begin_;
    while (open < end_ && !source_.is_triple(open, '<')) ++open;
    std::size_t close = open;
    while (close < end_ && !source_.is_triple(close, '>')) ++close;
    if (close >= end_) return;
    const auto all = arguments(open + 3, close);
    // Where elements are due: kernel<<<…>>>(input, pitch / sizeof(float))
    if (source_.is(close + 3, "(") && source_.opens(close + 3)) {
      for (const Operand& each : arguments(close + 4, source_.partner(close + 3))) {
        if (names_.values.contains(text(each)))
          add(Kind::kBytes, {{each.end, each.end, " / sizeof(float)"}});
      }
    }
    const auto streams = names_.typed.find("cudaStream_t");
    const std::string before = all.size() == 2 ? ", 0, " : ", ";
    for (const std::string& bytes : names_.bytes) {
      if (all.size() == 2) add(Kind::kLaunch, {{close, close, ", " + bytes}});
      if (all.size() > 2 && bytes != text(all[2]))
        add(Kind::kBytes, {{all[2].begin, all[2].end, bytes}});
    }
    if (streams == names_.typed.end() || all.size() > 3) return;
    for (const std::string& stream : streams->second)
      add(Kind::kLaunch, {{close, close, before + stream}});
  }

  // The last part of something may be shorter: not more than a size, or what is left of it.
  void add_least() {
    const std::vector<Atom> atoms = atoms_in(source_, begin_, end_);
    if (form_ == Form::kCondition && !atoms.empty() && atoms.front().begin == begin_ &&
        source_.is(atoms.front().end, "<") && !source_.has(begin_, end_, {"&", "|"})) {
      const std::string counter = source_.text(atoms.front().begin, atoms.front().end);
      for (const std::string& size : names_.sizes) {
        if (names_.counters.contains(counter))
          add(Kind::kGuardAdded, {{end_, end_, " && " + counter + " < " + size}});
      }
    }
    std::size_t begin = begin_;
    if (form_ == Form::kStatement) {
      while (begin < end_ && !source_.is(begin, "=")) begin = after(begin);
      ++begin;
    }
    if (begin >= end_ || !names_.is_of_host || form_ == Form::kCondition || form_ == Form::kStep)
      return;
    const std::string own = source_.text(begin, end_);
    const bool is_one = atoms.size() == 1 || !source_.has(begin, end_, {"+", "-", "*", "/"});
    // A member is a size itself, and a call may do something else twice.
    if (is_one && !names_.values.contains(own)) return;
    if (is_one && own.find('.') != std::string::npos) return;
    const auto most = [&](const std::string& size) {
      add(Kind::kGuardAdded,
          {{begin, end_, "(" + own + " < " + size + " ? " + own + " : " + size + ")"}});
    };
    for (const std::string& size : names_.sizes) {
      if (size == own) continue;
      most(size);
      for (const std::string& counter : names_.counters) most("(" + size + " - " + counter + ")");
    }
  }

  const Source& source_;
  Form form_;
  std::size_t begin_;
  std::size_t end_;
  const Names& names_;
  std::vector<Change>& changes_;
};

}  // namespace

void change_wholes(const Source& source, Form form, std::size_t begin, std::size_t end,
                   const Names& names, std::vector<Change>& changes) {
  Wholes(source, form, begin, end, names, changes).run();
}

}  // namespace convlab::grader::mend
