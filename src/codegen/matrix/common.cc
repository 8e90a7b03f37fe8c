#include "codegen/matrix/common.h"

#include "codegen/matrix/line_kernel.h"
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
  // Loops over runs, for convolutions.
  for (int rows = 1; rows <= most_rows(); ++rows)
    for (int vectors = 1; vectors <= kTileVectors; ++vectors)
      for (bool partial : {false, true})
        for (ReadA read_a : {ReadA::by_rows, ReadA::by_steps}) {
          Tile tile{kind, rows, vectors, partial, read_a};
          tile.in_runs = true;
          all.push_back(tile_function(tile));
        }
  for (int rows = 1; rows <= kLineRows; ++rows)
    all.push_back(line_function({kind, DType::float32, rows}));
  for (Adjacent adjacent : {Adjacent::lines, Adjacent::steps, Adjacent::neither})
    all.push_back(pack_function({DType::float32, kind, true, adjacent}));
  all.push_back(pack_function({DType::float32, kind, true, Adjacent::lines, 2}));
  return all;
}

}  // namespace tessera::inline v0::codegen::matrix
