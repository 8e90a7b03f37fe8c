// Plans emitted as per-device programs and run, against blocks cut from the whole.
#include "specs.h"
#include "spmd/compiled.h"
#include "spmd/place/boxes.h"
#include "spmd/placements.h"
#include "spmd/region/reference_collectives.h"
#include "spmd/reshard/emit.h"
#include "transform/autodiff.h"

#include <numeric>

using namespace tessera;
using namespace tessera::spmd;
using namespace tessera::testing;

namespace {

using Parts = std::vector<std::vector<HostArray>>;  // by device, one result each

AxisSet names_of(const AtomMesh& mesh, AtomSet atoms) {
  AxisSet names;
  for (Atom a : atoms.atoms()) names.insert(mesh.atom_mesh().axes[a]);
  return names;
}

ProgramPtr program_of(const AtomMesh& mesh, const Type& whole, const std::vector<Reshard>& plans) {
  Builder b("reshard");
  Type t(whole.dtype, mesh.local_shape(whole.shape, plans[0].from));
  t.varying = names_of(mesh, plans[0].from.used());
  Value x = b.input(t);
  for (const Reshard& plan : plans) x = emit_reshard(b, mesh, plan, x);
  return b.finish(std::vector<Value>{x});
}

// Cuts the parts from the whole. If they are partial, the other devices hold small numbers and the
// first holds the rest: the difference for sums, the whole value for maxima.
Parts parts_of(const AtomMesh& mesh, const HostArray& whole, const Placement& p) {
  const Spec spec = mesh.atom_spec(p);
  const Atoms partial = p.unreduced.atoms();
  const std::int64_t count = mesh.size(partial);
  Parts parts;
  for (std::int64_t device = 0; device < mesh.mesh().size(); ++device) {
    HostArray part = block_of(whole, spec, mesh.atom_mesh(), device);
    const std::int64_t k = mesh.index_along(device, partial);
    dispatch(part.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
        for (std::int64_t i = 0; count > 1 && i < part.count(); ++i) {
          T& v = part.data<T>()[i];
          if (p.combiner == Combiner::max) {
            if ((i + k) % count != 0) v -= static_cast<T>(1 + (i + k) % 3);
          } else if (k > 0) {
            v = static_cast<T>((i + 2 * k) % 5);
          } else {
            for (std::int64_t o = 1; o < count; ++o) v -= static_cast<T>((i + 2 * o) % 5);
          }
        }
    });
    parts.push_back({part});
  }
  return parts;
}

// The value that partial results stand for, on every device.
Parts reduced(const AtomMesh& mesh, Parts parts, const Placement& p) {
  if (p.unreduced.empty()) return parts;
  const Atoms partial = p.unreduced.atoms();
  Parts sums;
  for (std::int64_t device = 0; device < std::ssize(parts); ++device) {
    const std::int64_t base = device - mesh.position_at(mesh.index_along(device, partial), partial);
    const HostArray& like = parts[0][0];
    HostArray sum(like.dtype, like.shape);
    dispatch(sum.dtype, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
        for (std::int64_t i = 0; i < sum.count(); ++i)
          for (std::int64_t k = 0; k < mesh.size(partial); ++k) {
            const T v = parts[static_cast<std::size_t>(base + mesh.position_at(k, partial))][0]
                            .data<T>()[i];
            T& s = sum.data<T>()[i];
            s = k == 0 ? v : p.combiner == Combiner::max ? std::max(s, v) : static_cast<T>(s + v);
          }
    });
    sums.push_back({sum});
  }
  return sums;
}

// The bytes that each device receives, computed from the types of the collectives alone.
std::int64_t counted_bytes(const AtomMesh& mesh, const Program& p) {
  std::int64_t bytes = 0;
  for (const Equation& e : p.equations) {
    if (e.op->exchange == Exchange::none) continue;
    std::int64_t n = 1;
    for (const auto& axis : e.attrs.get<Strings>("axes")) n *= mesh.atom_mesh().size_of(axis);
    const std::int64_t in = p.type(e.inputs[0]).bytes(), out = p.type(e.outputs[0]).bytes();
    switch (e.op->exchange) {
      case Exchange::permute: bytes += in; break;
      case Exchange::gather: bytes += out - in; break;
      case Exchange::all_to_all:
      case Exchange::combine_scatter: bytes += in / n * (n - 1); break;
      case Exchange::combine: bytes += (2 * in * (n - 1) + n - 1) / n; break;
      default: ADD_FAILURE() << "the planner has no " << e.op->name;
    }
  }
  return bytes;
}

