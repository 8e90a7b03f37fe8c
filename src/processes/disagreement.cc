#include "processes/disagreement.h"

#include "processes/listing.h"
#include "processes/order.h"

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

// The header of a published program, or of a call's inputs; the text follows it.
enum class Kind : std::uint64_t { program, given };
struct Shown {
  Kind kind;
  std::uint64_t program;
  std::uint64_t asked;  // number of the reader's program that is requested
  std::uint64_t bytes;
  char subject[sizeof(Title::text)];
};
struct Other {
  Kind kind;
  std::string subject, listing;
};

// The most recent programs. A process is at most two rounds ahead of another. Rounds are made one
// at a time, but a thread that waits for something else may read this meanwhile.
struct Recent {
  std::mutex mutex;
  std::array<std::shared_ptr<const Listed>, 4> programs;
};
Recent& recent() {
  static auto* r = new Recent;
  return *r;
}

// How long a process waits for the peer's program after it found a difference; the peer may still
// be computing.
double patience() { return all().timeout / 12; }

std::string text_of(const Listed* program) {
  return program && program->text ? program->text() : std::string();
}

// The remembered program with that number, or the present one.
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

std::vector<std::byte> shown(Kind kind, const Listed* program, const std::string& text,
                             const std::string& subject, std::uint64_t asked) {
  Shown head{kind, program ? program->number : 0, asked, text.size(), {}};
  subject.copy(head.subject, sizeof head.subject - 1);
  std::vector<std::byte> bytes(sizeof head + text.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!text.empty()) std::memcpy(bytes.data() + sizeof head, text.data(), text.size());
  return bytes;
}

std::vector<std::byte> shown(const Listed* program, const std::string& subject,
                             std::uint64_t asked = 0) {
  return shown(Kind::program, program, text_of(program), subject, asked);
}

