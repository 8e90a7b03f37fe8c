#include "spmd/propagate/cut_rule.h"

#include <algorithm>

namespace tessera::inline v0::spmd {

CutRule::CutRule(const FactorRule& rule, std::span<const Shape> inputs,
                 std::span<const Shape> outputs)
    : CutRule(rule, inputs, outputs, Toward::none) {}

CutRule CutRule::edge(const FactorRule& rule, std::span<const Shape> inputs,
                      std::span<const Shape> outputs, Toward toward) {
  return CutRule(rule, inputs, outputs, toward);
}

CutRule::CutRule(const FactorRule& rule, std::span<const Shape> inputs,
                 std::span<const Shape> outputs, Toward edge) {
  for (const FactorRule::Factor& f : rule.all()) factors_.push_back({f.size});
  for (const FactorRule::Mark& m : rule.marks()) {
    Factor& f = factors_[static_cast<std::size_t>(m.factor)];
    f.plain = false;
    f.blocked = f.blocked || m.kind == FactorRule::Kind::blocked;
    f.works =
        f.works || (m.kind != FactorRule::Kind::blocked && m.kind != FactorRule::Kind::contest &&
                    m.kind != FactorRule::Kind::need_repl && f.size > 1);
  }
  for (Factor& f : factors_) f.works = f.works && !f.blocked;
  add_tensors(rule.inputs(), inputs);
  operands_ = tensors_.size();
  add_tensors(rule.outputs(), outputs);

  places_.resize(tensors_.size() * factors_.size());
  for (std::size_t t = 0; t < tensors_.size(); ++t)
    for (std::size_t d = 0; d < tensors_[t].dims.size(); ++d) {
      const std::vector<std::uint16_t>& factors = tensors_[t].dims[d].factors;
      std::int64_t before = 1;
      for (std::size_t k = 0; k < factors.size(); ++k) {
        places_[t * factors_.size() + factors[k]] = {static_cast<std::int16_t>(d),
                                                     k + 1 == factors.size(), before};
        before *= factors_[factors[k]].size;
      }
    }
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    std::size_t times = 0;
    for (std::size_t t = 0; t < tensors_.size(); ++t) times += place(t, f) ? 1 : 0;
    idle_ = idle_ && (times < 2 || factors_[f].size < 2 || factors_[f].blocked);
  }
  for (const Tensor& t : tensors_) {
    alike_ = alike_ && t.dims.size() == tensors_[0].dims.size();
    for (std::size_t d = 0; alike_ && d < t.dims.size(); ++d)
      alike_ = t.dims[d].factors == tensors_[0].dims[d].factors;
  }
  make_modes(edge);
}

void CutRule::add_tensors(const std::vector<FactorRule::Dims>& dims,
                          std::span<const Shape> shapes) {
  if (dims.size() != shapes.size())
    throw InternalError("a factor rule of " + std::to_string(dims.size()) + " values for " +
                        std::to_string(shapes.size()));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].size() != shapes[i].size())
      throw InternalError("a factor rule of " + std::to_string(dims[i].size()) +
                          " dimensions for the shape " + to_string(shapes[i]));
    if (dims[i].empty()) continue;
    if (dims[i].size() > 64)
      throw InternalError("a value of " + std::to_string(dims[i].size()) +
                          " dimensions; placements have at most 64");
    Tensor t;
    t.elements = shapes[i].count();
    for (std::size_t d = 0; d < dims[i].size(); ++d)
      t.dims.push_back({shapes[i][d], {dims[i][d].begin(), dims[i][d].end()}});
    tensors_.push_back(std::move(t));
  }
}

// The direction of the first two rungs. An equation passes its first operand on if each part of its
// results comes from the same part of that operand, elementwise or moved, and no factor requires
// communication. The result says nothing about the operands' shardings if another operand lacks a
// plain factor, or if the result consists of a part of the operand only.
Toward CutRule::early() const {
  bool back = true;
  if (operands_ == 0) return Toward::none;
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    if (factors_[f].size < 2) continue;
    if (factors_[f].works) return Toward::none;
    bool somewhere = false, everywhere = true, in_results = true;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const bool here = bool(place(t, f));
      somewhere = somewhere || here;
      everywhere = everywhere && here;
      if (t >= operands_) in_results = in_results && here;
    }
    if (!somewhere) continue;
    if (factors_[f].blocked) back = false;
    if (factors_[f].plain) {
      if (!place(0, f) || !in_results) return Toward::none;
      back = back && everywhere;
    }
  }
  return back ? Toward::all : Toward::results;
}

void CutRule::make_modes(Toward edge) {
  const std::size_t n = factors_.size();
  modes_.emplace_back(n, Toward::none);
  const Toward handed_on = early();
  bool repeats = false;  // a result holds an operand several times
  for (std::size_t f = 0; f < n; ++f) {
    if (factors_[f].size < 2) continue;
    bool operand = false, result = false;
    for (std::size_t t = 0; t < tensors_.size(); ++t)
      (t < operands_ ? operand : result) |= bool(place(t, f));
    if (factors_[f].plain && result && !operand && operands_ > 0) repeats = true;
  }
  for (int rung = 1; rung <= rungs; ++rung) {
    std::vector<Toward> mode(n, Toward::none);
    for (std::size_t f = 0; f < n; ++f) {
      if (factors_[f].blocked || (rung <= 3 && !factors_[f].plain)) continue;
      if (edge != Toward::none)
        mode[f] = edge;
      else if (rung <= 2)
        mode[f] = handed_on;
      else
        mode[f] = rung < rungs && repeats ? Toward::operands : Toward::all;
    }
    const auto same = std::find(modes_.begin(), modes_.end(), mode);
    mode_at_[static_cast<std::size_t>(rung) - 1] = static_cast<int>(same - modes_.begin());
    if (same == modes_.end()) modes_.push_back(std::move(mode));
  }
}

}  // namespace tessera::inline v0::spmd
