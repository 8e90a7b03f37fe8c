// Random counted loops, as a scan and as a `while` whose condition also reads an argument, so that
// the number of iterations is unknown. Both give the same bits, and the gradient of the scan is the
// derivative of the `while` in any direction.
#include "ops/dice.h"
#include "random/shrink.h"
#include "stablehlo/roundtrip.h"
#include "transform/autodiff.h"

#include "ir/interpret.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

namespace {

using namespace tessera;

constexpr std::int64_t kRows = 6, kColumns = 2;
const std::string kTable = "tensor<6x2xf64>", kRow = "tensor<2xf64>", kOne = "tensor<1x2xf64>";

// Writes the operations of a loop's body; values are numbered.
class Body {
 public:
  Body(walk::Dice& dice, std::string counter_type)
      : dice_(dice), integer_("tensor<" + counter_type + ">") {}

  std::string op(const std::string& text) {
    const std::string name = "%v" + std::to_string(next_++);
    text_ += "      " + name + " = " + text + "\n";
    return name;
  }
  std::string number(std::int64_t n) {
    return op("stablehlo.constant dense<" + std::to_string(n) + "> : " + integer_);
  }
  std::string binary(const std::string& what, const std::string& a, const std::string& b,
                     const std::string& type) {
    return op("stablehlo." + what + " " + a + ", " + b + " : " + type);
  }
  // The position of a read or written row: the counter, its neighbour, backwards, clamped, from the
  // end.
  std::string place(const std::vector<std::string>& counters) {
    const std::string i = dice_.of(counters);
    const auto k = [&] { return number(dice_.between(-2, 7)); };
    switch (dice_.below(8)) {
      case 1: return binary("add", i, k(), integer_);
      case 2: return binary("subtract", k(), i, integer_);
      case 3: return binary("minimum", i, k(), integer_);
      case 4: return binary("multiply", i, number(2), integer_);
      case 5: {
        const std::string below =
            op("stablehlo.compare LT, " + i + ", " + number(0) + ", SIGNED : (" + integer_ + ", " +
               integer_ + ") -> tensor<i1>");
        const std::string wrapped = binary("add", i, number(kRows), integer_);
        return op("stablehlo.select " + below + ", " + wrapped + ", " + i + " : tensor<i1>, " +
                  integer_);
      }
      case 6: return k();
      case 7: {  // an element of an array that counts
        const std::string one = "tensor<1x" + integer_.substr(sizeof("tensor<") - 1);
        const std::string element =
            op("stablehlo.dynamic_slice %numbers, " + i + ", sizes = [1] : (" + numbers() + ", " +
               integer_ + ") -> " + one);
        return op("stablehlo.reshape " + element + " : (" + one + ") -> " + integer_);
      }
      default: return i;
    }
  }
  std::string read(const std::string& table, const std::string& at) {
    const std::string row =
        op("stablehlo.dynamic_slice " + table + ", " + at + ", " + number(0) +
           ", sizes = [1, 2] : (" + kTable + ", " + integer_ + ", " + integer_ + ") -> " + kOne);
    return op("stablehlo.reshape " + row + " : (" + kOne + ") -> " + kRow);
  }
  std::string written(const std::string& table, const std::string& row, const std::string& at) {
    const std::string one = op("stablehlo.reshape " + row + " : (" + kRow + ") -> " + kOne);
    return op("stablehlo.dynamic_update_slice " + table + ", " + one + ", " + at + ", " +
              number(0) + " : (" + kTable + ", " + kOne + ", " + integer_ + ", " + integer_ +
              ") -> " + kTable);
  }
  std::string sine(const std::string& row) { return op("stablehlo.sine " + row + " : " + kRow); }
  std::string counter_as_row(const std::string& i) {
    const std::string real = op("stablehlo.convert " + i + " : (" + integer_ + ") -> tensor<f64>");
    return op("stablehlo.broadcast_in_dim " + real + ", dims = [] : (tensor<f64>) -> " + kRow);
  }
  std::string numbers() const { return "tensor<6x" + integer_.substr(sizeof("tensor<") - 1); }
  const std::string& text() const { return text_; }
  const std::string& integer() const { return integer_; }

