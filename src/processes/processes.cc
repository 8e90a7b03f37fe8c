#include "processes/processes.h"

#include "base/process.h"
#include "base/settings.h"
#include "base/warning.h"
#include "processes/alike.h"
#include "processes/disagreement.h"
#include "processes/helper.h"
#include "processes/order.h"
#include "processes/patience.h"
#include "processes/plugin.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace tessera::inline v0::processes {

All& all() {
  static All* a = new All;  // never destroyed: waits may last until the process exits
  return *a;
}

void check(int code, std::string_view function, const SourceLoc& loc) {
  if (code == 0) return;
  All& a = all();
  Message(function)
      .problem(a.transport.error)
      .rule("processes are joined by " + std::string(a.transport.name))
      .from(loc)
      .advice("look at what the launcher says")
      .raise<CollectiveError>();
}

namespace {

// The header of an operation other than a round: its function and number of bytes. It is exchanged
// first, so that processes that reached different operations find out.
struct Purpose {
  std::uint64_t bytes;
  char function[48];
};
void meet(const Subject& subject, std::size_t bytes, int who) {
  All& a = all();
  Purpose mine{bytes, {}};
  subject.collective.copy(mine.function, sizeof mine.function - 1);
  std::vector<Purpose> told(static_cast<std::size_t>(a.count));
  TesseraRequest* request = nullptr;
  {
    std::lock_guard lock(a.plugin);
    check(a.transport.all_gather(&a.transport, &mine, sizeof mine, told.data(), &request),
          subject.collective, subject.loc);
  }
  Patience(subject, who).until(request);
  for (std::size_t r = 0; r < told.size(); ++r) {
    const std::string theirs = told[r].function;
    if (theirs == mine.function && told[r].bytes == bytes) continue;
    const std::string process = "process " + std::to_string(r);
    fail(subject,
         theirs == mine.function ? process + " has " + std::to_string(told[r].bytes) +
                                       " bytes for it, this one " + std::to_string(bytes)
         : theirs == "exit" ? process + " has come to its end"
                            : process + " came to " + theirs,
         "all processes make the same calls in the same order, with arrays of one shape and dtype",
         "look for what depends on process_index(), on a clock or on files that differ");
  }
}

// Allocates the seats of all processes of this machine in shared memory.
void take_seats(All& a, const SourceLoc& loc) {
  // MPI aligns the memory to 8 bytes. Since it begins at a page boundary, the offset to the seat is
  // the same in all processes.
  const std::size_t bytes = seat_bytes(a.node.size()) + alignof(Seat);
  std::vector<void*> segments(a.node.size());
  std::lock_guard lock(a.plugin);
  check(a.transport.share(&a.transport, bytes, segments.data(), &a.seating), "initialize", loc);
  for (void* s : segments) {
    std::size_t space = bytes;
    a.seats.push_back(static_cast<Seat*>(std::align(alignof(Seat), sizeof(Seat), s, space)));
  }
}

// Finds out which processes are on one machine and which of them can read each other's memory. A
// process that may not open another's descriptors, for example in another container, uses messages.
void look_around(All& a, const SourceLoc& loc) {
  a.memory = Segment(Segment::kLeast);
  std::memcpy(a.memory.half(0), &a.rank, sizeof a.rank);
  a.mine().memory = a.memory.place();
  barrier("initialize", loc);
  const auto count = static_cast<std::size_t>(a.count), self = static_cast<std::size_t>(a.rank);
  // By rank: whether its memory is readable; then the machine, and the number of cores.
  std::vector<std::int32_t> told(count + 2);
  for (const int r : a.node) {
    if (r == a.rank) continue;
    const Seat& seat = *a.seat(r);
    int is = -1;
    if (const std::byte* p = a.peer(r).memory.at(seat.pid.load(), seat.memory, 0))
      std::memcpy(&is, p, sizeof is);
    told[static_cast<std::size_t>(r)] = is == r;
  }
  told[count] = a.node.front();
  told[count + 1] = cores();
  const std::vector<std::byte> bytes =
      all_gather("initialize", std::as_bytes(std::span(told)), loc);
  std::vector<std::int32_t> all(count * told.size());
  std::memcpy(all.data(), bytes.data(), bytes.size());
  for (std::size_t r = 0; r < count; ++r) {
    const std::int32_t* const theirs = all.data() + r * told.size();
    a.peers[r].direct = told[r] && theirs[self];
    a.messages |= r != self && !a.peers[r].direct;
    a.machine.push_back(theirs[count]);
  }
  a.cores_of_first = all[count + 1];
}

// Runs at process exit, after all queued work.
void leave() {
  All& a = all();
  if (!a.joined || forked()) return;
  a.joined = false;
  Seat& mine = a.mine();
  if (mine.broken.load()) {
    // This process failed, whatever its own exit code will be. The processes that wait for it get
    // time to report their errors; those on other machines, which are not visible here, get one
    // second.
    const std::int64_t begin = monotonic_ns();
    const auto waited = [&] { return static_cast<double>(monotonic_ns() - begin) * 1e-9; };
    const auto is_over = [](const Seat* s) { return s->ending.load() || !lives(*s); };
    mine.ending.store(1, std::memory_order_release);
    while (
        (!std::all_of(a.seats.begin(), a.seats.end(), is_over) || (a.messages && waited() < 1.0)) &&
        waited() < std::min(a.timeout, 2.0)) {
      if (const int r = asking_by_message(); r >= 0) tell_asked(Subject{0, "", "exit", {}}, r);
      ::usleep(1000);
    }
    std::lock_guard lock(a.plugin);
    a.transport.abort(&a.transport, EXIT_FAILURE);
    return;
  }
  try {
    set_text(mine, "has come to its end");
    mine.ending.store(1, std::memory_order_release);
    wake_all(a);
    // Another process may still write its results; wait for it as long as it is alive.
    meet(Subject{0, "", "exit", {}}, 0, Patience::kAllThatLive);
    // All processes have arrived.
    (void)run_within(std::numeric_limits<double>::infinity(), [&a] {
      std::lock_guard lock(a.plugin);
      (void)a.transport.unshare(&a.transport, a.seating);
      (void)a.transport.close(&a.transport);
    });
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::lock_guard lock(a.plugin);
    a.transport.abort(&a.transport, EXIT_FAILURE);
  }
}

}  // namespace

