#include <tessera/contractions.h>

#include "api/numpy/indexing.h"
#include "api/trace/composite.h"
#include "api/trace/numbers.h"

#include <algorithm>
#include <map>

namespace tessera::inline v0 {

using detail::composite1;

namespace {

Ints counting(int from, int to) {
  Ints v;
  for (int i = from; i < to; ++i) v.push_back(i);
  return v;
}

[[noreturn]] void mismatch(const char* name, const Value& x, const Value& y, int xa, int ya,
                           const SourceLoc& loc) {
  Message(name)
      .problem("shapes " + to_string(x.shape()) + " and " + to_string(y.shape()) +
               " do not contract: axis " + std::to_string(xa) + " has " +
               std::to_string(x.shape()[static_cast<std::size_t>(xa)]) + " elements, axis " +
               std::to_string(ya) + " has " +
               std::to_string(y.shape()[static_cast<std::size_t>(ya)]))
      .rule("the summed axes have equal extents")
      .from(loc)
      .advice("transpose one operand, or check which axis holds the features")
      .raise<ShapeError>();
}

Value contract(const char* name, Value x, Value y, const ops::DotDims& d, const SourceLoc& loc) {
  for (std::size_t i = 0; i < d.lhs_contracting.size(); ++i) {
    int a = static_cast<int>(d.lhs_contracting[i]), b = static_cast<int>(d.rhs_contracting[i]);
    if (x.shape()[static_cast<std::size_t>(a)] != y.shape()[static_cast<std::size_t>(b)])
      mismatch(name, x, y, a, b, loc);
  }
  return ops::dot_general(x, y, d);
}

}  // namespace

Array dot(Operand x, Operand y) {
  detail::check_all_fit("dot", {&x, &y});
  return composite1("dot", {x.array, y.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value a = in[0], b = in[1];
    detail::promote_dtypes(a, b);
    if (a.rank() == 0 || b.rank() == 0) {
      detail::promote_and_broadcast(a, b, "dot");
      return ops::mul(a, b);
    }
    return contract("dot", a, b, {{a.rank() - 1}, {std::max(0, b.rank() - 2)}, {}, {}}, x.loc);
  });
}

namespace {
// Checks the shapes as the user passed them: vectors without the axis that is added below.
void check_matmul(const Shape& x, const Shape& y, const SourceLoc& loc) {
  const int ya = y.rank() == 1 ? 0 : y.rank() - 2;
  const std::int64_t last = x[x.size() - 1], first = y[static_cast<std::size_t>(ya)];
  Message m("matmul");
  m.from(loc);
  if (last != first)
    m.problem("shapes " + to_string(x) + " and " + to_string(y) + " do not contract: axis " +
              std::to_string(x.rank() - 1) + " has " + std::to_string(last) + " elements, axis " +
              std::to_string(ya) + " has " + std::to_string(first))
        .rule("the summed axes have equal extents")
        .advice("transpose one operand, or check which axis holds the features")
        .raise<ShapeError>();
  for (int i = 3; i <= std::min(x.rank(), y.rank()); ++i) {
    const std::int64_t a = x[static_cast<std::size_t>(x.rank() - i)],
                       b = y[static_cast<std::size_t>(y.rank() - i)];
    if (a == b || a == 1 || b == 1) continue;
    m.problem("shapes " + to_string(x) + " and " + to_string(y) + " hold batches of " +
              std::to_string(a) + " and " + std::to_string(b) + " matrices along axis -" +
              std::to_string(i))
        .rule("the axes before the last two broadcast: their extents are equal, or one is 1")
        .advice(
            "reshape one of them so that the axes line up, or insert axes of 1 with "
            "expand_dims")
        .raise<ShapeError>();
  }
}
}  // namespace

Array matmul(Operand x, Operand y) {
  return composite1("matmul", {x.array, y.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value a = in[0], b = in[1];
    detail::promote_dtypes(a, b);
    if (a.rank() == 0 || b.rank() == 0)
      Message("matmul")
          .problem("an operand is a scalar")
          .rule("matmul multiplies matrices and vectors")
          .from(x.loc)
          .advice("use * for scalars")
          .raise<ShapeError>();
    check_matmul(a.shape(), b.shape(), x.loc);
    bool row = a.rank() == 1, column = b.rank() == 1;
    if (row) a = ops::reshape(a, Shape{1, a.shape()[0]});
    if (column) b = ops::reshape(b, Shape{b.shape()[0], 1});
    if (b.rank() == 2) {
      // The whole batch is multiplied by one matrix, so there are no batch dimensions to broadcast.
      Value r = contract("matmul", a, b, {{a.rank() - 1}, {0}, {}, {}}, x.loc);
      Shape s = r.shape();
      if (column) s.erase(s.end() - 1);
      if (row) s.erase(s.end() - (column ? 1 : 2));
      return ops::reshape(r, s);
    }
    Shape ab(a.shape().begin(), a.shape().end() - 2), bb(b.shape().begin(), b.shape().end() - 2);
    Shape batch = broadcast_shapes(ab, bb, "matmul", x.loc);
    auto widen = [&](Value v) {
      Shape s = batch;
      s.push_back(v.shape()[static_cast<std::size_t>(v.rank() - 2)]);
      s.push_back(v.shape()[static_cast<std::size_t>(v.rank() - 1)]);
      return detail::broadcast_to(v, s);
    };
    a = widen(a);
    b = widen(b);
    int n = batch.rank();
    Value r = contract("matmul", a, b, {{n + 1}, {n}, counting(0, n), counting(0, n)}, x.loc);
    Shape s = r.shape();
    if (column) s.erase(s.end() - 1);
    if (row) s.erase(s.end() - (column ? 1 : 2));
    return ops::reshape(r, s);
  });
}

Array outer(Operand x, Operand y) {
  detail::check_all_fit("outer", {&x, &y});
  return composite1("outer", {x.array, y.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value a = ops::reshape(in[0], Shape{in[0].shape().count(), 1}),
          b = ops::reshape(in[1], Shape{1, in[1].shape().count()});
    detail::promote_and_broadcast(a, b, "outer");
    return ops::mul(a, b);
  });
}

Array inner(Operand x, Operand y) {
  detail::check_all_fit("inner", {&x, &y});
  return composite1("inner", {x.array, y.array}, x.loc, [&](Builder&, std::span<const Value> in) {
    Value a = in[0], b = in[1];
    detail::promote_dtypes(a, b);
    if (a.rank() == 0 || b.rank() == 0) {
      detail::promote_and_broadcast(a, b, "inner");
      return ops::mul(a, b);
    }
    return contract("inner", a, b, {{a.rank() - 1}, {b.rank() - 1}, {}, {}}, x.loc);
  });
}

Array tensordot(Operand x, Operand y, int axes) {
  detail::check_all_fit("tensordot", {&x, &y});
  return composite1(
      "tensordot", {x.array, y.array}, x.loc, [&](Builder&, std::span<const Value> in) {
        Value a = in[0], b = in[1];
        detail::promote_dtypes(a, b);
        if (axes < 0 || axes > a.rank() || axes > b.rank())
          Message("tensordot")
              .problem(std::to_string(axes) + " axes of shapes " + to_string(a.shape()) + " and " +
                       to_string(b.shape()))
              .rule("the number of summed axes is at most the rank of either operand")
              .from(x.loc)
              .advice("use einsum to name axes")
              .raise<ShapeError>();
        return contract("tensordot", a, b,
                        {counting(a.rank() - axes, a.rank()), counting(0, axes), {}, {}}, x.loc);
      });
}

Array trace(Operand x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  return composite1("trace", {x.array}, x.loc, [&](Builder& b, std::span<const Value> in) {
    Value v = in[0];
    if (v.rank() < 2)
      Message("trace")
          .problem("the array has shape " + to_string(v.shape()))
          .rule("a diagonal needs two axes")
          .from(x.loc)
          .advice("give it rows and columns with reshape")
          .raise<ShapeError>();
    const int first = normalize_axis(axis1, v.rank(), "trace", x.loc),
              second = normalize_axis(axis2, v.rank(), "trace", x.loc);
    if (first == second)
      Message("trace")
          .problem("axis1 and axis2 are both axis " + std::to_string(first))
          .rule("a diagonal walks two axes")
          .from(x.loc)
          .advice("name two different axes")
          .raise<ShapeError>();
    Value row = ops::iota(b, DType::int64, v.shape(), first);
    Value column = ops::iota(b, DType::int64, v.shape(), second);
    // Beyond the corners there is no diagonal, so the offset can be clamped.
    const std::int64_t most = std::max(v.shape()[static_cast<std::size_t>(first)],
                                       v.shape()[static_cast<std::size_t>(second)]);
    const auto by = static_cast<double>(std::clamp(offset, -most, most));
    Value on = ops::eq(ops::add(row, ops::full_like(row, by)), column);
    if (size_of(v.dtype()) < 4 && !is_floating(v.dtype()))
      v = ops::convert(v, is_unsigned_integer(v.dtype()) ? DType::uint32 : DType::int32);
    return ops::reduce_sum(ops::select(on, v, ops::zeros_like(v)),
                           {std::min(first, second), std::max(first, second)});
  });
}

namespace {

// Booleans are added with a logical or.
Value summed(Value x, const Ints& axes) {
  return x.dtype() == DType::boolean ? ops::reduce_or(x, axes) : ops::reduce_sum(x, axes);
}

// A value whose axes are labelled with letters.
struct Lettered {
  Value value;
  std::string letters;
};

struct Einsum {
  const std::string& text;
  SourceLoc loc;

