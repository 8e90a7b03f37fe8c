#include "codegen/kernel/float_math.h"

#include "codegen/kernel/erfc_table.h"
#include "codegen/kernel/isa.h"
#include "codegen/kernel/llvm_ir.h"
#include "codegen/kernel/pieces.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace tessera::inline v0::codegen {
namespace {

constexpr double kLn2 = 0.693147180559945309417, kLog2E = 1.44269504088896340736;
// The float nearest to pi/2, and its excess over pi/2.
constexpr double kHalfPi = 1.57079637050628662109, kHalfPiExcess = 4.37113900018624283e-8;
// Has so few bits that the product with an exponent is exact.
constexpr double kLn2High = 0.693359375;

class FloatMath {
 public:
  FloatMath(IrBuilder& b, llvm::Value* x) : b_(b), t_(x->getType()) {
    int width = width_of(x);
    llvm::Type* i32 = llvm::Type::getInt32Ty(b.getContext());
    i_ = width ? llvm::FixedVectorType::get(i32, static_cast<unsigned>(width)) : i32;
  }

  llvm::Value* exp(llvm::Value* x) { return scaled_exp(clamp(x, -104, 89), 0); }

  // h + h where h = expm1(x) / 2, which is finite wherever exp(x) is.
  llvm::Value* expm1(llvm::Value* x) {
    llvm::Value* h = scaled_expm1(clamp(x, -20, 89), 1);
    return keep_tiny(x, sign_of(x, b_.CreateFAdd(h, h)));
  }

  // 2 q + q / (2 q + 1/2) where q = expm1(|x|) / 4.
  llvm::Value* sinh(llvm::Value* x) {
    llvm::Value* q = scaled_expm1(at_most(abs(x), 89.6), 2);
    llvm::Value* h = b_.CreateFAdd(q, q);
    llvm::Value* rest = b_.CreateFDiv(q, b_.CreateFAdd(h, number(0.5)));
    return keep_tiny(x, sign_of(x, b_.CreateFAdd(h, rest)));
  }

  // 2 q + 1 / (8 q) where q = exp(|x|) / 4.
  llvm::Value* cosh(llvm::Value* x) {
    llvm::Value* q = scaled_exp(at_most(abs(x), 90), 2);
    llvm::Value* rest = b_.CreateFDiv(number(0.125), q);
    return b_.CreateFAdd(b_.CreateFAdd(q, q), rest);
  }

  // e / (e + 2) where e = expm1(2 |x|). The result reaches 1 before the clamp.
  llvm::Value* tanh(llvm::Value* x) {
    llvm::Value* e = expm1_of_double(at_most(abs(x), 9.5));
    return sign_of(x, b_.CreateFDiv(e, b_.CreateFAdd(e, number(2))));
  }

  llvm::Value* log(llvm::Value* x) {
    // Scale subnormal numbers to normal ones first.
    llvm::Value* small = b_.CreateFCmpOLT(x, number(0x1p-126));
    llvm::Value* y = b_.CreateSelect(small, b_.CreateFMul(x, number(0x1p23)), x);
    llvm::Value* k = exponent(y);
    llvm::Value* t = b_.CreateFSub(floats(b_.CreateSub(bits(y), k)), number(1));
    llvm::Value* n = b_.CreateFAdd(count(k), b_.CreateSelect(small, number(-23), number(0)));
    return log_edges(x, 0, multiply_add(b_, n, number(kLn2), near_log1p(t)));
  }

  llvm::Value* log1p(llvm::Value* x) { return log_edges(x, -1, sign_of(x, inner_log1p(x))); }