namespace {
// The number of processes in this process's srun step; 0 if srun did not start it.
long started_by_srun() {
  const std::string n = settings::environment("SLURM_STEP_NUM_TASKS");
  return n.empty() ? 0 : std::atol(n.c_str());
}
}  // namespace

bool launched() {
  if (settings::text("TESSERA_TRANSPORT") == "none") return false;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const std::string value = settings::environment(name); !value.empty()) return value != "1";
  // PMIx does not give the number of processes. srun does, if it started this PMIx job; but in
  // heterogeneous jobs it gives the number of each component.
  if (!settings::environment("PMIX_RANK").empty())
    return !settings::environment("PMIX_NAMESPACE").starts_with("slurm.") ||
           !settings::environment("SLURM_HET_SIZE").empty() || started_by_srun() != 1;
  const std::string here = settings::environment("MPI_LOCALNRANKS");
  return !here.empty() && here != "1";
}

namespace {
// Warns if srun started several processes without PMI, which cannot find each other. This may be
// intended.
void warn_of_strangers(const SourceLoc& loc) {
  static std::atomic<bool> warned{false};
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (!settings::environment(name).empty()) return;
  const long n = started_by_srun();
  if (n > 1 && settings::text("TESSERA_TRANSPORT") != "none" && !warned.exchange(true))
    warn(Message("initialize")
             .problem("srun started " + std::to_string(n) +
                      " processes and nothing that joins them: each of them is for itself")
             .rule("processes find each other by PMIx, of which srun says where it is")
             .from(loc)
             .advice("srun --mpi=pmix, or TESSERA_TRANSPORT=none where it is meant so"));
}
}  // namespace

namespace {
std::string number_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}
}  // namespace