  [[noreturn]] void fail(const std::string& problem, const std::string& rule,
                         const std::string& advice) const {
    Message("einsum")
        .problem("\"" + text + "\": " + problem)
        .rule(rule)
        .from(loc)
        .advice(advice)
        .raise<ShapeError>();
  }

  // Replaces axes that share a letter within one operand by their diagonal.
  Lettered diagonal(Lettered x) const {
    for (std::size_t i = 0; i < x.letters.size(); ++i) {
      std::size_t j = x.letters.find(x.letters[i], i + 1);
      if (j == std::string::npos) continue;
      Builder& b = *x.value.builder;
      const Shape& s = x.value.shape();
      if (s[i] != s[j])
        fail(std::string("letter '") + x.letters[i] + "' names axes of " + std::to_string(s[i]) +
                 " and " + std::to_string(s[j]) + " elements",
             "a letter has one extent", "use different letters");
      const DType numbers = detail::index_dtype(s[i]);
      Value on = ops::eq(ops::iota(b, numbers, s, static_cast<int>(i)),
                         ops::iota(b, numbers, s, static_cast<int>(j)));
      x.value = summed(ops::select(on, x.value, ops::zeros_like(x.value)),
                       {static_cast<std::int64_t>(j)});
      x.letters.erase(j, 1);
      --i;
    }
    return x;
  }

