#include "numpy/integers/declared.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace integers {

namespace {

using Tokens = std::vector<std::string>;

// Names, numbers and single punctuation characters, without comments, strings and preprocessor
// lines. Macros that declare functions are called in the scope in which they declare them.
Tokens tokens_of(const std::string& text) {
  Tokens all;
  bool line_start = true;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto upto = [&](const std::string& end) {
      const std::size_t at = text.find(end, i);
      i = at == std::string::npos ? text.size() : at + end.size();
    };
    if (c == '\n') {
      line_start = true, ++i;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (c == '#' && line_start) {
      for (bool more = true; more;) {
        const std::size_t end = text.find('\n', i);
        more = end != std::string::npos && end > 0 && text[end - 1] == '\\';
        i = end == std::string::npos ? text.size() : end + 1;
      }
    } else if (text.compare(i, 2, "//") == 0) {
      upto("\n"), line_start = true;
    } else if (text.compare(i, 2, "/*") == 0) {
      i += 2, upto("*/");
    } else if (c == '"' ||
               (c == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]))))) {
      for (++i; i < text.size() && text[i] != c; ++i) i += text[i] == '\\';
      ++i, line_start = false;
    } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      std::size_t end = i;
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
        ++end;
      all.push_back(text.substr(i, end - i));
      i = end, line_start = false;
    } else {
      all.emplace_back(1, c);
      ++i, line_start = false;
    }
  }
  return all;
}

class Reader {
 public:
  Reader(Tokens tokens, std::string header, std::vector<Declared>& into)
      : t_(std::move(tokens)), header_(std::move(header)), into_(into) {}

  // Declarations up to the brace that closes the scope.
  void scope(const std::string& type) {
    bool is_public = true;
    while (at_ < t_.size() && t_[at_] != "}") {
      if (t_[at_] == "namespace") {
        nested_namespace(type);
      } else if ((t_[at_] == "public" || t_[at_] == "private" || t_[at_] == "protected") &&
                 next(1) == ":") {
        is_public = t_[at_] == "public";
        at_ += 2;
      } else {
        declaration(type, is_public);
      }
    }
    ++at_;
  }