// The most bytes that any device receives: runs each collective on elements that hold their
// sender's number, and counts those of other devices.
std::int64_t measured_bytes(const AtomMesh& mesh, const Program& p) {
  std::int64_t bytes = 0;
  for (const Equation& e : p.equations) {
    if (e.op->exchange == Exchange::none) continue;
    const Type& t = p.type(e.inputs[0]);
    std::vector<HostArray> own;
    for (std::int64_t k = 0; k < mesh.atom_mesh().size_of(e.attrs.get<Strings>("axes")); ++k) {
      own.emplace_back(i32, t.shape);
      std::fill_n(own.back().data<std::int32_t>(), t.shape.count(), static_cast<std::int32_t>(k));
    }
    const std::vector<HostArray> got = collective(*e.op, e.attrs, own);
    std::int64_t most = 0;
    for (std::size_t k = 0; k < got.size(); ++k) {
      const std::int32_t* whose = got[k].data<std::int32_t>();
      most = std::max<std::int64_t>(
          most, std::count_if(whose, whose + got[k].count(),
                              [&](std::int32_t n) { return n != static_cast<std::int32_t>(k); }));
    }
    bytes += most * size_of(t.dtype);
  }
  return bytes;
}

int counted_collectives(const Program& p) {
  return static_cast<int>(std::count_if(p.equations.begin(), p.equations.end(), [](const auto& e) {
    return e.op->exchange != Exchange::none;
  }));
}

void expect_parts(const Parts& got, const Parts& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t d = 0; d < got.size(); ++d)
    expect_same(got[d], want[d], what + ", device " + std::to_string(d));
}

const std::vector<MeshShape> kMeshes{
    {{"x"}, {2}},         {{"x"}, {3}},         {{"x"}, {4}}, {{"x", "y"}, {2, 2}},
    {{"x", "y"}, {4, 2}}, {{"x", "y"}, {2, 3}}, {{"x"}, {6}}, {{"x", "y", "z"}, {2, 2, 2}},
};
// Meshes with too many atoms for the search to try all moves.
const std::vector<MeshShape> kLarge{{{"x", "y"}, {8, 4}}, {{"x", "y"}, {12, 4}}};

struct Question {
  Type whole;
  Placement from, to;
};

// Draws two placements, and dimensions that both divide; some dimensions are no larger than that
// requires.
Question drawn(Draw& draw, const AtomMesh& mesh, int rank) {
  Question q;
  q.from = drawn_placement(draw, mesh, rank);
  q.to = drawn_placement(draw, mesh, rank);
  if (draw.chance(40)) {
    // Some free atoms of the source are unreduced, and some of these may stay so.
    for (Atom a : (mesh.all() - q.from.cut()).atoms())
      if (draw.chance(60)) q.from.unreduced.insert(a);
    for (Atom a : (q.from.unreduced - q.to.cut()).atoms())
      if (draw.chance(25)) q.to.unreduced.insert(a);
    if (!q.from.unreduced.empty() && draw.chance(30)) q.from.combiner = Combiner::max;
    if (!q.to.unreduced.empty()) q.to.combiner = q.from.combiner;
  }
  Shape shape;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    const std::int64_t a = mesh.size(q.from.dims[d]), b = mesh.size(q.to.dims[d]);
    shape.push_back(draw.chance(30)   ? std::lcm(a, b)
                    : draw.chance(50) ? mesh.mesh().size()
                                      : std::lcm(a, b) * (1 + draw.below(3)));
  }
  q.whole = Type(draw.chance(50) ? f32 : draw.chance(50) ? i32 : f64, shape);
  return q;
}

}  // namespace

