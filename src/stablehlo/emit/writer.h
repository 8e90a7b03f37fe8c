// A module as it is written: functions, their blocks, operations and regions.
#pragma once

#include "ir/op.h"
#include "stablehlo/emit/text.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tessera::inline v0::stablehlo {

/// Of values, as they are read: "%3", "%4#1".
using Names = std::vector<std::string>;

class Block;
class ModuleWriter;

/// A region of an operation: its block's arguments, and what writes the block and says which values
/// it gives.
struct RegionText {
  std::vector<Type> arguments;
  std::function<Names(Block& inside, const Names& arguments)> write;
  std::vector<Type> gives;
};

/// One equation that is being written: what reads as its operands, and where it goes.
struct Writing {
  Block& block;
  const Op& op;
  const Attrs& attrs;
  std::vector<Type> in_types, out_types;
  Names in;
  SourceLoc loc = {};

  const Type& type() const { return out_types[0]; }
  /// Throws TraceError: this equation has no form in StableHLO.
  [[noreturn]] void refuse(const std::string& problem, const std::string& rule,
                           const std::string& advice) const;
};
using WriteRule = Names (*)(Writing& w);

/// The lines of a block. Names are counted through a whole function, so that regions see those
/// around them.
class Block {
 public:
  Block(ModuleWriter& m, std::string& out, std::size_t& count, int indent)
      : module(m), out_(out), count_(count), indent_(indent) {}

  ModuleWriter& module;
  /// The mesh of the region that is written for each device, and the axes of it that the region
  /// leaves to the partitioner.
  std::optional<DeviceMesh> mesh;
  Strings automatic = {};

  void line(const std::string& text);
  /// Lines that are written already.
  void raw(const std::string& lines) { out_ += lines; }
  /// A line that defines so many values.
  Names define(const std::string& text, std::size_t results = 1);
  /// An operation of one result whose operands and result are of one type is short:
  /// "stablehlo.add %0, %1 : tensor<f32>".
  std::string apply(const std::string& op, const Names& operands, const Type& type);
  /// Any operation in the generic form; `attributes` is what stands in <{...}>.
  Names generic(const std::string& op, const Names& operands, const std::string& attributes,
                std::span<const Type> in, std::span<const Type> out,
                const std::vector<RegionText>& regions = {});
  std::string constant(const Literal& literal);
  std::string number(DType dtype, std::int64_t value);
  std::string broadcast(const std::string& scalar, const Type& to);
  /// As written, or as operands repeated to a shape: what `number` and `broadcast` make together.
  std::string filled(DType dtype, const Shape& shape, std::int64_t value);
  std::string reshape(const std::string& x, const Type& from, const Type& to);
  std::string compare(const char* direction, const std::string& x, const std::string& y,
                      const Type& type, bool total_order = false);

  /// The equations of a program on these operands; the names of its results.
  Names program(const Program& p, const Names& inputs);
  /// A region that is a program of its arguments.
  static RegionText region(const ProgramPtr& p);
  /// A block inside, whose lines are `out`'s.
  Block inside(std::string& out) const;
  /// A new name: "%7".
  std::string fresh();
  /// Writes a region between braces, its end with `terminator`.
  void braces(const RegionText& region, const char* terminator, bool header = true);

 private:
  /// One equation, or collectives that one operation does.
  Names equation(const std::vector<const Equation*>& equations, const Program& p, Names in);
  Names composite(const Writing& w, WriteRule rule);

  std::string& out_;
  std::size_t& count_;
  int indent_;
};

class ModuleWriter {
 public:
  /// The symbol of a private function that is this program; one that is there already is taken.
  std::string function(const std::string& stem, const ProgramPtr& p);
  /// A private function whose block a rule writes, by a key that says all of what it does.
  std::string decomposition(const std::string& stem, const std::string& key, const Writing& w,
                            WriteRule rule);
  /// The symbol of a mesh.
  std::string mesh(const DeviceMesh& mesh);
  /// A channel for one more collective, from 1.
  std::int64_t channel() { return ++channels_; }
  std::int64_t partitions() const { return partitions_; }

  /// Adds a function of which `write` writes the block and gives the results' names.
  void add(const std::string& signature,
           const std::function<void(Block&, const std::vector<Type>&)>& write);
  std::string text(const std::string& name) const;

  std::string main;       // its text
  std::string functions;  // of the private ones

 private:
  std::string fresh_symbol(const std::string& stem);

  std::unordered_multimap<std::uint64_t, std::pair<ProgramPtr, std::string>> programs_;
  std::map<std::string, std::string> decompositions_;
  std::map<std::string, int> symbols_;
  std::vector<std::pair<DeviceMesh, std::string>> meshes_;
  std::int64_t channels_ = 0, partitions_ = 1;
};

/// A function's text: `head` is "func.func private @f", `labels` are what stands behind each type
/// of the arguments and the results.
std::string function_text(ModuleWriter& m, const std::string& head, const std::vector<Type>& in,
                          const std::vector<Type>& out, const Names& in_labels,
                          const Names& out_labels,
                          const std::function<Names(Block&, const Names&)>& write);

}  // namespace tessera::inline v0::stablehlo
