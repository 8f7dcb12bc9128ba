# The functions that make the targets of the workbook.

# convlab_add_folders(FOLDERS…): as add_subdirectory, for those that are there; a hand-out has only what
# milestones/handout.list names. A macro, so that a folder can set a variable for its parent.
macro(convlab_add_folders)
  foreach(folder ${ARGN})
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      add_subdirectory(${folder})
    endif()
  endforeach()
endmacro()

# convlab_compile_together(TARGET [FILES])
#
# Compiles up to eight files of TARGET as one, or as many as FILES says: most of the time that a file takes to compile is the
# headers of the standard library, CLI11 and nlohmann-json. So names in the anonymous namespaces of a
# target must differ. Files with options of their own are compiled alone, and so are all files where
# CONVLAB_UNITY is off.
function(convlab_compile_together target)
  if(CONVLAB_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    if(ARGC GREATER 1)
      set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${ARGV1})
    endif()
  endif()
endfunction()

# convlab_add_library(NAME SOURCES… [LINK LIBRARIES…])
#
# A static library under common/, reference/ or grader/. LINK names are public.
# Each header beside the sources is also compiled alone (see convlab_check_headers).
function(convlab_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  if(arg_UNPARSED_ARGUMENTS)
    add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
    target_link_libraries(${name} PUBLIC convlab_options ${arg_LINK})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    convlab_compile_together(${name})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE convlab_options ${arg_LINK})
  endif()
  convlab_check_headers(${name})
endfunction()

# Compiles every header of the current folder alone, so that no header relies on an include of its
# user. If NAME.cpp begins with NAME.hpp, as clang-format orders it, compiling that file is the
# check.
function(convlab_check_headers name)
  if(NOT CONVLAB_TESTS OR CONVLAB_SANITIZE)
    return()
  endif()
  file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.hpp")
  set(units "")
  foreach(header IN LISTS headers)
    cmake_path(REPLACE_EXTENSION header LAST_ONLY .cpp OUTPUT_VARIABLE source)
    set(first "")
    if(EXISTS "${source}")
      file(STRINGS "${source}" first REGEX "^#include" LIMIT_COUNT 1)
    endif()
    cmake_path(GET header FILENAME file)
    string(FIND "${first}" "/${file}\"" at)
    if(at GREATER -1)
      continue()
    endif()
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE relative)
    string(MAKE_C_IDENTIFIER "${relative}" identifier)
    set(unit "${CMAKE_BINARY_DIR}/header_selfcontained/${identifier}.cpp")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "#include \"${relative}\"\n")
    list(APPEND units "${unit}")
  endforeach()
  if(units)
    add_library(header_selfcontained_${name} OBJECT ${units})
    target_link_libraries(header_selfcontained_${name} PRIVATE ${name})
    convlab_optimise_less(-O0 header_selfcontained_${name})
  endif()
endfunction()

# convlab_add_test(NAME SOURCES… [LINK LIBRARIES…] [LABELS LABELS…] [TIMEOUT SECONDS])
#
# One Catch2 executable; every TEST_CASE becomes one ctest test called NAME/CASE.
function(convlab_add_test name)
  if(NOT CONVLAB_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LINK;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE convlab_options Catch2::Catch2WithMain ${arg_LINK})
  convlab_optimise_less(-Og ${name})
  if(TARGET convlab_precompiled_catch)
    target_link_libraries(${name} PRIVATE OpenMP::OpenMP_CXX)  # its flag is in the header's
    target_precompile_headers(${name} REUSE_FROM convlab_precompiled_catch)
  endif()
  target_compile_definitions(
    ${name} PRIVATE CONVLAB_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                    CONVLAB_BINARY_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  # Tests run beside each other, each with a thread per core: threads that wait must not spin, or on a
  # machine with many cores the limit passes. The longest (COST) start first, so that none is alone at
  # the end.
  catch_discover_tests(
    ${name}
    TEST_PREFIX "${name}/"
    # LABELS last: it may be empty, and would then take the next name for its value.
    PROPERTIES TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT} ENVIRONMENT OMP_WAIT_POLICY=passive
               SKIP_REGULAR_EXPRESSION "skipped: " LABELS "${arg_LABELS}")
endfunction()

# convlab_add_mutation_fuzzer(NAME SOURCES… [LINK LIBRARIES…])
#
# A program with testing::fuzz_main, build/…/tests/NAME. Its first inputs are a test; --seconds 600 is
# a long run.
function(convlab_add_mutation_fuzzer name)
  if(NOT CONVLAB_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE convlab_options convlab_mutation_fuzz ${arg_LINK})
  convlab_optimise_less(-Og ${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 ENVIRONMENT OMP_WAIT_POLICY=passive)
endfunction()

# Catch2's header is half of what a test takes to compile. As with convlab_precompile_runtime: only with
# GCC, and not with sanitizers.
if(CONVLAB_TESTS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CONVLAB_SANITIZE)
  set(unit "${CMAKE_BINARY_DIR}/precompiled_catch.cpp")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "// A target must have a source.\n")
  add_library(convlab_precompiled_catch OBJECT "${unit}")
  target_link_libraries(convlab_precompiled_catch PRIVATE convlab_options Catch2::Catch2
                                                          OpenMP::OpenMP_CXX)
  convlab_optimise_less(-Og convlab_precompiled_catch)
  target_precompile_headers(convlab_precompiled_catch
                            PRIVATE "${CMAKE_SOURCE_DIR}/common/base/tests/support/catch.hpp")
endif()

# convlab_add_benchmark(NAME SOURCES… [LINK LIBRARIES…])
#
# A Google Benchmark executable build/bin/NAME; does nothing if the library is missing.
function(convlab_add_benchmark name)
  if(NOT CONVLAB_BENCHMARKS OR NOT benchmark_FOUND)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE convlab_options benchmark::benchmark ${arg_LINK})
