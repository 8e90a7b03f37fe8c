// Runs a program through the public functions, as a user would write it.
#pragma once

#include "program.h"

#include <tessera/tessera.h>

#include <stdexcept>

namespace devices {

namespace ts = tessera;
using ts::Array;
using Arrays = std::vector<Array>;

inline ts::Shape shape_of(const Extents& e) { return ts::Shape(e.begin(), e.end()); }

class Build {
 public:
  explicit Build(ts::DType dtype) : dtype_(dtype) {}

  Arrays run(const Block& block, const Arrays& inputs) const {
    Arrays env = inputs;
    for (const Node& n : block.nodes) {
      Arrays in;
      for (int v : n.in) in.push_back(env[static_cast<std::size_t>(v)]);
      for (const Array& x : n.blocks.empty() ? single(n, in) : nested(n, in))
        env.push_back(on_all_or_none(x));
    }
    Arrays out;
    for (int v : block.outputs) out.push_back(env[static_cast<std::size_t>(v)]);
    return out;
  }

 private:
  // Arrays on some of the devices must not meet arrays on others.
  static Array on_all_or_none(const Array& x) {
    if (!x.is_concrete()) return x;
    const std::size_t on = x.sharding().devices().size();
    return on == ts::devices().size() ? x : ts::device_get(x);
  }

  Arrays single(const Node& n, const Arrays& in) const {
    const ts::Shape shape = shape_of(n.results[0]);
    const auto a = static_cast<int>(n.a), b = static_cast<int>(n.b);
    const ts::AxisNames names(n.names);
    switch (n.kind) {
      case Kind::numbers: {
        Arrays out;
        for (const Extents& s : n.results) out.push_back(ts::ones(shape_of(s), dtype_));
        return out;
      }
      case Kind::add: return {in[0] + in[1]};
      case Kind::sub: return {in[0] - in[1]};
      case Kind::mul: return {in[0] * in[1]};
      case Kind::scale: return {in[0] * a};
      case Kind::shift: return {in[0] + a};
      case Kind::choose: return {ts::where(in[0] > a, in[0], in[1])};
      case Kind::tame: return {ts::where(in[0] * in[0] < 4096, in[0], ts::zeros_like(in[0]))};
      case Kind::adapt: return {ts::broadcast_to(ts::sum(in[0]), shape)};
      case Kind::sum: return {ts::sum(in[0], a)};
      case Kind::spread: return {ts::broadcast_to(ts::expand_dims(in[0], a), shape)};
      case Kind::flip: return {ts::flip(in[0], a)};
      case Kind::stop: return {ts::stop_gradient(in[0])};
      case Kind::vary:
        return {a ? ts::pcast(in[0], names, {.to = "varying"}) : ts::pvary(in[0], names)};
      case Kind::index: return {ts::axis_index(names).astype(dtype_)};
      case Kind::draw: {
        const Array key = ts::random::key(static_cast<std::uint64_t>(n.a));
        return {ts::random::randint(
                    ts::random::fold_in(key, n.names.empty() ? Array(5) : ts::axis_index(names)),
                    shape, -3, 4)
                    .astype(dtype_)};
      }
      case Kind::psum: return {ts::psum(in[0], names, n.groups)};
      case Kind::pmean: return {ts::pmean(in[0], names, n.groups)};
      case Kind::pmax: return {ts::pmax(in[0], names, n.groups)};
      case Kind::pmin: return {ts::pmin(in[0], names, n.groups)};
      case Kind::gather:
        return {ts::all_gather(in[0], names, {.axis = a, .tiled = b != 0, .groups = n.groups})};
      case Kind::scatter:
        return {ts::psum_scatter(in[0], names, {.axis = a, .tiled = b != 0, .groups = n.groups})};
      case Kind::exchange:
        return {ts::all_to_all(in[0], names, a, b, {.tiled = true, .groups = n.groups})};
      case Kind::permute: {
        ts::Permutation pairs;
        for (const auto& p : n.groups) pairs.emplace_back(p[0], p[1]);
        return {ts::ppermute(in[0], names, pairs)};
      }
      case Kind::broadcast: return {ts::pbroadcast(in[0], names, n.a)};
      default: throw std::logic_error("a program inside");
    }
  }

