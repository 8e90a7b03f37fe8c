#include "codegen/kernel/key.h"

#include "codegen/kernel/reading.h"
#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0::codegen {

namespace {

constexpr std::int64_t kAnyLength = std::int64_t{1} << 40;

class Writer {
 public:
  std::string out;
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void add(const std::string& s) { add(s.size()), out += s; }
  void add(DType d) { add(static_cast<int>(d)); }
  template <class T>
  void add(const std::vector<T>& v) {
    add(v.size());
    for (const auto& x : v) add(x);
  }
  void add(const Type& t) { add(t.dtype), add(t.shape.to_vector()); }
  void add(const Literal& l) {
    add(Type(l.dtype, l.shape));
    out.append(reinterpret_cast<const char*>(l.bytes->data()), l.bytes->size());
  }
  void add(const ProgramPtr& p) { add(p ? kernel_key(*p) : std::string()); }
  void add(const Spec& s) { add(to_string(s)); }
  void add(const MeshRef& m) {
    add(m->axes);
    add(m->sizes);
    add(m->devices);
  }
  void add(const HookPtr& h) { add(reinterpret_cast<std::uintptr_t>(h.get())); }
};

}  // namespace

std::string kernel_key(const Program& p) {
  Writer w;
  std::vector<Var> number(p.types.size());
  Var next = 0;
  w.add(p.inputs.size());
  for (Var v : p.inputs) number[v] = next++, w.add(p.types[v]);
  w.add(p.equations.size());
  for (const Equation& e : p.equations) {
    w.add(e.op->name);
    w.add(e.inputs.size());
    for (Var v : e.inputs) w.add(number[v]);
    w.add(e.outputs.size());
    for (Var v : e.outputs) number[v] = next++, w.add(p.types[v]);
    for (const auto& [name, value] : e.attrs) {
      w.add(name);
      w.add(value.index());
      std::visit([&](const auto& v) { w.add(v); }, value);
    }
  }
  w.add(p.outputs.size());
  for (Var v : p.outputs) w.add(number[v]);
  return std::move(w.out);
}

Canonical canonical_kernel(const ProgramPtr& p) {
  if (p->outputs.empty()) return {p, 0};
  std::int64_t n = p->type(p->outputs[0]).shape.count();
  if (n == 0 || n >= kAnyLength) return {p, 0};
  auto full = [&](Var v) { return p->type(v).shape.count() == n; };
  auto q = std::make_shared<Program>();
  q->name = p->name;
  for (const Type& t : p->types)
    q->types.push_back(t.shape.count() == n ? Type(t.dtype, {kAnyLength}) : Type(t.dtype, t.shape));
  q->inputs = p->inputs;
  std::vector<Var> alias(p->types.size());
  for (Var v = 0; v < alias.size(); ++v) alias[v] = v;
  for (const Equation& e : p->equations) {
    Equation c = e;
    for (Var& v : c.inputs) v = alias[v];
    bool all_full = std::all_of(e.inputs.begin(), e.inputs.end(), full) &&
                    std::all_of(e.outputs.begin(), e.outputs.end(), full);
    if (e.op->forwards && e.outputs.size() == 1 && all_full) {
      alias[e.outputs[0]] = c.inputs[0];
      continue;
    }
    if (e.op->spreads && full(e.outputs[0])) {
      if (full(e.inputs[0])) {
        // An equal element count in another order is a transposition.
        if (reading_of_spread(*p, e) != Reading::same) return {p, 0};
        alias[e.outputs[0]] = c.inputs[0];
        continue;
      }
      if (p->type(e.inputs[0]).shape.rank() != 0) return {p, 0};
      // A broadcast scalar, in the same form for every length.
      static const Op& repeat = Registry::get().at("broadcast_in_dim");
      c.op = &repeat;
      c.attrs = Attrs{{"shape", Ints{kAnyLength}}, {"dims", Ints{}}};
    } else if (e.op->literal) {
      if (p->type(e.outputs[0]).shape.rank() != 0 || full(e.outputs[0])) return {p, 0};
    } else if (!e.op->elementwise || e.inputs.empty() || !all_full) {
      return {p, 0};
    }
    q->equations.push_back(std::move(c));
  }
  for (Var v : p->outputs) {
    if (!full(v)) return {p, 0};
    q->outputs.push_back(alias[v]);
  }
  return {q, n};
}

}  // namespace tessera::inline v0::codegen
