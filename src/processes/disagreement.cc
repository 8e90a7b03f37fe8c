#include "processes/disagreement.h"

#include "processes/call_order.h"
#include "processes/listing.h"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
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

// How long a process waits for the peer's program after it found a difference; the peer may still
// be computing.
double patience(const Group& group) { return group.timeout() / 12; }

std::string text_of(const Listed* program) {
  return program && program->text ? program->text() : std::string();
}

// The remembered program with that number, or the present one.
std::shared_ptr<const Listed> program_of(Group& group, const Subject& subject,
                                         std::uint64_t number) {
  if (auto program = group.recent().find(number)) return program;
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

std::optional<Other> seen(Group& group, int rank, std::uint64_t number) {
  const Seat& seat = *group.seat(rank);
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

std::optional<Other> wait_to_see(Group& group, int rank, std::uint64_t number) {
  Seat& seat = *group.seat(rank);
  const std::int64_t begin = monotonic_ns();
  while (!seat.shown.load(std::memory_order_acquire)) {
    const double waited = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    if (waited > patience(group) || !lives(seat) || seat.broken.load())
      if (!seat.shown.load(std::memory_order_acquire)) return std::nullopt;
    ::usleep(1000);
  }
  return seen(group, rank, number);
}

// Between machines, both processes send their programs as messages.
class Exchanged {
 public:
  // Sends `mine` to process `rank` and waits for its program.
  static std::optional<Other> with(Group& group, int rank, const std::vector<std::byte>& mine,
                                   std::uint64_t number) {
    // Never deleted: the receive buffers must outlive a message that may still arrive.
    auto* const e = new Exchanged(group, rank);
    if (!e->send(mine) || !e->receive()) return std::nullopt;
    if (number && e->theirs_.program != number) return std::nullopt;
    return e->other();
  }
  // Answers a process that sent first, with the program that it requested.
  template <class Make>
  static std::optional<Other> after(Group& group, int rank, const Make& make) {
    auto* const e = new Exchanged(group, rank);
    if (!e->receive() || !e->send(make(e->theirs_.asked))) return std::nullopt;
    return e->other();
  }

 private:
  Exchanged(Group& group, int rank) : group_(group), rank_(rank) {}

  bool send(const std::vector<std::byte>& bytes) {
    mine_ = bytes;
    Transport& transport = group_.transport();
    return transport.try_send(rank_, kProgramTag, mine_.data(), sizeof(Shown), sent_[0]) &&
           transport.try_send(rank_, kProgramTag, mine_.data() + sizeof(Shown),
                              mine_.size() - sizeof(Shown), sent_[1]);
  }
  bool receive() {
    if (!receive(&theirs_, sizeof theirs_)) return false;
    text_.resize(static_cast<std::size_t>(theirs_.bytes));
    return receive(text_.data(), text_.size());
  }
  bool receive(void* to, std::size_t bytes) {
    TesseraRequest* request = nullptr;
    return group_.transport().try_receive(rank_, kProgramTag, to, bytes, request) &&
           is_over(request);
  }
  bool is_over(TesseraRequest*& request) const {
    for (bool over = false; request;) {
      if (!group_.transport().test(request, over)) return false;
      if (over) break;
      if (static_cast<double>(monotonic_ns() - begin_) * 1e-9 > patience(group_)) return false;
      ::usleep(1000);
    }
    return true;
  }
  std::optional<Other> other() {
    for (TesseraRequest*& request : sent_)
      if (!is_over(request)) return std::nullopt;
    return Other{theirs_.kind, theirs_.subject, text_};
  }

  Group& group_;
  const int rank_;
  const std::int64_t begin_ = monotonic_ns();
  std::vector<std::byte> mine_;
  std::string text_;
  Shown theirs_{};
  TesseraRequest* sent_[2] = {};
};

// Publishes `mine` to process `rank` and waits a while for its counterpart.
std::optional<Other> exchange(Group& group, int rank, const std::vector<std::byte>& mine,
                              std::uint64_t theirs) {
  if (group.seat(rank)) group.show(mine, rank, theirs);
  return group.peer(rank).direct() ? wait_to_see(group, rank, theirs)
                                   : Exchanged::with(group, rank, mine, theirs);
}

[[noreturn]] void fail_between_values(Group& group, const Subject& subject, int rank,
                                      const std::string& came_to, std::vector<std::string> lines) {
  fail(group, subject,
       "process " + std::to_string(rank) + " came to " + came_to +
           ", with other inputs than this one",
       "uncommitted arrays and those that device_put places must be the same in all "
       "processes, which make the same calls in the same order",
       "look for what depends on process_index(), on a clock or on files that differ, and for a "
       "call "
       "that one process makes alone",
       {rank, std::move(lines)});
}

[[noreturn]] void fail_between(Group& group, const Subject& subject, int rank,
                               const std::string& theirs, const std::string& ours,
                               const Listed* program, const std::optional<Other>& other) {
  if (other && other->kind == Kind::given) fail_between_values(group, subject, rank, theirs, {});
  const std::string process = "process " + std::to_string(rank);
  std::vector<std::string> lines;
  if (other && !other->listing.empty() && program)
    if (const auto difference = first_difference(text_of(program), other->listing))
      lines = {"the first equation that differs is here " + difference->here,
               "and in " + process + " " + difference->there};
  fail(group, subject, process + " came to " + theirs + ", this one to " + ours,
       "all processes make the same calls in the same order",
       group.order()->raced.load(std::memory_order_relaxed)
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

void fail_for_difference(Group& group, const Subject& subject, int rank, const Title& theirs) {
  const std::string text = subject_text(subject);
  const std::vector<std::byte> mine = shown(subject.program_text, text, theirs.program);
  fail_between(group, subject, rank, theirs.text, text, subject.program_text,
               exchange(group, rank, mine, theirs.program));
}

void fail_for_values(Group& group, const Subject& subject, int rank, const Title& theirs) {
  const std::string text = subject_text(subject);
  const std::optional<Other> other = exchange(
      group, rank,
      shown(Kind::given, subject.program_text, subject.given->shown(), text, theirs.program),
      theirs.program);
  std::vector<std::string> lines;
  if (other && other->kind == Kind::given) lines = subject.given->differences(other->listing, rank);
  fail_between_values(group, subject, rank, theirs.text, std::move(lines));
}

bool is_asked_by(Group& group, int rank) {
  const Seat& seat = *group.seat(rank);
  return seat.shown.load(std::memory_order_acquire) && seat.asks == group.rank() + 1;
}

void show_asked(Group& group, int rank) {
  if (group.mine().shown.load()) return;
  const Subject none;
  const std::shared_ptr<const Listed> program = program_of(group, none, group.seat(rank)->asked);
  group.show(shown(program.get(), program ? "'" + program->name + "'" : ""), -1, 0);
}

void answer(Group& group, const Subject& subject, int rank) {
  const std::shared_ptr<const Listed> program = program_of(group, subject, group.seat(rank)->asked);
  const std::string text = came_to(subject, program.get());
  group.show(shown(program.get(), text), -1, 0);
  const std::optional<Other> other = seen(group, rank, 0);
  fail_between(group, subject, rank, other ? other->subject : "something else", text, program.get(),
               other);
}

int asking_by_message(Group& group) {
  return group.sends_messages() ? group.transport().probe(kProgramTag) : -1;
}

void tell_asked(Group& group, const Subject& subject, int rank) {
  (void)Exchanged::after(group, rank, [&](std::uint64_t asked) {
    const auto program = program_of(group, subject, asked);
    return shown(program.get(), came_to(subject, program.get()));
  });
}

void answer_by_message(Group& group, const Subject& subject, int rank) {
  std::shared_ptr<const Listed> program;
  std::string text = subject_text(subject);
  const std::optional<Other> other = Exchanged::after(group, rank, [&](std::uint64_t asked) {
    program = program_of(group, subject, asked);
    text = came_to(subject, program.get());
    return shown(program.get(), text);
  });
  fail_between(group, subject, rank, other ? other->subject : "something else", text, program.get(),
               other);
}

}  // namespace tessera::inline v0::processes
