// Prints values when they are computed.
#include <tessera/debug.h>

#include "api/control/reports.h"
#include "api/trace/trace.h"
#include "base/message.h"
#include "base/process.h"
#include "ops/build.h"
#include "runtime/host/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>

namespace tessera::inline v0 {

namespace {

using detail::StepCounter;

struct Handler {
  std::mutex lock;
  debug::PrintHandler call;
};
Handler& handler() {
  static Handler* h = new Handler;  // never destroyed: prints may arrive during exit
  return *h;
}

void deliver(const debug::Printed& printed) {
  debug::PrintHandler call;
  {
    const Locked lock(handler().lock);
    call = handler().call;
  }
  if (call) return call(printed);
  std::string line;
  if (printed.step >= 0) {
    line = "[step " + std::to_string(printed.step);
    for (const auto& [name, at] : printed.position) line += ", " + name + "=" + std::to_string(at);
    line += "] ";
  }
  line += printed.text + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
}

// A part of a format that ends at a placeholder.
struct FormatPart {
  std::string before, number;  // the text before it; the format of each number, or empty
};

std::vector<FormatPart> pieces_of(std::string_view format) {
  std::vector<FormatPart> pieces(1);
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == '{' && format[i + 1] != '{') {
      const std::size_t end = format.find('}', i);
      pieces.back().number = format.substr(i + 1, end - i - 1);
      pieces.emplace_back();
      i = end;
      continue;
    }
    pieces.back().before += format[i];
    if (format[i] == '{' || format[i] == '}') ++i;
  }
  return pieces;
}

// The largest width or precision in a number's format; the fill character may itself be a digit.
std::int64_t greatest_in(std::string_view number) {
  std::int64_t most = 0, here = 0;
  if (number.size() > 2 && std::string_view("<>^").find(number[2]) != number.npos)
    number.remove_prefix(2);
  for (const char c : number) {
    here = c >= '0' && c <= '9' ? std::min<std::int64_t>(here * 10 + (c - '0'), 1 << 30) : 0;
    most = std::max(most, here);
  }
  return most;
}

std::string number_text(const HostArray& a, std::int64_t i, const std::string& number) {
  const std::string f = "{" + number + "}";
  if (is_integer(a.dtype) || a.dtype == DType::boolean) {
    if (a.dtype == DType::uint64) return fmt::format(fmt::runtime(f), a.data<std::uint64_t>()[i]);
    if (a.dtype == DType::int64) return fmt::format(fmt::runtime(f), a.data<std::int64_t>()[i]);
    return fmt::format(fmt::runtime(f), static_cast<std::int64_t>(a.number(i)));
  }
  return fmt::format(fmt::runtime(f), a.number(i));
}

// Lays arrays out as NumPy does, but with the user's format for the numbers.
void lay_out(const HostArray& a, const std::string& number, std::size_t dim, std::int64_t first,
             std::string& out) {
  constexpr std::int64_t kMost = 1000, kEdge = 3;
  if (dim == a.shape.size()) {
    out += number_text(a, first, number);
    return;
  }
  std::int64_t row = 1;
  for (std::size_t d = dim + 1; d < a.shape.size(); ++d) row *= a.shape[d];
  const std::int64_t n = a.shape[dim];
  const bool last = dim + 1 == a.shape.size();
  const std::string between = last ? " " : "\n" + std::string(dim + 1, ' ');
  out += '[';
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) out += between;
    if (a.count() > kMost && n > 2 * kEdge && i == kEdge) {
      out += "...";
      i = n - kEdge - 1;
      continue;
    }
    lay_out(a, number, dim + 1, first + i * row, out);
  }
  out += ']';
}

std::string value_text(const HostArray& a, const std::string& number) {
  if (number.empty()) return detail::text_of(a);
  std::string out;
  lay_out(a, number, 0, 0, out);
  return out;
}

// The message of one call of print, whenever it runs.
class Print final : public Callback {
 public:
  struct Part {
    std::string text;                // of a text argument
    std::vector<std::string> paths;  // of a tree argument
    std::vector<bool> empty;         // by leaf
    bool is_text = false;
  };
  Print(std::string_view format, std::vector<Part> parts, SourceLoc loc, std::string scope)
      : pieces_(pieces_of(format)), parts_(std::move(parts)), loc_(loc), scope_(std::move(scope)) {}

  std::string name() const override { return "print at " + to_string(loc_); }

