#include "api/control/reports.h"

#include "api/array/array_impl.h"
#include "api/trace/map_axes.h"
#include "base/process.h"
#include "ops/build.h"

#include <tessera/collectives.h>

#include <set>
#include <unordered_map>

namespace tessera::inline v0::detail {

std::int64_t StepCounter::next(const Callback::Position& position) const {
  constexpr std::size_t kMost = 65536;
  const std::lock_guard lock(lock_);
  if (const auto it = steps_.find(position); it != steps_.end()) return it->second++;
  if (steps_.size() < kMost) steps_.emplace(position, 1);
  return 0;
}

std::string text_of(const HostArray& values) {
  return to_string(make_concrete(runtime::on_host(Type(values.dtype, values.shape), values.bytes)));
}

std::shared_ptr<const Callback> known_callback(
    const std::string& key, const std::function<std::shared_ptr<const Callback>()>& make) {
  struct Known {
    std::mutex lock;
    std::unordered_map<std::string, std::weak_ptr<const Callback>> callbacks;
    std::size_t enough = 256;  // number of callbacks at which dead ones are removed
  };
  static Known* known = new Known;
  const Locked lock(known->lock);
  if (const auto it = known->callbacks.find(key); it != known->callbacks.end())
    if (auto callback = it->second.lock()) return callback;
  if (known->callbacks.size() >= known->enough) {
    std::erase_if(known->callbacks, [](const auto& e) { return e.second.expired(); });
    known->enough = 2 * known->callbacks.size() + 256;
  }
  auto made = make();
  known->callbacks[key] = made;
  return made;
}

void report(Trace& trace, const HookPtr& callback, const Array& holds,
            std::span<const Array> values, const SourceLoc& loc) {
  const AtLocation at(trace.builder(), loc);
  Strings names;
  Values positions, in;
  std::set<std::string> hidden;  // the innermost axis of a name hides the others
  const std::vector<BoundAxis>& bound = AxisScope::bound();
  for (std::size_t i = bound.size(); i-- > 0;) {
    const std::string name(spoken_name(bound[i].name));
    if (!hidden.insert(name).second || bound[i].kind == BoundAxis::Kind::automatic) continue;
    names.insert(names.begin(), name);
    positions.insert(positions.begin(), trace.lift(axis_index(name), "debug::print"));
  }
  for (const Array& a : values) {
    const Value v = trace.lift(a, "debug::print");
    in.push_back(ops::convert(v, visible_dtype(v.type())));
  }
  ops::debug_callback(trace.lift(holds, "debug::print"), callback, names, positions, in);
}

}  // namespace tessera::inline v0::detail
