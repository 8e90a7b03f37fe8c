// Sorting and searching. NaN comes last; positions are int32, or int64 along axes of 2^31 elements
// or more.
#pragma once

#include <tessera/array.h>

#include <string>
#include <vector>

namespace tessera::inline v0 {

/// `side`: "left" is before the elements that equal the value, "right" after them. `sorter` holds
/// positions that sort the vector.
struct SearchOptions {
  detail::Named named = detail::Named();
  std::string side = "left";
  std::optional<Array> sorter = {};
};
/// For each value, its insertion position in an ascending vector. Throws ShapeError unless x is a
/// vector, Error for any other side, and DTypeError for complex numbers.
TESSERA_API Array searchsorted(Operand x, Operand values, const SearchOptions& options = {});
/// The bin number i of each value. For ascending bins, bins[i - 1] <= x < bins[i], or with `right`
/// bins[i - 1] < x <= bins[i]. For descending bins, bins[i - 1] > x >= bins[i], or with `right`
/// bins[i - 1] >= x > bins[i].
TESSERA_API Array digitize(Operand x, Operand bins, bool right = false);

/// The positions that sort by the last key, then by the one before it where those are equal, and so
/// on. Throws ShapeError if the shapes differ.
TESSERA_API Array lexsort(const std::vector<Array>& keys, std::int64_t axis = -1,
                          std::source_location loc = std::source_location::current());
/// partition reorders x so that the element at `kth` along an axis is that of the sorted array,
/// with smaller ones before it and larger ones after; this implementation sorts fully. argpartition
/// returns the positions. Both throw ShapeError if kth is out of range.
TESSERA_API Array partition(Operand x, std::int64_t kth, std::int64_t axis = -1);
TESSERA_API Array argpartition(Operand x, std::int64_t kth, std::int64_t axis = -1);

/// The keys in ascending order along an axis, and the values of another array of the same shape
/// reordered with them; stable.
struct SortedPairs {
  Array keys, values;
};
TESSERA_API SortedPairs sort_key_val(Operand keys, Operand values, std::int64_t dimension = -1);

/// The k largest or smallest elements along an axis in descending or ascending order (values), with
/// their positions (indices). The results are exact.
struct ExtremeK {
  Array values, indices;
};
TESSERA_API ExtremeK approx_max_k(Operand x, std::int64_t k, std::int64_t axis = -1);
TESSERA_API ExtremeK approx_min_k(Operand x, std::int64_t k, std::int64_t axis = -1);

}  // namespace tessera::inline v0