 private:
  const std::string& next(std::size_t n) const {
    static const std::string none;
    return at_ + n < t_.size() ? t_[at_ + n] : none;
  }
  void skip_balanced(const std::string& open, const std::string& close) {
    for (int depth = 0; at_ < t_.size();) {
      depth += t_[at_] == open, depth -= t_[at_] == close;
      ++at_;
      if (depth == 0) return;
    }
  }
  void nested_namespace(std::string inside) {
    static const std::set<std::string> silent = {"namespace", "tessera", "inline", "v0", ":"};
    bool hidden = false;
    for (; at_ < t_.size() && t_[at_] != "{"; ++at_) {
      hidden = hidden || t_[at_] == "detail";
      if (!silent.count(t_[at_])) inside = t_[at_];
    }
    if (hidden) return skip_balanced("{", "}");
    ++at_;
    scope(inside);
  }
  void note(const std::string& type, const std::string& name) {
    into_.push_back({header_, type.empty() ? name : type + "::" + name});
  }
  // Reads one declaration. The first name in front of a parenthesis is the function's, except for
  // words that take parentheses themselves.
  void declaration(const std::string& type, bool is_public) {
    static const std::set<std::string> own = {"requires",
                                              "__attribute__",
                                              "decltype",
                                              "explicit",
                                              "noexcept",
                                              "alignas",
                                              "static_assert",
                                              "sizeof",
                                              "TESSERA_UNAVAILABLE_",
                                              "TESSERA_NO_OPTION_",
                                              "TESSERA_SHAPE_IN_BRACES_",
                                              "TESSERA_LATER_SHAPE_IN_BRACES_",
                                              "TESSERA_ARRAYS_IN_BRACES_"};
    static const std::set<std::string> declaring = {"TESSERA_REDUCE_", "TESSERA_ALONG_",
                                                    "TESSERA_REDUCE_METHOD_", "TESSERA_METHOD_"};
    static const std::set<std::string> with_members = {"Array", "At", "All"};
    std::string name, described;
    described_name_.clear();
    bool is_friend = false, found = false, assigned = false;
    while (at_ < t_.size()) {
      const std::string token = t_[at_];
      if (token == ";") {
        ++at_;
        return;
      }
      if (token == "}") return;
      if (declaring.count(token) && next(1) == "(") {
        at_ += 2;
        if (is_public) note(type, t_[at_]);
        while (t_[at_] != ")") ++at_;
        ++at_;
        if (next(0) == ";") ++at_;
        return;
      }
      if (token == "struct" || token == "class" || token == "enum" || token == "union" ||
          token == "concept")
        described = token;
      is_friend = is_friend || token == "friend" || token == "using";
      if (token == "=" && name.rfind("operator", 0) != 0) assigned = true;
      if (token == "template" && next(1) == "<") {
        ++at_;
        skip_balanced("<", ">");
        continue;
      }
      if (token == "(") {
        const bool call_operator = name == "operator" && next(1) == ")";
        if (call_operator) {
          name = "operator()";
          at_ += 2;
          continue;
        }
        if (!found && !assigned && !own.count(name) && described.empty() && !is_friend) {
          found = true;
          if (is_public && !name.empty() && name != type && previous_tilde_ == 0) note(type, name);
        }
        skip_balanced("(", ")");
        name.clear();
        continue;
      }
      if (token == "{") {
        // The members of some types are functions too.
        if (with_members.count(described_name_) && t_[at_ - 1] == described_name_) {
          const std::string inner = described_name_;
          described_name_.clear();
          ++at_;
          scope(inner);
          if (next(0) == ";") ++at_;
          return;
        }
        skip_balanced("{", "}");
        if (next(0) == ";") ++at_;
        described_name_.clear();
        if (found || !described.empty()) return;
        continue;
      }
      if (token == "operator") {
        name = "operator";
      } else if (name == "operator" ||
                 (name.rfind("operator", 0) == 0 &&
                  !std::isalnum(static_cast<unsigned char>(token[0])) && next(0) != "(")) {
        name += token;
      } else if (std::isalnum(static_cast<unsigned char>(token[0])) || token[0] == '_') {
        previous_tilde_ = at_ > 0 && t_[at_ - 1] == "~";
        name = token;
        if (!described.empty() && token != described && token != "TESSERA_API" &&
            described_name_.empty())
          described_name_ = token;
      }
      ++at_;
    }
  }

  Tokens t_;
  std::size_t at_ = 0;
  std::string header_, described_name_;
  int previous_tilde_ = 0;
  std::vector<Declared>& into_;
};

}  // namespace

std::vector<Declared> declared_functions(const std::string& folder) {
  std::vector<Declared> all;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".h" || file.path().parent_path().filename() == "detail")
      continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    Reader(tokens_of(text.str()), file.path().filename().string(), all).scope("");
  }
  return all;
}

