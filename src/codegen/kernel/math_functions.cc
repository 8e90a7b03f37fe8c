#include "codegen/kernel/math_functions.h"

#include "codegen/kernel/isa.h"
#include "ir/complex_functions.h"

#include <cmath>
#include <map>

// SLEEF's header declares only the functions that this file's compile flags allow, but their
// addresses suffice here.
// clang-format off
#define TESSERA_MATH(X)                                                                            \
  X(exp, u10) X(exp2, u10) X(expm1, u10) X(log, u10) X(log1p, u10) X(sin, u10) X(cos, u10)         \
  X(tan, u10) X(asin, u10) X(acos, u10) X(atan, u10) X(sinh, u10) X(cosh, u10) X(tanh, u35)        \
  X(asinh, u10) X(acosh, u10) X(atanh, u10) X(erf, u10) X(erfc, u15) X(lgamma, u10) X(cbrt, u10)   \
  X(pow, u10) X(atan2, u10)
// clang-format on

#if defined(__x86_64__)
#define TESSERA_DECLARE(op, ulp)         \
  void Sleef_##op##f4_##ulp##sse4();     \
  void Sleef_##op##d2_##ulp##sse4();     \
  void Sleef_##op##f8_##ulp##avx2();     \
  void Sleef_##op##d4_##ulp##avx2();     \
  void Sleef_##op##f16_##ulp##avx512f(); \
  void Sleef_##op##d8_##ulp##avx512f();
#elif defined(__aarch64__)
#define TESSERA_DECLARE(op, ulp)        \
  void Sleef_##op##f4_##ulp##advsimd(); \
  void Sleef_##op##d2_##ulp##advsimd();
#endif

extern "C" {
TESSERA_MATH(TESSERA_DECLARE)
}

namespace tessera::inline v0::codegen {
namespace {

struct FunctionNames {
  MathFunction f32, f64;
};

#define TESSERA_FUNCTION(name) \
  MathFunction { #name, reinterpret_cast < void*>(&name) }
#define TESSERA_ROW(op, a, b) {Arith::op, FunctionNames{TESSERA_FUNCTION(a), TESSERA_FUNCTION(b)}},

std::map<Arith, FunctionNames> make_table() {
#if defined(__x86_64__)
#define TESSERA_AVX512(op, ulp) \
  TESSERA_ROW(op, Sleef_##op##f16_##ulp##avx512f, Sleef_##op##d8_##ulp##avx512f)
#define TESSERA_AVX2(op, ulp) \
  TESSERA_ROW(op, Sleef_##op##f8_##ulp##avx2, Sleef_##op##d4_##ulp##avx2)
#define TESSERA_SSE(op, ulp) TESSERA_ROW(op, Sleef_##op##f4_##ulp##sse4, Sleef_##op##d2_##ulp##sse4)
  if (host_isa().avx512) return {TESSERA_MATH(TESSERA_AVX512)};
  if (host_isa().avx2) return {TESSERA_MATH(TESSERA_AVX2)};
  return {TESSERA_MATH(TESSERA_SSE)};
#else
#define TESSERA_NEON(op, ulp) \
  TESSERA_ROW(op, Sleef_##op##f4_##ulp##advsimd, Sleef_##op##d2_##ulp##advsimd)
  return {TESSERA_MATH(TESSERA_NEON)};
#endif
}

const std::map<Arith, FunctionNames>& table() {
  // Leaked like all tables here, because threads may compile while the process ends.
  static const auto& rows = *new std::map<Arith, FunctionNames>(make_table());
  return rows;
}

}  // namespace

MathFunction math_function(Arith op, bool f64) {
  auto it = table().find(op);
  if (it == table().end()) return {nullptr, nullptr};
  return f64 ? it->second.f64 : it->second.f32;
}

const std::vector<MathFunction>& all_math_functions() {
  static const auto& all = *new auto([] {
    std::vector<MathFunction> v;
    for (const auto& [op, row] : table()) {
      v.push_back(row.f32);
      v.push_back(row.f64);
    }
    // Remainders must be exact for every quotient, which only the C library guarantees.
    v.push_back({"fmodf", reinterpret_cast<void*>(static_cast<float (*)(float, float)>(&fmodf))});
    v.push_back({"fmod", reinterpret_cast<void*>(static_cast<double (*)(double, double)>(&fmod))});
    for (const ComplexFunction& f : all_complex_functions())
      v.push_back({f.name.c_str(), reinterpret_cast<void*>(f.call)});
    return v;
  }());
  return all;
}

}  // namespace tessera::inline v0::codegen
