# CUDA sources, for a GPU and for device emulation.
#
# For emulated code common/emulation/include and common/emulation/extended/include stand in for the
# CUDA Toolkit. convlab-rewrite rewrites a .cu file before the host compiler reads it; other sources
# (a test's main, say) are compiled as they are. No CUDA installation is needed.

# convlab_add_cuda_executable(NAME SOURCES… [LINK LIBRARIES…] [STANDARD 17])
#
# Two programs from the same sources: build/bin/NAME for a GPU, if a CUDA compiler was found, and
# build/bin/NAME-emulated for any machine. STANDARD: the C++ standard, 20 by default; nvcc's default
# is 17.
function(convlab_add_cuda_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "STANDARD" "LINK")
  if(NOT arg_STANDARD)
    set(arg_STANDARD ${CMAKE_CXX_STANDARD})
  endif()
  if(CONVLAB_HAS_GPU_COMPILER)
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${name} PRIVATE convlab_gpu_options ${arg_LINK})
    if(arg_STANDARD LESS CMAKE_CUDA_STANDARD)
      set_target_properties(${name} PROPERTIES CUDA_STANDARD ${arg_STANDARD})
    endif()
  endif()
  add_executable(${name}-emulated)
  convlab_add_emulated_sources(${name}-emulated ${arg_UNPARSED_ARGUMENTS})
  if(arg_STANDARD EQUAL CMAKE_CXX_STANDARD)
    convlab_precompile_runtime(${name}-emulated ${arg_UNPARSED_ARGUMENTS})
  else()
    set_target_properties(${name}-emulated PROPERTIES CXX_STANDARD ${arg_STANDARD})
  endif()
  target_link_libraries(${name}-emulated PRIVATE ${arg_LINK})
endfunction()

# convlab_add_emulated_test(NAME SOURCES… [LINK LIBRARIES…] [LABELS LABELS…] [TIMEOUT SECONDS])
#
# convlab_add_test for sources that include .cu files, run emulated. The .cu file may include
# Catch2's header; every TEST_CASE becomes one ctest test called NAME/CASE.
function(convlab_add_emulated_test name)
  if(NOT CONVLAB_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LINK;LABELS")
  set(cuda_sources ${arg_UNPARSED_ARGUMENTS})
  list(FILTER cuda_sources INCLUDE REGEX "\\.cu$")
  set(other_sources ${arg_UNPARSED_ARGUMENTS})
  list(FILTER other_sources EXCLUDE REGEX "\\.cu$")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  # The object library comes first because the test must have a source when it is declared.
  add_library(${name}_cuda OBJECT)
  convlab_add_emulated_sources(${name}_cuda ${cuda_sources})
  convlab_emulate_less(${name}_cuda ${cuda_sources})
  target_link_libraries(${name}_cuda PRIVATE Catch2::Catch2 ${arg_LINK})
  if(TARGET convlab_precompiled_emulated_test)
    target_link_libraries(${name}_cuda PRIVATE OpenMP::OpenMP_CXX)  # its flag is in the header's
    target_precompile_headers(${name}_cuda REUSE_FROM convlab_precompiled_emulated_test)
  endif()
  convlab_add_test(
    ${name} ${other_sources} $<TARGET_OBJECTS:${name}_cuda>
    LINK convlab_emulation_runtime convlab_emulation_matrix ${arg_LINK}
    LABELS ${arg_LABELS}
    TIMEOUT ${arg_TIMEOUT})
endfunction()

# convlab_add_gpu_test(NAME SOURCES… [LINK LIBRARIES…])
#
# convlab_add_test for .cu files, run on this machine's GPU and labelled gpu; does nothing if no GPU
# answered at configuration.
function(convlab_add_gpu_test name)
  if(NOT CONVLAB_HAS_GPU_COMPILER OR NOT CMAKE_CUDA_ARCHITECTURES_NATIVE)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  convlab_add_test(${name} ${arg_UNPARSED_ARGUMENTS} LINK convlab_gpu_options ${arg_LINK}
                   LABELS gpu)
endfunction()

# convlab_add_emulated_sources(TARGET SOURCES…)
#
# Used by all of the above: rewrites .cu SOURCES, compiles them into TARGET and links the runtime.
function(convlab_add_emulated_sources target)
  set(emulation "${CMAKE_SOURCE_DIR}/common/emulation")
  foreach(source IN LISTS ARGN)
    if(NOT source MATCHES "\\.cu$")
      target_sources(${target} PRIVATE ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(GET source FILENAME file)
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}.emulated/${file}.cpp")
    add_custom_command(
      OUTPUT "${output}"
      COMMAND convlab-rewrite "${source}" --output "${output}" --include "${CMAKE_SOURCE_DIR}"
              --exclude "${emulation}/include" --depfile "${output}.d"
              $<$<BOOL:$<TARGET_PROPERTY:${target},CONVLAB_TRACED>>:--traced>
      COMMAND_EXPAND_LISTS
      DEPENDS convlab-rewrite "${source}"
      DEPFILE "${output}.d"
      COMMENT "Rewriting ${file} for device emulation"
      VERBATIM)
    target_sources(${target} PRIVATE "${output}")
    set_source_files_properties(
      "${output}" PROPERTIES COMPILE_OPTIONS "$<TARGET_PROPERTY:convlab_emulated_code,INTERFACE_COMPILE_OPTIONS>")
  endforeach()
  target_link_libraries(${target} PRIVATE convlab_options convlab_emulation_headers
                                          convlab_emulation_runtime convlab_emulation_matrix)
endfunction()

# convlab_emulate_less(TARGET SOURCES…)
#
# For rewritten sources of short tests: compiles in half the time. Reports still have line numbers;
# to see variables in a debugger, use the preset debug.
function(convlab_emulate_less target)
  # GCC 13 refuses a precompiled header of another level.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    cmake_path(GET source FILENAME file)
    set_property(
      SOURCE "${CMAKE_CURRENT_BINARY_DIR}/${target}.emulated/${file}.cpp"
      APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1> $<$<CONFIG:Release>:-g1>)
  endforeach()
endfunction()

# Whether kernels may use the processor's fused multiply-add. Without it products are rounded before
# they are added (docs/emulation.md).
if(CONVLAB_NATIVE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  include(CheckCXXSourceRuns)
  check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"fma\") ? 0 : 1; }" CONVLAB_FUSED)
endif()

# The sanitizers of a whole build would take over these reports. Not by $<BOOL:…>: their names hold a
# comma.
set(convlab_gpu_values)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CONVLAB_SANITIZE)
  set(convlab_gpu_values -fsanitize=float-cast-overflow,shift-exponent)
