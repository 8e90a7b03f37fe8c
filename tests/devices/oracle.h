// Runs a program on numbers: every member of the mapped axes around, in lock step, each with its
// own. Nothing is shared, nothing is traced; a map over devices and one by vmap are the same here.
// Derivatives are carried forward as infinitesimals. A gradient taken inside a map is that of the
// sum of all members' losses.
//
// A typed region is a map whose values have a type too: whether they may differ along its axis. A
// loss that may not counts once, and so does an argument that may not: its devices have one
// infinitesimal together.
#pragma once

#include "elements.h"
#include "scope.h"

#include <cstddef>
#include <functional>
#include <stdexcept>

namespace devices {

/// Returns the integers of `draw` for a seed, the number that is folded in, and a shape.
using Draws = std::function<std::vector<double>(std::int64_t, std::int64_t, const Extents&)>;

class Oracle {
 public:
  explicit Oracle(Draws draws) : draws_(std::move(draws)) {}

  Values run(const Block& block, const Values& inputs) {
    Values env = inputs;
    for (const Node& n : block.nodes) {
      Values in;
      for (int v : n.in) in.push_back(env[static_cast<std::size_t>(v)]);
      for (Value& v : node(n, in)) {
        for (const auto& m : v.members)
          for (const Number& x : m) exact_ = exact_ && x.fits(whole, fraction);
        env.push_back(std::move(v));
      }
    }
    Values out;
    for (int v : block.outputs) out.push_back(env[static_cast<std::size_t>(v)]);
    return out;
  }
  /// Whether all intermediate numbers, and their sums and products, were short enough for floats.
  bool exact() const { return exact_; }
  int whole = 22, fraction = 12;

 private:
  template <class F>
  Value each(const Extents& shape, F f) {
    Value v{shape, {}};
    for (std::size_t m = 0; m < scope_.members(); ++m) v.members.push_back(f(m));
    return v;
  }
  template <class F>
  Value each_element(const Extents& shape, F f) {
    return each(shape, [&](std::size_t m) {
      Elements e;
      for (std::int64_t i = 0; i < count_of(shape); ++i)
        e.push_back(f(m, static_cast<std::size_t>(i)));
      return e;
    });
  }
  Values node(const Node& n, const Values& in) {
    if (!n.blocks.empty()) return nested(n, in);
    if (n.kind == Kind::numbers) {
      Values out;
      for (const Extents& shape : n.results)
        out.push_back(each_element(shape, [&](std::size_t, std::size_t) { return Number(1); }));
      return out;
    }
    Values out{single(n, in)};
    out[0].varies = varies(n, in);
    return out;
  }

  // The type of a node's result.
  bool varies(const Node& n, const Values& in) const {
    const bool any = std::any_of(in.begin(), in.end(), [](const Value& v) { return v.varies; });
    const bool over = std::any_of(n.names.begin(), n.names.end(), [&](const std::string& name) {
      return static_cast<std::ptrdiff_t>(scope_.axis(name)) == region_;
    });
    switch (n.kind) {
      case Kind::index:
      case Kind::draw: return over;
      case Kind::psum:
      case Kind::pmean:
      case Kind::pmax:
      case Kind::pmin: return over ? !n.groups.empty() : any;
      default: return over || any;
    }
  }
  Value single(const Node& n, const Values& in) {
    const Extents& shape = n.results[0];
    auto element = [&](auto f) {
      return each_element(shape, [&](std::size_t m, std::size_t i) {
        auto x = [&](std::size_t k) -> const Number& { return in[k].members[m][i]; };
        return f(x);
      });
    };
    const auto a = static_cast<double>(n.a);
    switch (n.kind) {
      case Kind::add: return element([](auto x) { return x(0) + x(1); });
      case Kind::sub: return element([](auto x) { return x(0) - x(1); });
      case Kind::mul: return element([](auto x) { return x(0) * x(1); });
      case Kind::scale: return element([&](auto x) { return x(0) * Number(a); });
      case Kind::shift: return element([&](auto x) { return x(0) + Number(a); });
      case Kind::choose: return element([&](auto x) { return x(0).value() > a ? x(0) : x(1); });
      case Kind::tame:
        return element([](auto x) { return x(0).value() * x(0).value() < 4096 ? x(0) : Number(); });
      case Kind::vary: return element([](auto x) { return x(0); });
      case Kind::stop: return element([](auto x) { return Number(x(0).value()); });
      case Kind::adapt:
        return each_element(shape,
                            [&](std::size_t m, std::size_t) { return total(in[0].members[m]); });
      case Kind::sum:
        return each(shape, [&](std::size_t m) {
          Elements s(static_cast<std::size_t>(count_of(shape)));
          const Cut c(in[0].shape, n.a);
          for (std::int64_t k = 0; k < c.extent; ++k) {
            const Elements r = row(in[0].members[m], in[0].shape, n.a, k);
            for (std::size_t i = 0; i < s.size(); ++i) s[i] = s[i] + r[i];
          }
          return s;
        });
      case Kind::spread:
        return each(shape, [&](std::size_t m) {
          return stacked(
              std::vector<Elements>(static_cast<std::size_t>(shape[static_cast<std::size_t>(n.a)]),
                                    in[0].members[m]),
              shape, n.a);
        });
      case Kind::flip:
        return each(shape, [&](std::size_t m) {
          const Cut c(shape, n.a);
          std::vector<Elements> rows;
          for (std::int64_t k = c.extent; k-- > 0;)
            rows.push_back(row(in[0].members[m], shape, n.a, k));
          return stacked(rows, shape, n.a);
        });
      case Kind::index:
        return each(shape, [&](std::size_t m) {
          return Elements{Number(static_cast<double>(scope_.place(m, n.names)))};
        });
      case Kind::draw:
        return each(shape, [&](std::size_t m) {
          Elements e;
          for (double d : draws_(n.a, n.names.empty() ? 5 : scope_.place(m, n.names), shape))
            e.emplace_back(d);
          return e;
        });
      default: return together(n, in[0]);
    }
  }

