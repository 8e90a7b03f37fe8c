// Combines collectives of a program into messages.
//
// The cost of a small collective is almost all latency. Collectives of one kind over the same
// devices that do not depend on one another are therefore combined: their values travel in one
// message, and each keeps its own result, so no bits change.
//
// The program itself is unchanged. The CPU runtime already puts all communication that is ready
// into one phase, and so into one exchange between processes (codegen/tape/schedule.h), which
// combines at least as much. Plans count and price messages, and exported modules write a message
// as one collective with several operands.
#pragma once

#include "ir/program.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tessera::inline v0 {

/// The number of operand bytes up to which collectives over `axes` are combined.
using MessageSize = std::function<std::int64_t(const std::vector<std::string>& axes)>;

/// The default if no link speeds are given: the bytes that a link of 1 us and 50 GB/s carries in 1
/// us.
inline constexpr std::int64_t kMessageBytes = 50'000;

/// The equations of a program in an executable order. Equations that are not combined keep their
/// order; those of one message are adjacent, at the position of the last of them.
class Messages {
 public:
  /// Deterministic: processes with the same program form the same messages. Looks at one level, not
  /// at nested programs.
  Messages(const Program& p, const MessageSize& most);

  std::size_t count() const { return begins_.size() - 1; }
  /// The indices of one equation, or of the collectives of one message in program order.
  std::span<const std::uint32_t> operator[](std::size_t item) const {
    return std::span(equations_).subspan(begins_[item], begins_[item + 1] - begins_[item]);
  }

 private:
  std::vector<std::uint32_t> equations_;
  std::vector<std::size_t> begins_;
};

}  // namespace tessera::inline v0
