#include "processes/group.h"

#include "base/process.h"
#include "base/settings.h"
#include "processes/alike.h"
#include "processes/call_order.h"
#include "processes/disagreement.h"
#include "processes/helper.h"
#include "processes/order.h"
#include "processes/patience.h"

#include <tessera/detail/report.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>

namespace tessera::inline v0::processes {

std::byte* Outbox::reserve(std::uint32_t half, std::size_t bytes) {
  if (!outgrown_.empty() && rounds_ != last_growth_) outgrown_.clear();
  if (const std::size_t fits = memory_.fit(bytes); fits != memory_.size()) {
    outgrown_.push_back(std::exchange(memory_, Segment(fits)));
    last_growth_ = rounds_;
  }
  return memory_.half(half);
}

void RecentPrograms::add(const Subject& subject) {
  if (!subject.program_text || programs_[0].get() == subject.program_text) return;
  const std::lock_guard lock(mutex_);
  std::rotate(programs_.begin(), programs_.end() - 1, programs_.end());
  programs_[0] = subject.program_text->shared_from_this();
}

std::shared_ptr<const Listed> RecentPrograms::find(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  for (const auto& program : programs_)
    if (program && program->number == number) return program;
  return nullptr;
}

Group& own_group() {
  static auto* group = new Group;  // never destroyed: waits may last until the process exits
  return *group;
}

Group::Group() : order_(std::make_shared<CallOrder>()) {}
Group::~Group() { leave(); }

namespace {

// The header of an operation other than a round: its function and number of bytes. It is exchanged
// first, so that processes that reached different operations find out.
struct Purpose {
  std::uint64_t bytes;
  char function[48];
};

// Identifies the call by its name only; meet() compares the rest.
std::uint64_t signature_of(std::string_view function) {
  return std::hash<std::string_view>{}(function);
}

}  // namespace

void Group::meet(const Subject& subject, std::size_t bytes, int who) {
  Purpose mine{bytes, {}};
  subject.collective.copy(mine.function, sizeof mine.function - 1);
  std::vector<Purpose> told(static_cast<std::size_t>(count_));
  TesseraRequest* request = nullptr;
  transport_.start(subject).all_gather(&mine, sizeof mine, told.data(), request);
  Patience(*this, subject, who).until(request);
  for (std::size_t r = 0; r < told.size(); ++r) {
    const std::string theirs = told[r].function;
    if (theirs == mine.function && told[r].bytes == bytes) continue;
    const std::string process = "process " + std::to_string(r);
    fail(*this, subject,
         theirs == mine.function ? process + " has " + std::to_string(told[r].bytes) +
                                       " bytes for it, this one " + std::to_string(bytes)
         : theirs == "exit" ? process + " has ended"
                            : process + " came to " + theirs,
         "all processes make the same calls in the same order, with arrays of one shape and dtype",
         "look for what depends on process_index(), on a clock or on files that differ");
  }
}

// Allocates the seats of all processes of this machine in shared memory.
void Group::take_seats(const SourceLoc& loc) {
  // MPI aligns the memory to 8 bytes. Since it begins at a page boundary, the offset to the seat is
  // the same in all processes.
  const std::size_t bytes = seat_bytes(node_.size()) + alignof(Seat);
  for (void* segment : transport_.share(bytes, Subject{0, "", "initialize", loc})) {
    std::size_t space = bytes;
    seats_.push_back(static_cast<Seat*>(std::align(alignof(Seat), sizeof(Seat), segment, space)));
  }
}

// Finds out which processes are on one machine and which of them can read each other's memory. A
// process that may not open another's descriptors, for example in another container, uses messages.
void Group::look_around(const SourceLoc& loc) {
  outbox_.open();
  std::memcpy(outbox_.half(0), &rank_, sizeof rank_);
  mine().memory = outbox_.place();
  barrier("initialize", loc);
  const auto count = static_cast<std::size_t>(count_), self = static_cast<std::size_t>(rank_);
  // For each rank, whether its memory is readable; then the machine, and the number of cores.
  std::vector<std::int32_t> told(count + 2);
  for (const int r : node_) {
    if (r == rank_) continue;
    const Seat& of = *seat(r);
    int is = -1;
    if (const std::byte* p = peer(r).memory(of, of.memory, 0)) std::memcpy(&is, p, sizeof is);
    told[static_cast<std::size_t>(r)] = is == r;
  }
  told[count] = node_.front();
  told[count + 1] = cores();
  const std::vector<std::byte> bytes =
      all_gather("initialize", std::as_bytes(std::span(told)), loc);
  std::vector<std::int32_t> all(count * told.size());
  std::memcpy(all.data(), bytes.data(), bytes.size());
  for (std::size_t r = 0; r < count; ++r) {
    const std::int32_t* const theirs = all.data() + r * told.size();
    peers_[r].set_direct(told[r] && theirs[self]);
    sends_messages_ |= r != self && !peers_[r].direct();
    machine_.push_back(theirs[count]);
  }
  cores_of_first_ = all[count + 1];
}

bool Group::enter(const OpenTransport& open, const JoinOptions& options) {
  if (joined_) return false;
  // A query for devices joins again, with default options.
  if (!std::exchange(tried_, true)) timeout_ = options.timeout_seconds;
  // Opening the plug-in and sharing memory both wait for all processes, MPI without a time-out.
  const bool apart = settings::flag("TESSERA_APART");
  const bool came = run_within(timeout_, [this, open, apart, loc = options.loc] {
    transport_.open(open, apart, loc);
    node_.assign(transport_.node().begin(), transport_.node().end());
    place_.assign(static_cast<std::size_t>(transport_.count()), -1);
    for (std::size_t i = 0; i < node_.size(); ++i)
      place_[static_cast<std::size_t>(node_[i])] = static_cast<int>(i);
    take_seats(loc);
  });
  if (!came)
    Message("initialize")
        .problem("not all processes that the launcher started came within " +
                 seconds_text(timeout_))
        .rule(
            "all of them come to initialize or to a question about devices, and none is waited "
            "for longer than " +
            seconds_text(timeout_))
        .from(options.loc)
        .advice(
            "look at what the others do before it, or wait longer: "
            "distributed::initialize({.timeout = 600})")
        .raise<CollectiveError>();
  rank_ = transport_.rank();
  count_ = transport_.count();
  peers_.resize(static_cast<std::size_t>(count_));
  spins_ = std::thread::hardware_concurrency() >= node_.size();
  Seat& own = mine();
  ::gethostname(own.host, sizeof own.host - 1);
  set_text("has begun");
  own.pid.store(static_cast<std::int32_t>(::getpid()), std::memory_order_release);
  return joined_ = true;
}

void Group::agree(const JoinOptions& options) {
  look_around(options.loc);
  need_like_settings(*this, options);
  several_threads_ = options.several_threads;
}

// This process failed, whatever its own exit code will be. The processes that wait for it get time
// to report their errors; those on other machines, which are not visible here, get one second.
void Group::leave_broken() {
  const std::int64_t begin = monotonic_ns();
  const auto waited = [&] { return static_cast<double>(monotonic_ns() - begin) * 1e-9; };
  const auto is_over = [](const Seat* s) { return s->ending.load() || !lives(*s); };
  mine().ending.store(1, std::memory_order_release);
  while ((!std::all_of(seats_.begin(), seats_.end(), is_over) ||
          (sends_messages_ && waited() < 1.0)) &&
         waited() < std::min(timeout_, 2.0)) {
    if (const int r = asking_by_message(*this); r >= 0)
      tell_asked(*this, Subject{0, "", "exit", {}}, r);
    ::usleep(1000);
  }
  transport_.abort(EXIT_FAILURE);
}

void Group::leave() {
  if (!joined_ || forked()) return;
  joined_ = false;
  if (gave_up()) return leave_broken();
  try {
    set_text("has ended");
    mine().ending.store(1, std::memory_order_release);
    wake_all();
    // Another process may still write its results; wait for it as long as it is alive.
    meet(Subject{0, "", "exit", {}}, 0, Patience::kAllThatLive);
    // All processes have arrived.
    (void)run_within(std::numeric_limits<double>::infinity(), [this] { transport_.close(); });
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    transport_.abort(EXIT_FAILURE);
  }
}

int Group::cores() const {
  if (const auto n = settings::number("TESSERA_WORKERS")) return static_cast<int>(*n);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int here = std::max(1, static_cast<int>(node_.size()));
  const int own = CPU_COUNT(&set), all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, own < all ? own : own / here);
}

