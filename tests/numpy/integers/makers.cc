// Functions that make arrays from C++ numbers, and numbers from arrays.
#include "numpy/integers/cases.h"

#include <cmath>

namespace integers {

namespace {

DType number_dtype(Wide v) { return number(v).dtype; }

// full, full_like and array, from a number or an array, in a dtype of their own or a given one.
Case filled_case(Dice& dice, const std::string& how) {
  const DType d = draw_dtype(dice);
  const bool is_number = dice.toss(), given = how == "full_like" || dice.toss();
  const Grid v = is_number ? draw_number(dice, d == ts::bool_ ? ts::i64 : d)
                           : draw_array(dice, dice.toss() ? d : draw_dtype(dice), {});
  const Shape s = how == "array" ? Shape{} : draw_shape(dice);
  const Grid like = draw_array(dice, d, s);
  Case c;
  c.call = how + "(x" + (given ? ", " + std::string(ts::short_name_of(d)) + ")" : ")");
  c.operands = {v, like};
  c.maps = how != "full_like";
  const std::optional<DType> dtype = given ? std::optional(d) : std::nullopt;
  c.f = [=](const Arrays& in) -> Arrays {
    if (how == "full") return {ts::full(s, in[0], dtype)};
    if (how == "full_like") return {ts::full_like(in[1], in[0])};
    return {ts::array(in[0], dtype)};
  };
  const DType to = given ? d : v.dtype;
  if (is_number && ts::is_integer(to) && !fits(v.at[0], to)) {
    c.refused = Refusal::dtype;
    return c;
  }
  c.expected = {
      exactly(to, s, std::vector<Wide>(static_cast<std::size_t>(s.count()), wrapped(v.at[0], to)))};
  return c;
}
Case constant_case(Dice& dice, const std::string& how) {
  const Grid like = draw_array(dice);
  Case c;
  c.call = how + "(x)";
  c.operands = {like};
  c.f = [how, s = like.shape, d = like.dtype](const Arrays& in) -> Arrays {
    if (how == "zeros") return {ts::zeros(s, d)};
    if (how == "ones") return {ts::ones(s, d)};
    return {how == "zeros_like" ? ts::zeros_like(in[0]) : ts::ones_like(in[0])};
  };
  c.maps = how.find("like") != std::string::npos;
  c.expected = {exactly(like.dtype, like.shape, std::vector<Wide>(like.at.size(), how[0] == 'o'))};
  return c;
}

// Values in braces, of one dtype that holds all of them.
Case braces_case(Dice& dice) {
  const std::optional<DType> given = dice.toss() ? std::optional(draw_dtype(dice)) : std::nullopt;
  const DType draw = given.value_or(ts::i64);
  std::vector<Wide> v;
  std::vector<ts::detail::Nested> numbers;
  for (int i = 0; i < 3; ++i) {
    Wide e = draw_number(dice, draw == ts::bool_ ? ts::i64 : draw).at[0];
    v.push_back(e);
    numbers.push_back(e > most(ts::i64) ? ts::detail::Nested(static_cast<std::uint64_t>(e))
                                        : ts::detail::Nested(static_cast<std::int64_t>(e)));
  }
  Case c;
  c.call = "array({" + text(v[0]) + ", " + text(v[1]) + ", " + text(v[2]) + "}" +
           (given ? ", " + std::string(ts::short_name_of(*given)) + ")" : ")");
  c.maps = false;
  c.f = [=](const Arrays&) {
    return Arrays{ts::array({numbers[0], numbers[1], numbers[2]}, given)};
  };
  DType d = ts::i32;
  for (Wide e : v)
    if (most(number_dtype(e)) > most(d)) d = number_dtype(e);
  d = given.value_or(d);
  for (Wide e : v)
    if (d != ts::bool_ && !fits(e, d)) c.refused = Refusal::dtype;
  for (Wide& e : v) e = wrapped(e, d);
  if (c.refused == Refusal::none) c.expected = {exactly(d, {3}, v)};
  return c;
}

// start, start + step, ... before stop; refused if the dtype does not hold one of them. The dtype
// is int32, or int64 if a value needs it.
Case arange_case(Dice& dice) {
  const std::optional<DType> given =
      dice.toss() ? std::optional(draw_dtype(dice, false)) : std::nullopt;
  const Wide start =
      draw_value(dice, dice.toss() ? given.value_or(ts::i32) : draw_dtype(dice, false));
  const std::int64_t step =
      dice.of(Ints{1, 2, 3, -1, -2, 100, -100, INT32_MAX, std::int64_t{1} << 31,
                   std::int64_t{1} << 53, INT64_MAX, INT64_MIN});
  const Wide stop = std::clamp<Wide>(start + times(step, dice.below(6)) + dice.between(-1, 1),
                                     least(ts::i64), most(ts::u64));
  Case c;
  c.call = "arange(" + text(start) + ", " + text(stop) + ", " + std::to_string(step) +
           (given ? ", " + std::string(ts::short_name_of(*given)) + ")" : ")");
  c.maps = false;
  c.f = [=](const Arrays&) {
    // Passes v as int64, or as uint64 if int64 does not hold it.
    const auto typed = [](Wide v, auto f) {
      return v > most(ts::i64) ? f(static_cast<std::uint64_t>(v)) : f(static_cast<std::int64_t>(v));
    };
    return Arrays{typed(start, [&](auto from) {
      return typed(stop, [&](auto to) { return ts::arange(from, to, step, given); });
    })};
  };
  std::vector<Wide> want;
  for (Wide v = start; step > 0 ? v < stop : v > stop; v += step) want.push_back(v);
  const auto hold = [&](DType d) {
    return std::all_of(want.begin(), want.end(), [&](Wide v) { return fits(v, d); });
  };
  const DType needed = hold(ts::i32) ? ts::i32 : hold(ts::i64) ? ts::i64 : ts::u64;
  const DType d = given.value_or(needed);
  if (!hold(d)) c.refused = Refusal::dtype;
  if (c.refused == Refusal::none) c.expected = {exactly(d, Shape{want.size()}, want)};
  return c;
}

// Integers between bounds that are doubles, rounded down. The number of parts is a power of two, so
// divisions are exact, and the oracle's fractions are the library's.
Case linspace_case(Dice& dice) {
  const DType d = draw_dtype(dice, false);
  const std::int64_t parts = dice.of(Ints{1, 2, 4, 8});
  // Bounds have few bits, so that no product of them is rounded.
  const auto bound = [&] {
    return static_cast<double>(dice.of(std::vector<Wide>{0,
                                                         1,
                                                         100,
                                                         -1,
                                                         -100,
                                                         127,
                                                         -128,
                                                         255,
                                                         32767,
                                                         -32768,
                                                         65535,
                                                         (Wide(1) << 31) - 1,
                                                         -(Wide(1) << 31),
                                                         (Wide(1) << 32) - 1,
                                                         -(Wide(1) << 63),
                                                         256,
                                                         -129,
                                                         300,
                                                         Wide(1) << 31,
                                                         Wide(1) << 32,
                                                         Wide(1) << 62}));
  };
  const double start = bound(), stop = bound();
  Case c;
  c.call = "linspace(" + std::to_string(start) + ", " + std::to_string(stop) + ", " +
           std::to_string(parts + 1) + ", true, " + std::string(ts::short_name_of(d)) + ")";
  c.maps = false;
  c.f = [=](const Arrays&) { return Arrays{ts::linspace(start, stop, parts + 1, true, d)}; };
  std::vector<Wide> want;
  for (std::int64_t i = 0; i <= parts; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(parts);
    const double v = std::floor((1 - t) * start + t * stop);
    want.push_back(static_cast<Wide>(v));
    if (!fits(want.back(), d)) c.refused = Refusal::dtype;
  }
  if (c.refused == Refusal::none) c.expected = {exactly(d, Shape{want.size()}, want)};
  return c;
}

Case eye_case(Dice& dice) {
  const std::int64_t n = dice.below(5), m = dice.below(5);
  const std::int64_t k = dice.of(Ints{0, 1, -1, 3, INT32_MAX, std::int64_t{1} << 32,
                                      (std::int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN});
  const DType d = draw_dtype(dice);
  Case c;
  c.call = "eye(" + std::to_string(n) + ", " + std::to_string(m) + ", " + std::to_string(k) + ", " +
           std::string(ts::short_name_of(d)) + ")";
  c.maps = false;
  c.f = [=](const Arrays&) { return Arrays{ts::eye(n, m, k, d)}; };
  c.expected = {
      exactly(filled(d, {n, m}, [&](const Ints& at) { return Wide(Wide(at[1]) - at[0] == k); }))};
  return c;
}

// Reading gives the number if the C++ type holds it, else an error. Values are not available in a
// trace, so only the outcome enters the functions that run.
template <class T>
Expected read(const Grid& x, Case& c) {
  const Wide v = x.at[0];
  if (!std::is_same_v<T, bool> &&
      (v < Wide(std::numeric_limits<T>::min()) || v > Wide(std::numeric_limits<T>::max())))
    c.refused = Refusal::dtype;
  const Array from = array_of(x);
  c.f = [from](const Arrays&) { return Arrays{Array(std::vector<T>{from.item<T>()})}; };
  return exactly(ts::dtype_of<T>(), {1}, {std::is_same_v<T, bool> ? Wide(v != 0) : v});
}
Case item_case(Dice& dice, bool conversion) {
  Case c;
  const Grid x =
      dice.once_in(4) ? draw_number(dice, ts::i64) : draw_array(dice, draw_dtype(dice), {});
  const DType to = draw_dtype(dice);
  c.call =
      (conversion ? "static_cast<" : "item<") + std::string(ts::name_of(to)) + "> of " + text(x);
  c.maps = false;
  ts::dispatch_real(to, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      c.expected = {read<T>(x, c)};
      if (conversion)
        c.f = [from = array_of(x)](const Arrays&) {
          return Arrays{Array(std::vector<T>{static_cast<T>(from)})};
        };
    }
  });
  if (c.refused != Refusal::none) c.expected.clear();
  return c;
}
// All elements are returned as they were passed.
Case vector_case(Dice& dice, const std::string& how) {
  const Grid x = draw_array(dice);
  Case c;
  c.call = how + " of " + text(x);
  c.maps = false;
  const Array from = array_of(x);
  c.f = [from, how, s = x.shape](const Arrays&) {
    return Arrays{ts::dispatch_real(from.dtype(), [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_same_v<T, bool>) {
        return from;
      } else {
        if (how == "Array::host") return Array(from.host<T>(), s);
        if (how == "Array::from_bytes")
          return Array::from_bytes(ts::dtype_of<T>(), s, from.to_vector<T>().data());
        if (how == "Array::adopt") {
          auto owner = std::make_shared<std::vector<T>>(from.to_vector<T>());
          return Array::adopt(ts::dtype_of<T>(), s, owner->data(), owner);
        }
        return Array(from.to_vector<T>(), s);
      }
    })};
  };
  c.expected = {exactly(x)};
  return c;
}

}  // namespace