void join(const JoinOptions& options) {
  if (!(options.timeout_seconds > 0))
    Message("initialize")
        .problem("the timeout is " + number_text(options.timeout_seconds) + " s")
        .rule("a process is waited for as long as it says, more than 0 s")
        .from(options.loc)
        .advice("distributed::initialize({.timeout = 60})")
        .raise<Error>();
  if (!launched()) return warn_of_strangers(options.loc);
  static std::mutex once;
  std::lock_guard lock(once);
  All& a = all();
  if (a.joined) return;
  static bool tried = false;  // a query for devices joins again, with default options
  if (!std::exchange(tried, true)) a.timeout = options.timeout_seconds;
  // Opening the plug-in and sharing memory both wait for all processes, MPI without a time-out. `a`
  // is never destroyed, so an abandoned call can still write to it.
  a.transport.apart = settings::flag("TESSERA_APART");
  const bool came = run_within(a.timeout, [&a, loc = options.loc] {
    open_plugin(a.transport, loc);
    const TesseraTransport& t = a.transport;
    a.node.assign(t.node, t.node + t.node_size);
    a.place.assign(static_cast<std::size_t>(t.size), -1);
    for (std::size_t i = 0; i < a.node.size(); ++i)
      a.place[static_cast<std::size_t>(a.node[i])] = static_cast<int>(i);
    take_seats(a, loc);
  });
  if (!came)
    Message("initialize")
        .problem("not all processes that the launcher started came within " +
                 seconds_text(a.timeout))
        .rule(
            "all of them come to initialize or to a question about devices, and none is waited "
            "for longer than " +
            seconds_text(a.timeout))
        .from(options.loc)
        .advice(
            "look at what the others do before it, or wait longer: "
            "distributed::initialize({.timeout = 600})")
        .raise<CollectiveError>();
  const TesseraTransport& t = a.transport;
  a.rank = t.rank;
  a.count = t.size;
  a.peers.resize(static_cast<std::size_t>(t.size));
  a.spins = std::thread::hardware_concurrency() >= a.node.size();
  Seat& mine = a.mine();
  ::gethostname(mine.host, sizeof mine.host - 1);
  set_text(mine, "has begun");
  mine.pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_release);
  a.joined = true;
  std::atexit(leave);
  library_was_used();  // registers its exit handler, which then runs before leave()
  look_around(a, options.loc);
  need_like_settings(options);
  a.several_threads = options.several_threads;
}

double timeout_seconds() { return all().timeout; }
int rank() { return all().rank; }
int count() { return all().count; }
bool several_threads() { return all().several_threads; }
int count_here() { return std::max(1, static_cast<int>(all().node.size())); }
int cores() {
  if (const auto n = settings::number("TESSERA_WORKERS")) return static_cast<int>(*n);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int own = CPU_COUNT(&set), all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, own < all ? own : own / count_here());
}
int cores_of_first() { return all().cores_of_first; }
int machine_of(int rank) {
  const std::vector<int>& machine = all().machine;
  return machine.empty() ? 0 : machine[static_cast<std::size_t>(rank)];
}

namespace {
std::atomic<int> g_devices_each{1};
}
void set_devices_each(int count) { g_devices_each.store(count, std::memory_order_relaxed); }
int devices_each() { return g_devices_each.load(std::memory_order_relaxed); }

namespace {
// Publishes that this process is in an operation other than a round.
class Meeting {
 public:
  explicit Meeting(const Subject& subject) : subject_(subject) {
    need_others(subject);
    set_text(all().mine(), "came to " + subject_text(subject));
  }
  ~Meeting() {
    if (!all().mine().broken.load())
      set_text(all().mine(), "was last at " + subject_text(subject_));
  }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

 private:
  const Subject& subject_;
};
}  // namespace

// Identifies the call by its name only; meet() compares the rest.
namespace {
std::uint64_t signature_of(std::string_view function) {
  return std::hash<std::string_view>{}(function);
}
}  // namespace

void barrier(std::string_view function, const SourceLoc& loc) {
  All& a = all();
  if (a.count == 1) return;
  const InOrder in_order(signature_of(function), function, loc);
  const Subject subject{0, "", function, loc};
  const Meeting meeting(subject);
  meet(subject, 0, Patience::kAll);
}

std::vector<std::byte> all_gather(std::string_view function, std::span<const std::byte> mine,
                                  const SourceLoc& loc) {
  if (all().count == 1) return {mine.begin(), mine.end()};
  const InOrder in_order(signature_of(function), function, loc);
  return all_gather_unordered(function, mine, loc);
}

