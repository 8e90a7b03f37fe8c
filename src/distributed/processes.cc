#include "distributed/processes.h"

#include "base/process.h"
#include "base/settings.h"
#include "distributed/plugin.h"
#include "distributed/seat.h"
#include "distributed/segment.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

namespace tessera::inline v0::processes {
namespace {

// What this process knows of another one. Rounds are counted by pair, so that those of some
// processes need nothing of the others.
struct Peer {
  std::uint32_t posted = 0;           // rounds that were laid out for it
  std::uint32_t begun = 0, read = 0;  // rounds that it lays out for us
  std::uint32_t in_half[2] = {};      // of the first: the last that is in each half
  bool direct = false;                // each reads the other's memory; else they send messages
  SegmentView memory;
};

struct All {
  TesseraTransport transport{};
  std::mutex plugin;  // it is called by one thread at a time
  int rank = 0, count = 1;
  double timeout = 60;
  std::vector<int> node;     // ranks on this machine, ascending
  std::vector<int> place;    // by rank: among those, or -1
  std::vector<int> machine;  // by rank: the first one on its machine
  std::vector<Seat*> seats;  // by place
  TesseraWindow* seating = nullptr;
  std::vector<Peer> peers;      // by rank
  Segment memory;               // what others read, in two halves that rounds take in turn
  std::vector<Segment> before;  // has been outgrown, and may still be read
  std::uint32_t rounds = 0, outgrown = 0;
  std::vector<int> readers[2];  // who reads what the half holds
  bool spins = false;           // there is a core for each process of the machine
  bool joined = false;

  Seat& mine() { return *seats[static_cast<std::size_t>(place[static_cast<std::size_t>(rank)])]; }
  Seat* seat(int r) {
    const int p = place[static_cast<std::size_t>(r)];
    return p < 0 ? nullptr : seats[static_cast<std::size_t>(p)];
  }
  Peer& peer(int r) { return peers[static_cast<std::size_t>(r)]; }
  // What the process of a seat says of its rounds with another one of the machine.
  Pair& pair(Seat& of, int with) {
    return pairs_of(of)[static_cast<std::size_t>(place[static_cast<std::size_t>(with)])];
  }
};
All& all() {
  static All* a = new All;  // others may be waited for to the very end of the process
  return *a;
}

// Of messages, which have 15 bits in every transport: rounds of a pair take them in turn, and one is
// left.
constexpr std::uint32_t kTags = 1 << 14, kGatherTag = kTags;
int tag_of(std::uint32_t number) { return static_cast<int>(number % kTags); }

// Numbers of rounds wrap.
bool reached(std::uint32_t counter, std::uint32_t number) {
  return static_cast<std::int32_t>(counter - number) >= 0;
}

std::string seconds_text(double s) {
  char text[32];
  std::snprintf(text, sizeof text, s < 10 ? "%.1f s" : "%.0f s", s);
  return text;
}
std::string subject_text(const Subject& s) {
  std::string text(s.collective);
  if (!s.program.empty()) text += " of '" + std::string(s.program) + "'";
  if (const std::string at = to_string(s.loc); !at.empty()) text += ", " + at;
  return text;
}

std::string stand_of(All& a, int rank) {
  std::string text = "process " + std::to_string(rank);
  const Seat* seat = a.seat(rank);
  if (!seat) return text + ": on another machine";
  const std::int32_t pid = seat->pid.load(std::memory_order_acquire);
  if (pid == 0) return text + ": has not come to initialize";
  text += " (" + std::string(seat->host) + ", pid " + std::to_string(pid) + "): ";
  if (!lives(*seat)) text += "ended; ";
  const double since = static_cast<double>(monotonic_ns() - seat->since.load()) * 1e-9;
  return text + text_of(*seat) + ", " + seconds_text(since) + " ago";
}

void add_stands(All& a, Message& m) {
  for (int r = 0; r < a.count; ++r) m.offender(stand_of(a, r));
}

// Those who sleep on what this process counts look again.
void wake_all(All& a) {
  Seat& mine = a.mine();
  for (std::size_t p = 0; p < a.seats.size(); ++p)
    for (auto* counter : {&pairs_of(mine)[p].posted, &pairs_of(mine)[p].done}) wake(mine, *counter);
}

// This process waits for nobody any more, and says so to those who wait for it.
[[noreturn]] void fail(const Subject& subject, std::string problem, std::string rule,
                       std::string advice) {
  All& a = all();
  Message m(subject.collective);
  m.problem(std::move(problem)).rule(std::move(rule)).from(subject.loc).advice(std::move(advice));
  add_stands(a, m);
  Seat& mine = a.mine();
  set_text(mine, "gave up at " + subject_text(subject));
  mine.broken.store(1, std::memory_order_release);
  wake_all(a);
  m.raise<CollectiveError>();
}

[[noreturn]] void fail_for(const Subject& subject, int rank, const char* what) {
  All& a = all();
  fail(subject, "process " + std::to_string(rank) + " " + what,
       "all processes come to the same collectives in the same order, and none is waited for "
       "longer than " +
           seconds_text(a.timeout),
       "look at what process " + std::to_string(rank) + " did last");
}

// How one waits: looks a while where cores are idle anyhow, then sleeps, and now and then looks
// whether the other one is there.
class Patience {
 public:
  /// Instead of a rank: all processes, and those on this machine while they live.
  static constexpr int kAll = -1, kAllThatLive = -2;
  Patience(const Subject& subject, int rank) : subject_(subject), rank_(rank) {}

