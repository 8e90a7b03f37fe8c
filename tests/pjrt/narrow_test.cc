// Element types that the engine stores in wider ones: callers find the bytes that they know.
#include "caller.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace caller;

namespace {

using Bytes = std::vector<std::uint8_t>;

Buffer put_bytes(const Client& client, PJRT_Buffer_Type type, const Bytes& bytes,
                 const Dims& dims) {
  Put made = put(client, {bytes.data(), type, dims});
  EXPECT_EQ(element_of(made.buffer), type);
  return std::move(made.buffer);
}
Bytes all_bytes() {
  Bytes all(256);
  std::iota(all.begin(), all.end(), std::uint8_t{0});
  return all;
}
Loaded unary(const Client& client, const std::string& op, const std::string& from,
             const std::string& to, int n) {
  const std::string in = "tensor<" + std::to_string(n) + "x" + from + ">";
  const std::string out = "tensor<" + std::to_string(n) + "x" + to + ">";
  return compile(client, module_of("%a: " + in, out,
                                   "    %0 = stablehlo." + op + " %a : (" + in + ") -> " + out +
                                       "\n    return %0 : " + out + "\n"));
}

struct Integer {
  PJRT_Buffer_Type type;
  std::string spelling;
  int bits;
  bool is_signed;

  int value(std::uint8_t byte) const {
    const int n = 1 << bits, low = byte % n;
    return is_signed && low >= n / 2 ? low - n : low;
  }
};
const Integer kIntegers[] = {{PJRT_Buffer_Type_S4, "i4", 4, true},
                             {PJRT_Buffer_Type_U4, "ui4", 4, false},
                             {PJRT_Buffer_Type_S2, "i2", 2, true},
                             {PJRT_Buffer_Type_U2, "ui2", 2, false}};

// One byte has one element. The bits above the element's own are undefined in what callers give,
// and its sign in what they get.
TEST(NarrowIntegers, HaveAByteEach) {
  const Client client = make_client();
  for (const Integer& t : kIntegers) {
    const Buffer x = put_bytes(client, t.type, all_bytes(), {256});
    Bytes expected;
    std::vector<std::int32_t> values;
    for (const std::uint8_t b : all_bytes()) {
      expected.push_back(static_cast<std::uint8_t>(t.value(b)));
      values.push_back(t.value(b));
    }
    EXPECT_EQ(get<std::uint8_t>(x), expected) << t.spelling;
    EXPECT_FALSE(
        ask(&PJRT_Api::PJRT_Buffer_IsOnCpu, &PJRT_Buffer_IsOnCpu_Args::buffer, x.get()).is_on_cpu);
    EXPECT_EQ(failure([&] { place_of(x); }),
              "12: elements of the type " + t.spelling +
                  " are stored in a wider type, or dimensions in another order, than callers see; "
                  "read them with ToHostBuffer");
    const Loaded widened = unary(client, "convert", t.spelling, "i32", 256);
    EXPECT_EQ(get<std::int32_t>(run(widened, {x.get()})[0]), values) << t.spelling;
  }
}

TEST(NarrowIntegers, WrapInPrograms) {
  const Client client = make_client();
  for (const Integer& t : kIntegers) {
    const std::string type = "tensor<256x" + t.spelling + ">";
    const Loaded doubled = compile(client, module_of("%a: " + type, type,
                                                     "    %0 = stablehlo.add %a, %a : " + type +
                                                         "\n    return %0 : " + type + "\n"));
    const Buffer x = put_bytes(client, t.type, all_bytes(), {256});
    const Buffer y = std::move(run(doubled, {x.get()})[0]);
    EXPECT_EQ(element_of(y), t.type);
    Bytes expected;
    for (const std::uint8_t b : all_bytes())
      expected.push_back(
          static_cast<std::uint8_t>(t.value(static_cast<std::uint8_t>(2 * t.value(b)))));
    EXPECT_EQ(get<std::uint8_t>(y), expected) << t.spelling;
  }
}

// A type by its definition: sign, exponent and mantissa, and which codes are not numbers.
struct Real {
  PJRT_Buffer_Type type;
  std::string spelling;
  int exponent, mantissa, bias;
  enum { ieee, only_nan, unsigned_zero_nan, no_specials, scale } kind;

