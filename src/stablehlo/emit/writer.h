// Builds the text of a module: functions, their blocks, operations and regions.
#pragma once

#include "ir/op.h"
#include "stablehlo/emit/text.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tessera::inline v0::stablehlo {

/// Names of values as operands spell them: "%3", "%4#1".
using Names = std::vector<std::string>;

class Block;
class ModuleWriter;
struct Target;  // target.h

/// A region of an operation: the types of its block's arguments and results, and a function that
/// writes the block and returns the names of its results.
struct RegionText {
  std::vector<Type> arguments;
  std::function<Names(Block& inside, const Names& arguments)> write;
  std::vector<Type> gives;
};

/// An equation that is being emitted: its operands' names, and the block that receives it.
struct Writing {
  Block& block;
  const Op& op;
  const Attrs& attrs;
  std::vector<Type> in_types, out_types;
  Names in;
  SourceLoc loc = {};

  const Type& type() const { return out_types[0]; }
  /// Throws TraceError: the equation has no form in StableHLO.
  [[noreturn]] void refuse(const std::string& problem, const std::string& rule,
                           const std::string& advice) const;
};
using WriteRule = Names (*)(Writing& w);

/// The lines of a block. Values are numbered across a whole function, so that regions can refer to
/// the values around them.
class Block {
 public:
  Block(ModuleWriter& m, std::string& out, std::size_t& count, int indent)
      : module(m), out_(out), count_(count), indent_(indent) {}

  ModuleWriter& module;
  /// The mesh of the region that is emitted per device, and its axes that the region leaves to the
  /// partitioner.
  std::optional<DeviceMesh> mesh;
  Strings automatic = {};

  void line(const std::string& text);
  /// Appends lines that are already formatted.
  void raw(const std::string& lines) { out_ += lines; }
  /// Appends a line that defines `results` values.
  Names define(const std::string& text, std::size_t results = 1);
  /// Appends an operation in the short form, with one result of the operands' type: "stablehlo.add
  /// %0, %1 : tensor<f32>".
  std::string apply(const std::string& op, const Names& operands, const Type& type);
  /// Appends any operation in the generic form; `attributes` is the text inside <{...}>.
  Names generic(const std::string& op, const Names& operands, const std::string& attributes,
                std::span<const Type> in, std::span<const Type> out,
                const std::vector<RegionText>& regions = {});
  std::string constant(const Literal& literal);
  std::string number(DType dtype, std::int64_t value);
  std::string broadcast(const std::string& scalar, const Type& to);
  /// A constant of this shape that is filled with `value`: `number` and `broadcast` combined.
  std::string filled(DType dtype, const Shape& shape, std::int64_t value);
  std::string reshape(const std::string& x, const Type& from, const Type& to);
  std::string compare(const char* direction, const std::string& x, const std::string& y,
                      const Type& type, bool total_order = false);

  /// Emits the equations of a program on these operands; returns the names of its results.
  Names program(const Program& p, const Names& inputs);
  /// A region that evaluates a program on its arguments.
  static RegionText region(const ProgramPtr& p);
  /// A nested block, whose lines are appended to `out`.
  Block inside(std::string& out) const;
  /// A new name: "%7".
  std::string fresh();
  /// Writes a region between braces and ends it with `terminator`.
  void braces(const RegionText& region, const char* terminator, bool header = true);

 private:
  /// Emits one equation, or several collectives that one operation performs.
  Names equation(const std::vector<const Equation*>& equations, const Program& p, Names in);
  Names composite(const Writing& w, WriteRule rule);

  std::string& out_;
  std::size_t& count_;
  int indent_;
};

class ModuleWriter {
 public:
  /// `partitions`: the number of devices for which the module is, if it has no mesh.
  explicit ModuleWriter(const Target& target, std::int64_t partitions = 1)
      : target_(target), partitions_(partitions) {}
  const Target& target() const { return target_; }

  /// The symbol of a private function with this program, which `caller` calls and in whose region
  /// over devices it runs; an existing equal one is reused.
  std::string function(const std::string& stem, const ProgramPtr& p, const Block& caller);
  /// A private function whose block is written by `rule`; `key` describes completely what it does.
  std::string decomposition(const std::string& stem, const std::string& key, const Writing& w,
                            WriteRule rule);
  /// The symbol of a mesh.
  std::string mesh(const DeviceMesh& mesh);
  /// The channel number for another collective, counting from 1.
  std::int64_t channel() { return ++channels_; }
  std::int64_t partitions() const { return partitions_; }

  /// Adds a function whose block is written by `write`.
  void add(const std::string& signature,
           const std::function<void(Block&, const std::vector<Type>&)>& write);
  std::string text(const std::string& name) const;

  /// Whether operations of CHLO are written as custom calls of their names.
  bool without_chlo = false;
  /// The precision of products and convolutions: HIGHEST, HIGH or DEFAULT.
  std::string precision = "HIGHEST";
  /// Collectives of several values are written as one operation for each value.
  bool separate_collectives = false;
  /// A broadcast from one device is a gather from all and a slice.
  bool gathered_broadcasts = false;
  /// The devices of the partitions; empty: 0, 1, 2, ...
  std::vector<int> partition_devices;
  std::string main;       // its text
  std::string functions;  // of the private ones

 private:
  std::string fresh_symbol(const std::string& stem);

  const Target& target_;
  struct Function {
    ProgramPtr program;
    std::optional<DeviceMesh> mesh;
    Strings automatic;
    std::string symbol;
  };
  std::unordered_multimap<std::uint64_t, Function> programs_;
  std::map<std::string, std::string> decompositions_;
  std::map<std::string, int> symbols_;
  std::vector<std::pair<DeviceMesh, std::string>> meshes_;
  std::int64_t channels_ = 0, partitions_;
};

/// A function's text: `head` is "func.func private @f"; the labels follow the types of the
/// arguments and results. They are read after `write` has run, which may fill them.
std::string function_text(ModuleWriter& m, const std::string& head, const std::vector<Type>& in,
                          const std::vector<Type>& out, const Names& in_labels,
                          const Names& out_labels,
                          const std::function<Names(Block&, const Names&)>& write);

}  // namespace tessera::inline v0::stablehlo