const std::map<std::string, std::string>& excluded_headers() {
  static const std::string golden = "tests/golden compares it with JAX, on integers too";
  static const auto& all = *new std::map<std::string, std::string>{
      {"attention.h", "of floats"},
      {"distributions.h", "draws from a key; parameters count as floats"},
      {"debug.h", "says what is computed where"},
      {"initializers.h", "draws floats from a key"},
      {"recurrent.h", "layers of float parameters"},
      {"mask.h", "asks about parameters"},
      {"optimizers.h", "updates of parameters, which are floats"},
      {"schedules.h", "rates, which are floats"},
      {"transformations.h", "updates of parameters, which are floats"},
      {"autoshard.h", "chooses specs"},
      {"axes.h", "describes which axes are mapped"},
      {"axis_list.h", "lists of axes; functions that take them are drawn with them"},
      {"cache.h", "sizes of caches"},
      {"remat.h", "says what derivatives keep; integers have none"},
      {"checkpoint_manager.h", "keeps files"},
      {"checkpoint.h", "writes and reads values as they are; its tests have every dtype"},
      {"collectives.h", "Collectives.IntegersAtTheirEnds has every dtype at its ends"},
      {"config.h", "macros"},
      {"constants.h", "constants, all floats"},
      {"custom.h", "rules of derivatives; integers have none"},
      {"data.h", "reads files and batches of bytes"},
      {"device.h", "places values as they are"},
      {"distributed.h", "places values as they are"},
      {"eager.h", "tests/random compares gathered operations with others, bit for bit"},
      {"error.h", "errors"},
      {"fft.h", "computed in floats; tests/linalg transforms integers"},
      {"grad.h", "derivatives; integers have none"},
      {"inline_vector.h", "a container"},
      {"jit.h", "every case is run jitted"},
      {"linalg.h", "computed in floats"},
      {"matrix_forms.h", "computed in floats"},
      {"interpolation.h", "computed in floats"},
      {"message.h", "texts of errors"},
      {"optimizer.h", "updates of parameters, which are floats"},
      {"calculus.h", golden},
      {"functional.h", "calls functions, and walks trees"},
      {"grids.h", golden},
      {"limits.h", "of dtypes, without values"},
      {"mesh.h", "names devices"},
      {"arithmetic.h", golden},
      {"ordering.h", golden},
      {"gather_scatter.h", golden},
      {"polynomial.h", golden},
      {"products.h", golden},
      {"sets.h", golden},
      {"signal.h", "takes floats only"},
      {"special.h", "takes floats only"},
      {"stacking.h", golden},
      {"stats.h", "computed in floats"},
      {"statistics.h", golden},
      {"partition_spec.h", "names axes"},
      {"pipeline.h", "runs layers, mostly of floats, on microbatches"},
      {"plan.h", "describes programs"},
      {"platform.h", "tests/backends runs programs on loaded platforms"},
      {"pmap.h", "tests/devices draws programs mapped over devices"},
      {"profile.h", "measures"},
      {"shard_map.h", "runs functions on blocks of what it is given"},
      {"sharding.h", "places values as they are"},
      {"reflect.h", "fields of structs"},
      {"safetensors.h", "writes and reads the bytes of arrays as they are"},
      {"static_array.h", "constants of a program, by their bytes"},
      {"tree.h", "walks trees; its comparisons are array_equal and allclose of the leaves"},
      {"tree_def.h", "describes trees"},
      {"vmap.h", "every case is run mapped"},
      {"warning.h", "warnings"},
  };
  return all;
}

