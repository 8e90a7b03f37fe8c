// The processes that run one program together.
//
// A launcher starts them (mpirun, srun, or anything that speaks PMI), and a plug-in joins them
// (transport_abi.h); it is loaded only then. All processes make the same calls, so their joint work
// has the same numbers in each. A round is the exchange of one phase of collectives. On one
// machine, a process writes data for others into shared memory and signals them; between machines,
// the plug-in sends it. Rounds are counted per pair of processes, so processes that exchange
// nothing need not know of each other's rounds.
//
// No wait is unlimited. A waiting process checks whether its peers are alive and how long they have
// been in their present state. If one has failed, it throws a CollectiveError that reports the
// state of every process, and processes that wait for it fail in turn.
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

class Group;

/// Whether the launcher's environment says that there are other processes to join, and
/// TESSERA_TRANSPORT=none is not set.
bool launched();

struct JoinOptions {
  /// A process that shows no sign of life for this long is given up by the others.
  double timeout_seconds = 60;
  bool several_threads = false;  // several threads per process make calls (order.h)
  SourceLoc loc;
};
/// Joins the processes that were started with this one. Does nothing if they are joined already or
/// if there are none. Throws Error if the plug-in cannot be loaded, the launcher's processes cannot
/// be joined, or the timeout is not positive; CollectiveError if some processes do not join in time
/// or have different settings (alike.h).
void join(const JoinOptions& options = {});

/// The timeout given to join(): the longest wait for another process.
double timeout_seconds();
/// 0 and 1 before join() and in a single-process run.
int rank();
int count();
/// Whether several threads of each process make calls that all processes make.
bool several_threads();
/// The number of processes on this machine.
int count_here();

/// Cores for this process's work: TESSERA_WORKERS if set, else the cores that it may use. Processes
/// of one machine share its cores unless the launcher has already bound them.
int cores();
/// The cores() of process 0, which must be joined.
int cores_of_first();

/// The first process on the machine of process `rank`; 0 before join().
int machine_of(int rank);

/// A program's listing, for reports that processes reached different programs.
struct Listed : std::enable_shared_from_this<Listed> {
  Listed(std::string called, std::function<std::string()> listing);

  std::string name;
  std::function<std::string()> text;  // with source locations (docs/ir.md)
  std::uint64_t number;               // unique within this process
};

/// The inputs of a call that must be equal in all processes. Their digests are sent along with the
/// exchanges of the call's rounds.
class Given {
 public:
  virtual ~Given() = default;
  /// Digest of values that every process holds itself.
  std::uint64_t values = 0;
  /// Digest of how the other arrays were made; 0 if unknown.
  std::uint64_t origin = 0;
  /// A text that another process can compare with its own.
  virtual std::string shown() const = 0;
  /// One line per input that differs from `theirs`, the text of process `rank`.
  virtual std::vector<std::string> differences(const std::string& theirs, int rank) const = 0;

  bool agrees(std::uint64_t their_values, std::uint64_t their_origin) const {
    return values == their_values && (origin == their_origin || !origin || !their_origin);
  }
};

/// The call that a round belongs to, as other processes report it if this process does not reach
/// it.
struct Subject {
  std::uint64_t signature = 0;  // of the program and step; equal in all processes
  std::string_view program, collective;
  SourceLoc loc;
  const Listed* program_text = nullptr;  // owned by a shared_ptr; null if there is none
  const Given* given = nullptr;          // null: no inputs are compared
};

/// The data that processes read from each other in a round. A process is not in its own lists.
struct Traffic {
  std::vector<std::size_t> bytes;  // by rank: bytes that it publishes
  std::vector<int> from, to;       // ranks that this process reads, and that read it
  /// A byte range of the data that a process publishes.
  struct Part {
    std::size_t begin, bytes;
  };
  /// For each rank, the range that this process reads of the other's data, and that the other reads
  /// of this one's. Empty: all of it.
  std::vector<Part> read, sent;
  Part read_of(int rank) const { return part(read, rank, rank); }
  Part sent_to(int rank, int own) const { return part(sent, rank, own); }

 private:
  Part part(const std::vector<Part>& parts, int rank, int layer) const {
    return parts.empty() ? Part{0, bytes[static_cast<std::size_t>(layer)]}
                         : parts[static_cast<std::size_t>(rank)];
  }
};

/// One exchange between the processes in each other's lists. All processes run their rounds in the
/// same order, one at a time, which the caller ensures (runtime/turns.h). A round may be published
/// before the previous one has been read.
class Round {
 public:
  /// Waits until there is space to publish this process's data. Both arguments must outlive the
  /// round.
  Round(const Subject& subject, const Traffic& traffic);
  /// The same among the processes of a group, which must outlive it.
  Round(Group& group, const Subject& subject, const Traffic& traffic);
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  /// The buffer to write the data into, 64-byte aligned.
  std::byte* own() const { return own_; }
  /// Publishes the data in own().
  void post();
  /// Waits for the data of another process, one of `from`, and returns it.
  const std::byte* of(int rank);
  /// Tells the others that their data has been read, so that later rounds may reuse the memory.
  void finish();

 private:
  struct Received {
    int rank = 0;
    std::unique_ptr<Title> title;  // of the round that the message belongs to
    std::vector<std::byte> bytes;
    TesseraRequest *titled = nullptr, *request = nullptr;
  };
  void make_room();
  void receive(int rank);
  void check_title(int rank, const Title& theirs) const;

  Group& group_;
  const Subject& subject_;
  const Traffic& traffic_;
  std::uint32_t half_ = 0;  // of the shared memory
  std::byte* own_ = nullptr;
  std::vector<Received> received_;  // messages
  std::vector<TesseraRequest*> sending_;
};

/// Waits until all processes have called it.
void barrier(std::string_view function, const SourceLoc& loc);
/// Concatenates the bytes of all processes by rank; each contributes equally many.
std::vector<std::byte> all_gather(std::string_view function, std::span<const std::byte> mine,
                                  const SourceLoc& loc);

/// The bytes of each process, by rank, in process 0; empty in the others.
std::vector<std::vector<std::byte>> gather(std::string_view function,
                                           std::span<const std::byte> mine, const SourceLoc& loc);
/// For each rank, the offset in ns to add to its steady clock to get process 0's. All processes
/// must call it. Between machines the error is at most half the duration of the fastest of several
/// exchanges.
std::vector<std::int64_t> clock_offsets(std::string_view function, const SourceLoc& loc);

}  // namespace tessera::inline v0::processes
