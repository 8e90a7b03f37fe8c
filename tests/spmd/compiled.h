// Runs programs in the executor of the default platform.
#pragma once

#include "runtime/backend.h"
#include "runtime/executable.h"
#include "runtime/host/devices.h"
#include "spmd/spmd_check.h"

#include <tessera/profile.h>

#include <algorithm>
#include <optional>

namespace tessera::testing {

/// `work`, if given, receives the work of the program, without the gathering of its results, which
/// several processes need.
inline std::vector<HostArray> run_compiled(const ProgramPtr& p,
                                           const std::vector<HostArray>& inputs,
                                           MeasuredWork* work = nullptr) {
  std::vector<runtime::ArrayDataPtr> in, results;
  for (const HostArray& a : inputs)
    in.push_back(runtime::from_host(Type(a.dtype, a.shape), a.bytes));
  const std::shared_ptr<const runtime::Executable> compiled =
      runtime::compile(p, {}, runtime::default_backend());
  {
    std::optional<WorkCounter> counter;
    if (work) counter.emplace();
    results = compiled->run(in);
    if (work) *work = counter->total();
  }
  std::vector<HostArray> out;
  for (const runtime::ArrayDataPtr& r : results) {
    HostArray a(r->type.dtype, r->type.shape);
    runtime::BufferPtr hold;
    const std::byte* bytes = runtime::dense_bytes(*r, hold);
    std::copy_n(bytes, a.size_bytes(), a.bytes);
    out.push_back(a);
  }
  return out;
}

}  // namespace tessera::testing
