// Packed forms of operands (OperandForm in ir/routine.h), cached with the memory that they were
// made from, so that calls which read the same weights pack them only once.
//
// A form is cached from the second call on that reads its operand, so that a program that runs once
// needs no additional memory. All forms together have a limit in bytes; the least recently used are
// dropped first. The owner of the memory drops its forms when it is destroyed, and before the
// memory is written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tessera::inline v0::runtime {

class Buffer;

/// A form that is ready, or that one call is making. Calls that read it hold it.
class Form {
 public:
  /// Throws DeviceError if there is not enough memory.
  explicit Form(std::size_t bytes);
  std::byte* data() const;
  std::size_t bytes() const { return bytes_; }

  enum class State { making, ready, given_up };
  State state() const { return state_.load(std::memory_order_acquire); }
  /// Called when the call that makes the form has finished it or failed.
  void end(State state) { state_.store(state, std::memory_order_release); }

 private:
  std::shared_ptr<Buffer> memory_;
  const std::size_t bytes_;
  std::atomic<State> state_{State::making};
};
using FormPtr = std::shared_ptr<Form>;

/// The forms of operands in one piece of memory. Thread-safe.
class Forms {
 public:
  Forms();
  ~Forms();
  Forms(const Forms&) = delete;
  Forms& operator=(const Forms&) = delete;

  struct Found {
    FormPtr form;       // null: the call uses no form
    bool make = false;  // the caller must make it before it reads it, and end() it
  };
  /// Called once in each call that reads an operand in a form of `bytes` bytes. `repeats`: the call
  /// reads the operand often, so it packs the operand for itself if no packed form is cached.
  Found find(const void* operand, std::string_view key, std::size_t bytes, bool repeats);
  /// Drops all forms. Calls that hold a form may continue to read it; a form that is being made is
  /// not cached.
  void forget();

 private:
  friend struct KeptForms;
  struct Entry;
  struct Entries;
  // Guarded by the lock of all forms. Null until the first call.
  std::unique_ptr<Entries> entries_;
};

/// The limit in bytes of all kept forms: TESSERA_OPERAND_CACHE_MB, or a quarter of the machine's
/// memory.
std::int64_t forms_limit();
/// Forms beyond the new limit are dropped.
void set_forms_limit(std::int64_t bytes);
/// Drops all kept forms. Returns whether there were any.
bool drop_forms();

struct FormsStats {
  std::int64_t bytes = 0, forms = 0;
  std::int64_t evicted = 0;  // because of the limit
};
FormsStats forms_stats();

}  // namespace tessera::inline v0::runtime