const std::map<std::string, std::string>& excluded_functions() {
  static const std::string handle = "asks or says what the handle is",
                           iterates = "walks the first axis by x[i], which has a row",
                           dtypes = "of dtypes, without values", shapes = "of shapes only",
                           floats_only = "takes floats only",
                           complex_numbers = "of complex numbers: tests/complex",
                           layer = "makes a layer of float parameters",
                           activation =
                               "integers count as floats, which tests/golden/nn_test.cc compares",
                           loss = "of floats; integers count as such",
                           file = "reads or writes a file, whose tests have every dtype",
                           memory = "hands memory over, and its tests have every dtype",
                           body = "computes what the function that it is given does",
                           bits = "of bits, which tests/ops and tests/golden compare";
  static const auto& all = *new std::map<std::string, std::string>{
      {"Array::begin", iterates},
      {"Array::end", iterates},
      {"operator,", handle},
      {"item", handle},
      {"Array::block_until_ready", handle},
      {"Array::dtype", handle},
      {"Array::impl", handle},
      {"Array::is_abstract", handle},
      {"Array::is_concrete", handle},
      {"Array::is_deleted", handle},
      {"Array::is_empty", handle},
      {"Array::is_ready", handle},
      {"Array::is_traced", handle},
      {"Array::length", handle},
      {"Array::nbytes", handle},
      {"Array::ndim", handle},
      {"Array::operator=", handle},
      {"Array::shape", handle},
      {"Array::sharding", handle},
      {"Array::shards", handle},
      {"Array::size", handle},
      {"Array::tolist", "refused by the compiler"},
      {"Array::weak_type", handle},
      {"abstract", handle},
      {"describe", handle},
      {"to_string", "texts are those of tests/numpy/printing_test.cc"},
      {"at", "the definition of Array::at"},
      {"dispatch", dtypes},
      {"dispatch_real", dtypes},
      {"complex_dtype", dtypes},
      {"real_dtype", dtypes},
      {"is_complex", dtypes},
      {"is_inexact", dtypes},
      {"iscomplexobj", dtypes},
      {"isrealobj", dtypes},
      {"complex", complex_numbers},
      {"real", complex_numbers},
      {"imag", complex_numbers},
      {"conj", complex_numbers},
      {"conjugate", complex_numbers},
      {"angle", complex_numbers},
      {"isreal", complex_numbers},
      {"iscomplex", complex_numbers},
      {"dtype_of", dtypes},
      {"is_differentiable", dtypes},
      {"is_floating", dtypes},
      {"is_integer", dtypes},
      {"is_signed_integer", dtypes},
      {"is_unsigned_integer", dtypes},
      {"name_of", dtypes},
      {"short_name_of", dtypes},
      {"size_of", dtypes},
      {"promote", "the rows of two operands check its table"},
      {"broadcast_shapes", shapes},
      {"normalize_axis", shapes},
      {"random::bits", "takes no integers but the shape"},
      {"random::exponential", floats_only},
      {"random::gumbel", floats_only},
      {"random::normal", floats_only},
      {"random::split", "takes a key and a count"},
      {"nn::absolute_error", loss},
      {"nn::adaptive_avg_pool", layer},
      {"nn::celu", activation},
      {"nn::conv_transpose", layer},
      {"nn::cosine_distance", loss},
      {"nn::cosine_similarity", loss},
      {"nn::ctc_loss", loss},
      {"nn::depthwise_conv", layer},
      {"nn::einsum_layer", layer},
      {"nn::glu", activation},
      {"nn::group_norm", layer},
      {"nn::hard_sigmoid", activation},
      {"nn::hard_silu", activation},
      {"nn::hard_swish", activation},
      {"nn::hard_tanh", activation},
      {"nn::hinge_loss", loss},
      {"nn::instance_norm", layer},
      {"nn::kl_divergence", loss},
      {"nn::l2_loss", loss},
      {"nn::log_cosh", loss},
      {"nn::min_pool", layer},
      {"nn::mish", activation},
      {"nn::mlp", layer},
      {"nn::prelu", layer},
      {"nn::relu6", activation},
      {"nn::rms_norm", layer},
      {"nn::selu", activation},
      {"nn::sequential", layer},
      {"nn::sigmoid_focal_loss", loss},
      {"nn::smooth_labels", loss},
      {"nn::soft_sign", activation},
      {"nn::sparse_plus", activation},
      {"nn::sparse_sigmoid", activation},
      {"nn::spectral_norm", layer},
      {"nn::squared_error", loss},
      {"nn::squareplus", activation},
      {"nn::standardize", activation},
      {"nn::swish", activation},
      {"nn::weight_norm", layer},
      {"nn::batch_norm", layer},
      {"nn::conv", layer},
      {"nn::layer_norm", layer},
      {"nn::linear", layer},
      {"save_npy", file},
      {"load_npy", file},
      {"save_npz", file},
      {"load_npz", file},
      {"to_dlpack", memory},
      {"from_dlpack", memory},
      {"load_stablehlo", file},
      {"save_stablehlo", file},
      {"stablehlo_text", file},
      {"load_stablehlo_text", file},
      {"check_stablehlo", file},
      {"stablehlo_program", file},
      {"reduce", body},
      {"reduce_window", body},
      {"sort_by", body},
      {"nextafter", floats_only},
      {"reduce_precision", floats_only},
      {"rng_bit_generator", "takes a state of uint64"},
      {"population_count", bits},
      {"bitwise_count", bits},
      {"count_leading_zeros", bits},
      {"mulhi", bits},
      {"bitcast_convert_type", bits},
  };
  return all;
}

}  // namespace integers
