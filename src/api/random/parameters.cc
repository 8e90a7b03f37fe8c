#include "api/random/parameters.h"

#include <tessera/message.h>

#include "api/trace/trace.h"

#include <cmath>

namespace tessera::inline v0::random {

namespace {

// Whether `from` broadcasts to exactly `to`.
bool fits(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    const std::int64_t n = from[from.size() - i];
    if (n != 1 && n != to[to.size() - i]) return false;
  }
  return true;
}

}  // namespace

Shape shape_of_draw(const char* function, const Operand& key,
                    std::initializer_list<Parameter> parameters,
                    const std::optional<Shape>& wanted) {
  Shape all;
  for (const Parameter& p : parameters) {
    const Type& t = detail::need(p.value.array, function, p.value.loc).type;
    if (is_complex(t.dtype))
      Message(function)
          .problem(std::string(p.name) + " is " + detail::visible_text(t))
          .rule("parameters of distributions are real")
          .from(key.loc)
          .advice("take its real part, real(x), or its magnitude, abs(x)")
          .raise<DTypeError>();
    all = broadcast_shapes(all, t.shape, function);
    if (wanted && !fits(t.shape, *wanted))
      Message(function)
          .problem(std::string(p.name) + " is " + detail::visible_text(t) + ", the shape " +
                   to_string(*wanted))
          .rule("the parameters broadcast to the shape of the draw")
          .from(key.loc)
          .advice("leave the shape out, or put the parameters' own axes at its end")
          .raise<ShapeError>();
  }
  return wanted.value_or(all);
}

void check_count_dtype(const char* function, DType dtype, const Operand& key) {
  if (is_integer(dtype)) return;
  Message(function)
      .problem("the dtype is " + std::string(name_of(dtype)))
      .rule("counts have an integer dtype")
      .from(key.loc)
      .advice("leave it out for int32, and convert with astype")
      .raise<DTypeError>();
}

void check_positive(const char* function, const char* name, double value, const Operand& key) {
  if (std::isfinite(value) && value > 0) return;
  Message(function)
      .problem(std::string(name) + " is " + to_string(Array(value)))
      .rule("it is a finite number, more than 0")
      .from(key.loc)
      .advice("2.0 is usual")
      .raise<Error>();
}

}  // namespace tessera::inline v0::random
