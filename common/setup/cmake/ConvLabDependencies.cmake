# Libraries from the distribution. `common/setup/lab setup` installs them on Debian and Ubuntu.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(ZLIB REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
# For `grader class` only; a hand-out does not need them.
find_package(SQLiteCpp QUIET)
find_package(LibArchive QUIET)
find_package(ICU QUIET COMPONENTS uc)

if(CONVLAB_TESTS)
  # Debian 12 has Catch2 2.13, newer distributions 3.x; common/base/tests/support/catch.hpp hides the difference.
  find_package(Catch2 CONFIG REQUIRED)
  include(Catch)
endif()

if(CONVLAB_BENCHMARKS)
  find_package(benchmark CONFIG QUIET)
  # Debian's oneDNN requires OpenCL, which would end the configuration if that is missing; so check
  # first.
  find_package(OpenCL QUIET)
  if(OpenCL_FOUND)
    find_package(dnnl CONFIG QUIET)
  endif()
endif()
