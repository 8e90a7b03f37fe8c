// How far the elementwise functions are from the exact results, in units in the last place: shared
// by the command that publishes the bounds (bench/accuracy.cc) and the test that holds them.
#pragma once

#include <tessera/tessera.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace accuracy {

using tessera::Array;
using tessera::DType;

struct Function {
  std::string name;
  int operands;
  std::function<Array(const Array&, const Array&)> computed;
  /// In double for the narrower types, in long double for float64.
  std::function<double(double, double)> exact;
  std::function<long double(long double, long double)> exact_of_doubles;
  std::string tails;  // what it gives at its ends, for the table
  /// Where set, ulps are at least those of this magnitude: of operands that cancel.
  std::function<double(double, double)> least = {};
};
const std::vector<Function>& functions();

inline constexpr DType kDTypes[] = {DType::float32, DType::float64, DType::float16,
                                    DType::bfloat16};

/// Which operands: `points` of a fixed sequence that fills the bits of all floats, and those near
/// one more densely, behind the points where functions are special; all floats of 16 bits, of
/// which there are few. With `every`, all float32 operands at that distance as well.
struct Sample {
  std::int64_t points = 0;
  std::int64_t every = 0;
};

struct Worst {
  double ulps = 0;
  double x = 0, y = 0;
  double got = 0, exact = 0;
  double z = 0;  // the third operand
};
/// An error of infinitely many ulps is a wrong special value: a NaN, an infinity or a sign of zero.
Worst measure(const Function& f, DType dtype, const Sample& sample);

/// A function that no wider type of the language has: its exact results are those of a file, which
/// make_exact.py makes with many digits.
struct Stored {
  std::string name;
  int operands;
  std::function<Array(std::span<const Array>)> computed;
  std::string tails;
};
const std::vector<Stored>& stored_functions();
/// At the operands that the files of `folder` have; those that are committed by default.
Worst measure(const Stored& f, DType dtype, const std::string& folder = "");

/// A tensor of those files; throws where there is none. `has_stored` asks.
const Array& stored(const std::string& folder, const std::string& name);
bool has_stored(const std::string& folder, const std::string& name);

/// A function of complex numbers, whose exact results make_complex.py stores.
struct OfComplex {
  std::string name;
  int operands;
  std::function<Array(std::span<const Array>)> computed;
  std::string ends;
  bool is_real = false;  // of what it gives
};
const std::vector<OfComplex>& complex_functions();
inline constexpr DType kComplexDTypes[] = {DType::complex64, DType::complex128};

/// The largest errors of each part in its own units, and of both in units of the magnitude, with
/// the operands.
struct WorstParts {
  double real = 0, imag = 0, whole = 0;
  std::string real_at, imag_at, whole_at;
};
WorstParts measure(const OfComplex& f, DType dtype, const std::string& folder = "");
/// What is wrong at infinities, NaN, zeros and branch points, of functions that C99 defines there.
std::vector<std::string> wrong_specials(const OfComplex& f, DType dtype);

}  // namespace accuracy
