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

namespace {

void write_program(const std::filesystem::path& file) {
  write_atomically(file, "#!/bin/sh\n");
  ::chmod(file.c_str(), 0700);
}

}  // namespace

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

TEST_CASE("symbols: what the sandbox allows may be used") {
  for (const char* name :
       {"cexpf", "syscall", "mmap", "madvise", "pthread_create", "__cpu_model",
        "_ZNSt3pmr20get_default_resourceEv", "_ZSt15__once_callable", "futimens", "dl_sum",
        "_ZN7convlab9emulation10pop_launchEv", "_ZN7convlab9emulation3ptx11copy_commitEv"}) {
    CAPTURE(name);
    CHECK_FALSE(grader::find_symbol_problem(std::string(name) + " U\n"));
  }
}

TEST_CASE("symbols: what the sandbox refuses, and what reaches around these rules, is refused") {
  for (const char* name : {"fork", "posix_spawn", "system", "kill", "socket", "memfd_create",
                           "dlsym", "environ", "setenv", "_DYNAMIC", "_dl_sym", "io_uring_setup"}) {
    CAPTURE(name);
    const auto problem = grader::find_symbol_problem("printf U\n" + std::string(name) + " U\n");
    REQUIRE(problem);
    CHECK(problem->kind == Kind::kForbidden);
    CHECK(problem->name == name);
  }
  const auto own = grader::find_symbol_problem("_ZN7convlab5serveEiPNS_13DeviceSessionE U\n");
  REQUIRE(own);
  CHECK(own->name == "convlab::serve(int, convlab::DeviceSession*)");
  CHECK(grader::find_symbol_problem("_ZN7convlab8baseline5denseEPKfS2_S2_Pfiii U\n"));
  CHECK_FALSE(grader::find_symbol_problem("_ZN7convlab8validateERKNS_9ConvShapeE U\n"));
  const auto instruction = grader::find_symbol_problem("system-call-instruction U\n");
  REQUIRE(instruction);
  CHECK(instruction->name == "the system by an instruction of its own");
  CHECK(grader::find_symbol_problem("cblas_sgemm U\n")->kind == Kind::kLibrary);
  CHECK_FALSE(grader::find_symbol_problem("clock_gettime T 0\nsend B 8\nmain T 0\ntimes C 8\n"));
}

TEST_CASE("symbols: what observes a file, and variables inside the workbook, are the workbook's") {
  for (const char* name :
       {"__tsan_read4 T 0", "__sanitizer_cov_trace_pc t 0", "convlab_traced_copy W 0",
        "_ZN7convlab9emulation13observe_fenceEv T 0"}) {
    CAPTURE(name);
    const auto problem = grader::find_symbol_problem(std::string(name) + " 8\n");
    REQUIRE(problem);
    CHECK(problem->kind == Kind::kReplaced);
  }
  CHECK(grader::find_symbol_problem("_ZZN7convlab6detail11noted_faultEvE8instance U\n"));
  for (const char* name : {"_ZN7convlab9emulation3ptx4coldEv W", "_ZZN7convlab4ownedEvE3one u",
                           "_ZN7convlab9emulation11BoundCopies3addEv W", "_ZZN4mineE1x U"}) {
    CAPTURE(name);
    CHECK_FALSE(grader::find_symbol_problem(std::string(name) + " 0 8\n"));
  }
}

TEST_CASE("symbols: a name is shown without what a terminal would obey") {
  CHECK(grader::find_symbol_problem("_dl_\x1b[32mPASSED U\n")->name == "_dl_�[32mPASSED");
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

TEST_CASE("symbols: a name that refers to its parts again and again is shown as it is") {
  std::string name = "_ZN7convlab5serveE1aIiiE";
  for (char part = '1'; part < '9'; ++part) {
    name += std::string("S0_IS") + part + "_S" + part + "_E";
  }
  const auto problem = grader::find_symbol_problem(name + " U\n");
  REQUIRE(problem);
  CHECK(problem->name.size() < 100);
}

TEST_CASE("machine: a folder that takes files is not at fault, one that does not says why") {
  const testing::TemporaryFolder folder;
  CHECK_NOTHROW(grader::require_storage(folder.path()));
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_THROWS_WITH(
      grader::require_storage(folder.path() / "none"),
      Catch::Matchers::ContainsSubstring("none: No such file or directory; free some space"));
}

TEST_CASE("machine: names the tool that is gone") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path compiler = folder.path() / "compiler";
  write_program(compiler);
  for (const char* step : {"cpu.compile", "cpu.link"}) {
    write_atomically(folder.path() / "custom_submission" / step, compiler.string() + "\n-c\n");
  }
  CHECK(grader::missing_tool(folder.path(), "cpu").empty());
  ::chmod(compiler.c_str(), 0600);
  CHECK(grader::missing_tool(folder.path(), "cpu") == compiler.string());
  std::filesystem::remove(compiler);
  CHECK(grader::missing_tool(folder.path(), "cpu") == compiler.string());
}
