// CHLO's scan: along a dimension, a region takes an element of each operand and then the carry, and
// returns an element of each result and then the new carry.
#include "stablehlo/import/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

Value dimension_moved(Value x, int from, int to) {
  Ints order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != from) order.push_back(d);
  order.insert(order.begin() + to, from);
  return from == to ? x : ops::transpose(x, order);
}

}  // namespace

Values scan(Reading& r) {
  r.need_regions(1);
  const Ints sizes = r.ints("operandSegmentSizes");
  const auto all = static_cast<std::int64_t>(r.in.size());
  if (sizes.size() != 2 || sizes[0] < 0 || sizes[1] < 0 || sizes[0] + sizes[1] != all)
    r.refuse("its operands are not operands and start values");
  const auto inputs = static_cast<std::ptrdiff_t>(sizes[0]);
  const auto carries = static_cast<std::ptrdiff_t>(sizes[1]);
  const std::int64_t along = r.integer("dimension");
  Values rows, carry(r.in.begin() + inputs, r.in.end());
  std::vector<Type> arguments;
  std::int64_t length = r.integer_or("scan_dim_size", -1);
  for (std::ptrdiff_t i = 0; i < inputs; ++i) {
    const Value x = r.in[static_cast<std::size_t>(i)];
    r.check_dims({along}, x.rank(), "dimension");
    rows.push_back(dimension_moved(x, static_cast<int>(along), 0));
    const Shape& s = rows.back().shape();
    if (length < 0) length = s[0];
    if (s[0] != length)
      r.refuse(to_string(x.type()) + " has " + std::to_string(s[0]) + " elements to scan, and " +
               std::to_string(length) + " are scanned");
    arguments.emplace_back(x.dtype(), Shape(s.begin() + 1, s.end()));
  }
  if (length < 0) r.refuse("it has neither operands nor a scan_dim_size");
  for (const Value& x : carry) arguments.emplace_back(x.dtype(), x.shape());
  const RegionProgram region = r.importer.region(r, r.op.regions[0], arguments);
  const std::vector<Type> gives = region.program->output_types();
  const auto outputs = static_cast<std::ptrdiff_t>(gives.size()) - carries;
  bool fits = outputs >= 0 && region.program->inputs.size() - region.captured.size() ==
                                  static_cast<std::size_t>(all);
  for (std::ptrdiff_t i = 0; fits && i < carries; ++i) {
    const Type& t = gives[static_cast<std::size_t>(outputs + i)];
    fits = Type(t.dtype, t.shape) == arguments[static_cast<std::size_t>(inputs + i)];
  }
  if (!fits) r.refuse("its region does not take an element of each operand and carry on");
  // Our scan takes captures, carry and elements, and returns the carry first.
  Program body = *region.program;
  std::rotate(body.inputs.begin(), body.inputs.begin() + inputs, body.inputs.end());
  std::rotate(body.inputs.begin(), body.inputs.begin() + carries, body.inputs.end() - inputs);
  std::rotate(body.outputs.begin(), body.outputs.begin() + outputs, body.outputs.end());
  Values results = ops::scan(std::make_shared<const Program>(std::move(body)), region.captured,
                             carry, rows, length, r.flag_or("is_reverse", false), r.b);
  std::rotate(results.begin(), results.begin() + carries, results.end());
  for (std::ptrdiff_t i = 0; i < outputs; ++i) {
    Value& y = results[static_cast<std::size_t>(i)];
    r.check_dims({along}, y.rank(), "dimension");
    y = dimension_moved(y, 0, static_cast<int>(along));
  }
  return results;
}

}  // namespace tessera::inline v0::stablehlo::rules
