// Collectives that several processes take part in. What others read is laid out for them
// (distributed/processes.h): small operands of a phase together, large ones a piece after the
// other, so that what one process writes another reads while it is in the cache.
#include "base/hash.h"
#include "distributed/processes.h"
#include "runtime/cpu/collective_work.h"
#include "runtime/profiler.h"

#include <algorithm>
#include <optional>

namespace tessera::inline v0::runtime {

using namespace tapes;

namespace {

// Bytes of an operand that go at once: of several devices, they are in the cache together.
constexpr std::int64_t kPiece = 1 << 17;

using Laid = std::vector<const std::byte*>;  // by process

// One exchange under way.
class Exchanged {
 public:
  Exchanged(std::uint64_t signature, const Tape& tape, const Step& step,
            std::vector<std::size_t> bytes, const Between& between)
      : subject_{signature, tape.name, step.name, step.loc},
        traffic_{std::move(bytes), between.from, between.to},
        round_(subject_, traffic_) {}

  std::byte* own() const { return round_.own(); }
  void post() { round_.post(); }
  // By process, null for those that are not read.
  Laid all() {
    Laid laid(traffic_.bytes.size());
    for (const int r : traffic_.from) laid[static_cast<std::size_t>(r)] = round_.of(r);
    return laid;
  }
  void finish() { round_.finish(); }

 private:
  const processes::Subject subject_;
  const processes::Traffic traffic_;
  processes::Round round_;
};

}  // namespace

void run_between(const Tape& tape, const Frame& frame, const Phase& phase, bool spread) {
  const Between& between = *phase.between;
  const auto self = static_cast<std::size_t>(processes::rank());
  const bool worth = spread && phase.seconds >= kWorthSpreading;
  const auto signature = [&, n = std::uint64_t{0}]() mutable {
    std::size_t h = tape.signature;
    mix(h, &phase - tape.phases.data());
    mix(h, n++);
    return h;
  };
  const auto in_one = [&](const Step& s) {
    const Collective& c = *s.collective;
    return c.owner.empty() || !in_pieces(c) || c.count * size_of(c.dtype) < 2 * kPiece;
  };
  auto next = signature;

  // What goes at once, and what is this process's alone.
  std::vector<CollectiveWork> small;
  std::vector<std::size_t> bytes(between.count());
  std::vector<std::vector<std::size_t>> offsets;
  const Step* named = nullptr;
  for (std::size_t s = 0; s < phase.steps.size(); ++s) {
    const Step& step = phase.steps[s];
    if (!in_one(step)) continue;
    small.emplace_back(tape, frame, step);
    offsets.push_back(bytes);
    if (step.collective->owner.empty()) continue;
    if (!named) named = &step;
    for (std::size_t p = 0; p < bytes.size(); ++p)
      bytes[p] += static_cast<std::size_t>(small.back().laid_bytes() * between.operands[s][p]);
  }
  if (named) {
    Exchanged exchanged(next(), tape, *named, std::move(bytes), between);
    for (std::size_t k = 0; k < small.size(); ++k)
      if (!small[k].col().owner.empty()) small[k].lay_out(exchanged.own() + offsets[k][self]);
    exchanged.post();
    const Laid all = exchanged.all();
    std::vector<Laid> laid;
    for (std::size_t k = 0; k < small.size(); ++k) {
      laid.push_back(all);
      for (std::size_t p = 0; p < all.size(); ++p)
        if (all[p]) laid.back()[p] += offsets[k][p];
      small[k].laid = {};
    }
    for (std::size_t k = 0; k < small.size(); ++k) small[k].laid = laid[k];
    run_here(small, worth);
    exchanged.finish();
  } else {
    run_here(small, worth);
  }

  // Each of the others piece by piece: one is laid out before the one before it is read.
  for (std::size_t s = 0; s < phase.steps.size(); ++s) {
    const Step& step = phase.steps[s];
    if (in_one(step)) continue;
    struct Piece {
      CollectiveWork work;
      std::unique_ptr<Exchanged> exchanged;
    };
    std::optional<Piece> before;
    const auto read = [&] {
      const Laid laid = before->exchanged->all();
      before->work.laid = laid;
      run_here({&before->work, 1}, worth);
      before->exchanged->finish();
    };
    const Collective& c = *step.collective;
    const std::int64_t elements = kPiece / size_of(c.dtype);
    for (std::int64_t begin = 0; begin < c.count; begin += elements) {
      Piece piece{CollectiveWork(tape, frame, step), nullptr};
      piece.work.begin = begin;
      piece.work.count = std::min(elements, c.count - begin);
      std::vector<std::size_t> laid;
      for (const std::int64_t n : between.operands[s])
        laid.push_back(static_cast<std::size_t>(piece.work.laid_bytes() * n));
      piece.exchanged = std::make_unique<Exchanged>(next(), tape, step, std::move(laid), between);
      piece.work.lay_out(piece.exchanged->own());
      piece.exchanged->post();
      if (before) read();
      before = std::move(piece);
    }
    read();
  }
}

}  // namespace tessera::inline v0::runtime
