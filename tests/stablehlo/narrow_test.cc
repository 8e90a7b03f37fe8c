// Element types narrower than any dtype, beside ml_dtypes' numbers for all their bits and its
// rounding; and what has a meaning of its own for complex numbers and bits.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>

namespace ts = tessera;
using ts::Array;
using Floats = std::vector<float>;

namespace {

std::string main_of(const std::string& arguments, const std::string& result,
                    const std::string& body) {
  return "func.func @main(" + arguments + ") -> " + result + " {\n" + body + "\n}";
}

// Equal numbers, NaN for NaN, and the zeros' signs.
std::string difference(const Floats& got, const Floats& want) {
  if (got.size() != want.size()) return "as many as " + std::to_string(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = std::isnan(want[i]) ? std::isnan(got[i])
                                          : std::memcmp(&got[i], &want[i], sizeof(float)) == 0;
    if (!same)
      return "number " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
             std::to_string(want[i]);
  }
  return "";
}

TEST(Narrow, FloatsAreThoseOfMlDtypes) {
  const auto golden = ts::load_safetensors(TESSERA_SOURCE_DIR "/tests/golden/narrow.safetensors");
  const Array inputs = golden.tensors.at("inputs");
  const std::string n = std::to_string(inputs.size());
  int types = 0;
  for (const auto& [key, numbers] : golden.tensors) {
    const std::size_t dot = key.find(".numbers");
    if (dot == key.npos) continue;
    ++types;
    const std::string type = key.substr(0, dot), count = std::to_string(numbers.size());
    std::string digits;
    for (std::int64_t bits = 0; bits < numbers.size(); ++bits) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      digits += {kDigits[bits / 16], kDigits[bits % 16]};
    }
    const std::string here = "tensor<" + count + "x" + type + ">",
                      floats = "tensor<" + count + "xf32>";
    const auto constants =
        ts::load_stablehlo_text(main_of("", floats,
                                        "%0 = stablehlo.constant dense<\"0x" + digits +
                                            "\"> : " + here + "\n%1 = stablehlo.convert %0 : (" +
                                            here + ") -> " + floats + "\nreturn %1 : " + floats));
    EXPECT_EQ(difference(constants()[0].to_vector<float>(), numbers.to_vector<float>()), "")
        << type;
    const std::string wide = "tensor<" + n + "xf32>", narrow = "tensor<" + n + "x" + type + ">";
    const auto rounded = ts::load_stablehlo_text(main_of(
        "%x: " + wide, wide,
        "%0 = stablehlo.convert %x : (" + wide + ") -> " + narrow +
            "\n%1 = stablehlo.convert %0 : (" + narrow + ") -> " + wide + "\nreturn %1 : " + wide));
    Floats want = golden.tensors.at(type + ".rounded").to_vector<float>();
    // A type without zero has the least power in its place; ml_dtypes makes it NaN.
    if (type == "f8E8M0FNU")
      for (std::size_t i = 0; i < want.size(); ++i)
        if (inputs.to_vector<float>()[i] == 0) want[i] = std::ldexp(1.0f, -127);
    EXPECT_EQ(difference(rounded(inputs)[0].to_vector<float>(), want), "") << type;
    EXPECT_EQ(difference(ts::jit(rounded)(inputs)[0].to_vector<float>(), want), "") << type;
  }
  EXPECT_EQ(types, 11);
}

TEST(Narrow, IntegersWrap) {
  const auto sum = [](const std::string& type, const std::string& op) {
    const std::string t = "tensor<4x" + type + ">";
    return ts::load_stablehlo_text(
        main_of("%a: " + t + ", %b: " + t, t,
                "%0 = stablehlo." + op + " %a, %b : " + t + "\nreturn %0 : " + t));
  };
  using Bytes = std::vector<std::int8_t>;
  using Unsigned = std::vector<std::uint8_t>;
  const Array a(Bytes{7, -8, 3, -1}), b(Bytes{1, -1, 3, -8});
  EXPECT_EQ(sum("i4", "add")(a, b)[0].to_vector<std::int8_t>(), (Bytes{-8, 7, 6, 7}));
  EXPECT_EQ(sum("i4", "multiply")(a, b)[0].to_vector<std::int8_t>(), (Bytes{7, -8, -7, -8}));
  EXPECT_EQ(sum("i2", "subtract")(Array(Bytes{1, -2, 0, 1}), Array(Bytes{-1, 1, 1, 1}))[0]
                .to_vector<std::int8_t>(),
            (Bytes{-2, 1, -1, 0}));
  EXPECT_EQ(sum("ui4", "subtract")(Array(Unsigned{0, 15, 3, 8}), Array(Unsigned{1, 15, 4, 0}))[0]
                .to_vector<std::uint8_t>(),
            (Unsigned{15, 0, 15, 8}));
}