  // Until `counter` of the seat has come to `number`.
  void until(Seat& seat, std::atomic<std::uint32_t>& counter, std::uint32_t number) {
    const int spins = all().spins ? 2000 : 0;
    for (int i = 0; i < spins; ++i) {
      if (reached(counter.load(std::memory_order_acquire), number)) return;
      __builtin_ia32_pause();
    }
    for (;;) {
      const std::uint32_t now = counter.load(std::memory_order_acquire);
      if (reached(now, number)) return;
      if (seat.broken.load(std::memory_order_acquire)) fail_for(subject_, rank_, "gave up");
      if (seat.ending.load(std::memory_order_acquire) &&
          !reached(counter.load(std::memory_order_acquire), number))
        fail_for(subject_, rank_, "has come to its end");
      sleep_on(seat, counter, now, kSlice);
      if (reached(counter.load(std::memory_order_acquire), number)) return;
      if (!lives(seat)) fail_for(subject_, rank_, "has ended");
      look_at_the_clock();
    }
  }
  // Until a request of the plug-in is over.
  void until(TesseraRequest*& request) {
    All& a = all();
    for (int turn = 0; request; ++turn) {
      int over = 0, code = 0;
      {
        std::lock_guard lock(a.plugin);
        code = a.transport.test(&a.transport, &request, &over);
      }
      if (code)
        fail(subject_, a.transport.error,
             "processes are joined by " + std::string(a.transport.name),
             "look at what the launcher says");
      if (over) return;
      if (turn < 64) {
        std::this_thread::yield();
        continue;
      }
      ::usleep(turn < 256 ? 50 : 500);
      if (turn % 64 == 0) {
        for (const int r : a.node)
          // One that has come to its end may be gone when this one learns that all have.
          if (Seat& seat = *a.seat(r);
              (rank_ < 0 || r == rank_) && !seat.ending.load() && !lives(seat))
            fail_for(subject_, r, "has ended");
        if (rank_ != kAllThatLive) look_at_the_clock();
      }
    }
  }

 private:
  static constexpr double kSlice = 0.05;
  void look_at_the_clock() {
    const double waited = static_cast<double>(monotonic_ns() - begin_) * 1e-9;
    if (waited < all().timeout) return report(waited);
    if (rank_ >= 0)
      fail_for(subject_, rank_, ("did not come within " + seconds_text(waited)).c_str());
    fail(subject_, "not all processes came within " + seconds_text(waited),
         "all of them come here, and none is waited for longer than " + seconds_text(all().timeout),
         "look at what each did last");
  }

