// Shardings of XLA's older partitioner: shards along digits of the device numbers, which become
// axes of a common mesh.
#include "stablehlo/import/rules.h"
#include "stablehlo/text/tile_sharding.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace tessera::inline v0::stablehlo {

namespace {

constexpr std::string_view kKey = "mhlo.sharding";

TileSharding read(const Importer& importer, const AttributeSyntax& a, int rank) {
  std::string problem;
  TileSharding s = parse_tile_sharding(a.text, rank, problem);
  if (!problem.empty())
    fail(*importer.module.source, a.at,
         {"the sharding " + shown(a.text) + " cannot be read: " + problem, "",
          "load it without shardings, or export it with Shardy"});
  return s;
}

template <class F>
void for_each_sharding(const RegionSyntax& region, F&& f) {
  for (const OperationSyntax& op : region.operations) {
    const AttributeSyntax* target = op.find("call_target_name");
    const bool says =
        target && (target->text == "Sharding" || target->text == "SPMDFullToShardShape" ||
                   target->text == "SPMDShardToFullShape");
    if (says && op.result_types.size() == 1)
      if (const AttributeSyntax* a = op.find(kKey)) f(*a, op.result_types[0]);
    for (const RegionSyntax& inside : op.regions) for_each_sharding(inside, f);
  }
}
template <class F>
void for_each_sharding(const ModuleSyntax& module, F&& f) {
  for (const FunctionSyntax& function : module.functions) {
    for (const auto* list : {&function.arguments, &function.results})
      for (const ArgumentSyntax& a : *list)
        if (const AttributeSyntax* s = find(a.attributes, kKey)) f(*s, a.type);
    for_each_sharding(function.body, f);
  }
}

// The axes that a digit consists of, major first.
void add_axes(const DeviceDigit& digit, const DeviceMesh& mesh, Strings& axes) {
  std::int64_t stride = mesh.size();
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    stride /= mesh.sizes[a];
    if (stride >= digit.stride && stride < digit.stride * digit.size) axes.push_back(mesh.axes[a]);
  }
}

Spec spec_of(const TileSharding& s, const DeviceMesh& mesh) {
  Spec::Dims dims(s.dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d)
    for (const DeviceDigit& digit : s.dims[d]) add_axes(digit, mesh, dims[d]);
  return Spec(std::move(dims));
}

}  // namespace

const MeshRef& Importer::tile_mesh(std::int64_t devices) const {
  if (tile_mesh_ && (*tile_mesh_)->size() == devices) return *tile_mesh_;
  std::set<std::int64_t> borders{1, devices};
  for_each_sharding(module, [&](const AttributeSyntax& a, const TypeSyntax& type) {
    if (a.kind != AttributeSyntax::string || type->kind != TypeData::tensor) return;
    const TileSharding s = read(*this, a, static_cast<int>(type->dims.size()));
    if (s.kind != TileSharding::Kind::tiled || s.devices != devices) return;
    for (const auto& digits : s.dims)
      for (const DeviceDigit& d : digits) borders.insert({d.stride, d.stride * d.size});
    for (const DeviceDigit& d : s.manual) borders.insert({d.stride, d.stride * d.size});
    for (auto it = borders.begin(), next = std::next(it); next != borders.end(); it = next++)
      if (*next % *it != 0)
        fail(*module.source, a.at,
             {"the sharding " + shown(a.text) + " and those before it are along no common axes",
              "all shardings of a module are over one mesh", "load it without shardings"});
  });
  DeviceMesh mesh;
  for (auto it = borders.begin(), next = std::next(it); next != borders.end(); it = next++) {
    mesh.axes.insert(mesh.axes.begin(), "stride" + std::to_string(*it));
    mesh.sizes.insert(mesh.sizes.begin(), *next / *it);
  }
  for (int d = 0; d < static_cast<int>(devices); ++d) mesh.devices.push_back(d);
  mesh.platform = options.platform;
  return tile_mesh_.emplace(std::move(mesh));
}

Value Importer::constrained_by_tiles(Value x, const AttributeSyntax& sharding,
                                     const Ints& open) const {
  if (options.devices < 2) return x;
  const TileSharding s = read(*this, sharding, x.rank());
  const bool whole = s.kind == TileSharding::Kind::replicated;
  if (!whole && (s.kind != TileSharding::Kind::tiled || s.devices != options.devices)) return x;
  const MeshRef& mesh = tile_mesh(options.devices);
  return lying(x, mesh, spec_of(s, *mesh), open);
}

std::optional<MeshRef> Importer::mesh_of_tiles(const AttributeSyntax& sharding, int rank) const {
  const TileSharding s = read(*this, sharding, rank);
  if (s.kind != TileSharding::Kind::tiled) return std::nullopt;
  return tile_mesh(s.devices);
}

Importer::Cut Importer::cut_of_tiles(const AttributeSyntax& sharding, int rank,
                                     const MeshRef& mesh) const {
  const TileSharding s = read(*this, sharding, rank);
  if (s.kind == TileSharding::Kind::replicated)
    return {Spec(Spec::Dims(static_cast<std::size_t>(rank))), {}};
  if (s.kind != TileSharding::Kind::tiled || s.devices != mesh->size())
    fail(*module.source, sharding.at,
         {"the sharding " + shown(sharding.text) + " does not say how the array lies on " +
          std::to_string(mesh->size()) + " devices"});
  return {spec_of(s, *mesh), {}};
}

std::optional<DeclaredSharding> Importer::declared_by_tiles(const AttributeSyntax& sharding,
                                                            int rank) const {
  const TileSharding s = read(*this, sharding, rank);
  const bool whole = s.kind == TileSharding::Kind::replicated;
  if (!whole && s.kind != TileSharding::Kind::tiled) return std::nullopt;
  const MeshRef& mesh = tile_mesh(whole ? module_devices().count() : s.devices);
  return DeclaredSharding{mesh, whole ? Spec() : spec_of(s, *mesh), {}, {}};
}

Strings Importer::manual_of_tiles(const AttributeSyntax& sharding, const MeshRef& mesh) const {
  const TileSharding s = read(*this, sharding, static_cast<int>(sharding.value_type->dims.size()));
  if (s.kind == TileSharding::Kind::manual) return mesh->axes;
  Strings axes;
  if (s.kind == TileSharding::Kind::tiled && s.devices == mesh->size())
    for (const DeviceDigit& d : s.manual) add_axes(d, *mesh, axes);
  return axes;
}

namespace rules {

// "unspecified_dims=[0,2]" in the configuration lists dimensions that the partitioner may choose.
Values tile_sharding(Reading& r) {
  r.need_operands(1);
  const AttributeSyntax* sharding = r.find(kKey);
  if (!sharding) return r.in;
  Ints open;
  std::string config = r.word_or("backend_config", "");
  constexpr std::string_view kOpen = "unspecified_dims=[";
  if (const std::size_t at = config.find(kOpen); at != config.npos) {
    const char *next = config.data() + at + kOpen.size(), *end = config.data() + config.size();
    for (std::int64_t d = 0;;) {
      const auto [behind, error] = std::from_chars(next, end, d);
      if (error != std::errc()) r.refuse("its unspecified dimensions are no list of numbers");
      open.push_back(d);
      if (behind == end || *behind != ',') break;
      next = behind + 1;
    }
    std::sort(open.begin(), open.end());
    r.check_dims(open, r.in[0].rank(), "unspecified_dims");
  }
  return {r.importer.constrained(r.in[0], *sharding, open)};
}

}  // namespace rules

}  // namespace tessera::inline v0::stablehlo
