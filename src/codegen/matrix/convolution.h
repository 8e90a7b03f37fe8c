// Convolutions by the kernels of micro_kernel.h, as implicit products of matrices: rows are output
// pixels, columns are output channels, and k runs over (window position, input channel).
//
// A tile of pixels of one row of the result reads the source directly, from a copy with zeros in
// its padding (convolution_windows.cc). Where rows are too short for that, a task copies the
// elements under the windows of some pixels to rows of a matrix in the nearer caches, a chunk of k
// at a time. The weights are packed once for all tasks. A source whose channels are not adjacent is
// first transposed to channels-last, and the result is transposed back.
//
// The order of the sum of an element follows from the window and the number of input channels
// alone, and its chunks are those of a product (product.h). So an element has the same bits
// whatever the batch, the division into tasks and the vector length.
#pragma once

#include "codegen/matrix/micro_kernel.h"
#include "codegen/matrix/packing.h"
#include "ir/routine.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

/// A window position that output pixels read: at `offset` from the pixel's own position in the
/// source, with the weights at index `window`.
struct ConvTap {
  std::int64_t offset, window;
};

/// One spatial dimension. Output `i` reads the source at i * step + offset for each tap; positions
/// outside of the source are padding. Distances are in elements.
struct ConvAxis {
  std::int64_t in = 1, out = 1, step = 1;
  std::int64_t window = 1;            // the extent of the weights, of which `taps` may be a part
  std::vector<ConvTap> taps{{0, 0}};  // by offset
  std::int64_t source = 0, weights = 0, destination = 0;
};

struct ConvShape {
  DType dtype = DType::float32;
  std::int64_t batch, inputs, outputs;
  ConvAxis axes[3];
  std::int64_t source_image, source_channel, destination_image, destination_channel;
  std::int64_t weights_input, weights_output;
};

/// Immutable, and safe to use on several threads with distinct results.
class Convolution {
 public:
  /// Divides the work into about `tasks` tasks. With `keeps`, packed weights are kept between
  /// calls, so packing them pays even for a few pixels. `block_bytes`, if not 0, limits the size of
  /// a block of the result, as long as a block still has a few tiles (run_in_panels).
  Convolution(const ConvShape& shape, std::int64_t tasks, bool keeps = false,
              std::int64_t block_bytes = 0);

  /// The size of the packed weights, and the number of tasks that pack them. For a few pixels,
  /// weights are read in place; the tasks then only look for infinite and NaN weights, and there
  /// are none unless windows reach into the padding.
  std::size_t packed_bytes() const;
  std::int64_t pack_tasks() const;
  void pack(const void* weights, void* to, std::int64_t task) const;
  /// Convolutions with equal keys pack equal weights to equal bytes.
  std::string packed_key() const;

  /// Whether tiles of pixels read windows from the source directly. Each row of the result is then
  /// divided into tiles of its own, so this is not done for short rows, which would leave registers
  /// empty.
  static bool reads_windows(const ConvShape& shape);

  std::int64_t tasks() const { return pieces_ * column_pieces_; }
  /// `weights` are read again only if some are infinite or NaN and windows reach into the padding.
  void run(const void* source, const void* turned, const void* weights, const void* packed,
           void* destination, std::int64_t task) const;

  /// Whether run_in_panels can compute the result, in panels of at most `panel_rows` pixels and
  /// `panel_columns` channels. Its pixels must follow each other in memory, with adjacent channels.
  bool in_panels() const;
  std::int64_t panel_rows() const;
  std::int64_t panel_columns() const { return column_piece_; }
  /// Like run, but one panel at a time. `place` returns the address of a panel's first element; its
  /// rows have the stride of the whole result. `made` is called when the panel is complete.
  void run_in_panels(const void* source, const void* weights, const void* packed, std::int64_t task,
                     const std::function<void*(const Panel&)>& place,
                     const std::function<void(const Panel&)>& made) const;

  /// The size of a channels-last copy of the source if one copy should serve all tasks, and
  /// otherwise 0. `turn` copies one image; run takes the copy as `turned`.
  std::size_t turned_bytes() const;
  void turn(const void* source, void* turned, std::int64_t image) const;

 private:
  // Elements of a chunk's rows that are adjacent in the source: those of one window row, or of one
  // position.
  struct Segment {
    std::int64_t z, y;   // offsets of the window row in the source
    std::int64_t start;  // from the pixel's position in its row
    std::int64_t to, bytes;
  };
  struct Chunk {
    std::int64_t first, terms;
    std::vector<Segment> segments;
    std::vector<StepRun> runs = {};  // by_windows_: of the segments
  };
  struct Position {
    std::int64_t image, z, y, x;
  };
  // The location of source rows: in place, or in the channels-last copy. Strides are in bytes.
  struct Source {
    const char* at;
    std::int64_t image, z, y, x;
  };
  struct Destination {
    char* at;
    std::int64_t row;
  };
  struct OfHeight {
    TileKernel whole = nullptr;
    TileKernel last[8][2] = {};
  };

