// What is judged of a given file before it runs: its symbols, and whether the machine is at fault.
#include <sys/stat.h>

#include "common/file/whole_file.hpp"
#include "common/testing/catch.hpp"
#include "common/testing/temporary_folder.hpp"
#include "grader/submission/machine_faults.hpp"
#include "grader/submission/symbol_rules.hpp"

using namespace convlab;
using Kind = grader::SymbolProblem::Kind;

namespace {

void write_program(const std::filesystem::path& file) {
  write_atomically(file, "#!/bin/sh\n");
  ::chmod(file.c_str(), 0700);
}

}  // namespace

TEST_CASE("symbols: what the box allows may be used") {
  for (const char* name :
       {"cexpf", "syscall", "mmap", "madvise", "pthread_create", "__cpu_model",
        "_ZNSt3pmr20get_default_resourceEv", "_ZSt15__once_callable", "futimens", "dl_sum"}) {
    CAPTURE(name);
    CHECK_FALSE(grader::find_symbol_problem(std::string(name) + " U\n"));
  }
}

TEST_CASE("symbols: what the box refuses, and what reaches around these rules, is refused") {
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
  CHECK(grader::find_symbol_problem("cblas_sgemm U\n")->kind == Kind::kLibrary);
  CHECK(grader::find_symbol_problem("clock_gettime T 0\n")->kind == Kind::kReplacement);
}

TEST_CASE("symbols: a name is shown without what a terminal would obey") {
  CHECK(grader::find_symbol_problem("_dl_\x1b[32mPASSED U\n")->name == "_dl_�[32mPASSED");
}

TEST_CASE("machine: a folder that takes files is not at fault, one that does not says why") {
  const testing::TemporaryFolder folder;
  CHECK(grader::fault_of_storage(folder.path()).empty());
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(grader::fault_of_storage(folder.path() / "none") == "No such file or directory");
}

TEST_CASE("machine: names the tool that is gone") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path compiler = folder.path() / "compiler";
  write_program(compiler);
  for (const char* step : {"cpu.compile", "cpu.link"}) {
    write_atomically(folder.path() / "given_file" / step, compiler.string() + "\n-c\n");
  }
  CHECK(grader::missing_tool(folder.path(), "cpu").empty());
  ::chmod(compiler.c_str(), 0600);
  CHECK(grader::missing_tool(folder.path(), "cpu") == compiler.string());
  std::filesystem::remove(compiler);
  CHECK(grader::missing_tool(folder.path(), "cpu") == compiler.string());
}
