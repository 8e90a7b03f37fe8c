#include "codegen/matrix/common.h"

#include "codegen/matrix/micro_kernel.h"
#include "codegen/matrix/packing.h"

namespace tessera::inline v0::codegen::matrix {

std::vector<SharedFunction> common_functions() {
  const Kind kind{DType::float32, Terms::single};
  std::vector<SharedFunction> all;
  for (int rows = 1; rows <= most_rows(); ++rows)
    for (int vectors = 1; vectors <= most_vectors(rows); ++vectors)
      for (bool partial : {false, true})
        for (ReadA read_a : {ReadA::by_rows, ReadA::by_steps})
          all.push_back(tile_function({kind, rows, vectors, partial, read_a}));
  const auto pack = [&](Adjacent adjacent, int vectors, bool multiply) {
    all.push_back(pack_function({DType::float32, kind, true, adjacent, vectors, multiply}));
  };
  for (Adjacent adjacent : {Adjacent::lines, Adjacent::steps, Adjacent::neither})
    pack(adjacent, 1, false);
  pack(Adjacent::lines, 2, false);
  pack(Adjacent::steps, 1, true);
  return all;
}

}  // namespace tessera::inline v0::codegen::matrix