  // log1p(2 a + 2 a a / (1 - a)) / 2 where a = |x|. For small a the sum is dominated by 2 a, which
  // is exact.
  llvm::Value* atanh(llvm::Value* x) {
    llvm::Value *a = abs(x), *twice = b_.CreateFAdd(a, a);
    llvm::Value* y = multiply_add(b_, twice, b_.CreateFDiv(a, b_.CreateFSub(number(1), a)), twice);
    llvm::Value* edge =
        b_.CreateSelect(b_.CreateFCmpOEQ(a, number(1)), llvm::ConstantFP::getInfinity(t_),
                        llvm::ConstantFP::getNaN(t_));
    llvm::Value* inside = b_.CreateFMul(inner_log1p(y), number(0.5));
    return sign_of(x, b_.CreateSelect(b_.CreateFCmpOLT(a, number(1)), inside, edge));
  }

  // y + y P(y^2) with y = |x|, or pi/2 less that of 1 / |x| beyond 1. P is a minimax fit of atan(y)
  // / y - 1, within 2^-28.5 of atan.
  llvm::Value* atan(llvm::Value* x) {
    llvm::Value* a = abs(x);
    llvm::Value* beyond = b_.CreateFCmpOGT(a, number(1));
    llvm::Value* y = b_.CreateSelect(beyond, b_.CreateFDiv(number(1), a), a);
    llvm::Value* square = b_.CreateFMul(y, y);
    llvm::Value* p =
        short_chain(square, {-0.0017936183, 0.01091459, -0.031177817, 0.057957564, -0.08403449,
                             0.10952185, -0.14264241, 0.19998549, -0.333333});
    llvm::Value* angle = multiply_add(b_, b_.CreateFMul(y, square), p, y);
    llvm::Value* rest = b_.CreateFSub(number(kHalfPi), b_.CreateFAdd(angle, number(kHalfPiExcess)));
    return sign_of(x, b_.CreateSelect(beyond, rest, angle));
  }

  // With e = exp(-|x|): e / (1 + e) for negative x, where exp(-x) would overflow, else 1 / (1 + e).
  llvm::Value* logistic(llvm::Value* x) {
    Reduced r = reduce(b_.CreateFNeg(at_most(abs(x), 104)), 127 + 24);
    llvm::Value* e = host_isa().avx512 ? scaled(b_.CreateFAdd(r.p, number(1)), r.n)
                                       : b_.CreateFMul(one_more_times(r.p, power_of_two(r.bits)),
                                                       number(0x1p-24));
    llvm::Value* negative = b_.CreateICmpSLT(bits(x), integer(0));
    return b_.CreateFDiv(b_.CreateSelect(negative, e, number(1)), b_.CreateFAdd(e, number(1)));
  }

  // log1p(a + a^2 / (1 + sqrt(1 + a^2))) where a = |x|; log(2 a) where a^2 would overflow.
  llvm::Value* asinh(llvm::Value* x) {
    llvm::Value* a = abs(x);
    llvm::Value* large = b_.CreateFCmpOGT(a, number(0x1p28));
    llvm::Value* s = b_.CreateFMul(a, a);
    llvm::Value* root = sqrt(b_.CreateFAdd(s, number(1)));
    llvm::Value* y = b_.CreateFAdd(a, b_.CreateFDiv(s, b_.CreateFAdd(root, number(1))));
    return sign_of(x, log_of_double(large, a, y));
  }

  // log1p(t + sqrt(t (t + 2))) where t = x - 1.
  llvm::Value* acosh(llvm::Value* x) {
    llvm::Value* t = b_.CreateFSub(x, number(1));
    llvm::Value* large = b_.CreateFCmpOGT(x, number(0x1p28));
    llvm::Value* root = sqrt(b_.CreateFMul(t, b_.CreateFAdd(t, number(2))));
    llvm::Value* below = b_.CreateFCmpOLT(x, number(1));
    return b_.CreateSelect(below, llvm::ConstantFP::getNaN(t_),
                           log_of_double(large, x, b_.CreateFAdd(t, root)));
  }