endif()

# With sanitizers clang needs twelve minutes and more for one unrolled kernel at -O2, two at -O1.
set(convlab_kernels_optimise -O2)
if(CONVLAB_SANITIZE)
  set(convlab_kernels_optimise -O1)
endif()

# How rewritten sources are compiled: with line numbers for reports (DWARF 4, because older versions
# of addr2line name wrong files with DWARF 5), and without warnings that are usual for
# CUDA code.
add_library(convlab_emulated_code INTERFACE)
target_compile_options(
  convlab_emulated_code
  INTERFACE # Above -O2 kernels became slower, not faster.
            $<$<CONFIG:Release,RelWithDebInfo>:${convlab_kernels_optimise}>
            # As nvcc: a product and a sum become one instruction in kernels, if the processor has it
            # (__global__ in cuda_runtime.h), and memory is read by any type.
            -ffp-contract=fast
            $<$<CXX_COMPILER_ID:GNU>:-fexpensive-optimizations>
            # GCC 13 would keep the sums of a loop from becoming one, because each waits for the last.
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:--param=avoid-fma-max-bits=0>
            # It would pack sums without their products.
            -fno-tree-slp-vectorize
            -fno-strict-aliasing
            $<$<BOOL:${CONVLAB_FUSED}>:-DCONVLAB_FUSED>
            # The runtime tells of conversions and shifts whose values are others on a GPU
            # (common/emulation/runtime/compiler_checks.cpp).
            ${convlab_gpu_values}
            # An inner loop that straddles two cache lines costs a naive kernel 8 %.
            -falign-loops=32
            -gdwarf-4
            ${convlab_lines_only}
            # Of two branches with a store each, a report names the line of the one that ran.
            $<$<CXX_COMPILER_ID:GNU>:-fno-tree-sink;-fno-crossjumping;-fno-tree-tail-merge>
            # A null pointer must fail when it is used; clang must not drop the access.
            -fno-delete-null-pointer-checks
            # A local array larger than the guard pages must not step over them.
            -fstack-clash-protection
            -Wno-unknown-pragmas
            # clang warns if it does not follow an #pragma unroll.
            $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
            # A kernel as handed out uses none of its parameters.
            -Wno-unused-parameter
            -Wno-conversion
            -Wno-shadow
            # threadIdx is unsigned, the sizes of most kernels are not.
            -Wno-sign-compare
            -Wno-deprecated
            # Else clang's -Wno-deprecated hides what nvcc refuses (a note of the compiler tells it).
            $<$<CXX_COMPILER_ID:Clang>:-Wdeprecated-declarations>
            -Wno-unused-function
            -Wno-unused-local-typedefs)

# convlab_precompile_runtime(TARGET SOURCES…)
#
# Precompiles the headers that most stages include, for the rewritten sources of TARGET: a small
# kernel spends most of its compile time on them. SOURCES: all of the target's; the others do
# without. Only with GCC, and not with sanitizers, whose build clang-tidy reads.
function(convlab_precompile_runtime target)
  if(NOT TARGET convlab_precompiled_runtime)
    return()
  endif()
  set(others ${ARGN})
  list(FILTER others EXCLUDE REGEX "\\.cu$")
  if(others)
    set_source_files_properties(${others} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  target_precompile_headers(${target} REUSE_FROM convlab_precompiled_runtime)
endfunction()

# convlab_precompile_emulated(NAME HEADERS…)
#
# The same flags as rewritten sources, or GCC refuses the result.
function(convlab_precompile_emulated name)
  set(unit "${CMAKE_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "// A target must have a source.\n")
  add_library(${name} OBJECT "${unit}")
  set(emulation "${CMAKE_SOURCE_DIR}/common/emulation")
  target_include_directories(${name} PRIVATE "${emulation}/include" "${emulation}/extended/include")
  target_link_libraries(${name} PRIVATE convlab_options convlab_emulated_code)
  target_precompile_headers(${name} PRIVATE <cuda_runtime.h> ${ARGN})
endfunction()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CONVLAB_SANITIZE)
  convlab_precompile_emulated(
    convlab_precompiled_runtime "${CMAKE_SOURCE_DIR}/common/device/cuda_check.cuh"
    "${CMAKE_SOURCE_DIR}/common/stage/device_convolution.cuh"
    "${CMAKE_SOURCE_DIR}/common/stage/stage.hpp")
  if(CONVLAB_TESTS)
    convlab_precompile_emulated(convlab_precompiled_emulated_test
                                "${CMAKE_SOURCE_DIR}/common/base/tests/support/catch.hpp")
    target_link_libraries(convlab_precompiled_emulated_test PRIVATE Catch2::Catch2
                                                                    OpenMP::OpenMP_CXX)
  endif()
endif()
