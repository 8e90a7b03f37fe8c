// The work of a program according to its plan, for tests that compare it with the runtime's counts.
#pragma once

#include "explain/work.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "runtime/host/devices.h"

#include <tessera/profile.h>

#include <functional>
#include <string>

namespace partitioning {

using namespace tessera;

inline bool any_equation(const Program& p, const std::function<bool(const Equation&)>& f) {
  for (const Equation& eqn : p.equations)
    if (f(eqn) || any_nested(eqn.attrs, [&](const ProgramPtr& q) { return any_equation(*q, f); }))
      return true;
  return false;
}

/// Whether data decides how often a part of the program runs.
inline bool data_decides(const Program& p) {
  return any_equation(p, [](const Equation& e) {
    const std::optional<Flow> flow = flow_of(e);
    return flow && (flow->kind == Flow::Kind::loop || flow->kind == Flow::Kind::branch);
  });
}

/// Whether this process has a device of a mesh over the first devices.
inline bool is_here(const MeshShape& mesh) { return runtime::first_local_device() < mesh.size(); }

/// Describes a difference between the bytes that a device received and those of the plan, where
/// these do not depend on data; empty if there is none. A process without devices of the mesh
/// counts nothing.
inline std::string moved_otherwise(const ProgramPtr& partitioned, const MeasuredWork& work) {
  const explain::ProgramOnMesh divided = explain::program_on_mesh(partitioned, nullptr, {});
  if (data_decides(*divided.simplified)) return "";
  const auto planned = static_cast<double>(explain::work_of(divided, {}, false).moved);
  if (work.moved_bytes == (is_here(*divided.mesh) ? planned : 0)) return "";
  return "counted " + std::to_string(work.moved_bytes) + " bytes received, planned " +
         std::to_string(planned) + "\n" + to_string(*divided.simplified);
}

}  // namespace partitioning