  Value together(const Node& n, const Value& x) {
    const Extents& shape = n.results[0];
    return each(shape, [&](std::size_t m) {
      const std::vector<std::size_t> peers = scope_.group(n, m);
      std::vector<Elements> all;
      for (std::size_t p : peers) all.push_back(x.members[p]);
      const auto own = std::find(peers.begin(), peers.end(), m) - peers.begin();
      const auto count = static_cast<std::int64_t>(peers.size());
      auto reduced = [&](auto f) {
        Elements r = all[0];
        for (std::size_t p = 1; p < all.size(); ++p)
          for (std::size_t i = 0; i < r.size(); ++i) r[i] = f(r[i], all[p][i]);
        return r;
      };
      auto plus = [](const Number& s, const Number& t) { return s + t; };
      switch (n.kind) {
        case Kind::psum: return reduced(plus);
        case Kind::pmean: {
          Elements r = reduced(plus);
          for (Number& e : r) e = e * Number(1.0 / static_cast<double>(count));
          return r;
        }
        case Kind::pmax:
          return reduced(
              [](const Number& s, const Number& t) { return s.value() < t.value() ? t : s; });
        case Kind::pmin:
          return reduced(
              [](const Number& s, const Number& t) { return t.value() < s.value() ? t : s; });
        case Kind::gather: return n.b ? joined(all, x.shape, n.a) : stacked(all, shape, n.a);
        case Kind::scatter: {
          const Elements sums = reduced(plus);
          return n.b ? slab(sums, x.shape, n.a, own, count) : row(sums, x.shape, n.a, own);
        }
        case Kind::exchange: {
          std::vector<Elements> parts;
          Extents part = x.shape;
          part[static_cast<std::size_t>(n.a)] /= count;
          for (const Elements& e : all) parts.push_back(slab(e, x.shape, n.a, own, count));
          return joined(parts, part, n.b);
        }
        case Kind::permute: {
          const std::int64_t me = scope_.place(m, n.names);
          for (const auto& pair : n.groups)
            if (pair[1] == me) return x.members[scope_.peer(m, n.names, pair[0])];
          return Elements(x.members[m].size());
        }
        case Kind::broadcast: return x.members[scope_.peer(m, n.names, n.a)];
        default: throw std::logic_error("no collective");
      }
    });
  }

