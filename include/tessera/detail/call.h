// A call of a user's function with its arguments as trees, for the non-template parts of the
// library.
//
// Templates do three things: they flatten the arguments into a Call, pass it to a library function,
// and assemble the resulting leaves into a tree of the result's type.
#pragma once

#include <tessera/detail/function.h>
#include <tessera/inline_vector.h>
#include <tessera/tree.h>
#include <memory>

#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::inline v0::detail {

/// Records a tree as leaves and words. The words distinguish trees of one C++ type by their
/// structure and static values. Small trees need no heap allocation and no strings.
class TESSERA_API Recorder final : public Visitor {
 public:
  void leaf(Array& x) override { leaves.push_back(&x); }
  void fixed(FixedKind kind, std::uint64_t bits, std::string_view text) override;
  void enter(const NodeType& type, std::size_t children) override;
  void key(std::string_view key) override;
  void leave() override {}

  InlineVector<Array*, 16> leaves;
  InlineVector<std::uint64_t, 16> words;
};

class TESSERA_API Call {
 public:
  /// The leaves of all arguments, and for each argument the end of its leaves in them.
  Recorder args;
  InlineVector<std::size_t, 8> arg_ends;
  /// The number of parameters that the call leaves to their defaults; 0 if the signature is
  /// unknown.
  std::size_t defaulted = 0;
  /// The result with empty leaves, set by invoke. It provides the static values of results.
  std::shared_ptr<void> prototype;

  std::size_t arg_count() const { return arg_ends.size(); }
  std::size_t arg_begin(std::size_t i) const { return i == 0 ? 0 : arg_ends[i - 1]; }
  /// The structure of the arguments as a tuple.
  TreeDef describe_args() const;
  /// The structure of the result, available after invoke.
  TreeDef describe_result() const;
  /// Calls the function on copies of the arguments with these leaves and returns the result's
  /// leaves.
  virtual std::vector<Array> invoke(std::span<const Array> leaves) = 0;

 protected:
  using Walk = void (*)(const void*, Visitor&);

  /// The traversals of the arguments, the arguments themselves, and the traversal of the result.
  Call(const Walk* arg_walks, void* const* args, Walk result_walk)
      : arg_walks_(arg_walks), arg_values_(args), result_walk_(result_walk) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() = default;
  /// Replaces the leaves of copies of the arguments, or makes them empty.
  void fill_args(void* const* copies, std::span<const Array> leaves) const;
  void empty_args(void* const* copies) const;
  /// Takes over a result made by new, and returns its leaves.
  std::vector<Array> take_result(void* result, void (*destroy)(void*));

 private:
  const Walk* arg_walks_;
  void* const* arg_values_;
  Walk result_walk_;
};

/// The leaves of a result, and a prototype of the tree that they belong to.
struct Outcome {
  std::vector<Array> leaves;
  std::shared_ptr<const void> prototype;
};

/// Throws Error because `what`, made at that line, was used after being moved from.
[[noreturn]] TESSERA_API void moved_away(const char* what, const std::source_location& made);
/// Returns what a transformed function or program holds; throws if it was moved from.
template <class F>
F& still_here(const std::shared_ptr<F>& held, const char* what, const std::source_location& made) {
  if (!held) moved_away(what, made);
  return *held;
}

template <class R>
R restore(const Outcome& o) {
  R r = *static_cast<const R*>(o.prototype.get());
  fill(&walk_erased<R>, &r, o.leaves);
  return r;
}
/// Returns a tree like `like` with leaves taken from the front of `leaves`, which are removed from
/// it.
template <class T>
T restore_like(const T& like, std::size_t count, std::span<const Array>& leaves) {
  T x = like;
  fill_first(&walk_erased<T>, &x, count, leaves);
  return x;
}

template <class F, class... P>
decltype(auto) invoke_user(F& f, P&... args) {
  if constexpr (std::is_invocable_v<F&, P&...>) {
    return f(args...);
  } else {
    static_assert(std::is_invocable_v<F&, P&&...>,
                  "tessera: the function cannot be called with these arguments: it takes another "
                  "number of them, or other types");
    return f(std::move(args)...);
  }
}

template <class F, class... P>
class CallOf final : public Call {
 public:
  using Result = std::decay_t<decltype(invoke_user(std::declval<F&>(), std::declval<P&>()...))>;
  using Params = Types<P...>;
  static_assert(!std::is_void_v<Result>,
                "tessera: the function returns nothing: a transformed function returns arrays (or "
                "a tree of them)");

  static_assert((TreeNode<P> && ...),
                "tessera: an argument is no tree: it is neither Array, number, enum, string, "
                "standard container nor aggregate; register a class with TESSERA_FIELDS");
  static_assert(TreeNode<Result> || std::is_void_v<Result>,
                "tessera: the result is no tree: it is neither Array, number, enum, string, "
                "standard container nor aggregate; register a class with TESSERA_FIELDS");

  CallOf(F& f, P&... values)
      : Call(kWalks, values_, &walk_erased<Result>),
        f_(f),
        values_{const_cast<void*>(static_cast<const volatile void*>(std::addressof(values)))...} {
    (add(values), ...);
    if constexpr (Deduced<F>::known) defaulted = Deduced<F>::params::size - sizeof...(P);
  }

