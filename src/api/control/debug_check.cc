// Checks values while they are computed.
#include <tessera/debug.h>

#include "api/control/reports.h"
#include "base/message.h"

#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/operators.h>
#include <tessera/reductions.h>

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace tessera::inline v0 {

namespace {

// The conditions checked for one leaf, and the text of its error.
class DebugCheck final : public Callback {
 public:
  DebugCheck(std::string what, std::string rule, std::string path, Shape shape, SourceLoc loc)
      : what_(std::move(what)),
        rule_(std::move(rule)),
        path_(std::move(path)),
        shape_(std::move(shape)),
        loc_(loc) {}

  std::string name() const override { return "check at " + to_string(loc_); }

  // The values are: how many elements are rejected, the row-major index of the first, and that
  // element.
  void call(const Position& position, std::span<const HostArray> values) const override {
    const auto count = static_cast<std::int64_t>(values[0].number(0));
    auto flat = static_cast<std::int64_t>(values[1].number(0));
    std::string place;
    for (std::size_t d = shape_.size(); d-- > 0; flat /= shape_[d])
      place = std::to_string(flat % shape_[d]) + (place.empty() ? "" : ", ") + place;
    const std::string first = detail::text_of(values[2]);
    std::string problem = what_ + " is " + first;
    if (!shape_.empty())
      problem = fmt::format("{} of {} elements of {} {} refused; the first is {} at [{}]", count,
                            shape_.count(), what_, count == 1 ? "is" : "are", first, place);
    const char* before = ", where ";
    for (const auto& [axis, at] : position)
      problem += fmt::format("{}{}={}", std::exchange(before, ", "), axis, at);
    Message("debug::check")
        .problem(std::move(problem))
        .rule(rule_)
        .at(path_)
        .from(loc_)
        .advice("check what it is made of, or debug::print it")
        .raise<CheckError>();
  }

 private:
  const std::string what_, rule_, path_;
  const Shape shape_;
  const SourceLoc loc_;
};

std::string rule_of(DType dtype, const debug::CheckOptions& o) {
  std::string rule;
  const auto add = [&](const std::string& text) { rule += (rule.empty() ? "" : ", ") + text; };
  if (is_inexact(dtype) && !o.allow_nan) add("no NaN");
  if (is_inexact(dtype) && !o.allow_inf) add("no infinity");
  if (o.min) add(fmt::format("at least {}", *o.min));
  if (o.max) add(fmt::format("at most {}", *o.max));
  return rule;
}

// Whether each element is rejected; an empty array if no condition applies.
Array refused(const Array& x, const debug::CheckOptions& o) {
  Array bad;
  const auto add = [&](Array b) { bad = bad.is_empty() ? b : logical_or(bad, b); };
  if (is_inexact(x.dtype()) && !o.allow_nan) add(isnan(x));
  if (is_inexact(x.dtype()) && !o.allow_inf) add(isinf(x));
  if (o.min) add(less(x, *o.min));
  if (o.max) add(greater(x, *o.max));
  return bad;
}

// How many elements are rejected, the index of the first, and that element. This takes several
// passes over the array, so it runs only if any element is rejected.
using Found = std::vector<Array>;
Found found_in(const Array& x, const Array& bad) {
  const Array flat = bad.ravel(), where = argmax(flat);
  return {sum(astype(flat, int64)), astype(where, int64), take(x.ravel(), where)};
}
Found found_nothing(const Array& x, const Array&) {
  return {zeros({}, int64), zeros({}, int64), zeros({}, x.dtype())};
}

void check_options(const debug::CheckOptions& o, DType dtype, const std::string& path,
                   const SourceLoc& loc) {
  const bool bounds = o.min || o.max;
  if (bounds && is_complex(dtype))
    Message("debug::check")
        .problem("bounds for values of " + to_string(dtype))
        .rule("complex numbers have no order")
        .at(path)
        .from(loc)
        .advice("check abs(x)")
        .raise<DTypeError>();
  if ((o.min && std::isnan(*o.min)) || (o.max && std::isnan(*o.max)) ||
      (o.min && o.max && *o.min > *o.max))
    Message("debug::check")
        .problem(fmt::format("bounds from {} to {}", o.min.value_or(-INFINITY),
                             o.max.value_or(INFINITY)))
        .rule("nothing lies between them")
        .from(loc)
        .advice("give the lesser one as min")
        .raise<Error>();
}

}  // namespace

void detail::check(const std::vector<Array>& leaves, const std::vector<std::string>& paths,
                   const debug::CheckOptions& options, const std::source_location& loc) {
  const InFunction called("debug::check", loc);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].is_empty()) continue;
    check_usable(*leaves[i].impl(), "debug::check", loc, paths[i]);
    // Bare numbers are stored as doubles; show them in the dtype that users see.
    const Array x = leaves[i].astype(leaves[i].dtype());
    check_options(options, x.dtype(), paths[i], loc);
    const Array bad = refused(x, options);
    if (bad.is_empty() || x.size() == 0) continue;
    const Array any_bad = any(bad);
    const std::string what = options.name.empty() ? "the value" : "'" + options.name + "'";
    const std::string rule = rule_of(x.dtype(), options);
    const SourceLoc line = loc;
    const std::string key = fmt::format("check {}:{}\n{}\n{}\n{}\n{}", line.file ? line.file : "",
                                        line.line, what, rule, paths[i], to_string(x.shape()));
    const auto hook = known_callback(
        key, [&] { return std::make_shared<DebugCheck>(what, rule, paths[i], x.shape(), line); });
    if (Trace* t = Trace::innermost()) {
      const Found found = cond(any_bad, found_in, found_nothing, stop_gradient(x), bad);
      report(*t, hook, any_bad, found, loc);
      continue;
    }
    if (!any_bad.item<bool>()) continue;
    const Found found = found_in(x, bad);
    std::int64_t numbers[2] = {found[0].item<std::int64_t>(), found[1].item<std::int64_t>()};
    const Reading read(found[2], "debug::check", loc);
    runtime::BufferPtr hold;
    const std::byte* first = runtime::dense_bytes(*read, hold);
    const HostArray values[] = {HostArray(DType::int64, {}, &numbers[0]),
                                HostArray(DType::int64, {}, &numbers[1]),
                                HostArray(x.dtype(), {}, const_cast<std::byte*>(first))};
    hook->call({}, values);
  }
}

}  // namespace tessera::inline v0