std::vector<std::byte> all_gather_unordered(std::string_view function,
                                            std::span<const std::byte> mine, const SourceLoc& loc) {
  All& a = all();
  const Subject subject{0, "", function, loc};
  const Meeting meeting(subject);
  meet(subject, mine.size(), Patience::kAll);
  // Gathers in parts whose size fits an int.
  constexpr std::size_t kPart = std::size_t{1} << 28;
  const auto count = static_cast<std::size_t>(a.count);
  std::vector<std::byte> out(mine.size() * count), parts(std::min(kPart, mine.size()) * count);
  for (std::size_t at = 0; at < mine.size(); at += kPart) {
    const std::span<const std::byte> part = mine.subspan(at, std::min(kPart, mine.size() - at));
    TesseraRequest* request = nullptr;
    {
      std::lock_guard lock(a.plugin);
      check(a.transport.all_gather(&a.transport, part.data(), part.size(), parts.data(), &request),
            function, loc);
    }
    Patience(subject, Patience::kAll).until(request);
    for (std::size_t r = 0; r < count; ++r)
      std::memcpy(out.data() + r * mine.size() + at, parts.data() + r * part.size(), part.size());
  }
  return out;
}

std::vector<std::vector<std::byte>> gather(std::string_view function,
                                           std::span<const std::byte> mine, const SourceLoc& loc) {
  All& a = all();
  const InOrder in_order(signature_of(function), function, loc);
  std::vector<std::vector<std::byte>> of_all;
  const std::uint64_t own = mine.size();
  const std::vector<std::byte> told = all_gather(function, std::as_bytes(std::span(&own, 1)), loc);
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(a.count));
  std::memcpy(sizes.data(), told.data(), told.size());
  const Subject subject{0, "", function, loc};
  if (a.rank == 0) of_all.emplace_back(mine.begin(), mine.end());
  for (int r = 1; r < a.count; ++r) {
    if (a.rank != 0 && a.rank != r) continue;
    const auto size = static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)]);
    if (a.rank == 0) of_all.emplace_back(size);
    TesseraRequest* request = nullptr;
    {
      std::lock_guard lock(a.plugin);
      check(a.rank == 0 ? a.transport.receive(&a.transport, r, static_cast<int>(kGatherTag),
                                              of_all.back().data(), size, &request)
                        : a.transport.send(&a.transport, 0, static_cast<int>(kGatherTag),
                                           mine.data(), size, &request),
            function, loc);
    }
    Patience(subject, a.rank == 0 ? r : 0).until(request);
  }
  return of_all;
}

// No process leaves an exchange before every process has entered it. This bounds the difference of
// two clocks from both sides.
std::vector<std::int64_t> clock_offsets(std::string_view function, const SourceLoc& loc) {
  All& a = all();
  const auto count = static_cast<std::size_t>(a.count);
  std::vector<std::int64_t> offsets(count, 0);
  if (std::all_of(a.place.begin(), a.place.end(), [](int p) { return p >= 0; })) return offsets;
  constexpr std::size_t kExchanges = 32;
  struct Times {
    std::int64_t begin, end;
  };
  std::vector<Times> mine(kExchanges);
  for (Times& t : mine) {
    t.begin = monotonic_ns();
    (void)all_gather(function, std::as_bytes(std::span(&t.begin, 1)), loc);
    t.end = monotonic_ns();
  }
  const std::vector<std::byte> bytes = all_gather(function, std::as_bytes(std::span(mine)), loc);
  std::vector<Times> times(count * kExchanges);
  std::memcpy(times.data(), bytes.data(), bytes.size());
  for (std::size_t r = 1; r < count; ++r) {
    std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                 most = std::numeric_limits<std::int64_t>::max();
    for (std::size_t k = 0; k < kExchanges; ++k) {
      const Times &first = times[k], &other = times[r * kExchanges + k];
      least = std::max(least, first.begin - other.end);
      most = std::min(most, first.end - other.begin);
    }
    offsets[r] = least + (most - least) / 2;
  }
  return offsets;
}

}  // namespace tessera::inline v0::processes
