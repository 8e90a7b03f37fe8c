// A transport between groups of one process, which carries everything in memory. No operation
// waits, so members may open it one after the other.
#pragma once

#include "processes/transport.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

struct TesseraRequest {
  std::function<bool()> complete;  // does what is left to do; whether it is complete then
};
struct TesseraWindow {};

namespace processes_test {

using tessera::SourceLoc;

/// Must outlive the groups that it joins.
class Network {
 public:
  /// The members are on one machine, or each is on a machine of its own.
  Network(int count, bool one_machine) : segments_(static_cast<std::size_t>(count)) {
    for (int r = 0; r < count; ++r) {
      Member& m = members_.emplace_back(Member{this, r, {}, 0});
      for (int other = 0; other < count; ++other)
        if (one_machine || other == r) m.node.push_back(other);
    }
  }

  tessera::processes::OpenTransport member(int rank) {
    return [this, rank](TesseraTransport& t, const SourceLoc&) {
      Member& m = members_[static_cast<std::size_t>(rank)];
      known().insert(&t, &m);
      std::strcpy(t.name, "memory");
      t.version = TESSERA_TRANSPORT_VERSION;
      t.rank = rank;
      t.size = static_cast<int>(members_.size());
      t.node = m.node.data();
      t.node_size = static_cast<int>(m.node.size());
      t.all_gather = all_gather;
      t.send = send;
      t.receive = receive;
      t.test = test;
      t.probe = probe;
      t.share = share;
      t.unshare = [](TesseraTransport*, TesseraWindow*) { return 0; };
      t.close = close;
      t.abort = abort;
    };
  }

  /// How many members have closed the transport, and how many have aborted.
  int closed() { return count(closed_); }
  int aborted() { return count(aborted_); }

 private:
  using Bytes = std::vector<std::byte>;
  struct Member {
    Network* network;
    int rank;
    std::vector<int> node;
    std::size_t gathers;  // how many it has started
  };
  struct Known {
    std::mutex mutex;
    std::map<TesseraTransport*, Member*> members;
    void insert(TesseraTransport* t, Member* m) {
      const std::lock_guard lock(mutex);
      members[t] = m;
    }
    Member& at(TesseraTransport* t) {
      const std::lock_guard lock(mutex);
      return *members.at(t);
    }
  };
  static Known& known() {
    static Known k;
    return k;
  }
  int count(int& of) {
    const std::lock_guard lock(mutex_);
    return of;
  }

  static Bytes copy(const void* from, std::size_t n) {
    const auto* p = static_cast<const std::byte*>(from);
    return {p, p + n};
  }
  TesseraRequest* begin(std::function<bool()> complete) {
    return requests_
        .emplace_back(std::make_unique<TesseraRequest>(TesseraRequest{std::move(complete)}))
        .get();
  }

  static int all_gather(TesseraTransport* t, const void* mine, std::size_t bytes, void* all,
                        TesseraRequest** out) {
    Member& m = known().at(t);
    Network& n = *m.network;
    const std::lock_guard lock(n.mutex_);
    const std::size_t number = m.gathers++;
    if (n.gathers_.size() <= number) n.gathers_.emplace_back(n.members_.size());
    n.gathers_[number][static_cast<std::size_t>(m.rank)] = copy(mine, bytes);
    *out = n.begin([&n, number, bytes, all] {
      const std::vector<std::optional<Bytes>>& given = n.gathers_[number];
      if (std::any_of(given.begin(), given.end(), [](const auto& x) { return !x; })) return false;
      for (std::size_t r = 0; r < given.size(); ++r)
        if (bytes) std::memcpy(static_cast<std::byte*>(all) + r * bytes, given[r]->data(), bytes);
      return true;
    });
    return 0;
  }
  static int send(TesseraTransport* t, int to, int tag, const void* from, std::size_t bytes,
                  TesseraRequest** out) {
    Member& m = known().at(t);
    Network& n = *m.network;
    const std::lock_guard lock(n.mutex_);
    n.messages_[{m.rank, to, tag}].push_back(copy(from, bytes));
    *out = n.begin([] { return true; });
    return 0;
  }
  static int receive(TesseraTransport* t, int from, int tag, void* to, std::size_t bytes,
                     TesseraRequest** out) {
    Member& m = known().at(t);
    Network& n = *m.network;
    const std::lock_guard lock(n.mutex_);
    std::deque<Bytes>& queue = n.messages_[{from, m.rank, tag}];
    *out = n.begin([&queue, to, bytes] {
      if (queue.empty()) return false;
      if (bytes) std::memcpy(to, queue.front().data(), bytes);
      queue.pop_front();
      return true;
    });
    return 0;
  }
  static int test(TesseraTransport* t, TesseraRequest** request, int* over) {
    Network& n = *known().at(t).network;
    const std::lock_guard lock(n.mutex_);
    *over = (*request)->complete() ? 1 : 0;
    if (*over) *request = nullptr;
    return 0;
  }
  static int probe(TesseraTransport* t, int tag, int* from) {
    Member& m = known().at(t);
    Network& n = *m.network;
    const std::lock_guard lock(n.mutex_);
    *from = -1;
    for (const auto& [way, queue] : n.messages_)
      if (std::get<1>(way) == m.rank && std::get<2>(way) == tag && !queue.empty())
        *from = std::get<0>(way);
    return 0;
  }
  static int share(TesseraTransport* t, std::size_t bytes, void** segments, TesseraWindow** out) {
    Member& m = known().at(t);
    Network& n = *m.network;
    const std::lock_guard lock(n.mutex_);
    *out = nullptr;
    for (std::size_t i = 0; i < m.node.size(); ++i) {
      Bytes& segment = n.segments_[static_cast<std::size_t>(m.node[i])];
      segment.resize(bytes);
      segments[i] = segment.data();
    }
    return 0;
  }
  static int close(TesseraTransport* t) {
    Network& n = *known().at(t).network;
    const std::lock_guard lock(n.mutex_);
    ++n.closed_;
    return 0;
  }
  static void abort(TesseraTransport* t, int) {
    Network& n = *known().at(t).network;
    const std::lock_guard lock(n.mutex_);
    ++n.aborted_;
  }

  std::mutex mutex_;
  std::deque<Member> members_;
  std::vector<Bytes> segments_;                                      // by rank
  std::vector<std::vector<std::optional<Bytes>>> gathers_;           // by number and rank
  std::map<std::tuple<int, int, int>, std::deque<Bytes>> messages_;  // by sender, receiver, tag
  std::deque<std::unique_ptr<TesseraRequest>> requests_;
  int closed_ = 0, aborted_ = 0;
};

}  // namespace processes_test
