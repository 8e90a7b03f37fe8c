// Per-device computations in the form of XLA's older partitioner: the operations between
// @SPMDFullToShardShape and @SPMDShardToFullShape are rewritten as a manual computation.
#include "stablehlo/import/manual_parts.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::inline v0::stablehlo {

namespace {

constexpr std::string_view kEnters = "SPMDFullToShardShape", kLeaves = "SPMDShardToFullShape",
                           kSaysHow = "mhlo.sharding";

// Whether `op` calls the target with one array and returns one array.
bool calls(const OperationSyntax& op, std::string_view target) {
  if (op.name != "stablehlo.custom_call") return false;
  const AttributeSyntax* called = op.find("call_target_name");
  return called && called->text == target && op.operands.size() == 1 && op.defs.size() == 1 &&
         op.result_types.size() == 1;
}

AttributeSyntax list_of(Memory& memory, const std::vector<AttributeSyntax>& items, std::size_t at) {
  AttributeSyntax list;
  list.kind = AttributeSyntax::list;
  list.at = at;
  list.items = List<AttributeSyntax>::copy(memory, items);
  return list;
}

class Parts {
 public:
  Parts(const Source& source, Memory& memory) : source_(source), memory_(memory) {}

  RegionSyntax of(const RegionSyntax& whole) {
    for (const OperationSyntax& op : whole.operations) {
      if (calls(op, "Sharding") && op.find(kSaysHow)) said_of_[op.defs[0].name] = &op;
      if (calls(op, kLeaves)) find_what_leaves(op);
    }
    for (const OperationSyntax& op : whole.operations) {
      if (&op == &whole.operations.back()) {
        close();
        out_.add(memory_, op);
      } else {
        place(op);
      }
    }
    RegionSyntax region = whole;
    region.operations = out_;
    return region;
  }

 private:
  // A value that leaves the part is a device's own, even if its operation reads no such value. If
  // its sharding is annotated, so is the operand of the annotation.
  void find_what_leaves(const OperationSyntax& leaves) {
    leaves_.insert(leaves.operands[0].name);
    const auto said = said_of_.find(leaves.operands[0].name);
    if (said != said_of_.end()) leaves_.insert(said->second->operands[0].name);
  }

  // Puts an operation into the region if it reads or defines a device's own value, else outside.
  void place(const OperationSyntax& op) {
    if (calls(op, kEnters)) {
      if (!leaving_.empty()) close();
      entering_.push_back(op);
      own_.insert(op.defs[0].name);
    } else if (calls(op, kLeaves)) {
      leaving_.push_back(op);
    } else if (reads_own(op) || gives_own(op)) {
      if (!leaving_.empty() && !reads_own(op)) close();
      inside_.push_back(op);
      for (const DefSyntax& d : op.defs) own_.insert(d.name);
    } else if (leaving_.empty()) {
      out_.add(memory_, op);
    } else {
      behind_.push_back(op);
    }
  }

  bool gives_own(const OperationSyntax& op) const {
    return std::any_of(op.defs.begin(), op.defs.end(),
                       [&](const DefSyntax& d) { return leaves_.count(d.name) > 0; });
  }

  bool reads_own(const OperationSyntax& op) const {
    return std::any_of(op.operands.begin(), op.operands.end(),
                       [&](const UseSyntax& u) { return own_.count(u.name) > 0; }) ||
           std::any_of(op.regions.begin(), op.regions.end(), [&](const RegionSyntax& r) {
             return std::any_of(r.operations.begin(), r.operations.end(),
                                [&](const OperationSyntax& o) { return reads_own(o); });
           });
  }

  void close() {
    if (!leaving_.empty()) out_.add(memory_, computation());
    for (const OperationSyntax& op : behind_) out_.add(memory_, op);
    entering_.clear();
    inside_.clear();
    leaving_.clear();
    behind_.clear();
    own_.clear();
  }

  OperationSyntax computation() {
    OperationSyntax op;
    op.name = "sdy.manual_computation";
    op.at = leaving_[0].at;
    RegionSyntax region;
    region.at = op.at;
    std::vector<AttributeSyntax> in, out;
    for (const OperationSyntax& e : entering_) {
      in.push_back(sharding_before(e));
      op.operands.add(memory_, e.operands[0]);
      ArgumentSyntax argument;
      argument.name = e.defs[0].name;
      argument.type = e.result_types[0];
      argument.at = e.at;
      region.arguments.add(memory_, argument);
    }
    OperationSyntax end;
    end.name = "sdy.return";
    end.at = op.at;
    for (const OperationSyntax& l : leaving_) {
      out.push_back(own_sharding(l));
      end.operands.add(memory_, l.operands[0]);
      op.defs.add(memory_, l.defs[0]);
      op.result_types.add(memory_, l.result_types[0]);
    }
    for (const OperationSyntax& i : inside_) region.operations.add(memory_, i);
    region.operations.add(memory_, end);
    op.attributes.add(memory_, {"in_shardings", list_of(memory_, in, op.at)});
    op.attributes.add(memory_, {"out_shardings", list_of(memory_, out, op.at)});
    op.attributes.add(memory_, {"manual_axes", manual_sharding()});
    op.regions.add(memory_, region);
    return op;
  }

  AttributeSyntax own_sharding(const OperationSyntax& op) const {
    const AttributeSyntax* sharding = op.find(kSaysHow);
    if (!sharding)
      fail(source_, op.at, {shown(op.find("call_target_name")->text) + " has no mhlo.sharding"});
    return *sharding;
  }

  // The sharding that lists the axes along which the part is manual, so that values entering or
  // leaving it are per-device along these.
  AttributeSyntax manual_sharding() const {
    if (!entering_.empty()) {
      AttributeSyntax own = own_sharding(entering_[0]);
      own.value_type = entering_[0].result_types[0];
      return own;
    }
    const auto said = said_of_.find(leaving_[0].operands[0].name);
    if (said == said_of_.end())
      fail(source_, leaving_[0].at,
           {"what " + shown(kLeaves) + " takes is no result of \"Sharding\"",
            "that says along which axes it is a device's own"});
    AttributeSyntax own = own_sharding(*said->second);
    own.value_type = said->second->result_types[0];
    return own;
  }

  // The sharding of the devices' shards is annotated on the array before it enters.
  AttributeSyntax sharding_before(const OperationSyntax& op) const {
    const auto it = said_of_.find(op.operands[0].name);
    if (it == said_of_.end())
      fail(source_, op.at,
           {"what " + shown(kEnters) + " takes is no result of \"Sharding\"",
            "that says which part is whose"});
    return own_sharding(*it->second);
  }

  const Source& source_;
  Memory& memory_;
  List<OperationSyntax> out_;
  std::map<std::string_view, const OperationSyntax*> said_of_;  // by result
  std::set<std::string_view> leaves_;
  // state of the current part
  std::vector<OperationSyntax> entering_, inside_, leaving_, behind_;
  std::set<std::string_view> own_;
};

}  // namespace

bool has_manual_parts(const RegionSyntax& region) {
  return std::any_of(region.operations.begin(), region.operations.end(),
                     [](const OperationSyntax& op) { return calls(op, kLeaves); });
}

RegionSyntax with_manual_computations(const RegionSyntax& region, const Source& source,
                                      Memory& memory) {
  return Parts(source, memory).of(region);
}

}  // namespace tessera::inline v0::stablehlo
