// The processes that run one program together.
//
// A launcher starts them (mpirun, srun, whatever speaks PMI), and a plug-in that is loaded then and
// only then joins them (transport_abi.h). All of them make the same calls, so what they have to do
// together is numbered alike in each: a round is what one phase of collectives exchanges. On one
// machine a process writes what others read of it into memory that they see, and says so; between
// machines the plug-in carries it. Rounds are counted by pair of processes: those that exchange
// nothing do not know of each other's.
//
// Nobody waits for ever. A process that waits looks whether those that it waits for live, and how
// long they have been at what they are at; what it finds is a CollectiveError that says where every
// process stands, and then nobody waits for this one any more either.
#pragma once

#include "base/message.h"
#include "processes/seat.h"
#include "processes/transport_abi.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::processes {

/// Of the launcher's environment: whether there are other processes to join, and
/// TESSERA_TRANSPORT=none does not say that this one is for itself.
bool launched();

struct JoinOptions {
  /// After so long without a sign of a process, others stop waiting for it.
  double timeout_seconds = 60;
  bool several_threads = false;  // of each process make calls (order.h)
  SourceLoc loc;
};
/// Joins the processes that were started with this one. Nothing happens where that was done, or
/// where none were. Error where the plug-in cannot be loaded or the launcher's processes cannot be
/// joined, or the timeout is no positive number; CollectiveError where not all of them come in time
/// or have the same settings (alike.h).
void join(const JoinOptions& options = {});

/// Of join(): no wait for another process is longer.
double timeout_seconds();
/// 0 and 1 before join() and where the process is alone.
int rank();
int count();
/// Whether several threads of each process make calls that all processes make.
bool several_threads();
/// Those on this machine.
int count_here();

/// Cores for this process's work: TESSERA_WORKERS, else those that it may use. Processes of one
/// machine share its cores, unless the launcher has dealt them out.
int cores();
/// Those of process 0, which is joined.
int cores_of_first();

/// The first process of the machine that process `rank` is on; 0 before join().
int machine_of(int rank);
/// Devices of each process: device d is of process d / devices_each(). The runtime, which has them,
/// says how many there are.
void set_devices_each(int count);
int devices_each();

/// A program, for those who find that processes came to different ones.
struct Listed : std::enable_shared_from_this<Listed> {
  Listed(std::string called, std::function<std::string()> listing);

  std::string name;
  std::function<std::string()> text;  // with the places of its equations (docs/ir.md)
  std::uint64_t number;               // of this process's
};

/// What the call of a round was given that is to be the same in all processes, told with its
/// exchanges.
class Given {
 public:
  virtual ~Given() = default;
  /// Of values that every process has for itself.
  std::uint64_t values = 0;
  /// Of how the other arrays were made; 0 where that is not known.
  std::uint64_t origin = 0;
  /// What another process compares with its own.
  virtual std::string shown() const = 0;
  /// A line for each input that differs from those that process `rank` shows.
  virtual std::vector<std::string> differences(const std::string& theirs, int rank) const = 0;

  bool agrees(std::uint64_t their_values, std::uint64_t their_origin) const {
    return values == their_values && (origin == their_origin || !origin || !their_origin);
  }
};

/// What a round is of: what the others say where this process does not come to it.
struct Subject {
  std::uint64_t signature = 0;  // of the program and the step; equal in all processes
  std::string_view program, collective;
  SourceLoc loc;
  const Listed* program_text = nullptr;  // shared; null where it has none
  const Given* given = nullptr;          // null: nothing is compared
};

/// Who reads how much of whom in a round; a process is not in its own lists.
struct Traffic {
  std::vector<std::size_t> bytes;  // by rank: what it lays out for others
  std::vector<int> from, to;       // ranks that this one reads, and that read this one
  /// Bytes of what a process lays out.
  struct Part {
    std::size_t begin, bytes;
  };
  /// By rank: what this one reads of what that one lays out, and that one of what this one does.
  /// Empty: all of it.
  std::vector<Part> read, sent;
  Part read_of(int rank) const { return part(read, rank, rank); }
  Part sent_to(int rank, int own) const { return part(sent, rank, own); }

 private:
  Part part(const std::vector<Part>& parts, int rank, int layer) const {
    return parts.empty() ? Part{0, bytes[static_cast<std::size_t>(layer)]}
                         : parts[static_cast<std::size_t>(rank)];
  }
};

/// One exchange, of the processes that are in each other's lists. All make their rounds in one order,
/// one at a time: whoever runs programs sees to that (runtime/turns.h). One may be laid out before the
/// one before it is read.
class Round {
 public:
  /// Waits until there is room to lay out what others read. Both outlive it.
  Round(const Subject& subject, const Traffic& traffic);
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  /// Where to lay it out, 64-byte aligned.
  std::byte* own() const { return own_; }
  /// It is laid out.
  void post();
  /// What another process laid out: waits until it is there. One of `from`.
  const std::byte* of(int rank);
  /// What others laid out has been read; the memory is a later round's.
  void finish();

 private:
  struct Received {
    int rank = 0;
    std::unique_ptr<Title> title;  // of the round that it is of
    std::vector<std::byte> bytes;
    TesseraRequest *titled = nullptr, *request = nullptr;
  };
  void make_room();
  void receive(int rank);
  void check_title(int rank, const Title& theirs) const;

  const Subject& subject_;
  const Traffic& traffic_;
  std::uint32_t half_ = 0;  // of the memory that others see
  std::byte* own_ = nullptr;
  std::vector<Received> received_;  // messages
  std::vector<TesseraRequest*> sending_;
};

/// Waits for all processes.
void barrier(std::string_view function, const SourceLoc& loc);
/// The bytes of all processes, as many of each, by rank.
std::vector<std::byte> all_gather(std::string_view function, std::span<const std::byte> mine,
                                  const SourceLoc& loc);

/// The bytes of each process, by rank, in process 0; nothing in the others.
std::vector<std::vector<std::byte>> gather(std::string_view function,
                                           std::span<const std::byte> mine, const SourceLoc& loc);
/// By rank, nanoseconds that are added to what a process's steady clock says for what that of process
/// 0 says. All processes call it. Machines' clocks are known to half of what the quickest of some
/// exchanges takes.
std::vector<std::int64_t> clock_offsets(std::string_view function, const SourceLoc& loc);

}  // namespace tessera::inline v0::processes