  int bits() const { return (kind == scale ? 0 : 1) + exponent + mantissa; }
  double value(int code) const {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const int e = code >> mantissa & ((1 << exponent) - 1), m = code & ((1 << mantissa) - 1);
    const bool negative = kind != scale && code >> (exponent + mantissa) & 1;
    const int most = (1 << exponent) - 1;
    if (kind == scale) return e == most ? nan : std::ldexp(1.0, e - bias);
    if (kind == ieee && e == most)
      return m ? nan : (negative ? -1 : 1) * std::numeric_limits<double>::infinity();
    if (kind == only_nan && e == most && m == (1 << mantissa) - 1) return nan;
    if (kind == unsigned_zero_nan && negative && e == 0 && m == 0) return nan;
    const double magnitude = e == 0 ? std::ldexp(m, 1 - bias - mantissa)
                                    : std::ldexp(m + (1 << mantissa), e - bias - mantissa);
    return negative ? -magnitude : magnitude;
  }
};
const Real kReals[] = {
    {PJRT_Buffer_Type_F8E5M2, "f8E5M2", 5, 2, 15, Real::ieee},
    {PJRT_Buffer_Type_F8E4M3, "f8E4M3", 4, 3, 7, Real::ieee},
    {PJRT_Buffer_Type_F8E3M4, "f8E3M4", 3, 4, 3, Real::ieee},
    {PJRT_Buffer_Type_F8E4M3FN, "f8E4M3FN", 4, 3, 7, Real::only_nan},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, "f8E4M3B11FNUZ", 4, 3, 11, Real::unsigned_zero_nan},
    {PJRT_Buffer_Type_F8E5M2FNUZ, "f8E5M2FNUZ", 5, 2, 16, Real::unsigned_zero_nan},
    {PJRT_Buffer_Type_F8E4M3FNUZ, "f8E4M3FNUZ", 4, 3, 8, Real::unsigned_zero_nan},
    {PJRT_Buffer_Type_F8E8M0FNU, "f8E8M0FNU", 8, 0, 127, Real::scale},
    {PJRT_Buffer_Type_F4E2M1FN, "f4E2M1FN", 2, 1, 1, Real::no_specials},
};

TEST(NarrowReals, KeepTheirBytesAndValues) {
  const Client client = make_client();
  for (const Real& t : kReals) {
    const int n = 1 << t.bits();
    Bytes codes(static_cast<std::size_t>(n));
    std::iota(codes.begin(), codes.end(), std::uint8_t{0});
    const Buffer x = put_bytes(client, t.type, codes, {n});
    const Bytes kept = get<std::uint8_t>(x);
    const auto values =
        get<float>(run(unary(client, "convert", t.spelling, "f32", n), {x.get()})[0]);
    const Bytes again =
        get<std::uint8_t>(run(unary(client, "convert", t.spelling, t.spelling, n), {x.get()})[0]);
    ASSERT_EQ(values.size(), codes.size());
    for (int c = 0; c < n; ++c) {
      const auto at = static_cast<std::size_t>(c);
      const double expected = t.value(c);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(values[at])) << t.spelling << " " << c;
        EXPECT_TRUE(std::isnan(t.value(kept[at]))) << t.spelling << " " << c;
      } else {
        EXPECT_EQ(values[at], static_cast<float>(expected)) << t.spelling << " " << c;
        EXPECT_EQ(std::signbit(values[at]), std::signbit(expected)) << t.spelling << " " << c;
        EXPECT_EQ(kept[at], codes[at]) << t.spelling;
      }
      EXPECT_EQ(again[at], kept[at]) << t.spelling << " " << c;
    }
  }
}

TEST(NarrowTypes, TakeStridesAndDonations) {
  const Client client = make_client();
  const Bytes bytes{1, 2, 3, 4, 5, 6};
  for (const PJRT_Buffer_Type type : {PJRT_Buffer_Type_S4, PJRT_Buffer_Type_F8E4M3FN}) {
    const Put columns = put(client, {bytes.data(), type, {3, 2}, {1, 3}});
    EXPECT_EQ(get<std::uint8_t>(columns.buffer), (Bytes{1, 4, 2, 5, 3, 6}));
    Bytes to(6);
    const Dims order{0, 1};
    PJRT_Buffer_MemoryLayout layout = tiled(order);
    wait(copy_to_host(columns.buffer, to.data(), to.size(), &layout));
    EXPECT_EQ(to, bytes);
    const std::string t = type == PJRT_Buffer_Type_S4 ? "tensor<3x2xi4>" : "tensor<3x2xf8E4M3FN>";
    const Loaded negated = compile(
        client, module_of("%a: " + t + " {tf.aliasing_output = 0 : i32}", t,
                          "    %0 = stablehlo.negate %a : " + t + "\n    return %0 : " + t + "\n"));
    const Buffer y = std::move(run(negated, {columns.buffer.get()})[0]);
    EXPECT_TRUE(is_deleted(columns.buffer));
    Bytes expected;
    for (const int b : {1, 4, 2, 5, 3, 6})
      expected.push_back(
          static_cast<std::uint8_t>(type == PJRT_Buffer_Type_S4 ? (b == 8 ? -8 : -b) : b | 0x80));
    EXPECT_EQ(get<std::uint8_t>(y), expected);
  }
}

}  // namespace
