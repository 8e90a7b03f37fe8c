// The names of a call's inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tessera::inline v0::runtime {

/// The names of the inputs of the call that is running on this thread, for errors.
class InputNames {
 public:
  using Names = std::shared_ptr<const std::vector<std::string>>;
  explicit InputNames(const Names& names) : before_(now_) { now_ = &names; }
  ~InputNames() { now_ = before_; }
  InputNames(const InputNames&) = delete;
  InputNames& operator=(const InputNames&) = delete;
  static Names now() { return now_ ? *now_ : nullptr; }

 private:
  static inline thread_local const Names* now_ = nullptr;
  const Names* before_;
};

}  // namespace tessera::inline v0::runtime
