// A platform for tests, "far", which keeps the promises of runtime/backend.h without any part of the
// host's. Its memory is inverted bit by bit, so that a reader in place reads nonsense. Transfers and
// programs run one after the other on a thread of its own, and programs run on the evaluators.
#pragma once

#include "ir/host_array.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace far {

namespace ts = tessera;
using namespace tessera::runtime;

constexpr int kDevices = 3;

/// Memory of a device, which counts it.
struct Block {
  Block(int on, std::size_t n) : device(on), bytes(n) { count(static_cast<std::int64_t>(n)); }
  ~Block() { count(-static_cast<std::int64_t>(bytes.size())); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  static MemoryStats stats(int device) {
    const std::lock_guard lock(mutex_);
    return stats_[static_cast<std::size_t>(device)];
  }

  const int device;
  std::vector<std::byte> bytes;  // inverted

 private:
  void count(std::int64_t n) const {
    const std::lock_guard lock(mutex_);
    MemoryStats& s = stats_[static_cast<std::size_t>(device)];
    s.live += n;
    s.peak = std::max(s.peak, s.live);
  }
  static inline std::mutex mutex_;
  static inline std::array<MemoryStats, kDevices> stats_{};
};

/// Runs what it is given in order, unless it is held up.
class Line {
 public:
  Line() : thread_([this] { loop(); }) { thread_.detach(); }
  std::shared_ptr<Completion> add(std::function<void()> work) {
    auto ended = std::make_shared<Event>();
    {
      std::lock_guard lock(mutex_);
      queue_.push_back([ended, work = std::move(work)]() mutable {
        std::exception_ptr error;
        try {
          work();
        } catch (...) {
          error = std::current_exception();
        }
        work = nullptr;  // its memory is free by the time that anybody sees the end
        ended->end(error);
      });
    }
    changed_.notify_all();
    return ended;
  }
  void hold_up(bool on) {
    {
      std::lock_guard lock(mutex_);
      held_ = on;
    }
    changed_.notify_all();
  }

 private:
  void loop() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !held_ && !queue_.empty(); });
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      work();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool held_ = false;
  std::thread thread_;
};

class Far;

class Program : public Executable {
 public:
  Program(Far& far, ts::ProgramPtr p, CompileOptions o)
      : far_(far), program_(std::move(p)), options_(std::move(o)) {}
  using Executable::run;
  std::vector<ArrayDataPtr> run(std::span<const ArrayDataPtr> inputs, Holds& holds) const override;
  const CompileOptions& options() const override { return options_; }
  const ts::Program& program() const override { return *program_; }
  MemoryPlan memory() const override { return {}; }
  std::string schedule() const override { return "evaluated far away\n"; }

 private:
  Far& far_;
  ts::ProgramPtr program_;
  CompileOptions options_;
};

class Far : public Backend {
 public:
  Far() : Backend("far") {}

  Line line;
  std::atomic<int> compiled{0}, copied{0};

  int device_count() const override { return kDevices; }
  MemoryStats memory_stats(int device) const override { return Block::stats(device); }
  /// A figure that no other planner gives, and none that needs a schedule.
  std::optional<PlannedMemory> plan_memory(const ts::Program& program,
                                           const std::vector<bool>&) const override {
    PlannedMemory memory;
    for (const ts::Equation& e : program.equations)
      for (const ts::Var v : e.outputs) memory.temporaries += program.types[v].bytes();
    return memory;
  }
  std::shared_ptr<const Executable> compile(const ts::ProgramPtr& p,
                                            const CompileOptions& options) override {
    ++compiled;
    return std::make_shared<const Program>(*this, p, options);
  }
  Placed to_device(const ts::Type& block, const Shard& host, int device) override {
    auto [shard, memory] = room(block, device);
    return {shard, line.add([memory = memory, host] {
              invert(host.buffer->host_data() + host.offset, memory->bytes.data(),
                     memory->bytes.size());
            })};
  }
  std::shared_ptr<Completion> to_host(const ts::Type&, const Shard& from,
                                      std::byte* host) override {
    return line.add([buffer = from.buffer, host] {
      const Block& b = block_in(*buffer);
      invert(b.bytes.data(), host, b.bytes.size());
    });
  }
  Placed copy(const ts::Type& block, const Shard& from, int device) override {
    ++copied;
    auto [shard, memory] = room(block, device);
    return {shard, line.add([memory = memory, buffer = from.buffer] {
              memory->bytes = block_in(*buffer).bytes;
            })};
  }

  static Block& block_in(const Buffer& buffer) { return *static_cast<Block*>(buffer.handle()); }
  static void invert(const std::byte* from, std::byte* to, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[i] = ~from[i];
  }
  struct Room {
    Shard shard;
    std::shared_ptr<Block> memory;
  };
  static Room room(const ts::Type& block, int device) {
    const auto n = static_cast<std::size_t>(block.bytes());
    auto memory = std::make_shared<Block>(device, n);
    return {{Buffer::remote(memory, n), 0}, memory};
  }
};

// On the device that committed inputs are on, or else on the default one.
inline std::vector<ArrayDataPtr> Program::run(std::span<const ArrayDataPtr> inputs,
                                              Holds& holds) const {
  const LayoutPtr here =
      place_for(options_.name.empty() ? program_->name : options_.name, far_, inputs);
  const int device = here->devices()[0];
  std::vector<ArrayDataPtr> placed, results;
  for (const auto& in : inputs) placed.push_back(relayout(in, here));
  std::vector<std::shared_ptr<Block>> rooms;
  for (const ts::Type& t : program_->output_types()) {
    auto [shard, memory] = Far::room(t, device);
    auto out = std::make_shared<ArrayData>();
    out->type = t;
    out->layout = here;
    out->shards = {shard};
    results.push_back(out);
    rooms.push_back(memory);
  }
  std::vector<BufferPtr> buffers;
  std::vector<std::shared_ptr<Completion>> before;
  for (const auto& in : placed) {
    buffers.push_back(in->shards[0].buffer);
    if (in->pending) before.push_back(in->pending);  // if it failed, so does this
  }
  auto done = far_.line.add([program = program_, buffers, before, rooms] {
    for (const auto& b : before) b->wait();  // those of this line are over
    std::vector<ts::HostArray> in;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const ts::Type t = program->input_types()[i];
      in.emplace_back(t.dtype, t.shape);
      Far::invert(Far::block_in(*buffers[i]).bytes.data(), in.back().bytes,
                  static_cast<std::size_t>(t.bytes()));
    }
    const std::vector<ts::HostArray> out = ts::evaluate(*program, in);
    for (std::size_t k = 0; k < out.size(); ++k)
      Far::invert(out[k].bytes, rooms[k]->bytes.data(), rooms[k]->bytes.size());
  });
  for (const auto& out : results) out->pending = done;
  holds.keep();
  return results;
}

/// The process's one.
inline Far& platform() {
  static Far& far = static_cast<Far&>(add_backend(std::make_unique<Far>()));
  return far;
}

/// Nothing happens there while it lives.
struct HeldUp {
  HeldUp() { platform().line.hold_up(true); }
  ~HeldUp() { platform().line.hold_up(false); }
};

}  // namespace far
