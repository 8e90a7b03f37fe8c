// Windows that slide over every dimension of an array: pooling and its derivatives.
#pragma once

#include "ir/op.h"
#include "ops/build.h"
#include "ops/factors.h"

namespace tessera::inline v0::ops {

/// Missing lists of `dims` mean 1 (padding: 0) for every one of the `rank` dimensions.
Attrs window_attrs(WindowDims dims, int rank);
WindowDims window_dims(const Attrs& attrs);
/// The documentation of those attributes.
std::vector<AttrSpec> window_attr_specs();

/// The shape of one element a window. Throws ShapeError headed by the op's name when the lists do
/// not fit `x`.
Shape windowed_shape(const InferArgs& a, const Type& x, const WindowDims& d);
Shape windowed_shape(const Shape& x, const WindowDims& d);

/// The same windows without the elements that lie in the padding for each of them, so that no window
/// is longer than the array and the way that it slides. Lists that fit no array stay as they are.
WindowDims without_padding_only(const Shape& x, WindowDims d);

/// The attributes for an array with one more dimension at `dim`.
WindowDims with_stacked_dim(WindowDims d, int dim);

/// What the windows along dimension i of an array read of it.
FactorRule::Window window_along(const Shape& x, const WindowDims& d, int i);
/// Whether windows tile dimension i of an array, so that a part of it has those of its elements.
bool tiles(const Shape& x, const WindowDims& d, int i);

/// The factors of the array's and the windows' dimensions, marked in `rule`. `fetched` gives for a
/// dimension what parts of the results read of operands, where they can fetch it.
struct WindowFactors {
  FactorRule::Dims array, windows;
};
WindowFactors window_factors(FactorRule& rule, const Shape& x, const WindowDims& d,
                             const std::function<std::vector<FactorRule::Window>(int)>& fetched);

/// Where window `o` has its element `k` in an array of shape `x`: flat index, or -1 in the padding
/// or a hole.
std::int64_t window_element(const Shape& x, const Shape& strides, const WindowDims& d,
                            const Shape& o, const Shape& k);

/// The elements of one window as an emitter walks them: boxes of `extents`, in row-major order of
/// the array.
class WindowWalk {
 public:
  WindowWalk(const Shape& x, const WindowDims& d, std::span<const Index> window);
  const std::vector<std::int64_t>& extents() const { return extents_; }
  /// The array's index of element `k` of the box and the bounds under which it is in the window and
  /// in the array.
  void locate(std::span<const Index> k, std::vector<Index>& at, std::vector<Bound>& bounds) const;

 private:
  struct Dim {
    std::int64_t step, window, dilation, base, extent;
    Index origin, phase;
    bool skips;   // the box steps from element to element of a dilated array, over its holes
    bool inside;  // never leaves the array
  };
  std::vector<Dim> dims_;
  std::vector<std::int64_t> extents_;
};

}  // namespace tessera::inline v0::ops
