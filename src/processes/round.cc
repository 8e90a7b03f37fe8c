// Implements one exchange between processes.
#include "base/process.h"
#include "processes/disagreement.h"
#include "processes/patience.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tessera::inline v0::processes {

Round::Round(const Subject& subject, const Traffic& traffic)
    : subject_(subject), traffic_(traffic) {
  if (traffic.from.empty() && traffic.to.empty()) return;
  All& a = all();
  if (forked())
    Message(subject.collective)
        .problem("the process is a child of fork, and the others do not know it")
        .rule("collectives between processes are for those that the launcher started")
        .from(subject.loc)
        .advice("compute with arrays of the child's own")
        .raise<CollectiveError>();
  Seat& mine = a.mine();
  need_others(subject);
  half_ = ++a.rounds % 2;
  remember(subject);
  set_text(mine, "came to " + subject_text(subject));
  make_room();
  a.readers[half_] = traffic.to;
  for (const int r : traffic.from)
    if (!a.peer(r).direct) receive(r);
}

// Waits until the half is free; the round before the previous one used it. If this round is too
// large, a new segment is allocated, and the old one is kept until its readers are done.
void Round::make_room() {
  All& a = all();
  for (const int r : a.readers[half_])
    if (Peer& peer = a.peer(r); peer.direct) {
      Seat& seat = *a.seat(r);
      Patience(subject_, r).until(seat, a.pair(seat, a.rank).done, peer.in_half[half_]);
    }
  if (!a.before.empty() && a.rounds != a.outgrown) a.before.clear();
  const std::size_t needed = traffic_.bytes[static_cast<std::size_t>(a.rank)];
  if (const std::size_t fits = a.memory.fit(needed); fits != a.memory.size()) {
    a.before.push_back(std::exchange(a.memory, Segment(fits)));
    a.outgrown = a.rounds;
  }
  own_ = a.memory.half(half_);
}

// The title, which identifies the round, is received before the data.
void Round::receive(int rank) {
  All& a = all();
  const int tag = tag_of(++a.peer(rank).begun);
  Received& in = received_.emplace_back();
  in.rank = rank;
  in.bytes.resize(traffic_.read_of(rank).bytes);
  in.title = std::make_unique<Title>();
  std::lock_guard lock(a.plugin);
  check(a.transport.receive(&a.transport, rank, tag, in.title.get(), sizeof(Title), &in.titled),
        subject_.collective, subject_.loc);
  check(a.transport.receive(&a.transport, rank, tag, in.bytes.data(), in.bytes.size(), &in.request),
        subject_.collective, subject_.loc);
}

void Round::post() {
  if (!own_) return;
  All& a = all();
  Seat& mine = a.mine();
  Title& title = mine.rounds[half_];
  title.signature.store(subject_.signature, std::memory_order_relaxed);
  title.program = subject_.program_text ? subject_.program_text->number : 0;
  title.values = subject_.given ? subject_.given->values : 0;
  title.origin = subject_.given ? subject_.given->origin : 0;
  const std::string text = subject_text(subject_);
  const std::size_t n = std::min(text.size(), sizeof title.text - 1);
  std::memcpy(title.text, text.data(), n);
  title.text[n] = 0;
  for (const int to : traffic_.to) {
    Peer& peer = a.peer(to);
    const std::uint32_t number = ++peer.posted;
    peer.in_half[half_] = number;
    if (peer.direct) {
      Pair& pair = a.pair(mine, to);
      pair.places[number % 2] = {a.memory.place(), half_};
      pair.posted.store(number, std::memory_order_release);
      wake(mine, pair.posted);
      continue;
    }
    const Traffic::Part part = traffic_.sent_to(to, a.rank);
    const auto begin = [&](const void* from, std::size_t bytes) {
      sending_.push_back(nullptr);
      check(a.transport.send(&a.transport, to, tag_of(number), from, bytes, &sending_.back()),
            subject_.collective, subject_.loc);
    };
    std::lock_guard lock(a.plugin);
    begin(&title, sizeof title);
    begin(own_ + part.begin, part.bytes);
  }
}

void Round::check_title(int rank, const Title& theirs) const {
  if (theirs.signature.load(std::memory_order_relaxed) != subject_.signature)
    fail_for_difference(subject_, rank, theirs);
  if (subject_.given && !subject_.given->agrees(theirs.values, theirs.origin))
    fail_for_values(subject_, rank, theirs);
}

const std::byte* Round::of(int rank) {
  All& a = all();
  Peer& peer = a.peer(rank);
  if (!peer.direct) {
    for (Received& in : received_)
      if (in.rank == rank) {
        Patience(subject_, rank).until(in.titled);
        check_title(rank, *in.title);
        Patience(subject_, rank).until(in.request);
        return in.bytes.data();
      }
    throw InternalError("a round reads a process that it does not name");
  }
  Seat& seat = *a.seat(rank);
  Pair& pair = a.pair(seat, a.rank);
  const std::uint32_t number = peer.read + 1;
  Patience(subject_, rank).until(seat, pair.posted, number);
  const Pair::Place& place = pair.places[number % 2];
  check_title(rank, seat.rounds[place.half]);
  const std::byte* const laid = peer.memory.at(seat.pid.load(), place.segment, place.half);
  if (!laid)
    fail(subject_, "the memory of process " + std::to_string(rank) + " cannot be read any more",
         "processes of one machine read each other's memory by its descriptor",
         "look whether the limits of open files or of memory were reached");
  return laid + traffic_.read_of(rank).begin;
}

void Round::finish() {
  if (!own_) return;
  All& a = all();
  for (TesseraRequest*& request : sending_) Patience(subject_, Patience::kAll).until(request);
  Seat& mine = a.mine();
  for (const int from : traffic_.from) {
    Peer& peer = a.peer(from);
    ++peer.read;
    if (!peer.direct) continue;
    Pair& pair = a.pair(mine, from);
    pair.done.store(peer.read, std::memory_order_release);
    wake(mine, pair.done);
  }
  set_text(mine, "was last at " + subject_text(subject_));
}

}  // namespace tessera::inline v0::processes
