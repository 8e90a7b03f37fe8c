#include "cells.h"

namespace pmap_basics {

Array device_specific(Array data) {
  Array device_ids = ts::arange(ts::device_count());
  return ts::pmap([](Array x, Array device_id) { return x * (device_id + 1); })(data, device_ids);
}

Array lead_device_differs(Array data) {
  // Both branches return a float32 scalar, because cond rejects branches of different types. The
  // document's branches agree because its data are floats; for integers the sum would be an integer
  // and the mean a float.
  auto conditional = [](Array x, Array is_lead_device) {
    return ts::cond(
        is_lead_device, [&] { return ts::sum(x, {.dtype = ts::f32}) * 2; },
        [&] { return ts::mean(x); });
  };
  Array lead_flags = ts::arange(ts::device_count()) == 0;
  return ts::pmap(conditional)(data, lead_flags);
}

Statistics local_and_global_statistics(Array data) {
  auto pmapped_efficient = ts::pmap(
      [](Array large_array) {
        Array local_mean = ts::mean(large_array, 0);
        // Only the means are exchanged, not the data.
        return Statistics{local_mean, ts::pmean(local_mean, "devices"), ts::std(large_array, 0)};
      },
      {.axis_name = "devices"});
  return pmapped_efficient(data);
}

}  // namespace pmap_basics
