#include "explain/work.h"

#include "codegen/tape/step_work.h"
#include "explain/live.h"
#include "ir/collective_attrs.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "ir/region_attrs.h"

#include <algorithm>

namespace tessera::inline v0::explain {

namespace {

struct Around {
  std::int64_t times = 1;
  bool in_while = false, in_branch = false;
};

class Walk {
 public:
  Walk(const ProgramOnMesh& d, const PlanOptions& options, bool spans)
      : d_(d), options_(options), spans_(spans), sites_{{&*d.mesh, &d.atoms, &d.links}} {
    work_.along.resize(d.mesh->axes.size());
  }

  void program(const Program& p, const Around& around) {
    const std::vector<bool> is_stored = stored(p);
    const Messages messages(p, d_.message_size);
    for (std::size_t i = 0; i < messages.count(); ++i) {
      const std::uint32_t number = messages[i][0];
      const Equation& eqn = p.equations[number];
      if (const std::optional<Flow> flow = flow_of(eqn)) {
        around_.push_back(number);
        if (flow->kind == Flow::Kind::region && !d_.made)
          region(*flow, RegionAttrs(eqn.attrs).mesh, around);
        else
          nested(*flow, around);
        around_.pop_back();
      } else if (eqn.op->lowering == Lowering::collective && !eqn.op->position)
        collective(p, messages[i], around);
      else
        plain(p, eqn, around, is_stored);
    }
  }
  Work result() { return std::move(work_); }

 private:
  // The mesh that collectives run over.
  struct Site {
    const DeviceMesh* mesh;
    const spmd::AtomMesh* atoms;
    const spmd::Links* links;
  };

  void region(const Flow& flow, const MeshRef& mesh, const Around& around) {
    if (mesh == d_.mesh) return nested(flow, around);
    const spmd::AtomMesh atoms(*mesh, spmd::AtomMesh::Parts::axes);
    const spmd::Links links = links_of(*mesh, nullptr, options_);
    sites_.push_back({&*mesh, &atoms, &links});
    nested(flow, around);
    sites_.pop_back();
  }
  // The innermost mesh with the axis, else the plan's.
  const Site& site_of(const std::string& axis) const {
    for (std::size_t i = sites_.size(); i-- > 1;)
      if (sites_[i].mesh->find(axis) >= 0) return sites_[i];
    return sites_.front();
  }

  void nested(const Flow& flow, Around around) {
    around.times *= flow.length;
    around.in_while |= flow.kind == Flow::Kind::loop;
    if (flow.kind != Flow::Kind::branch) {
      inside(flow.programs, around, [] {});
      return;
    }
    around.in_branch = true;
    const End before = end();
    std::optional<End> costliest;
    std::vector<PlannedSpan> behind;  // the costliest's spans after `before`
    inside(flow.programs, around, [&] {
      if (!costliest || work_.compute_seconds > costliest->compute_seconds) {
        costliest = end();
        costliest->last = before.spans > 0 ? work_.spans[before.spans - 1] : PlannedSpan{};
        behind.assign(work_.spans.begin() + static_cast<std::ptrdiff_t>(before.spans),
                      work_.spans.end());
      }
      back_to(before, before.spans);
    });
    back_to(*costliest, before.spans);
    work_.spans.insert(work_.spans.end(), behind.begin(), behind.end());
  }

  template <class F>
  void inside(const Programs& programs, const Around& around, F&& done) {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      around_.push_back(static_cast<std::uint32_t>(i));
      program(*programs[i], around);
      around_.pop_back();
      done();
    }
  }

  // The accumulated figures, to which only the costliest branch contributes.
  struct End {
    double flops, traffic, compute_seconds, longest;
    std::size_t spans;
    PlannedSpan last;  // it grows if more computation follows
  };
  End end() const {
    return {work_.flops,           work_.traffic,
            work_.compute_seconds, longest_,
            work_.spans.size(),    work_.spans.empty() ? PlannedSpan{} : work_.spans.back()};
  }
  void back_to(const End& e, std::size_t spans) {
    work_.flops = e.flops;
    work_.traffic = e.traffic;
    work_.compute_seconds = e.compute_seconds;
    longest_ = e.longest;
    work_.spans.resize(spans);
    if (spans > 0) work_.spans.back() = e.last;
  }

