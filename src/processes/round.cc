// Implements one exchange between processes.
#include "base/process.h"
#include "processes/disagreement.h"
#include "processes/group.h"
#include "processes/patience.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tessera::inline v0::processes {

Round::Round(const Subject& subject, const Traffic& traffic)
    : Round(own_group(), subject, traffic) {}

Round::Round(Group& group, const Subject& subject, const Traffic& traffic)
    : group_(group), subject_(subject), traffic_(traffic) {
  if (traffic.from.empty() && traffic.to.empty()) return;
  if (forked())
    Message(subject.collective)
        .problem("the process is a child of fork, and the others do not know it")
        .rule("collectives between processes are for those that the launcher started")
        .from(subject.loc)
        .advice("compute with arrays of the child's own")
        .raise<CollectiveError>();
  need_others(group, subject);
  half_ = group.outbox().begin();
  group.recent().add(subject);
  group.set_text("came to " + subject_text(subject));
  make_room();
  group.outbox().set_readers(half_, traffic.to);
  for (const int r : traffic.from)
    if (!group.peer(r).direct()) receive(r);
}

// Waits until the half is free; the round before the previous one used it.
void Round::make_room() {
  for (const int r : group_.outbox().readers(half_))
    if (const Peer& peer = group_.peer(r); peer.direct()) {
      Seat& seat = *group_.seat(r);
      Patience(group_, subject_, r)
          .until(seat, group_.pair(seat, group_.rank()).done, peer.last_in(half_));
    }
  own_ = group_.outbox().reserve(half_, traffic_.bytes[static_cast<std::size_t>(group_.rank())]);
}

// The title, which identifies the round, is received before the data.
void Round::receive(int rank) {
  const int tag = tag_of(group_.peer(rank).expect());
  Received& in = received_.emplace_back();
  in.rank = rank;
  in.bytes.resize(traffic_.read_of(rank).bytes);
  in.title = std::make_unique<Title>();
  Transport::Start start = group_.transport().start(subject_);
  start.receive(rank, tag, in.title.get(), sizeof(Title), in.titled);
  start.receive(rank, tag, in.bytes.data(), in.bytes.size(), in.request);
}

void Round::post() {
  if (!own_) return;
  Seat& mine = group_.mine();
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
    Peer& peer = group_.peer(to);
    const std::uint32_t number = peer.post(half_);
    if (peer.direct()) {
      Pair& pair = group_.pair(mine, to);
      pair.places[number % 2] = {group_.outbox().place(), half_};
      pair.posted.store(number, std::memory_order_release);
      wake(mine, pair.posted);
      continue;
    }
    const Traffic::Part part = traffic_.sent_to(to, group_.rank());
    Transport::Start start = group_.transport().start(subject_);
    start.send(to, tag_of(number), &title, sizeof title, sending_.emplace_back(nullptr));
    start.send(to, tag_of(number), own_ + part.begin, part.bytes, sending_.emplace_back(nullptr));
  }
}

void Round::check_title(int rank, const Title& theirs) const {
  if (theirs.signature.load(std::memory_order_relaxed) != subject_.signature)
    fail_for_difference(group_, subject_, rank, theirs);
  if (subject_.given && !subject_.given->agrees(theirs.values, theirs.origin))
    fail_for_values(group_, subject_, rank, theirs);
}

const std::byte* Round::of(int rank) {
  Peer& peer = group_.peer(rank);
  if (!peer.direct()) {
    for (Received& in : received_)
      if (in.rank == rank) {
        Patience(group_, subject_, rank).until(in.titled);
        check_title(rank, *in.title);
        Patience(group_, subject_, rank).until(in.request);
        return in.bytes.data();
      }
    throw InternalError("a round reads a process that it does not name");
  }
  Seat& seat = *group_.seat(rank);
  Pair& pair = group_.pair(seat, group_.rank());
  const std::uint32_t number = peer.next();
  Patience(group_, subject_, rank).until(seat, pair.posted, number);
  const Pair::Place& place = pair.places[number % 2];
  check_title(rank, seat.rounds[place.half]);
  const std::byte* const laid = peer.memory(seat, place.segment, place.half);
  if (!laid)
    fail(group_, subject_,
         "the memory of process " + std::to_string(rank) + " cannot be read any more",
         "processes of one machine read each other's memory by its descriptor",
         "look whether the limits of open files or of memory were reached");
  return laid + traffic_.read_of(rank).begin;
}

void Round::finish() {
  if (!own_) return;
  for (TesseraRequest*& request : sending_)
    Patience(group_, subject_, Patience::kAll).until(request);
  Seat& mine = group_.mine();
  for (const int from : traffic_.from) {
    Peer& peer = group_.peer(from);
    const std::uint32_t number = peer.finish();
    if (!peer.direct()) continue;
    Pair& pair = group_.pair(mine, from);
    pair.done.store(number, std::memory_order_release);
    wake(mine, pair.done);
  }
  group_.set_text("was last at " + subject_text(subject_));
}

}  // namespace tessera::inline v0::processes
