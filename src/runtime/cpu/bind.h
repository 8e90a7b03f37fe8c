// Between the arrays of a call and the memory that its tape works on.
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

/// Whether arrays are cut as arguments are to be; layouts that are not the plan's own are compared
/// block by block, once each. Thread-safe.
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

/// What an argument became for one call: shards of an array, or one dense block and views of it.
struct Bound {
  ArrayDataPtr array;
  BufferPtr whole;
  std::size_t offset = 0;
};

/// Fills the table's pointers of arguments. Waits for an input only where it has to be copied.
std::vector<Bound> bind_inputs(const Variant& v, std::span<const ArrayDataPtr> inputs,
                               const Fits& fits, const Frame& frame);

/// Makes the results and fills their pointers: the memory of inputs that the call has for itself,
/// as `holds` says, or new memory. `queued`: the call runs behind others.
std::vector<ArrayDataPtr> make_results(const Variant& v, std::span<const ArrayDataPtr> inputs,
                                       Holds& holds, const std::vector<Bound>& bound,
                                       const Frame& frame, bool queued);

/// The results of a call in a process that has no device of those that it runs on: arrays of which
/// nothing is here; of a program without a mesh, whose inputs are on `place`, or of one with a mesh.
std::vector<ArrayDataPtr> results_elsewhere(const Variant& v, const LayoutPtr& place);
std::vector<ArrayDataPtr> results_elsewhere(const Variant& v);

}  // namespace tessera::inline v0::runtime
