// Judgements on a custom submission before it runs: its symbols, and whether the machine is at
// fault.
#include <sys/stat.h>

#include <filesystem>
#include <regex>
#include <sstream>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "grader/submission/build_submission.hpp"

using namespace convlab;
using Kind = grader::SymbolProblem::Kind;

TEST_CASE("a function of the course interface that is never called is named") {
  using convlab::stranger_in;
  const std::string prolog = "_Z23conv_forward_gpu_prologPKfS0_S0_PPfS2_S2_iiiiiii T 0 8\n";
  const std::string member = "_ZN12GPUInterface16conv_forward_gpuEPfPKfS1_iiiiiii T 0 8\n";
  CHECK(stranger_in(member).empty());
  CHECK(stranger_in(member + prolog).starts_with("_Z23conv_forward_gpu_prologPKf"));
  CHECK(stranger_in(prolog).empty());  // no file of the course
  CHECK(stranger_in("_Z16conv_forward_cpuPfPKfS1_iiiiii T 0 8\n").empty());
  CHECK(stranger_in("_Z16conv_forward_cpuPfS_S_iiiiii T 0 8\n") ==
        "_Z16conv_forward_cpuPfS_S_iiiiii");
  CHECK(stranger_in("_Z21conv_forward_gpu_fullPfPKfS1_iiiiii T 0 8\n").empty());
  CHECK(stranger_in("_Z21conv_forward_gpu_fullPfS_S_iiiiii T 0 8\n").empty());
  const std::string with_bias = "_Z21conv_forward_gpu_fullPfPKfS1_S1_iiiiii";
  CHECK(stranger_in(with_bias + " T 0 8\n") == with_bias);
}

TEST_CASE("submission: the registers of kernels") {
  const auto registers = convlab::grader::registers_printed(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function "
      "'_ZN36_GLOBAL__N__89b8bf71_4_t_cu_13089c721fILi3EEEvPf' for 'sm_90'\n"
      "ptxas info    : Function properties for "
      "_ZN36_GLOBAL__N__89b8bf71_4_t_cu_13089c721fILi3EEEvPf\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 38 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function "
      "'_ZN36_GLOBAL__N__89b8bf71_4_t_cu_13089c721fILi4EEEvPf' for 'sm_90'\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function '_Z1gP6__half' for 'sm_90'\n"
      "ptxas info    : Used 10 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function 'plain' for 'sm_90'\n"
      "ptxas info    : Used 12 registers\n");
  CHECK(registers == std::map<std::string, int>{{"f", 38}, {"g", 10}, {"plain", 12}});
  CHECK(convlab::grader::registers_of(registers, {"tiles::f<Wide>", "kernel"}) ==
        std::map<std::string, int>{{"tiles::f<Wide>", 38}, {"kernel", 12}});
  CHECK(convlab::grader::registers_of({}, {"f"}).at("f") == 0);
  CHECK(convlab::grader::registers_printed("error: no kernel; Used 7 registers").empty());
}

