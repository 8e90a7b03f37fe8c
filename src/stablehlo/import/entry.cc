// Imports a function of a module as the outermost program.
#include "stablehlo/import/device_rows.h"
#include "stablehlo/import/manual_parts.h"
#include "stablehlo/import/run_parallel.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

const FunctionSyntax& Importer::entry(const std::string& function) const {
  const auto it = functions_.find(function);
  if (it == functions_.end()) {
    std::string names;
    for (const FunctionSyntax& f : module.functions)
      if (!f.is_private) names += (names.empty() ? "@" : ", @") + f.name;
    fail(*module.source, module.at,
         {"there is no function @" + function,
          names.empty() ? "" : "the functions of this module are " + names,
          names.empty() ? "" : "name one of these in the options, {.function = ...}"});
  }
  const FunctionSyntax& f = *it->second;
  if (f.declared_only) fail(*module.source, f.at, {"@" + function + " has no body"});
  return f;
}

namespace {

bool communicates(std::string_view name) {
  constexpr std::string_view names[] = {
      "stablehlo.all_reduce",         "stablehlo.all_gather",
      "stablehlo.reduce_scatter",     "stablehlo.all_to_all",
      "stablehlo.collective_permute", "stablehlo.collective_broadcast",
      "stablehlo.collective_reduce",  "stablehlo.partition_id",
      "stablehlo.replica_id"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// With `tf.aliasing_output` a result takes the memory of the argument, with `jax.buffer_donor` any
// may.
bool is_donated(const ArgumentSyntax& argument) {
  if (stablehlo::find(argument.attributes, "tf.aliasing_output")) return true;
  const AttributeSyntax* donor = stablehlo::find(argument.attributes, "jax.buffer_donor");
  return donor && donor->integer_value != 0;
}

std::int64_t number_of(const ModuleSyntax& m, std::string_view name) {
  const AttributeSyntax* a = stablehlo::find(m.attributes, name);
  return a && a->kind == AttributeSyntax::integer ? a->integer_value : 1;
}

}  // namespace

Devices Importer::module_devices() const {
  constexpr std::int64_t kMost = 1 << 16;
  Devices d{number_of(module, "mhlo.num_replicas"), number_of(module, "mhlo.num_partitions"), {}};
  if (d.replicas < 1 || d.partitions < 1 || d.replicas > kMost || d.partitions > kMost) return {};
  return d;
}

std::optional<Devices> Importer::devices_of(const FunctionSyntax& f) const {
  const Devices d = module_devices();
  if (d.count() == 1) return std::nullopt;
  std::set<const FunctionSyntax*> seen{&f};
  std::vector<const RegionSyntax*> regions{&f.body};
  while (!regions.empty()) {
    const RegionSyntax& region = *regions.back();
    regions.pop_back();
    // Collectives are inside the per-device parts; the rest is written for whole arrays.
    if (has_manual_parts(region)) return std::nullopt;
    for (const OperationSyntax& op : region.operations) {
      if (communicates(op.name)) return d;
      if (op.name == "sdy.manual_computation" || op.name == "interpreter.run_parallel") continue;
      for (const RegionSyntax& inside : op.regions) regions.push_back(&inside);
      for (const NamedAttribute& a : op.attributes) {
        if (a.value.kind != AttributeSyntax::symbol) continue;
        const auto called = functions_.find(a.value.text);
        if (called != functions_.end() && seen.insert(called->second).second)
          regions.push_back(&called->second->body);
      }
    }
  }
  return std::nullopt;
}

// The names of the arguments in the exported function. With dynamic sizes, that is a function to
// which this one passes its arguments.
Strings Importer::labels_of(const FunctionSyntax& f) const {
  std::unordered_map<std::string_view, std::string_view> there;
  for (const OperationSyntax& op : f.body.operations) {
    const AttributeSyntax* callee = op.find("callee");
    const auto called = functions_.find(callee ? callee->text : "");
    if (called == functions_.end()) continue;
    const List<ArgumentSyntax>& theirs = called->second->arguments;
    for (std::size_t k = 0; k < std::min(op.operands.size(), theirs.size()); ++k)
      if (!theirs[k].label.empty()) there.emplace(op.operands[k].name, theirs[k].label);
  }
  Strings labels;
  for (const ArgumentSyntax& a : f.arguments) {
    const auto it = there.find(a.name);
    if (!a.label.empty())
      labels.emplace_back(a.label);
    else if (it != there.end())
      labels.emplace_back(it->second);
    else
      labels.push_back(module.source->is_binary ? "arg" + std::to_string(labels.size())
                                                : std::string(a.name));
  }
  return labels;
}

namespace {

std::string text_in(const Attributes& attributes, std::string_view key) {
  const AttributeSyntax* kind = stablehlo::find(attributes, key);
  return kind && kind->kind == AttributeSyntax::string ? std::string(kind->text) : std::string();
}

// The element type of each array in a type, in the order of leaf_types.
void add_elements(const TypeSyntax& t, Strings& elements) {
  if (t->kind == TypeData::tensor) elements.emplace_back(t->element);
  for (const TypeSyntax& member : t->members) add_elements(member, elements);
}

}  // namespace

// Adds the arrays of a declared argument or result, and the index of the first one.
void Importer::declare(const ArgumentSyntax& a, NamedType described, std::vector<NamedType>& arrays,
                       std::vector<std::int64_t>& first) const {
  const std::vector<Type> types = leaf_types(a.type);
  Strings elements;
  add_elements(a.type, elements);
  first.push_back(types.empty() ? -1 : static_cast<std::int64_t>(arrays.size()));
  described.memory_kind = text_in(a.attributes, "mhlo.memory_kind");
  described.layout = text_in(a.attributes, "mhlo.layout_mode");
  for (std::size_t k = 0; k < types.size(); ++k) {
    described.type = types[k];
    described.element = elements.at(k);
    described.sharding = declared_sharding(a.attributes, types[k].shape.rank());
    arrays.push_back(described);
  }
}

Signature Importer::signature(const std::string& function) const {
  const FunctionSyntax& f = entry(function);
  Signature s;
  const Strings labels = labels_of(f);
  for (std::size_t i = 0; i < f.arguments.size(); ++i) {
    const Attributes& attributes = f.arguments[i].attributes;
    NamedType argument{labels[i], {}, is_donated(f.arguments[i])};
    const AttributeSyntax* result = stablehlo::find(attributes, "tf.aliasing_output");
    if (result && result->kind == AttributeSyntax::integer) argument.result = result->integer_value;
    declare(f.arguments[i], std::move(argument), s.inputs, s.arguments);
  }
  for (const NamedType& t : s.inputs)
    s.open |= std::find(t.type.shape.begin(), t.type.shape.end(), kDynamic) != t.type.shape.end();
  for (std::size_t i = 0; i < f.results.size(); ++i) {
    const AttributeSyntax* info = stablehlo::find(f.results[i].attributes, "jax.result_info");
    const bool named = info && !info->text.empty();
    declare(f.results[i], {named ? std::string(info->text) : "result" + std::to_string(i), {}},
            s.outputs, s.results);
  }
  const Devices all = module_devices();
  s.replicas = all.replicas;
  s.partitions = all.partitions;
  s.meshes = meshes_over(all.count());
  if (const std::optional<Devices> d = devices_of(f)) {
    s.per_device = true;
    for (std::vector<NamedType>* list : {&s.inputs, &s.outputs})
      for (NamedType& t : *list) t.type.shape.insert(t.type.shape.begin(), d->count());
  }
  return s;
}

// Arguments and results have one row per device.
Imported Importer::import_on_devices(const FunctionSyntax& f, const Signature& s,
                                     const Devices& d) {
  if (s.open)
    fail(*module.source, f.at,
         {"@" + f.name + " runs on several devices and leaves dimensions open", "",
          "export it for fixed shapes"});
  Level level(f.name, nullptr);
  top_ = &level;
  const Scope scope(level, nullptr, module);
  const std::string name = "@" + f.name;
  OperationSyntax at;
  at.name = name;
  at.at = f.at;
  Reading r(*this, scope, at);
  Values rows;
  std::vector<Type> blocks;
  for (const NamedType& t : s.inputs) {
    rows.push_back(level.builder().input(t.type));
    blocks.emplace_back(t.type.dtype, Shape(t.type.shape.begin() + 1, t.type.shape.end()));
  }
  out_.inputs = s.inputs;
  const Values results = rules::on_devices(r, f.name, rows, blocks, d.replicas, d.partitions);
  for (std::size_t i = 0; i < results.size(); ++i)
    out_.outputs.push_back({s.outputs.at(i).name, results[i].type()});
  out_.program = level.builder().finish_pruned(results);
  return std::move(out_);
}

// The sharding of an argument that the program takes as an array of partial results.
std::optional<DeclaredSharding> Importer::taken_in_rows(const Attributes& attributes,
                                                        int rank) const {
  if (!options.has_rows) return std::nullopt;
  auto declared = declared_sharding(attributes, rank);
  const bool has_terms =
      declared && declared->mesh->size() == options.devices && declared->has_terms();
  return has_terms ? std::move(declared) : std::nullopt;
}

Imported Importer::import(const std::string& function) {
  const FunctionSyntax& f = entry(function);
  const Signature names = signature(function);
  if (const std::optional<Devices> d = devices_of(f)) return import_on_devices(f, names, *d);
  Level level(function, nullptr);
  top_ = &level;
  Scope scope(level, nullptr, module);
  calls_.push_back(&f);
  for (const ArgumentSyntax& a : f.arguments) {
    Bound bound{{}, &a.type};
    for (Type t : leaf_types(a.type)) {
      if (const std::size_t i = out_.inputs.size(); i < options.arguments.size())
        t.shape = options.arguments[i];
      else if (a.type->kind == TypeData::tensor)
        t = type(a.type);
      const AttributeSyntax* s = sharding_in(a.attributes);
      if (const auto declared = taken_in_rows(a.attributes, t.shape.rank())) {
        t = rows_of(t, *declared);
        const DeclaredSharding rows = rows_of(*declared);
        const Value terms = lying(level.builder().input(t), rows.mesh, rows.spec, rows.open);
        bound.leaves.push_back(reduced(
            {terms, declared->mesh, declared->unreduced, declared->combiner, declared->spec}));
      } else {
        bound.leaves.push_back(level.builder().input(t));
        if (s) bound.leaves.back() = constrained_whole(bound.leaves.back(), *s);
      }
      out_.inputs.push_back({names.inputs[out_.inputs.size()].name, t});
    }
    scope.define(a.name, a.at, bound);
  }
  const std::vector<Bound> results = block(scope, f.body);
  if (results.size() != f.results.size())
    fail(*module.source, f.at,
         {"@" + f.name + " returns " + std::to_string(results.size()) +
          " values, and is declared to return " + std::to_string(f.results.size())});
  Values outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<Type> got;
    const AttributeSyntax* sharding = sharding_in(f.results[i].attributes);
    for (const Value& v : results[i].leaves) {
      got.emplace_back(v.dtype(), v.shape());
      NamedType output{names.outputs.at(out_.outputs.size()).name, got.back()};
      if (const Terms* const own = returned_in_rows(v, f.results[i].attributes)) {
        output.own_values = {own->mesh, own->spec, {}, own->axes};
        outputs.push_back(lying(own->rows, own->mesh, rows_of(*output.own_values).spec, {}));
      } else {
        outputs.push_back(!sharding          ? v
                          : options.has_rows ? constrained(v, *sharding)
                                             : constrained_whole(v, *sharding));
      }
      out_.outputs.push_back(std::move(output));
    }
    if (const std::vector<Type> want = leaf_types(f.results[i].type); !fits(want, got))
      fail(*module.source, f.results[i].at,
           {"result " + std::to_string(i) + " is " + text_of(got) + ", and is declared as " +
            text_of(want)});
  }
  outputs.insert(outputs.end(), checked_.begin(), checked_.end());
  out_.program = level.builder().finish_pruned(outputs);
  return std::move(out_);
}

Signature signature_of(const ModuleSyntax& module, const std::string& function) {
  return Importer(module, {}).signature(function);
}

Imported import_function(const ModuleSyntax& module, const std::string& function,
                         const ImportOptions& options) {
  return Importer(module, options).import(function);
}

}  // namespace tessera::inline v0::stablehlo