std::vector<Row> maker_rows() {
  std::vector<Row> rows{
      {"array", braces_case},
      {"arange", arange_case},
      {"linspace", linspace_case},
      {"eye", eye_case},
      {"Array::item", [](Dice& d) { return item_case(d, false); }},
      {"Array::operatorT", [](Dice& d) { return item_case(d, true); }},
      {"Array::operatorbool",
       [](Dice& dice) {
         const Grid x = draw_array(dice, draw_dtype(dice), {});
         Case c;
         c.call = "bool of " + text(x);
         c.maps = false;
         c.f = [from = array_of(x)](const Arrays&) { return Arrays{ts::array(bool(from))}; };
         c.expected = {exactly(ts::bool_, {}, {Wide(x.at[0] != 0)})};
         return c;
       }},
  };
  for (const char* how : {"full", "full_like", "array"})
    rows.push_back({how, [how](Dice& d) { return filled_case(d, how); }});
  for (const char* how : {"zeros", "ones", "zeros_like", "ones_like"})
    rows.push_back({how, [how](Dice& d) { return constant_case(d, how); }});
  for (const char* how : {"Array::to_vector", "Array::host", "Array::from_bytes", "Array::adopt"})
    rows.push_back({how, [how](Dice& d) { return vector_case(d, how); }});
  return rows;
}

}  // namespace integers
