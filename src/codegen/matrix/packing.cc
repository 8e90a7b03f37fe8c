#include "codegen/matrix/packing.h"

#include "codegen/kernel/isa.h"
#include "codegen/kernel/llvm_ir.h"
#include "codegen/matrix/loop_ir.h"
#include "codegen/matrix/sizes.h"
#include "codegen/matrix/terms_ir.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

namespace {

using Values = std::vector<llvm::Value*>;

// How far ahead lines that are transposed are prefetched.
constexpr int kBytesAhead = 512;

class PackEmitter {
 public:
  PackEmitter(const Packer& packer, llvm::Module& module, const std::string& name)
      : packer_(packer),
        b_(module.getContext()),
        terms_(b_, packer.kind, packer.from, packer.right),
        lanes_(terms_.lanes()),
        parts_(parts_in(packer.kind)) {
    llvm::LLVMContext& context = module.getContext();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function_));
    from_ = terms_.from();
    to_ = terms_.word();
  }

  void emit() {
    args_ = function_->getArg(0);
    auto* from = pointer(offsetof(PackArgs, from));
    auto* to = pointer(offsetof(PackArgs, to));
    from_step_ = number(offsetof(PackArgs, from_step));
    from_line_ = number(offsetof(PackArgs, from_line));
    to_step_ = number(offsetof(PackArgs, to_step));
    auto* from_panel = number(offsetof(PackArgs, from_panel));
    auto* to_panel = number(offsetof(PackArgs, to_panel));
    steps_ = number(offsetof(PackArgs, steps));
    lines_ = number(offsetof(PackArgs, lines));
    if (packer_.adjacent == Adjacent::lines) {
      std::vector<llvm::Constant*> numbers;
      for (int i = 0; i < lanes_; ++i)
        numbers.insert(numbers.end(), static_cast<std::size_t>(parts_), b_.getInt64(i));
      mask_ =
          b_.CreateICmpULT(llvm::ConstantVector::get(numbers),
                           b_.CreateVectorSplat(static_cast<unsigned>(lanes_ * parts_), lines_));
      all_ = b_.CreateICmpUGE(lines_, b_.getInt64(lanes_));
    } else {
      // Missing lines are copies of the last one.
      auto* last = b_.CreateSub(lines_, b_.getInt64(1));
      for (int i = 0; i < lanes_; ++i) {
        auto* line = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.getInt64(i), last);
        lines_at_.push_back(b_.CreateMul(line, from_line_));
      }
    }
    loop(number(offsetof(PackArgs, panels)), {from, to}, [&](Values at) {
      emit_panel(at[0], at[1]);
      return Values{move(at[0], from_panel), move(at[1], to_panel)};
    });
    b_.CreateRetVoid();
  }

 private:
  llvm::Type* vector_of(llvm::Type* element) { return terms_.vector_of(element); }
  std::int64_t size() const { return static_cast<std::int64_t>(size_of(packer_.from)); }
  std::int64_t word_size() const { return static_cast<std::int64_t>(size_of(packer_.kind.sum)); }
  llvm::Align align_from() const {
    return llvm::Align(static_cast<std::uint64_t>(size() / parts_));
  }
  llvm::Value* move(llvm::Value* p, llvm::Value* bytes) {
    return b_.CreateGEP(b_.getInt8Ty(), p, bytes);
  }
  llvm::Value* argument(llvm::Type* type, std::size_t offset) {
    auto* at = move(args_, b_.getInt64(static_cast<std::int64_t>(offset)));
    return b_.CreateLoad(type, at);
  }
  llvm::Value* pointer(std::size_t offset) { return argument(b_.getPtrTy(), offset); }
  llvm::Value* number(std::size_t offset) { return argument(b_.getInt64Ty(), offset); }

  template <class Body>
  Values loop(llvm::Value* turns, const Values& starts, Body body) {
    return carrying_loop(b_, turns, starts, body);
  }

  void store(llvm::Value* v, llvm::Value* to) {
    b_.CreateAlignedStore(v, to, llvm::Align(static_cast<std::uint64_t>(word_size() / parts_)));
  }
  llvm::Value* move(llvm::Value* p, std::int64_t bytes) { return move(p, b_.getInt64(bytes)); }

  void emit_panel(llvm::Value* from, llvm::Value* to) {
    if (packer_.adjacent == Adjacent::lines) return copy(from, to);
    const int steps = terms_.steps();
    auto* words = b_.CreateUDiv(steps_, b_.getInt64(static_cast<std::uint64_t>(steps)));
    Values at{from, to};
    const bool adjacent = packer_.adjacent == Adjacent::steps;
    if (adjacent && parts_ == 1) {
      const auto lanes = static_cast<std::uint64_t>(lanes_);
      at = loop(b_.CreateUDiv(words, b_.getInt64(lanes)), at, [&](Values here) {
        llvm::Value* out = here[1];
        for (llvm::Value* v : transposed(here[0])) {
          store(v, out);
          out = move(out, to_step_);
        }
        return Values{move(here[0], lanes_ * steps * size()), out};
      });
      words = b_.CreateURem(words, b_.getInt64(lanes));
    }
    auto* word_step = b_.CreateMul(from_step_, b_.getInt64(steps));
    at = loop(words, at, [&](Values here) {
      gather_word(here[0], here[1], nullptr);
      return Values{move(here[0], word_step), move(here[1], to_step_)};
    });
    last_word(at, [&](llvm::Value* rest) { gather_word(at[0], at[1], rest); });
  }
  // Writes a word that has `rest` steps, if there is one.
  template <class F>
  void last_word(const Values& at, F write) {
    if (terms_.steps() == 1) return;
    auto* rest = b_.CreateURem(steps_, b_.getInt64(static_cast<std::uint64_t>(terms_.steps())));
    loop(b_.CreateZExt(b_.CreateICmpNE(rest, b_.getInt64(0)), b_.getInt64Ty()), at,
         [&](Values here) {
           write(rest);
           return here;
         });
  }
  // The elements of the steps of one word: `load` finds those of a step at a distance in bytes.
  // Steps from `rest` on, if it is given, are zeros and not read.
  template <class F>
  llvm::Value* words_of_steps(llvm::Value* rest, F load) {
    Values rows;
    for (int i = 0; i < terms_.steps(); ++i) {
      llvm::Value* step = b_.getInt64(i);
      if (!rest) {
        rows.push_back(load(b_.CreateMul(step, from_step_)));
        continue;
      }
      auto* last = b_.CreateSub(rest, b_.getInt64(1));
      llvm::Value* row = load(
          b_.CreateMul(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, step, last), from_step_));
      rows.push_back(b_.CreateSelect(b_.CreateICmpULT(step, rest), row,
                                     llvm::Constant::getNullValue(row->getType())));
    }
    return terms_.words_of_rows(rows);
  }
  // Gathers and stores the words of some steps.
  void gather_word(llvm::Value* from, llvm::Value* to, llvm::Value* rest) {
    Values words;
    for (int part = 0; part < parts_; ++part)
      words.push_back(words_of_steps(rest, [&](llvm::Value* step) {
        return gather(move(move(from, step), part * size() / parts_));
      }));
    if (parts_ == 1) return store(words[0], to);
    std::vector<int> lanes;
    for (int i = 0; i < lanes_; ++i) lanes.insert(lanes.end(), {i, lanes_ + i});
    store_complex(b_.CreateShuffleVector(words[0], words[1], lanes), to);
  }
  // Stores complex numbers, in B as a vector of real and one of imaginary parts.
  void store_complex(llvm::Value* v, llvm::Value* to) {
    if (!packer_.right) return store(v, to);
    for (int part = 0; part < 2; ++part) {
      std::vector<int> lanes;
      for (int i = 0; i < lanes_; ++i) lanes.push_back(2 * i + part);
      store(b_.CreateShuffleVector(v, lanes), move(to, part * lanes_ * word_size() / 2));
    }
  }
  // The elements of one step of all lines.
  llvm::Value* gather(llvm::Value* from) {
    llvm::Value* v = llvm::PoisonValue::get(vector_of(from_));
    for (int i = 0; i < lanes_; ++i) {
      auto* x = b_.CreateAlignedLoad(from_, move(from, line_at(i)), align_from());
      v = b_.CreateInsertElement(v, x, b_.getInt64(i));
    }
    return v;
  }
  llvm::Value* line_at(int i) const { return lines_at_[static_cast<std::size_t>(i)]; }

  // The words of some steps, as whole vectors where all of their lines exist.
  void copy(llvm::Value* from, llvm::Value* to) {
    const int steps = terms_.steps(), unrolled = steps == 1 ? 4 : 2;
    const std::int64_t from_bytes = lanes_ * size(), to_bytes = lanes_ * word_size();
    auto* word_step = b_.CreateMul(from_step_, b_.getInt64(steps));
    auto copy_word = [&](llvm::Value* in, llvm::Value* out, llvm::Value* rest, auto load) {
      for (int v = 0; v < packer_.vectors; ++v) {
        llvm::Value *at = move(in, v * from_bytes), *there = move(out, v * to_bytes);
        if (parts_ == 2)
          store_complex(load(at), there);
        else
          store(words_of_steps(rest, [&](llvm::Value* step) { return load(move(at, step)); }),
                there);
      }
    };
    auto words = [&](llvm::Value* turns, int each, const Values& starts, auto load) {
      return loop(turns, starts, [&](Values here) {
        for (int i = 0; i < each; ++i) {
          copy_word(here[0], here[1], nullptr, load);
          here[0] = move(here[0], word_step);
          here[1] = move(here[1], to_step_);
        }
        return here;
      });
    };
    llvm::LLVMContext& context = function_->getContext();
    auto block = [&](const char* name) {
      return llvm::BasicBlock::Create(context, name, function_);
    };
    llvm::BasicBlock *whole = block("whole"), *part = block("part"), *done = block("done");
    llvm::Type* type = terms_.vector_of(from_, parts_);
    auto* count = b_.CreateUDiv(steps_, b_.getInt64(static_cast<std::uint64_t>(steps)));
    b_.CreateCondBr(all_, whole, part);
    b_.SetInsertPoint(whole);
    auto load = [&](llvm::Value* p) { return b_.CreateAlignedLoad(type, p, align_from()); };
    auto* several = b_.getInt64(static_cast<std::uint64_t>(unrolled));
    Values rest = words(b_.CreateUDiv(count, several), unrolled, {from, to}, load);
    rest = words(b_.CreateURem(count, several), 1, rest, load);
    last_word(rest, [&](llvm::Value* last) { copy_word(rest[0], rest[1], last, load); });
    b_.CreateBr(done);
    b_.SetInsertPoint(part);
    if (packer_.vectors == 1) {
      auto load_some = [&](llvm::Value* p) {
        return static_cast<llvm::Value*>(
            b_.CreateMaskedLoad(type, p, align_from(), mask_, llvm::Constant::getNullValue(type)));
      };
      rest = words(count, 1, {from, to}, load_some);
      last_word(rest, [&](llvm::Value* last) { copy_word(rest[0], rest[1], last, load_some); });
    }
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  llvm::Value* shuffle(llvm::Value* x, llvm::Value* y, const std::vector<int>& lanes) {
    return b_.CreateShuffleVector(x, y, lanes);
  }
  // The elements of x and y alternately, from the lower or upper halves of each group of `group`
  // elements, in units of `unit` elements.
  llvm::Value* interleave(llvm::Value* x, llvm::Value* y, int group, int unit, bool upper) {
    std::vector<int> lanes;
    for (int g = 0; g < lanes_; g += group)
      for (int i = 0; i < group / 2; i += unit)
        for (int of : {0, lanes_})
          for (int u = 0; u < unit; ++u) lanes.push_back(of + g + (upper ? group / 2 : 0) + i + u);
    return shuffle(x, y, lanes);
  }

  // A square of as many lines as steps, as a vector for each step. Each stage works in groups that
  // are twice as large: within the 16 bytes in which processors shuffle cheaply, and then with
  // these as units.
  Values transposed(llvm::Value* from) {
    Values rows;
    for (int i = 0; i < lanes_; ++i) {
      auto* line = move(from, line_at(i));
      rows.push_back(terms_.words_of_steps(
          b_.CreateAlignedLoad(terms_.vector_of(from_, terms_.steps()), line, align_from())));
      b_.CreateIntrinsic(
          llvm::Intrinsic::prefetch, {b_.getPtrTy()},
          {move(line, b_.getInt64(kBytesAhead)), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
    }
    const int unit = 16 / static_cast<int>(word_size()), units = lanes_ / unit;
    // Transposes `unit` x `unit` elements: afterwards row `r` of a group of rows has, in 16-byte
    // unit g, the elements of all rows of the group at step g * unit + r.
    for (int first = 0; first < lanes_; first += unit) {
      llvm::Value** x = &rows[static_cast<std::size_t>(first)];
      if (unit == 2) {
        llvm::Value *low = interleave(x[0], x[1], 2, 1, false),
                    *high = interleave(x[0], x[1], 2, 1, true);
        x[0] = low, x[1] = high;
      } else {
        llvm::Value *ab = interleave(x[0], x[1], 4, 1, false),
                    *ab_upper = interleave(x[0], x[1], 4, 1, true),
                    *cd = interleave(x[2], x[3], 4, 1, false),
                    *cd_upper = interleave(x[2], x[3], 4, 1, true);
        x[0] = interleave(ab, cd, 4, 2, false);
        x[1] = interleave(ab, cd, 4, 2, true);
        x[2] = interleave(ab_upper, cd_upper, 4, 2, false);
        x[3] = interleave(ab_upper, cd_upper, 4, 2, true);
      }
    }
    Values steps(static_cast<std::size_t>(lanes_));
    for (int r = 0; r < unit; ++r) {
      Values of_group;
      for (int g = 0; g < units; ++g)
        of_group.push_back(rows[static_cast<std::size_t>(g * unit + r)]);
      of_group = transpose_units(of_group, unit);
      for (int g = 0; g < units; ++g)
        steps[static_cast<std::size_t>(g * unit + r)] = of_group[static_cast<std::size_t>(g)];
    }
    return steps;
  }
  // Vectors of as many units as there are vectors: a square of units, transposed.
  Values transpose_units(const Values& x, int unit) {
    auto pick = [&](llvm::Value* u, llvm::Value* v, std::vector<int> from_u,
                    std::vector<int> from_v) {
      std::vector<int> lanes;
      for (int i : from_u)
        for (int e = 0; e < unit; ++e) lanes.push_back(i * unit + e);
      for (int i : from_v)
        for (int e = 0; e < unit; ++e) lanes.push_back(lanes_ + i * unit + e);
      return shuffle(u, v, lanes);
    };
    if (x.size() == 1) return x;
    if (x.size() == 2) return {pick(x[0], x[1], {0}, {0}), pick(x[0], x[1], {1}, {1})};
    llvm::Value *a = pick(x[0], x[1], {0, 1}, {0, 1}), *b = pick(x[2], x[3], {0, 1}, {0, 1}),
                *c = pick(x[0], x[1], {2, 3}, {2, 3}), *d = pick(x[2], x[3], {2, 3}, {2, 3});
    return {pick(a, b, {0, 2}, {0, 2}), pick(a, b, {1, 3}, {1, 3}), pick(c, d, {0, 2}, {0, 2}),
            pick(c, d, {1, 3}, {1, 3})};
  }

  const Packer packer_;
  IrBuilder b_;
  TermsIr terms_;
  const int lanes_, parts_;
  llvm::Function* function_;
  llvm::Type *from_, *to_;
  llvm::Value *args_, *from_step_, *from_line_, *to_step_, *steps_, *lines_;
  llvm::Value *mask_ = nullptr, *all_ = nullptr;
  Values lines_at_;  // distances of the lines from the first
};

}  // namespace

SharedFunction pack_function(const Packer& packer) {
  // Only these operands are packed differently on both sides.
  const bool right =
      packer.right && (packer.kind.terms == Terms::quads_int8 || is_complex(packer.kind.sum));
  std::string key = "matrix pack 5";
  for (int part : {static_cast<int>(packer.from), static_cast<int>(packer.kind.sum),
                   static_cast<int>(packer.kind.terms), int{right},
                   static_cast<int>(packer.adjacent), packer.vectors})
    key += " " + std::to_string(part);
  return {std::move(key), [packer](llvm::Module& module, const std::string& name) {
            PackEmitter(packer, module, name).emit();
          }};
}

PackKernel pack_kernel(const Packer& packer) {
  return reinterpret_cast<PackKernel>(shared_function(pack_function(packer)));
}

void pack_panels(const Panelling& p, const void* from, std::int64_t available, std::int64_t panels,
                 std::int64_t steps, void* to) {
  PackArgs args{};
  args.from_step = p.distances.step * p.element;
  args.from_line = p.distances.line * p.element;
  args.from_panel = p.each * args.from_line;
  args.to_step = p.width * p.word;
  args.to_panel = p.panel_words * args.to_step;
  const std::int64_t together = p.distances.line == 1 ? kPackedSteps : steps;
  for (std::int64_t step = 0; step < steps; step += together) {
    args.steps = std::min(together, steps - step);
    for (std::int64_t lane = 0; lane < p.each; lane += p.lanes) {
      // Two vectors of lines are copied side by side in the panels that have both.
      const bool two = p.two_vectors && lane + 2 * p.lanes <= p.each;
      const std::int64_t width = (two ? 2 : 1) * p.lanes;
      const std::int64_t whole =
          available < lane + width ? 0 : std::min(panels, (available - lane - width) / p.each + 1);
      auto at = [&](PackKernel kernel, std::int64_t panel, std::int64_t count, std::int64_t line) {
        args.from = static_cast<const char*>(from) + step * args.from_step + line * args.from_line +
                    panel * args.from_panel;
        args.to = static_cast<char*>(to) + step / steps_of(p.terms) * args.to_step + line * p.word +
                  panel * args.to_panel;
        args.panels = count;
        args.lines = std::min<std::int64_t>(p.lanes, available - panel * p.each - line);
        if (args.lines > 0) kernel(&args);
      };
      if (whole) at(two ? p.two_vectors : p.kernel, 0, whole, lane);
      for (std::int64_t panel = whole; panel < panels; ++panel)
        for (std::int64_t line = lane; line < lane + width; line += p.lanes)
          at(p.kernel, panel, 1, line);
      if (two) lane += p.lanes;
    }
  }
}

}  // namespace tessera::inline v0::codegen::matrix
