// Programs of public functions as users write them: any axes, any order, under vmap along any axis,
// derivatives and loops. They are traced and then checked like drawn programs.
#include "api/array/array_impl.h"
#include "api/trace/trace.h"
#include "ops/dice.h"
#include "ops/registry_values.h"
#include "random/check_program.h"
#include "random/on_devices.h"
#include "random/shrink.h"

#include <tessera/tessera.h>

#include <functional>

namespace ts = tessera;
using ts::Array;
using walk::Dice;

namespace {

using Function = std::function<Array(Dice&, const Array&)>;

std::int64_t rank(const Array& x) { return static_cast<std::int64_t>(x.shape().size()); }
/// Draws an axis, counted from either end.
std::int64_t axis(Dice& dice, const Array& x) {
  const std::int64_t r = rank(x), a = dice.below(std::max<std::int64_t>(1, r));
  return dice.once_in(3) ? a - r : a;
}
std::int64_t extent(const Array& x, std::int64_t a) {
  return x.shape()[static_cast<std::size_t>(a < 0 ? a + rank(x) : a)];
}
Array whole(Dice& dice, const Array& x) { return dice.toss() ? x : x.astype(ts::i32); }
Array positions(Dice& dice, const Array& x, std::int64_t a) {
  std::vector<int> at(static_cast<std::size_t>(1 + dice.below(4)));
  for (int& i : at) i = static_cast<int>(dice.between(-extent(x, a), extent(x, a) - 1));
  return Array(at);
}

const std::vector<Function>& functions() {
  static const auto& all = *new std::vector<Function>{
      [](Dice&, const Array& x) { return x * 2 + 1; },
      [](Dice&, const Array& x) { return x - ts::flip(x); },
      [](Dice&, const Array& x) { return ts::sin(x); },
      [](Dice&, const Array& x) { return ts::where(x > 0, x, -x * 2); },
      [](Dice&, const Array& x) { return ts::maximum(x, 1) * ts::minimum(x, 2); },
      [](Dice& d, const Array& x) { return ts::sum(x, axis(d, x), d.toss()); },
      [](Dice& d, const Array& x) { return ts::max(x, axis(d, x), d.toss()); },
      [](Dice& d, const Array& x) { return x - ts::mean(x, axis(d, x), true); },
      [](Dice& d, const Array& x) { return ts::prod(x, axis(d, x)); },
      [](Dice& d, const Array& x) { return ts::cumsum(x, axis(d, x)); },
      [](Dice& d, const Array& x) { return ts::cummax(x, axis(d, x)); },
      [](Dice& d, const Array& x) { return ts::argmax(x, axis(d, x)); },
      [](Dice& d, const Array& x) { return ts::sort(x, axis(d, x)); },
      [](Dice& d, const Array& x) { return ts::argsort(x, axis(d, x)); },
      [](Dice& d, const Array& x) {
        const ts::TopK top = ts::top_k(x, d.below(extent(x, -1) + 1));
        return top.values + top.indices;
      },
      [](Dice& d, const Array& x) { return ts::nn::softmax(x, axis(d, x)); },
      [](Dice& d, const Array& x) { return ts::transpose(x, d.permutation(rank(x))); },
      [](Dice& d, const Array& x) { return ts::moveaxis(x, axis(d, x), axis(d, x)); },
      [](Dice& d, const Array& x) { return ts::swapaxes(x, axis(d, x), axis(d, x)) + 1; },
      [](Dice& d, const Array& x) { return ts::expand_dims(x, d.below(rank(x) + 1)); },
      [](Dice& d, const Array& x) {  // combined with itself along another axis
        return ts::expand_dims(x, d.below(rank(x) + 1)) + ts::sin(x);
      },
      [](Dice& d, const Array& x) { return ts::real(ts::fft::fft(x, {.axis = axis(d, x)})); },
      [](Dice& d, const Array& x) {
        return ts::imag(ts::fft::rfft(x, {.n = 1 + d.below(9), .axis = axis(d, x)}));
      },
      [](Dice&, const Array& x) { return ts::ravel(x); },
      [](Dice& d, const Array& x) {
        ts::Shape s = x.shape();
        s.insert(s.begin(), 1 + d.below(3));
        return ts::broadcast_to(x, s);
      },
      [](Dice& d, const Array& x) { return ts::repeat(x, 1 + d.below(3), axis(d, x)); },
      [](Dice& d, const Array& x) {
        std::vector<std::int64_t> reps(static_cast<std::size_t>(rank(x)));
        for (auto& r : reps) r = 1 + d.below(2);
        return ts::tile(x, reps);
      },
      [](Dice& d, const Array& x) { return ts::flip(x, axis(d, x)); },
      [](Dice& d, const Array& x) { return ts::roll(x, d.between(-3, 3), axis(d, x)); },
      [](Dice& d, const Array& x) {
        std::vector<std::pair<std::int64_t, std::int64_t>> widths;
        for (std::int64_t k = 0; k < rank(x); ++k) widths.emplace_back(d.below(3), d.below(3));
        return ts::pad(x, widths);
      },
      [](Dice& d, const Array& x) {
        return ts::concatenate({x, x * 3, ts::flip(x)}, axis(d, x));
      },
      [](Dice& d, const Array& x) {
        return ts::stack({x, ts::cos(x)}, d.below(rank(x) + 1));
      },
      [](Dice& d, const Array& x) {
        const std::int64_t a = axis(d, x);
        return ts::take(x, positions(d, x, a), a);
      },
      [](Dice& d, const Array& x) {
        const std::int64_t a = axis(d, x);
        return ts::take_along_axis(x, ts::argsort(x, a), a);
      },
      [](Dice& d, const Array& x) { return x[d.between(-extent(x, 0), extent(x, 0) - 1)]; },
      [](Dice& d, const Array& x) { return x[positions(d, x, 0)]; },
      [](Dice& d, const Array& x) {  // neighbours along the first axis, and in a row
        const std::int64_t n = extent(x, 0), first = d.below(n);
        const Array part = x[ts::range(first, first + 1 + d.below(n - first))];
        return d.toss() ? part : part[0] * 2;
      },
      [](Dice&, const Array& x) { return x[ts::from(1)] - x[ts::until(-1)]; },
      [](Dice& d, const Array& x) {  // row by row
        std::vector<Array> rows;
        for (std::int64_t i = extent(x, 0); i-- > 0;) rows.push_back(x[i] * (d.toss() ? 2 : 3));
        return ts::stack(rows, 0);
      },
      [](Dice& d, const Array& x) {
        return x.at(d.between(-extent(x, 0), extent(x, 0) - 1)).set(1);
      },
      [](Dice& d, const Array& x) { return x.at(positions(d, x, 0)).add(2); },
      [](Dice& d, const Array& x) { return x.at(positions(d, x, 0)).max(1); },
      [](Dice& d, const Array& x) {
        std::vector<Array> starts;
        ts::Shape sizes;
        for (std::int64_t n : x.shape()) {
          starts.push_back(Array(static_cast<int>(d.between(-n - 1, n + 1))));
          sizes.push_back(n - d.below(n + 1));
        }
        return ts::dynamic_slice(x, starts, sizes);
      },
      [](Dice&, const Array& x) { return ts::matmul(x, ts::swapaxes(x, -1, -2)); },
      [](Dice& d, const Array& x) { return ts::tensordot(x, x * 2, static_cast<int>(d.below(2))); },
      [](Dice&, const Array& x) { return ts::outer(ts::ravel(x)[ts::range(0, 5)], ts::arange(3)); },
      [](Dice& d, const Array& x) {  // every second element, backwards
        return x[ts::range(std::nullopt, std::nullopt, d.toss() ? -2 : -1)];
      },
      [](Dice& d, const Array& x) { return ts::triu(x, d.between(-1, 1)); },
      [](Dice& d, const Array& x) { return whole(d, x) % 3; },
      [](Dice& d, const Array& x) {
        return x.astype(d.of(std::vector<ts::DType>{ts::f32, ts::i32, ts::f64, ts::u8, ts::bf16}));
      },
      [](Dice&, const Array& x) { return ts::nextafter(x, 1); },
      [](Dice&, const Array& x) { return ts::population_count(x.astype(ts::i32)); },
      [](Dice& d, const Array& x) {
        return ts::reduce(
            x, 0, [](Array a, Array b) { return a * b + a + b; }, axis(d, x));
      },
      [](Dice& d, const Array& x) {
        return ts::sort_by(
            {x}, [](auto a, auto b) { return a[0] > b[0] || (a[0] == a[0] && b[0] != b[0]); },
            axis(d, x))[0];
      },
      [](Dice& d, const Array& x) { return ts::one_hot(x.astype(ts::i32), 1 + d.below(4)); },
  };
  return all;
}

Array small(const Array& x, const Array& otherwise) {
  return x.shape().count() > 2000 || rank(x) > 5 ? otherwise : x;
}

Array grown(Dice& dice, Array x, int depth);

// Gives y the shape and dtype of `like`.
Array as(const Array& like, const Array& y) {
  if (y.shape() == like.shape()) return y.astype(like.dtype());
  return like + ts::sum(y).astype(like.dtype());
}

// One step: a function, or a transformation of a drawn function. Calls that the library rejects are
// left out.
Array step(Dice& dice, const Array& x, int depth) {
  auto inner = [&dice, depth](Array a) { return grown(dice, a, depth + 1); };
  // The loop may trace its body several times, and draws the same one each time.
  auto body = [start = dice, depth](const Array& a) {
    Dice again = start;
    return grown(again, a, depth + 1);
  };
  const std::int64_t kind = depth < 2 ? dice.below(18) : 0;
  try {
    switch (kind) {
      case 9:
      case 10:
        return ts::vmap(inner, {.in_axes = static_cast<int>(axis(dice, x)),
                                .out_axes = dice.toss() ? 0 : -1})(x);
      case 11: {
        Array f = ts::is_floating(x.dtype()) ? x : x.astype(ts::f32);
        return ts::grad([&](Array a) { return ts::sum(inner(a).astype(f.dtype())); })(f);
      }
      case 12: {
        Array f = ts::is_floating(x.dtype()) ? x : x.astype(ts::f32);
        return ts::jvp([&](Array a) { return inner(a).astype(f.dtype()); }, f, ts::ones_like(f))
            .second;
      }
      case 13: return ts::remat(inner)(x);
      case 14:
        return ts::fori_loop(
            0, static_cast<int>(dice.below(4)),
            [&](Array i, Array v) { return as(v, body(v + i.astype(v.dtype()))); }, x);
      case 15:
        return ts::scan(
                   [&](Array carry, Array row) {
                     const Array y = body(row);
                     return std::pair(carry + ts::sum(y).astype(carry.dtype()), y);
                   },
                   ts::zeros({}, x.dtype()), x)
            .second;
      case 16:
        return ts::cond(
            ts::sum(x) > 0, [&](Array a) { return as(a, body(a)); },
            [](Array a) { return ts::flip(a); }, x);
      case 17:
        return ts::while_loop([](std::pair<Array, Array> s) { return s.first < 3; },
                              [&](std::pair<Array, Array> s) {
                                return std::pair(s.first + 1, as(s.second, body(s.second)));
                              },
                              std::pair(Array(0), x))
            .second;
      default: return dice.of(functions())(dice, x);
    }
  } catch (const ts::Error&) {
    return x;
  }
}

Array grown(Dice& dice, Array x, int depth) {
  for (std::int64_t n = 1 + dice.below(depth ? 3 : 4); n > 0; --n)
    x = small(step(dice, x, depth), x);
  return x;
}

ts::ProgramPtr program(const walk::Tape& tape) {
  Dice dice(tape);
  ts::Shape shape;
  for (std::int64_t r = dice.below(4); r > 0; --r)
    shape.push_back(dice.of(walk::Ints{2, 3, 1, 4, 0, 5, 8, 17}));
  ts::Type type(dice.of(std::vector<ts::DType>{ts::f32, ts::f64, ts::i32, ts::bf16, ts::u8}),
                shape);
  ts::detail::Trace trace("jit");
  Array x = trace.input(type);
  Array y = grown(dice, x, 0);
  std::vector<Array> outputs{y};
  ts::detail::Trace::Finished f = trace.finish(outputs);
  // Arrays from outside are constants of the program: only the small ones of the functions above.
  ts::Builder b("functions");
  ts::Values in{b.input(type)};
  for (const Array& a : f.captures) {
    std::vector<double> numbers;
    ts::Type t(a.dtype(), a.shape());
    auto bytes = std::make_shared<std::vector<std::byte>>();
    ts::HostArray h = check::host(*ts::detail::data_of(ts::detail::need(a, "the test")));
    bytes->assign(h.bytes, h.bytes + h.size_bytes());
    in.push_back(b.emit1("constant", {}, {{"value", ts::Literal{t.dtype, t.shape, bytes}}}));
  }
  ts::Values out = b.inline_program(*f.program, in);
  return b.finish_pruned(out);
}

std::string wrong(const walk::Tape& tape) {
  check::note(tape);
  ts::ProgramPtr p;
  try {
    p = program(tape);
    check::note(to_string(*p));
    std::mt19937 random(7);
    walk::Arrays in;
    for (const ts::Type& t : p->input_types())
      in.push_back(walk::draw(t, random, -3, 3, ts::is_unsigned_integer(t.dtype) ? 0 : -3, 6));
    const std::uint64_t choice = tape.empty() ? 0 : tape.back();
    std::string found = check::problem(p, in, choice);
    if (found.empty() && choice % 4 == 1) found = check::problem_on_devices(p, in, choice >> 2);
    return found.empty() ? found : found + "\n" + to_string(*p);
  } catch (const std::exception& e) {
    return e.what() + (p ? "\n" + to_string(*p) : " while it was traced");
  }
}

}  // namespace

TEST(RandomFunctions, AreTheEvaluators) { check::check_many(450, 80, wrong); }