  // x + x P(x^2) for |x| < 1; otherwise 1 - Q(|x|)^4, which reaches 1 before the clamp. Fitting the
  // fourth root takes half the degree of fitting erfc at the same error. P is a minimax fit of
  // erf(x) / x - 1, within 2^-24.5 of erf; Q^4 is a minimax fit of erfc, within 2^-25.
  llvm::Value* erf(llvm::Value* x) {
    llvm::Value* a = abs(x);
    llvm::Value* p = polynomial(
        b_, b_.CreateFMul(x, x),
        {-0.000562796951, 0.0049166698, -0.026710514, 0.1128015, -0.37612322, 0.128379121});
    llvm::Value* root = polynomial(b_, at_most(a, 4),
                                   {-0.000167099075, 0.00305008446, -0.0210841, 0.0624009036,
                                    -0.043347843, -0.0713939145, -0.303971082, 1.00428259});
    llvm::Value* square = b_.CreateFMul(root, root);
    llvm::Value* far = multiply_add(b_, b_.CreateFNeg(square), square, number(1));
    llvm::Value* near = b_.CreateFCmpOLT(a, number(1));
    return b_.CreateSelect(near, multiply_add(b_, x, p, x), sign_of(x, far));
  }

  // Where lanes can look up a table in a register, low-degree polynomials replace one of high
  // degree and a division. This takes half to two thirds of the instructions and rounds less often.
  llvm::Value* erfc(llvm::Value* x) {
    return host_isa().avx2 ? erfc_by_table(x) : erfc_by_quotient(x);
  }

 private:
  // exp(-a^2) P(a) where a = |x|, subtracted from 2 for negative x. The exponent's remainder -a a -
  // n ln 2 is rounded once, so a^2 loses no bits.
  llvm::Value* erfc_by_table(llvm::Value* x) {
    llvm::Value* a = at_most(abs(x), 10.1);
    constexpr int bias = 127 + 24;                    // see scaled_down
    llvm::Constant* shift = number(0x1.8p23 + bias);  // the last bit of such floats is worth 1
    llvm::Value* square = b_.CreateFMul(a, a);
    llvm::Value* shifted = multiply_add(b_, square, number(-kLog2E), shift);
    llvm::Value* n = b_.CreateFSub(shifted, shift);
    llvm::Value* r = multiply_add(b_, b_.CreateFNeg(a), a, b_.CreateFMul(n, number(-kLn2High)));
    r = multiply_add(b_, n, number(kLn2High - kLn2), r);
    llvm::Value* q = host_isa().avx512
                         ? scaled_erfc(a, kErfc, kErfcOffset, kErfcBits)
                         : scaled_erfc(a, kErfcNarrow, kErfcNarrowOffset, kErfcNarrowBits);
    llvm::Value* v = multiply_add(b_, near_expm1(r), q, q);
    v = host_isa().avx512 ? scaled(v, n) : scaled_down(v, bits(shifted));
    llvm::Value* negative = b_.CreateICmpSLT(bits(x), integer(0));
    return b_.CreateSelect(negative, b_.CreateFSub(number(2), v), v);
  }

