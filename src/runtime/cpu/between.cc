// Collectives in which several processes take part. Each process publishes what others read
// (processes/processes.h). Small operands of a phase are published together. Large ones are
// published in pieces, so that a piece is read while it is still in the cache. For reductions, a
// process publishes partial results of its own operands, where the reduction tree has such a node.
// If all processes need a large reduction, each computes a part of it and publishes that part, so
// that no process reads all operands.
#include "base/hash.h"
#include "base/machine.h"
#include "base/past_caches.h"
#include "processes/processes.h"
#include "runtime/cpu/collective_work.h"
#include "runtime/cpu/given.h"
#include "runtime/profiler.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace tessera::inline v0::runtime {

using namespace tape;

namespace {

using Laid = std::vector<const std::byte*>;  // by process

// One exchange in progress.
class Exchanged {
 public:
  Exchanged(std::uint64_t signature, const Tape& tape, const Frame& frame, const Step& step,
            processes::Traffic traffic)
      : subject_{signature, tape.name, step.name, step.loc, tape.listed.get(), frame.given},
        traffic_(std::move(traffic)),
        round_(subject_, traffic_) {}

  std::byte* own() const { return round_.own(); }
  void post() { round_.post(); }
  // The published data by process, null for processes that are not read. Waits for it.
  Laid all() {
    profiler::Scope scope("wait for processes", "wait", profiler::kCollectives);
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

// The exchanges of one phase, in an order that is equal in all processes.
class Exchanges {
 public:
  Exchanges(const Tape& tape, const Frame& frame, const Phase& phase, bool spread)
      : tape_(tape), frame_(frame), phase_(phase), between_(*phase.between), spread_(spread) {}

  void run() {
    std::vector<std::size_t> small, large;
    for (std::size_t s = 0; s < phase_.steps.size(); ++s) {
      const Collective& c = phase_.steps[s].collective();
      const bool at_once =
          !c.owner || !in_pieces(c) || c.count * size_of(c.dtype) < machine::kExchangePiece;
      (at_once ? small : large).push_back(s);
    }
    together(small);
    for (const std::size_t s : large)
      !phase_.steps[s].collective().makers.empty() ? in_parts(s) : in_pieces_of(s);
  }

 private:
  // The signature of each exchange: a hash of the program, the phase and a number in it.
  std::uint64_t next_signature() {
    std::size_t h = tape_.signature;
    mix(h, &phase_ - tape_.phases.data());
    mix(h, number_++);
    return h;
  }

  // Runs these collectives with one exchange, including those that need no other process.
  void together(const std::vector<std::size_t>& steps) {
    std::vector<CollectiveWork> all;
    processes::Traffic traffic = traffic_of();
    std::vector<std::size_t>& bytes = traffic.bytes;
    std::vector<std::vector<std::size_t>> offsets;  // by collective, then by process
    const Step* named = nullptr;
    for (const std::size_t s : steps) {
      const Step& step = phase_.steps[s];
      all.emplace_back(tape_, frame_, step);
      offsets.push_back(bytes);
      if (!step.collective().owner) continue;
      if (!named) named = &step;
      for (std::size_t p = 0; p < bytes.size(); ++p)
        bytes[p] += bytes_of(all.back(), all.back().laid_of, between_.operands[s][p]);
    }
    if (!named) return run_here(all, spread_);
    Exchanged exchanged(next_signature(), tape_, frame_, *named, std::move(traffic));
    const auto self = static_cast<std::size_t>(processes::rank());
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].col().owner) all[k].lay_out(exchanged.own() + offsets[k][self], all[k].laid_of);
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

  processes::Traffic traffic_of() const {
    processes::Traffic traffic;
    traffic.bytes.assign(between_.count(), 0);
    traffic.from = between_.from;
    traffic.to = between_.to;
    return traffic;
  }
  static std::size_t bytes_of(const CollectiveWork& work, Elements some, std::int64_t operands) {
    return static_cast<std::size_t>(work.laid_bytes(some) * operands);
  }

  // A range of elements of a collective in progress.
  struct Chunk {
    CollectiveWork work;
    std::unique_ptr<Exchanged> exchanged;
  };
  std::int64_t piece_of(const Collective& c) const {
    return machine::kExchangePiece / size_of(c.dtype);
  }

  // Publishes the operands' elements from `begin` on.
  Chunk laid_piece(std::size_t s, std::int64_t begin) {
    const Step& step = phase_.steps[s];
    const Collective& c = step.collective();
    Chunk piece{CollectiveWork(tape_, frame_, step), nullptr};
    CollectiveWork& work = piece.work;
    work.begin = begin;
    work.count = std::min(piece_of(c), c.count - begin);
    processes::Traffic traffic = traffic_of();
    if (!c.makers.empty()) {
      work.made = work.laid_of = part(work, processes::rank());
      lay_out_parts(work, between_.operands[s], traffic);
    } else {
      work.made = work.laid_of = {0, work.count};
      for (std::size_t p = 0; p < traffic.bytes.size(); ++p)
        traffic.bytes[p] = bytes_of(work, work.laid_of, between_.operands[s][p]);
    }
    const std::vector<processes::Traffic::Part> sent = traffic.sent;
    piece.exchanged =
        std::make_unique<Exchanged>(next_signature(), tape_, frame_, step, std::move(traffic));
    std::byte* const own = piece.exchanged->own();
    if (!c.makers.empty()) {
      for (const int p : c.makers)
        if (p != processes::rank())
          work.lay_out(own + sent[static_cast<std::size_t>(p)].begin, part(work, p));
    } else {
      work.lay_out(own, work.laid_of);
    }
    piece.exchanged->post();
    return piece;
  }
  // Elements that one process reads are contiguous in the data that each process publishes.
  void lay_out_parts(const CollectiveWork& work, const std::vector<std::int64_t>& operands,
                     processes::Traffic& traffic) const {
    const auto self = static_cast<std::size_t>(processes::rank());
    for (std::size_t reader = 0; reader < operands.size(); ++reader) {
      const Elements some = part(work, static_cast<int>(reader));
      traffic.sent.push_back({traffic.bytes[self], bytes_of(work, some, operands[self])});
      for (std::size_t p = 0; p < operands.size(); ++p) {
        const std::size_t bytes = bytes_of(work, some, operands[p]);
        if (reader == self) traffic.read.push_back({traffic.bytes[p], bytes});
        traffic.bytes[p] += bytes;
      }
    }
  }
  void make(Chunk& piece) {
    const Laid laid = piece.exchanged->all();
    piece.work.laid = laid;
    run_here({&piece.work, 1}, spread_);
    piece.exchanged->finish();
  }

  // Publishes each piece before the previous one is read, so that processes wait less for each
  // other.
  void in_pieces_of(std::size_t s) {
    const Collective& c = phase_.steps[s].collective();
    Chunk before = laid_piece(s, 0);
    for (std::int64_t begin = piece_of(c); begin < c.count; begin += piece_of(c)) {
      Chunk piece = laid_piece(s, begin);
      make(before);
      before = std::move(piece);
    }
    make(before);
  }

  // The elements that a process computes.
  Elements part(const CollectiveWork& work, int rank) const {
    const std::vector<int>& makers = work.col().makers;
    const auto at = std::lower_bound(makers.begin(), makers.end(), rank);
    if (at == makers.end() || *at != rank) return {0, 0};
    const std::int64_t line = std::max<std::int64_t>(1, 64 / size_of(work.col().dtype));
    const auto end_of = [&](std::int64_t parts) {
      const std::int64_t even = work.count * parts / std::ssize(makers);
      return parts == std::ssize(makers) ? work.count : even / line * line;
    };
    return {end_of(at - makers.begin()), end_of(at - makers.begin() + 1)};
  }
  std::int64_t part_bytes(const CollectiveWork& work, int rank) const {
    return (part(work, rank).size() * size_of(work.col().dtype) + 63) / 64 * 64;
  }

  // Starts the exchange of the parts of a piece, each published by the process that computes it.
  std::unique_ptr<Exchanged> parts_of(const Step& step, const CollectiveWork& work) {
    processes::Traffic traffic;
    traffic.bytes.assign(between_.count(), 0);
    for (const int p : work.col().makers) {
      traffic.bytes[static_cast<std::size_t>(p)] =
          static_cast<std::size_t>(work.results() * part_bytes(work, p));
      if (p != processes::rank()) traffic.from.push_back(p);
    }
    traffic.to = traffic.from;
    return std::make_unique<Exchanged>(next_signature(), tape_, frame_, step, std::move(traffic));
  }
  // Copies the part of a process from where it was published to the results.
  void copy_part(const CollectiveWork& work, int rank, const std::byte* from) const {
    const Elements theirs = part(work, rank);
    const std::int64_t e = size_of(work.col().dtype);
    const bool large = work.col().count * e >= machine::kExchangePastCaches;
    const auto bytes = static_cast<std::size_t>(theirs.size() * e);
    if (!bytes) return;
    for (std::int64_t r = 0; r < work.results(); ++r, from += part_bytes(work, rank)) {
      std::byte* const to = work.result(r) + theirs.begin * e;
      large ? copy_past_caches(to, from, bytes) : void(std::memcpy(to, from, bytes));
    }
    if (large) past_caches_done();
  }
  void take(Exchanged& parts, const CollectiveWork& work) {
    const Laid laid = parts.all();
    for (const int p : work.col().makers)
      if (p != processes::rank()) copy_part(work, p, laid[static_cast<std::size_t>(p)]);
    parts.finish();
  }

  // Computes each part directly in published memory and copies it to the results from there. The
  // next operands are published before the parts of other processes are read. Publishing them
  // earlier is impossible, because the memory of a round becomes free when the round before the
  // previous one has been read.
  void in_parts(std::size_t s) {
    const Step& step = phase_.steps[s];
    const Collective& c = step.collective();
    Chunk now = laid_piece(s, 0);
    for (std::int64_t next = piece_of(c);; next += piece_of(c)) {
      const std::unique_ptr<Exchanged> parts = parts_of(step, now.work);
      now.work.aside = parts->own();
      now.work.aside_each = part_bytes(now.work, processes::rank());
      make(now);
      parts->post();
      copy_part(now.work, processes::rank(), parts->own());
      std::optional<Chunk> then;
      if (next < c.count) then = laid_piece(s, next);
      take(*parts, now.work);
      if (!then) return;
      now = std::move(*then);
    }
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
