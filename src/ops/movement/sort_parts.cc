// Sorts along a sharded dimension by Leighton's columnsort: each of p devices has a column of m
// elements.
//
//   1. Sort each column.
//   2. Deal each column out like cards: its elements q, q + p, q + 2p, ... go to device q.
//   3. Sort what each device received.
//   4. Send it back by the inverse permutation of step 2.
//   5. Sort each column. No element is then farther than (p - 1)^2 from its final position, so
//   6. it suffices to sort the second half of each column with the first half of the next.
//
// This holds for all inputs if half a column has at least (p - 1)^2 elements, so the communication
// does not depend on the data. A device receives at most three columns, however many devices there
// are, and holds a few, whereas a gather would receive p - 1 and hold all. Elements carry their
// original position as the last key, so equal ones keep their order and the result has the bits of
// a single device's sort.
#include "ops/local.h"
#include "ops/movement/movement.h"

#include <limits>

namespace tessera::inline v0::ops {

namespace {

class Columns {
 public:
  Columns(const LocalArgs& a, int dim)
      : a_(a),
        axes_(a.input_specs[0].axes_of(dim)),
        dim_(static_cast<std::size_t>(dim)),
        p_(a.parts(axes_)),
        extent_(a.inputs[0].shape()[dim]),
        m_((extent_ + p_ - 1) / p_ * p_) {}

  Values sorted() {
    const auto keys = static_cast<std::size_t>(a_.attrs.i("num_keys"));
    const std::size_t first = carry(keys);
    order(carried_);
    deal();
    order(carried_);
    take_back();
    order(carried_);
    join_neighbours();
    Values out;
    for (std::size_t i = 0; i < a_.inputs.size(); ++i)
      out.push_back(cut_to_size(carried_[first + i + (places_ && i >= keys ? 1 : 0)]));
    return out;
  }

 private:
  // Collects the arrays to sort: a flag for padding (which comes last), the keys, the original
  // position, and the operands that are not keys. Returns the index of the first key.
  std::size_t carry(std::size_t keys) {
    Builder& b = a_.b;
    const std::int64_t whole = a_.whole_inputs[0].shape[static_cast<int>(dim_)];
    Shape shape = a_.inputs[0].shape();
    shape[dim_] = m_;
    const bool wide = p_ * m_ > std::numeric_limits<std::int32_t>::max();
    const DType dtype = wide ? DType::int64 : DType::int32;
    const auto number = [&](std::int64_t n) { return constant(b, scalar_literal(dtype, n)); };
    const Value at = iota(b, dtype, shape, static_cast<int>(dim_));
    const std::size_t first = p_ * m_ == whole ? 0 : 1;
    if (first) {
      // The number of this device's elements that belong to the array.
      const Value here = min(number(extent_), sub(number(whole), start(dtype, extent_)));
      carried_.push_back(ge(at, everywhere(here, shape)));
    }
    for (std::size_t i = 0; i < a_.inputs.size(); ++i) {
      if (i == keys) add_places(at, dtype);
      carried_.push_back(lengthened(a_.inputs[i]));
    }
    // Equal integers are indistinguishable, so they need no position to keep their order.
    bool exact = keys == a_.inputs.size();
    for (const Value& x : a_.inputs) exact = exact && !is_inexact(x.dtype());
    if (keys == a_.inputs.size() && !exact) add_places(at, dtype);
    num_keys_ = first + keys + (places_ ? 1 : 0);
    AxisSet along;
    for (const std::string& axis : axes_) along.insert(axis);
    for (Value& x : carried_) x = b.vary_over(x, along);
    return first;
  }
  void add_places(Value at, DType dtype) {
    places_ = true;
    carried_.push_back(add(at, everywhere(start(dtype, m_), at.shape())));
  }
  Value start(DType dtype, std::int64_t part) { return part_start(a_.b, dtype, axes_, p_, part); }

