# The user's options, and the compile flags that all targets of the workbook share.

option(CONVLAB_WERROR "Treat compiler warnings as errors" OFF)
option(CONVLAB_TESTS "Build the tests (needs Catch2)" ON)
option(CONVLAB_BENCHMARKS "Build the benchmarks where Google Benchmark is found" ON)
option(CONVLAB_NATIVE "Compile the CPU stages for exactly this machine's processor" ON)
option(CONVLAB_UNITY "Compile several files of a library as one, for a fast first build" ON)
set(CONVLAB_SANITIZE "" CACHE STRING "Sanitizers to build with, for example address,undefined")

# A hand-out has no tests (milestones/handout.list).
if(NOT EXISTS "${CMAKE_SOURCE_DIR}/grader/corpus")
  set(CONVLAB_TESTS OFF)
  set(CONVLAB_BENCHMARKS OFF)
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "ConvLab needs GCC 12 or newer; this is ${CMAKE_CXX_COMPILER_VERSION}. "
                      "On Debian or Ubuntu: common/setup/lab setup")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
  message(FATAL_ERROR "ConvLab needs clang 16 or newer; this is ${CMAKE_CXX_COMPILER_VERSION}. "
                      "On Debian or Ubuntu: common/setup/lab setup")
endif()

# Of the time until a small file is checked, GNU's usual linker takes a quarter; gold, from the same
# package, takes half as long.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold CONVLAB_HAS_GOLD)

# convlab_options: linked by every target.
add_library(convlab_options INTERFACE)
target_include_directories(convlab_options INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(
  convlab_options
  INTERFACE
    # Results must not depend on the compiler's freedom to fuse a multiply and an add.
    $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
    # GCC looks for garbage in its memory less often: a tenth to a fifth of the time to compile a file,
    # for 200 MB more at most (512 MiB, in KiB).
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wno-sign-conversion>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${CONVLAB_WERROR}>>:-Werror>)
if(CONVLAB_SANITIZE)
  message(STATUS "Sanitizers: everything is compiled again, file by file; m1 alone takes minutes")
  target_compile_options(
    convlab_options INTERFACE -fsanitize=${CONVLAB_SANITIZE} -fno-omit-frame-pointer
                              -fno-sanitize-recover=all)
  target_link_options(convlab_options INTERFACE -fsanitize=${CONVLAB_SANITIZE})
  # Frames that outlive their call lie on the heap, where GCC 13 does not align vectors of 64 bytes
  # (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=110027) and where no fiber looks for them.
  target_compile_options(
    convlab_options
    INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=asan-use-after-return=0>
              # It takes std::regex for uninitialised: https://gcc.gnu.org/PR105562
              $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>
              # clang warns where an instrumented loop is not vectorised.
              $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed>)
endif()

# convlab_unsanitized: linked last by programs that need the plain system. A sanitizer's runtime has
# its own signal handlers, threads and memory.
add_library(convlab_unsanitized INTERFACE)
if(CONVLAB_SANITIZE)
  target_compile_options(convlab_unsanitized INTERFACE -fno-sanitize=all)
  target_link_options(convlab_unsanitized INTERFACE -fno-sanitize=all)
endif()

# Lines for findings need no places of variables, which cost a seventh of the time to compile. The
# preset debug has them.
set(convlab_lines_only
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-fno-var-tracking-assignments>)

# convlab_native: linked by CPU stages only, so that a student's loop uses the whole machine.
# Everything else must run on any processor of the architecture. Stages are compared with a bound on
# the error, not bit by bit, so a multiply and an add may become one instruction.
#
# The flags are a library of their own, linked last: options of a library come before those of the
# libraries that it links, and the last of two flags counts.
add_library(convlab_native_flags INTERFACE)
target_compile_options(convlab_native_flags INTERFACE -ffp-contract=fast
                                                      # The line of a crash, for a finding.
                                                      -gdwarf-4
                                                      ${convlab_lines_only}
                                                      $<$<NOT:$<CONFIG:Debug>>:-O3>)
if(CONVLAB_NATIVE)
  target_compile_options(convlab_native_flags INTERFACE -march=native)
endif()
add_library(convlab_native INTERFACE)
target_link_libraries(convlab_native INTERFACE convlab_options convlab_native_flags)

# convlab_optimise_less(LEVEL TARGETS…)
#
# For code that need not be fast: it compiles in a third to a half of the time. Most of it is CLI11
# and nlohmann-json, which are compiled into every file that uses them. In Release only. The level
# comes after that of the build type, and the options of a file come after both.
function(convlab_optimise_less level)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target}
                           PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:${level}>)
  endforeach()
endfunction()

# The same for files of the current folder.
function(convlab_optimise_files_less level)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:${level}>)
endfunction()
