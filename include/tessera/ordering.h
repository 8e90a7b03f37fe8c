// Orders of elements and places among them. NaN comes last; positions are int32, along axes of
// 2^31 elements and more int64.
#pragma once

#include <tessera/array.h>

#include <string>
#include <vector>

namespace tessera::inline v0 {

/// `side`: "left" is in front of the elements that equal the value, "right" behind them. `sorter`
/// are positions that sort the vector.
struct SearchOptions {
  detail::Named named = detail::Named();
  std::string side = "left";
  std::optional<Array> sorter = {};
};
/// For each value the position in an ascending vector where it belongs. Throws ShapeError unless x
/// is a vector, Error for another side, DTypeError of complex numbers.
TESSERA_API Array searchsorted(Operand x, Operand values, const SearchOptions& options = {});
/// The number of the bin of each value: i where bins[i - 1] <= x < bins[i], with `right` where
/// bins[i - 1] < x <= bins[i]; of bins that descend where bins[i - 1] > x >= bins[i], with `right`
/// where bins[i - 1] >= x > bins[i].
TESSERA_API Array digitize(Operand x, Operand bins, bool right = false);

/// The positions that sort by the last of the keys, by the one before it where those are equal, and
/// so on. ShapeError where the shapes differ.
TESSERA_API Array lexsort(const std::vector<Array>& keys, std::int64_t axis = -1,
                          std::source_location loc = std::source_location::current());
/// x in an order where the element at `kth` along an axis is the one of the sorted array, smaller
/// ones before it and larger ones behind: here the sorted array. And the positions. ShapeError for
/// a kth outside.
TESSERA_API Array partition(Operand x, std::int64_t kth, std::int64_t axis = -1);
TESSERA_API Array argpartition(Operand x, std::int64_t kth, std::int64_t axis = -1);

/// Keys ascending along an axis, and the values of another array of their shape with them; stable.
struct SortedPairs {
  Array keys, values;
};
TESSERA_API SortedPairs sort_key_val(Operand keys, Operand values, std::int64_t dimension = -1);

/// The k greatest (least) along an axis and their positions, from the greatest (least) on: exact.
struct ExtremeK {
  Array values, indices;
};
TESSERA_API ExtremeK approx_max_k(Operand x, std::int64_t k, std::int64_t axis = -1);
TESSERA_API ExtremeK approx_min_k(Operand x, std::int64_t k, std::int64_t axis = -1);

}  // namespace tessera::inline v0