  // exp(a^2) erfc(a) by a table (erfc_table.h).
  template <class Table>
  llvm::Value* scaled_erfc(llvm::Value* a, const Table& table, double offset, int mantissa_bits) {
    llvm::Value* place = bits(b_.CreateFAdd(a, number(offset)));
    llvm::Value* begin = floats(b_.CreateAnd(place, integer(-1 << (23 - mantissa_bits))));
    llvm::Value* d = b_.CreateFSub(a, b_.CreateFSub(begin, number(offset)));  // both exact
    llvm::Value* entry = b_.CreateLShr(place, integer(23 - mantissa_bits));
    llvm::Value* q = nullptr;
    for (const auto& row : table) {
      llvm::Value* c = looked_up(row, entry);
      q = q ? multiply_add(b_, q, d, c) : c;
    }
    return q;
  }
  // The entry of each lane; only the lowest five or three bits are used.
  llvm::Value* looked_up(const float (&row)[2][16], llvm::Value* entry) {
    llvm::Constant* first = llvm::ConstantDataVector::get(b_.getContext(), row[0]);
    llvm::Constant* second = llvm::ConstantDataVector::get(b_.getContext(), row[1]);
    return in_pieces(b_, 16, {entry}, [&](const std::vector<llvm::Value*>& piece) {
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, {},
                                {first, piece[0], second});
    });
  }
  llvm::Value* looked_up(const float (&row)[8], llvm::Value* entry) {
    llvm::Constant* all = llvm::ConstantDataVector::get(b_.getContext(), row);
    return in_pieces(b_, 8, {entry}, [&](const std::vector<llvm::Value*>& piece) {
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {all, piece[0]});
    });
  }

  // 2^n v with one rounding, down to subnormal numbers.
  llvm::Value* scaled(llvm::Value* v, llvm::Value* n) {
    return in_pieces(b_, 16, {v, n}, [&](const std::vector<llvm::Value*>& piece) {
      return b_.CreateIntrinsic(
          llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
          {piece[0], piece[1], llvm::Constant::getNullValue(piece[0]->getType()),
           b_.getInt16(0xffff), b_.getInt32(4)});  // 4: current rounding mode
    });
  }
  // The same where the lowest nine bits of `n` are n + 127 + 24: the product is kept 2^24 times too
  // large until the end, where it could be subnormal.
  llvm::Value* scaled_down(llvm::Value* v, llvm::Value* n) {
    return b_.CreateFMul(b_.CreateFMul(v, power_of_two(n)), number(0x1p-24));
  }

  // exp(-a^2) R(a / (a + k)) / (a + k) where a = |x|, subtracted from 2 for negative x. This
  // follows Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <=
  // x < oo" (1981), but uses the same divisor twice and hence one division. R(0) = k makes erfc(0)
  // = 1. R is a separate minimax fit, within 2^-26. A larger k would allow a lower degree, but R
  // falls from k to 0.56 and its terms would cancel more. The rounding error of a^2 is carried
  // along. For processors without fused multiply-add.
  llvm::Value* erfc_by_quotient(llvm::Value* x) {
    llvm::Value* a = at_most(abs(x), 10.1);
    llvm::Value* high = floats(b_.CreateAnd(bits(a), integer(-1 << 12)));
    llvm::Value *low = b_.CreateFSub(a, high), *most = b_.CreateFMul(high, high);  // exact
    llvm::Value* rest = b_.CreateFMul(low, b_.CreateFAdd(a, high));
    llvm::Value* square = b_.CreateFAdd(most, rest);
    llvm::Value* lost = b_.CreateFAdd(b_.CreateFSub(most, square), rest);
    Reduced e = reduce(b_.CreateFNeg(square), 127 + 24, lost);
    llvm::Value* v = scaled_down(times_erfcx(a, e.p), e.bits);
    llvm::Value* negative = b_.CreateICmpSLT(bits(x), integer(0));
    return b_.CreateSelect(negative, b_.CreateFSub(number(2), v), v);
  }

  // (1 + p) R / (a + k) for a >= 0, with R and k of erfc_by_quotient. In float32 its rounding
  // errors would make up half of erfc's error, so most of it is evaluated in float64.
  llvm::Value* times_erfcx(llvm::Value* a, llvm::Value* p) {
    constexpr double k = 1.125;
    const auto r = [&](llvm::Value* s) {  // (R - k) / s
      return polynomial(
          b_, s,
          {0.151332021, -0.383346945, 0.201222107, 0.183489621, -0.329342246, 0.283109993,
           -0.0164381079, 0.0543981716, -0.0948421285, -0.307266355, -0.303107113});
    };
    llvm::Type* wide = t_->getWithNewType(b_.getDoubleTy());
    auto widened = [&](llvm::Value* v) { return b_.CreateFPExt(v, wide); };
    auto constant = [&](double v) { return llvm::ConstantFP::get(wide, v); };
    llvm::Value* sum = b_.CreateFAdd(widened(a), constant(k));
    llvm::Value* inverse = b_.CreateFDiv(constant(1), sum);
    llvm::Value* s = b_.CreateFMul(widened(a), inverse);
    llvm::Value* top = b_.CreateFMul(s, widened(r(b_.CreateFPTrunc(s, t_))));
    top = b_.CreateFMul(b_.CreateFAdd(top, constant(k)), b_.CreateFAdd(widened(p), constant(1)));
    return b_.CreateFPTrunc(b_.CreateFMul(top, inverse), t_);
  }
  llvm::Constant* number(double v) const { return llvm::ConstantFP::get(t_, v); }
  llvm::Constant* integer(int v) const { return llvm::ConstantInt::getSigned(i_, v); }
  llvm::Value* bits(llvm::Value* v) { return b_.CreateBitCast(v, i_); }
  llvm::Value* floats(llvm::Value* v) { return b_.CreateBitCast(v, t_); }
  llvm::Value* abs(llvm::Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); }
  llvm::Value* sqrt(llvm::Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v); }
  llvm::Value* sign_of(llvm::Value* x, llvm::Value* v) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, v, x);
  }
  // Returns x itself if it is NaN, or so small that intermediate results would lose bits.
  llvm::Value* keep_tiny(llvm::Value* x, llvm::Value* v) {
    return b_.CreateSelect(b_.CreateFCmpOGE(abs(x), number(0x1p-100)), v, x);
  }
  // NaN passes through because x is the second operand of the resulting min and max instructions.
  // The fence stops LLVM from moving a later change of sign inside, which would be no minimum then.
  llvm::Value* at_most(llvm::Value* x, double high) {
    return b_.CreateArithmeticFence(
        b_.CreateSelect(b_.CreateFCmpOGT(x, number(high)), number(high), x), t_);
  }
  llvm::Value* clamp(llvm::Value* x, double low, double high) {
    llvm::Value* y = at_most(x, high);
    return b_.CreateSelect(b_.CreateFCmpOLT(y, number(low)), number(low), y);
  }

  struct Reduced {
    llvm::Value* n;     // a whole number
    llvm::Value* bits;  // an integer whose lowest nine bits are n + bias
    llvm::Value* p;     // expm1(r) where x - lost = n ln 2 + r and |r| <= ln 2 / 2 or slightly more
  };
  Reduced reduce(llvm::Value* x, int bias, llvm::Value* lost = nullptr) {
    // Adding `shift`, whose last bit is worth 1, rounds to an integer in the lowest bits.
    llvm::Constant* shift = number(0x1.8p23 + bias);
    llvm::Value* shifted = multiply_add(b_, x, number(kLog2E), shift);
    llvm::Value* n = b_.CreateFSub(shifted, shift);
    llvm::Value* r = multiply_add(b_, n, number(-kLn2High), x);
    r = multiply_add(b_, n, number(kLn2High - kLn2), r);
    if (lost) r = b_.CreateFSub(r, lost);
    return {n, bits(shifted), near_expm1(r)};
  }
  // The Chebyshev fit of (expm1(r) - r) / r^2, for |r| <= ln 2 / 2 or slightly more.
  llvm::Value* near_expm1(llvm::Value* r) {
    llvm::Value* q = short_chain(r, {0.001392626785673201, 0.00836324691772461, 0.04166655242443085,
                                     0.16666576266288757, 0.5});
    return multiply_add(b_, b_.CreateFMul(r, r), q, r);
  }
  // A polynomial whose operations depend on each other in a chain of a third to half the length of
  // Horner's rule, for two more multiplications (Estrin 1960). A function's throughput is bound by
  // its chain, since a processor can look ahead over a few vectors of elements only.
  llvm::Value* short_chain(llvm::Value* x, std::initializer_list<double> coefficients) {
    const std::vector<double> c(std::rbegin(coefficients), std::rend(coefficients));
    const auto pair = [&](std::size_t i) -> llvm::Value* {
      return i + 1 < c.size() ? multiply_add(b_, x, number(c[i + 1]), number(c[i])) : number(c[i]);
    };
    llvm::Value *square = b_.CreateFMul(x, x), *fourth = nullptr, *sum = nullptr;
    for (std::size_t i = (c.size() - 1) / 4 * 4 + 4; i > 0; i -= 4) {
      llvm::Value* four = pair(i - 4);
      if (i - 2 < c.size()) four = multiply_add(b_, square, pair(i - 2), four);
      if (sum && !fourth) fourth = b_.CreateFMul(square, square);
      sum = sum ? multiply_add(b_, sum, fourth, four) : four;
    }
    return sum;
  }
  // (1 + p) power with one rounding of 1 + p, if the product is exact.
  llvm::Value* one_more_times(llvm::Value* p, llvm::Value* power) {
    return host_isa().fused ? multiply_add(b_, p, power, power)
                            : b_.CreateFMul(b_.CreateFAdd(p, number(1)), power);
  }
  // 2^(n - 127), where n is given by the lowest nine bits.
  llvm::Value* power_of_two(llvm::Value* n) { return floats(b_.CreateShl(n, integer(23))); }
  // exp(x) / 2^shift, for x from -104 to 89 + shift / 2.
  llvm::Value* scaled_exp(llvm::Value* x, int shift) {
    Reduced e = reduce(x, 2 * 127 - shift);
    if (host_isa().avx512 && shift == 0) return scaled(b_.CreateFAdd(e.p, number(1)), e.n);
    // In two steps, since 2^n may be out of range although the result is not.
    llvm::Value* half = b_.CreateLShr(e.bits, integer(1));
    llvm::Value* v = one_more_times(e.p, power_of_two(half));
    return b_.CreateFMul(v, power_of_two(b_.CreateSub(e.bits, half)));
  }
  // expm1(x) / 2^shift, for x from -20 to 88 + shift / 2.
  llvm::Value* scaled_expm1(llvm::Value* x, int shift) {
    Reduced e = reduce(x, 127 - shift);
    llvm::Value* power = power_of_two(e.bits);
    double one = shift == 0 ? 1 : shift == 1 ? 0.5 : 0.25;
    return multiply_add(b_, power, e.p, b_.CreateFSub(power, number(one)));
  }

  // expm1(2 y) for 0 <= y < 10, for a quotient that depends on it the less the larger it is: the
  // error of n ln 2, which is rounded once, grows with n. The polynomial of near_expm1 is that of
  // s = r / 2, with coefficients that are scaled exactly.
  llvm::Value* expm1_of_double(llvm::Value* y) {
    llvm::Constant* shift = number(0x1.8p23 + 127);
    llvm::Value* shifted = multiply_add(b_, y, number(2 * kLog2E), shift);
    llvm::Value* n = b_.CreateFSub(shifted, shift);
    llvm::Value* s = multiply_add(b_, n, number(host_isa().fused ? -kLn2 / 2 : -kLn2High / 2), y);
    if (!host_isa().fused) s = multiply_add(b_, n, number((kLn2High - kLn2) / 2), s);
    llvm::Value* q = short_chain(s, {64 * 0.001392626785673201, 32 * 0.00836324691772461,
                                     16 * 0.04166655242443085, 8 * 0.16666576266288757, 4 * 0.5});
    llvm::Value* p = multiply_add(b_, b_.CreateFMul(s, s), q, b_.CreateFAdd(s, s));
    llvm::Value* power = power_of_two(bits(shifted));
    return multiply_add(b_, power, p, b_.CreateFSub(power, number(1)));
  }

  // log1p(x) for finite x > -1: k ln 2 + log1p(t) where 1 + x = 2^k (1 + t), so that t = 2^-k x +
  // (2^-k - 1), rounded once.
  llvm::Value* inner_log1p(llvm::Value* x) {
    llvm::Value* k = exponent(b_.CreateFAdd(x, number(1)));
    llvm::Value* scaled = floats(b_.CreateSub(bits(x), k));
    llvm::Value* four = floats(b_.CreateSub(bits(number(4)), k));  // 4 / 2^k
    llvm::Value* t = b_.CreateFAdd(scaled, multiply_add(b_, four, number(0.25), number(-1)));
    return multiply_add(b_, count(k), number(kLn2), near_log1p(t));
  }
  // The k with x = 2^k m and m in [3/4, 3/2), shifted to the position of a float's exponent.
  llvm::Value* exponent(llvm::Value* x) {
    return b_.CreateAnd(b_.CreateSub(bits(x), bits(number(0.75))), integer(-1 << 23));
  }
  llvm::Value* count(llvm::Value* k) { return b_.CreateSIToFP(b_.CreateAShr(k, integer(23)), t_); }
  // The Chebyshev fit of (t - log1p(t)) / t^2, for t from -1/4 to 1/2.
  llvm::Value* near_log1p(llvm::Value* t) {
    llvm::Value* q =
        short_chain(t, {0.047382425516843796, -0.10625629127025604, 0.13122877478599548,
                        -0.14438456296920776, 0.16647644340991974, -0.1999359279870987,
                        0.25000154972076416, -0.33333396911621094, 0.5});
    return multiply_add(b_, b_.CreateFNeg(b_.CreateFMul(t, t)), q, t);
  }
  // -infinity at `pole`, NaN below it, infinity at infinity.
  llvm::Value* log_edges(llvm::Value* x, double pole, llvm::Value* log) {
    llvm::Value* edge =
        b_.CreateSelect(b_.CreateFCmpOEQ(x, number(pole)), llvm::ConstantFP::getInfinity(t_, true),
                        llvm::ConstantFP::getNaN(t_));
    log = b_.CreateSelect(b_.CreateFCmpOLT(x, llvm::ConstantFP::getInfinity(t_)), log, x);
    return b_.CreateSelect(b_.CreateFCmpULE(x, number(pole)), edge, log);
  }
  // log(2 a) if `large`, else log1p(y).
  llvm::Value* log_of_double(llvm::Value* large, llvm::Value* a, llvm::Value* y) {
    llvm::Value* log = log1p(b_.CreateSelect(large, a, y));
    return b_.CreateFAdd(log, b_.CreateSelect(large, number(kLn2), number(0)));
  }

  IrBuilder& b_;
  llvm::Type *t_, *i_;
};

}  // namespace

