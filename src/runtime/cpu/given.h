// Describes the inputs of a call between processes, so that its exchanges can detect differences.
#pragma once

#include "processes/processes.h"
#include "runtime/history.h"
#include "runtime/input_names.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::inline v0::runtime {

/// The inputs of one call: values of uncommitted inputs, and histories of inputs over devices of
/// several processes. It reads memory that the call holds, and sets the history of the call's
/// results.
class CallGiven final : public processes::Given {
 public:
  /// Null if the call neither exchanges data with other processes nor has arrays over their
  /// devices, or if comparison is off. `donated` are inputs whose memory the call may overwrite.
  static std::shared_ptr<CallGiven> of(std::uint64_t signature, bool communicates,
                                       std::span<const ArrayDataPtr> inputs,
                                       const std::vector<bool>& donated,
                                       std::span<const ArrayDataPtr> results);

  /// Computes the numbers. Call it when the inputs are complete, before the call writes anything.
  void settle();

  std::string shown() const override;
  std::vector<std::string> differences(const std::string& theirs, int rank) const override;

 private:
  struct Input {
    std::size_t index;
    Type type;
    const std::byte* bytes = nullptr;        // the whole array, if this process has it
    std::shared_ptr<const History> history;  // null: compared by value, or unknown
    bool by_value = false, is_overwritten = false;
    std::uint64_t number = 0;
  };
  std::string name_of(std::size_t input) const;

  std::uint64_t signature_ = 0;
  std::vector<Input> inputs_;
  std::shared_ptr<std::deque<History>> results_;
  InputNames::Names names_;
};

}  // namespace tessera::inline v0::runtime
