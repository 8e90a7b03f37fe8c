// A call that is under way for as long as a test needs: its program waits in a function of the host
// until the test opens the gate.
#pragma once

#include "caller.h"
#include "pjrt/callbacks_abi.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>

namespace caller {

class Gate {
 public:
  Gate() {
    current() = this;
    symbol<void(TesseraCallback)>("tessera_pjrt_set_callback")(&Gate::enter);
  }
  /// Opens, and waits for all calls.
  ~Gate() {
    open();
    symbol<void(TesseraCallback)>("tessera_pjrt_set_callback")(nullptr);
    current() = nullptr;
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  /// What calls fail with from now on; "" ends that.
  void fail_with(const std::string& text) {
    const std::lock_guard lock(mutex_);
    failure_ = text;
  }
  int calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  /// A program from f32[256,256] and f32[4] to f32, the number of the call, and f32[4], the
  /// argument plus that number. The product of matrices makes it too long to run in Execute.
  static std::string module() {
    return module_of(
        "%a: tensor<256x256xf32>, %b: tensor<4xf32>", "tensor<f32>, tensor<4xf32>",
        "    %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : "
        "(tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>\n"
        "    %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : "
        "(tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>\n"
        "    %2 = stablehlo.custom_call @tessera_python_callback(%1) {api_version = 4 : i32, "
        "backend_config = {}, has_side_effect = true, mhlo.backend_config = {index = 0 : i64}} : "
        "(tensor<256x256xf32>) -> tensor<f32>\n"
        "    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
        "    %4 = stablehlo.add %b, %3 : tensor<4xf32>\n"
        "    return %2, %4 : tensor<f32>, tensor<4xf32>\n",
        "gated");
  }

 private:
  static Gate*& current() {
    static Gate* gate = nullptr;
    return gate;
  }
  static int enter(std::int64_t, std::int64_t, std::int32_t, const TesseraArray*, std::int32_t,
                   const TesseraArray* results, char* error, std::size_t error_size) {
    Gate& gate = *current();
    std::unique_lock lock(gate.mutex_);
    gate.changed_.wait(lock, [&] { return gate.is_open_; });
    const auto number = static_cast<float>(++gate.calls_);
    std::memcpy(results[0].data, &number, sizeof number);
    if (gate.failure_.empty()) return 0;
    std::strncpy(error, gate.failure_.c_str(), error_size);
    return 1;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  int calls_ = 0;
  std::string failure_;
};

}  // namespace caller