 private:
  walk::Dice& dice_;
  std::string integer_, text_;
  int next_ = 0;
};

// How the loop counts; each of these ends after at most 5 iterations.
struct Count {
  std::int64_t start, step, bound;
  std::string direction;
};
Count drawn_count(walk::Dice& dice) {
  Count c{dice.between(-3, 4), dice.of(std::vector<std::int64_t>{1, -1, 2, -3}), 0, "LT"};
  const std::int64_t turns = dice.of(std::vector<std::int64_t>{3, 0, 1, 2, 4, 5});
  c.bound = c.start + turns * c.step;
  switch (dice.below(3)) {
    case 1: c.direction = "NE"; break;
    case 2:  // the last iteration is at the bound
      c.direction = c.step > 0 ? "LE" : "GE";
      c.bound -= c.step > 0 ? 1 : -1;
      break;
    default: c.direction = c.step > 0 ? "LT" : "GT";
  }
  return c;
}

// @main(x, c, y, go), whose loop reads x and carries c and y. If `known`, the condition depends on
// the counter only.
std::string module_of(const walk::Tape& tape, bool known) {
  walk::Dice dice(tape);
  const std::string type = dice.toss() ? "i64" : "i32";
  const Count count = drawn_count(dice);
  Body body(dice, type);
  const std::vector<std::string> names{"%i", "%j", "%x", "%c", "%y"};
  const std::vector<std::string> types{body.integer(), body.integer(), kTable, kRow, kTable};
  std::string c = "%c", y = "%y";
  const std::vector<std::string> counters{"%i", "%j"};
  for (std::int64_t n = 1 + dice.below(4); n-- > 0;) {
    switch (dice.below(6)) {
      case 1: c = body.binary("multiply", c, body.read("%x", body.place(counters)), kRow); break;
      case 2: c = body.binary("add", c, body.counter_as_row(dice.of(counters)), kRow); break;
      case 3: y = body.written(y, c, body.place(counters)); break;
      case 4: c = body.binary("add", c, body.read(y, body.place(counters)), kRow); break;
      case 5:
        y = body.written(y, body.sine(body.read("%x", body.place(counters))), body.place(counters));
        break;
      default: c = body.binary("add", body.sine(c), body.read("%x", "%i"), kRow);
    }
  }
  const std::string next = body.binary("add", "%i", body.number(count.step), body.integer()),
                    beside = body.binary("subtract", "%j", body.number(1), body.integer());
  const std::vector<std::string> results{next, beside, "%x", c, y};
  const std::vector<std::string> starts{"%start", "%beside", "%arg0", "%arg1", "%arg2"};
  const walk::Ints order = dice.permutation(5);
  std::string carried, carried_types, returned;
  walk::Ints at(5);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto o = static_cast<std::size_t>(order[k]);
    at[o] = static_cast<std::int64_t>(k);
    const std::string comma = k ? ", " : "";
    carried += comma + names[o] + " = " + starts[o];
    carried_types += comma + types[o];
    returned += comma + results[o];
  }
  const auto result = [&](std::size_t o) { return "%r#" + std::to_string(at[o]); };
  const std::string both = body.integer() + ", " + body.integer();
  return "func.func @main(%arg0: " + kTable + ", %arg1: " + kRow + ", %arg2: " + kTable +
         ", %go: tensor<i1>) -> (" + kRow + ", " + kTable + ", " + both + ") {\n" +
         "  %start = stablehlo.constant dense<" + std::to_string(count.start) +
         "> : " + body.integer() + "\n  %beside = stablehlo.constant dense<4> : " + body.integer() +
         "\n  %numbers = stablehlo.iota dim = 0 : " + body.numbers() +
         "\n  %r:5 = stablehlo.while(" + carried + ") : " + carried_types + "\n  cond {\n" +
         "      %bound = stablehlo.constant dense<" + std::to_string(count.bound) +
         "> : " + body.integer() + "\n      %more = stablehlo.compare " + count.direction +
         ", %i, %bound, SIGNED : (" + both + ") -> tensor<i1>\n" +
         (known ? "" : "      %both = stablehlo.and %more, %go : tensor<i1>\n") +
         "      stablehlo.return " + (known ? "%more" : "%both") + " : tensor<i1>\n  } do {\n" +
         body.text() + "      stablehlo.return " + returned + " : " + carried_types + "\n  }\n" +
         "  return " + result(3) + ", " + result(4) + ", " + result(0) + ", " + result(1) + " : " +
         kRow + ", " + kTable + ", " + both + "\n}\n";
}

