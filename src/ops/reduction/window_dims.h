// Windows that slide over every dimension of an array: pooling and its derivatives.
#pragma once

#include "ir/op.h"
#include "ops/build.h"
#include "ops/factors.h"

namespace tessera::inline v0::ops {

/// An empty list of `dims` stands for 1 (padding: 0) in each of the `rank` dimensions.
Attrs window_attrs(WindowDims dims, int rank);
WindowDims window_dims(const Attrs& attrs);
/// The specifications of those attributes.
std::vector<AttrSpec> window_attr_specs();

/// The shape that has one element per window. Throws ShapeError from the op if the lists do not fit
/// `x`.
Shape windowed_shape(const InferArgs& a, const Type& x, const WindowDims& d);
Shape windowed_shape(const Shape& x, const WindowDims& d);

/// The same windows without elements that fall into the padding for every window, so that no window
/// is longer than the array plus the distance it slides. Lists that fit no array are returned
/// unchanged.
WindowDims without_padding_only(const Shape& x, WindowDims d);

/// The attributes for an array with an additional dimension at `dim`.
WindowDims with_stacked_dim(WindowDims d, int dim);

/// The elements that the windows along dimension i of an array read.
FactorRule::Window window_along(const Shape& x, const WindowDims& d, int i);
/// Whether the windows tile dimension i of an array, so that a shard of it holds whole windows.
bool tiles(const Shape& x, const WindowDims& d, int i);

/// The factors of the dimensions of the array and the windows, marked in `rule`. `fetched` returns
/// for a dimension the operand elements that a shard of the results reads, if they can be fetched.
struct WindowFactors {
  FactorRule::Dims array, windows;
};
WindowFactors window_factors(FactorRule& rule, const Shape& x, const WindowDims& d,
                             const std::function<std::vector<FactorRule::Window>(int)>& fetched);

/// The flat index, in an array of shape `x`, of element `k` of window `o`; -1 in the padding or a
/// hole.
std::int64_t window_element(const Shape& x, const Shape& strides, const WindowDims& d,
                            const Shape& o, const Shape& k);

/// The elements of one window as an emitter walks them: a box of `extents`, in row-major order of
/// the array.
class WindowWalk {
 public:
  WindowWalk(const Shape& x, const WindowDims& d, std::span<const Index> window);
  const std::vector<std::int64_t>& extents() const { return extents_; }
  /// The array index of element `k` of the box, and the bounds within which it is in the window and
  /// in the array.
  void locate(std::span<const Index> k, std::vector<Index>& at, std::vector<Bound>& bounds) const;

 private:
  struct Dim {
    std::int64_t step, window, dilation, base, extent;
    Index origin, phase;
    bool skips;   // the box steps over the holes of a dilated array, from element to element
    bool inside;  // never leaves the array
  };
  std::vector<Dim> dims_;
  std::vector<std::int64_t> extents_;
};

}  // namespace tessera::inline v0::ops
