// Numbers with derivatives of any order, by elementary rules: a number plus multiples of
// infinitesimals. The product of two infinitesimals of the same kind is zero.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace devices {

/// A product of up to three infinitesimals, as their numbers in order. The upper half of a number
/// identifies the derivative.
using Infinitesimals = std::array<std::uint32_t, 3>;

class Number {
 public:
  Number(double value = 0) : terms_{{{}, value}} {}

  double value() const { return terms_[0].factor; }
  /// Adds a multiple of an infinitesimal.
  Number plus(const Number& factor, std::uint32_t infinitesimal) const {
    return *this + factor * Number(0, infinitesimal);
  }
  /// The coefficient of an infinitesimal.
  Number before(std::uint32_t infinitesimal) const {
    Number r;
    for (const Term& t : terms_) {
      auto at = std::find(t.of.begin(), t.of.end(), infinitesimal);
      if (at == t.of.end()) continue;
      Infinitesimals rest{};
      std::copy_if(t.of.begin(), t.of.end(), rest.begin(),
                   [&](std::uint32_t i) { return i != infinitesimal; });
      r.add({rest, t.factor});
    }
    return r;
  }
  /// Removes the infinitesimals of one derivative.
  Number without(std::uint32_t derivative) const {
    Number r;
    for (const Term& t : terms_)
      if (std::none_of(t.of.begin(), t.of.end(),
                       [&](std::uint32_t i) { return i && i >> 16 == derivative; }))
        r.add(t);
    return r;
  }

  friend Number operator+(Number x, const Number& y) {
    for (const Term& t : y.terms_) x.add(t);
    return x;
  }
  friend Number operator*(const Number& x, const Number& y) {
    Number r;
    for (const Term& s : x.terms_)
      for (const Term& t : y.terms_) {
        Term product{s.of, s.factor * t.factor};
        if (product.factor != 0 && merge(product.of, t.of)) r.add(product);
      }
    return r;
  }
  friend Number operator-(const Number& x, const Number& y) { return x + Number(-1) * y; }

  /// Whether every factor is a multiple of 2^-fraction below 2^whole.
  bool fits(int whole, int fraction) const {
    return std::all_of(terms_.begin(), terms_.end(), [&](const Term& t) {
      const double scaled = std::ldexp(t.factor, fraction);
      return std::abs(t.factor) < std::ldexp(1.0, whole) && scaled == std::trunc(scaled);
    });
  }

 private:
  struct Term {
    Infinitesimals of;
    double factor;
  };

  Number(double value, std::uint32_t infinitesimal) : Number(value) {
    add({{infinitesimal, 0, 0}, 1});
  }
  void add(const Term& t) {
    // The number itself comes first; there are few other terms.
    if (t.of == Infinitesimals{}) {
      terms_[0].factor += t.factor;
      return;
    }
    auto at = std::lower_bound(terms_.begin() + 1, terms_.end(), t,
                               [](const Term& x, const Term& y) { return x.of < y.of; });
    if (at != terms_.end() && at->of == t.of)
      at->factor += t.factor;
    else
      terms_.insert(at, t);
  }
  // Returns false if both have an infinitesimal of the same derivative.
  static bool merge(Infinitesimals& x, const Infinitesimals& y) {
    for (std::uint32_t i : y) {
      if (!i) continue;
      for (std::uint32_t k : x)
        if (k && k >> 16 == i >> 16) return false;
      auto free = std::find(x.begin(), x.end(), 0u);
      if (free == x.end()) return false;  // no program needs this order
      *free = i;
    }
    std::sort(x.begin(), x.end(), [](std::uint32_t a, std::uint32_t b) { return a > b; });
    return true;
  }

  std::vector<Term> terms_;
};

}  // namespace devices
