// The error check that many submissions bring.
#define gpuCheck(call)                                                           \
  do {                                                                           \
    cudaError_t error = (call);                                                  \
    if (error != cudaSuccess) {                                                  \
      std::cout << "CUDA error: " << cudaGetErrorString(error) << std::endl;     \
      exit(-1);                                                                  \
    }                                                                            \
  } while (0)