llvm::Value* float_math(IrBuilder& b, Arith op, llvm::Value* x) {
  // The fence stops LLVM from moving an absolute value into the minima and maxima that made x.
  FloatMath math(b, b.CreateArithmeticFence(x, x->getType()));
  switch (op) {
    case Arith::exp: return math.exp(x);
    case Arith::expm1: return math.expm1(x);
    case Arith::log: return math.log(x);
    case Arith::log1p: return math.log1p(x);
    case Arith::sinh: return math.sinh(x);
    case Arith::cosh: return math.cosh(x);
    case Arith::tanh: return math.tanh(x);
    case Arith::asinh: return math.asinh(x);
    case Arith::acosh: return math.acosh(x);
    case Arith::atanh: return math.atanh(x);
    case Arith::atan: return math.atan(x);
    case Arith::logistic: return math.logistic(x);
    case Arith::erf: return math.erf(x);
    case Arith::erfc: return math.erfc(x);
    default: return nullptr;
  }
}

llvm::Value* multiply_add(IrBuilder& b, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  return host_isa().avx2 ? b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z})
                         : b.CreateFAdd(b.CreateFMul(x, y), z);
}

llvm::Value* polynomial(IrBuilder& b, llvm::Value* x, std::initializer_list<double> coefficients) {
  llvm::Value* p = nullptr;
  for (double c : coefficients) {
    llvm::Value* k = llvm::ConstantFP::get(x->getType(), c);
    p = p ? multiply_add(b, p, x, k) : k;
  }
  return p;
}

}  // namespace tessera::inline v0::codegen
