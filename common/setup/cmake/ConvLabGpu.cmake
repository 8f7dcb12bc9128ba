# The CUDA compiler, if there is one: CONVLAB_HAS_GPU_COMPILER says whether.
#
# The rest of the workbook needs none: device emulation is in ConvLabCuda.cmake.

set(CONVLAB_GPU "auto" CACHE STRING
    "Build the GPU programs with a CUDA Toolkit (11.8 to 13): ON, OFF, auto: where a GPU answers")
set_property(CACHE CONVLAB_GPU PROPERTY STRINGS auto ON OFF)
set(CONVLAB_CUDA_ARCHITECTURES "auto" CACHE STRING
    "GPUs to build for, such as \"80-real;90\"; auto: this machine's, or a list that fits all")

set(CONVLAB_HAS_GPU_COMPILER OFF)
# convlab_gpu_answers(ANSWER): whether the driver lists a GPU now.
function(convlab_gpu_answers answer)
  find_program(CONVLAB_NVIDIA_SMI nvidia-smi HINTS /usr/lib/wsl/lib)
  mark_as_advanced(CONVLAB_NVIDIA_SMI)
  set(gpus "")
  if(CONVLAB_NVIDIA_SMI)
    execute_process(COMMAND "${CONVLAB_NVIDIA_SMI}" --list-gpus OUTPUT_VARIABLE gpus ERROR_QUIET)
  elseif(EXISTS /dev/nvidia0 OR EXISTS /dev/dxg)
    set(gpus "GPU 0")  # a container may have the device without the program
  endif()
  if(gpus MATCHES "GPU [0-9]")
    set(${answer} ON PARENT_SCOPE)
  else()
    set(${answer} OFF PARENT_SCOPE)
  endif()
endfunction()

set(gpu_wanted "${CONVLAB_GPU}")
if(CONVLAB_GPU STREQUAL "auto")
  convlab_gpu_answers(gpu_wanted)
  if(NOT gpu_wanted)
    # nvcc would take as long as all other compilers together.
    message(STATUS "No GPU answers: kernels run emulated (-DCONVLAB_GPU=ON builds the GPU programs all the same)")
    return()
  endif()
endif()
if(NOT gpu_wanted)
  message(STATUS "GPU programs are switched off (CONVLAB_GPU)")
  return()
endif()
if(CONVLAB_SANITIZE)
  message(STATUS "GPU programs are not built with sanitizers; the emulated ones are")
  return()
endif()

# NVIDIA's installer leaves nvcc outside the path.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(CONVLAB_NVCC nvcc HINTS /usr/local/cuda/bin /opt/cuda/bin)
  mark_as_advanced(CONVLAB_NVCC)
  if(NOT CONVLAB_NVCC)
    message(STATUS "No CUDA Toolkit found: kernels run emulated")
    return()
  endif()
  set(ENV{CUDACXX} "${CONVLAB_NVCC}")
endif()
# check_language tries the compiler of the environment in a separate project. It does nothing if the
# variable exists, even if it says that an earlier try failed.
if(NOT CMAKE_CUDA_COMPILER)
  unset(CMAKE_CUDA_COMPILER)
  unset(CMAKE_CUDA_COMPILER CACHE)
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(WARNING "$ENV{CUDACXX} is there and does not work (the end of CMakeFiles/CMakeError.log in "
                  "the build folder says why), so kernels run emulated. If it does not take this host "
                  "compiler, name one that it takes (CUDA 11.8: g++ 11 or older, CUDA 12: g++ 12 or "
                  "older): CUDAHOSTCXX=g++-11 cmake …")
  return()
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 11.8)
  message(WARNING "The GPU programs need the CUDA Toolkit 11.8 or newer; ${CMAKE_CUDA_COMPILER} is "
                  "${CMAKE_CUDA_COMPILER_VERSION}, so kernels run emulated")
  return()
endif()
set(CONVLAB_HAS_GPU_COMPILER ON)

if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()

# CUDA 11 knows no C++20: headers that a .cu file includes keep to C++17.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
  set(CMAKE_CUDA_STANDARD 17)
else()
  set(CMAKE_CUDA_STANDARD 20)
  # CMake 3.25 does not know that nvcc knows it.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)

# Code for one generation also runs on its later members (80 serves 86 and 89); PTX of the last
# entry serves newer generations.
if(NOT CONVLAB_CUDA_ARCHITECTURES STREQUAL "auto")
  set(CMAKE_CUDA_ARCHITECTURES "${CONVLAB_CUDA_ARCHITECTURES}")
elseif(CMAKE_CUDA_ARCHITECTURES_NATIVE)
  set(CMAKE_CUDA_ARCHITECTURES native)
elseif(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.8)
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
else()
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 100-real 120)
endif()
message(STATUS "GPU programs are built for ${CMAKE_CUDA_ARCHITECTURES}")

# convlab_gpu_options: linked by every target with .cu files for a GPU.
add_library(convlab_gpu_options INTERFACE)
target_link_libraries(convlab_gpu_options INTERFACE convlab_options)
target_compile_definitions(convlab_gpu_options INTERFACE CONVLAB_EMULATED=0)
target_compile_options(
  convlab_gpu_options
  INTERFACE
    # Kernels may call constexpr functions such as ConvShape's, and take lambdas. Line numbers are
    # for profilers and compute-sanitizer; they cost nothing. 177 and unused-parameter: the kernels
    # of a hand-out are empty, and nothing launches them yet.
    "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--extended-lambda;-lineinfo>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-diag-suppress=177;-Xcompiler=-Wall,-Wextra,-Wno-unused-parameter>"
    "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${CONVLAB_WERROR}>>:--Werror=all-warnings>")
