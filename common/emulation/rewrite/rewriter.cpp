// The rewrite of one file.
//
// Idea     CUDA adds little to C++'s grammar: f<<<…>>>(…) and __shared__. Both can be found among
//          the tokens without understanding the rest; everything else stays as it is, in its line
//          and, by #line and white space, in its column, so that compilers and debuggers name the
//          student's own.
// Picture  scale<<<blocks, 256>>>(data, n);
//          launch_function(scale, [=](auto... a) { scale(a...); }, "scale",
//                          configuration(blocks, 256))(data, n);
// Cost     about 1 ms for a thousand lines.

#include "common/emulation/rewrite/rewriter.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/emulation/ptx/translate.hpp"

namespace convlab::rewrite {
namespace {

/// What a string literal without prefix says; nothing for another token.
std::optional<std::string> string_value(const Token& token) {
  if (token.kind != Token::Kind::kString || token.text.size() < 2 || token.text.front() != '"')
    return std::nullopt;
  std::string value;
  const std::string_view inside = token.text.substr(1, token.text.size() - 2);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\' || i + 1 == inside.size()) {
      value += inside[i];
      continue;
    }
    const char escaped = inside[++i];
    // The end of a line joins it with the next one.
    if (escaped != '\n') value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
  }
  return value;
}

/// An asm statement in device code or in a macro: turned into calls of the emulation where
/// common/emulation/ptx knows its instructions, otherwise into an error of the compiler in its
/// line. Its keyword is asm, __asm or __asm__.
class AssemblyRewriter {
 public:
  AssemblyRewriter(const File& file, std::size_t keyword)
      : source_(file.source), editor_(file.editor), keyword_(keyword) {}

  void run() {
    std::size_t open = keyword_ + 1;
    while (source_.is(open, "volatile") || source_.is(open, "__volatile__")) ++open;
    if (!source_.is(open, "(") || !source_.opens(open)) return refuse("this statement");
    const std::size_t close = source_.partner(open);
    ptx::AsmStatement statement;
    if (!take_apart(open + 1, close, statement)) return refuse("this statement");
    ptx::Translation translation = ptx::translate(statement);
    if (!translation.refusal.empty()) return refuse(translation.refusal);
    editor_.insert(source_[keyword_].offset, std::move(translation.code));
    editor_.blank(source_[keyword_].offset, source_[close].end());
    editor_.insert(source_[close].end(), editor_.anchor(close, source_[close].end()));
  }

 private:
  /// "…" "…" : outputs : inputs : clobbers
  bool take_apart(std::size_t i, std::size_t end, ptx::AsmStatement& statement) const {
    const std::size_t begin = i;
    for (; i < end && !source_.is(i, ":") && !source_.is(i, "::"); ++i) {
      const auto value = string_value(source_[i]);
      if (!value) return false;
      statement.code += *value;
    }
    int section = 0;
    while (i < end) {
      if (source_.is(i, ":") || source_.is(i, "::")) {
        section += source_.is(i, "::") ? 2 : 1;
        ++i;
      } else if (source_.is(i, ",") || section > 2) {
        ++i;  // clobbers say nothing here
      } else {
        const auto constraint = string_value(source_[i]);
        if (!constraint || !source_.is(i + 1, "(") || !source_.opens(i + 1)) return false;
        const std::size_t close = source_.partner(i + 1);
        statement.operands.push_back({*constraint, source_.text(i + 2, close)});
        i = close + 1;
      }
    }
    return i > begin;
  }

  void refuse(const std::string& what) const {
    const std::string message = string_literal(joined(
        {"inline PTX: ", what,
         " cannot run in device emulation (docs/emulation.md lists what can): use a function "
         "of CUDA, or put it between #if !CONVLAB_EMULATED and #endif"}));
    editor_.insert(source_[keyword_].offset, joined({"static_assert(false, ", message, "); "}));
  }

  const Source& source_;
  Editor& editor_;
  std::size_t keyword_;
};

struct IncludedName {
  std::string text;
  std::size_t last;  ///< token of the name; the first is two after the #
};

