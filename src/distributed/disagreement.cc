#include "distributed/disagreement.h"

#include "distributed/listing.h"
#include "distributed/order.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0::processes {
namespace {

// A program as a process shows it to others: this, and the text behind it.
struct Shown {
  std::uint64_t program;
  std::uint64_t bytes;
  char subject[sizeof(Title::text)];
};
struct Other {
  std::string subject, listing;
};

// The last ones: a process comes to two rounds at most that another one has not come to. Rounds are made
// one at a time; a thread that waits for something else may look meanwhile.
struct Recent {
  std::mutex mutex;
  std::array<std::shared_ptr<const Listed>, 4> programs;
};
Recent& recent() {
  static auto* r = new Recent;
  return *r;
}

// For so long one that found a difference waits for the other's program: it may compute still.
double patience() { return all().timeout / 12; }

std::string text_of(const Listed* program) {
  return program && program->text ? program->text() : std::string();
}

// What this process came to as the program of that number, or comes to now.
std::shared_ptr<const Listed> program_of(const Subject& subject, std::uint64_t number) {
  Recent& r = recent();
  const std::lock_guard lock(r.mutex);
  for (const auto& program : r.programs)
    if (program && program->number == number) return program;
  return subject.program_text ? subject.program_text->shared_from_this() : nullptr;
}
std::string came_to(const Subject& subject, const Listed* program) {
  if (!program || program == subject.program_text) return subject_text(subject);
  return "'" + program->name + "'";
}

std::vector<std::byte> shown(const Listed* program, const std::string& subject) {
  const std::string text = text_of(program);
  Shown head{program ? program->number : 0, text.size(), {}};
  subject.copy(head.subject, sizeof head.subject - 1);
  std::vector<std::byte> bytes(sizeof head + text.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!text.empty()) std::memcpy(bytes.data() + sizeof head, text.data(), text.size());
  return bytes;
}

// Puts it where the processes of the machine see it, once: whoever finds a difference goes no further.
// It asks process `rank`, if any, for its program of that number.
void show(const std::vector<std::byte>& bytes, int rank, std::uint64_t number) {
  static std::mutex several;  // threads of this process
  const std::lock_guard lock(several);
  All& a = all();
  Seat& mine = a.mine();
  if (mine.shown.load()) return;
  try {
    a.shown = Segment(bytes.size());
  } catch (const CollectiveError&) {
    return;  // there is a difference to tell of, even if it cannot be shown
  }
  std::memcpy(a.shown.half(0), bytes.data(), bytes.size());
  mine.program = a.shown.place();
  mine.asks = rank + 1;
  mine.asked = number;
  mine.shown.store(1, std::memory_order_release);
  wake_all(a);
}

std::optional<Other> seen(int rank, std::uint64_t number) {
  All& a = all();
  const Seat& seat = *a.seat(rank);
  SegmentView view;
  const std::byte* const at = view.at(seat.pid.load(), seat.program, 0);
  if (!at) return std::nullopt;
  Shown head;
  std::memcpy(&head, at, sizeof head);
  if (number && head.program != number) return std::nullopt;
  return Other{head.subject, std::string(reinterpret_cast<const char*>(at) + sizeof head,
                                         static_cast<std::size_t>(head.bytes))};
}

std::optional<Other> wait_to_see(int rank, std::uint64_t number) {
  Seat& seat = *all().seat(rank);
  const std::int64_t begin = monotonic_ns();
  while (!seat.shown.load(std::memory_order_acquire)) {
    const double waited = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    if (waited > patience() || !lives(seat) || seat.broken.load())
      if (!seat.shown.load(std::memory_order_acquire)) return std::nullopt;
    ::usleep(1000);
  }
  return seen(rank, number);
}

// Between machines: both find the difference at one exchange, and tell each other.
std::optional<Other> tell_each_other(int rank, const std::vector<std::byte>& mine,
                                     std::uint64_t number) {
  All& a = all();
  const std::int64_t begin = monotonic_ns();
  const auto is_over = [&](TesseraRequest*& request) {
    for (int over = 0; request;) {
      {
        const std::lock_guard lock(a.plugin);
        if (a.transport.test(&a.transport, &request, &over)) return false;
      }
      if (over) break;
      if (static_cast<double>(monotonic_ns() - begin) * 1e-9 > patience()) return false;
      ::usleep(1000);
    }
    return true;
  };
  // What a message that never comes would be written to is there to the end.
  struct Messages {
    std::vector<std::byte> mine, text;
    Shown theirs;
    TesseraRequest *sent[2] = {}, *head = nullptr, *body = nullptr;
  };
  auto* const m = new Messages{mine, {}, {}};
  constexpr int kTag = static_cast<int>(kProgramTag);
  {
    const std::lock_guard lock(a.plugin);
    if (a.transport.send(&a.transport, rank, kTag, m->mine.data(), sizeof(Shown), &m->sent[0]) ||
        a.transport.send(&a.transport, rank, kTag, m->mine.data() + sizeof(Shown),
                         m->mine.size() - sizeof(Shown), &m->sent[1]) ||
        a.transport.receive(&a.transport, rank, kTag, &m->theirs, sizeof(Shown), &m->head))
      return std::nullopt;
  }
  if (!is_over(m->head)) return std::nullopt;
  m->text.resize(static_cast<std::size_t>(m->theirs.bytes));
  {
    const std::lock_guard lock(a.plugin);
    if (a.transport.receive(&a.transport, rank, kTag, m->text.data(), m->text.size(), &m->body))
      return std::nullopt;
  }
  if (!is_over(m->body) || !is_over(m->sent[0]) || !is_over(m->sent[1])) return std::nullopt;
  if (number && m->theirs.program != number) return std::nullopt;
  return Other{m->theirs.subject,
               std::string(reinterpret_cast<const char*>(m->text.data()), m->text.size())};
}

[[noreturn]] void fail_between(const Subject& subject, int rank, const std::string& theirs,
                               const std::string& ours, const Listed* program,
                               const std::optional<Other>& other) {
  const std::string process = "process " + std::to_string(rank);
  std::vector<std::string> lines;
  if (other && !other->listing.empty() && program)
    if (const auto difference = first_difference(text_of(program), other->listing))
      lines = {"the first equation that differs is here " + difference->here,
               "and in " + process + " " + difference->there};
  fail(subject, process + " came to " + theirs + ", this one to " + ours,
       "all processes make the same calls in the same order",
       several_threads_call()
           ? "several threads make such calls: distributed::initialize({.several_threads = true})"
           : "look for what depends on process_index(), on a clock or on files that differ",
       {rank, std::move(lines)});
}

}  // namespace