  // The watch-dog: where everybody stands, twice as late each time.
  void report(double waited) {
    if (waited < expected_) return;
    expected_ = 2 * waited;
    static const bool wanted = settings::text("TESSERA_LOG").find("progress") != std::string::npos;
    if (!wanted) return;
    All& a = all();
    Message m(subject_.collective);
    m.problem("process " + std::to_string(a.rank) + " waits for " +
              (rank_ < 0 ? "the others" : "process " + std::to_string(rank_)) + ", for " +
              seconds_text(waited) + " now");
    add_stands(a, m);
    m.rule("a wait ends in an error after " + seconds_text(a.timeout)).from(subject_.loc);
    const std::string text = m.str() + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());  // whole among those of others
  }

  const Subject& subject_;
  const int rank_;
  const std::int64_t begin_ = monotonic_ns();
  double expected_ = all().timeout / 12;
};

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

// What a process comes to beside rounds, and with how many bytes: told to the others first, so that
// processes that come to different things find out.
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

// Takes a seat for each process of the machine, in memory that all of them see.
void take_seats(All& a, const SourceLoc& loc) {
  // MPI aligns them to 8 bytes; from a page's beginning they are as far for all.
  const std::size_t bytes = sizeof(Seat) + a.node.size() * sizeof(Pair) + alignof(Seat);
  std::vector<void*> segments(a.node.size());
  std::lock_guard lock(a.plugin);
  check(a.transport.share(&a.transport, bytes, segments.data(), &a.seating), "initialize", loc);
  for (void* s : segments) {
    std::size_t space = bytes;
    a.seats.push_back(static_cast<Seat*>(std::align(alignof(Seat), sizeof(Seat), s, space)));
  }
}

// Which processes are on one machine, and which read each other's memory there. One that may not look
// at another's descriptors, as in containers of their own, gets messages.
void look_around(All& a, const SourceLoc& loc) {
  a.memory = Segment(Segment::kLeast);
  std::memcpy(a.memory.half(0), &a.rank, sizeof a.rank);
  a.mine().memory = a.memory.place();
  barrier("initialize", loc);
  const auto count = static_cast<std::size_t>(a.count), self = static_cast<std::size_t>(a.rank);
  std::vector<std::int32_t> told(count + 1);  // by rank whether it is seen, and the machine
  for (const int r : a.node) {
    if (r == a.rank) continue;
    const Seat& seat = *a.seat(r);
    int is = -1;
    if (const std::byte* p = a.peer(r).memory.at(seat.pid.load(), seat.memory, 0))
      std::memcpy(&is, p, sizeof is);
    told[static_cast<std::size_t>(r)] = is == r;
  }
  told.back() = a.node.front();
  const std::vector<std::byte> bytes =
      all_gather("initialize", std::as_bytes(std::span(told)), loc);
  std::vector<std::int32_t> all(count * told.size());
  std::memcpy(all.data(), bytes.data(), bytes.size());
  for (std::size_t r = 0; r < count; ++r) {
    const std::int32_t* const theirs = all.data() + r * told.size();
    a.peers[r].direct = told[r] && theirs[self];
    a.machine.push_back(theirs[count]);
  }
}

// At the end of the process, behind everything that was queued.
void leave() {
  All& a = all();
  if (!a.joined || forked()) return;
  a.joined = false;
  Seat& mine = a.mine();
  if (mine.broken.load()) {
    // Whatever this process thinks of how it ends, its work was not done. Those who waited for it
    // have time to say so, too.
    const std::int64_t begin = monotonic_ns();
    const auto is_over = [](const Seat* s) { return s->ending.load() || !lives(*s); };
    mine.ending.store(1, std::memory_order_release);
    while (!std::all_of(a.seats.begin(), a.seats.end(), is_over) &&
           static_cast<double>(monotonic_ns() - begin) * 1e-9 < std::min(a.timeout, 2.0))
      ::usleep(1000);
    std::lock_guard lock(a.plugin);
    a.transport.abort(&a.transport, EXIT_FAILURE);
    return;
  }
  try {
    set_text(mine, "has come to its end");
    mine.ending.store(1, std::memory_order_release);
    wake_all(a);
    // Another one may still write what was computed: it is waited for as long as it lives.
    meet(Subject{0, "", "exit", {}}, 0, Patience::kAllThatLive);
    std::lock_guard lock(a.plugin);
    (void)a.transport.unshare(&a.transport, a.seating);
    (void)a.transport.close(&a.transport);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    std::lock_guard lock(a.plugin);
    a.transport.abort(&a.transport, EXIT_FAILURE);
  }
}

}  // namespace

