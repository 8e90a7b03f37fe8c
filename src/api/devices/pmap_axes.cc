#include "api/devices/pmap_axes.h"

#include "api/array/platform.h"
#include "api/trace/map_axes.h"

#include <algorithm>

namespace tessera::inline v0::detail {

namespace {

std::string device_count_of(std::int64_t n, const char* one, const char* many = nullptr) {
  if (n == 1) return "1 " + std::string(one);
  return std::to_string(n) + " " + (many ? many : one + std::string("s"));
}

struct MappedLeaf {
  std::string text;  // "args[1]: f32[8,3], axis 0"
  std::int64_t size;
};

/// The most frequent size of the mapped leaves; the first one on a tie.
std::int64_t usual_size(const std::vector<MappedLeaf>& leaves) {
  std::int64_t best = leaves[0].size;
  auto count = [&](std::int64_t n) {
    return std::count_if(leaves.begin(), leaves.end(),
                         [n](const MappedLeaf& l) { return l.size == n; });
  };
  for (const MappedLeaf& l : leaves)
    if (count(l.size) > count(best)) best = l.size;
  return best;
}

// The default platform if no devices are given.
runtime::Backend& platform_of(const std::vector<Device>& devices, const std::string& function,
                              const SourceLoc& loc) {
  if (devices.empty()) return runtime::default_backend();
  for (const Device& d : devices)
    if (d.platform != devices[0].platform)
      Message(function)
          .problem("the list has devices of '" + std::string(devices[0].platform) + "' and of '" +
                   std::string(d.platform) + "'")
          .rule("the devices of one call are of one platform")
          .from(loc)
          .advice("take them from devices()")
          .raise<DeviceError>();
  return need_backend(function.c_str(), devices[0].platform, loc);
}

}  // namespace

PmapInputs pmap_inputs(const Call& call, const PmapOptions& options, const std::string& function,
                       const SourceLoc& loc, const std::optional<PmapsAround>& around) {
  const TreeDef def = call.describe_args();
  const std::vector<int> axes = argument_axes(function.c_str(), call, options.in_axes, loc);
  const std::vector<std::string> paths = def.paths("args");
  const std::vector<Type> types = leaf_types(call);
  const std::vector<std::size_t> present = present_leaves(call);

  PmapInputs in;
  std::vector<MappedLeaf> mapped;
  Message wrong_axes(function);
  bool any_wrong = false;
  for (std::size_t i = 0; i < present.size(); ++i) {
    Type block = types[i];
    const std::string& path = paths[present[i]];
    int axis = axes[present[i]];
    if (axis != kReplicated) {
      const int rank = block.shape.rank();
      if (axis < -rank || axis >= rank) {
        wrong_axes.offender(path + ": " + visible_text(block) + " has no axis " +
                            std::to_string(axis));
        any_wrong = true;
        axis = kReplicated;
      } else {
        if (axis < 0) axis += rank;
        mapped.push_back(
            {path + ": " + to_string(block) + ", axis " + std::to_string(axis), block.shape[axis]});
        block.shape.erase(block.shape.begin() + axis);
      }
    }
    in.axes.push_back(axis);
    in.paths.push_back(path);
    in.blocks.push_back(std::move(block));
  }
  if (any_wrong)
    wrong_axes.problem("in_axes maps axes that the arguments do not have")
        .rule("a mapped argument has the axis that is cut over the devices")
        .from(loc)
        .advice(
            "mark what all devices share as replicated: .in_axes = {0, ts::replicated}; a state "
            "gets a row a device from ts::replicate(x, devices)")
        .raise<ShapeError>();

  in.backend = around ? around->platform : &platform_of(options.devices, function, loc);
  const int there = in.backend->device_count();
  const bool virtual_ones = in.backend == &runtime::host_backend();
  std::vector<int> ids;
  if (options.devices.empty())
    for (int d = 0; d < there; ++d) ids.push_back(d);
  else
    for (const Device& d : options.devices) ids.push_back(d.id);
  if (around && !options.devices.empty())
    Message(function)
        .problem("devices are listed for a pmap inside a pmap")
        .rule("the devices of a pmap inside are those that the one around it leaves")
        .from(loc)
        .advice("leave the list out")
        .raise<DeviceError>();
  const std::int64_t available = std::ssize(ids) / (around ? around->devices : 1);

  if (options.axis_size < 0)
    Message(function)
        .problem("axis_size is " + std::to_string(options.axis_size))
        .rule("it is the number of devices; 0 takes it from the mapped arguments, or all devices")
        .from(loc)
        .advice("leave it out where an argument is mapped")
        .raise<ShapeError>();
  in.size = options.axis_size > 0 ? options.axis_size
            : mapped.empty()      ? available
                                  : usual_size(mapped);
  Message disagree(function);
  bool any = false;
  for (const MappedLeaf& l : mapped)
    if (l.size != in.size) {
      disagree.offender(l.text + " has " + device_count_of(l.size, "element"));
      any = true;
    }
  const std::int64_t devices = std::min(in.size, available);
  if (any) {
    if (options.axis_size <= 0)
      for (const MappedLeaf& l : mapped)
        if (l.size == in.size) {
          disagree.offender(l.text + " has " + device_count_of(l.size, "element") + ", as most");
          break;
        }
    disagree
        .problem(options.axis_size > 0
                     ? "mapped axes do not have the axis_size of " + std::to_string(in.size)
                     : "the mapped axes of the arguments differ in size")
        .rule("each device gets one entry of every mapped axis, so all have one size" +
              (in.size > available ? "; it is at most " + device_count_of(available, "device")
                                   : std::string()))
        .from(loc)
        .advice("cut a batch with ts::data::shard_batch(x, " + std::to_string(devices) +
                "), give a state a row a device with ts::replicate(x, " + std::to_string(devices) +
                "), or mark what all devices share ts::replicated in "
                "in_axes")
        .raise<ShapeError>();
  }
  if (in.size == 0) {
    Message m(function);
    m.problem("there is nothing to map: the mapped axis is empty");
    for (const MappedLeaf& l : mapped) m.offender(l.text);
    m.rule("each device gets one entry of the mapped axis, and at least one device takes part")
        .from(loc)
        .advice("pass at least one entry, or leave the call out when there are none")
        .raise<ShapeError>();
  }
  if (in.size > available && around) {
    const std::int64_t all = in.size * around->devices;
    Message(function)
        .problem("a pmap of " + device_count_of(in.size, "entry", "entries") +
                 " inside pmaps over " + device_count_of(around->devices, "device"))
        .rule("each device around runs the pmap inside on devices of its own: " +
              std::to_string(around->devices) + " * " + std::to_string(in.size) + " = " +
              std::to_string(all) + " > " + std::to_string(there))
        .from(loc)
        .advice("use vmap inside" + (virtual_ones
                                         ? ", or call set_device_count(" + std::to_string(all) + ")"
                                         : std::string()))
        .raise<DeviceError>();
  }
  if (in.size > available) {
    Message m(function);
    m.problem(std::to_string(in.size) + (in.size == 1 ? " entry is" : " entries are") +
              " to be mapped over " + device_count_of(available, "device"));
    for (const MappedLeaf& l : mapped) m.offender(l.text);
    m.rule("each device runs one entry of the mapped axis: " + std::to_string(in.size) + " > " +
           std::to_string(available))
        .from(loc)
        .advice((in.size % available == 0
                     ? "cut the rows over the devices, " + std::to_string(in.size / available) +
                           " each: ts::data::shard_batch(x, " + std::to_string(available) + ")"
                     : "pass a multiple of " + std::to_string(available) +
                           " rows through ts::data::shard_batch(x, " + std::to_string(available) +
                           ")") +
                (!options.devices.empty() ? std::string("; or list more devices")
                 : virtual_ones ? "; or call set_device_count(" + std::to_string(in.size) + ")"
                                : std::string()))
        .raise<DeviceError>();
  }
  ids.resize(static_cast<std::size_t>(in.size));
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= there || std::count(ids.begin(), ids.end(), ids[i]) > 1)
      Message(function)
          .problem("device " + std::to_string(ids[i]) + " of the list " +
                   (ids[i] < 0 || ids[i] >= there ? "does not exist" : "appears twice"))
          .rule("there are " + device_count_of(there, "device") + ", each used once")
          .from(loc)
          .advice("take them from devices()")
          .raise<DeviceError>();
  in.devices = std::move(ids);
  return in;
}

