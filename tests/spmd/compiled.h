// Programs run by the executor.
#pragma once

#include "runtime/devices.h"
#include "runtime/executable.h"
#include "spmd/spmd_check.h"

namespace tessera::testing {

inline std::vector<HostArray> run_compiled(const ProgramPtr& p,
                                           const std::vector<HostArray>& inputs) {
  std::vector<runtime::ArrayDataPtr> in;
  for (const HostArray& a : inputs)
    in.push_back(runtime::from_host(Type(a.dtype, a.shape), a.bytes));
  std::vector<HostArray> out;
  for (const runtime::ArrayDataPtr& r : runtime::compile(p)->run(in)) {
    HostArray a(r->type.dtype, r->type.shape);
    runtime::BufferPtr hold;
    const std::byte* bytes = runtime::dense_bytes(*r, hold);
    std::copy_n(bytes, a.size_bytes(), a.bytes);
    out.push_back(a);
  }
  return out;
}

}  // namespace tessera::testing
