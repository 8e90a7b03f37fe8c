#include "stablehlo/emit/writer.h"

#include "ir/nested.h"
#include "stablehlo/emit/emission.h"
#include "transform/messages.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo {

void Writing::refuse(const std::string& problem, const std::string& rule,
                     const std::string& advice) const {
  Message(op.shown()).problem(problem).rule(rule).from(loc).advice(advice).raise<TraceError>();
}

void Block::line(const std::string& text) {
  out_.append(static_cast<std::size_t>(indent_), ' ');
  out_ += text;
  out_ += '\n';
}

std::string Block::fresh() { return "%" + std::to_string(count_++); }

Names Block::define(const std::string& text, std::size_t results) {
  if (results == 0) {
    line(text);
    return {};
  }
  const std::string name = fresh();
  if (results == 1) {
    line(name + " = " + text);
    return {name};
  }
  line(name + ":" + std::to_string(results) + " = " + text);
  Names out;
  for (std::size_t i = 0; i < results; ++i) out.push_back(name + "#" + std::to_string(i));
  return out;
}

std::string Block::apply(const std::string& op, const Names& operands, const Type& type) {
  return define(op + " " + joined(operands) + " : " + type_text(type))[0];
}

Block Block::inside(std::string& out) const {
  Block b(module, out, count_, indent_ + 2);
  b.mesh = mesh;
  b.automatic = automatic;
  return b;
}

void Block::braces(const RegionText& region, const char* terminator, bool header) {
  Block b = inside(out_);
  Names arguments, declared;
  for (const Type& t : region.arguments) {
    arguments.push_back(fresh());
    declared.push_back(arguments.back() + ": " + type_text(t));
  }
  if (header && !declared.empty()) line("^bb0(" + joined(declared) + "):");
  const Names gives = region.write(b, arguments);
  Names types;
  for (const Type& t : region.gives) types.push_back(type_text(t));
  b.line(gives.empty() ? terminator
                       : std::string(terminator) + " " + joined(gives) + " : " + joined(types));
}

Names Block::generic(const std::string& op, const Names& operands, const std::string& attributes,
                     std::span<const Type> in, std::span<const Type> out,
                     const std::vector<RegionText>& regions) {
  const bool calls = module.without_chlo && op.starts_with("chlo.");
  std::string head =
      (calls ? "\"stablehlo.custom_call\"" : quoted(op)) + "(" + joined(operands) + ")";
  if (calls)
    head += " <{call_target_name = " + quoted(op) +
            (attributes.empty() ? "" : ", backend_config = " + quoted(attributes)) + "}>";
  else if (!attributes.empty())
    head += " <{" + attributes + "}>";
  const std::string types = " : " + types_text(in) + " -> " + result_types_text(out);
  if (regions.empty()) return define(head + types, out.size());
  const Names results = define(head + " ({", out.size());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (i) line("}, {");
    braces(regions[i], "stablehlo.return");
  }
  line("})" + types);
  return results;
}

std::string Block::constant(const Literal& l) {
  return define("stablehlo.constant " + dense_text(l) + " : " +
                type_text(Type(l.dtype, l.shape)))[0];
}

std::string Block::number(DType dtype, std::int64_t value) {
  return constant(scalar_literal(dtype, value));
}

std::string Block::broadcast(const std::string& scalar, const Type& to) {
  if (to.shape.rank() == 0) return scalar;
  return define("stablehlo.broadcast_in_dim " + scalar + ", dims = [] : (" +
                type_text(Type(to.dtype, {})) + ") -> " + type_text(to))[0];
}

std::string Block::filled(DType dtype, const Shape& shape, std::int64_t value) {
  return broadcast(number(dtype, value), Type(dtype, shape));
}

std::string Block::reshape(const std::string& x, const Type& from, const Type& to) {
  if (from.shape == to.shape) return x;
  return define("stablehlo.reshape " + x + " : (" + type_text(from) + ") -> " + type_text(to))[0];
}