namespace {

void run_random(const std::vector<MeshShape>& meshes, std::uint32_t seed, int turns) {
  int exchanges = 0, plans = 0;
  for (const MeshShape& shape : meshes) {
    const AtomMesh mesh(shape);
    Draw draw(seed++);
    for (int turn = 0; turn < turns; ++turn) {
      const Question q = drawn(draw, mesh, turn % 4);
      const std::string what =
          to_string(q.whole) + " from " + mesh.to_string(q.from) + " to " + mesh.to_string(q.to);
      const Reshard plan = plan_reshard(mesh, q.whole, q.from, q.to);
      ASSERT_EQ(plan.to(), q.to) << what;
      ++plans;
      if (!plan.moves.empty() && plan.moves.back().kind == MoveKind::exchange) {
        ++exchanges;
        continue;
      }
      ProgramPtr p = program_of(mesh, q.whole, {plan});
      verify(*p, "reshard");
      for (const auto& axis : p->type(p->outputs[0]).varying)
        ASSERT_TRUE(names_of(mesh, q.to.used()).contains(axis)) << what << " varies over " << axis;
      const HostArray whole = integers(q.whole, turn);
      const Parts in = parts_of(mesh, whole, q.from);
      Placement plain = q.to;
      plain.unreduced = {};
      expect_parts(reduced(mesh, evaluate_spmd(*p, mesh.atom_mesh(), in), q.to),
                   parts_of(mesh, whole, plain), what + ": " + to_string(mesh, plan));
      ASSERT_EQ(plan.bytes, counted_bytes(mesh, *p)) << what;
      // A sum has elements of all devices, so received elements have one sender only if nothing is
      // summed.
      if (q.from.unreduced == q.to.unreduced) {
        ASSERT_EQ(plan.bytes, measured_bytes(mesh, *p)) << what;
      }
      ASSERT_EQ(plan.collectives(), counted_collectives(*p)) << what;
      ASSERT_GE(plan.bytes, lower_bound_bytes(mesh, q.whole, q.from, q.to)) << what;
    }
  }
  EXPECT_EQ(exchanges, 0) << "of " << plans;
}

}  // namespace

TEST(ReshardRun, RandomPlacements) { run_random(kMeshes, 100, 240); }
TEST(ReshardRun, RandomPlacementsOfManyAtoms) { run_random(kLarge, 150, 80); }

TEST(ReshardRun, ThereAndBackAndOnTwoWays) {
  for (std::size_t m = 0; m < kMeshes.size(); ++m) {
    const AtomMesh mesh(kMeshes[m]);
    Draw draw(200 + static_cast<std::uint32_t>(m));
    for (int turn = 0; turn < 40; ++turn) {
      const int rank = 1 + turn % 3;
      Shape shape;
      for (int d = 0; d < rank; ++d) shape.push_back(mesh.mesh().size());
      const Type t(f32, shape);
      const Placement a = drawn_placement(draw, mesh, rank), b = drawn_placement(draw, mesh, rank),
                      c = drawn_placement(draw, mesh, rank);
      const auto go = [&](const Placement& from, const Placement& to) {
        return plan_reshard(mesh, t, from, to);
      };
      const HostArray whole = integers(t, turn);
      const auto run = [&](const std::vector<Reshard>& plans) {
        return evaluate_spmd(*program_of(mesh, t, plans), mesh.atom_mesh(),
                             parts_of(mesh, whole, a));
      };
      const std::string what = mesh.to_string(a) + ", " + mesh.to_string(b);
      expect_parts(run({go(a, b), go(b, a)}), parts_of(mesh, whole, a), what + " and back");
      expect_parts(run({go(a, c), go(c, b)}), run({go(a, b)}), what + " over " + mesh.to_string(c));
    }
  }
}

namespace {

// A device's part, padded with nonsense to the length of the longest part.
HostArray padded_part(const AtomMesh& mesh, const HostArray& whole, const Placement& p,
                      std::int64_t device) {
  HostArray part(whole.dtype, mesh.local_shape(whole.shape, p));
  std::fill_n(part.data<float>(), part.count(), -1000.f);
  const Box box = box_of(mesh, whole.shape, p, device);
  for_each_index(box.extent, [&](const Shape& index) {
    Shape at = index;
    for (int d = 0; d < at.rank(); ++d) at[d] += box.start[d];
    part.data<float>()[flat_index(index, part.shape.strides())] =
        whole.data<float>()[flat_index(at, whole.shape.strides())];
  });
  return part;
}

}  // namespace