Listed::Listed(std::string called, std::function<std::string()> listing)
    : name(std::move(called)), text(std::move(listing)) {
  static std::atomic<std::uint64_t> numbers{0};
  number = ++numbers;
}

void remember(const Subject& subject) {
  Recent& r = recent();
  if (!subject.program_text || r.programs[0].get() == subject.program_text) return;
  const std::lock_guard lock(r.mutex);
  std::rotate(r.programs.begin(), r.programs.end() - 1, r.programs.end());
  r.programs[0] = subject.program_text->shared_from_this();
}

void fail_for_difference(const Subject& subject, int rank, const Title& theirs) {
  const std::string text = subject_text(subject);
  const std::vector<std::byte> mine = shown(subject.program_text, text);
  const Peer& peer = all().peer(rank);
  if (all().seat(rank)) show(mine, rank, theirs.program);
  const std::optional<Other> other =
      peer.direct ? wait_to_see(rank, theirs.program) : tell_each_other(rank, mine, theirs.program);
  fail_between(subject, rank, theirs.text, text, subject.program_text, other);
}

bool is_asked_by(int rank) {
  const Seat& seat = *all().seat(rank);
  return seat.shown.load(std::memory_order_acquire) && seat.asks == all().rank + 1;
}

void show_asked(int rank) {
  if (all().mine().shown.load()) return;
  const Subject none;
  const std::shared_ptr<const Listed> program = program_of(none, all().seat(rank)->asked);
  show(shown(program.get(), program ? "'" + program->name + "'" : ""), -1, 0);
}

void answer(const Subject& subject, int rank) {
  const std::shared_ptr<const Listed> program = program_of(subject, all().seat(rank)->asked);
  const std::string text = came_to(subject, program.get());
  show(shown(program.get(), text), -1, 0);
  const std::optional<Other> other = seen(rank, 0);
  fail_between(subject, rank, other ? other->subject : "something else", text, program.get(),
               other);
}

}  // namespace tessera::inline v0::processes
