// Gradients of convolutions with respect to their weights, by the kernels of micro_kernel.h: rows
// are (window position, input channel), columns are output channels, and k runs over the pixels of
// the convolution's result, which here is an operand.
//
// No matrix of windows is made. The elements that a window position reads for the pixels of a row
// are a run of evenly spaced pixels of the source, so a kernel is given the runs and reads the
// source in place, or from one copy that serves all window positions.
//
// The terms of an element are the pixels in order, row by row and image by image. Their chunks
// follow from the extents of the result and the number of images (PixelChunks). So an element has
// the same bits for all layouts, vector lengths and divisions into tasks.
#pragma once

#include "codegen/matrix/convolution.h"
#include "codegen/matrix/micro_kernel.h"
#include "codegen/matrix/packing.h"
#include "codegen/matrix/sizes.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

/// The size of the chunks into which the pixels are divided: `rows` whole rows, or parts of a
/// single row that have `columns` pixels. As in a product, the terms of a chunk are added in order,
/// and so are the sums of the chunks.
struct PixelChunks {
  std::int64_t rows, columns;
};
PixelChunks pixel_chunks(std::int64_t rows, std::int64_t columns);

/// Immutable, and safe to use on several threads with distinct sums.
class WeightsGradient {
 public:
  /// The gradient of the convolution `shape` over `images` images; the convolution's destination is
  /// an operand here. A call is divided into about `pieces` pieces.
  WeightsGradient(const ConvShape& shape, std::int64_t images, std::int64_t pieces);

  /// The sums are a matrix with a row for each window position and input channel, and a column for
  /// each output channel.
  std::int64_t rows() const { return taps_ * shape_.inputs; }
  std::int64_t columns() const { return shape_.outputs; }
  /// Whether the weights in memory have the layout of this matrix.
  bool are_sums() const;

  std::int64_t pieces() const { return pieces_; }
  /// Rows of the sums.
  struct Rows {
    std::int64_t first, count;
  };
  std::vector<Rows> rows_of(std::int64_t piece) const;
  /// Computes the rows of a piece. The operands begin at the first image.
  void run(const void* source, const void* destination, void* sums, std::int64_t piece) const;
  /// Writes rows of the sums to their places in the weights.
  void write(const void* sums, void* weights, Rows rows) const;

 private:
  WeightsGradient(const ConvShape& shape, std::int64_t images, std::int64_t pieces, bool joins);

  // Rows of the sums that read the source at the same offset from a pixel.
  struct Unit {
    std::size_t z;           // number of the tap along the first axis
    std::int64_t y, offset;  // along the others
    std::int64_t first_row;
  };
  // Rows of pixels of one plane, and the place of the first one in a chunk.
  struct Band {
    std::int64_t image, z, y, rows, first;
  };
  // Copied rows of the source, for a band and a tap along the first axis.
  struct Copied {
    std::int64_t z = 0, y = 0, rows = 0;
    std::int64_t at = 0;  // in bytes
  };
  // Pixels that are added one after the other, and the runs in which units read them.
  struct Chunk {
    std::int64_t x, columns, rows;          // pixels of a row, and rows
    std::int64_t source_x, source_columns;  // of copied rows
    std::vector<Band> bands;
    std::vector<Copied> copied;  // by band and tap
    std::int64_t copied_bytes = 0;
    std::vector<std::vector<StepRun>> runs;  // by unit
  };
  struct Part {
    std::int64_t first_unit, last_unit, first_group, last_group;
  };
  struct OfHeight {
    TileKernel whole = nullptr;
    TileKernel last[kTileVectors][2] = {};
  };

  std::int64_t width() const { return kTileVectors * lanes_; }
  std::int64_t source_at(std::int64_t image, std::int64_t z, std::int64_t y, std::int64_t x) const;
  std::int64_t destination_at(std::int64_t image, std::int64_t z, std::int64_t y,
                              std::int64_t x) const;
  void find_layouts();
  void find_kernels();
  Part part_of(std::int64_t piece) const;
  Chunk chunk_of_pixels(std::int64_t first_row, std::int64_t rows, std::int64_t x,
                        std::int64_t columns, const Part& part) const;
  void find_copied(Chunk& chunk) const;
  void find_runs(Chunk& chunk, std::size_t unit) const;
  void accumulate(const char* source, const char* destination, char* sums, const Part& part) const;
  void multiply(const Chunk& chunk, const char* a, const char* b, std::int64_t group,
                const Part& part, std::int64_t column, std::int64_t columns, End end,
                char* sums) const;
  bool finite(const void* sums, std::int64_t piece) const;

  // Copies; weights_gradient_copies.cc.
  void copy_windows(const Chunk& chunk, const char* source, char* to) const;
  void copy_channels(const Chunk& chunk, const char* source, std::int64_t group, char* to) const;
  void copy_pixels(const Chunk& chunk, const char* destination, std::int64_t columns,
                   char* to) const;

  const ConvShape shape_;
  const int lanes_;
  const std::int64_t size_;  // of an element
  const std::int64_t images_;
  std::int64_t taps_;
  PixelChunks chunks_;
  /// Units are window rows, whose elements are adjacent in the copy; otherwise single window
  /// positions.
  const bool joins_;
  std::vector<Unit> units_;
  std::int64_t unit_rows_;
  Heights groups_;                   // of the rows of a unit
  bool copies_source_ = false;       // by groups of channels
  bool copies_destination_ = false;  // into panels
  std::int64_t pixel_ = 0;           // stride of pixels of the source as it is read, in bytes
  std::int64_t pieces_ = 1;
  std::vector<OfHeight> kernels_;
  PackKernel pack_source_ = nullptr, pack_destination_ = nullptr, pack_destination2_ = nullptr;
  /// The gradient computed by single window positions, which does not multiply padding.
  std::unique_ptr<const WeightsGradient> without_padding_;
};

}  // namespace tessera::inline v0::codegen::matrix