std::string Block::compare(const char* direction, const std::string& x, const std::string& y,
                           const Type& type, bool total_order) {
  const DType d = type.dtype;
  const char* kind = total_order                                     ? "TOTALORDER"
                     : is_floating(d) || is_complex(d)               ? "FLOAT"
                     : is_unsigned_integer(d) || d == DType::boolean ? "UNSIGNED"
                                                                     : "SIGNED";
  const std::string t = type_text(type);
  return define(std::string("stablehlo.compare ") + direction + ", " + x + ", " + y + ", " + kind +
                " : (" + t + ", " + t + ") -> " + type_text(Type(DType::boolean, type.shape)))[0];
}

Names Block::program(const Program& p, const Names& inputs) {
  std::vector<std::string> names(p.types.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) names[p.inputs[i]] = inputs[i];
  const Messages messages(p, [](const std::vector<std::string>&) { return kMessageBytes; });
  for (std::size_t i = 0; i < messages.count(); ++i) {
    const std::span<const std::uint32_t> numbers = messages[i];
    const Emission* emission = emission_of(*p.equations[numbers[0]].op);
    // XLA's partitioner refuses an operation with several results where it divides along some axes.
    const bool several =
        emission && emission->several && automatic.empty() && !module.separate_collectives;
    const std::size_t together = several ? numbers.size() : 1;
    for (std::size_t k = 0; k < numbers.size(); k += together) {
      std::vector<const Equation*> equations;
      for (std::uint32_t number : numbers.subspan(k, together))
        equations.push_back(&p.equations[number]);
      Names in;
      for (const Equation* e : equations)
        for (Var v : e->inputs) in.push_back(names[v]);
      const Names out = equation(equations, p, std::move(in));
      auto name = out.begin();
      for (const Equation* e : equations)
        for (Var v : e->outputs) names[v] = *name++;
    }
  }
  Names out;
  for (Var v : p.outputs) out.push_back(names[v]);
  return out;
}

Names Block::equation(const std::vector<const Equation*>& equations, const Program& p, Names in) {
  const Equation& e = *equations[0];
  Writing w{*this, *e.op, e.attrs, {}, {}, std::move(in), e.loc};
  for (const Equation* one : equations) {
    for (Var v : one->inputs) w.in_types.push_back(p.type(v));
    for (Var v : one->outputs) w.out_types.push_back(p.type(v));
  }
  const Emission* emission = emission_of(*e.op);
  if (!emission || emission->never) {
    // An op that is expanded before compilation is expanded here, too.
    if (!emission && e.op->lowering == Lowering::expanded) return program(*expansion(e), w.in);
    w.refuse("it has no form in StableHLO",
             emission ? emission->never : "every op that a program may hold is written",
             "export the function that this is a part of as it is, without transforming it");
  }
  return emission->is_composite(*e.op, e.attrs, w.in_types) ? composite(w, emission->decomposed)
                                                            : emission->plain(w);
}

RegionText Block::region(const ProgramPtr& p) {
  std::vector<Type> in = p->input_types(), out = p->output_types();
  return {in, [p](Block& b, const Names& arguments) { return b.program(*p, arguments); }, out};
}

std::string ModuleWriter::fresh_symbol(const std::string& stem) {
  const int n = symbols_[stem]++;
  return n == 0 ? stem : stem + "_" + std::to_string(n);
}

std::string ModuleWriter::function(const std::string& stem, const ProgramPtr& p,
                                   const Block& caller) {
  const std::uint64_t h = hash_of(*p);
  const auto [begin, end] = programs_.equal_range(h);
  for (auto it = begin; it != end; ++it) {
    const Function& f = it->second;
    if (f.mesh == caller.mesh && f.automatic == caller.automatic &&
        (f.program == p || same_structure(*f.program, *p)))
      return f.symbol;
  }
  const std::string symbol = fresh_symbol(stem);
  programs_.emplace(h, Function{p, caller.mesh, caller.automatic, symbol});
  const std::string text = function_text(*this, "func.func private @" + symbol, p->input_types(),
                                         p->output_types(), {}, {}, [&](Block& b, const Names& in) {
                                           b.mesh = caller.mesh;
                                           b.automatic = caller.automatic;
                                           return b.program(*p, in);
                                         });
  functions += text;
  return symbol;
}