void Group::set_text(std::string_view text) {
  const std::lock_guard lock(telling_);
  if (!gave_up()) processes::set_text(mine(), text);
}

void Group::give_up(std::string_view why) {
  const std::string report = detail::report_text(why, sizeof(Seat::text) - 1);
  {
    const std::lock_guard lock(telling_);
    if (gave_up()) return;
    processes::set_text(mine(), report);
    mine().broken.store(1, std::memory_order_release);
  }
  wake_all();
}

void Group::wake_all() {
  Seat& own = mine();
  for (std::size_t p = 0; p < seats_.size(); ++p)
    for (auto* counter : {&pairs_of(own)[p].posted, &pairs_of(own)[p].done}) wake(own, *counter);
  wake(own, own.ordered);
}

// Once, because a process that found a difference stops.
void Group::show(std::span<const std::byte> bytes, int asks, std::uint64_t number) {
  const std::lock_guard lock(showing_);  // threads may report at the same time
  Seat& own = mine();
  if (own.shown.load()) return;
  try {
    shown_ = Segment(bytes.size());
  } catch (const CollectiveError&) {
    return;  // report the difference even if it cannot be shown
  }
  std::memcpy(shown_.half(0), bytes.data(), bytes.size());
  own.program = shown_.place();
  own.asks = asks + 1;
  own.asked = number;
  own.shown.store(1, std::memory_order_release);
  wake_all();
}

