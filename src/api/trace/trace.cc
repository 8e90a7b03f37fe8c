#include "api/trace/trace.h"

#include "api/trace/follow.h"
#include "api/trace/gather.h"
#include "api/trace/map_axes.h"
#include "api/trace/scope_mesh.h"
#include "base/thread_kept.h"
#include "ir/op.h"
#include "ops/build.h"
#include "runtime/backend.h"
#include "runtime/kept.h"

#include <algorithm>
#include <atomic>

namespace tessera::inline v0::detail {

namespace {

thread_local Trace* top = nullptr;
thread_local ThreadKept<std::vector<BoundAxis>> axes;
std::atomic<std::uint64_t> next_id{1};

// Far more than programs nest, and far less than fits on a thread's stack.
constexpr int kDeepest = 128;

[[noreturn]] void leaked(const ArrayImpl& a, const char* function, const SourceLoc& loc,
                         const std::string& path) {
  std::string made = to_string(a.loc);
  Message(function)
      .problem("an array " + visible_text(a.type) +
               " of a function that is no longer being traced here is used" +
               (made.empty() ? "" : "; it was made at " + made))
      .rule(
          "a traced array stands for a value only while its function is traced, and on that thread")
      .at(path)
      .from(loc)
      .advice(
          "return the value from the traced function instead of storing it in a variable outside")
      .raise<TraceError>();
}

[[noreturn]] void abstract_used(const ArrayImpl& a, const char* function, const SourceLoc& loc,
                                const std::string& path) {
  Message(function)
      .problem("the operand " + visible_text(a.type) +
               " is abstract: it has a dtype and a shape but no values")
      .rule("abstract arrays only describe arguments, to lower(), eval_shape() and the like")
      .at(path)
      .from(loc)
      .advice("pass an array with values, or trace the computation with eval_shape")
      .raise<TraceError>();
}

}  // namespace

void check_usable(const ArrayImpl& a, const char* function, const SourceLoc& loc,
                  const std::string& path) {
  if (a.traced() && !Trace::find(a.trace)) leaked(a, function, loc, path);
  if (!a.traced() && !a.concrete()) abstract_used(a, function, loc, path);
}

Trace::Trace(std::string what, std::string name)
    : builder_(std::move(name)),
      what_(std::move(what)),
      id_(next_id.fetch_add(1, std::memory_order_relaxed)),
      outer_(top),
      depth_(top ? top->depth_ + 1 : 0) {
  if (depth_ >= kDeepest)
    Message(what_)
        .problem("it is called inside " + std::to_string(depth_) +
                 " functions that are being traced")
        .rule("traces nest less than " + std::to_string(kDeepest) +
              " deep: a function that calls itself is traced without end, since what would stop it "
              "is not known before it runs")
        .advice("loop with scan or while_loop, or end the recursion by a plain C++ number")
        .raise<TraceError>();
  top = this;
}

Trace::~Trace() {
  if (live_ && top == this) top = outer_;
}

Trace* Trace::innermost() { return top; }

Trace* Trace::find(std::uint64_t id) {
  for (Trace* t = top; t; t = t->outer_)
    if (t->id_ == id) return t;
  return nullptr;
}

Array Trace::input(const Type& type, const SourceLoc& loc) {
  Value v = builder_.input(type);
  explicit_inputs_.push_back(v.var);
  return make_traced(id_, v.var, type, loc);
}

Value Trace::lift(const Array& array, const char* function) {
  const ArrayImpl& a = need(array, function, builder_.loc);
  if (a.trace == id_) return {&builder_, a.var};
  check_usable(a, function, builder_.loc);
  check_alive({&array, 1}, function, builder_.loc);
  if (a.is_number) {
    Attrs attrs{{"value", literal_of(a)}};
    if (a.type.weak) attrs.set("weak", true);
    return builder_.emit1("constant", std::span<const Value>{}, std::move(attrs));
  }
  auto [it, fresh] = captured_.try_emplace(&a, 0);
  if (fresh) {
    it->second = builder_.input(a.type).var;
    captures_.push_back(array);
    capture_vars_.push_back(it->second);
  }
  return {&builder_, it->second};
}

Trace::Finished Trace::finish(std::span<const Array> outputs) {
  Values out;
  for (const Array& a : outputs) out.push_back(lift(a, what_.c_str()));
  live_ = false;
  user_code_.end();
  top = outer_;
  std::shared_ptr<Program> p = builder_.finish(out);
  p->inputs = explicit_inputs_;
  p->inputs.insert(p->inputs.end(), capture_vars_.begin(), capture_vars_.end());
  return {std::move(p), std::move(captures_), std::move(bounds_)};
}

bool Trace::note_bound(const ArrayImpl& a, DType dtype, const char* function,
                       const std::source_location& loc) {
  const auto at = std::find(explicit_inputs_.begin(), explicit_inputs_.end(), a.var);
  if (a.trace != id_ || at == explicit_inputs_.end()) return false;
  const auto input = static_cast<std::size_t>(at - explicit_inputs_.begin());
  const bool known = std::any_of(bounds_.begin(), bounds_.end(), [&](const NumberBound& b) {
    return b.input == input && b.dtype == dtype;
  });
  if (!known) bounds_.push_back({input, dtype, function, loc});
  return true;
}

AxisScope::AxisScope(std::vector<BoundAxis> bound) : count_(bound.size()) {
  for (auto& a : bound) axes->push_back(std::move(a));
}
AxisScope::~AxisScope() { axes->resize(axes->size() - count_); }

const BoundAxis* AxisScope::find(std::string_view name) {
  for (auto it = axes->rbegin(); it != axes->rend(); ++it)
    if (spoken_name(it->name) == name) return &*it;
  return nullptr;
}
const std::vector<BoundAxis>& AxisScope::bound() { return *axes; }

std::shared_ptr<const runtime::Executable> EarlierRuns::find(
    const runtime::Backend& on, std::span<const runtime::ArrayDataPtr> inputs) const {
  const auto same = [](const runtime::LayoutPtr& l, const runtime::ArrayDataPtr& a) {
    return l == a->layout;
  };
  const std::lock_guard lock(mutex_);
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run)
    if (run->on == &on &&
        std::equal(run->layouts.begin(), run->layouts.end(), inputs.begin(), inputs.end(), same))
      return run->executable.lock();
  return nullptr;
}
void EarlierRuns::add(const runtime::Backend& on, std::span<const runtime::ArrayDataPtr> inputs,
                      const std::shared_ptr<const runtime::Executable>& executable) {
  Run run{&on, {}, executable};
  for (const runtime::ArrayDataPtr& a : inputs) run.layouts.push_back(a->layout);
  const std::lock_guard lock(mutex_);
  std::erase_if(runs_, [](const Run& earlier) { return earlier.executable.expired(); });
  if (runs_.size() == kMost) runs_.erase(runs_.begin());
  runs_.push_back(std::move(run));
}

