#include "codegen/matrix/line_kernel.h"

#include "codegen/kernel/isa.h"
#include "codegen/kernel/llvm_ir.h"
#include "codegen/matrix/loop_ir.h"
#include "codegen/matrix/terms_ir.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::inline v0::codegen::matrix {

namespace {

using Values = std::vector<llvm::Value*>;

class LineEmitter {
 public:
  LineEmitter(const Lines& lines, llvm::Module& module, const std::string& name)
      : lines_(lines),
        b_(module.getContext()),
        terms_(b_, lines.kind, lines.element, true),
        units_(kLineSums / terms_.lanes()) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
  }

  void emit() {
    auto* args = function_->getArg(0);
    auto argument = [&](llvm::Type* type, std::size_t offset) {
      return b_.CreateLoad(type, at(args, b_.getInt64(static_cast<std::int64_t>(offset))));
    };
    auto number = [&](std::size_t offset) { return argument(b_.getInt64Ty(), offset); };
    a_ = argument(b_.getPtrTy(), offsetof(LineArgs, a));
    llvm::Value* b = argument(b_.getPtrTy(), offsetof(LineArgs, b));
    llvm::Value* c = argument(b_.getPtrTy(), offsetof(LineArgs, c));
    a_row_ = number(offsetof(LineArgs, a_row));
    b_line_ = number(offsetof(LineArgs, b_line));
    c_row_ = number(offsetof(LineArgs, c_row));
    turns_ = number(offsetof(LineArgs, turns));
    rest_ = number(offsetof(LineArgs, rest));
    adds_ = b_.CreateICmpNE(number(offsetof(LineArgs, add)), b_.getInt64(0));
    has_rest_ = b_.CreateZExt(b_.CreateICmpNE(rest_, b_.getInt64(0)), b_.getInt64Ty());
    if (lines_.kind.terms == Terms::quads_int8)
      minus_ = argument(b_.getPtrTy(), offsetof(LineArgs, minus));
    auto* lines = number(offsetof(LineArgs, lines));
    Values next{b, c};
    const int together = lines_together();
    auto* each = b_.getInt64(static_cast<std::uint64_t>(together));
    auto run = [&](llvm::Value* turns, int count) {
      next = loop(turns, next, [&](const Values& here) {
        emit_lines(here[0], here[1], count);
        return Values{at(here[0], b_.CreateMul(b_line_, b_.getInt64(count))),
                      at(here[1], b_.getInt64(count * size()))};
      });
    };
    run(b_.CreateUDiv(lines, each), together);
    if (together > 1) run(b_.CreateURem(lines, each), 1);
    b_.CreateRetVoid();
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(size_of(lines_.kind.sum)); }
  std::int64_t element_size() const { return static_cast<std::int64_t>(size_of(lines_.element)); }
  llvm::Value* at(llvm::Value* p, llvm::Value* bytes) {
    return b_.CreateGEP(b_.getInt8Ty(), p, bytes);
  }
  // The number of sums: together with the vectors of a line and one of A they fill the registers,
  // and they are enough to hide the latency of an addition.
  int lines_together() const {
    const int registers = host_isa().vector_registers - 2;
    return std::clamp(registers / ((lines_.rows + 1) * units_), 1, 8);
  }

  template <class Body>
  Values loop(llvm::Value* turns, const Values& starts, Body body) {
    return carrying_loop(b_, turns, starts, body);
  }