  // One message carries the values of all these equations, so its latency counts once.
  void collective(const Program& p, std::span<const std::uint32_t> message, const Around& around) {
    const Equation& eqn = p.equations[message[0]];
    Emitted e;
    e.kind = tape::kind_of(eqn.op->exchange);
    e.axes = CollectiveAttrs(eqn.attrs).axes;
    e.times = around.times;
    e.in_while = around.in_while;
    e.in_branch = around.in_branch;
    const Site& site = site_of(e.axes.empty() ? std::string() : e.axes[0]);
    std::vector<const Equation*> equations;
    for (std::uint32_t k : message) {
      const Equation* one = &p.equations[k];
      equations.push_back(one);
      const std::int64_t bytes =
          tape::received_along(p, std::span(&one, 1), *site.atoms, *site.links).bytes;
      e.values.push_back({one, p.types[one->inputs[0]], bytes});
      if (!spans_) continue;
      e.values.back().place = around_;
      e.values.back().place.push_back(k);
    }
    const tape::Received received = tape::received_along(p, equations, *site.atoms, *site.links);
    e.bytes = received.bytes;
    for (const spmd::Crossing& c : received.along) {
      if (&site == &sites_.front()) {
        AlongAxis& along = work_.along[static_cast<std::size_t>(c.axis)];
        along.bytes += c.bytes * static_cast<double>(e.times);
        along.seconds += c.seconds * static_cast<double>(e.times);
      }
      e.seconds += c.seconds;
    }
    const double seconds = e.seconds * static_cast<double>(e.times);
    std::string lane;
    for (const std::string& axis : e.axes) lane += (lane.empty() ? "" : ", ") + axis;
    span({lane, spmd::name_of(e.kind), to_string(eqn.loc), 0, seconds});
    work_.moved += e.bytes * e.times;
    work_.communication_seconds += seconds;
    work_.collectives.push_back(std::move(e));
  }

  void plain(const Program& p, const Equation& eqn, const Around& around,
             const std::vector<bool>& is_stored) {
    double traffic = 0;
    for (const std::vector<Var>& ends : {eqn.inputs, eqn.outputs})
      for (Var v : ends)
        if (is_stored[v]) traffic += static_cast<double>(p.types[v].bytes());
    const Cost cost = tape::cost_of(p, eqn);
    // The cost of an op that reads only a few elements of a large operand is lower.
    traffic = std::min(traffic, cost.bytes);
    const auto times = static_cast<double>(around.times);
    const double seconds =
        times * std::max(cost.flops / options_.peak_flops, traffic / options_.memory_bandwidth);
    work_.flops += times * cost.flops;
    work_.traffic += times * traffic;
    work_.compute_seconds += seconds;
    PlannedSpan next{"compute", {}, to_string(eqn.loc), 0, seconds};
    next.name = eqn.op->name;
    span(std::move(next));
  }

  // Appends a span, or lengthens the last one if both compute for the same source line; the name is
  // that of the longest then.
  void span(PlannedSpan next) {
    if (!spans_ || next.seconds == 0) return;
    if (!work_.spans.empty()) {
      PlannedSpan& last = work_.spans.back();
      if (next.lane == "compute" && last.lane == next.lane && last.line == next.line) {
        if (next.seconds > longest_) {
          last.name = next.name;
          longest_ = next.seconds;
        }
        last.seconds += next.seconds;
        return;
      }
    }
    longest_ = next.seconds;
    if (!work_.spans.empty()) next.start = work_.spans.back().start + work_.spans.back().seconds;
    work_.spans.push_back(std::move(next));
  }

  const ProgramOnMesh& d_;
  const PlanOptions& options_;
  bool spans_;
  std::vector<Site> sites_;            // outermost first; the first is the plan's
  std::vector<std::uint32_t> around_;  // as Moved::place
  Work work_;
  double longest_ = 0;  // seconds of the longest equation in the last span
};

}  // namespace

Work work_of(const ProgramOnMesh& divided, const PlanOptions& options, bool spans) {
  Walk walk(divided, options, spans);
  walk.program(*divided.simplified, {});
  return walk.result();
}

}  // namespace tessera::inline v0::explain
