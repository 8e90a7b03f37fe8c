#include "stablehlo/import/device_rows.h"

#include "ops/build.h"
#include "stablehlo/import/importer.h"

namespace tessera::inline v0::stablehlo {

Spec spec_of_rows(Strings unreduced, const Spec& spec) {
  Spec::Dims dims = spec.dims();
  dims.insert(dims.begin(), Spec::Axes(unreduced.begin(), unreduced.end()));
  return Spec(std::move(dims));
}

static Value reduced_rows(Value rows, Combiner combiner) {
  switch (combiner) {
    case Combiner::max: return ops::reduce_max(rows, {0});
    case Combiner::min: return ops::reduce_min(rows, {0});
    default: return ops::reduce_sum(rows, {0});
  }
}

Value Importer::reduced(Terms terms) {
  const Value x = reduced_rows(terms.rows, terms.combiner);
  terms_.emplace(std::pair(x.builder, x.var), std::move(terms));
  return x;
}

Value Importer::first_of(Terms values) {
  const Value& rows = values.rows;
  Ints limit = rows.shape().to_vector();
  limit[0] = 1;
  const Value row = ops::slice(rows, Ints(limit.size(), 0), limit, Ints(limit.size(), 1));
  const Value x = ops::reshape(row, Shape(limit.begin() + 1, limit.end()));
  own_values_.emplace(std::pair(x.builder, x.var), std::move(values));
  return x;
}

// The per-device values of a result; null if they are not sharded as the module declares the
// result.
const Importer::Terms* Importer::returned_in_rows(Value x, const Attributes& attributes) const {
  const auto found = own_values_.find({x.builder, x.var});
  if (found == own_values_.end()) return nullptr;
  const Terms& values = found->second;
  if (!sharding_in(attributes)) return &values;
  const auto declared = declared_sharding(attributes, x.rank());
  const bool fits = declared && declared->mesh == values.mesh && declared->spec == values.spec &&
                    declared->unreduced.empty();
  return fits ? &values : nullptr;
}

const Importer::Terms* Importer::terms_of(Value x) const {
  const auto found = terms_.find({x.builder, x.var});
  return found == terms_.end() ? nullptr : &found->second;
}

DeclaredSharding rows_of(DeclaredSharding sharding) {
  sharding.spec = spec_of_rows(std::move(sharding.unreduced), sharding.spec);
  sharding.unreduced = {};
  for (std::int64_t& d : sharding.open) ++d;
  return sharding;
}

Type rows_of(const Type& type, const DeclaredSharding& sharding) {
  Shape shape = type.shape;
  shape.insert(shape.begin(), sharding.mesh->size_of(sharding.unreduced));
  return Type(type.dtype, std::move(shape), type.weak);
}

}  // namespace tessera::inline v0::stablehlo
