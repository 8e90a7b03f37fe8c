// A shard_map over some axes of a mesh, written with the builder.
#pragma once

#include "../specs.h"
#include "ops/build.h"
#include "spmd/region/shard_map.h"

#include <functional>

namespace partitioning {

using namespace tessera;

/// Runs `f` per device along `manual`; the specs shard operands and results.
inline Values region(const MeshShape& mesh, const Strings& manual, const Strings& in,
                     const Strings& out, const Values& operands,
                     const std::function<Values(Builder&, const Values&)>& f) {
  const Specs cuts = specs(in);
  Builder b("body");
  Values blocks;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Type t = operands[i].type();
    t.shape = block_shape(t.shape, cuts[i], mesh);
    t.varying |= cuts[i].axes();
    blocks.push_back(b.input(t));
  }
  return spmd::emit_shard_map(
      *operands[0].builder,
      {b.finish(f(b, blocks)), first_devices(mesh), manual, cuts, specs(out), true}, operands);
}

}  // namespace partitioning
