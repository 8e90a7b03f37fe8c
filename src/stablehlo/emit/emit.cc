#include "stablehlo/emit/emit.h"

#include "stablehlo/emit/writer.h"

namespace tessera::inline v0::stablehlo {

namespace {

// "sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>" for each value that has one, else "".
Names sharding_attributes(ModuleWriter& m, const Constraints& shardings,
                          const std::vector<Type>& types) {
  Names out(types.size());
  for (std::size_t i = 0; i < shardings.size(); ++i)
    if (const std::optional<Constraint>& c = shardings[i])
      out[i] = "sdy.sharding = #sdy.sharding" +
               sharding_text(m.mesh(*c->mesh), c->spec, types[i].shape.rank(), c->open);
  return out;
}

Names without_empty(Names all) {
  std::erase(all, std::string());
  return all;
}

}  // namespace

std::string emit_module(const Program& p, const Exported& e, const Target& target) {
  ModuleWriter m(target, e.each_device_of ? e.each_device_of->size() : 1);
  m.without_chlo = e.without_chlo;
  m.partition_devices = e.partition_devices;
  m.precision = e.precision;
  m.separate_collectives = e.separate_collectives;
  m.gathered_broadcasts = e.gathered_broadcasts;
  const std::size_t arguments = p.inputs.size() - e.constants.size();
  Entry entry{{}, Constraints(arguments), Constraints(p.outputs.size())};
  if (e.shardings) {
    entry = entry_of(p, arguments);
    for (std::size_t i = 0; i < e.input_shardings.size(); ++i)
      if (!entry.inputs[i]) entry.inputs[i] = e.input_shardings[i];
    for (std::size_t i = 0; i < e.output_shardings.size(); ++i)
      if (!entry.outputs[i]) entry.outputs[i] = e.output_shardings[i];
  }
  const Program& body = e.shardings ? entry.program : p;
  std::vector<Type> in = p.input_types();
  in.resize(arguments);
  const std::vector<Type> out = p.output_types();
  const Names in_shardings = sharding_attributes(m, entry.inputs, in),
              out_shardings = sharding_attributes(m, entry.outputs, out);
  Names in_labels, out_labels;
  m.main = function_text(
      m, "func.func public @main", in, out, in_labels, out_labels,
      [&](Block& b, const Names& names) {
        b.mesh = e.each_device_of;
        Names all = names;
        for (const Literal& l : e.constants) all.push_back(b.constant(l));
        Names results = b.program(body, all);
        // Now that all meshes are known, so is the number of devices.
        const std::vector<Donation> given =
            donations(e.donated, in, out, entry.inputs, entry.outputs, m.partitions() > 1);
        for (std::size_t i = 0; i < in.size(); ++i) {
          const std::string donation = donation_text(given[i]);
          const bool is_alias = given[i].result.has_value();
          in_labels.push_back(braced(without_empty({is_alias ? "" : donation, in_shardings[i],
                                                    is_alias ? donation : ""})) +
                              (i < e.inputs.size() ? " loc(" + quoted(e.inputs[i]) + ")" : ""));
        }
        for (std::size_t i = 0; i < out.size(); ++i)
          out_labels.push_back(braced(without_empty(
              {i < e.outputs.size() ? "jax.result_info = " + quoted(e.outputs[i]) : "",
               out_shardings[i]})));
        return results;
      });
  return m.text(e.name);
}

}  // namespace tessera::inline v0::stablehlo