  // Sums over the letters that are not needed any further.
  Lettered sum_out(Lettered x, const std::string& needed) const {
    Ints axes;
    std::string kept;
    for (std::size_t i = 0; i < x.letters.size(); ++i) {
      if (needed.find(x.letters[i]) == std::string::npos)
        axes.push_back(static_cast<std::int64_t>(i));
      else
        kept += x.letters[i];
    }
    x.value = summed(x.value, axes);
    x.letters = kept;
    return x;
  }

  Lettered pair(const Lettered& x, const Lettered& y, const std::string& needed) const {
    ops::DotDims d;
    std::string batch, left, right;
    for (std::size_t i = 0; i < x.letters.size(); ++i) {
      std::size_t j = y.letters.find(x.letters[i]);
      if (j == std::string::npos) {
        left += x.letters[i];
      } else if (needed.find(x.letters[i]) != std::string::npos) {
        d.lhs_batch.push_back(static_cast<std::int64_t>(i));
        d.rhs_batch.push_back(static_cast<std::int64_t>(j));
        batch += x.letters[i];
      } else {
        d.lhs_contracting.push_back(static_cast<std::int64_t>(i));
        d.rhs_contracting.push_back(static_cast<std::int64_t>(j));
      }
    }
    for (char c : y.letters)
      if (x.letters.find(c) == std::string::npos) right += c;
    return {ops::dot_general(x.value, y.value, d), batch + left + right};
  }
};

}  // namespace

Array einsum(const std::string& subscripts, const Array& x, std::source_location loc) {
  return einsum(subscripts, std::vector{x}, loc);
}
Array einsum(const std::string& subscripts, const Array& x, const Array& y,
             std::source_location loc) {
  return einsum(subscripts, std::vector{x, y}, loc);
}
Array einsum(const std::string& subscripts, const Array& x, const Array& y, const Array& z,
             std::source_location loc) {
  return einsum(subscripts, std::vector{x, y, z}, loc);
}
Array einsum(const std::string& subscripts, const std::vector<Array>& operands,
             std::source_location where) {
  Einsum e{subscripts, where};
  std::string text;
  for (char c : subscripts)
    if (c != ' ') text += c;
  std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow),
              result = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  std::vector<std::string> terms{""};
  for (char c : left) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  if (terms.size() != operands.size())
    e.fail(std::to_string(terms.size()) + " terms for " + std::to_string(operands.size()) +
               " operands",
           "one term an operand, separated by commas", "add or remove a term");