std::vector<Array> apply(const ProgramPtr& program, std::span<const Array> inputs,
                         const SourceLoc& loc, EarlierRuns* earlier) {
  std::vector<Array> out;
  if (Trace* t = Trace::innermost()) {
    AtLocation at(t->builder(), loc);
    Values in;
    for (const Array& a : inputs) in.push_back(t->lift(a, program->name.c_str()));
    for (const Value& v : t->builder().inline_program(*program, in))
      out.push_back(make_traced(t->id(), v.var, v.type(), loc));
    return out;
  }
  for (const Array& a : inputs) {
    const ArrayImpl& impl = need(a, program->name.c_str(), loc);
    check_usable(impl, program->name.c_str(), loc);
  }
  check_alive(inputs, program->name.c_str(), loc);
  const runtime::CallerLine line(loc);
  runtime::CompileOptions options;
  options.name = program->name;
  runtime::Backend& on = backend_of(inputs, program->name.c_str());
  if (!earlier && gathers(on))
    if (auto results = gather(*program, inputs, on, loc)) return *std::move(results);
  std::vector<runtime::ArrayDataPtr> data;
  data.reserve(inputs.size());
  for (const Array& a : inputs) data.push_back(data_of(*a.impl()));
  auto executable = earlier ? earlier->find(on, data) : nullptr;
  if (executable) return run(*executable, inputs, program->name.c_str(), loc);
  runtime::Backend& runs_on =
      platform_for(platform_of_meshes(*program, nullptr, program->name), data, program->name);
  executable = runtime::compile(follow_again(program, data), options, runs_on);
  if (earlier) earlier->add(on, data, executable);
  std::vector<Array> results = run(*executable, inputs, program->name.c_str(), loc);
  runtime::trim_kept();
  return results;
}