// Publishes the bytes to the processes of this machine, once, because a process that found a
// difference stops. Requests program `number` from process `rank`, if there is one.
void show(const std::vector<std::byte>& bytes, int rank, std::uint64_t number) {
  static std::mutex several;  // threads may report at the same time
  const std::lock_guard lock(several);
  All& a = all();
  Seat& mine = a.mine();
  if (mine.shown.load()) return;
  try {
    a.shown = Segment(bytes.size());
  } catch (const CollectiveError&) {
    return;  // report the difference even if it cannot be shown
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
  return Other{head.kind, head.subject,
               std::string(reinterpret_cast<const char*>(at) + sizeof head,
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

// Between machines, both processes send their programs as messages.
class Exchanged {
 public:
  // Sends `mine` to process `rank` and waits for its program.
  static std::optional<Other> with(int rank, const std::vector<std::byte>& mine,
                                   std::uint64_t number) {
    // Never deleted: the receive buffers must outlive a message that may still arrive.
    auto* const e = new Exchanged(rank);
    if (!e->send(mine) || !e->receive()) return std::nullopt;
    if (number && e->theirs_.program != number) return std::nullopt;
    return e->other();
  }
  // Answers a process that sent first, with the program that it requested.
  template <class Make>
  static std::optional<Other> after(int rank, const Make& make) {
    auto* const e = new Exchanged(rank);
    if (!e->receive() || !e->send(make(e->theirs_.asked))) return std::nullopt;
    return e->other();
  }

 private:
  explicit Exchanged(int rank) : rank_(rank) {}

  bool send(const std::vector<std::byte>& bytes) {
    mine_ = bytes;
    All& a = all();
    const std::lock_guard lock(a.plugin);
    return a.transport.send(&a.transport, rank_, kTag, mine_.data(), sizeof(Shown), &sent_[0]) ==
               0 &&
           a.transport.send(&a.transport, rank_, kTag, mine_.data() + sizeof(Shown),
                            mine_.size() - sizeof(Shown), &sent_[1]) == 0;
  }
  bool receive() {
    if (!receive(&theirs_, sizeof theirs_)) return false;
    text_.resize(static_cast<std::size_t>(theirs_.bytes));
    return receive(text_.data(), text_.size());
  }
  bool receive(void* to, std::size_t bytes) {
    All& a = all();
    TesseraRequest* request = nullptr;
    {
      const std::lock_guard lock(a.plugin);
      if (a.transport.receive(&a.transport, rank_, kTag, to, bytes, &request)) return false;
    }
    return is_over(request);
  }
  bool is_over(TesseraRequest*& request) const {
    All& a = all();
    for (int over = 0; request;) {
      {
        const std::lock_guard lock(a.plugin);
        if (a.transport.test(&a.transport, &request, &over)) return false;
      }
      if (over) break;
      if (static_cast<double>(monotonic_ns() - begin_) * 1e-9 > patience()) return false;
      ::usleep(1000);
    }
    return true;
  }
  std::optional<Other> other() {
    for (TesseraRequest*& request : sent_)
      if (!is_over(request)) return std::nullopt;
    return Other{theirs_.kind, theirs_.subject, text_};
  }

  static constexpr int kTag = static_cast<int>(kProgramTag);
  const int rank_;
  const std::int64_t begin_ = monotonic_ns();
  std::vector<std::byte> mine_;
  std::string text_;
  Shown theirs_{};
  TesseraRequest* sent_[2] = {};
};

// Publishes `mine` to process `rank` and waits a while for its counterpart.
std::optional<Other> exchange(int rank, const std::vector<std::byte>& mine, std::uint64_t theirs) {
  if (all().seat(rank)) show(mine, rank, theirs);
  return all().peer(rank).direct ? wait_to_see(rank, theirs) : Exchanged::with(rank, mine, theirs);
}

[[noreturn]] void fail_between_values(const Subject& subject, int rank, const std::string& came_to,
                                      std::vector<std::string> lines) {
  fail(subject,
       "process " + std::to_string(rank) + " came to " + came_to +
           ", with other inputs than this one",
       "what lies nowhere or is placed by device_put is the same in all processes, which make the "
       "same calls in the same order",
       "look for what depends on process_index(), on a clock or on files that differ, and for a "
       "call "
       "that one process makes alone",
       {rank, std::move(lines)});
}

[[noreturn]] void fail_between(const Subject& subject, int rank, const std::string& theirs,
                               const std::string& ours, const Listed* program,
                               const std::optional<Other>& other) {
  if (other && other->kind == Kind::given) fail_between_values(subject, rank, theirs, {});
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
  const std::vector<std::byte> mine = shown(subject.program_text, text, theirs.program);
  fail_between(subject, rank, theirs.text, text, subject.program_text,
               exchange(rank, mine, theirs.program));
}

void fail_for_values(const Subject& subject, int rank, const Title& theirs) {
  const std::string text = subject_text(subject);
  const std::optional<Other> other = exchange(
      rank, shown(Kind::given, subject.program_text, subject.given->shown(), text, theirs.program),
      theirs.program);
  std::vector<std::string> lines;
  if (other && other->kind == Kind::given) lines = subject.given->differences(other->listing, rank);
  fail_between_values(subject, rank, theirs.text, std::move(lines));
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

int asking_by_message() {
  All& a = all();
  if (!a.messages) return -1;
  int from = -1;
  const std::lock_guard lock(a.plugin);
  return a.transport.probe(&a.transport, static_cast<int>(kProgramTag), &from) ? -1 : from;
}

void tell_asked(const Subject& subject, int rank) {
  (void)Exchanged::after(rank, [&](std::uint64_t asked) {
    const auto program = program_of(subject, asked);
    return shown(program.get(), came_to(subject, program.get()));
  });
}

void answer_by_message(const Subject& subject, int rank) {
  std::shared_ptr<const Listed> program;
  std::string text = subject_text(subject);
  const std::optional<Other> other = Exchanged::after(rank, [&](std::uint64_t asked) {
    program = program_of(subject, asked);
    text = came_to(subject, program.get());
    return shown(program.get(), text);
  });
  fail_between(subject, rank, other ? other->subject : "something else", text, program.get(),
               other);
}

}  // namespace tessera::inline v0::processes
