// Functions of StableHLO modules as functions of arrays.
#include "api/interop/loaded.h"
#include "api/trace/trace.h"
#include "stablehlo/bytecode/exported.h"
#include "stablehlo/bytecode/read.h"

#include <tessera/detail/input_file.h>

#include <algorithm>

namespace tessera::inline v0 {

namespace detail {

stablehlo::SourcePtr read_source(const std::string& path, const SourceLoc& loc) {
  const auto fail = [&](const std::string& problem, const std::string& advice) {
    Message("load_stablehlo")
        .problem(shown_path(path) + ": " + problem)
        .from(loc)
        .advice(advice)
        .raise<IoError>();
  };
  InputFile in(path);
  if (!in.problem().empty()) fail(in.problem(), in.advice());
  if (in.size() > machine_memory() / 4)
    fail("it is too large for this machine's memory", "check that it is a module");
  auto source = std::make_shared<stablehlo::Source>();
  source->name = shown_path(path);
  source->text.resize(static_cast<std::size_t>(in.size()));
  if (!in.read(source->text.data(), source->text.size()))
    fail("it cannot be read to its end", "check whether something writes it, and its disk");
  return source;
}

std::vector<stablehlo::Part> parts_of_file(const stablehlo::Source& source) {
  if (stablehlo::is_bytecode(source.text) || stablehlo::is_exported(source.text))
    return {{0, source.text.size()}};
  return stablehlo::parts_of(source);
}

std::vector<stablehlo::ModuleSyntax> modules_of(const stablehlo::SourcePtr& source,
                                                stablehlo::Part part) {
  if (stablehlo::is_bytecode(source->text)) return {stablehlo::read_bytecode(*source)};
  if (stablehlo::is_exported(source->text)) return {stablehlo::read_exported(*source)};
  return stablehlo::parse(source, part);
}

stablehlo::ModuleSyntax only_module(const stablehlo::SourcePtr& source) {
  std::vector<stablehlo::ModuleSyntax> modules;
  for (const stablehlo::Part& part : parts_of_file(*source))
    for (stablehlo::ModuleSyntax& m : modules_of(source, part)) modules.push_back(std::move(m));
  if (modules.empty())
    stablehlo::fail(*source, source->text.size(), {"there is no module and no function"});
  if (modules.size() > 1)
    stablehlo::fail(*source, modules[1].at,
                    {"a second module begins here", "a file to load has one module",
                     "divide the file at its lines '// -----'"});
  return std::move(modules[0]);
}

std::vector<Array> constants_of(const stablehlo::Imported& imported) {
  std::vector<Array> out;
  for (const Literal& l : imported.constants)
    out.push_back(Array::from_bytes(l.dtype, l.shape, l.bytes->data()));
  return out;
}

}  // namespace detail

namespace {

std::vector<ArrayType> public_types(const std::vector<stablehlo::NamedType>& types) {
  std::vector<ArrayType> out;
  for (const stablehlo::NamedType& t : types) out.push_back({t.name, t.type.dtype, t.type.shape});
  return out;
}

LoadedFunction load(const stablehlo::SourcePtr& source, const LoadOptions& options) {
  stablehlo::Imported imported =
      stablehlo::import_function(detail::only_module(source), options.function);
  auto m = std::make_shared<detail::LoadedModule>();
  // Checks are for `check_stablehlo`; here a module is what it gives.
  auto program = std::make_shared<Program>(*imported.program);
  program->outputs.resize(imported.outputs.size());
  m->program = prune(*program);
  m->inputs = public_types(imported.inputs);
  m->outputs = public_types(imported.outputs);
  m->constants = detail::constants_of(imported);
  m->name = options.function;
  return LoadedFunction(std::move(m));
}

const detail::LoadedModule& need_loaded(const std::shared_ptr<const detail::LoadedModule>& m) {
  if (!m)
    Message("load_stablehlo")
        .problem("this function was never loaded")
        .advice("assign it what load_stablehlo gives")
        .raise<TraceError>();
  return *m;
}

std::string text_of(DType dtype, const Shape& shape) { return to_string(Type(dtype, shape)); }

}  // namespace

const std::vector<ArrayType>& LoadedFunction::inputs() const { return need_loaded(module_).inputs; }
const std::vector<ArrayType>& LoadedFunction::outputs() const {
  return need_loaded(module_).outputs;
}

LoadedFunction::Single LoadedFunction::single(std::source_location loc) const {
  if (outputs().size() != 1)
    Message("single")
        .problem("@" + module_->name + " has " + std::to_string(outputs().size()) + " results")
        .rule("a function for grad has one")
        .from(loc)
        .advice("call the function itself, and take one of its results in a lambda")
        .raise<ShapeError>();
  return Single(*this);
}

std::vector<Array> LoadedFunction::call(std::span<const Array> arguments,
                                        std::source_location loc) const {
  const detail::LoadedModule& m = need_loaded(module_);
  const std::string function = "@" + m.name;
  const SourceLoc line(loc);
  if (arguments.size() != m.inputs.size())
    Message(function)
        .problem("it takes " + std::to_string(m.inputs.size()) + " arguments, and gets " +
                 std::to_string(arguments.size()))
        .from(line)
        .advice("inputs() lists their names, dtypes and shapes")
        .raise<ShapeError>();
  std::vector<Array> operands;
  Message wrong(function);
  bool shapes = false, dtypes = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArrayType& want = m.inputs[i];
    const Type& got = detail::need(arguments[i], function.c_str(), line).type;
    const bool weak =
        got.weak && got.shape.rank() == 0 && want.shape.rank() == 0 &&
        (is_floating(want.dtype) || (is_integer(want.dtype) && is_integer(got.dtype)));
    if (got.shape != want.shape || (got.dtype != want.dtype && !weak)) {
      (got.shape != want.shape ? shapes : dtypes) = true;
      wrong.offender(want.name + " is " + text_of(want.dtype, want.shape) + ", and gets " +
                     text_of(detail::visible_dtype(got), got.shape));
    }
    operands.push_back(got.weak ? arguments[i].astype(want.dtype, loc) : arguments[i]);
  }
  wrong.problem("arguments that are not what it takes:")
      .rule("dtypes and shapes are those that it was exported for")
      .from(line)
      .advice("convert and reshape the arguments as inputs() says");
  if (shapes) wrong.raise<ShapeError>();
  if (dtypes) wrong.raise<DTypeError>();
  operands.insert(operands.end(), m.constants.begin(), m.constants.end());
  return detail::apply(m.program, operands, line);
}

LoadedFunction load_stablehlo(const std::string& path, const LoadOptions& options,
                              std::source_location loc) {
  const InFunction called("load_stablehlo", loc);
  return load(detail::read_source(path, loc), options);
}

LoadedFunction load_stablehlo_text(std::string_view text, const LoadOptions& options,
                                   std::source_location loc) {
  const InFunction called("load_stablehlo_text", loc);
  auto source = std::make_shared<stablehlo::Source>();
  source->text = text;
  return load(source, options);
}

std::string stablehlo_program(const std::string& path, const LoadOptions& options,
                              std::source_location loc) {
  const InFunction called("stablehlo_program", loc);
  return to_string(*stablehlo::import_function(detail::only_module(detail::read_source(path, loc)),
                                               options.function)
                        .program);
}

}  // namespace tessera::inline v0
