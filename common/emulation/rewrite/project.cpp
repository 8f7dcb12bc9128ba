#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>

#include "common/emulation/rewrite/rewriter.hpp"

namespace convlab::rewrite {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

/// Reads a source without the byte order mark that editors on Windows put first: behind the lines
/// that the rewrite puts before it, it would be a character of the program.
std::string read_source(const fs::path& path) {
  std::string text = read_file(path);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

/// Keeps the time stamp of a file whose text does not change, so that nothing is compiled again.
/// @return whether it wrote
bool write_file(const fs::path& path, const std::string& text) {
  if (fs::exists(path) && read_file(path) == text) return false;
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
  return true;
}

struct Unit {
  struct Inclusion {
    std::string name;
    Unit* unit;
    bool beside;  ///< found relative to the including file; a copy elsewhere would not find it
  };

  Unit(fs::path file, std::string content)
      : path(std::move(file)), text(std::move(content)), source(text) {}

  fs::path path;
  std::string text;
  Source source;
  std::vector<Inclusion> inclusions;
  bool needs_copy = false;
  fs::path copy;
};

class Project {
 public:
  explicit Project(const ProjectOptions& options) : options_(options) {}

  ProjectResult run() {
    Unit& main = load(fs::weakly_canonical(options_.source));
    std::vector<Source*> sources;
    for (const auto& [path, unit] : units_) sources.push_back(&unit->source);
    names_ = collect_names(sources);
    main.needs_copy = true;
    mark_copies();
    for (const auto& [path, unit] : units_)
      if (unit->needs_copy) unit->copy = unit.get() == &main ? options_.output : copy_path(*unit);
    bool any_written = false;
    for (const auto& [path, unit] : units_) {
      result_.inputs.emplace_back(path);
      if (unit->needs_copy) any_written |= write(*unit, unit.get() == &main);
    }
    // The build knows only the main file: it must look new where one of its headers is.
    if (any_written) fs::last_write_time(main.copy, fs::file_time_type::clock::now());
    return std::move(result_);
  }

 private:
  /// @param in_function  a function includes it: what it declares is local there
  Unit& load(const fs::path& path, bool in_function = false) {
    if (const auto known = units_.find(path.string()); known != units_.end()) return *known->second;
    auto unit = std::make_unique<Unit>(path, read_source(path));
    Unit& loaded = *unit;
    units_.emplace(path.string(), std::move(unit));
    if (in_function) loaded.source.lies_in_function();
    for (const bool inner : {false, true})
      for (const std::string& name : included_names(loaded.source, inner)) {
        bool beside = false;
        const fs::path found = resolve(name, path, beside);
        if (!found.empty()) loaded.inclusions.push_back({name, &load(found, inner), beside});
      }
    return loaded;
  }

  [[nodiscard]] fs::path resolve(const std::string& name, const fs::path& from,
                                 bool& beside) const {
    const auto usable = [&](const fs::path& path) {
      return fs::is_regular_file(path) && !is_excluded(path);
    };
    fs::path local = fs::weakly_canonical(from.parent_path() / name);
    beside = usable(local);
    if (beside) return local;
    for (const fs::path& folder : options_.include_folders) {
      fs::path path = fs::weakly_canonical(folder / name);
      if (usable(path)) return path;
    }
    return {};
  }

  [[nodiscard]] bool is_excluded(const fs::path& path) const {
    if (options_.excluded_folder.empty()) return false;
    const fs::path relative =
        path.lexically_relative(fs::weakly_canonical(options_.excluded_folder));
    return !relative.empty() && *relative.begin() != "..";
  }

  /// A header must be copied if it changes or includes one that does.
  void mark_copies() {
    for (const auto& [path, unit] : units_) {
      if (unit->needs_copy) continue;
      const Rewritten rewritten = rewrite(unit->text, unit->source, names_, {}, options_.traced);
      if (rewritten.changed || !rewritten.diagnostics.empty()) unit->needs_copy = true;
    }
    for (bool grows = true; grows;) {
      grows = false;
      for (const auto& [path, unit] : units_)
        for (const Unit::Inclusion& inclusion : unit->inclusions)
          if (inclusion.unit->needs_copy && !unit->needs_copy) grows = unit->needs_copy = true;
    }
  }

  [[nodiscard]] fs::path copy_path(const Unit& unit) {
    return options_.output.parent_path() / (options_.output.filename().string() + ".headers") /
           (std::to_string(copies_++) + "_" + unit.path.filename().string());
  }

  /// @return whether the copy changed
  bool write(const Unit& unit, bool is_main) {
    std::vector<Include> includes;
    for (const Unit::Inclusion& inclusion : unit.inclusions)
      if (inclusion.unit->needs_copy)
        includes.push_back({inclusion.name, fs::absolute(inclusion.unit->copy).string()});
      else if (inclusion.beside)
        includes.push_back({inclusion.name, inclusion.unit->path.string()});
    const Rewritten rewritten = rewrite(unit.text, unit.source, names_, includes, options_.traced);
    tell(unit, rewritten.diagnostics);
    // As nvcc does, a source sees the runtime before its first line.
    std::string head = is_main ? "#include \"cuda_runtime.h\"\n" : "";
    const bool is_stage = std::ranges::any_of(unit.inclusions, [](const Unit::Inclusion& each) {
      return each.name.starts_with("common/stage/");
    });
    if (is_main && is_stage) head += "#include \"common/stage/own_main.hpp\"\n";
    const bool wide = std::ranges::any_of(
        units_, [](const auto& entry) { return has_wide_accesses(entry.second->source); });
    if (is_main && wide)
      head +=
          "[[maybe_unused]] static const bool convlab_wide_accesses = "
          "::convlab::emulation::note_wide_accesses();\n";
    return write_file(unit.copy,
                      head + "#line 1 \"" + unit.path.string() + "\"\n" + rewritten.text);
  }

  /// Each sentence once.
  void tell(const Unit& unit, const std::vector<Diagnostic>& diagnostics) {
    std::set<std::string_view> told;
    for (const Diagnostic& each : diagnostics)
      if (told.insert(each.message).second)
        (each.is_warning ? result_.warnings : result_.errors)
            .push_back(unit.path.string() + ":" + std::to_string(each.line) +
                       (each.is_warning ? ": warning: " : ": error: ") + each.message);
  }

  const ProjectOptions& options_;
  std::map<std::string, std::unique_ptr<Unit>> units_;
  Names names_;
  ProjectResult result_;
  int copies_ = 0;
};

}  // namespace

ProjectResult rewrite_project(const ProjectOptions& options) try {
  return Project(options).run();
} catch (const TooManySteps& error) {
  return {.inputs = {},
          .errors = {options.source.string() + ":1: error: " + error.what()},
          .warnings = {}};
}

}  // namespace convlab::rewrite
