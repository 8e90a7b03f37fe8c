// Operands of small products in the order in which their loops read them.
#include "ir/op.h"
#include "ops/contraction/dot_dims.h"
#include "transform/simplify.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0 {

namespace {

// Where the operand's minor dimension, those of one element aside, is contracted: the permutation
// that brings the contracted dimensions to the front, in the order of their pairs. Else nothing.
Ints to_front(const Shape& shape, const Ints& contracting) {
  int minor = shape.rank() - 1;
  while (minor > 0 && shape[static_cast<std::size_t>(minor)] == 1) --minor;
  if (std::find(contracting.begin(), contracting.end(), minor) == contracting.end()) return {};
  Ints perm = contracting;
  for (std::int64_t i : ops::free_dims(shape.rank(), contracting, {})) perm.push_back(i);
  return perm;
}

}  // namespace

ProgramPtr orient(const ProgramPtr& p) {
  std::shared_ptr<Program> q;
  for (std::size_t k = 0; k < p->equations.size(); ++k) {
    const Equation& eqn = p->equations[k];
    bool turned = false;
    if (eqn.op->name == "dot_general") {
      const Type &l = p->type(eqn.inputs[0]), &r = p->type(eqn.inputs[1]),
                 &out = p->type(eqn.outputs[0]);
      ops::DotDims d = ops::dot_dims(eqn.attrs);
      bool left = l.shape.count() > r.shape.count();  // the matrix
      const Type& matrix = left ? l : r;
      Ints& contracting = left ? d.lhs_contracting : d.rhs_contracting;
      Ints perm;
      if (!contracting.empty() && matrix.shape.count() > out.shape.count() &&
          ops::multiplies_in_loops(l, r, out, d))
        perm = to_front(matrix.shape, contracting);
      if (!perm.empty()) {
        if (!q) {
          q = std::make_shared<Program>(*p);
          q->equations.assign(p->equations.begin(),
                              p->equations.begin() + static_cast<std::ptrdiff_t>(k));
        }
        Type t = matrix;
        for (std::size_t i = 0; i < perm.size(); ++i) t.shape[i] = matrix.shape[perm[i]];
        q->types.push_back(t);
        Equation turn = eqn, dot = eqn;
        turn.op = &Registry::get().at("transpose");
        turn.inputs = {eqn.inputs[left ? 0 : 1]};
        turn.outputs = {static_cast<Var>(q->types.size() - 1)};
        turn.attrs = {{"permutation", perm}};
        std::iota(contracting.begin(), contracting.end(), std::int64_t{0});
        dot.inputs[left ? 0 : 1] = turn.outputs[0];
        dot.attrs = ops::dot_attrs(d, out.dtype);
        q->equations.push_back(std::move(turn));
        q->equations.push_back(std::move(dot));
        turned = true;
      }
    }
    if (q && !turned) q->equations.push_back(eqn);
  }
  return q ? ProgramPtr(q) : p;
}

}  // namespace tessera::inline v0