  Values nested(const Node& n, const Values& in) {
    const Block& body = n.blocks[0];
    const auto a = static_cast<std::size_t>(n.a), b = static_cast<std::size_t>(n.b);
    switch (n.kind) {
      case Kind::jit:
      case Kind::checkpoint: return run(body, in);
      case Kind::cond: {
        Values operands = part(in, 1, in.size());
        grow(operands, operands, in[0].varies);
        Values out = run(n.blocks.back(), operands);
        grow(out, out, in[0].varies);
        for (std::size_t k = n.blocks.size() - 1; k-- > 0;) {
          std::vector<bool> here;
          for (const auto& m : in[0].members)
            here.push_back(n.blocks.size() == 2
                               ? !(m[0].value() > 0)
                               : std::trunc(m[0].value()) <= static_cast<double>(k));
          const Values other = run(n.blocks[k], operands);
          grow(out, other);
          out = chosen(here, other, out);
        }
        return out;
      }
      case Kind::scan: {
        Values carry = part(in, 0, a), captured = part(in, a + b, in.size());
        std::vector<Values> ys(static_cast<std::size_t>(n.c));
        const auto xs = [&](std::int64_t i) {
          Values x;
          for (std::size_t k = a; k < a + b; ++k) {
            x.push_back(
                each(Extents(in[k].shape.begin() + 1, in[k].shape.end()),
                     [&](std::size_t m) { return row(in[k].members[m], in[k].shape, 0, i); }));
            x.back().varies = in[k].varies;
          }
          return x;
        };
        settle(carry, [&] { return run(body, with(with(carry, xs(0)), captured)); });
        for (std::int64_t t = 0; t < n.c; ++t) {
          const std::int64_t i = n.reverse ? n.c - 1 - t : t;
          const Values x = xs(i);
          Values out = run(body, with(with(carry, x), captured));
          grow(out, carry);
          carry = part(out, 0, a);
          ys[static_cast<std::size_t>(i)] = part(out, a, out.size());
        }
        for (std::size_t k = a; k < n.results.size(); ++k) {
          carry.push_back(each(n.results[k], [&](std::size_t m) {
            std::vector<Elements> rows;
            for (const Values& y : ys) rows.push_back(y[k - a].members[m]);
            return stacked(rows, n.results[k], 0);
          }));
          carry.back().varies = ys[0][k - a].varies;
        }
        return carry;
      }
      case Kind::fori: {
        Values carry = part(in, 0, a);
        const auto step = [&](std::int64_t t) {
          return run(body,
                     with(with({number(static_cast<double>(t))}, carry), part(in, a, in.size())));
        };
        settle(carry, [&] { return step(0); });
        for (std::int64_t t = 0; t < n.c; ++t) {
          Values next = step(t);
          grow(next, carry);
          carry = std::move(next);
        }
        return carry;
      }
      case Kind::turns:
      case Kind::while_: {
        // A member that has finished keeps its carry and its count while others continue.
        Values carry = part(in, 1, 1 + a), turn = {number(0)};
        for (bool grew = region_ >= 0; grew;) {
          const bool predicate =
              in[0].varies || turn[0].varies || (n.kind == Kind::while_ && carry[0].varies);
          const Values next = run(body, with(with(turn, carry), part(in, 1 + a, in.size())));
          grew = grow(carry, next, predicate);
          grew = grow(turn, turn, predicate) || grew;
        }
        for (;;) {
          std::vector<bool> on;
          for (std::size_t m = 0; m < scope_.members(); ++m)
            on.push_back(turn[0].members[m][0].value() <
                             std::trunc(std::clamp(in[0].members[m][0].value(), 0.0, 3.0)) &&
                         (n.kind == Kind::turns || total(carry[0].members[m]).value() < 50));
          if (std::none_of(on.begin(), on.end(), [](bool o) { return o; })) return carry;
          const Values before = carry;
          carry = chosen(on, run(body, with(with(turn, carry), part(in, 1 + a, in.size()))), carry);
          grow(carry, before);
          Values next = turn;
          for (auto& m : next[0].members) m[0] = m[0] + 1;
          turn = chosen(on, next, turn);
        }
      }
      case Kind::pmap:
      case Kind::region:
      case Kind::vmap: return map(n, in);
      case Kind::grad:
        return gradient(part(in, 0, a), [&](const Values& args) {
          return run(body, with(args, part(in, a, in.size())))[0];
        });
      case Kind::vjp:
        return gradient(part(in, 0, a), [&](const Values& args) {
          Value y = run(body, with(args, part(in, a + 1, in.size())))[0];
          const Value &ct = in[a], x = y;
          y = each({}, [&](std::size_t m) {
            Number sum;
            for (std::size_t i = 0; i < x.members[m].size(); ++i)
              sum = sum + x.members[m][i] * ct.members[m][i];
            return Elements{sum};
          });
          y.varies = !n.names.empty() || x.varies;
          return y;
        });
      case Kind::jvp: {
        const std::uint32_t derivative = ++derivatives_, id = derivative << 16;
        Values args = part(in, 0, a);
        for (std::size_t k = 0; k < a; ++k)
          for (std::size_t m = 0; m < scope_.members(); ++m)
            for (std::size_t i = 0; i < args[k].members[m].size(); ++i)
              args[k].members[m][i] = args[k].members[m][i].plus(in[a + k].members[m][i], id);
        grow(args, args, !n.names.empty());
        Values out = run(body, with(args, part(in, 2 * a, in.size()))), tangents = out;
        for (Value& v : tangents)
          for (auto& m : v.members)
            for (Number& e : m) e = e.before(id);
        for (Value& v : out)
          for (auto& m : v.members)
            for (Number& e : m) e = e.without(derivative);
        return with(out, tangents);
      }
      default: throw std::logic_error("no program inside");
    }
  }
  // A carry that varies after an iteration varies from the beginning.
  template <class F>
  void settle(Values& carry, F step) {
    while (region_ >= 0 && grow(carry, step())) {
    }
  }

