// Branches and loops. Regions refer directly to outside values that our programs take as operands.
#include "ops/control/cond_rules.h"
#include "ops/control/scan_rules.h"
#include "ops/control/while_rules.h"
#include "stablehlo/emit/rules.h"

namespace tessera::inline v0::stablehlo::write {

Names cond(Writing& w) {
  const Programs& branches = ops::CondAttrs(w.attrs).branches;
  const Type i(DType::int32, {});
  const std::string index =
      w.block.apply("stablehlo.clamp",
                    {w.block.number(DType::int32, 0), w.in[0],
                     w.block.number(DType::int32, static_cast<std::int64_t>(branches.size()) - 1)},
                    i);
  const Names operands(w.in.begin() + 1, w.in.end());
  std::vector<RegionText> regions;
  for (const ProgramPtr& p : branches)
    regions.push_back(
        {{}, [=](Block& b, const Names&) { return b.program(*p, operands); }, p->output_types()});
  const std::vector<Type> types{i};
  return w.block.generic("stablehlo.case", {index}, "", types, w.out_types, regions);
}

Names while_loop(Writing& w) {
  const ops::WhileLayout loop(w.attrs);
  const auto cond_consts = static_cast<std::ptrdiff_t>(loop.cond_consts),
             body_consts = static_cast<std::ptrdiff_t>(loop.body_consts);
  const auto first = w.in.begin() + cond_consts, carry = first + body_consts;
  const std::vector<Type> types(w.in_types.begin() + cond_consts + body_consts, w.in_types.end());
  const auto region = [&](const ProgramPtr& p, const Names& consts) {
    return RegionText{types,
                      [p, consts](Block& b, const Names& arguments) {
                        Names in = consts;
                        in.insert(in.end(), arguments.begin(), arguments.end());
                        return b.program(*p, in);
                      },
                      p->output_types()};
  };
  return w.block.generic(
      "stablehlo.while", Names(carry, w.in.end()), "", types, w.out_types,
      {region(loop.cond, Names(w.in.begin(), first)), region(loop.body, Names(first, carry))});
}

// A loop with a counter that writes rows into arrays that it carries. Its body is a function, so
// that the bodies of nested loops are written once each.
Names scan(Writing& w) {
  const ops::ScanLayout loop(w.attrs);
  const std::size_t consts = loop.consts, carry = loop.carry;
  const std::int64_t length = loop.length;
  const bool reverse = loop.reverse;
  const ProgramPtr body = loop.body;
  if (length == 0) {  // there is no row that the body could read
    Names out(w.in.begin() + static_cast<std::ptrdiff_t>(consts),
              w.in.begin() + static_cast<std::ptrdiff_t>(consts + carry));
    for (std::size_t k = carry; k < w.out_types.size(); ++k)
      out.push_back(w.block.filled(w.out_types[k].dtype, w.out_types[k].shape, 0));
    return out;
  }
  const std::string called = "@" + w.block.module.function("tessera.scan.body", body, w.block);
  const Type counter(DType::int32, {});
  const auto start = [](Block& b, const std::string& i, int rank) {
    const std::string zero = rank > 1 ? b.number(DType::int32, 0) : "";
    Names out{i};
    out.resize(static_cast<std::size_t>(rank), zero);
    return out;
  };

  Names init{w.block.number(DType::int32, 0)};
  std::vector<Type> types{counter};
  for (std::size_t k = consts; k < consts + carry; ++k) {
    init.push_back(w.in[k]);
    types.push_back(w.in_types[k]);
  }
  for (std::size_t k = carry; k < w.out_types.size(); ++k) {
    init.push_back(w.block.filled(w.out_types[k].dtype, w.out_types[k].shape, 0));
    types.push_back(w.out_types[k]);
  }
  const RegionText condition{
      types,
      [=](Block& b, const Names& a) {
        return Names{b.compare("LT", a[0], b.number(DType::int32, length), counter)};
      },
      {Type(DType::boolean, {})}};
  const Names outside = w.in;
  const std::vector<Type> outer_types = w.in_types, result_types = w.out_types;
  const auto step = [=](Block& b, const Names& a) {
    const std::string i =
        reverse ? b.apply("stablehlo.subtract", {b.number(DType::int32, length - 1), a[0]}, counter)
                : a[0];
    Names in(outside.begin(), outside.begin() + static_cast<std::ptrdiff_t>(consts));
    in.insert(in.end(), a.begin() + 1, a.begin() + 1 + static_cast<std::ptrdiff_t>(carry));
    for (std::size_t k = consts + carry; k < outside.size(); ++k) {
      const Type& whole = outer_types[k];
      const Type row = body->type(body->inputs[k]);
      Type slab = whole;
      slab.shape[0] = 1;
      Names operands{outside[k]};
      std::vector<Type> in_types{whole};
      for (const std::string& s : start(b, i, whole.shape.rank())) {
        operands.push_back(s);
        in_types.push_back(counter);
      }
      const Ints sizes(slab.shape.begin(), slab.shape.end());
      in.push_back(b.reshape(
          b.define("stablehlo.dynamic_slice " + joined(operands) + ", sizes = " + list_text(sizes) +
                   " : " + types_text(in_types) + " -> " + type_text(slab))[0],
          slab, row));
    }
    const std::vector<Type> gives = body->output_types();
    const Names made =
        b.define("func.call " + called + "(" + joined(in) +
                     ") : " + types_text(body->input_types()) + " -> " + result_types_text(gives),
                 gives.size());
    Names out{b.apply("stablehlo.add", {a[0], b.number(DType::int32, 1)}, counter)};
    out.insert(out.end(), made.begin(), made.begin() + static_cast<std::ptrdiff_t>(carry));
    for (std::size_t k = carry; k < made.size(); ++k) {
      const Type& whole = result_types[k];
      Type slab = whole;
      slab.shape[0] = 1;
      Names operands{a[k + 1], b.reshape(made[k], gives[k], slab)};
      std::vector<Type> in_types{whole, slab};
      for (const std::string& s : start(b, i, whole.shape.rank())) {
        operands.push_back(s);
        in_types.push_back(counter);
      }
      out.push_back(b.define("stablehlo.dynamic_update_slice " + joined(operands) + " : " +
                             types_text(in_types) + " -> " + type_text(whole))[0]);
    }
    return out;
  };
  const Names all =
      w.block.generic("stablehlo.while", init, "", types, types, {condition, {types, step, types}});
  return Names(all.begin() + 1, all.end());
}

}  // namespace tessera::inline v0::stablehlo::write
