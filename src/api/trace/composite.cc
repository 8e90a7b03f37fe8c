#include "api/trace/composite.h"

#include "api/trace/cache.h"
#include "api/trace/follow.h"
#include "api/trace/gather.h"
#include "base/thread_kept.h"
#include "runtime/backend.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace tessera::inline v0::detail {

namespace {

constexpr std::size_t kOperands = 2;

struct Remembered {
  CompositeKey key;
  runtime::Backend* backend = nullptr;
  unsigned mode = 0;
  std::size_t operands = 0;
  std::array<Type, kOperands> types;
  Places places;
  std::shared_ptr<const runtime::Executable> executable;
};
constexpr std::size_t kRemembered = 64;
// Threads forget remembered programs of other generations.
std::atomic<unsigned> g_generation{0};
struct OfThread {
  unsigned generation = 0;
  std::array<Remembered, kRemembered> places;
  std::array<Remembered, kRemembered>& current() {
    const unsigned now = g_generation.load(std::memory_order_relaxed);
    if (generation != now) {
      generation = now;
      places.fill({});
    }
    return places;
  }
};
thread_local ThreadKept<OfThread> remembered;

// The slot of a call in `remembered`.
std::size_t place_of(const CompositeKey& key, std::span<const Array> inputs) {
  std::size_t h = reinterpret_cast<std::uintptr_t>(key.name) * 31 +
                  reinterpret_cast<std::uintptr_t>(key.function);
  for (const Array& a : inputs) {
    const Type& t = a.impl()->type;
    h = h * 31 + static_cast<std::size_t>(t.dtype);
    for (std::int64_t d : t.shape) h = h * 31 + static_cast<std::size_t>(d);
  }
  return (h ^ h >> 6 ^ h >> 12 ^ h >> 24) % kRemembered;
}

struct Built {
  ProgramPtr program;
  const Array* same = nullptr;  // the argument that is returned unchanged
};
Built build(const char* name, std::span<const Array> inputs, const SourceLoc& loc,
            const CompositeBody& body) {
  Builder b(name);
  b.loc = loc;
  Values in;
  in.reserve(inputs.size());
  for (const Array& a : inputs) in.push_back(b.input(need(a, name, loc).type));
  Values out = body(b, in);
  // A function that changes nothing (a reshape to the same shape) returns its argument.
  if (out.size() == 1 && b.so_far().equations.empty())
    for (std::size_t i = 0; i < in.size(); ++i)
      if (out[0] == in[i]) return {nullptr, &inputs[i]};
  return {b.finish(out)};
}

}  // namespace

void forget_composites() {
  g_generation.fetch_add(1, std::memory_order_relaxed);
  remembered->current();
}

std::vector<Array> composite(const char* name, std::span<const Array> inputs, const SourceLoc& loc,
                             const CompositeBody& body) {
  const InFunction called(name, loc);
  if (Trace* t = Trace::innermost()) {
    // Inside a composed function, errors show the line of the outermost call.
    const SourceLoc& outermost = InFunction::outermost()->loc();
    const SourceLoc& line = outermost ? outermost : loc;
    AtLocation at(t->builder(), line);
    Values in;
    in.reserve(inputs.size());
    for (const Array& a : inputs) in.push_back(t->lift(a, name));
    std::vector<Array> out;
    for (const Value& v : body(t->builder(), in))
      out.push_back(make_traced(t->id(), v.var, v.type(), line));
    return out;
  }
  check_alive(inputs, name, loc);
  Built p = build(name, inputs, loc, body);
  if (p.same) return {same_values(*p.same, name, loc)};
  return apply(p.program, inputs, loc);
}

Array composite_once(const CompositeKey& key, std::span<const Array> inputs, const SourceLoc& loc,
                     const CompositeBody& body) {
  const InFunction called(key.name, loc);
  const bool concrete = std::all_of(inputs.begin(), inputs.end(), [](const Array& a) {
    return !a.is_empty() && a.is_concrete();
  });
  if (Trace::innermost() || !concrete || inputs.size() > kOperands)
    return composite(key.name, inputs, loc, body)[0];
  Remembered& r = remembered->current()[place_of(key, inputs)];
  const runtime::CallerLine line(loc);
  runtime::Backend& on = backend_of(inputs, key.name);
  if (gathers(on)) return composite(key.name, inputs, loc, body)[0];
  const unsigned mode = on.mode();
  bool found = r.executable && r.key == key && r.backend == &on && r.mode == mode &&
               r.operands == inputs.size();
  for (std::size_t i = 0; found && i < inputs.size(); ++i) {
    const ArrayImpl& a = *inputs[i].impl();
    // A bare number is uncommitted.
    found = r.types[i] == a.type &&
            (a.data ? lies_at(r.places, i, *a.data->layout) : r.places.empty() || !r.places[i]);
  }
  if (found) return run(*r.executable, inputs, key.name, loc)[0];

  check_alive(inputs, key.name, loc);
  Built p = build(key.name, inputs, loc, body);
  if (p.same) return same_values(*p.same, key.name, loc);
  runtime::CompileOptions options;
  options.name = key.name;
  std::vector<runtime::ArrayDataPtr> data;
  for (const Array& a : inputs) data.push_back(data_of(*a.impl()));
  Remembered fresh{key,
                   &on,
                   mode,
                   inputs.size(),
                   {},
                   places_of(data),
                   runtime::compile(follow_again(p.program, data), options, on)};
  for (std::size_t i = 0; i < inputs.size(); ++i) fresh.types[i] = inputs[i].impl()->type;
  r = std::move(fresh);
  std::vector<Array> results = run(*r.executable, inputs, key.name, loc);
  runtime::trim_kept();
  return results[0];
}

