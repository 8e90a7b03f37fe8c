// Loads functions of StableHLO modules as functions on arrays.
#include "api/trace/trace.h"
#include "runtime/backend.h"
#include "stablehlo/bytecode/exported.h"
#include "stablehlo/bytecode/read.h"
#include "stablehlo/functions/loaded.h"

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

namespace {

// Imports a function; throws ShapeError if the module asserts other shapes than those in `options`.
stablehlo::Imported settled(const stablehlo::ModuleSyntax& syntax, const std::string& function,
                            const stablehlo::ImportOptions& options, const SourceLoc& loc) {
  try {
    return stablehlo::import_function(syntax, function, options);
  } catch (const stablehlo::BrokenAssertion& broken) {
    Message("@" + function)
        .problem(broken.what())
        .rule("the module asserts what it was exported for")
        .from(loc)
        .advice("call it with arguments of such shapes")
        .raise<ShapeError>();
  }
}

std::shared_ptr<const LoadedProgram> imported(const stablehlo::ModuleSyntax& syntax,
                                              const std::string& function,
                                              const stablehlo::ImportOptions& options,
                                              const SourceLoc& loc) {
  const stablehlo::Imported i = settled(syntax, function, options, loc);
  auto out = std::make_shared<LoadedProgram>();
  out->program = i.program;
  if (i.program->outputs.size() != i.outputs.size()) {
    // Checks are only for `check_stablehlo`; here the module has just its results.
    auto program = std::make_shared<Program>(*i.program);
    program->outputs.resize(i.outputs.size());
    out->program = prune(*program);
  }
  out->constants = constants_of(i);
  return out;
}

}  // namespace

std::shared_ptr<const LoadedProgram> LoadedModule::program(std::span<const Array> arguments,
                                                           const SourceLoc& loc) const {
  if (fixed) return fixed;
  std::vector<std::vector<std::int64_t>> key;
  for (const Array& a : arguments) key.emplace_back(a.shape().begin(), a.shape().end());
  const std::lock_guard lock(mutex);
  if (const auto it = by_shapes.find(key); it != by_shapes.end()) {
    it->second.used = ++calls;
    return it->second.program;
  }
  stablehlo::ImportOptions with_shapes = options;
  for (const Array& a : arguments) with_shapes.arguments.push_back(a.shape());
  auto made = imported(syntax, name, with_shapes, loc);
  if (by_shapes.size() == kMostSizes)
    by_shapes.erase(std::min_element(
        by_shapes.begin(), by_shapes.end(),
        [](const auto& x, const auto& y) { return x.second.used < y.second.used; }));
  by_shapes[key] = {made, ++calls};
  return made;
}

}  // namespace detail