TEST(Narrow, FloatsBeyondTheIntegersAreTheLastOfThem) {
  const Array x(Floats{-20.5, -2.9f, 1.7f, 20.5, NAN, INFINITY});
  const auto as = [&](const std::string& type) {
    return ts::load_stablehlo_text(main_of("%x: tensor<6xf32>", "tensor<6x" + type + ">",
                                           "%0 = stablehlo.convert %x : (tensor<6xf32>) -> "
                                           "tensor<6x" +
                                               type + ">\nreturn %0 : tensor<6x" + type +
                                               ">"))(x)[0];
  };
  using Bytes = std::vector<std::int8_t>;
  using Unsigned = std::vector<std::uint8_t>;
  EXPECT_EQ(as("i4").to_vector<std::int8_t>(), (Bytes{-8, -2, 1, 7, 0, 7}));
  EXPECT_EQ(as("i2").to_vector<std::int8_t>(), (Bytes{-2, -2, 1, 1, 0, 1}));
  EXPECT_EQ(as("ui4").to_vector<std::uint8_t>(), (Unsigned{0, 0, 1, 15, 0, 15}));
}

// -1 is 1111, -8 is 1000 and 3 is 0011; of the unsigned 15 and 8 are.
TEST(Narrow, BitsAreAsManyAsTheTypeHas) {
  using Bytes = std::vector<std::int8_t>;
  using Unsigned = std::vector<std::uint8_t>;
  const auto of = [](const std::string& type, const std::string& op, int operands) {
    const std::string t = "tensor<4x" + type + ">";
    return ts::load_stablehlo_text(main_of("%a: " + t + ", %b: " + t, t,
                                           "%0 = stablehlo." + op +
                                               (operands == 2 ? " %a, %b : " : " %a : ") + t +
                                               "\nreturn %0 : " + t));
  };
  const Array a(Bytes{-1, -8, 3, 0}), by(Bytes{1, 3, 1, 4});
  const auto bytes = [](const Array& x) { return x.to_vector<std::int8_t>(); };
  EXPECT_EQ(bytes(of("i4", "popcnt", 1)(a, by)[0]), (Bytes{4, 1, 2, 0}));
  EXPECT_EQ(bytes(of("i4", "count_leading_zeros", 1)(a, by)[0]), (Bytes{0, 0, 2, 4}));
  EXPECT_EQ(bytes(of("i4", "shift_right_logical", 2)(a, by)[0]), (Bytes{7, 1, 1, 0}));
  EXPECT_EQ(bytes(of("i4", "shift_right_arithmetic", 2)(a, by)[0]), (Bytes{-1, -1, 1, 0}));
  EXPECT_EQ(bytes(of("i4", "shift_left", 2)(a, by)[0]), (Bytes{-2, 0, 6, 0}));
  const Array u(Unsigned{15, 8, 3, 8}), v(Unsigned{1, 3, 1, 4});
  const auto numbers = [](const Array& x) { return x.to_vector<std::uint8_t>(); };
  EXPECT_EQ(numbers(of("ui4", "shift_right_logical", 2)(u, v)[0]), (Unsigned{7, 1, 1, 0}));
  EXPECT_EQ(numbers(of("ui4", "shift_right_arithmetic", 2)(u, v)[0]), (Unsigned{15, 15, 1, 15}));
  EXPECT_EQ(numbers(of("ui4", "count_leading_zeros", 1)(u, v)[0]), (Unsigned{0, 0, 2, 0}));
}