  // The gradient of the sum of the losses that `f` returns.
  template <class F>
  Values gradient(Values args, F f) {
    const std::uint32_t derivative = ++derivatives_;
    std::uint32_t next = derivative << 16;
    // By argument and member. If an argument is the same along the region, all members share the
    // first one's infinitesimal.
    std::vector<std::vector<std::uint32_t>> first;
    for (Value& v : args) {
      std::vector<std::uint32_t>& own = first.emplace_back();
      for (std::size_t m = 0; m < v.members.size(); ++m) {
        const std::size_t as = v.varies ? m : shared(m);
        own.push_back(as == m ? next : own[as]);
        std::uint32_t id = own.back();
        for (Number& e : v.members[m]) e = e.plus(1, id++);
        next = std::max(next, id);
      }
    }
    const Value loss = f(args);
    Number sum;
    for (std::size_t m = 0; m < loss.members.size(); ++m)
      if (loss.varies || shared(m) == m) sum = sum + loss.members[m][0];
    Values out;
    for (std::size_t k = 0; k < args.size(); ++k) {
      out.push_back(each(args[k].shape, [&](std::size_t m) {
        Elements e;
        std::uint32_t id = first[k][m];
        for (std::size_t i = 0; i < args[k].members[m].size(); ++i) e.push_back(sum.before(id++));
        return e;
      }));
      out.back().varies = args[k].varies;
    }
    return out;
  }
  // The first member along the region among those with the same other coordinates.
  std::size_t shared(std::size_t member) const {
    return region_ < 0 ? member : scope_.peer(member, {scope_.name(region_)}, 0);
  }

  Value number(double x) {
    return each({}, [&](std::size_t) { return Elements{Number(x)}; });
  }

  Values map(const Node& n, const Values& in) {
    const std::size_t outside = scope_.members();
    const auto size = static_cast<std::size_t>(n.c);
    scope_.enter(n.names[0], n.c);
    const bool typed = n.kind == Kind::region;
    if (typed) region_ = scope_.innermost();
    Values inside;
    for (std::size_t k = 0; k < in.size(); ++k) {
      const int axis = k < n.in_axes.size() ? n.in_axes[k] : -1;
      inside.push_back(each(n.blocks[0].inputs[k], [&](std::size_t m) {
        const Elements& x = in[k].members[m / size];
        const auto at = static_cast<std::int64_t>(m % size);
        if (axis < 0) return x;
        return typed ? slab(x, in[k].shape, axis, at, n.c) : row(x, in[k].shape, axis, at);
      }));
      inside.back().varies = typed ? axis >= 0 : in[k].varies;
    }
    const Values results = run(n.blocks[0], inside);
    scope_.leave();
    if (typed) region_ = -1;
    Values out;
    for (std::size_t k = 0; k < results.size(); ++k) {
      Value v{n.results[k], {}};
      for (std::size_t m = 0; m < outside; ++m) {
        const auto begin = results[k].members.begin() + static_cast<std::ptrdiff_t>(m * size);
        const std::vector<Elements> all{begin, begin + static_cast<std::ptrdiff_t>(size)};
        v.members.push_back(n.out_axes[k] < 0 ? *begin
                            : typed           ? joined(all, results[k].shape, n.out_axes[k])
                                              : stacked(all, n.results[k], n.out_axes[k]));
      }
      v.varies = !typed && results[k].varies;
      out.push_back(std::move(v));
    }
    return out;
  }

  Draws draws_;
  Scope scope_;
  std::ptrdiff_t region_ = -1;  // the index in scope_ of the typed region's axis; -1: none
  std::uint32_t derivatives_ = 0;
  bool exact_ = true;
};

}  // namespace devices