/// The name in the #include directive that begins at token i.
std::optional<IncludedName> included_name(const Source& source, std::size_t i) {
  if (!source.is(i, "#") || !source.is(i + 1, "include") || i + 2 >= source.size())
    return std::nullopt;
  if (const Token& token = source[i + 2]; token.kind == Token::Kind::kString)
    return IncludedName{std::string(token.text.substr(1, token.text.size() - 2)), i + 2};
  if (!source.is(i + 2, "<")) return std::nullopt;
  std::string text;
  for (std::size_t k = i + 3; k < source.size() && source[k].directive == source[i].directive;
       ++k) {
    if (source.is(k, ">")) return IncludedName{text, k};
    text += source[k].text;
  }
  return std::nullopt;
}

class FileRewriter {
 public:
  FileRewriter(std::string_view text, const Source& source, const Names& names)
      : source_(source), names_(names), editor_(text, source) {}

  Rewritten run(const std::vector<Include>& includes, bool traced) {
    if (traced) rewrite_own_arrays(file_);
    replace_includes(includes);
    refuse_libraries();
    for (std::size_t i = 0; i < source_.size(); ++i) visit(i);
    rewrite_launches(file_);
    rewrite_variables(file_);
    rewrite_conversions(file_);
    Rewritten result = editor_.finish();
    for (Diagnostic& diagnostic : find_wrong_calls(source_, names_))
      result.diagnostics.push_back(std::move(diagnostic));
    return result;
  }

 private:
  void visit(std::size_t i) {
    const Token& token = source_[i];
    if (token.is("__launch_bounds__")) {
      launch_bounds(i);
    } else if (token.is("__noinline__")) {
      editor_.replace(i, "CONVLAB_NOINLINE");
    } else if (token.is("asm") || token.is("__asm__") || token.is("__asm")) {
      if (source_.may_be_device_code(i) || token.directive != 0) AssemblyRewriter(file_, i).run();
    } else if (token.kind == Token::Kind::kIdentifier) {
      refuse_unsupported(i);
      use_clock_of_device(i);
      use_heap_of_device(i);
    }
  }

  /// Inserts a check of the launch bounds at the beginning of the kernel's body; a declaration has
  /// none.
  void launch_bounds(std::size_t keyword) {
    if (!source_.is(keyword + 1, "(") || !source_.opens(keyword + 1)) return;
    std::size_t i = source_.partner(keyword + 1);
    const std::string bounds = source_.text(keyword + 1, i + 1);
    const int directive = source_[i].directive;
    for (++i; i < source_.size() && source_[i].directive == directive; ++i) {
      if (source_.is(i, ";")) return;
      if (source_.is(i, "{")) {
        editor_.insert(source_[i].end(), joined({" ", kRuntime, "check_launch_bounds", bounds, ";",
                                                 editor_.anchor(i, source_[i].end())}));
        return;
      }
      if (source_.opens(i)) i = source_.partner(i);
    }
  }

  /// What a kernel allocates is memory of the device.
  void use_heap_of_device(std::size_t i) {
    if (!source_.may_be_device_code(i) || i == 0) return;
    const bool is_other = source_.is(i - 1, ".") || source_.is(i - 1, "->") ||
                          source_.is(i - 1, "::") || source_.is(i - 1, "operator");
    if (is_other) return;
    if (source_.is(i, "new") && !source_.is(i + 1, "("))
      editor_.insert(source_[i].end(), joined({" (", kRuntime, "KernelHeap{})",
                                               editor_.anchor(i, source_[i].end())}));
    else if ((source_.is(i, "malloc") || source_.is(i, "free")) && source_.is(i + 1, "("))
      editor_.replace(
          i, joined({kRuntime, source_[i].text, "_anywhere", editor_.anchor(i, source_[i].end())}));
  }

  /// clock() of a kernel counts the cycles of its device; the host's of that name the time of the
  /// process, a thousand times more slowly.
  void use_clock_of_device(std::size_t i) {
    if (!source_.is(i, "clock") || !source_.is(i + 1, "(") || !source_.is(i + 2, ")")) return;
    const bool other = i > 0 && (source_.is(i - 1, ".") || source_.is(i - 1, "->") ||
                                 (source_.is(i - 1, "::") && i > 1 && source_.is(i - 2, "std")));
    if (!other && source_.may_be_device_code(i)) editor_.replace(i, "clock64");
  }

