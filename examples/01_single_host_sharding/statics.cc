#include "cells.h"

#include <iostream>

namespace single_host_sharding {

Array static_op(Array x_shard, int static_value, Array replicated_offset) {
  std::cout << "static_op TRACED with static_value = " << static_value << "\n";
  if (static_value > 5) return x_shard * 100 + replicated_offset;
  return x_shard * static_value + replicated_offset;
}

Array sum_of_features(Array x_shard, ts::StaticArray features) {
  Array sum = ts::zeros({x_shard.shape(0)});
  for (std::int32_t i : features.array().host<std::int32_t>()) sum = sum + x_shard(ts::all, i);
  return sum;
}

std::string warning_of_large_static(std::int64_t n) {
  std::string said = "nothing";
  ts::WarningHandler before =
      ts::set_warning_handler([&](const std::string& text) { said = text; });
  auto look_up = ts::pmap(
      [](Array positions, ts::StaticArray table) { return ts::take(table.array(), positions); },
      {.in_axes = {0, replicated}, .name = "look_up"});
  look_up(ts::arange(ts::device_count()), ts::zeros({n})).block_until_ready();
  ts::set_warning_handler(before);
  return said;
}

}  // namespace single_host_sharding