  // The products of all rows with `count` lines.
  void emit_lines(llvm::Value* b, llvm::Value* c, int count) {
    const auto sums = static_cast<std::size_t>(lines_.rows * count * units_);
    Values state{a_, b};
    state.resize(2 + sums, llvm::Constant::getNullValue(terms_.vector_of(terms_.sum())));
    const std::int64_t a_bytes = kLineSums * size(),
                       b_bytes = kLineSums * terms_.steps() * element_size();
    auto turn = [&](bool whole) {
      return [&, whole](Values here) {
        add_words(here, count, whole);
        here[0] = at(here[0], b_.getInt64(a_bytes));
        here[1] = at(here[1], b_.getInt64(b_bytes));
        return here;
      };
    };
    state = loop(turns_, state, turn(true));
    state = loop(has_rest_, state, turn(false));
    for (int row = 0; row < lines_.rows; ++row)
      for (int line = 0; line < count; ++line)
        finish(&state[static_cast<std::size_t>(2 + (row * count + line) * units_)], row,
               at(at(c, b_.CreateMul(c_row_, b_.getInt64(row))), b_.getInt64(line * size())));
  }
  // Adds the products of kLineSums words of each line. If the line ends there, only `rest_`
  // elements of them exist.
  void add_words(Values& state, int count, bool whole) {
    const int lanes = terms_.lanes(), elements = lanes * terms_.steps();
    llvm::Type* type = terms_.vector_of(terms_.from(), terms_.steps());
    const llvm::Align align(static_cast<std::uint64_t>(element_size()));
    for (int unit = 0; unit < units_; ++unit) {
      Values of_line;
      for (int line = 0; line < count; ++line) {
        auto* from = at(at(state[1], b_.CreateMul(b_line_, b_.getInt64(line))),
                        b_.getInt64(unit * elements * element_size()));
        llvm::Value* v =
            whole ? static_cast<llvm::Value*>(b_.CreateAlignedLoad(type, from, align))
                  : b_.CreateMaskedLoad(type, from, align, mask(unit * elements, elements),
                                        llvm::Constant::getNullValue(type));
        of_line.push_back(terms_.words_of_steps(v));
      }
      for (int row = 0; row < lines_.rows; ++row) {
        auto* from = at(at(state[0], b_.CreateMul(a_row_, b_.getInt64(row))),
                        b_.getInt64(unit * lanes * size()));
        auto* x = b_.CreateAlignedLoad(terms_.vector_of(terms_.word()), from,
                                       llvm::Align(static_cast<std::uint64_t>(size())));
        for (int line = 0; line < count; ++line) {
          llvm::Value*& sum =
              state[static_cast<std::size_t>(2 + (row * count + line) * units_ + unit)];
          sum = terms_.add_products(x, of_line[static_cast<std::size_t>(line)], sum);
        }
      }
    }
  }
  llvm::Value* mask(int first, int elements) {
    std::vector<llvm::Constant*> numbers;
    for (int i = 0; i < elements; ++i)
      numbers.push_back(b_.getInt16(static_cast<std::uint16_t>(first + i)));
    return b_.CreateICmpULT(llvm::ConstantVector::get(numbers),
                            b_.CreateVectorSplat(static_cast<unsigned>(elements),
                                                 b_.CreateTrunc(rest_, b_.getInt16Ty())));
  }
  // Adds the partial sums and writes the result.
  void finish(llvm::Value** sums, int row, llvm::Value* to) {
    for (int half = units_ / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) sums[i] = terms_.add(sums[i], sums[i + half]);
    llvm::Value* v = sums[0];
    for (int half = terms_.lanes() / 2; half > 0; half /= 2) {
      std::vector<int> low, high;
      for (int i = 0; i < half; ++i) low.push_back(i), high.push_back(half + i);
      v = terms_.add(b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
    }
    llvm::Value* sum = b_.CreateExtractElement(v, std::uint64_t{0});
    const llvm::Align align(static_cast<std::uint64_t>(size()));
    if (minus_)
      sum = b_.CreateSub(
          sum, b_.CreateAlignedLoad(terms_.sum(), at(minus_, b_.getInt64(row * size())), align));
    llvm::BasicBlock *before = b_.GetInsertBlock(),
                     *taken = llvm::BasicBlock::Create(function_->getContext(), "add", function_),
                     *join = llvm::BasicBlock::Create(function_->getContext(), "join", function_);
    b_.CreateCondBr(adds_, taken, join);
    b_.SetInsertPoint(taken);
    auto* total = terms_.add(b_.CreateAlignedLoad(terms_.sum(), to, align), sum);
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    auto* chosen = b_.CreatePHI(terms_.sum(), 2);
    chosen->addIncoming(sum, before);
    chosen->addIncoming(total, taken);
    b_.CreateAlignedStore(chosen, to, align);
  }

  const Lines lines_;
  IrBuilder b_;
  TermsIr terms_;
  const int units_;  // vectors that hold kLineSums words
  llvm::Function* function_;
  llvm::Value *a_, *a_row_, *b_line_, *c_row_, *turns_, *rest_, *adds_, *has_rest_;
  llvm::Value* minus_ = nullptr;
};

template <class From, class To>
void copy(const void* from, std::int64_t step, std::int64_t count, std::int64_t padded, void* to) {
  const auto* in = static_cast<const From*>(from);
  auto* out = static_cast<To*>(to);
  const auto number = [&](std::int64_t i) {
    if constexpr (std::is_class_v<From>)
      return static_cast<To>(static_cast<float>(in[i]));
    else
      return static_cast<To>(in[i]);
  };
  if (step == 1)
    for (std::int64_t i = 0; i < count; ++i) out[i] = number(i);
  else
    for (std::int64_t i = 0; i < count; ++i) out[i] = number(i * step);
  for (std::int64_t i = count; i < padded; ++i) out[i] = To{};
}

using Copy = void (*)(const void*, std::int64_t, std::int64_t, std::int64_t, void*);
template <class Word>
Copy copy_to(DType element) {
  switch (element) {
    case DType::bfloat16: return copy<bfloat16_t, Word>;
    case DType::float16: return copy<float16_t, Word>;
    case DType::float32: return copy<float, Word>;
    case DType::float64: return copy<double, Word>;
    case DType::int8: return copy<std::int8_t, Word>;
    case DType::uint8: return copy<std::uint8_t, Word>;
    case DType::int16: return copy<std::int16_t, Word>;
    case DType::uint16: return copy<std::uint16_t, Word>;
    case DType::int32: return copy<std::int32_t, Word>;
    case DType::uint32: return copy<std::uint32_t, Word>;
    default: return copy<std::int64_t, Word>;
  }
}
Copy copy_of(const Kind& kind, DType element) {
  if (kind.terms == Terms::quads_int8) return copy<std::int8_t, std::int8_t>;
  if (kind.terms == Terms::pairs_int16) return copy_to<std::int16_t>(element);
  switch (kind.sum) {
    case DType::float32: return copy_to<float>(element);
    case DType::float64: return copy_to<double>(element);
    case DType::int32: return copy_to<std::int32_t>(element);
    default: return copy_to<std::int64_t>(element);
  }
}

}  // namespace

void copy_line(const Kind& kind, DType element, const void* from, std::int64_t step,
               std::int64_t count, std::int64_t padded, void* to) {
  copy_of(kind, element)(from, step, count, padded, to);
}

SharedFunction line_function(const Lines& lines) {
  std::string key = "matrix lines 1";
  for (int part : {static_cast<int>(lines.kind.sum), static_cast<int>(lines.kind.terms),
                   static_cast<int>(lines.element), lines.rows})
    key += " " + std::to_string(part);
  return {std::move(key), [lines](llvm::Module& module, const std::string& name) {
            LineEmitter(lines, module, name).emit();
          }};
}

LineKernel line_kernel(const Lines& lines) {
  return reinterpret_cast<LineKernel>(shared_function(line_function(lines)));
}

}  // namespace tessera::inline v0::codegen::matrix
