// The processes that run one program together, as one of them sees them: who they are, what they
// exchange, and whether they are alive.
#pragma once

#include "processes/processes.h"
#include "processes/seat.h"
#include "processes/segment.h"
#include "processes/transport.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inline v0::processes {

struct CallOrder;

/// Another process, as this one knows it. Rounds are counted per pair, so that rounds among some
/// processes do not involve the others.
class Peer {
 public:
  /// Whether both read each other's memory; else they send messages.
  bool direct() const { return direct_; }
  void set_direct(bool direct) { direct_ = direct; }
  /// A half of a segment of the other process, which has this seat; null if it is not readable.
  const std::byte* memory(const Seat& seat, const SegmentPlace& place, std::size_t half) {
    return memory_.at(seat.pid.load(), place, half);
  }

  /// Counts a round that is published for the other process in a half of the memory.
  std::uint32_t post(std::uint32_t half) { return last_in_[half] = ++posted_; }
  /// The last round that was published for it in this half.
  std::uint32_t last_in(std::uint32_t half) const { return last_in_[half]; }
  /// Counts a round of the other process whose message is awaited.
  std::uint32_t expect() { return ++expected_; }
  /// The round of the other process that is to be read next; `finish` counts it as read.
  std::uint32_t next() const { return read_ + 1; }
  std::uint32_t finish() { return ++read_; }

 private:
  std::uint32_t posted_ = 0, expected_ = 0, read_ = 0;
  std::uint32_t last_in_[2] = {};
  bool direct_ = false;
  SegmentView memory_;
};

/// The memory in which a process publishes its rounds, which alternate between its halves.
class Outbox {
 public:
  void open() { memory_ = Segment(Segment::kLeast); }
  const SegmentPlace& place() const { return memory_.place(); }
  std::byte* half(std::uint32_t half) const { return memory_.half(half); }

  /// Begins a round and returns its half.
  std::uint32_t begin() { return ++rounds_ % 2; }
  /// The processes that read the last round of this half.
  const std::vector<int>& readers(std::uint32_t half) const { return readers_[half]; }
  void set_readers(std::uint32_t half, std::vector<int> readers) {
    readers_[half] = std::move(readers);
  }
  /// Makes room for `bytes` in this half, whose readers must be done. If they do not fit, a new
  /// segment is allocated, and the old one is kept until the readers of its other half are done.
  std::byte* reserve(std::uint32_t half, std::size_t bytes);

 private:
  Segment memory_;
  std::vector<Segment> outgrown_;  // may still be read
  std::uint32_t rounds_ = 0, last_growth_ = 0;
  std::vector<int> readers_[2];  // by half
};

/// The programs that a process reached last. A process is at most two rounds ahead of another.
/// Rounds are made one at a time, but a thread that waits for something else may read this
/// meanwhile.
class RecentPrograms {
 public:
  void add(const Subject& subject);
  /// Null if the program with this number is not among them.
  std::shared_ptr<const Listed> find(std::uint64_t number);

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<const Listed>, 4> programs_;
};

/// A process can be in several groups, which share nothing; its program runs in own_group().
class Group {
 public:
  /// A process alone.
  Group();
  /// Leaves the group. A group whose enter() timed out must not be destroyed, because the transport
  /// may still be opened for it.
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Joins the processes of a transport; returns false if they are joined already. Throws the
  /// errors of `open`, and CollectiveError if some processes do not come in time. Only the first
  /// call sets the timeout. One thread at a time may call it.
  bool enter(const OpenTransport& open, const JoinOptions& options);
  /// Finds out which processes share a machine. All of them call it once, after enter() and before
  /// anything else. Throws CollectiveError if they have different settings (alike.h).
  void agree(const JoinOptions& options);
  /// Waits until all processes that are alive leave. A process that gave up ends all of them.
  void leave();

  // The identity of the processes. A process alone has rank 0 of 1.
  bool joined() const { return joined_; }
  int rank() const { return rank_; }
  int count() const { return count_; }
  double timeout() const { return timeout_; }
  /// Whether several threads of each process make calls that all processes make.
  bool several_threads() const { return several_threads_; }
  /// The ranks on this machine, ascending.
  std::span<const int> node() const { return node_; }
  /// The first process on the machine of process `rank`.
  int machine_of(int rank) const {
    return machine_.empty() ? 0 : machine_[static_cast<std::size_t>(rank)];
  }
  /// Cores for this process's work; those of process 0.
  int cores() const;
  int cores_of_first() const { return cores_of_first_; }
  /// Whether there is a core for each process of the machine.
  bool spins() const { return spins_; }
  /// Whether this process sends messages to some peers.
  bool sends_messages() const { return sends_messages_; }