Value broadcast_to(Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  bool fits = x.rank() <= shape.rank();
  for (int i = 1; fits && i <= x.rank(); ++i) {
    const std::int64_t n = x.shape()[static_cast<std::size_t>(x.rank() - i)];
    fits = n == 1 || n == shape[static_cast<std::size_t>(shape.rank() - i)];
  }
  if (!fits)
    Message("broadcast_to")
        .problem("an array of shape " + to_string(x.shape()) + " does not broadcast to " +
                 to_string(shape))
        .rule("aligned from the last axis, its extents are 1 or those of the result")
        .from(x.builder->loc)
        .advice("insert axes of 1 with expand_dims where they are missing")
        .raise<ShapeError>();
  Ints dims;
  for (int i = 0; i < x.rank(); ++i) dims.push_back(shape.rank() - x.rank() + i);
  return ops::broadcast_in_dim(x, shape, dims);
}

void promote_dtypes(Value& x, Value& y) {
  const Promoted p = promote_types(x.type(), y.type());
  x = ops::convert(x, p.dtype, p.weak);
  y = ops::convert(y, p.dtype, p.weak);
}

void promote_and_broadcast(Value& x, Value& y, const char* name) {
  promote_dtypes(x, y);
  if (x.shape() == y.shape()) return;
  Shape shape = broadcast_shapes(x.shape(), y.shape(), name, x.builder->loc);
  x = broadcast_to(x, shape);
  y = broadcast_to(y, shape);
}

Promoted promote_types(const Type& x, const Type& y) {
  Promoted p = promote(x.dtype, x.weak, y.dtype, y.weak);
  // A weak float array would take twice its memory as doubles; for a weak scalar that does not
  // matter.
  const bool scalar = x.shape.empty() && y.shape.empty();
  const auto keeps = [&](const Type& t) {
    return t.weak && (t.dtype == DType::float64 || t.dtype == DType::complex128) &&
           (scalar || !t.shape.empty());
  };
  if (p.weak && is_floating(p.dtype))
    p.dtype = scalar || keeps(x) || keeps(y) ? DType::float64 : DType::float32;
  if (p.weak && is_complex(p.dtype))
    p.dtype = scalar || keeps(x) || keeps(y) ? DType::complex128 : DType::complex64;
  return p;
}

namespace {
Promoted inexact(Promoted p, bool scalar) {
  if (is_inexact(p.dtype)) return p;
  const bool wide = p.dtype == DType::int64 || p.dtype == DType::uint64;
  return {(p.weak ? scalar : wide) ? DType::float64 : DType::float32, p.weak};
}
}  // namespace

Value to_inexact(Value x) {
  const Promoted p = inexact({x.dtype(), x.type().weak}, x.shape().empty());
  return ops::convert(x, p.dtype, p.weak);
}

Value to_visible_inexact(Value x) {
  x = to_inexact(x);
  return ops::convert(x, visible_dtype(x.type()), x.type().weak);
}

void promote_inexact(Value& x, Value& y) {
  const bool scalar = x.shape().empty() && y.shape().empty();
  const Promoted p = inexact(promote_types(x.type(), y.type()), scalar);
  x = ops::convert(x, p.dtype, p.weak);
  y = ops::convert(y, p.dtype, p.weak);
}

Ints normalize_axes(std::span<const std::int64_t> axes, int rank, const char* name,
                    const SourceLoc& loc) {
  Ints out;
  if (axes.empty()) {
    for (int i = 0; i < rank; ++i) out.push_back(i);
    return out;
  }
  for (std::int64_t a : axes) out.push_back(normalize_axis(a, rank, name, loc));
  std::sort(out.begin(), out.end());
  auto twice = std::adjacent_find(out.begin(), out.end());
  if (twice != out.end())
    Message(name)
        .problem("axis " + std::to_string(*twice) + " is named twice")
        .rule("each axis is named once, counted from the start or from the end")
        .from(loc)
        .advice("remove one of the two")
        .raise<ShapeError>();
  return out;
}

Value keep_dims(Value x, const Ints& axes) {
  Shape shape = x.shape();
  for (std::int64_t a : axes) shape.insert(shape.begin() + a, 1);
  return ops::reshape(x, shape);
}

}  // namespace tessera::inline v0::detail
