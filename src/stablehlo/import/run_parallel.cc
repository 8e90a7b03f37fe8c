// Programs for each of several devices, whose arrays are stacked in rows: `run_parallel`, and
// modules with several replicas or partitions. They become maps over a mesh of both.
#include "stablehlo/import/run_parallel.h"

#include "stablehlo/import/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

Strings axes() { return {"replica", "partition"}; }

// The function for one device, as a separate program; arguments and results have a leading
// dimension of 1.
RegionProgram per_device(Reading& r, const std::string& function,
                         const std::vector<Type>& arguments) {
  Level level(function, &r.scope.level());
  const Scope scope(level, nullptr, r.importer.module);
  OperationSyntax at;
  at.name = r.op.name;
  at.at = r.op.at;
  const Reading inside(r.importer, scope, at);
  std::vector<Bound> bound;
  for (const Type& t : arguments) {
    Shape block = t.shape;
    block.insert(block.begin(), 1);
    bound.push_back(
        {{ops::reshape(level.builder().input(Type(t.dtype, block)), t.shape)}, nullptr});
  }
  Values out;
  for (const Bound& b : r.importer.call(inside, function, bound))
    for (const Value& v : b.leaves) {
      Shape block = v.shape();
      block.insert(block.begin(), 1);
      out.push_back(ops::reshape(v, block));
    }
  return {level.builder().finish(out), level.captured()};
}

}  // namespace

Values on_devices(Reading& r, const std::string& function, Values rows,
                  const std::vector<Type>& arguments, std::int64_t replicas,
                  std::int64_t partitions) {
  const DeviceMesh mesh{{axes(), {replicas, partitions}}, {}};
  r.importer.devices = Devices{replicas, partitions, mesh, axes(), false};
  const RegionProgram body = per_device(r, function, arguments);
  r.importer.devices.reset();
  const Spec cut(Spec::Dims{axes()});
  Specs in(rows.size(), cut), out(body.program->outputs.size(), cut);
  in.resize(rows.size() + body.captured.size());
  rows.insert(rows.end(), body.captured.begin(), body.captured.end());
  return ops::shard_map(r.b, body.program, rows, MeshRef(mesh), in, out, false);
}

Values run_parallel(Reading& r) {
  if (r.importer.devices) r.refuse("it stands inside another");
  const AttributeSyntax& programs = r.need("programs");
  Strings names;
  for (const AttributeSyntax& row : programs.items)
    for (const AttributeSyntax& name : row.items) names.emplace_back(name.text);
  const auto n = names.size();
  const auto replicas = static_cast<std::int64_t>(programs.items.size());
  if (n == 0 || n % programs.items.size())
    r.refuse("its programs are no table of replicas and partitions");
  if (std::count(names.begin(), names.end(), names[0]) != static_cast<std::ptrdiff_t>(n))
    r.refuse("different programs on different devices are not supported");
  if (r.in.size() % n || r.find("infeed")) r.refuse("its operands are not as many for each device");
  const std::size_t each = r.in.size() / n;
  std::vector<Type> arguments;
  Values stacked;
  for (std::size_t k = 0; k < each; ++k) {
    Values blocks;
    for (std::size_t d = 0; d < n; ++d) {
      const Value x = r.in[d * each + k];
      Shape block = x.shape();
      block.insert(block.begin(), 1);
      blocks.push_back(ops::reshape(x, block));
    }
    arguments.emplace_back(r.in[k].dtype(), r.in[k].shape());
    stacked.push_back(ops::concatenate(blocks, 0));
  }
  const Values whole = on_devices(r, names[0], stacked, arguments, replicas,
                                  static_cast<std::int64_t>(n) / replicas);
  Values results;
  for (std::size_t d = 0; d < n; ++d)
    for (const Value& x : whole) {
      const auto i = static_cast<std::int64_t>(d);
      Ints start(static_cast<std::size_t>(x.rank()), 0), limit = x.shape().to_vector(),
                                                         strides(start.size(), 1);
      start[0] = i;
      limit[0] = i + 1;
      results.push_back(ops::reshape(ops::slice(x, start, limit, strides),
                                     Shape(x.shape().begin() + 1, x.shape().end())));
    }
  return results;
}

}  // namespace tessera::inline v0::stablehlo::rules