  static Arrays part(const Arrays& v, std::size_t begin, std::size_t end) {
    return {v.begin() + static_cast<std::ptrdiff_t>(begin),
            v.begin() + static_cast<std::ptrdiff_t>(end)};
  }
  static Arrays with(Arrays a, const Arrays& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  static ts::Axes axes_of(const std::vector<int>& axes) {
    std::vector<ts::Axes> list;
    for (int a : axes) list.push_back(a < 0 ? ts::Axes(ts::replicated) : ts::Axes(a));
    return ts::Axes(list);
  }

  // Makes each value vary over the devices of a typed region.
  static Arrays own(const Node& n, Arrays x) {
    if (n.names.empty()) return x;
    return ts::pvary(x, n.names);
  }

  Arrays nested(const Node& n, const Arrays& in) const {
    const auto a = static_cast<std::size_t>(n.a), b = static_cast<std::size_t>(n.b);
    const Block& body = n.blocks[0];
    // The first values are arguments of the function, the others are captured.
    auto call = [&](const Block& block, std::size_t captured) {
      return [this, &block, rest = part(in, captured, in.size())](Arrays x) {
        return run(block, with(std::move(x), rest));
      };
    };
    const Arrays args = part(in, 0, std::min(a, in.size()));
    switch (n.kind) {
      case Kind::jit: return ts::jit(call(body, a))(args);
      case Kind::checkpoint: return ts::remat(call(body, a))(args);
      case Kind::cond: {
        const Arrays operands = part(in, 1, 1 + a);
        if (n.blocks.size() == 2)
          return ts::cond(in[0] > 0, call(n.blocks[1], 1 + a), call(n.blocks[0], 1 + a), operands);
        return ts::switch_(in[0].astype(ts::i32),
                           std::tuple(call(n.blocks[0], 1 + a), call(n.blocks[1], 1 + a),
                                      call(n.blocks[2], 1 + a)),
                           operands);
      }
      case Kind::scan: {
        auto step = [&](Arrays carry, Arrays x) {
          const Arrays out = run(body, with(with(carry, x), part(in, a + b, in.size())));
          return std::pair(part(out, 0, a), part(out, a, out.size()));
        };
        auto [carry, ys] =
            ts::scan(step, args, part(in, a, a + b), {.length = n.c, .reverse = n.reverse});
        return with(carry, ys);
      }
      case Kind::fori:
        return ts::fori_loop(
            0, n.c,
            [&](Array t, Arrays carry) {
              return run(body, with(with({t.astype(dtype_)}, carry), part(in, a, in.size())));
            },
            args);
      case Kind::turns: {
        const Array turns = ts::clip(in[0], 0, 3).astype(ts::i32);
        return ts::fori_loop(
            Array(0), turns,
            [&](Array t, Arrays carry) {
              return run(body, with(with({t.astype(dtype_)}, carry), part(in, 1 + a, in.size())));
            },
            part(in, 1, 1 + a));
      }
      case Kind::while_: {
        const Array turns = ts::clip(in[0], 0, 3).astype(ts::i32);
        Arrays carry = with({ts::zeros({}, ts::i32)}, part(in, 1, 1 + a));
        carry = ts::while_loop(
            [&](Arrays c) { return ts::logical_and(c[0] < turns, ts::sum(c[1]) < 50); },
            [&](Arrays c) {
              Arrays next = run(body, with(with({c[0].astype(dtype_)}, part(c, 1, c.size())),
                                           part(in, 1 + a, in.size())));
              return with({c[0] + 1}, next);
            },
            carry);
        return part(carry, 1, carry.size());
      }
      case Kind::pmap: {
        // The number and order of the devices must not change the results.
        std::vector<ts::Device> devices;
        if (n.b)
          for (std::int64_t d = n.c; d-- > 0;)
            devices.push_back(ts::devices()[static_cast<std::size_t>((d + n.b) % 4)]);
        return ts::pmap(call(body, a),
                        {.axis_name = n.names[0],
                         .in_axes = ts::Axes(std::vector<ts::Axes>{axes_of(n.in_axes)}),
                         .out_axes = axes_of(n.out_axes),
                         .devices = devices,
                         .axis_size = n.c})(args);
      }
      case Kind::region: {
        const auto specs = [&](const std::vector<int>& axes) {
          std::vector<ts::SpecTree> all;
          for (int d : axes) {
            std::vector<ts::PartitionSpec::Dim> dims(static_cast<std::size_t>(d + 1), ts::none);
            if (d >= 0) dims.back() = ts::PartitionSpec::Dim(n.names[0]);
            all.emplace_back(ts::PartitionSpec(dims));
          }
          return ts::SpecTree(all);
        };
        return ts::shard_map(call(body, a),
                             {.mesh = ts::Mesh({{n.names[0], n.c}}),
                              .in_specs = ts::SpecTree(std::vector<ts::SpecTree>{specs(n.in_axes)}),
                              .out_specs = specs(n.out_axes)})(args);
      }
      case Kind::vmap:
        return ts::vmap(call(body, a),
                        {.in_axes = ts::Axes(std::vector<ts::Axes>{axes_of(n.in_axes)}),
                         .out_axes = axes_of(n.out_axes),
                         .axis_name = n.names[0],
                         .axis_size = n.c})(args);
      case Kind::grad: {
        auto f = call(body, a);
        return ts::grad([&](Arrays x) { return f(std::move(x))[0]; })(args);
      }
      case Kind::jvp: {
        auto [out, tangents] = ts::jvp(call(body, 2 * a), std::tuple(own(n, args)),
                                       std::tuple(own(n, part(in, a, 2 * a))));
        return with(out, tangents);
      }
      case Kind::vjp: {
        auto f = call(body, a + 1);
        auto [y, back] = ts::vjp([&](Arrays x) { return own(n, f(std::move(x)))[0]; }, args);
        return back(in[a]);
      }
      default: throw std::logic_error("no program inside");
    }
  }

  ts::DType dtype_;
};

}  // namespace devices
