#include "pjrt/options.h"

#include "pjrt/error.h"
#include "platforms/proto.h"
#include "runtime/host/devices.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

namespace tessera::inline v0::pjrt {

using platforms::ProtoReader;
using platforms::ProtoWriter;

namespace {

// A value of the message OptionOverrideProto.
struct Override {
  enum Kind { none, text, boolean, integer, real } kind = none;
  std::string_view string = {};
};

Override read_override(std::string_view bytes) {
  Override value;
  for (ProtoReader r(bytes); r.next();) {
    switch (r.field()) {
      case 1: value = {Override::text, r.bytes()}; break;
      case 2: value = {Override::boolean}; break;
      case 3: value = {Override::integer}; break;
      case 4: value = {Override::real}; break;
      default: break;
    }
  }
  return value;
}

// XLA's options that existing programs set, with their types. They control XLA's own compiler and
// have no effect here.
struct Known {
  std::string_view name;
  Override::Kind kind;
};
constexpr std::array kKnown = {
    Known{"xla_embed_ir_in_executable", Override::boolean},
    Known{"xla_allow_excess_precision", Override::boolean},
    Known{"xla_dump_disable_metadata", Override::boolean},
    Known{"xla_dump_hlo_as_text", Override::boolean},
    Known{"xla_cpu_enable_fast_math", Override::boolean},
    Known{"xla_cpu_enable_fast_min_max", Override::boolean},
    Known{"xla_cpu_use_thunk_runtime", Override::boolean},
    Known{"xla_cpu_enable_concurrency_optimized_scheduler", Override::boolean},
    Known{"xla_disable_hlo_passes", Override::text},
    Known{"xla_dump_to", Override::text},
    Known{"xla_dump_max_hlo_modules", Override::integer},
    Known{"xla_backend_optimization_level", Override::integer},
    Known{"exec_time_optimization_effort", Override::real},
    Known{"memory_fitting_effort", Override::real},
    Known{"optimization_level", Override::integer},
    Known{"memory_fitting_level", Override::integer},
};

bool is_integer_text(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void check_override(std::string_view name, const Override& value) {
  const auto known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.name == name; });
  if (known == kKnown.end()) {
    // XLA has hundreds of other options, so their names and types are not checked.
    if (name.starts_with("xla_")) return;
    refuse("No such compile option: '" + std::string(name) +
           "'. Options are named as XLA's, which all begin with 'xla_'; they do not change how "
           "Tessera compiles.");
  }
  const auto wrong = [&](const char* what) {
    refuse("While setting option " + std::string(name) + ", '" + std::string(value.string) +
           "' is not a valid " + what + " value.");
  };
  if (value.kind != Override::text) {
    if (known->kind == Override::text)
      refuse("While setting option " + std::string(name) + ": it takes a text.");
    return;
  }
  std::string lower(value.string);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (known->kind == Override::boolean && lower != "true" && lower != "false") wrong("bool");
  if (known->kind == Override::integer && !is_integer_text(value.string)) wrong("int");
}

void read_assignment(std::string_view bytes, CompileSettings& settings) {
  std::int64_t replicas = 1, computations = 1;
  std::vector<std::vector<std::int64_t>> columns;
  for (ProtoReader r(bytes); r.next();) {
    if (r.field() == 1) replicas = r.number();
    if (r.field() == 2) computations = r.number();
    if (r.field() != 3) continue;
    columns.emplace_back();
    for (ProtoReader c(r.bytes()); c.next();)
      if (c.field() == 1) c.append_to(columns.back());
  }
  settings.devices.clear();
  const bool complete = replicas >= 1 && computations >= 1 &&
                        static_cast<std::int64_t>(columns.size()) == computations &&
                        std::all_of(columns.begin(), columns.end(), [&](const auto& column) {
                          return static_cast<std::int64_t>(column.size()) == replicas;
                        });
  if (!complete)
    refuse("the device assignment does not name a device for each of " + std::to_string(replicas) +
           " replicas and " + std::to_string(computations) + " partitions");
  for (std::int64_t r = 0; r < replicas; ++r)
    for (const auto& column : columns)
      settings.devices.push_back(column[static_cast<std::size_t>(r)]);
  std::vector<std::int64_t> sorted = settings.devices;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    refuse("the device assignment names device " + std::to_string(*twice) + " twice");
}

void read_build_options(std::string_view bytes, CompileSettings& settings) {
  std::int64_t ordinal = -1;
  for (ProtoReader r(bytes); r.next();) {
    switch (r.field()) {
      case 1: ordinal = r.number(); break;
      case 4: settings.replicas = r.number(); break;
      case 5: settings.partitions = r.number(); break;
      case 9: read_assignment(r.bytes(), settings); break;
      default: break;
    }
  }
  if (settings.devices.empty() && ordinal >= 0) settings.devices.push_back(ordinal);
}

}  // namespace