std::vector<int> pmap_out_axes(const TreeDef& result, const std::vector<bool>& present,
                               const std::vector<int>& ranks, const PmapOptions& options,
                               const std::string& function, const SourceLoc& loc) {
  const std::vector<int> all =
      broadcast_axes(function.c_str(), without_braces(options.out_axes, result), "out_axes", result,
                     "result", loc);
  const std::vector<std::string> paths = result.paths("result");
  std::vector<int> axes;
  Message m(function);
  bool any_wrong = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!present[i]) continue;
    int axis = all[i], rank = ranks[axes.size()] + 1;
    if (axis != kReplicated) {
      if (axis < -rank || axis >= rank) {
        m.offender(paths[i] + " is stacked along axis " + std::to_string(axis) + ", and has " +
                   device_count_of(rank, "dimension") + " then");
        any_wrong = true;
      } else if (axis < 0) {
        axis += rank;
      }
    }
    axes.push_back(axis);
  }
  if (any_wrong)
    m.problem("out_axes stacks results along axes that they do not have")
        .rule("stacking adds one dimension; an axis is one of those, or counts from the end")
        .from(loc)
        .advice("0 puts the devices first, -1 last")
        .raise<ShapeError>();
  return axes;
}

Spec axis_spec(int axis, const std::string& name) {
  return axis == kReplicated ? Spec() : Spec::cut(axis, name);
}

}  // namespace tessera::inline v0::detail
