// The layout of while's operands.
#pragma once

#include "ir/attrs.h"
#include "ir/program.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::inline v0::ops {

/// The operands are the condition's consts, the body's consts, the carry.
struct WhileLayout {
  static constexpr const char *kCond = "cond", *kBody = "body", *kCondConsts = "cond_consts",
                              *kBodyConsts = "body_consts";

  ProgramPtr cond, body;
  std::size_t cond_consts, body_consts, first_carry, carry;

  explicit WhileLayout(const Attrs& attrs)
      : cond(attrs.program(kCond)),
        body(attrs.program(kBody)),
        cond_consts(static_cast<std::size_t>(attrs.i(kCondConsts))),
        body_consts(static_cast<std::size_t>(attrs.i(kBodyConsts))),
        first_carry(cond_consts + body_consts),
        carry(body->outputs.size()) {}
  static Attrs make(ProgramPtr cond, ProgramPtr body, std::size_t cond_consts,
                    std::size_t body_consts) {
    return {{kCond, std::move(cond)},
            {kBody, std::move(body)},
            {kCondConsts, static_cast<std::int64_t>(cond_consts)},
            {kBodyConsts, static_cast<std::int64_t>(body_consts)}};
  }

  /// Given a list with one entry per operand, select the entries of the condition's (or body's)
  /// inputs.
  template <class T, class Span>
  std::vector<T> for_cond(const Span& all) const {
    std::vector<T> v(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(cond_consts));
    v.insert(v.end(), all.begin() + static_cast<std::ptrdiff_t>(first_carry), all.end());
    return v;
  }
  template <class T, class Span>
  std::vector<T> for_body(const Span& all) const {
    return std::vector<T>(all.begin() + static_cast<std::ptrdiff_t>(cond_consts), all.end());
  }
};

}  // namespace tessera::inline v0::ops