  Value lengthened(Value x) const {
    if (m_ == extent_) return x;
    Ints none(x.shape().size(), 0), high = none;
    high[dim_] = m_ - extent_;
    return pad(x, zeros(a_.b, Type(x.dtype(), {})), none, high, none);
  }

  void order(Values& xs) const {
    xs = sort(xs, static_cast<int>(dim_), static_cast<int>(num_keys_));
  }

  Value grouped(Value x, std::int64_t major, std::int64_t minor) const {
    Shape shape = x.shape();
    shape[dim_] = major;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim_) + 1, minor);
    return reshape(x, shape);
  }
  Value column(Value x) const {
    Shape shape = x.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim_));
    shape[dim_] = m_;
    return reshape(x, shape);
  }
  void deal() {
    const int d = static_cast<int>(dim_);
    for (Value& x : carried_)
      x = column(all_to_all(grouped(x, m_ / p_, p_), axes_, p_, d + 1, d, false));
  }
  void take_back() {
    const int d = static_cast<int>(dim_);
    for (Value& x : carried_)
      x = column(all_to_all(grouped(x, p_, m_ / p_), axes_, p_, d, d + 1, false));
  }

  Value piece(Value x, std::int64_t from, std::int64_t to) const {
    Ints begin(x.shape().size(), 0), end = x.shape().to_vector();
    begin[dim_] = from;
    end[dim_] = to;
    return slice(x, begin, end, Ints(begin.size(), 1));
  }
  // Fetches from the previous (or next) device; the first (or last) device receives zeros.
  Value from_before(Value x) const { return ppermute_affine(x, axes_, p_, 1, -1); }
  Value from_behind(Value x) const { return ppermute_affine(x, axes_, p_, 1, 1); }

  void join_neighbours() {
    const int d = static_cast<int>(dim_);
    const std::int64_t half = m_ / 2, rest = m_ - half;
    const Value device = part_number(a_.b, axes_, p_);
    const auto is = [&](std::int64_t n) {
      return eq(device, scalar(a_.b, device.dtype(), static_cast<double>(n)));
    };
    Values both;
    for (const Value& x : carried_)
      both.push_back(concatenate(Values{from_before(piece(x, half, m_)), piece(x, 0, half)}, d));
    order(both);
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      const Value low = piece(carried_[i], 0, half), high = piece(carried_[i], half, m_);
      const Value joined = piece(both[i], rest, m_), back = from_behind(piece(both[i], 0, rest));
      carried_[i] = concatenate(Values{select(everywhere(is(0), low.shape()), low, joined),
                                       select(everywhere(is(p_ - 1), high.shape()), high, back)},
                                d);
    }
  }

  // Columns are longer than shards if the devices do not divide the extent: the padding at the end
  // of each column has moved to the end of the last one.
  Value cut_to_size(Value x) {
    const std::int64_t longer = m_ - extent_, most = longer * (p_ - 1);
    if (longer == 0) return x;
    const int d = static_cast<int>(dim_);
    const Value window = concatenate(Values{from_before(piece(x, m_ - most, m_)), x}, d);
    const auto number = [&](std::int64_t n) {
      return scalar(a_.b, DType::int32, static_cast<double>(n));
    };
    Values starts(x.shape().size(), number(0));
    starts[dim_] = sub(number(most), start(DType::int32, longer));
    Shape part = x.shape();
    part[dim_] = extent_;
    return dynamic_slice(window, starts, part.to_vector());
  }

  const LocalArgs& a_;
  const Strings axes_;
  const std::size_t dim_;
  const std::int64_t p_, extent_, m_;  // m_: length of a column, a multiple of p_
  Values carried_;
  std::size_t num_keys_ = 0;
  bool places_ = false;  // elements carry their original position
};

}  // namespace

Values sort_local(const LocalArgs& a) {
  const int dim = static_cast<int>(a.attrs.i("dimension"));
  if (a.input_specs[0].axes_of(dim).empty()) return a.b.emit(a.op, a.inputs, a.attrs);
  return Columns(a, dim).sorted();
}

}  // namespace tessera::inline v0::ops