namespace {

// Asks the layouts only, so that gathered results need not be computed.
runtime::Backend& backend_elsewhere(std::span<const Array> inputs, const char* function) {
  runtime::Backend* committed = nullptr;
  for (const Array& a : inputs) {
    const runtime::ArrayData* data = a.impl()->data.get();
    if (!data || !data->layout->committed) continue;
    if (committed && committed != data->layout->backend) {
      std::vector<runtime::ArrayDataPtr> all;
      for (const Array& x : inputs) all.push_back(data_of(*x.impl()));
      return runtime::backend_for(function, all);  // throws
    }
    committed = data->layout->backend;
  }
  return committed ? *committed : runtime::default_backend();
}

}  // namespace

runtime::Backend& backend_of(std::span<const Array> inputs, const char* function) {
  runtime::Backend* const usual = &runtime::default_backend();
  for (const Array& a : inputs) {
    const runtime::ArrayData* data = a.impl()->data.get();
    if (data && data->layout->backend != usual) return backend_elsewhere(inputs, function);
  }
  return *usual;
}

std::vector<Array> run(const runtime::Executable& executable, std::span<const Array> inputs,
                       const char* function, const SourceLoc& loc) {
  std::vector<runtime::ArrayDataPtr> data;
  data.reserve(inputs.size());
  for (const Array& a : inputs) data.push_back(data_of(*a.impl()));
  runtime::Holds holds(data);
  if (holds.refused())
    runtime::deleted_message(function, *data[*holds.refused()]).from(loc).raise<TraceError>();
  std::vector<Array> out;
  for (auto& d : executable.run(data, holds)) out.push_back(make_concrete(std::move(d)));
  return out;
}

std::vector<Array> bind(std::string_view op, std::span<const Array> inputs, Attrs attrs,
                        const SourceLoc& loc) {
  if (Trace* t = Trace::innermost()) {
    AtLocation at(t->builder(), loc);
    Values in;
    for (const Array& a : inputs) in.push_back(t->lift(a, std::string(op).c_str()));
    std::vector<Array> out;
    for (const Value& v : t->builder().emit(op, in, std::move(attrs)))
      out.push_back(make_traced(t->id(), v.var, v.type(), loc));
    return out;
  }
  Builder b{std::string(op)};
  b.loc = loc;
  Values in;
  for (const Array& a : inputs) in.push_back(b.input(need(a, b.so_far().name.c_str(), loc).type));
  Values out = b.emit(op, in, std::move(attrs));
  return apply(b.finish(out), inputs, loc);
}

Array bind1(std::string_view op, std::span<const Array> inputs, Attrs attrs, const SourceLoc& loc) {
  return bind(op, inputs, std::move(attrs), loc).at(0);
}
Array bind1(std::string_view op, std::initializer_list<Array> inputs, Attrs attrs,
            const SourceLoc& loc) {
  return bind(op, std::span<const Array>(inputs.begin(), inputs.size()), std::move(attrs), loc)
      .at(0);
}

}  // namespace tessera::inline v0::detail
