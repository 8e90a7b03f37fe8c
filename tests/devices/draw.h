// Draws random programs: maps over devices and by vmap around and inside derivatives, loops,
// branches, jit and checkpoint, in any nesting, with collectives wherever all members execute them.
#pragma once

#include "draw_values.h"

#include <algorithm>

namespace devices {

class Draw : public DrawValues {
 public:
  using DrawValues::DrawValues;

  Block program() {
    Around around;
    return block(around, {{4, 2}, {2, 4}, {4}, {}}, 4 + pick(6), [&](Block& b) {
      for (const Extents& shape : {Extents{4, 2}, Extents{2}}) b.outputs.push_back(last(b, shape));
      std::vector<int> all;
      for (int v = 4; v < b.size(); ++v) all.push_back(v);
      b.outputs.push_back(mixed(b, all, {}));
    });
  }

 private:
  struct Axis {
    std::string name;
    std::int64_t size;
    bool device;
    int gradients;  // around the map
  };
  struct Around {
    std::vector<Axis> axes;  // innermost last
    std::int64_t taken = 1;  // devices of the maps around
    bool device = false;     // inside a pmap or a region
    bool region = false;     // inside a region
    bool lonely = false;     // under a predicate that may differ between members
    bool repeated = false;   // in a loop or branch of a region, where types settle during tracing
    int gradients = 0;       // around
    int depth = 0, derivatives = 0;
  };
  static constexpr std::int64_t kDevices = 4;  // a region uses all; maps inside share them
  static constexpr const char* kRegion = "r";

  template <class F>
  Block block(const Around& around, std::vector<Extents> inputs, int nodes, F&& outputs) {
    Block b;
    b.inputs = std::move(inputs);
    if (b.inputs.empty()) emit(b, Kind::numbers, {}, {{2}});
    while (nodes-- > 0) node(b, around);
    outputs(b);
    return b;
  }

  void node(Block& b, const Around& around) {
    const int what = pick(20);
    if (around.depth < 4 && what < 3) return map(b, around);
    if (around.depth < 4 && what < 6) return wrapped(b, around);
    if (around.depth < 4 && what < 9) return control(b, around);
    if (!around.axes.empty() && what < 15) return together(b, around);
    alone(b, around);
  }

  void alone(Block& b, const Around& around) {
    const int x = value(b);
    const Extents shape = b.shape(x);
    const int rank = static_cast<int>(shape.size());
    switch (pick(12)) {
      case 0: emit(b, Kind::add, {x, of_shape(b, shape)}, {shape}); return;
      case 1: emit(b, Kind::sub, {x, of_shape(b, shape)}, {shape}); return;
      case 2:
      case 3: {
        const int y = emit(b, Kind::mul, {x, of_shape(b, shape)}, {shape});
        emit(b, Kind::tame, {y}, {shape});
        return;
      }
      case 4: emit(b, Kind::scale, {x}, {shape}, one_in(2) ? -1 : 2); return;
      case 5: emit(b, Kind::shift, {x}, {shape}, pick(5) - 2); return;
      case 6: emit(b, Kind::choose, {x, of_shape(b, shape)}, {shape}, pick(3) - 1); return;
      case 7:
        if (rank) {
          const int axis = pick(rank);
          Extents rest = shape;
          rest.erase(rest.begin() + axis);
          emit(b, Kind::sum, {x}, {rest}, axis);
        }
        return;
      case 8:
        if (count_of(shape) <= 8 && rank < 3) {
          const int axis = pick(rank + 1);
          Extents wide = shape;
          wide.insert(wide.begin() + axis, one_in(2) ? 2 : 4);
          emit(b, Kind::spread, {x}, {wide}, axis);
        }
        return;
      case 9:
        if (rank) emit(b, Kind::flip, {x}, {shape}, pick(rank));
        return;
      case 10:
        if (around.region && one_in(2)) {
          Node n;
          n.kind = Kind::vary;
          n.in = {x};
          n.results = {shape};
          n.names = {kRegion};
          n.a = pick(2);
          emit(b, std::move(n));
          return;
        }
        emit(b, Kind::stop, {x}, {shape});
        return;
      default: emit(b, Kind::draw, {}, {shape}, pick(100)); return;
    }
  }

