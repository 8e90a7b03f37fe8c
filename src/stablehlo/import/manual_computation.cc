// Per-device computations along some axes of a mesh: regions whose collectives are along these
// axes, and which the partitioner divides along the others.
#include "ir/region_attrs.h"
#include "stablehlo/import/device_rows.h"
#include "stablehlo/import/rules.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo::rules {

namespace {

bool has(const Strings& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

AxisSet set_of(const Strings& axes) {
  AxisSet set;
  for (const std::string& axis : axes) set.insert(axis);
  return set;
}

// x on the first device along the axes and zeros on the others: partial results whose sum is x.
Value as_parts_of_sum(Value x, const Strings& axes, const MeshShape& mesh) {
  const Value place = ops::pvary(ops::axis_index(*x.builder, axes, mesh.size_of(axes)), axes);
  const Value first = ops::eq(place, ops::zeros_like(place));
  return ops::select(ops::broadcast_in_dim(first, x.shape(), {}), x, ops::zeros_like(x));
}

// The value of the first device along the axes, typed as equal on all of them.
Value of_first(Value x, const Strings& axes, const MeshShape& mesh) {
  if (axes.empty()) return x;
  const Value all = ops::all_gather_invariant(x, axes, mesh.size_of(axes), 0, false);
  Ints start(static_cast<std::size_t>(all.rank()), 0), limit = all.shape().to_vector();
  limit[0] = 1;
  return ops::reshape(ops::slice(all, start, limit, Ints(start.size(), 1)), x.shape());
}

Value as_row(Value x) {
  Shape row = x.shape();
  row.insert(row.begin(), 1);
  return ops::reshape(x, row);
}

// Sets the importer's devices while a computation's region is imported.
class Inside {
 public:
  Inside(Importer& importer, Devices devices) : importer_(importer), around_(importer.devices) {
    importer.devices = std::move(devices);
  }
  ~Inside() { importer_.devices = around_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Importer& importer_;
  std::optional<Devices> around_;
};

class Computation {
 public:
  explicit Computation(Reading& reading)
      : r_(reading),
        importer_(r_.importer),
        in_(r_.need("in_shardings")),
        out_(r_.need("out_shardings")),
        region_(r_.op.regions[0]) {
    if (importer_.devices && !importer_.devices->typed)
      r_.refuse("it stands inside a program for each device");
    if (in_.items.size() != r_.operands.size() || region_.arguments.size() != r_.operands.size() ||
        out_.items.size() != r_.op.result_types.size())
      r_.refuse("it does not have a sharding for each operand and result");
  }

  Values values() {
    // Without arrays the devices are unknown; the effects then take place once.
    if (has_no_shardings() && !importer_.devices) return in_place();
    find_mesh();
    find_axes();
    if (own_.empty()) return in_place();
    Specs ins, outs;
    std::vector<Type> arguments;
    std::vector<Strings> summed_in;   // axes along which arguments become partial
    std::vector<bool> comes_in_rows;  // whether an argument is a row of known partial results
    Values operands;
    for (std::size_t i = 0; i < r_.operands.size(); ++i)
      for (const Value& x : r_.operands[i].leaves) {
        const Importer::Cut cut = cut_of(in_.items[i], x.rank());
        ins.push_back(own_part(cut, in_.items[i]));
        arguments.push_back(block(i, x, ins.back()));
        const Importer::Terms* const terms = known_terms(x, cut);
        comes_in_rows.push_back(terms != nullptr);
        summed_in.push_back(!terms && cut.combiner == Combiner::add ? own_unreduced(cut)
                                                                    : Strings());
        if (terms) {
          ins.back() = spec_of_rows(terms->axes, ins.back());
          arguments.back().shape.insert(arguments.back().shape.begin(), 1);
          arguments.back().varying = arguments.back().varying | ins.back().axes();
          operands.push_back(terms->rows);
        } else {
          operands.push_back(along_others(x, in_.items[i], cut));
        }
      }
    std::vector<Importer::Cut> results;  // by array
    for (std::size_t i = 0; i < out_.items.size(); ++i)
      for (const Type& t : importer_.leaf_types(r_.op.result_types[i])) {
        results.push_back(cut_of(out_.items[i], t.shape.rank()));
        outs.push_back(own_part(results.back(), out_.items[i]));
        if (Strings axes = own_unreduced(results.back()); !axes.empty())
          outs.back() = spec_of_rows(std::move(axes), outs.back());
      }
    const auto argument = [&](std::size_t i, Value x) {
      if (comes_in_rows[i]) {
        Shape shape = x.shape();
        shape.erase(shape.begin());
        return ops::reshape(x, shape);
      }
      return summed_in[i].empty() ? x : as_parts_of_sum(x, summed_in[i], *mesh_);
    };
    std::vector<Strings> own_along(results.size());  // axes along which the devices' values differ
    const auto result = [&](std::size_t i, Value x) {
      if (i >= results.size()) return x;
      own_along[i] = unnamed_axes(x, outs[i]);
      if (importer_.options.has_rows && own_unreduced(results[i]).empty() &&
          !own_along[i].empty()) {
        outs[i] = spec_of_rows(own_along[i], outs[i]);
        return x.builder->vary_over(as_row(x), outs[i].axes());
      }
      own_along[i] = {};
      return end(x, results[i], outs[i]);
    };
    const RegionProgram body = [&] {
      const Inside inside(importer_, devices());
      return importer_.region(r_, region_, arguments, {argument, result});
    }();
    if (body.program->outputs.size() != outs.size())
      r_.refuse("its region gives " + std::to_string(body.program->outputs.size()) +
                " arrays, and it has shardings for " + std::to_string(outs.size()));
    operands.insert(operands.end(), body.captured.begin(), body.captured.end());
    ins.resize(operands.size());  // captured values are replicated
    Attrs attrs = RegionAttrs::make(body.program, mesh_, std::move(ins), std::move(outs), true);
    if (own_.size() < mesh_->axes.size()) attrs.set(RegionAttrs::kManual, own_);
    Values made = r_.b.emit("shard_map", operands, std::move(attrs));
    std::size_t next = 0;
    for (std::size_t i = 0; i < out_.items.size(); ++i)
      for (std::size_t n = importer_.leaf_types(r_.op.result_types[i]).size(); n-- > 0; ++next) {
        const Importer::Cut& cut = results[next];
        if (Strings axes = own_unreduced(cut); !axes.empty())
          made[next] =
              importer_.reduced({made[next], mesh_, std::move(axes), cut.combiner, cut.spec});
        if (!own_along[next].empty())
          made[next] =
              importer_.first_of({made[next], mesh_, own_along[next], Combiner::replace, cut.spec});
        made[next] = along_others(made[next], out_.items[i], results[next]);
      }
    return made;
  }

 private:
  bool has_no_shardings() const { return in_.items.empty() && out_.items.empty(); }
  bool are_tiles() const {
    if (has_no_shardings()) return false;
    const AttributeSyntax& any = in_.items.empty() ? out_.items[0] : in_.items[0];
    return any.kind == AttributeSyntax::string;
  }

  // All its shardings must be over one mesh, that of the surrounding computation if there is one.
  void find_mesh() {
    if (has_no_shardings()) {
      mesh_ = MeshRef(importer_.devices->mesh);
      return;
    }
    mesh_ = are_tiles() ? mesh_of_tiles() : mesh_of_shardings();
    if (importer_.devices && importer_.devices->mesh != *mesh_)
      r_.refuse("it is over another mesh than the computation around it");
  }

  MeshRef mesh_of_shardings() const {
    std::optional<MeshRef> mesh;
    for (const AttributeSyntax* list : {&in_, &out_})
      for (const AttributeSyntax& s : list->items) {
        const MeshRef other = importer_.mesh_of(s);
        if (mesh && other != *mesh) r_.refuse("its shardings are over several meshes");
        mesh = other;
      }
    return *mesh;
  }

  // For shardings given as text, the first that partitions an array determines the devices.
  MeshRef mesh_of_tiles() const {
    const auto of = [&](const AttributeSyntax& sharding, const TypeSyntax& type) {
      return importer_.mesh_of_tiles(sharding, static_cast<int>(type->dims.size()));
    };
    for (std::size_t i = 0; i < in_.items.size(); ++i)
      if (r_.operands[i].type)
        if (const auto m = of(in_.items[i], *r_.operands[i].type)) return *m;
    for (std::size_t i = 0; i < out_.items.size(); ++i)
      if (const auto m = of(out_.items[i], r_.op.result_types[i])) return *m;
    const AttributeSyntax& manual = r_.need("manual_axes");
    if (const auto m = of(manual, manual.value_type)) return *m;
    const AttributeSyntax* n = find(importer_.module.attributes, "mhlo.num_partitions");
    if (!n || n->integer_value < 1)
      r_.refuse("no array that it takes or gives is cut",
                "the devices are those of a cut array, or the module says how many partitions it "
                "has");
    return importer_.tile_mesh(n->integer_value);
  }

  // Finds the axes that become manual here, in the mesh's order.
  void find_axes() {
    const Strings around = importer_.devices ? importer_.devices->manual : Strings();
    const AttributeSyntax& named = r_.need("manual_axes");
    Strings own;
    if (are_tiles()) {
      for (const std::string& axis : importer_.manual_of_tiles(named, mesh_))
        if (!has(around, axis)) own.push_back(axis);
    } else {
      for (const AttributeSyntax& a : named.items) {
        const std::string axis(a.text);
        const auto wrong = [&](const std::string& problem) {
          fail(*importer_.module.source, a.at, {std::string(r_.op.name) + ": " + problem});
        };
        if (mesh_->find(axis) < 0) wrong("the mesh has no axis " + shown(axis));
        if (has(own, axis)) wrong("manual_axes names the axis " + shown(axis) + " twice");
        if (has(around, axis))
          wrong("the axis " + shown(axis) + " is manual in the computation around it already");
        own.push_back(axis);
      }
    }
    own_ = mesh_->ordered(set_of(own));
    manual_ = mesh_->ordered(set_of(own) | set_of(around));
  }

  Devices devices() const { return {1, mesh_->size(), *mesh_, manual_, true}; }

  Importer::Cut cut_of(const AttributeSyntax& sharding, int rank) const {
    return are_tiles() ? importer_.cut_of_tiles(sharding, rank, mesh_)
                       : importer_.cut_of(sharding, rank);
  }

  // The spec of a device's block along the axes that are manual here. The partitioner divides the
  // block along the others.
  Spec own_part(const Importer::Cut& cut, const AttributeSyntax& sharding) const {
    Spec::Dims dims;
    for (const auto& axes : cut.spec.dims()) {
      dims.emplace_back();
      bool others = false;
      for (const std::string& axis : axes) {
        if (has(own_, axis)) {
          if (others)
            fail(*importer_.module.source, sharding.at,
                 {std::string(r_.op.name) + ": the axis " + shown(axis) +
                      " stands behind one that is not manual",
                  "in a dimension the manual axes come first"});
          dims.back().push_back(axis);
        } else if (has(manual_, axis)) {
          fail(*importer_.module.source, sharding.at,
               {std::string(r_.op.name) + ": the axis " + shown(axis) +
                " is manual in the computation around it already"});
        } else {
          others = true;
        }
      }
    }
    return Spec(std::move(dims));
  }

  Strings own_unreduced(const Importer::Cut& cut) const {
    Strings axes;
    for (const std::string& axis : own_)
      if (has(cut.unreduced, axis)) axes.push_back(axis);
    return axes;
  }

  // The partial results of an unreduced operand, if they are known with exactly this sharding.
  const Importer::Terms* known_terms(Value x, const Importer::Cut& cut) const {
    const Strings axes = own_unreduced(cut);
    if (axes.empty()) return nullptr;
    const Importer::Terms* const terms = importer_.terms_of(x);
    const bool fits = terms && terms->mesh == mesh_ && terms->combiner == cut.combiner &&
                      terms->spec == cut.spec && mesh_->ordered(set_of(terms->axes)) == axes;
    return fits ? terms : nullptr;
  }

  // If the sharding also partitions a dimension along other axes, constrains the value to that.
  Value along_others(Value x, const AttributeSyntax& sharding, const Importer::Cut& cut) const {
    for (const auto& axes : cut.spec.dims())
      for (const std::string& axis : axes)
        if (!has(manual_, axis)) return importer_.constrained(x, sharding);
    return x;
  }

  // The type of the argument for operand i: that of a device's block.
  Type block(std::size_t i, Value x, const Spec& spec) const {
    for (int d = 0; d < x.rank(); ++d)
      if (x.shape()[d] % mesh_->size_of(spec.axes_of(d)))
        r_.refuse("the devices do not divide dimension " + std::to_string(d) + " of operand " +
                  std::to_string(i));
    Type t(x.dtype(), block_shape(x.shape(), spec, *mesh_));
    if (importer_.type(region_.arguments[i].type) != t)
      r_.refuse("argument " + std::to_string(i) + " of its region is no block of its operand");
    t.varying = x.type().varying | spec.axes();
    return t;
  }

  // Prepares a result for leaving the region. A value that is unreduced becomes a row, and the rows
  // are reduced outside. Along axes that the sharding does not name, the first device's value is
  // used. The module's writer must ensure that it is the same on all devices.
  Value end(Value x, const Importer::Cut& cut, const Spec& spec) const {
    if (!own_unreduced(cut).empty()) x = as_row(x);
    x = of_first(x, unnamed_axes(x, spec), *mesh_);
    return x.builder->vary_over(x, spec.axes());
  }

  // The axes along which the value may differ although the spec does not name them.
  Strings unnamed_axes(Value x, const Spec& spec) const {
    const AxisSet named = spec.axes();
    Strings unnamed;
    for (const std::string& axis : own_)
      if (x.type().varying.contains(axis) && !named.contains(axis)) unnamed.push_back(axis);
    return unnamed;
  }

  Values in_place() const {
    std::vector<Bound> arguments = r_.operands;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      for (Value& v : arguments[i].leaves) v = importer_.constrained(v, in_.items[i]);
    Values out;
    std::vector<Bound> results = importer_.in_place(r_, region_, arguments);
    for (std::size_t i = 0; i < results.size() && i < out_.items.size(); ++i)
      for (const Value& v : results[i].leaves)
        out.push_back(importer_.constrained(v, out_.items[i]));
    return out;
  }

  Reading& r_;
  Importer& importer_;
  const AttributeSyntax &in_, &out_;
  const RegionSyntax& region_;
  MeshRef mesh_;
  Strings own_, manual_;  // axes that become manual here; all manual axes
};

}  // namespace

Values manual_computation(Reading& r) {
  r.need_regions(1);
  return Computation(r).values();
}

}  // namespace tessera::inline v0::stablehlo::rules
