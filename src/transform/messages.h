// Which collectives of a program one message carries.
//
// A small collective takes its latency and hardly more. Collectives of one kind over the same devices
// of which none waits for another's result are combined: the values of all of them travel together,
// and each keeps its own result, so that no bit depends on it.
//
// The program itself stays as it is. The runtime of the CPU puts all communication that is ready into
// one phase, and so into one exchange between processes (codegen/tape/schedule.h), which is at least
// as much as is combined here; plans count and price messages, and a written module has them as
// collectives of several operands.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tessera::inline v0 {

/// Bytes of operands up to which collectives over the axes are combined.
using MessageSize = std::function<std::int64_t(const std::vector<std::string>& axes)>;

/// Where nobody says what links are like: what a link of 1 us and 50 GB/s carries in that time.
inline constexpr std::int64_t kMessageBytes = 50'000;

/// The equations of a program in an order in which they can be computed: those that are not combined
/// in the order that they have, those of a message side by side, where the last of them stands.
class Messages {
 public:
  /// Deterministic: processes with the same program have the same messages. Sees one level, not the
  /// programs nested in it.
  Messages(const Program& p, const MessageSize& most);

  std::size_t count() const { return begins_.size() - 1; }
  /// One equation, or the collectives of one message in the order of the program: numbers of
  /// equations.
  std::span<const std::uint32_t> operator[](std::size_t item) const {
    return std::span(equations_).subspan(begins_[item], begins_[item + 1] - begins_[item]);
  }

 private:
  std::vector<std::uint32_t> equations_;
  std::vector<std::size_t> begins_;
};

}  // namespace tessera::inline v0
