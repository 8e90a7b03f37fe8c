#include "codegen/kernel/operand_view.h"

#include "base/float_format.h"
#include "codegen/kernel/composer.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen {
namespace {

// Follows an element from the output to the input. Everything but reads and conversions fails.
class ViewFinder : public Composer {
 public:
  explicit ViewFinder(const Program& p) : Composer(p) {}

  // The position in the input of the output's element `at`; nothing if that is not all.
  std::optional<Index> run(std::span<const Index> at) {
    value(program_.outputs[0], at);
    return failed_ ? std::nullopt : found_;
  }

  Lane value(Var v, std::span<const Index> at) override {
    const Type& t = program_.type(v);
    if (producer(v)) return apply(v, at);
    if (found_) return fail(t.dtype);
    found_ = flatten(at, t.shape);
    return {nullptr, t.dtype};
  }
  Lane convert(Lane x, DType to) override {
    return x.dtype == to || widens(x.dtype, to) ? Lane{nullptr, to} : fail(to);
  }
  Lane constant(DType d, double) override { return fail(d); }
  Lane constant(DType d, std::int64_t) override { return fail(d); }
  Lane literal(const Literal& l, std::span<const Index>) override { return fail(l.dtype); }
  Lane number(const Index&, DType d) override { return fail(d); }
  Index index(const Lane& x, std::int64_t lo, std::int64_t) override {
    fail(x.dtype);
    return Index(lo);
  }
  Lane unary(Arith, Lane x) override { return fail(x.dtype); }
  Lane binary(Arith, Lane x, Lane) override { return fail(x.dtype); }
  Lane select(Lane, Lane x, Lane) override { return fail(x.dtype); }
  Lane bitcast(Lane, DType to) override { return fail(to); }
  Lane guarded(std::span<const Bound>, const std::function<Lane()>&, Lane outside) override {
    return fail(outside.dtype);
  }
  Lane reduce(std::span<const std::int64_t>, Lane init,
              const std::function<Lane(std::span<const Index>)>&,
              const std::function<Lane(Lane, Lane)>&) override {
    return fail(init.dtype);
  }
  std::vector<Lane> fold(std::span<const std::int64_t>, std::vector<Lane> init,
                         const std::function<std::vector<Lane>(std::span<const Index>,
                                                               std::span<const Lane>)>&) override {
    failed_ = true;
    return init;
  }

 private:
  Lane fail(DType d) {
    failed_ = true;
    return {nullptr, d};
  }
  std::optional<Index> found_;
  bool failed_ = false;
};

// The value of an index whose only variable is `i`.
std::int64_t at_number(const Index::Node* node, std::int64_t i) {
  std::int64_t sum = node->constant;
  for (const auto& [atom, times] : node->terms) {
    std::int64_t x = i;
    if (atom->inner) {
      x = at_number(atom->inner, i);
      x = atom->kind == Atom::Kind::quotient ? x / atom->divisor : x % atom->divisor;
    }
    sum += times * x;
  }
  return sum;
}

// Splits [0, extent) into parts such that `position` is a sum over them. Returns nothing if there
// are none.
std::optional<std::vector<OperandView::Part>> parts_of(std::vector<std::int64_t> position) {
  std::vector<OperandView::Part> parts;
  for (const std::int64_t p : position)
    if (p < 0) return std::nullopt;
  while (position.size() > 1) {
    const std::int64_t stride = position[1];
    std::size_t run = 2;
    while (run < position.size() && position[run] == static_cast<std::int64_t>(run) * stride) ++run;
    while (position.size() % run) --run;
    if (run < 2) return std::nullopt;
    std::vector<std::int64_t> outer;
    for (std::size_t i = 0; i < position.size(); i += run) {
      outer.push_back(position[i]);
      for (std::size_t j = 0; j < run; ++j)
        if (position[i + j] != position[i] + static_cast<std::int64_t>(j) * stride)
          return std::nullopt;
    }
    parts.push_back({static_cast<std::int64_t>(run), stride});
    position = std::move(outer);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// The parts of the dimension with the variable `i`, whose terms of the sum are `terms`.
std::optional<std::vector<OperandView::Part>> parts_along(std::int64_t extent,
                                                          const std::vector<Term>& terms) {
  if (terms.empty()) return std::vector{OperandView::Part{extent, 0}};
  if (terms.size() == 1 && !terms[0].first->inner)
    return terms[0].second < 0
               ? std::nullopt
               : std::optional(std::vector{OperandView::Part{extent, terms[0].second}});
  constexpr std::int64_t kMost = 1 << 20;
  if (extent > kMost) return std::nullopt;
  Index::Node node;
  node.terms = terms;
  std::vector<std::int64_t> position;
  for (std::int64_t i = 0; i < extent; ++i) position.push_back(at_number(&node, i));
  if (position[0] != 0) return std::nullopt;
  return parts_of(std::move(position));
}

}  // namespace

bool widens(DType from, DType to) {
  if (size_of(from) >= size_of(to) || from == DType::boolean || is_complex(from) || is_complex(to))
    return false;
  if (is_floating(from)) return is_floating(to);
  const int bits = 8 * size_of(from) - (is_signed_integer(from) ? 1 : 0);
  if (is_floating(to)) return bits <= float_format(to).significand_bits;
  return is_signed_integer(to) || is_unsigned_integer(from);
}

std::optional<OperandView> view_of(const Program& p) {
  const Type &source = p.type(p.inputs[0]), &operand = p.type(p.outputs[0]);
  const IndexArena arena;
  std::vector<Index> at;
  std::vector<const Atom*> variables;
  for (std::int64_t d : operand.shape) {
    at.push_back(d == 1 ? Index(0) : make_variable(d));
    variables.push_back(d == 1 ? nullptr : single_atom(at.back()));
  }
  const std::optional<Index> position = ViewFinder(p).run(at);
  if (!position) return std::nullopt;
  OperandView view;
  view.dtype = source.dtype;
  view.first = node_of(*position)->constant;
  std::vector<std::vector<Term>> terms(variables.size());
  for (const Term& term : node_of(*position)->terms) {
    // Every term must depend on a single variable.
    const Atom* only = nullptr;
    bool mixed = false;
    const auto leaf = [&](const Atom& a) {
      mixed = mixed || (only && only != &a);
      only = &a;
    };
    if (term.first->inner)
      for_each_leaf(term.first->inner, leaf);
    else
      leaf(*term.first);
    const auto d = std::find(variables.begin(), variables.end(), only);
    if (mixed || !only || d == variables.end()) return std::nullopt;
    terms[static_cast<std::size_t>(d - variables.begin())].push_back(term);
  }
  for (std::size_t d = 0; d < terms.size(); ++d) {
    auto parts = parts_along(operand.shape[d], terms[d]);
    if (!parts) return std::nullopt;
    view.dims.push_back(std::move(*parts));
  }
  return view;
}

}  // namespace tessera::inline v0::codegen