namespace {

std::vector<ArrayType> public_types(const std::vector<stablehlo::NamedType>& types) {
  std::vector<ArrayType> out;
  for (const stablehlo::NamedType& t : types)
    out.push_back({t.name, t.type.dtype, t.type.shape, t.donated});
  return out;
}

LoadedFunction load(const stablehlo::SourcePtr& source, const LoadOptions& options,
                    const SourceLoc& loc) {
  auto m = std::make_shared<detail::LoadedModule>();
  m->syntax = detail::only_module(source);
  if (options.shardings) {
    const runtime::Backend& backend = runtime::default_backend();
    m->options.devices = backend.device_count();
    if (&backend != &runtime::host_backend()) m->options.platform = backend.platform();
  }
  const stablehlo::Signature s = stablehlo::signature_of(m->syntax, options.function);
  m->inputs = public_types(s.inputs);
  m->outputs = public_types(s.outputs);
  m->name = options.function;
  if (!s.open) {
    m->fixed = detail::imported(m->syntax, m->name, m->options, loc);
    m->syntax = {};
    const auto types = m->fixed->program->output_types();
    for (std::size_t i = 0; i < types.size(); ++i) m->outputs[i].shape = types[i].shape;
  }
  return LoadedFunction(std::move(m));
}

const detail::LoadedModule& need_loaded(const std::shared_ptr<const detail::LoadedModule>& m) {
  if (!m)
    Message("load_stablehlo")
        .problem("this function holds nothing: it was never loaded, or it was moved away")
        .advice("assign it what load_stablehlo gives")
        .raise<TraceError>();
  return *m;
}

// "f32[?,3]": a question mark stands for a dimension that each call determines.
std::string text_of_spec(DType dtype, const Shape& shape) {
  std::string text = to_string(Type(dtype, shape));
  for (std::size_t at = 0; (at = text.find("-1", at)) != text.npos;) text.replace(at, 2, "?");
  return text;
}

bool fits_input(const Shape& want, const Shape& got) {
  return std::equal(want.begin(), want.end(), got.begin(), got.end(),
                    [](std::int64_t w, std::int64_t g) { return w < 0 || w == g; });
}

// Whether the argument has the dtype, or is a number that converts to it.
bool takes(const ArrayType& want, const Type& got) {
  const bool number = got.weak && got.shape.rank() == 0 && want.shape.rank() == 0;
  return got.dtype == want.dtype ||
         (number && (is_floating(want.dtype) || (is_integer(want.dtype) && is_integer(got.dtype))));
}

[[noreturn]] void refuse_module(const std::string& function, const std::vector<ArrayType>& inputs,
                                std::span<const Array> arguments, const SourceLoc& line) {
  Message wrong(function);
  bool shapes = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArrayType& want = inputs[i];
    const Type& got = detail::need(arguments[i], function.c_str(), line).type;
    const bool shaped = fits_input(want.shape, got.shape);
    shapes = shapes || !shaped;
    if (!shaped || !takes(want, got))
      wrong.offender(want.name + " is " + text_of_spec(want.dtype, want.shape) + ", and gets " +
                     text_of_spec(detail::visible_dtype(got), got.shape));
  }
  wrong.problem("these arguments do not match its parameters:")
      .rule("dtypes and shapes are those that it was exported for")
      .from(line)
      .advice("convert and reshape the arguments as inputs() says");
  if (shapes) wrong.raise<ShapeError>();
  wrong.raise<DTypeError>();
}

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
  operands.reserve(arguments.size());
  bool fit = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArrayType& want = m.inputs[i];
    const Type& got = detail::need(arguments[i], function.c_str(), line).type;
    fit = fit && fits_input(want.shape, got.shape) && takes(want, got);
    operands.push_back(got.weak ? arguments[i].astype(want.dtype, loc) : arguments[i]);
  }
  if (!fit) refuse_module(function, m.inputs, arguments, line);
  const auto program = m.program(operands, line);
  operands.insert(operands.end(), program->constants.begin(), program->constants.end());
  return detail::apply(program->program, operands, line, &program->runs);
}

LoadedFunction load_stablehlo(const std::string& path, const LoadOptions& options,
                              std::source_location loc) {
  const InFunction called("load_stablehlo", loc);
  return load(detail::read_source(path, loc), options, loc);
}

namespace {
stablehlo::SourcePtr source_of(std::string_view text) {
  auto source = std::make_shared<stablehlo::Source>();
  source->text = text;
  return source;
}
}  // namespace

LoadedFunction load_stablehlo(std::span<const std::byte> bytes, const LoadOptions& options,
                              std::source_location loc) {
  const InFunction called("load_stablehlo", loc);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return load(source_of(text), options, loc);
}

LoadedFunction load_stablehlo_text(std::string_view text, const LoadOptions& options,
                                   std::source_location loc) {
  const InFunction called("load_stablehlo_text", loc);
  return load(source_of(text), options, loc);
}

std::string stablehlo_program(const std::string& path, const LoadOptions& options,
                              std::int64_t open, std::source_location loc) {
  const InFunction called("stablehlo_program", loc);
  const stablehlo::ModuleSyntax syntax = detail::only_module(detail::read_source(path, loc));
  const stablehlo::Signature signature = stablehlo::signature_of(syntax, options.function);
  stablehlo::ImportOptions with_shapes;
  if (signature.open)
    for (const stablehlo::NamedType& input : signature.inputs) {
      Shape shape = input.type.shape;
      for (std::int64_t& d : shape) d = d < 0 ? open : d;
      with_shapes.arguments.push_back(shape);
    }
  return to_string(*detail::settled(syntax, options.function, with_shapes, loc).program);
}

}  // namespace tessera::inline v0