  std::vector<Array> invoke(std::span<const Array> leaves) override {
    return invoke_on(leaves, std::index_sequence_for<P...>{});
  }

  Result result(const Outcome& o) const { return restore<Result>(o); }
  /// The arguments with empty leaves.
  std::tuple<P...> arg_copies() const { return copies_of(std::index_sequence_for<P...>{}); }
  template <std::size_t I>
  auto& arg() const {
    return *static_cast<typename NthOf<Params, I>::type*>(values_[I]);
  }

 private:
  template <class T>
  void add(T& x) {
    args.words.push_back(reinterpret_cast<std::uintptr_t>(&walk_erased<T>));
    walk(x, args);
    arg_ends.push_back(args.leaves.size());
  }
  template <std::size_t... I>
  std::vector<Array> invoke_on(std::span<const Array> leaves, std::index_sequence<I...>) {
    return invoke_with(leaves, P(arg<I>())...);
  }
  std::vector<Array> invoke_with(std::span<const Array> leaves, P... copies) {
    void* const at[] = {std::addressof(copies)..., nullptr};
    fill_args(at, leaves);
    if constexpr (std::is_void_v<Result>)
      return {};
    else
      return take_result(new Result(invoke_user(f_, copies...)),
                         [](void* r) { delete static_cast<Result*>(r); });
  }
  template <std::size_t... I>
  std::tuple<P...> copies_of(std::index_sequence<I...>) const {
    std::tuple<P...> copies(arg<I>()...);
    void* const at[] = {std::addressof(std::get<I>(copies))..., nullptr};
    empty_args(at);
    return copies;
  }

  static constexpr Walk kWalks[] = {&walk_erased<P>..., nullptr};
  F& f_;
  void* values_[sizeof...(P) + 1];
};

/// Checks a call of F with A... before anything is instantiated for it. The check is made in the
/// function that the user calls, so that its message is the first line of the compiler's output.
template <class F, class... A>
struct CallCheck {
  static constexpr bool counted() {
    if constexpr (Deduced<F>::known) return sizeof...(A) <= Deduced<F>::params::size;
    return true;
  }
  template <class... P>
  static constexpr bool trees_of(Types<P...>) {
    return (TreeNode<P> && ...);
  }
  template <class... P>
  static constexpr bool converted_to(Types<P...>) {
    return ((std::is_same_v<P, std::remove_cvref_t<A>> || std::is_convertible_v<A&, P>)&&...);
  }
  template <class... P>
  static constexpr bool invocable_with(Types<P...>) {
    return std::is_invocable_v<F&, P&...> || std::is_invocable_v<F&, P&&...>;
  }
  template <class... P>
  static constexpr bool gives(Types<P...>, bool tree) {
    using R = std::decay_t<decltype(invoke_user(std::declval<F&>(), std::declval<P&>()...))>;
    if constexpr (std::is_void_v<R>)
      return tree;
    else
      return !tree || TreeNode<R>;
  }
  static constexpr bool trees() {
    if constexpr (counted()) return trees_of(argument_types<F, A...>());
    return true;
  }
  static constexpr bool converts() {
    if constexpr (counted()) return converted_to(argument_types<F, A...>());
    return true;
  }
  static constexpr bool invocable() {
    if constexpr (counted() && trees() && converts())
      return invocable_with(argument_types<F, A...>());
    return true;
  }
  static constexpr bool gives_something() {
    if constexpr (counted() && trees() && converts() && invocable())
      return gives(argument_types<F, A...>(), false);
    return true;
  }
  static constexpr bool gives_tree() {
    if constexpr (counted() && trees() && converts() && invocable())
      return gives(argument_types<F, A...>(), true);
    return true;
  }
};
#define TESSERA_CHECK_CALL_(F, A)                                                                  \
  using Check = detail::CallCheck<F, A...>;                                                        \
  static_assert(Check::counted(),                                                                  \
                "tessera: the function takes fewer arguments than it is called with");             \
  static_assert(Check::trees(),                                                                    \
                "tessera: an argument is no tree: it is neither Array, number, enum, string, "     \
                "standard container nor aggregate; register a class with TESSERA_FIELDS");         \
  static_assert(Check::converts(),                                                                 \
                "tessera: an argument does not convert to the parameter's type (a std::vector is " \
                "made an array by Array(values))");                                                \
  static_assert(Check::invocable(),                                                                \
                "tessera: the function cannot be called with these arguments: it takes another "   \
                "number of them, or other types");                                                 \
  static_assert(                                                                                   \
      Check::gives_something(),                                                                    \
      "tessera: the function returns nothing: a transformed function returns arrays (or "          \
      "a tree of them)");                                                                          \
  static_assert(Check::gives_tree(),                                                               \
                "tessera: the result is no tree: it is neither Array, number, enum, string, "      \
                "standard container nor aggregate; register a class with TESSERA_FIELDS")

/// Builds the Call of `f` with these arguments and returns use(call).
template <class F, class Use, class... P, class... A>
auto with_call_as(Types<P...>, F& f, Use& use, A&... args) {
  return [&](auto&&... value) {
    CallOf<F, P...> call(f, value...);
    return use(call);
  }(hold<P>(args)...);
}
template <class F, class Use, class... A>
auto with_call(F& f, Use use, A&... args) {
  return with_call_as(argument_types<F, A...>(), f, use, args...);
}

}  // namespace tessera::inline v0::detail
