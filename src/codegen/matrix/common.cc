#include "codegen/matrix/common.h"

#include "codegen/matrix/micro_kernel.h"
#include "codegen/matrix/packing.h"

namespace tessera::inline v0::codegen::matrix {

std::vector<SharedFunction> common_functions() {
  std::vector<SharedFunction> all;
  for (int rows = 1; rows <= most_rows(); ++rows)
    for (int vectors = 1; vectors <= most_vectors(rows); ++vectors)
      for (bool partial : {false, true})
        for (ReadA read_a : {ReadA::by_rows, ReadA::by_steps})
          all.push_back(tile_function({DType::float32, rows, vectors, partial, read_a}));
  for (Adjacent adjacent : {Adjacent::lines, Adjacent::steps, Adjacent::neither})
    all.push_back(pack_function({DType::float32, DType::float32, adjacent}));
  all.push_back(pack_function({DType::float32, DType::float32, Adjacent::lines, 2}));
  all.push_back(pack_function({DType::float32, DType::float32, Adjacent::steps, 1, true}));
  return all;
}

}  // namespace tessera::inline v0::codegen::matrix