TEST_CASE("symbols: what the sandbox refuses, and what reaches around these rules, is refused") {
  for (const char* name :
       {"cexpf", "syscall", "mmap", "madvise", "pthread_create", "__cpu_model", "futimens",
        "dl_sum", "_ZNSt3pmr20get_default_resourceEv", "_ZSt15__once_callable", "_ZZN4mineE1x",
        "_ZN7convlab8validateERKNS_9ConvShapeE", "_ZN7convlab9emulation10pop_launchEv",
        "_ZN7convlab9emulation3ptx11copy_commitEv"}) {
    CAPTURE(name);
    CHECK_FALSE(grader::find_symbol_problem(std::string(name) + " U\n"));
  }
  CHECK_FALSE(grader::find_symbol_problem("mprotect U\n", {"mprotect"}));
  struct Row {
    const char* symbol;
    Kind kind;
    const char* name = nullptr;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"fork U", Kind::kForbidden, "fork"},
           {"kill U", Kind::kForbidden, "kill"},
           {"dlsym@GLIBC_2.2.5 U", Kind::kForbidden, "dlsym"},
           {"environ U", Kind::kForbidden, "environ"},
           {"mprotect U", Kind::kForbidden, "mprotect"},
           {"_dl_\x1b[32mPASSED U", Kind::kForbidden, "_dl_�[32mPASSED"},
           {"io_uring_setup U", Kind::kForbidden, "io_uring_setup"},
           {"_ZN7convlab5serveEiPNS_13DeviceSessionE U", Kind::kForbidden,
            "convlab::serve(int, convlab::DeviceSession*)"},
           {"_ZN7convlab8baseline5denseEPKfS2_S2_Pfiii U", Kind::kForbidden},
           {"_ZZN7convlab6detail11noted_faultEvE8instance U", Kind::kForbidden},
           {"system-call-instruction U", Kind::kForbidden,
            "the system by an instruction of its own"},
           {"cblas_sgemm U", Kind::kLibrary, "cblas_sgemm"},
           {"__tsan_read4 T 0", Kind::kReplaced},
           {"__sanitizer_cov_trace_pc t 0", Kind::kReplaced},
           {"convlab_traced_memcpy W 0", Kind::kReplaced},
           {"_ZN7convlab9emulation13observe_fenceEb T 0", Kind::kReplaced}}) {
    CAPTURE(row.symbol);
    const auto problem = grader::find_symbol_problem("printf U\n" + std::string(row.symbol) + "\n");
    REQUIRE(problem);
    CHECK(problem->kind == row.kind);
    if (row.name != nullptr) CHECK(problem->name == row.name);
  }
  // What a file defines is its own.
  for (const char* symbols :
       {"clock_gettime T 0\nsend B 8\nmain T 0\ntimes C 8\n",
        "_ZN7convlab9emulation3ptx4coldEv W 0 8\n_ZZN7convlab4ownedEvE3one u 0 8\n",
        "_ZN7convlab9emulation11BoundCopies3addEv W 0 8\n"}) {
    CHECK_FALSE(grader::find_symbol_problem(symbols));
  }
}

TEST_CASE("symbols: of the emulated device what its headers call may be used, and no more") {
  const auto steers = [](const std::string& name) {
    return grader::find_symbol_problem("_ZN7convlab9emulation" + std::to_string(name.size()) +
                                       name + "Ev U\n");
  };
  for (const char* name : {"reveal_numbers", "choose_settings", "limit_kernels", "note_launch",
                           "renew_device", "DeviceMemory"}) {
    CAPTURE(name);
    CHECK(steers(name));
  }
  // Every function that a header declares at the beginning of a line.
  const std::regex declares(
      R"(^(?:(?:\[\[\w+\]\] )?[a-z][\w:]*[ *&]+(\w+)\(.*\);|cudaError_t (\w+)\(.*,)$)");
  int count = 0;
  for (const auto& header : std::filesystem::directory_iterator(
           network_folder().parent_path() / "emulation/include/convlab_emulation")) {
    const std::string name = header.path().filename().string();
    // What records and steers, and another namespace.
    if (name == "activity.hpp" || name == "ptx.hpp") continue;
    std::istringstream lines(read_text(header.path()));
    for (std::string line; std::getline(lines, line);) {
      std::smatch part;
      if (!std::regex_match(line, part, declares)) continue;
      const std::string declared = part[1].matched ? part[1] : part[2];
      if (line.starts_with("using ") || declared.starts_with("cuda")) continue;
      if (part[2].matched && name != "runtime_api.hpp") continue;  // templates
      CAPTURE(name, line);
      CHECK_FALSE(steers(declared));
      ++count;
    }
  }
  CHECK(count > 20);
}

TEST_CASE("machine: a folder that takes files is not at fault; a tool that is gone is named") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path compiler = folder.path() / "compiler";
  write_atomically(compiler, "#!/bin/sh\n");
  ::chmod(compiler.c_str(), 0700);
  for (const char* step : {"cpu.compile", "cpu.link"}) {
    write_atomically(folder.path() / "custom_submission" / step, compiler.string() + "\n-c\n");
  }
  CHECK_NOTHROW(grader::require_machine(folder.path(), folder.path(), "cpu"));
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(grader::require_machine(folder.path() / "none", folder.path(), "cpu"),
                    ContainsSubstring("none: No such file or directory; free some space"));
  ::chmod(compiler.c_str(), 0600);
  CHECK(grader::missing_tool(folder.path(), "cpu") == compiler.string());
  std::filesystem::remove(compiler);
  CHECK_THROWS_WITH(grader::require_machine(folder.path(), folder.path(), "cpu"),
                    ContainsSubstring("is gone (" + compiler.string()));
}

