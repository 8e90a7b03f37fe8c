#include "stablehlo/emit/emit.h"

#include "stablehlo/emit/writer.h"

namespace tessera::inline v0::stablehlo {

std::string emit_module(const Program& p, const Exported& e) {
  ModuleWriter m;
  std::vector<Type> in = p.input_types();
  in.resize(in.size() - e.constants.size());
  Names in_labels, out_labels;
  for (const std::string& name : e.inputs) in_labels.push_back(" loc(" + quoted(name) + ")");
  for (const std::string& name : e.outputs)
    out_labels.push_back(" {jax.result_info = " + quoted(name) + "}");
  m.main = function_text(m, "func.func public @main", in, p.output_types(), in_labels, out_labels,
                         [&](Block& b, const Names& arguments) {
                           Names all = arguments;
                           for (const Literal& l : e.constants) all.push_back(b.constant(l));
                           return b.program(p, all);
                         });
  return m.text(e.name);
}

}  // namespace tessera::inline v0::stablehlo