  detail::check_all_fit("einsum", operands, where);
  return composite1("einsum", operands, where, [&](Builder&, std::span<const Value> in) {
    // "..." becomes letters that users cannot write, aligned from the right.
    auto ellipsis_letters = [](int n) {
      std::string s;
      for (int i = n; i-- > 0;) s += static_cast<char>(1 + i);
      return s;
    };
    std::vector<Lettered> xs;
    std::map<char, std::int64_t> extent;
    int widest = 0;
    for (std::size_t k = 0; k < in.size(); ++k) {
      std::string t = terms[k];
      std::size_t dots = t.find("...");
      if (dots != std::string::npos) {
        int n = in[k].rank() - static_cast<int>(t.size() - 3);
        if (n < 0) n = 0;
        widest = std::max(widest, n);
        t.replace(dots, 3, ellipsis_letters(n));
      }
      if (static_cast<int>(t.size()) != in[k].rank())
        e.fail("term " + std::to_string(k) + " names " + std::to_string(t.size()) +
                   " axes of an operand of shape " + to_string(in[k].shape()),
               "a term has one letter an axis", "name each axis once");
      for (char c : t)
        if (c > 26 && !std::isalpha(static_cast<unsigned char>(c)))
          e.fail(std::string("'") + c + "' is no letter", "axes are named by letters",
                 "use a to z");
      xs.push_back({in[k], t});
    }
    std::string out = result;
    std::size_t dots = out.find("...");
    if (dots != std::string::npos) out.replace(dots, 3, ellipsis_letters(widest));
    if (arrow == std::string::npos) {
      std::map<char, int> count;
      for (const auto& x : xs)
        for (char c : x.letters) ++count[c];
      for (auto [c, n] : count)
        if (n == 1 && c > 26) out += c;
      out = ellipsis_letters(widest) + out;
    }
    Type common = xs[0].value.type();
    for (const auto& x : xs) {
      const Promoted p = detail::promote_types(common, x.value.type());
      common.dtype = p.dtype, common.weak = p.weak;
    }
    for (auto& x : xs) {
      x.value = ops::convert(x.value, common.dtype, common.weak);
      // An ellipsis axis of extent 1 broadcasts: drop it here, since the other operands supply it.
      for (std::size_t i = 0; i < x.letters.size();) {
        std::int64_t n = x.value.shape()[i];
        auto [it, fresh] = extent.try_emplace(x.letters[i], n);
        if (x.letters[i] <= 26 && it->second == 1) it->second = n;
        if (it->second != n && !(x.letters[i] <= 26 && n == 1))
          e.fail(std::string("letter '") + x.letters[i] + "' names axes of " +
                     std::to_string(it->second) + " and " + std::to_string(n) + " elements",
                 "a letter has one extent", "check the order of the axes");
        ++i;
      }
    }
    for (auto& x : xs)
      for (std::size_t i = 0; i < x.letters.size();) {
        if (x.letters[i] <= 26 && x.value.shape()[i] == 1 && extent[x.letters[i]] != 1) {
          Shape s = x.value.shape();
          s.erase(s.begin() + i);
          x.value = ops::reshape(x.value, s);
          x.letters.erase(i, 1);
        } else {
          ++i;
        }
      }
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!extent.count(out[i]))
        e.fail(std::string("the result names '") + out[i] + "', which no operand has",
               "letters of the result occur on the left", "remove it");
      if (out.find(out[i], i + 1) != std::string::npos)
        e.fail(std::string("the result names '") + out[i] + "' twice",
               "each axis of the result has its own letter", "remove one");
    }
    for (auto& x : xs) x = e.diagonal(x);
    Lettered acc = xs[0];
    for (std::size_t k = 0; k <= xs.size(); ++k) {
      // Letters that the result or a later operand needs.
      std::string needed = out;
      for (std::size_t j = std::max<std::size_t>(k, 1); j < xs.size(); ++j) needed += xs[j].letters;
      if (k == 0 || k == xs.size()) {
        acc = e.sum_out(acc, needed);
        continue;
      }
      std::string after = out;
      for (std::size_t j = k + 1; j < xs.size(); ++j) after += xs[j].letters;
      acc = e.pair(acc, e.sum_out(xs[k], after + acc.letters), after);
    }
    Ints permutation;
    for (char c : out) permutation.push_back(static_cast<std::int64_t>(acc.letters.find(c)));
    return ops::transpose(acc.value, permutation);
  });
}

}  // namespace tessera::inline v0
