#include "cells.h"

namespace single_host_sharding {

namespace {
constexpr const char* kAxis = "aurora_data_parallel_mesh";
}

Combined combine(Array prepared, Array weights) {
  auto pmapped_collectives = ts::pmap(
      [](Array data_shard, Array weights) {
        Array local = ts::dot(data_shard, weights);
        return Combined{ts::psum(local, kAxis), ts::pmean(local(0, 0), kAxis),
                        ts::all_gather(local[0], kAxis),
                        ts::all_gather(local, kAxis, {.tiled = true})};
      },
      {.axis_name = kAxis, .in_axes = {0, replicated}});
  return pmapped_collectives(prepared, weights);
}

}  // namespace single_host_sharding
