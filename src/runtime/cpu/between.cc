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

// The exchanges of one phase, in an order that is the same in all processes.
class Exchanges {
 public:
  Exchanges(const Tape& tape, const Frame& frame, const Phase& phase, bool spread)
      : tape_(tape), frame_(frame), phase_(phase), between_(*phase.between), spread_(spread) {}

  void run() {
    std::vector<std::size_t> small, large;
    for (std::size_t s = 0; s < phase_.steps.size(); ++s) {
      const Collective& c = *phase_.steps[s].collective;
      const bool at_once =
          c.owner.empty() || !in_pieces(c) || c.count * size_of(c.dtype) < 2 * kPiece;
      (at_once ? small : large).push_back(s);
    }
    together(small);
    for (const std::size_t s : large) in_pieces_of(s);
  }

 private:
  // Of each exchange: the program, the phase and a number in it.
  std::uint64_t next_signature() {
    std::size_t h = tape_.signature;
    mix(h, &phase_ - tape_.phases.data());
    mix(h, number_++);
    return h;
  }

  // One exchange for all of them, and what is this process's alone.
  void together(const std::vector<std::size_t>& steps) {
    std::vector<CollectiveWork> all;
    std::vector<std::size_t> bytes(between_.count());
    std::vector<std::vector<std::size_t>> offsets;  // by collective, by process
    const Step* named = nullptr;
    for (const std::size_t s : steps) {
      const Step& step = phase_.steps[s];
      all.emplace_back(tape_, frame_, step);
      offsets.push_back(bytes);
      if (step.collective->owner.empty()) continue;
      if (!named) named = &step;
      for (std::size_t p = 0; p < bytes.size(); ++p)
        bytes[p] += static_cast<std::size_t>(all.back().laid_bytes() * between_.operands[s][p]);
    }
    if (!named) return run_here(all, spread_);
    Exchanged exchanged(next_signature(), tape_, *named, std::move(bytes), between_);
    const auto self = static_cast<std::size_t>(processes::rank());
    for (std::size_t k = 0; k < all.size(); ++k)
      if (!all[k].col().owner.empty()) all[k].lay_out(exchanged.own() + offsets[k][self]);
    exchanged.post();
    std::vector<Laid> laid(all.size(), exchanged.all());
    for (std::size_t k = 0; k < all.size(); ++k) {
      for (std::size_t p = 0; p < laid[k].size(); ++p)
        if (laid[k][p]) laid[k][p] += offsets[k][p];
      all[k].laid = laid[k];
    }
    run_here(all, spread_);
    exchanged.finish();
  }

  // One is laid out before the one before it is read, so that processes wait less for each other.
  void in_pieces_of(std::size_t s) {
    const Step& step = phase_.steps[s];
    const Collective& c = *step.collective;
    struct Piece {
      CollectiveWork work;
      std::unique_ptr<Exchanged> exchanged;
    };
    const auto read = [&](Piece& piece) {
      const Laid laid = piece.exchanged->all();
      piece.work.laid = laid;
      run_here({&piece.work, 1}, spread_);
      piece.exchanged->finish();
    };
    std::optional<Piece> before;
    const std::int64_t elements = kPiece / size_of(c.dtype);
    for (std::int64_t begin = 0; begin < c.count; begin += elements) {
      Piece piece{CollectiveWork(tape_, frame_, step), nullptr};
      piece.work.begin = begin;
      piece.work.count = std::min(elements, c.count - begin);
      std::vector<std::size_t> bytes;
      for (const std::int64_t n : between_.operands[s])
        bytes.push_back(static_cast<std::size_t>(piece.work.laid_bytes() * n));
      piece.exchanged =
          std::make_unique<Exchanged>(next_signature(), tape_, step, std::move(bytes), between_);
      piece.work.lay_out(piece.exchanged->own());
      piece.exchanged->post();
      if (before) read(*before);
      before = std::move(piece);
    }
    read(*before);
  }

  const Tape& tape_;
  const Frame& frame_;
  const Phase& phase_;
  const Between& between_;
  const bool spread_;
  std::uint64_t number_ = 0;
};

}  // namespace

void run_between(const Tape& tape, const Frame& frame, const Phase& phase, bool spread) {
  Exchanges(tape, frame, phase, spread && phase.seconds >= kWorthSpreading).run();
}

}  // namespace tessera::inline v0::runtime
