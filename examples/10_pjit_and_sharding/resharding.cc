#include "cells.h"

namespace pjit_and_sharding {

namespace {

Array sum_columns(Array x) { return ts::sum(x, 0); }

}  // namespace

Resharding demonstrate_resharding(const Mesh& line) {
  const auto scope = ts::use_mesh(line);
  Resharding r;
  Array data = ts::random::normal(ts::random::key(50), {line.size() * 8, std::int64_t{64}});
  r.x = ts::device_put(data, P("x"));

  auto pjit_row_op = ts::pjit([](Array x) { return ts::sum(x, 1); },
                              {.in_shardings = {P("x")}, .out_shardings = P("x")});
  r.row_sums = pjit_row_op(r.x);
  r.row_moves = moves(pjit_row_op.lower(r.x));

  // The function takes columns and is given rows, so x is resharded before the call.
  auto pjit_col_op =
      ts::pjit(sum_columns, {.in_shardings = {P(none, "x")}, .out_shardings = P("x")});
  r.column_sums = pjit_col_op(r.x);

  // Here the resharding is part of the program, and its plan shows it.
  auto constrained =
      ts::pjit([](Array x) { return sum_columns(ts::with_sharding_constraint(x, P(none, "x"))); },
               {.in_shardings = {P("x")}, .out_shardings = P("x")});
  r.constrained_sums = constrained(r.x);
  r.constrained_moves = moves(constrained.lower(r.x));

  // If the choice is left to the compiler, each device adds up its rows, and the sums are exchanged
  // instead of x.
  auto added = ts::pjit(sum_columns, {.in_shardings = {P("x")}, .out_shardings = P("x")});
  r.added_sums = added(r.x);
  r.added_moves = moves(added.lower(r.x));

  auto reshard = ts::pjit([](Array x) { return x; },
                          {.in_shardings = {P("x")}, .out_shardings = P(none, "x")});
  r.by_columns = reshard(r.x);
  r.identity_moves = moves(reshard.lower(r.x));
  r.put_by_columns = ts::device_put(r.x, P(none, "x"));
  return r;
}

}  // namespace pjit_and_sharding