  void refuse_unsupported(std::size_t i) {
    struct Unsupported {
      Words names;
      const char* sentence;
    };
    static const Unsupported all[] = {
        {words_of("cudaTextureObject_t cudaSurfaceObject_t tex1D tex2D tex3D tex1Dfetch tex2DLod "
                  "surf2Dread surf2Dwrite"),
         "textures and surfaces cannot be emulated: read from global memory"},
        {words_of("cuInit cuDeviceGet cuCtxCreate cuModuleLoad cuModuleGetFunction "
                  "cuLaunchKernel cuMemAlloc cuMemCreate CUdeviceptr CUcontext CUmodule "
                  "CUfunction"),
         "CUDA's driver API cannot be emulated: take the runtime API (cudaMalloc, cudaMemcpy, "
         "kernel<<<blocks, threads>>>)"},
        {words_of("cudaMallocArray cudaMalloc3DArray cudaMemcpyToArray cudaMemcpy2DToArray"),
         "arrays of textures cannot be emulated: take cudaMalloc, cudaMallocPitch or cudaMalloc3D"},
        {words_of("cudaLaunchKernelEx cudaLaunchKernelExC cudaLaunchConfig_t"),
         "cudaLaunchKernelEx cannot be emulated: take kernel<<<blocks, threads>>>, or "
         "cudaLaunchCooperativeKernel"},
        {words_of("__cluster_dims__ cluster_group this_cluster"),
         "clusters of blocks cannot be emulated: let blocks meet in global memory, or in a "
         "cooperative launch"},
        {words_of("cp_async_bulk_shared_to_global cp_async_bulk_global_to_shared "
                  "fence_proxy_async_shared_cta barrier_arrive_tx CUtensorMap"),
         "bulk copies (TMA) cannot be emulated: take cuda::memcpy_async, or a loop"}};
    const std::string_view name = source_[i].text;
    if (names_.functions.contains(name)) return;
    for (const auto& [names, sentence] : all)
      if (names.contains(name)) editor_.complain(i, sentence);
    if (name == "texture" && source_.is(i + 1, "<")) editor_.complain(i, all[0].sentence);
  }

  void replace_includes(const std::vector<Include>& includes) {
    for (std::size_t i = 0; i + 2 < source_.size(); ++i) {
      const auto name = included_name(source_, i);
      if (!name) continue;
      for (const Include& include : includes) {
        if (name->text != include.name) continue;
        editor_.replace(i + 2, '"' + include.target + '"');
        if (name->last > i + 2) editor_.blank(source_[i + 2].end(), source_[name->last].end());
        break;
      }
    }
  }

  /// Replaces the #include of a library that needs a GPU by one of a missing header whose name says
  /// so. A compiler stops there; after an #error it would go on and complain of each use of the
  /// library. An #include that #if skips stays skipped.
  void refuse_libraries() {
    static const Words folders = {"cub", "cute", "cutlass", "thrust"};
    static const Words prefixes =
        words_of("cublas cudnn cufft curand cusolver cusparse nccl npp nvjpeg nvml nvrtc cuda_fp");
    const auto way_out = [](std::string_view name) {
      if (name.starts_with("curand"))
        return "draw the numbers on the host with std::mt19937 and copy them";
      if (name == "thrust" || name == "cub")
        return "use std::sort and its like on the host, or write a kernel";
      return name.starts_with("cuda_fp") ? "compute in half precision, or in single"
                                         : "write a kernel in its place";
    };
    for (std::size_t i = 0; i + 4 < source_.size(); ++i) {
      if (!source_.is(i, "#") || !source_.is(i + 1, "include") || !source_.is(i + 2, "<")) continue;
      const std::string_view first = source_[i + 3].text;
      const bool library = (source_.is(i + 4, "/") && folders.contains(first)) ||
                           std::ranges::any_of(prefixes, [&](std::string_view prefix) {
                             return first.starts_with(prefix);
                           });
      // These have a stand-in, because many files include them and call nothing.
      const bool stands_in = first == "cublas_v2" || first == "cudnn" || first == "cuda_fp16";
      if (!library || (stands_in && source_.is(i + 4, "."))) continue;
      const bool type = first.starts_with("cuda_fp");
      std::size_t close = i + 4;
      while (close < source_.size() && !source_.is(close, ">")) ++close;
      if (close < source_.size() && source_[close].directive == source_[i].directive)
        editor_.insert(source_[close].offset, std::string(type ? " is" : " needs a GPU and is") +
                                                  " not emulated: " + way_out(first));
    }
  }

