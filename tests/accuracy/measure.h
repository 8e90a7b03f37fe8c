// Measures how far the elementwise functions are from the exact results, in units in the last
// place. The command that publishes the bounds (bench/accuracy.cc) and the test that checks them
// share it.
#pragma once

#include "../share.h"

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
  /// Computed in double for the narrower types, in long double for float64.
  std::function<double(double, double)> exact;
  std::function<long double(long double, long double)> exact_of_doubles;
  std::string tails;  // its values at its limits, for the table
  /// If set, a unit is at least that of this magnitude: for operands that cancel.
  std::function<double(double, double)> least = {};
};
const std::vector<Function>& functions();

inline constexpr DType kDTypes[] = {DType::float32, DType::float64, DType::float16,
                                    DType::bfloat16};

/// The operands: the points where functions are special, then `points` numbers of a fixed sequence
/// over the bits of all floats, denser near one; and all 16-bit floats. With `every`, also all
/// float32 numbers at that distance. A share is of all of them but the special points of functions
/// of one operand, which are always measured.
struct Sample {
  std::int64_t points = 0;
  std::int64_t every = 0;
  test::Share share = {};
};

struct Worst {
  double ulps = 0;
  double x = 0, y = 0;
  double got = 0, exact = 0;
  double z = 0;               // the third operand
  std::int64_t measured = 0;  // how many operands, or pairs or triples of them
};
/// An error of infinitely many units is a wrong special value: a NaN, an infinity or the sign of a
/// zero.
Worst measure(const Function& f, DType dtype, const Sample& sample);

/// A function that the language does not have in a wider type. Its exact results come from a file,
/// which make_exact.py writes with many digits.
struct Stored {
  std::string name;
  int operands;
  std::function<Array(std::span<const Array>)> computed;
  std::string tails;
};
const std::vector<Stored>& stored_functions();
/// Measures at a share of the operands in the files of `folder`; by default those that are
/// committed.
Worst measure(const Stored& f, DType dtype, const std::string& folder = "",
              const test::Share& share = {});

/// A tensor of those files. Throws if there is none; `has_stored` says whether there is.
const Array& stored(const std::string& folder, const std::string& name);
bool has_stored(const std::string& folder, const std::string& name);

/// A function of complex numbers, whose exact results make_complex.py stores.
struct OfComplex {
  std::string name;
  int operands;
  std::function<Array(std::span<const Array>)> computed;
  std::string ends;
  bool is_real = false;  // the result
};
const std::vector<OfComplex>& complex_functions();
inline constexpr DType kComplexDTypes[] = {DType::complex64, DType::complex128};

/// The largest error of each part in its own units, and of both in units of the magnitude, with the
/// operands.
struct WorstParts {
  double real = 0, imag = 0, whole = 0;
  std::string real_at, imag_at, whole_at;
};
WorstParts measure(const OfComplex& f, DType dtype, const std::string& folder = "");
/// Lists wrong results at infinities, NaN, zeros and branch points, for functions that C99 defines
/// there.
std::vector<std::string> wrong_specials(const OfComplex& f, DType dtype);

}  // namespace accuracy