endfunction()

# convlab_add_isa_kernels(TARGET SOURCE)
#
# Compiles SOURCE once per instruction set and adds the objects to TARGET: with
# CONVLAB_ISA=baseline everywhere, and on x86-64 also avx2 and avx512. The source puts its
# functions into namespace CONVLAB_ISA and includes no standard header with inline functions: one
# of them, compiled for AVX-512, could be the copy that the linker keeps for everybody.
# reference/oracle/image_oracle.cpp picks at run time.
function(convlab_add_isa_kernels target source)
  set(isas baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND isas avx2 avx512)
  endif()
  set(flags_baseline "")
  set(flags_avx2 -mavx2 -mfma)
  set(flags_avx512 -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mprefer-vector-width=512)
  cmake_path(GET source STEM stem)
  foreach(isa IN LISTS isas)
    set(object ${target}_${stem}_${isa})
    add_library(${object} OBJECT ${source})
    target_link_libraries(${object} PRIVATE convlab_options OpenMP::OpenMP_CXX)
    target_compile_definitions(${object} PRIVATE CONVLAB_ISA=${isa})
    target_compile_options(${object} PRIVATE ${flags_${isa}} -O3 -Wno-psabi)
    set_target_properties(${object} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
endfunction()

# convlab_add_cpu_milestone(NAME SOLUTION SOURCES…)
#
# build/bin/NAME (SOLUTION student) or build/bin/NAME-reference: the main that the milestones share,
# with the stages that SOURCES register. The stages are compiled for exactly this processor and are
# also an object library TARGET-stages: a linker drops an archive's object that no symbol refers to.
function(convlab_add_cpu_milestone name solution)
  set(target ${name})
  if(solution STREQUAL "reference")
    set(target ${name}-reference)
  endif()
  add_library(${target}-stages OBJECT ${ARGN})
  # As handed out, a convolution uses none of its parameters. clang wants this behind -Wextra.
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -Wno-unused-parameter)
  target_link_libraries(${target}-stages PUBLIC convlab_stage
                                         PRIVATE convlab_native OpenMP::OpenMP_CXX)
  target_compile_options(${target}-stages
                         PRIVATE "SHELL:-include ${CMAKE_SOURCE_DIR}/common/stage/own_main.hpp")
  add_executable(${target} "${CMAKE_SOURCE_DIR}/common/program/main.cpp")
  target_link_libraries(${target} PRIVATE ${target}-stages convlab_program OpenMP::OpenMP_CXX)
  target_compile_definitions(${target} PRIVATE CONVLAB_MILESTONE="${name}"
                                               CONVLAB_SOLUTION="${solution}" CONVLAB_DEVICE=kCpu
                                               CONVLAB_USES_DEVICE=0)
  convlab_optimise_less(-Og ${target})
endfunction()

# convlab_link_to_emulated(NAME): without a CUDA compiler build/bin/NAME is a link to NAME-emulated,
# so that the same command builds and runs it on every machine.
function(convlab_link_to_emulated name)
  add_custom_target(
    ${name} ALL
    COMMAND ${CMAKE_COMMAND} -E create_symlink ${name}-emulated ${name}
    WORKING_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}"
    DEPENDS ${name}-emulated
    VERBATIM)
endfunction()

# convlab_add_cuda_milestone(NAME SOLUTION SOURCES…)
#
# The same for stages in .cu files: build/bin/NAME for a GPU, if there is a CUDA compiler, and
# always build/bin/NAME-emulated, which replaces the first if no GPU answers. Without a CUDA
# compiler NAME is a link to NAME-emulated. The stages are object libraries, too:
# TARGET-emulated-stages, and for a GPU TARGET-stages, which gets NVIDIA's libraries if they ask for
# them (ConvLabGpuLibraries.cmake).
function(convlab_add_cuda_milestone name solution)
  set(target ${name})
  if(solution STREQUAL "reference")
    set(target ${name}-reference)
  endif()
  set(main "${CMAKE_SOURCE_DIR}/common/program/main.cpp")
  set(definitions CONVLAB_MILESTONE="${name}" CONVLAB_SOLUTION="${solution}" CONVLAB_USES_DEVICE=1)

  add_library(${target}-emulated-stages OBJECT)
  convlab_add_emulated_sources(${target}-emulated-stages ${ARGN})
  convlab_precompile_runtime(${target}-emulated-stages ${ARGN})
  add_executable(${target}-emulated "${main}" $<TARGET_OBJECTS:${target}-emulated-stages>)
  target_link_libraries(
    ${target}-emulated PRIVATE convlab_program convlab_device_emulated convlab_emulation_headers
                               convlab_emulation_runtime convlab_emulation_matrix)
  target_compile_definitions(${target}-emulated PRIVATE ${definitions} CONVLAB_DEVICE=kEmulated)
  convlab_optimise_less(-Og ${target}-emulated)

  if(CONVLAB_HAS_GPU_COMPILER)
    add_library(${target}-stages OBJECT ${ARGN})
    target_link_libraries(${target}-stages PUBLIC convlab_gpu_options convlab_stage)
    convlab_link_gpu_libraries(${target}-stages)
    add_executable(${target} "${main}")
    target_link_libraries(${target} PRIVATE ${target}-stages convlab_program convlab_device_gpu)
    target_compile_definitions(${target} PRIVATE ${definitions} CONVLAB_DEVICE=kGpu)
    add_dependencies(${target} ${target}-emulated)
  else()
    convlab_link_to_emulated(${target})
  endif()
endfunction()