  std::int64_t width() const { return kTileVectors * lanes_; }
  std::int64_t panel_bytes() const;
  Position position(std::int64_t pixel) const;
  void advance(Position& p) const;
  void find_layouts();
  void find_windows();
  void find_runs();
  void cut_chunks();
  void cut_tasks(std::int64_t tasks);
  void find_kernels();
  void prepare_rows(std::int64_t rows);
  std::int64_t block_of(std::int64_t rows) const;
  /// Tasks and blocks begin at multiples of this number of rows of the matrix.
  std::int64_t rows_together() const { return by_windows_ ? shape_.axes[2].out : most_rows(); }

  template <class F>
  void each_run(std::int64_t begin, std::int64_t end, F f) const;
  void pack_run(const char* weights, char* to, std::int64_t k, std::int64_t steps,
                std::int64_t columns) const;
  void pack_windows(const char* weights, char* to, std::int64_t columns) const;
  Source turn_source(const char* source, std::int64_t first, std::int64_t rows) const;
  void turn_rows(const char* from, std::int64_t rows, char* to) const;
  // Weights that are packed or in place, from a task's first column on. Distances in bytes.
  struct Panels {
    const char* at;
    std::int64_t step, panel, ahead;
  };
  Panels panels_from(const void* weights, const void* packed, std::int64_t column) const;
  Source source_in_place(const void* source) const;
  bool finite_weights(const void* packed) const;
  void repair(const void* source, const void* weights, void* destination, std::int64_t first,
              std::int64_t rows, std::int64_t column, std::int64_t columns) const;
  void run_rows(const Source& source, const Panels& panels, char* destination, std::int64_t first,
                std::int64_t rows, std::int64_t column, std::int64_t columns) const;
  void copy_rows(const Source& source, const Chunk& chunk, std::int64_t first, std::int64_t rows,
                 char* to) const;
  void copy_windows(const Source& source, std::int64_t first, std::int64_t rows,
                    std::vector<const char*>& at) const;
  /// Rows of `a` follow each other, or each window row of pixels begins at an element of `at`.
  void multiply(const char* a, const std::vector<const char*>& at, const Panels& b,
                const Chunk& chunk, std::int64_t rows, std::int64_t columns, char* c,
                std::int64_t c_row) const;
  void write_rows(const char* sums, std::int64_t sums_row, char* destination, std::int64_t first,
                  std::int64_t rows, std::int64_t column, std::int64_t columns) const;
  template <class T>
  void without_padding(const T* source, const T* weights, T* destination, std::int64_t first,
                       std::int64_t rows, std::int64_t column, std::int64_t columns) const;

  const ConvShape shape_;
  const int lanes_;
  const std::int64_t size_;                       // of an element
  const std::int64_t block_bytes_;                // of a block of the result; 0: any
  std::int64_t image_pixels_, pixels_;            // of the result
  std::int64_t taps_, terms_;                     // of a window, and of a sum
  bool pads_ = false;                             // some windows reach into padding
  bool turns_source_ = false;                     // copies it with adjacent channels
  std::int64_t pixel_ = 0, row_ = 0, plane_ = 0;  // distances in what is copied from, in elements
  bool in_place_ = false;                         // rows of the source are rows of the matrix
  bool by_windows_ = false;                       // see convolution_windows.cc
  /// The copy of the source: its distances in bytes, its columns, and the first one of them.
  std::int64_t window_pixel_ = 0, window_row_ = 0, window_columns_ = 0, window_x_ = 0;
  bool weights_in_place_ = false;  // rows of the weights are read without packing
  bool packs_steps_ = false;       // columns of a step of the weights are adjacent
  bool direct_ = false;            // rows of the result are evenly spaced
  std::int64_t direct_row_ = 0;
  std::vector<Chunk> chunks_;
  std::int64_t a_row_ = 0;  // stride of copied rows, in bytes
  std::int64_t pieces_ = 1, piece_ = 0, column_pieces_ = 1, column_piece_ = 0;
  std::int64_t images_ = 0;  // in a piece, if the source is transposed image by image
  std::vector<OfHeight> kernels_;
  PackKernel pack_lines_ = nullptr, pack_lines2_ = nullptr, pack_steps_ = nullptr,
             pack_neither_ = nullptr;
};

}  // namespace tessera::inline v0::codegen::matrix