// All bits of a byte, as a float and back: NaNs come back as one of the type's.
TEST(Narrow, BytesAsFloatsAndBack) {
  std::vector<std::uint8_t> all(256);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i);
  const auto golden = ts::load_safetensors(TESSERA_SOURCE_DIR "/tests/golden/narrow.safetensors");
  for (const std::string type : {"f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ",
                                 "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"}) {
    const std::string bytes = "tensor<256xui8>", floats = "tensor<256x" + type + ">",
                      wide = "tensor<256xf32>";
    const auto f = ts::load_stablehlo_text(
        main_of("%x: " + bytes, "(" + wide + ", " + bytes + ")",
                "%0 = stablehlo.bitcast_convert %x : (" + bytes + ") -> " + floats +
                    "\n%1 = stablehlo.convert %0 : (" + floats + ") -> " + wide +
                    "\n%2 = stablehlo.bitcast_convert %0 : (" + floats + ") -> " + bytes +
                    "\nreturn %1, %2 : " + wide + ", " + bytes));
    const auto y = f(Array(all));
    const Floats numbers = golden.tensors.at(type + ".numbers").to_vector<float>();
    EXPECT_EQ(difference(y[0].to_vector<float>(), numbers), "") << type;
    const auto back = y[1].to_vector<std::uint8_t>();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(numbers[i]))
        EXPECT_TRUE(std::isnan(numbers[back[i]])) << type << " " << i;
      else
        EXPECT_EQ(back[i], all[i]) << type << " " << i;
    }
  }
}

TEST(Narrow, NumbersThatATypeDoesNotHold) {
  const auto constant = [](const std::string& value, const std::string& type) {
    const std::string t = "tensor<" + type + ">";
    try {
      ts::load_stablehlo_text(main_of(
          "", t, "%0 = stablehlo.constant dense<" + value + "> : " + t + "\nreturn %0 : " + t));
      return std::string();
    } catch (const ts::IoError& e) {
      return std::string(e.what());
    }
  };
  EXPECT_EQ(constant("7", "i4"), "");
  EXPECT_NE(constant("16", "i4").find("'16' is no i4"), std::string::npos);
  EXPECT_NE(constant("-9", "i4").find("'-9' is no i4"), std::string::npos);
  EXPECT_NE(constant("-1", "ui4").find("'-1' is no ui4"), std::string::npos);
  EXPECT_NE(constant("0x100", "f8E5M2").find("'0x100' is no f8E5M2"), std::string::npos);
}

TEST(Bits, OfBooleansAndComplexNumbers) {
  const auto cast = [](const std::string& from, const std::string& to) {
    return ts::load_stablehlo_text(main_of("%x: tensor<" + from + ">", "tensor<" + to + ">",
                                           "%0 = stablehlo.bitcast_convert %x : (tensor<" + from +
                                               ">) -> tensor<" + to + ">\nreturn %0 : tensor<" +
                                               to + ">"));
  };
  const Array numbers(std::vector<std::int32_t>{0x01020304, -2});
  const Array bits = cast("2xi32", "2x32xi1")(numbers)[0];
  const std::vector<bool> first = bits[0].to_vector<bool>();
  std::uint32_t back = 0;
  for (int i = 0; i < 32; ++i) back |= static_cast<std::uint32_t>(first[i]) << i;
  EXPECT_EQ(back, 0x01020304u);
  EXPECT_EQ(cast("2x32xi1", "2xi32")(bits)[0].to_vector<std::int32_t>(),
            numbers.to_vector<std::int32_t>());
  const Array z(std::vector<std::complex<float>>{{1, 2}, {3, -4}});
  EXPECT_EQ(cast("2xcomplex<f32>", "2x2xf32")(z)[0].to_vector<float>(), (Floats{1, 2, 3, -4}));
  EXPECT_EQ(cast("2x2xf32", "2xcomplex<f32>")(Array(Floats{1, 2, 3, -4}).reshape({2, 2}))[0]
                .to_vector<std::complex<float>>(),
            z.to_vector<std::complex<float>>());
  EXPECT_EQ(cast("2xcomplex<f32>", "complex<f64>")(z)[0].shape(), ts::Shape{});
}

}  // namespace
