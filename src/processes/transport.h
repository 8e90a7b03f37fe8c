// The transport that a plug-in provides (transport_abi.h).
#pragma once

#include "base/message.h"
#include "processes/transport_abi.h"

#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::processes {

struct Subject;

/// Fills in the functions of a transport and joins the processes; throws Error if it cannot.
using OpenTransport = std::function<void(TesseraTransport& out, const SourceLoc& loc)>;

/// One thread at a time may call a plug-in, which this class ensures.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// `apart`: each process is to count as its own machine.
  void open(const OpenTransport& open, bool apart, const SourceLoc& loc);
  int rank() const { return functions_.rank; }
  int count() const { return functions_.size; }
  /// The ranks of this machine, ascending.
  std::span<const int> node() const {
    return {functions_.node, static_cast<std::size_t>(functions_.node_size)};
  }
  std::string name() const { return functions_.name; }

  /// Starts several operations with the lock taken once. They throw CollectiveError in the name of
  /// the subject.
  class Start {
   public:
    void all_gather(const void* mine, std::size_t bytes, void* all, TesseraRequest*& request);
    void send(int to, int tag, const void* from, std::size_t bytes, TesseraRequest*& request);
    void receive(int from, int tag, void* to, std::size_t bytes, TesseraRequest*& request);

   private:
    friend class Transport;
    Start(Transport& of, const Subject& subject) : of_(of), subject_(subject), lock_(of.mutex_) {}
    void check(int code) const;

    Transport& of_;
    const Subject& subject_;
    const std::lock_guard<std::mutex> lock_;
  };
  Start start(const Subject& subject) { return {*this, subject}; }

  /// Like Start's, but they return whether the operation has started.
  bool try_send(int to, int tag, const void* from, std::size_t bytes, TesseraRequest*& request);
  bool try_receive(int from, int tag, void* to, std::size_t bytes, TesseraRequest*& request);
  /// Whether a request is complete; it is null then. Returns false, with the reason, if it failed.
  bool test(TesseraRequest*& request, bool& over, std::string* reason = nullptr);
  /// A process whose message with this tag has arrived but is not received yet, or -1.
  int probe(int tag);

  /// Zeroed memory of `bytes` for each process of this machine, in the order of node(). All of them
  /// must call it, and they wait for each other.
  std::vector<void*> share(std::size_t bytes, const Subject& subject);
  /// Frees the shared memory and closes the transport. All processes must call it.
  void close();
  /// Ends all processes at once.
  void abort(int code);

 private:
  TesseraTransport functions_{};
  TesseraWindow* shared_ = nullptr;
  std::mutex mutex_;
};

}  // namespace tessera::inline v0::processes