std::string ModuleWriter::decomposition(const std::string& stem, const std::string& key,
                                        const Writing& w, WriteRule rule) {
  if (const auto it = decompositions_.find(key); it != decompositions_.end()) return it->second;
  const std::string symbol = fresh_symbol(stem);
  decompositions_.emplace(key, symbol);
  const std::string text =
      function_text(*this, "func.func private @" + symbol, w.in_types, w.out_types, {}, {},
                    [&](Block& b, const Names& in) {
                      b.mesh = w.block.mesh;
                      Writing inside{b, w.op, w.attrs, w.in_types, w.out_types, in, w.loc};
                      return rule(inside);
                    });
  functions += text;
  return symbol;
}

std::string ModuleWriter::mesh(const DeviceMesh& mesh) {
  for (const auto& [known, symbol] : meshes_)
    if (known == mesh) return symbol;
  meshes_.emplace_back(mesh, fresh_symbol("mesh"));
  partitions_ = std::max(partitions_, mesh.size());
  return meshes_.back().second;
}

std::string ModuleWriter::text(const std::string& name) const {
  std::string s = "module @" + symbol_text(name) +
                  " attributes {mhlo.num_partitions = " + std::to_string(partitions_) +
                  " : i32, mhlo.num_replicas = 1 : i32} {\n";
  for (const auto& [mesh, symbol] : meshes_) {
    s += "  sdy.mesh @" + symbol + " = <[";
    for (std::size_t i = 0; i < mesh.axes.size(); ++i)
      s += (i ? ", " : "") + quoted(mesh.axes[i]) + "=" + std::to_string(mesh.sizes[i]);
    s += "]";
    if (!mesh.devices.empty()) {
      Ints ids(mesh.devices.begin(), mesh.devices.end());
      if (!partition_devices.empty())
        for (std::int64_t& id : ids)
          id = std::find(partition_devices.begin(), partition_devices.end(), id) -
               partition_devices.begin();
      bool first_ones = true;
      for (std::size_t i = 0; i < ids.size(); ++i)
        first_ones = first_ones && ids[i] == static_cast<std::int64_t>(i);
      if (!first_ones) s += ", device_ids=" + list_text(ids);
    }
    s += ">\n";
  }
  return s + main + functions + "}\n";
}

std::string function_text(ModuleWriter& m, const std::string& head, const std::vector<Type>& in,
                          const std::vector<Type>& out, const Names& in_labels,
                          const Names& out_labels,
                          const std::function<Names(Block&, const Names&)>& write) {
  std::size_t count = 0;
  std::string lines;
  Block b(m, lines, count, 4);
  Names names, declared, results, types;
  for (std::size_t i = 0; i < in.size(); ++i) names.push_back("%arg" + std::to_string(i));
  const Names gives = write(b, names);
  for (std::size_t i = 0; i < in.size(); ++i)
    declared.push_back(names[i] + ": " + type_text(in[i]) +
                       (i < in_labels.size() ? in_labels[i] : ""));
  for (std::size_t i = 0; i < out.size(); ++i) {
    types.push_back(type_text(out[i]));
    results.push_back(types[i] + (i < out_labels.size() ? out_labels[i] : ""));
  }
  b.line(gives.empty() ? "return" : "return " + joined(gives) + " : " + joined(types));
  std::string s = "  " + head + "(" + joined(declared) + ")";
  if (!results.empty()) s += " -> (" + joined(results) + ")";
  return s + " {\n" + lines + "  }\n";
}

}  // namespace tessera::inline v0::stablehlo