  const Source& source_;
  const Names& names_;
  Editor editor_;
  const File file_{source_, names_, editor_};
};

}  // namespace

Rewritten rewrite(std::string_view text, const Source& source, const Names& names,
                  const std::vector<Include>& includes, bool traced) {
  return FileRewriter(text, source, names).run(includes, traced);
}

bool has_wide_accesses(const Source& source) {
  static const Words types = words_of(
      "int4 uint4 float4 long2 ulong2 longlong2 long4 ulong4 ulonglong2 longlong4 ulonglong4 "
      "double2 double4 __int128 __int128_t alignas __align__ cuDoubleComplex __float128 aligned "
      "__aligned__ __uint128_t wmma asm __asm__ __asm");
  // Only through a pointer are they wide.
  static const Words pairs = words_of("float2 int2 uint2 half2 __half2 __nv_bfloat162");
  for (std::size_t i = 0; i < source.size(); ++i) {
    std::string_view name = source[i].text;
    if (source[i].kind != Token::Kind::kIdentifier) continue;
    if (name.find("memcpy_async") != name.npos) return true;
    if (name.starts_with("make_")) name.remove_prefix(5);
    if (types.contains(name)) return true;
    const bool is_pointer = i + 1 < source.size() && source[i + 1].text == "*";
    if (is_pointer && pairs.contains(name)) return true;
  }
  return false;
}

std::vector<std::string> included_names(const Source& source, bool in_functions) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 2 < source.size(); ++i)
    if ((source.scope(i) == Scope::kFunction) == in_functions)
      if (const auto name = included_name(source, i)) names.push_back(name->text);
  return names;
}

void Editor::blank(std::size_t begin, std::size_t end) {
  std::string blank(text_.substr(begin, end - begin));
  for (std::size_t i = 0; i < blank.size(); ++i) {
    const bool joins_lines = blank[i] == '\\' && i + 1 < blank.size() && blank[i + 1] == '\n';
    if (blank[i] != '\n' && blank[i] != '\t' && !joins_lines) blank[i] = ' ';
  }
  replace_range(begin, end - begin, std::move(blank));
}

std::string Editor::anchor(std::size_t token, std::size_t offset) const {
  if (source_[token].directive != 0 || source_.in_parentheses(token)) return " ";
  std::string result = "\n#line ";
  result += std::to_string(source_[token].line) + "\n";
  constexpr std::size_t kMostColumns = 1000;  // nobody looks farther to the right
  const std::size_t first = offset - std::min(offset, kMostColumns);
  const std::string_view before = text_.substr(first, offset - first);
  const std::size_t line_end = before.rfind('\n');
  if (line_end == before.npos && first > 0) return result;
  for (const char c : before.substr(line_end + 1)) result += c == '\t' ? '\t' : ' ';
  return result;
}

Rewritten Editor::finish() {
  std::ranges::stable_sort(edits_, {}, &Edit::offset);
  Rewritten result;
  result.changed = !edits_.empty();
  std::size_t position = 0;
  for (const Edit& edit : edits_) {
    if (edit.offset < position) continue;
    result.text += text_.substr(position, edit.offset - position);
    result.text += edit.inserted;
    position = edit.offset + edit.removed;
  }
  result.text += text_.substr(position);
  std::ranges::stable_sort(diagnostics_, {}, &Diagnostic::line);
  result.diagnostics = std::move(diagnostics_);
  return result;
}

std::string string_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace convlab::rewrite
