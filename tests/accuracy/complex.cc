// Measures the functions of complex numbers whose exact results make_complex.py stores.
#include "measure.h"
#include "ulps.h"

#include <complex>
#include <sstream>

namespace accuracy {

namespace {

using In = std::span<const Array>;

template <class T>
std::vector<std::complex<T>> numbers(const Array& parts) {
  const auto p = parts.template host<T>();
  std::vector<std::complex<T>> z;
  for (std::size_t i = 0; i + 1 < p.size(); i += 2) z.emplace_back(p[i], p[i + 1]);
  return z;
}

// The results of f, as complex numbers even if they are real.
template <class T>
std::vector<std::complex<T>> computed(const OfComplex& f,
                                      const std::vector<std::vector<std::complex<T>>>& in) {
  std::vector<Array> arrays;
  for (const auto& z : in) arrays.emplace_back(z);
  const auto jitted = ts::jit([&f](const std::vector<Array>& v) {
    return ts::astype(f.computed(v), sizeof(T) == 8 ? DType::complex128 : DType::complex64);
  });
  return jitted(arrays).template to_vector<std::complex<T>>();
}

template <class T>
std::string text_of(const std::vector<std::vector<std::complex<T>>>& in, std::size_t row,
                    std::complex<T> got, std::complex<double> exact) {
  std::stringstream s;
  s.precision(17);
  s << "at";
  for (const auto& z : in) s << " " << z[row];
  s << ": " << got << " for " << exact;
  return s.str();
}

template <class T>
WorstParts measured(const OfComplex& f, const std::string& folder) {
  const std::string prefix = f.name + "/" + (sizeof(T) == 8 ? "complex128/" : "complex64/");
  std::vector<std::vector<std::complex<T>>> in;
  for (int i = 0; i < f.operands; ++i)
    in.push_back(numbers<T>(stored(folder, prefix + "in" + std::to_string(i))));
  const auto exact = numbers<double>(stored(folder, prefix + "high"));
  std::vector<std::complex<float>> part(exact.size());
  if constexpr (sizeof(T) == 8) part = numbers<float>(stored(folder, prefix + "part"));
  const auto got = computed(f, in);
  WorstParts worst;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto whole = [](double high, float rest) {
      const auto wide = static_cast<Wider<T>>(high);
      return rest == 0 ? wide : wide + wide * static_cast<Wider<T>>(rest);
    };
    const Wider<T> real = whole(exact[i].real(), part[i].real()),
                   imag = whole(exact[i].imag(), part[i].imag());
    const double size = std::isfinite(exact[i].real()) && std::isfinite(exact[i].imag())
                            ? std::hypot(exact[i].real(), exact[i].imag())
                            : 0;
    const auto keep = [&](double& most, std::string& at, double ulps) {
      if (!(ulps > most)) return;
      most = ulps;
      at = text_of(in, i, got[i], exact[i]);
    };
    const double least = std::isfinite(size) ? size : std::numeric_limits<double>::max();
    keep(worst.real, worst.real_at, ulps_between<T>(got[i].real(), real, 0));
    keep(worst.whole, worst.whole_at, ulps_between<T>(got[i].real(), real, least));
    if (f.is_real) continue;
    keep(worst.imag, worst.imag_at, ulps_between<T>(got[i].imag(), imag, 0));
    keep(worst.whole, worst.whole_at, ulps_between<T>(got[i].imag(), imag, least));
  }
  return worst;
}

template <class T>
std::vector<std::string> wrong(const OfComplex& f) {
  const std::string prefix = f.name + "/special/";
  std::vector<std::complex<T>> z;
  for (std::complex<float> v : numbers<float>(stored("", prefix + "in0"))) z.emplace_back(v);
  const std::vector<std::vector<std::complex<T>>> in{z};
  const auto exact = numbers<double>(stored("", prefix + "high"));
  const auto got = computed(f, in);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < z.size(); ++i)
    if (!(ulps_between<T>(got[i].real(), exact[i].real(), 0) <= 1) ||
        !(ulps_between<T>(got[i].imag(), exact[i].imag(), 0) <= 1))
      all.push_back(text_of(in, i, got[i], exact[i]));
  return all;
}

OfComplex one(std::string name, Array (*f)(ts::Operand), std::string ends) {
  return {std::move(name), 1, [f](In in) { return f(in[0]); }, std::move(ends)};
}
OfComplex two(std::string name, Array (*f)(ts::Operand, ts::Operand), std::string ends) {
  return {std::move(name), 2, [f](In in) { return f(in[0], in[1]); }, std::move(ends)};
}

}  // namespace

const std::vector<OfComplex>& complex_functions() {
  static const std::vector<OfComplex> all = [] {
    const std::string c99 = "C99, Annex G";
    std::vector<OfComplex> list{
        one("sqrt", ts::sqrt, c99 + "; cut below zero"),
        one("rsqrt", ts::rsqrt, "the inverse of the root"),
        one("exp", ts::exp, c99),
        one("exp2", ts::exp2, "exp of the product with log 2"),
        one("expm1", ts::expm1, "exp less 1"),
        one("log", ts::log, c99 + "; cut below zero"),
        one("log1p", ts::log1p, "log of 1 + z; cut below -1"),
        one("sigmoid", ts::sigmoid,
            "1 to the right, 0 to the left; poles at odd multiples of pi i"),
        one("sin", ts::sin, c99 + ", by sinh"),
        one("cos", ts::cos, c99 + ", by cosh"),
        one("tan", ts::tan, c99 + ", by tanh"),
        one("arcsin", ts::arcsin, c99 + ", by arcsinh; cut beyond -1 and 1"),
        one("arccos", ts::arccos, c99 + "; cut beyond -1 and 1"),
        one("arctan", ts::arctan, c99 + ", by arctanh; cut beyond -i and i"),
        one("sinh", ts::sinh, c99),
        one("cosh", ts::cosh, c99),
        one("tanh", ts::tanh, c99),
        one("arcsinh", ts::arcsinh, c99 + "; cut beyond -i and i"),
        one("arccosh", ts::arccosh, c99 + "; cut below 1"),
        one("arctanh", ts::arctanh, c99 + "; cut beyond -1 and 1"),
        one("abs", ts::abs, "infinite where a part is"),
        one("sign", ts::sign, "zero at zero"),
        one("reciprocal", ts::reciprocal, ""),
        one("square", ts::square, "as multiply"),
        one("loggamma", ts::loggamma, "cut below zero; NaN at its poles"),
        one("wofz", ts::wofz, "entire; 0 at infinities but for those below the axis"),
        two("power", ts::power, "1 where the exponent is 0"),
        two("multiply", ts::multiply, "by the formula of the parts"),
        two("divide", ts::divide, ""),
    };
    for (OfComplex& f : list) f.is_real = f.name == "abs";
    return list;
  }();
  return all;
}

WorstParts measure(const OfComplex& f, DType dtype, const std::string& folder) {
  return dtype == DType::complex128 ? measured<double>(f, folder) : measured<float>(f, folder);
}

std::vector<std::string> wrong_specials(const OfComplex& f, DType dtype) {
  return dtype == DType::complex128 ? wrong<double>(f) : wrong<float>(f);
}

}  // namespace accuracy