// If the atoms do not divide the sizes and the plan has no exchange, the elements inside a device's
// box are right, whatever its padding holds.
TEST(ReshardRun, UnevenParts) {
  int exchanges = 0, others = 0;
  for (std::size_t m = 0; m < kMeshes.size(); ++m) {
    const AtomMesh mesh(kMeshes[m]);
    Draw draw(500 + static_cast<std::uint32_t>(m));
    for (int turn = 0; turn < 120; ++turn) {
      const int rank = 1 + turn % 3;
      Shape shape;
      for (int d = 0; d < rank; ++d) shape.push_back(1 + draw.below(9));
      const Type t(f32, shape);
      const Placement a = drawn_placement(draw, mesh, rank), b = drawn_placement(draw, mesh, rank);
      const Reshard plan = plan_reshard(mesh, t, a, b);
      const std::string what =
          to_string(t) + " from " + mesh.to_string(a) + ": " + to_string(mesh, plan);
      ASSERT_EQ(plan.to(), b) << what;
      ASSERT_GE(plan.bytes, lower_bound_bytes(mesh, t, a, b)) << what;
      if (!plan.moves.empty() && plan.moves.back().kind == MoveKind::exchange) {
        ++exchanges;
        continue;
      }
      ++others;
      ProgramPtr p = program_of(mesh, t, {plan});
      verify(*p, "reshard");
      ASSERT_EQ(plan.bytes, counted_bytes(mesh, *p)) << what;
      ASSERT_EQ(plan.bytes, measured_bytes(mesh, *p)) << what;
      const HostArray whole = integers(t, turn);
      Parts in;
      for (std::int64_t device = 0; device < mesh.mesh().size(); ++device)
        in.push_back({padded_part(mesh, whole, a, device)});
      const Parts out = evaluate_spmd(*p, mesh.atom_mesh(), in);
      for (std::int64_t device = 0; device < mesh.mesh().size(); ++device) {
        const HostArray& got = out[static_cast<std::size_t>(device)][0];
        const HostArray want = padded_part(mesh, whole, b, device);
        ASSERT_EQ(got.shape, want.shape) << what;
        for_each_index(box_of(mesh, shape, b, device).extent, [&](const Shape& index) {
          const std::int64_t i = flat_index(index, want.shape.strides());
          ASSERT_EQ(got.number(i), want.number(i)) << what << ", device " << device;
        });
      }
    }
  }
  EXPECT_GT(others, exchanges);
}

// A reshard in a typed region does not change the whole array, and neither does its transpose. The
// executor agrees.
TEST(ReshardRun, CompiledRegionsAndTheirTransposes) {
  runtime::set_device_count(8);
  for (std::size_t m = 0; m < kMeshes.size(); ++m) {
    const AtomMesh mesh(kMeshes[m]);
    Draw draw(400 + static_cast<std::uint32_t>(m));
    for (int turn = 0; turn < 3; ++turn) {
      const int rank = 1 + turn % 3;
      Shape shape;
      for (int d = 0; d < rank; ++d) shape.push_back(mesh.mesh().size());
      const Type t(f32, shape);
      const Placement a = drawn_placement(draw, mesh, rank), b = drawn_placement(draw, mesh, rank);
      const Reshard plan = plan_reshard(mesh, t, a, b);
      const std::string what = mesh.to_string(a) + " to " + mesh.to_string(b);
      ProgramPtr p = tessera::testing::program_of({t}, [&](Builder& builder, const Values& in) {
        return ops::shard_map(builder, program_of(mesh, t, {plan}), in,
                              first_devices(mesh.atom_mesh()), {mesh.atom_spec(a)},
                              {mesh.atom_spec(b)}, true);
      });
      const std::vector<HostArray> whole{integers(t, turn)};
      expect_same(run_compiled(p, whole), whole, what);
      expect_same(evaluate(*transpose_program(*p, {true}, {true}), whole), whole,
                  what + ", transposed");
    }
  }
}
