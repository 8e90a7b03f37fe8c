#include "api/trace/scope_mesh.h"

#include "base/thread_kept.h"

#include <atomic>
#include <utility>
#include <vector>

namespace tessera::inline v0 {
namespace detail {

struct MeshInScope {
  explicit MeshInScope(Mesh m) : mesh(std::move(m)) {}

  Mesh mesh;
  std::atomic<bool> ended{false};  // a scope may be destroyed by a thread other than its own
};

namespace {

using Scopes = std::vector<std::shared_ptr<MeshInScope>>;
Scopes& scopes() {
  static thread_local const ThreadKept<Scopes> all;
  return *all;
}
// A scope that ends before the scopes inside it stays on the stack until they end.
void drop_ended(Scopes& all) {
  while (!all.empty() && all.back()->ended.load(std::memory_order_acquire)) all.pop_back();
}

}  // namespace

const Mesh& scope_mesh() {
  static const auto& none = *new Mesh;
  Scopes& all = scopes();
  drop_ended(all);
  return all.empty() ? none : all.back()->mesh;
}

}  // namespace detail

MeshScope::MeshScope(Mesh mesh) : mesh_(std::make_shared<detail::MeshInScope>(std::move(mesh))) {
  detail::scopes().push_back(mesh_);
}
MeshScope::~MeshScope() {
  mesh_->ended.store(true, std::memory_order_release);
  detail::drop_ended(detail::scopes());
}

}  // namespace tessera::inline v0
