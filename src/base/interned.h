// Values stored once, so that equality is pointer comparison.
#pragma once

#include "base/process.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// An interned value of T: equal values are the same object, which is destroyed with its last
/// holder. T needs == and `std::size_t hash_of(const T&)`. The hash must depend on the value alone,
/// so that it is the same in every process. Copies are cheap; thread-safe.
template <class T>
class Interned {
 public:
  Interned() {
    static const auto* none = new Interned(T{});  // never destroyed: threads may still run at exit
    node_ = none->node_;
  }
  explicit Interned(T value) : node_(intern(std::move(value))) {}

  const T& operator*() const { return node_->value; }
  const T* operator->() const { return &node_->value; }
  std::size_t hash() const { return node_->hash; }
  /// A pointer that keeps the value alive.
  std::shared_ptr<const T> pointer() const { return {node_, &node_->value}; }
  friend bool operator==(const Interned& a, const Interned& b) { return a.node_ == b.node_; }

 private:
  struct Node {
    T value;
    std::size_t hash;
  };
  // Keyed by hash; `release` removes an entry when its last holder is destroyed.
  struct Table {
    std::mutex mutex;
    std::unordered_multimap<std::size_t, std::pair<const Node*, std::weak_ptr<const Node>>> all;
  };
  static Table& table() {
    static auto* t = new Table;
    return *t;
  }

  static std::shared_ptr<const Node> intern(T value) {
    const std::size_t hash = hash_of(value);
    std::shared_ptr<const Node> made;
    // These are released after the lock, because releasing a last holder takes the same lock.
    std::vector<std::shared_ptr<const Node>> others;
    Table& t = table();
    Locked lock(t.mutex);
    auto [first, last] = t.all.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      std::shared_ptr<const Node> other = it->second.second.lock();
      if (!other) continue;
      if (other->value == value) return other;
      others.push_back(std::move(other));
    }
    made = std::shared_ptr<const Node>(new Node{std::move(value), hash}, release);
    t.all.emplace(hash, std::pair(made.get(), made));
    return made;
  }
  static void release(const Node* node) {
    {
      Table& t = table();
      Locked lock(t.mutex);
      auto [first, last] = t.all.equal_range(node->hash);
      for (auto it = first; it != last; ++it)
        if (it->second.first == node) {
          t.all.erase(it);
          break;
        }
    }
    delete node;
  }

  std::shared_ptr<const Node> node_;
};

}  // namespace tessera::inline v0
