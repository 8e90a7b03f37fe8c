// Imports custom calls that JAX exports for GPUs and TPUs as our own ops.
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <iterator>

namespace tessera::inline v0::stablehlo::rules {

namespace {

std::int64_t configured(const Reading& r, const char* key) {
  const AttributeSyntax* config = r.find("mhlo.backend_config");
  const Ints value = config ? r.field(*config, key) : Ints{};
  if (value.size() != 1) r.refuse("its configuration does not say " + std::string(key));
  return value[0];
}

}  // namespace

// Takes arrays and then an initial value for each, ordered by a function of two elements of each.
// Computes the exact result, which satisfies any recall. If there are more than `top_k` results,
// the top ones come first.
Values approx_top_k(Reading& r) {
  const AttributeSyntax* called = r.find("called_computations");
  if (r.in.size() != r.operands.size() || r.in.size() < 2 || r.in.size() % 2 || !called ||
      called->items.size() != 1)
    r.refuse("it takes arrays, as many start values, and a computation");
  OperationSyntax ordered = r.op;
  ordered.name = "stablehlo.sort";
  ordered.attributes = {};
  ordered.operands = ordered.operands.first(r.in.size() / 2);
  AttributeSyntax dimension;
  dimension.kind = AttributeSyntax::integer;
  dimension.at = r.op.at;
  dimension.integer_value = configured(r, "reduction_dim");
  Memory memory;
  ordered.attributes.add(memory, {"dimension", dimension});
  const FunctionSyntax& f = r.importer.need_function(r, std::string(called->items[0].text));
  RegionSyntax body = f.body;
  body.arguments = f.arguments;
  ordered.regions = List<RegionSyntax>::copy(memory, &body, 1);
  Reading all(r.importer, r.scope, ordered);
  Values out = sort(all);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Shape want = r.result(i).shape;
    bool inside = want.size() == out[i].shape().size();
    for (int d = 0; inside && d < want.rank(); ++d) inside = want[d] <= out[i].shape()[d];
    if (!inside) r.refuse("it gives more than there is");
    out[i] = ops::slice(out[i], Ints(want.size(), 0), Ints(want.begin(), want.end()),
                        Ints(want.size(), 1));
  }
  return out;
}

// As above, with `top_k` as the last operand, whose value the arguments' shapes determine.
Values dynamic_approx_top_k(Reading& r) {
  if (r.in.size() != r.operands.size() || r.in.empty()) r.refuse("it has no operand");
  const Ints k = r.settled(r.in.size() - 1);
  if (k.size() != 1 || k[0] < 0) r.refuse("its last operand is no number of elements");
  r.in.pop_back();
  r.operands.pop_back();
  const std::int64_t along = configured(r, "reduction_dim");
  for (std::size_t i = r.settled_results.size(); i < r.op.result_types.size(); ++i) {
    Type t = r.importer.declared(r.op.result_types[i]);
    if (i < r.in.size() && t.shape.rank() == r.in[i].rank())
      for (int d = 0; d < t.shape.rank(); ++d)
        if (t.shape[d] < 0) t.shape[d] = d == along ? k[0] : r.in[i].shape()[d];
    r.settled_results.push_back(std::move(t));
  }
  return approx_top_k(r);
}

// JAX 0.4 writes CHLO's operations into artifacts as calls with these names.
Values mhlo_operation(Reading& r) {
  struct Row {
    std::string_view target, name;
  };
  static constexpr Row kRows[] = {
      {"mhlo.topk", "chlo.top_k"}, {"mhlo.erf", "chlo.erf"}, {"mhlo.tan", "chlo.tan"}};
  const std::string target = r.word_or("call_target_name", "");
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& k) { return k.target == target; });
  if (row == std::end(kRows)) r.refuse("there is no operation " + shown(target));
  OperationSyntax op = r.op;
  op.name = row->name;
  op.attributes = {};
  if (const AttributeSyntax* attributes = r.find("mhlo.attributes"))
    op.attributes = attributes->entries;
  Reading as_written(r.importer, r.scope, op);
  if (!as_written.flag_or("largest", true)) r.refuse("it gives the least elements");
  return import_of(op.name)->rule(as_written);
}

Values threefry(Reading& r) {
  r.need_operands(4);
  return ops::threefry2x32(r.in[0], r.in[1], r.in[2], r.in[3]);
}

Values pivots_to_permutation(Reading& r) {
  r.need_operands(1);
  const Shape want = r.result().shape;
  if (r.in[0].dtype() != DType::int32 || r.in[0].rank() == 0 || want.rank() != r.in[0].rank() ||
      want.back() < r.in[0].shape().back())
    r.refuse("it takes int32 exchanges of rows, no more than there are rows");
  return {ops::permutation_of(r.in[0], want.back())};
}

// Uninitialised memory.
Values empty(Reading& r) { return {ops::zeros(r.b, r.result())}; }

}  // namespace tessera::inline v0::stablehlo::rules