// Publishes that this process is in an operation other than a round.
class Group::Meeting {
 public:
  Meeting(Group& group, const Subject& subject) : group_(group), subject_(subject) {
    need_others(group, subject);
    group.set_text("came to " + subject_text(subject));
  }
  ~Meeting() { group_.set_text("was last at " + subject_text(subject_)); }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

 private:
  Group& group_;
  const Subject& subject_;
};

void Group::barrier(std::string_view function, const SourceLoc& loc) {
  if (count_ == 1) return;
  const InOrder in_order(*this, signature_of(function), function, loc);
  const Subject subject{0, "", function, loc};
  const Meeting meeting(*this, subject);
  meet(subject, 0, Patience::kAll);
}

std::vector<std::byte> Group::all_gather(std::string_view function, std::span<const std::byte> mine,
                                         const SourceLoc& loc) {
  if (count_ == 1) return {mine.begin(), mine.end()};
  const InOrder in_order(*this, signature_of(function), function, loc);
  return all_gather_unordered(function, mine, loc);
}

std::vector<std::byte> Group::all_gather_unordered(std::string_view function,
                                                   std::span<const std::byte> mine,
                                                   const SourceLoc& loc) {
  const Subject subject{0, "", function, loc};
  const Meeting meeting(*this, subject);
  meet(subject, mine.size(), Patience::kAll);
  // Gathers in parts whose size fits an int.
  constexpr std::size_t kPart = std::size_t{1} << 28;
  const auto count = static_cast<std::size_t>(count_);
  std::vector<std::byte> out(mine.size() * count), parts(std::min(kPart, mine.size()) * count);
  for (std::size_t at = 0; at < mine.size(); at += kPart) {
    const std::span<const std::byte> part = mine.subspan(at, std::min(kPart, mine.size() - at));
    TesseraRequest* request = nullptr;
    transport_.start(subject).all_gather(part.data(), part.size(), parts.data(), request);
    Patience(*this, subject, Patience::kAll).until(request);
    for (std::size_t r = 0; r < count; ++r)
      std::memcpy(out.data() + r * mine.size() + at, parts.data() + r * part.size(), part.size());
  }
  return out;
}

std::vector<std::vector<std::byte>> Group::gather(std::string_view function,
                                                  std::span<const std::byte> mine,
                                                  const SourceLoc& loc) {
  const InOrder in_order(*this, signature_of(function), function, loc);
  std::vector<std::vector<std::byte>> of_all;
  const std::uint64_t own = mine.size();
  const std::vector<std::byte> told = all_gather(function, std::as_bytes(std::span(&own, 1)), loc);
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(count_));
  std::memcpy(sizes.data(), told.data(), told.size());
  const Subject subject{0, "", function, loc};
  if (rank_ == 0) of_all.emplace_back(mine.begin(), mine.end());
  for (int r = 1; r < count_; ++r) {
    if (rank_ != 0 && rank_ != r) continue;
    const auto size = static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)]);
    if (rank_ == 0) of_all.emplace_back(size);
    TesseraRequest* request = nullptr;
    if (rank_ == 0)
      transport_.start(subject).receive(r, kGatherTag, of_all.back().data(), size, request);
    else
      transport_.start(subject).send(0, kGatherTag, mine.data(), size, request);
    Patience(*this, subject, rank_ == 0 ? r : 0).until(request);
  }
  return of_all;
}

// No process leaves an exchange before every process has entered it. This bounds the difference of
// two clocks from both sides.
std::vector<std::int64_t> Group::clock_offsets(std::string_view function, const SourceLoc& loc) {
  const auto count = static_cast<std::size_t>(count_);
  std::vector<std::int64_t> offsets(count, 0);
  if (std::all_of(place_.begin(), place_.end(), [](int p) { return p >= 0; })) return offsets;
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