// Numbers without a pattern.
HostArray waves(const Type& t, double by) {
  HostArray a(t.dtype, t.shape);
  for (std::int64_t i = 0; i < t.shape.count(); ++i)
    a.data<double>()[i] = std::sin(by * std::pow(static_cast<double>(i + 1), 1.3));
  return a;
}

double product(const HostArray& a, const HostArray& b) {
  const std::int64_t n = a.shape.count();
  return std::inner_product(a.data<double>(), a.data<double>() + n, b.data<double>(), 0.0);
}

std::string difference(const std::vector<HostArray>& got, const std::vector<HostArray>& want) {
  for (std::size_t i = 0; i < want.size(); ++i)
    if (got[i].dtype != want[i].dtype || got[i].shape != want[i].shape ||
        std::memcmp(got[i].bytes, want[i].bytes, static_cast<std::size_t>(want[i].size_bytes())))
      return "result " + std::to_string(i) + " differs";
  return {};
}

std::string wrong(const walk::Tape& tape) {
  const std::string text = module_of(tape, true);
  try {
    const ProgramPtr counted = roundtrip::read(text).program,
                     open = roundtrip::read(module_of(tape, false)).program;
    if (to_string(*counted).find("while") != std::string::npos) return "a while is left\n" + text;
    const Type table(DType::float64, {kRows, kColumns}), row(DType::float64, {kColumns});
    std::vector<HostArray> in{waves(table, 1.0), waves(row, 1.1), waves(table, 1.2),
                              HostArray::from(scalar_literal(DType::boolean, std::int64_t{1}))};
    const std::vector<HostArray> want = evaluate(*open, in), got = evaluate(*counted, in);
    if (const std::string d = difference(got, want); !d.empty()) return d + "\n" + text;

    const std::vector<HostArray> tangents{waves(table, 0.7), waves(row, 0.8), waves(table, 0.9)},
        cotangents{waves(row, 1.4), waves(table, 1.5)};
    const JvpProgram jvp =
        jvp_program(*open, {true, true, true, false}, {true, true, false, false});
    std::vector<HostArray> forward = in;
    forward.insert(forward.end(), tangents.begin(), tangents.end());
    const std::vector<HostArray> along = evaluate(*jvp.program, forward);
    const double expected = product(along[4], cotangents[0]) + product(along[5], cotangents[1]);

    const ProgramPtr vjp = vjp_program(*counted, {true, true, true, false});
    std::vector<HostArray> backward = in;
    backward.insert(backward.end(), cotangents.begin(), cotangents.end());
    const std::vector<HostArray> back = evaluate(*vjp, backward);
    double found = 0, size = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const double part = product(back[4 + i], tangents[i]);
      found += part;
      size += std::abs(part);
    }
    // Rounding errors of about a hundred operations in another order.
    if (!(std::abs(found - expected) <= 1e-12 * size))
      return "the gradient along the tangents is " + std::to_string(found) + ", and " +
             std::to_string(expected) + " is the derivative\n" + text;
    return {};
  } catch (const std::exception& e) {
    return std::string(e.what()) + "\n" + text;
  }
}

}  // namespace

TEST(CountedLoops, DrawnOnesAreTheLoopsTheyWere) { check::check_many(300, 60, wrong); }
