# Run at every build (cmake -P): writes the commit that is being built into a header, and touches
# the header only when the commit changed. On another machine, a copy of the tree may
# lack its history: there the environment variable CONVLAB_COMMIT gives the commit.
set(commit "$ENV{CONVLAB_COMMIT}")
if(commit STREQUAL "")
  execute_process(
    COMMAND git describe --always --dirty --abbrev=7 --exclude=*
    WORKING_DIRECTORY "${SOURCE_DIR}"
    OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(commit STREQUAL "")
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#pragma once
namespace convlab {
inline constexpr const char* kCommit = \"${commit}\";
}
")
