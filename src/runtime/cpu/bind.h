// Connects the arrays of a call with the memory on which its tape works.
#pragma once

#include "runtime/buffer.h"
#include "runtime/cpu/execute.h"
#include "runtime/cpu/variant.h"
#include "runtime/holds.h"

#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::inline v0::runtime {

/// Whether an array is sharded as an argument requires. Layouts other than the plan's own are
/// compared block by block, once each. Thread-safe.
class Fits {
 public:
  bool operator()(const ArrayData& a, const ArgumentPlan& plan) const;

 private:
  struct Fit {
    LayoutPtr layout;
    const ArgumentPlan* plan;
    bool fits;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Fit> known_;
};

/// The binding of an argument in one call: shards of an array, or one dense block and views of it.
struct Bound {
  ArrayDataPtr array;
  BufferPtr whole;
  std::size_t offset = 0;
};

/// Fills the argument pointers in the table. Waits for an input only if it must be copied.
std::vector<Bound> bind_inputs(const Variant& v, std::span<const ArrayDataPtr> inputs,
                               const Fits& fits, const Frame& frame);

/// Makes the results and fills in their pointers. They use the memory of inputs that the call holds
/// alone, according to `holds`, or new memory. `queued`: the call runs from the queue.
std::vector<ArrayDataPtr> make_results(const Variant& v, std::span<const ArrayDataPtr> inputs,
                                       Holds& holds, const std::vector<Bound>& bound,
                                       const Frame& frame, bool queued);

/// The results in a process that has none of the devices on which the call runs: arrays without
/// local shards. The first version is for a program without a mesh, whose inputs are on `place`;
/// the second for one with a mesh.
std::vector<ArrayDataPtr> results_elsewhere(const Variant& v, const LayoutPtr& place);
std::vector<ArrayDataPtr> results_elsewhere(const Variant& v);

}  // namespace tessera::inline v0::runtime