  // The memory that a process of this machine shows to the others of it. Null for processes of
  // other machines.
  Seat* seat(int rank) {
    const int p = place(rank);
    return p < 0 ? nullptr : seats_[static_cast<std::size_t>(p)];
  }
  Seat& mine() { return *seats_[static_cast<std::size_t>(place(rank_))]; }
  /// The record that the process of a seat publishes about its rounds with another process of the
  /// machine.
  Pair& pair(Seat& of, int with) { return pairs_of(of)[static_cast<std::size_t>(place(with))]; }
  OrderEntry& entry(Seat& of, std::uint32_t number) {
    return entries_of(of, seats_.size())[number % kOrderEntries];
  }
  /// Publishes what this process is doing, unless it gave up: then its error stays.
  void set_text(std::string_view text);
  /// Publishes that this process no longer waits for others, and why, for the errors of those that
  /// wait for it. Lines that do not fit the seat are left out. The first call counts.
  void give_up(std::string_view why);
  bool gave_up() { return mine().broken.load(); }
  /// Wakes the threads that sleep on this process's counters, so that they check again.
  void wake_all();
  /// Publishes bytes to the processes of this machine, once, and asks process `asks` for its
  /// program `number`; -1: no process.
  void show(std::span<const std::byte> bytes, int asks, std::uint64_t number);

  // The channels of exchanges, and their record.
  Transport& transport() { return transport_; }
  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  Outbox& outbox() { return outbox_; }
  RecentPrograms& recent() { return recent_; }
  const std::shared_ptr<CallOrder>& order() const { return order_; }

  // As the functions of processes.h, among these processes.
  void barrier(std::string_view function, const SourceLoc& loc);
  std::vector<std::byte> all_gather(std::string_view function, std::span<const std::byte> mine,
                                    const SourceLoc& loc);
  /// Does not wait for the call's turn in the order of calls, which does not exist yet while
  /// processes with several threads join.
  std::vector<std::byte> all_gather_unordered(std::string_view function,
                                              std::span<const std::byte> mine,
                                              const SourceLoc& loc);
  std::vector<std::vector<std::byte>> gather(std::string_view function,
                                             std::span<const std::byte> mine, const SourceLoc& loc);
  std::vector<std::int64_t> clock_offsets(std::string_view function, const SourceLoc& loc);

 private:
  class Meeting;
  int place(int rank) const { return place_[static_cast<std::size_t>(rank)]; }
  void take_seats(const SourceLoc& loc);
  void look_around(const SourceLoc& loc);
  void meet(const Subject& subject, std::size_t bytes, int who);
  void leave_broken();

  Transport transport_;
  bool tried_ = false, joined_ = false;
  int rank_ = 0, count_ = 1;
  double timeout_ = 60;
  bool several_threads_ = false, spins_ = false, sends_messages_ = false;
  int cores_of_first_ = 1;
  std::vector<int> node_;     // ranks on this machine
  std::vector<int> place_;    // by rank: index in node_, or -1
  std::vector<int> machine_;  // by rank: the first process on its machine
  std::vector<Seat*> seats_;  // by place
  std::vector<Peer> peers_;   // by rank
  Outbox outbox_;
  Segment shown_;
  std::mutex showing_;
  std::mutex telling_;  // for the text of this process's seat, together with its `broken`
  RecentPrograms recent_;
  std::shared_ptr<CallOrder> order_;  // shared with what threads remember of their calls
};

/// The group in which this process runs its program.
Group& own_group();

// Message tags. Every transport guarantees 15 bits: rounds use 0..kTags-1 in turn, the values above
// are reserved for control messages.
constexpr std::uint32_t kTags = 1 << 14;
constexpr int kGatherTag = kTags, kOrderTag = kTags + 1, kProgramTag = kTags + 2;
inline int tag_of(std::uint32_t number) { return static_cast<int>(number % kTags); }

// Whether `counter` has reached `number`; round numbers wrap around.
inline bool reached(std::uint32_t counter, std::uint32_t number) {
  return static_cast<std::int32_t>(counter - number) >= 0;
}

}  // namespace tessera::inline v0::processes