  // The axes that collectives may name here: the innermost of each name. If members may take
  // different branches, those of a vmap execute all of them, unless a derivative around has split
  // them.
  std::vector<Axis> visible(const Around& around, bool all = false) {
    std::vector<Axis> v;
    for (auto a = around.axes.rbegin(); a != around.axes.rend(); ++a) {
      const bool hidden =
          std::any_of(around.axes.rbegin(), a, [&](const Axis& x) { return x.name == a->name; });
      if (!hidden && (all || !around.lonely || (!a->device && a->gradients == around.gradients)))
        v.push_back(*a);
    }
    return v;
  }

  void together(Block& b, const Around& around) {
    if (one_in(4)) {  // values that a member knows about itself
      const std::vector<Axis> axes = visible(around, true);
      Node n;
      n.kind = one_in(2) ? Kind::index : Kind::draw;
      n.names = {any(axes).name};
      if (const std::string& other = any(axes).name; one_in(4) && other != n.names[0])
        n.names.push_back(other);
      n.results = {n.kind == Kind::draw ? b.shape(value(b)) : Extents{}};
      n.a = pick(100);
      emit(b, std::move(n));
      return;
    }
    const std::vector<Axis> axes = visible(around);
    if (axes.empty()) return alone(b, around);
    const Axis axis = any(axes);
    Node n;
    n.names = {axis.name};
    const int x = value(b);
    n.in = {x};
    Extents shape = b.shape(x);
    const int rank = static_cast<int>(shape.size());
    std::int64_t members = axis.size;
    static constexpr Kind kKinds[] = {Kind::psum,    Kind::psum,     Kind::pmean,   Kind::pmax,
                                      Kind::pmin,    Kind::gather,   Kind::scatter, Kind::exchange,
                                      Kind::permute, Kind::broadcast};
    n.kind = kKinds[pick(10)];
    const bool groups = axis.device && axis.size > 1 && n.kind != Kind::permute &&
                        n.kind != Kind::broadcast && one_in(3);
    if (groups) {
      static const std::vector<std::vector<std::vector<std::int64_t>>> kOfFour = {
          {{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}, {{3, 0}, {1, 2}}, {{2}, {0}, {3}, {1}}};
      n.groups = axis.size == 4 ? any(kOfFour) : std::vector<std::vector<std::int64_t>>{{0}, {1}};
      if (axis.size == 4 && one_in(4) && (n.kind == Kind::psum || n.kind == Kind::pmax))
        n.groups = {{0, 3, 1}, {2}};
      members = static_cast<std::int64_t>(n.groups[0].size());
    } else if (const Axis& other = any(axes); other.name != axis.name && one_in(2) &&
                                              (n.kind <= Kind::pmin || n.kind == Kind::permute)) {
      n.names.push_back(other.name);
      members *= other.size;
    }
    switch (n.kind) {
      case Kind::pmax:
      case Kind::pmin: n.in = {emit(b, Kind::stop, {x}, {shape})}; break;
      case Kind::gather:
        if (count_of(shape) * members > kMost) return;
        n.b = rank && one_in(2);
        n.a = pick(n.b ? rank : rank + 1);
        if (n.b)
          shape[static_cast<std::size_t>(n.a)] *= members;
        else
          shape.insert(shape.begin() + n.a, members);
        break;
      case Kind::scatter:
      case Kind::exchange: {
        std::vector<int> fit;
        const bool tiled = n.kind == Kind::exchange || one_in(2);
        for (int d = 0; d < rank; ++d)
          if (tiled ? shape[static_cast<std::size_t>(d)] % members == 0
                    : shape[static_cast<std::size_t>(d)] == members)
            fit.push_back(d);
        if (fit.empty()) return;
        n.a = any(fit);
        if (tiled)
          shape[static_cast<std::size_t>(n.a)] /= members;
        else
          shape.erase(shape.begin() + n.a);
        n.b = tiled;
        if (n.kind == Kind::exchange) {
          n.b = pick(rank);
          shape[static_cast<std::size_t>(n.b)] *= members;
        }
        break;
      }
      case Kind::permute: {
        std::vector<std::int64_t> to;
        for (std::int64_t d = 0; d < members; ++d) to.push_back(d);
        std::shuffle(to.begin(), to.end(), rng_);
        const bool partial = one_in(3);
        for (std::int64_t d = 0; d < members; ++d)
          if (!partial || one_in(2)) n.groups.push_back({d, to[static_cast<std::size_t>(d)]});
        break;
      }
      case Kind::broadcast: n.a = pick(static_cast<int>(axis.size)); break;
      default: break;
    }
    n.results = {shape};
    emit(b, std::move(n));
  }

  void map(Block& b, const Around& around) {
    if (!around.device && one_in(3)) return region(b, around);
    const bool device = !around.region && one_in(around.device ? 4 : 2);
    const int first = with_axes(b);
    if (first < 0) return;
    Node n;
    n.kind = device ? Kind::pmap : Kind::vmap;
    if (device && !around.device && one_in(4)) n.b = 1 + pick(4);
    const Extents shape = b.shape(first);
    const int axis = pick(static_cast<int>(shape.size()));
    n.c = shape[static_cast<std::size_t>(axis)];
    if (n.c != 1 && n.c != 2 && n.c != 4) return;  // the mean over another number is not exact
    if (device && n.c * around.taken > kDevices) return;
    n.in = {first};
    n.in_axes = {axis};
    for (int v : some(b, 0, 2)) {
      const Extents s = b.shape(v);
      const auto at = std::find(s.begin(), s.end(), n.c) - s.begin();
      n.in.push_back(v);
      n.in_axes.push_back(at < static_cast<std::ptrdiff_t>(s.size()) ? static_cast<int>(at) : -1);
    }
    n.a = static_cast<std::int64_t>(n.in.size());
    n.in = join(n.in, some(b, 0, 2));
    Around inside = around;
    ++inside.depth;
    inside.device = around.device || device;
    if (device) inside.taken *= n.c;
    // The name is mostly a new one; a name inside hides the same name outside.
    std::string name = "i";
    for (const char* free : {"k", "j", "i"})
      if (std::none_of(around.axes.begin(), around.axes.end(),
                       [&](const Axis& a) { return a.name == free; }))
        name = free;
    n.names = {one_in(10) ? "i" : name};
    inside.axes.push_back({n.names[0], n.c, device, around.gradients});
    std::vector<Extents> inputs = shapes(b, n.in);
    for (std::size_t k = 0; k < n.in_axes.size(); ++k)
      if (n.in_axes[k] >= 0) inputs[k].erase(inputs[k].begin() + n.in_axes[k]);
    n.blocks.push_back(block(inside, inputs, 1 + pick(5), [&](Block& body) {
      for (int count = 1 + pick(3); count > 0; --count) {
        int v = value(body);
        Extents s = body.shape(v);
        if (device && one_in(4)) {  // the same on all devices
          Node sum;
          sum.kind = Kind::psum;
          sum.in = {v};
          sum.results = {s};
          sum.names = n.names;
          v = emit(body, std::move(sum));
          n.out_axes.push_back(-1);
        } else {
          if (count_of(s) * n.c > kMost || s.size() > 2) {
            s = {};
            v = last(body, s);
          }
          n.out_axes.push_back(pick(static_cast<int>(s.size()) + 1));
          s.insert(s.begin() + n.out_axes.back(), n.c);
        }
        body.outputs.push_back(v);
        n.results.push_back(s);
      }
    }));
    emit(b, std::move(n));
  }

  // A typed shard_map over all devices; blocks keep the number of dimensions.
  void region(Block& b, const Around& around) {
    Node n;
    n.kind = Kind::region;
    n.c = kDevices;
    n.names = {kRegion};
    n.in = some(b, 1, 3);
    n.a = static_cast<std::int64_t>(n.in.size());
    std::vector<Extents> inputs = shapes(b, n.in);
    for (Extents& s : inputs) {
      std::vector<int> fit{-1};
      for (int d = 0; d < static_cast<int>(s.size()); ++d)
        if (s[static_cast<std::size_t>(d)] % n.c == 0) fit.insert(fit.end(), 2, d);
      n.in_axes.push_back(any(fit));
      if (n.in_axes.back() >= 0) s[static_cast<std::size_t>(n.in_axes.back())] /= n.c;
    }
    const std::vector<int> captured = some(b, 0, 2);
    for (const Extents& s : shapes(b, captured)) inputs.push_back(s);
    n.in = join(n.in, captured);
    Around inside = around;
    ++inside.depth;
    inside.device = inside.region = true;
    inside.axes.push_back({kRegion, n.c, true, around.gradients});
    n.blocks.push_back(block(inside, inputs, 2 + pick(5), [&](Block& body) {
      for (int count = 1 + pick(3); count > 0; --count) {
        int v = value(body);
        Extents s = body.shape(v);
        if (s.empty() || one_in(3) || count_of(s) * n.c > kMost) {  // the same on all devices
          Node sum;
          sum.kind = Kind::psum;
          sum.in = {v};
          sum.results = {s};
          sum.names = n.names;
          v = emit(body, std::move(sum));
          n.out_axes.push_back(-1);
        } else {
          n.out_axes.push_back(pick(static_cast<int>(s.size())));
          s[static_cast<std::size_t>(n.out_axes.back())] *= n.c;
        }
        body.outputs.push_back(v);
        n.results.push_back(s);
      }
    }));
    emit(b, std::move(n));
  }

  void wrapped(Block& b, const Around& around) {
    static constexpr Kind kKinds[] = {Kind::grad, Kind::grad, Kind::jvp,
                                      Kind::vjp,  Kind::jit,  Kind::checkpoint};
    Node n;
    n.kind = kKinds[around.repeated ? 4 + pick(2) : pick(6)];
    Around inside = around;
    ++inside.depth;
    const bool back = n.kind == Kind::grad || n.kind == Kind::vjp;
    if (back || n.kind == Kind::jvp) ++inside.derivatives;
    if (around.region && (n.kind == Kind::jvp || n.kind == Kind::vjp)) n.names = {kRegion};
    if (inside.derivatives > 2) return;
    n.in = some(b, 1, 2);
    n.a = static_cast<std::int64_t>(n.in.size());
    std::vector<int> rest = some(b, 0, 2);
    const std::vector<Extents> inputs = shapes(b, join(n.in, rest));
    if (n.kind == Kind::jvp)
      for (std::size_t k = 0; k < static_cast<std::size_t>(n.a); ++k) {
        const Extents shape = b.shape(n.in[k]);
        n.in.push_back(of_shape(b, shape));
      }
    int ct = -1;
    if (n.kind == Kind::vjp) {
      ct = value(b);
      n.in.push_back(ct);
    }
    n.in = join(n.in, rest);
    inside.gradients += back;
    n.blocks.push_back(block(inside, inputs, 2 + pick(5), [&](Block& body) {
      if (n.kind == Kind::vjp) {
        body.outputs = {mixed(body, latest(body), b.shape(ct))};
        for (std::int64_t k = 0; k < n.a; ++k)
          n.results.push_back(inputs[static_cast<std::size_t>(k)]);
        return;
      }
      if (n.kind == Kind::grad) {
        body.outputs = {mixed(body, latest(body), {})};
        for (std::int64_t k = 0; k < n.a; ++k)
          n.results.push_back(inputs[static_cast<std::size_t>(k)]);
        return;
      }
      body.outputs = some(body, 1, 2);
      n.results = shapes(body, body.outputs);
      if (n.kind == Kind::jvp)
        for (int v : body.outputs) n.results.push_back(body.shape(v));
    }));
    emit(b, std::move(n));
  }

  // Returns a number that is the same for all members.
  int shared_number(Block& b, const Around& around) {
    int v = emit(b, Kind::stop, {last(b, {})}, {{}});
    for (const Axis& axis : visible(around)) {
      Node sum;
      sum.kind = one_in(2) ? Kind::psum : Kind::pmax;
      sum.in = {v};
      sum.results = {{}};
      sum.names = {axis.name};
      v = emit(b, std::move(sum));
    }
    return v;
  }

  void control(Block& b, const Around& around) {
    static constexpr Kind kKinds[] = {Kind::cond, Kind::cond,  Kind::scan,
                                      Kind::fori, Kind::turns, Kind::while_};
    Node n;
    n.kind = kKinds[pick(6)];
    Around inside = around;
    ++inside.depth;
    inside.repeated = around.region;
    if (n.kind == Kind::cond || n.kind == Kind::turns || n.kind == Kind::while_) {
      const bool shared = one_in(2) && visible(around).size() == around.axes.size();
      n.in = {shared ? shared_number(b, around) : of_shape(b, {})};
      inside.lonely = around.lonely || !shared || n.kind == Kind::while_;
    }
    std::vector<int> carry = some(b, 1, 2), rest = some(b, 0, 2), xs;
    if (n.kind == Kind::scan) {
      n.reverse = one_in(2);
      n.c = 1 + pick(3);
      if (const int x = with_axes(b); x >= 0 && one_in(2)) {
        xs = {x};
        n.c = b.shape(x)[0];
        n.b = 1;
      }
    }
    if (n.kind == Kind::fori) n.c = around.region ? 1 + pick(3) : pick(4);
    const bool loop = n.kind == Kind::turns || n.kind == Kind::while_;
    if (loop && around.gradients) {  // such a loop has no gradient
      n.in[0] = emit(b, Kind::stop, {n.in[0]}, {{}});
      for (std::vector<int>* values : {&carry, &rest})
        for (int& v : *values) {
          const Extents shape = b.shape(v);
          v = emit(b, Kind::stop, {v}, {shape});
        }
    }
    n.a = static_cast<std::int64_t>(carry.size());
    std::vector<Extents> inputs = shapes(b, join(join(carry, xs), rest));
    for (std::size_t k = 0; k < xs.size(); ++k) {
      Extents& s = inputs[carry.size() + k];
      s.erase(s.begin());
    }
    if (loop || n.kind == Kind::fori) inputs.insert(inputs.begin(), Extents{});
    n.in = join(join(join(n.in, carry), xs), rest);
    const bool branches = n.kind == Kind::cond;
    if (branches && one_in(2))
      n.results = {b.shape(value(b))};
    else
      n.results = shapes(b, carry);
    const bool ys = n.kind == Kind::scan && one_in(2);
    Extents y = ys ? any(inputs) : Extents{};
    for (int count = branches ? 2 + pick(2) : 1; count > 0; --count)
      n.blocks.push_back(block(inside, inputs, 1 + pick(3), [&](Block& body) {
        for (std::size_t k = 0; k < n.results.size(); ++k)
          body.outputs.push_back(changed(body, n.results[k]));
        if (ys) body.outputs.push_back(last(body, y));
      }));
    if (ys) {
      y.insert(y.begin(), n.c);
      n.results.push_back(y);
    }
    emit(b, std::move(n));
  }
};

}  // namespace devices
