// Sorts, with comparators for types that have no total order of their own.
#include "stablehlo/emit/rules.h"

#include <limits>

namespace tessera::inline v0::stablehlo::write {

namespace {

// The key by which elements are compared: all NaNs are equal and come last, and -0 equals 0.
std::string ordered_keys(Block& b, const std::string& x, DType dtype) {
  const Type t(dtype, {});
  const std::string zero = b.number(dtype, 0);
  const std::string nan =
      b.constant(scalar_literal(dtype, std::numeric_limits<double>::quiet_NaN()));
  const auto choose = [&](const std::string& condition, const std::string& y,
                          const std::string& z) {
    return b.define("stablehlo.select " + condition + ", " + y + ", " + z + " : tensor<i1>, " +
                    type_text(t))[0];
  };
  const std::string unsigned_zero = choose(b.compare("EQ", x, zero, t), zero, x);
  return choose(b.compare("NE", x, x, t), nan, unsigned_zero);
}

struct SortKey {
  std::string left, right;
  Type type;
};

// A complex number has its real part as first key and its imaginary part as second.
void add_keys(Block& b, const std::string& x, const std::string& y, DType dtype,
              std::vector<SortKey>& keys) {
  if (!is_complex(dtype)) {
    const bool real = is_floating(dtype);
    keys.push_back({real ? ordered_keys(b, x, dtype) : x, real ? ordered_keys(b, y, dtype) : y,
                    Type(dtype, {})});
    return;
  }
  const DType part = size_of(dtype) == 8 ? DType::float32 : DType::float64;
  const auto take = [&](const char* op, const std::string& v) {
    return b.define(std::string(op) + " " + v + " : (" + type_text(Type(dtype, {})) + ") -> " +
                    type_text(Type(part, {})))[0];
  };
  for (const char* op : {"stablehlo.real", "stablehlo.imag"})
    add_keys(b, take(op, x), take(op, y), part, keys);
}

}  // namespace

Names sort(Writing& w) {
  const auto count = static_cast<std::size_t>(w.attrs.i("num_keys"));
  const std::vector<Type> types = w.in_types;
  const Type truth(DType::boolean, {});
  RegionText less{{}, {}, {truth}};
  for (const Type& t : types) less.arguments.insert(less.arguments.end(), 2, Type(t.dtype, {}));
  less.write = [=](Block& b, const Names& a) {
    std::vector<SortKey> keys;
    for (std::size_t k = 0; k < count; ++k)
      add_keys(b, a[2 * k], a[2 * k + 1], types[k].dtype, keys);
    std::string result;
    for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
      const bool total = is_floating(key->type.dtype);
      const std::string before = b.compare("LT", key->left, key->right, key->type, total);
      if (result.empty()) {
        result = before;
        continue;
      }
      const std::string same = b.compare("EQ", key->left, key->right, key->type, total);
      result =
          b.apply("stablehlo.or", {before, b.apply("stablehlo.and", {same, result}, truth)}, truth);
    }
    return Names{result};
  };
  return w.block.generic(
      "stablehlo.sort", w.in,
      "dimension = " + std::to_string(w.attrs.i("dimension")) + " : i64, is_stable = true",
      w.in_types, w.out_types, {less});
}

// Sorts everything, and slices out the requested part.
Names sort_ends(Writing& w) {
  Writing whole = w;
  whole.out_types = w.in_types;
  Names names = sort(whole);
  const auto d = static_cast<int>(w.attrs.i("dimension"));
  const std::int64_t count = w.attrs.i("count");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Shape& shape = w.in_types[i].shape;
    std::string dims;
    for (int k = 0; k < shape.rank(); ++k) {
      const bool cut = k == d, behind = cut && w.attrs.flag("last");
      dims += (k > 0 ? ", " : "") + std::to_string(behind ? shape[k] - count : 0) + ":" +
              std::to_string(cut && !behind ? count : shape[k]);
    }
    names[i] = w.block.define("stablehlo.slice " + names[i] + " [" + dims + "] : (" +
                              type_text(w.in_types[i]) + ") -> " + type_text(w.out_types[i]))[0];
  }
  return names;
}

// Sorts positions along with the elements.
Names order_by(Writing& w) {
  const ProgramPtr comparator = w.attrs.program("comparator");
  const std::string dimension = std::to_string(w.attrs.i("dimension"));
  const std::string positions =
      w.block.define("stablehlo.iota dim = " + dimension + " : " + type_text(w.type()))[0];
  Names in = w.in;
  in.push_back(positions);
  std::vector<Type> types = w.in_types;
  types.push_back(w.type());
  RegionText less = Block::region(comparator);
  less.arguments.insert(less.arguments.end(), 2, Type(w.type().dtype, {}));
  less.write = [comparator](Block& b, const Names& a) {
    return b.program(*comparator, Names(a.begin(), a.end() - 2));
  };
  return {w.block
              .generic("stablehlo.sort", in,
                       "dimension = " + dimension + " : i64, is_stable = true", types, types,
                       {less})
              .back()};
}

Names top_k(Writing& w) {
  return w.block.generic("chlo.top_k", w.in, "k = " + std::to_string(w.attrs.i("k")) + " : i64",
                         w.in_types, w.out_types);
}

}  // namespace tessera::inline v0::stablehlo::write
