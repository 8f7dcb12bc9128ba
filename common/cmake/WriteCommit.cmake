# Run at every build (cmake -P): writes the commit that is being built into a header, and touches
# the header only when the commit changed. Outside a clone (a copy of the tree on another machine, say)
# CONVLAB_COMMIT in the environment may tell it; else it says "unknown".
execute_process(
  COMMAND git describe --always --dirty --abbrev=7 --exclude=*
  WORKING_DIRECTORY "${SOURCE_DIR}"
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  RESULT_VARIABLE failed)
if(failed OR commit STREQUAL "")
  set(commit "$ENV{CONVLAB_COMMIT}")
endif()
if(commit STREQUAL "")
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#pragma once
namespace convlab {
inline constexpr const char* kCommit = \"${commit}\";
}
")