  std::string text(std::span<const HostArray> values) const {
    std::string out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      out += pieces_[i].before;
      const Part& p = parts_[i];
      const auto leaf = [&](std::size_t k) {
        return p.empty[k] ? "empty" : value_text(values[next++], pieces_[i].number);
      };
      if (p.is_text) {
        out += p.text;
      } else if (p.paths.size() == 1 && p.paths[0].empty()) {
        out += leaf(0);
      } else {
        out += '{';
        for (std::size_t k = 0; k < p.paths.size(); ++k)
          out += (k ? ", " : "") + p.paths[k] + ": " + leaf(k);
        out += '}';
      }
    }
    return out + pieces_.back().before;
  }

  debug::Printed printed(const Position& position, std::span<const HostArray> values) const {
    return {text(values), position, -1, scope_, loc_.file ? loc_.file : "", loc_.line};
  }

  void call(const Position& position, std::span<const HostArray> values) const override {
    debug::Printed p = printed(position, values);
    p.step = steps_.next(position);
    deliver(p);
  }

  /// Throws if the numbers of a leaf do not fit their format.
  void check(std::span<const Array> leaves) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      for (std::size_t k = 0; k < parts_[i].paths.size(); ++k) {
        if (parts_[i].empty[k]) continue;
        const DType dtype = leaves[next++].dtype();
        const std::string& number = pieces_[i].number;
        if (number.empty()) continue;
        constexpr std::int64_t kWidest = 1000;
        std::string problem = "complex numbers take none";
        if (greatest_in(number) > kWidest)
          problem = "a width or precision above " + std::to_string(kWidest);
        else if (!is_complex(dtype))
          try {
            std::vector<std::byte> zero(16);
            number_text(HostArray(dtype, {}, zero.data()), 0, number);
            continue;
          } catch (const fmt::format_error& e) {
            problem = e.what();
          }
        Message("debug::print")
            .problem("'{" + number + "}' for values of " + to_string(dtype) + ": " + problem)
            .rule("behind the colon stands a format of std::format, which goes for each number")
            .from(loc_)
            .advice(is_complex(dtype) ? "'{}', or print real(x) and imag(x)"
                                      : "'{:.3f}' for floats, '{:5d}' for integers, or '{}'")
            .raise<Error>();
      }
  }

 private:
  const std::vector<FormatPart> pieces_;
  const std::vector<Part> parts_;
  const SourceLoc loc_;
  const std::string scope_;
  const StepCounter steps_;
};

std::shared_ptr<const Print> known_print(std::string_view format, std::vector<Print::Part> parts,
                                         const SourceLoc& loc, const std::string& scope) {
  std::string key =
      fmt::format("{}:{}:{}\n{}\n", loc.file ? loc.file : "", loc.line, scope, format);
  for (const Print::Part& p : parts) {
    key += p.is_text ? "t" + p.text : "v";
    for (std::size_t k = 0; k < p.paths.size(); ++k)
      key += (p.empty[k] ? "\n-" : "\n+") + p.paths[k];
    key += '\0';
  }
  return std::static_pointer_cast<const Print>(detail::known_callback("print " + key, [&] {
    return std::make_shared<const Print>(format, std::move(parts), loc, scope);
  }));
}

}  // namespace

debug::PrintHandler debug::set_print_handler(PrintHandler next) {
  Handler& h = handler();
  const Locked lock(h.lock);
  std::swap(h.call, next);
  return next;
}

void effects_barrier() { runtime::wait_for_calls(); }

namespace detail {

void print(std::string_view format, std::vector<Shown> values, const std::source_location& loc) {
  const InFunction called("debug::print", loc);
  std::vector<Array> leaves;
  std::vector<Print::Part> parts;
  for (Shown& s : values) {
    std::vector<bool> empty;
    for (std::size_t i = 0; i < s.leaves.size(); ++i) {
      empty.push_back(s.leaves[i].is_empty());
      if (empty.back()) continue;
      check_usable(*s.leaves[i].impl(), "debug::print", loc, s.paths[i]);
      leaves.push_back(s.leaves[i]);
    }
    parts.push_back({std::move(s.text), std::move(s.paths), std::move(empty), s.is_text});
  }
  Trace* t = Trace::innermost();
  const auto print = known_print(format, std::move(parts), loc, t ? t->builder().scope : "");
  print->check(leaves);
  if (t) return report(*t, print, Array(true), leaves, loc);
  std::vector<std::unique_ptr<Reading>> reading;
  std::vector<runtime::BufferPtr> memory(leaves.size());
  std::vector<HostArray> read;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    // Bare numbers are stored as doubles; show them in the dtype that users see.
    if (leaves[i].dtype() != leaves[i].impl()->type.dtype)
      leaves[i] = leaves[i].astype(leaves[i].dtype());
    reading.push_back(std::make_unique<Reading>(leaves[i], "debug::print", loc));
    const std::byte* bytes = runtime::dense_bytes(**reading.back(), memory[i]);
    read.emplace_back(leaves[i].dtype(), leaves[i].shape(), const_cast<std::byte*>(bytes));
  }
  deliver(print->printed({}, read));
}

}  // namespace detail

}  // namespace tessera::inline v0