bool launched() {
  if (settings::text("TESSERA_TRANSPORT") == "none") return false;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"})
    if (const std::string value = settings::environment(name); !value.empty())
      return name == std::string("PMIX_RANK") || value != "1";
  return false;
}

void join(const JoinOptions& options) {
  static std::mutex once;
  std::lock_guard lock(once);
  All& a = all();
  if (a.joined || !launched()) return;
  open_plugin(a.transport, options.loc);
  const TesseraTransport& t = a.transport;
  a.timeout = options.timeout_seconds;
  a.node.assign(t.node, t.node + t.node_size);
  a.place.assign(static_cast<std::size_t>(t.size), -1);
  for (std::size_t i = 0; i < a.node.size(); ++i)
    a.place[static_cast<std::size_t>(a.node[i])] = static_cast<int>(i);
  take_seats(a, options.loc);
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
  library_was_used();  // so that what is queued runs before
  look_around(a, options.loc);
}

int rank() { return all().rank; }
int count() { return all().count; }
int count_here() { return std::max(1, static_cast<int>(all().node.size())); }
int machine_of(int rank) {
  const std::vector<int>& machine = all().machine;
  return machine.empty() ? 0 : machine[static_cast<std::size_t>(rank)];
}

namespace {
std::atomic<int> g_devices_each{1};
}
void set_devices_each(int count) { g_devices_each.store(count, std::memory_order_relaxed); }
int devices_each() { return g_devices_each.load(std::memory_order_relaxed); }

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
  if (mine.broken.load())
    Message(subject.collective)
        .problem("a collective before this one failed")
        .rule("processes that have lost each other do not find each other again")
        .from(subject.loc)
        .advice("start them again from the newest checkpoint")
        .raise<CollectiveError>();
  half_ = ++a.rounds % 2;
  set_text(mine, "came to " + subject_text(subject));
  make_room();
  a.readers[half_] = traffic.to;
  for (const int r : traffic.from)
    if (!a.peer(r).direct) receive(r);
}

// The half was another round's, two before this one. What is too large for it gets other memory:
// readers find the old one where it was until they are done with it.
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

// What says of which round it is comes before what was laid out.
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
  if (theirs.signature.load(std::memory_order_relaxed) == subject_.signature) return;
  fail(subject_,
       "process " + std::to_string(rank) + " came to " + theirs.text + ", this one to " +
           subject_text(subject_),
       "all processes make the same calls in the same order",
       "look for what depends on process_index(), on a clock or on files that differ");
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

namespace {
// What all do together beside rounds, as others see it.
class Meeting {
 public:
  explicit Meeting(const Subject& subject) : subject_(subject) {
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

void barrier(std::string_view function, const SourceLoc& loc) {
  All& a = all();
  if (a.count == 1) return;
  const Subject subject{0, "", function, loc};
  const Meeting meeting(subject);
  meet(subject, 0, Patience::kAll);
}

std::vector<std::byte> all_gather(std::string_view function, std::span<const std::byte> mine,
                                  const SourceLoc& loc) {
  All& a = all();
  if (a.count == 1) return {mine.begin(), mine.end()};
  const Subject subject{0, "", function, loc};
  const Meeting meeting(subject);
  meet(subject, mine.size(), Patience::kAll);
  // In parts whose bytes an int counts.
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

// An exchange ends nowhere before it has begun everywhere: that bounds the difference of two clocks
// from both sides.
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
