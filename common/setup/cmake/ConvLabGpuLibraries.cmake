# NVIDIA's libraries; only stages of milestone 4 and reference/libraries call them.
#
# convlab_link_gpu_libraries(TARGET)
#
# Links the installed ones to stages for a GPU, and defines for their sources CONVLAB_HAS_CUBLAS,
# CONVLAB_HAS_CUDNN, CONVLAB_HAS_CUFFT. Emulated programs never get them.
if(CONVLAB_HAS_GPU_COMPILER)
  find_package(CUDAToolkit QUIET)
  find_path(CONVLAB_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(CONVLAB_CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR}
                                                 "${CUDAToolkit_LIBRARY_ROOT}/lib")
  mark_as_advanced(CONVLAB_CUDNN_INCLUDE CONVLAB_CUDNN_LIBRARY)
  set(CONVLAB_HAS_CUDNN OFF)
  if(CONVLAB_CUDNN_INCLUDE AND CONVLAB_CUDNN_LIBRARY)
    set(CONVLAB_HAS_CUDNN ON)
  else()
    message(STATUS "cuDNN is not found: the stage cudnn is left out")
  endif()
  if(NOT TARGET CUDA::cublas)
    message(STATUS "cuBLAS is not found: the stage cublas is left out")
  endif()
  if(NOT TARGET CUDA::cufft)
    message(STATUS "cuFFT is not found: the stage fft is left out")
  endif()
endif()

function(convlab_link_gpu_libraries target)
  if(TARGET CUDA::cublas)
    target_link_libraries(${target} PUBLIC CUDA::cublas)
    target_compile_definitions(${target} PUBLIC CONVLAB_HAS_CUBLAS=1)
  endif()
  if(TARGET CUDA::cufft)
    target_link_libraries(${target} PUBLIC CUDA::cufft)
    target_compile_definitions(${target} PUBLIC CONVLAB_HAS_CUFFT=1)
  endif()
  if(CONVLAB_HAS_CUDNN)
    target_include_directories(${target} SYSTEM PUBLIC "${CONVLAB_CUDNN_INCLUDE}")
    target_link_libraries(${target} PUBLIC "${CONVLAB_CUDNN_LIBRARY}")
    target_compile_definitions(${target} PUBLIC CONVLAB_HAS_CUDNN=1)
  endif()
  # A program that calls none of them does not load them.
  target_link_options(${target} PUBLIC LINKER:--as-needed)
endfunction()