CompileSettings read_compile_options(std::string_view bytes) {
  CompileSettings settings;
  for (ProtoReader r(bytes); r.next();) {
    switch (r.field()) {
      case 3: read_build_options(r.bytes(), settings); break;
      case 4: settings.portable = r.number() != 0; break;
      case 7: {
        std::string_view name;
        Override value;
        for (ProtoReader entry(r.bytes()); entry.next();) {
          if (entry.field() == 1) name = entry.bytes();
          if (entry.field() == 2) value = read_override(entry.bytes());
        }
        check_override(name, value);
        break;
      }
      default: break;
    }
  }
  settings.replicas = std::max<std::int64_t>(settings.replicas, 1);
  settings.partitions = std::max<std::int64_t>(settings.partitions, 1);
  if (std::max(settings.replicas, settings.partitions) > runtime::kMaxDevices ||
      settings.replicas * settings.partitions > runtime::kMaxDevices)
    refuse(std::to_string(settings.replicas) + " replicas of " +
           std::to_string(settings.partitions) + " partitions are more than " +
           std::to_string(runtime::kMaxDevices) + " devices");
  const auto n = static_cast<std::size_t>(settings.replicas * settings.partitions);
  if (!settings.devices.empty() && settings.devices.size() != n)
    refuse("the device assignment names " + std::to_string(settings.devices.size()) +
           " devices, and " + std::to_string(settings.replicas) + " replicas of " +
           std::to_string(settings.partitions) + " partitions need " + std::to_string(n));
  return settings;
}

std::string device_assignment(const CompileSettings& settings) {
  ProtoWriter out;
  out.number(1, settings.replicas);
  out.number(2, settings.partitions);
  for (std::int64_t p = 0; p < settings.partitions; ++p) {
    std::vector<std::int64_t> column;
    for (std::int64_t r = 0; r < settings.replicas; ++r)
      column.push_back(settings.devices[static_cast<std::size_t>(r * settings.partitions + p)]);
    ProtoWriter computation;
    computation.packed(1, column);
    out.bytes(3, computation.text());
  }
  return out.text();
}

namespace {
enum OpShardingType : std::int64_t { kReplicated = 0, kOther = 3, kUnreduced = 6 };
}  // namespace

std::string replicated_proto() {
  ProtoWriter out;
  out.number(1, kReplicated);
  return out.text();
}

std::string sharding_proto(const DeviceMesh& mesh, const Spec& spec, int rank,
                           const std::vector<std::string>& unreduced, std::string_view reduction) {
  // The devices form an array. Its dimensions are those of the grid of shards, then the one of
  // partial results, then the one of replicas.
  std::vector<std::int64_t> tiles;
  std::int64_t parts = 1;
  std::vector<std::vector<std::string>> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(spec.axes_of(d));
  if (!unreduced.empty()) axes.push_back(unreduced);
  for (const auto& along : axes) {
    tiles.push_back(mesh.size_of(along));
    parts *= tiles.back();
  }
  if (parts == 1) return replicated_proto();
  const std::int64_t n = mesh.size();
  const auto tile_of = [&](std::int64_t position) {
    std::int64_t tile = 0;
    for (std::size_t d = 0; d < axes.size(); ++d)
      tile = tile * tiles[d] + mesh.index_along(position, axes[d]);
    return tile;
  };
  std::vector<std::int64_t> positions(static_cast<std::size_t>(n));
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](std::int64_t a, std::int64_t b) { return tile_of(a) < tile_of(b); });
  std::vector<std::int64_t> devices;
  for (const std::int64_t p : positions)
    devices.push_back(mesh.devices.empty() ? p : mesh.devices[static_cast<std::size_t>(p)]);
  const bool repeats = parts < n;
  if (repeats) tiles.push_back(n / parts);
  ProtoWriter out;
  out.number(1, kOther);
  out.packed(3, tiles);
  out.packed(4, devices);
  if (unreduced.empty()) {
    if (repeats) out.number(6, 1);
    return out.text();
  }
  std::string upper(reduction);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  ProtoWriter entry;
  entry.bytes(1, "sdy::reduction_op");
  entry.bytes(2, upper);
  out.bytes(7, entry.text());
  out.packed(8, repeats ? std::vector<std::int64_t>{kUnreduced, kReplicated}
                        : std::vector<std::int64_t>{kUnreduced});
  return out.text();
}

}  // namespace tessera::inline v0::pjrt
