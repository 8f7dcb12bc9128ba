#include "common/file/whole_file.hpp"
#include "common/testing/catch.hpp"
#include "common/testing/temporary_folder.hpp"
#include "grader/checks/given_file.hpp"

using namespace convlab;

TEST_CASE("shared memory: found in a source, in a header beside it and in the workbook's headers") {
  const testing::TemporaryFolder folder;
  const auto source = folder.path() / "conv.cu";
  const auto header = folder.path() / "tile.cuh";
  const auto is_found = [&](const char* in_source, const char* in_header) {
    write_atomically(source, in_source);
    write_atomically(header, in_header);
    return grader::has_shared_memory(
        {.folder = folder.path(), .sources = {source}, .headers = {header}});
  };
  CHECK_FALSE(is_found("__global__ void plain(float* output) {}\n", "#pragma once\n"));
  CHECK(is_found("__shared__ float tile[16];\n", ""));
  CHECK(is_found("", "extern __shared__ float tile[];\n"));
  CHECK(is_found("#include \"common/device/matrix_fragments.cuh\"\n", ""));
  CHECK(is_found("#include \"common/device/warpgroup_multiply.cuh\"\n", ""));
}