TEST_CASE("build errors: each is told of the student's file") {
  using convlab::grader::BuildError;
  const std::filesystem::path sources = "/build/sources";
  const std::string own = "/build/sources/conv-1f/files/conv.cu";
  const auto first = [&](const std::string& printed) {
    return convlab::grader::first_build_error(printed, sources);
  };

  SECTION("an error at the same place says why a call fits no template") {
    const BuildError error =
        first(own + ":38:23: error: no matching function for call to 'add<n>(float)'\n" + own +
              ":15:17: note:   template argument deduction/substitution failed:\n" + own +
              ":38:23: error: the value of 'n' is not usable in a constant expression\n");
    CHECK(error.said() == "conv.cu:38: error: no matching function for call to 'add<n>(float)'");
    CHECK(error.notes.find("the value of 'n' is not usable") != std::string::npos);
  }

  SECTION("with notes, fix-its and what the compiler made of names") {
    const BuildError error = first(
        own + ":9:1: warning: 'x' is not used\n" + own + ": In function 'void f()':\n" + own +
        ":21:3: error: 'float {anonymous}::f(convlab::ConvShape)' is no 'std::size_t' {aka 'long'} "
        "[-fpermissive]\n   21 |   error: no line of a compiler\n" +
        "fix-it:\"" + own + "\":{5:1-5:1}:\"#include <cstring>\\n\"\n" +
        "In file included from /usr/include/string:50,\n                 from " + own + ":3:\n" +
        "/usr/include/bits/algo.h:230:5: note: candidate\n" + own + ":22:9: error: another\n" +
        own + ":7:5: note: of the other\n");
    CHECK(error.said() ==
          "conv.cu:21: error: 'float f(ConvShape)' is no 'std::size_t' (and 1 more)");
    CHECK(error.column == 3);
    CHECK(error.notes == "candidate\n");
    REQUIRE(error.fixes.size() == 1);
    CHECK(error.fixes[0].text == "#include <cstring>\n");
  }

  SECTION("in a header, with the line that needs it") {
    const std::string header = "/home/common/emulation/include/mma.h:97:32: error: no fragment\n";
    CHECK(first("In file included from " + own + ":5:\n/w/mma.h: In instantiation of 'f':\n" + own +
                ":32:61:   required from here\n" + header)
              .line == 32);
    CHECK(first("/home/mma.h:1:1: error: 'a'\n" + own + ":33:1: note: in expansion of macro 'M'\n")
              .said() == "conv.cu:33: error: 'a'");
    // One that has no place in the file comes after one that has.
    CHECK(first(header + own + ":40:1: error: own\n").said() ==
          "conv.cu:40: error: own (and 1 more)");
    CHECK(first(own + ":9:1: warning: own\n" + header).said() == "no fragment");
  }

  SECTION("of nvcc, of the rewriter and of the linker") {
    CHECK(first(own + "(16): error: expected a \";\"\n").said() ==
          "conv.cu:16: error: expected a \";\"");
    CHECK(first(own + ":16: error: a kernel must return void\n").column == 0);
    CHECK(first(own + ":35: error: undefined reference to '(anonymous namespace)::at(int)'\n"
                      "collect2: error: ld returned 1 exit status\n")
              .said() == "conv.cu:35: error: undefined reference to 'at(int)'");
  }

  SECTION("without generated expressions, and in bounded length") {
    CHECK(first(own +
                ":1:1: error: could not convert '(({anonymous}::Gpu*)this)->{anonymous}::Gpu::"
                "in_' to '*(input + ((sizetype)(b * 4)))'\n")
              .text == "could not convert 'in_' to 'input[…]'");
    CHECK(first(own + ":1:1: error: '" + std::string(100'000, 'x') + "'\n").text.size() <= 300);
    for (const char* part : {"error: ", "'", ":", "(", "fix-it:\"\":{", " {aka ", "*)this)->"}) {
      std::string many;
      for (int i = 0; i < 20'000; ++i) many += part;
      CHECK(first(many).text.size() <= 300);
      CHECK(first(own + ":1:1: error: " + many).line == 1);
    }
  }
}
