#include "codegen/calls/onednn.h"

#include "base/process.h"
#include "base/settings.h"
#include "base/thread_kept.h"
#include "codegen/kernel/isa.h"

#include <dlfcn.h>
#include <dnnl.hpp>

namespace tessera::inline v0::codegen::onednn {
namespace {

// TESSERA_ISA applies to oneDNN too, unless the program has used oneDNN before.
void limit_instructions() {
  const std::string most = settings::text("TESSERA_ISA");
  if (most == "avx512") dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
  if (most == "avx2") dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
  if (most == "sse4") dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
}

// The OpenMP runtime that oneDNN is linked with. It is found through the oneDNN library, because
// the program may contain another runtime. Builds of oneDNN without OpenMP have none.
struct OpenMp {
  int (*get_max_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;

  static const OpenMp& get() {
    static const OpenMp found = [] {
      limit_instructions();
      OpenMp o;
      Dl_info info;
      if (!dladdr(reinterpret_cast<void*>(&dnnl_sgemm), &info)) return o;
      void* library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
      if (!library) library = RTLD_DEFAULT;
      o.get_max_threads = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
      o.set_num_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
      if (!o.get_max_threads || !o.set_num_threads) o = {};
      return o;
    }();
    return found;
  }
};

// omp_set_num_threads affects the calling thread only. It also matters when a primitive is created,
// because blocking depends on it.
class OneThread {
 public:
  OneThread() : before_(omp_.get_max_threads ? omp_.get_max_threads() : 1) {
    if (before_ != 1) omp_.set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_.set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;

 private:
  const OpenMp& omp_ = OpenMp::get();
  int before_;
};

using dnnl::memory;

const dnnl::engine& engine() {
  // Leaked on purpose: prepared primitives outlive main's statics.
  static const auto* e = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *e;
}

dnnl::stream& stream() {
  thread_local const ThreadKept<dnnl::stream> s(engine());
  return *s;
}

memory::data_type type_of(DType dtype) {
  return dtype == DType::bfloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc plain(const Layout& l, DType dtype) { return {l.dims, type_of(dtype), l.strides}; }

memory::desc any(const Layout& l, DType dtype) {
  return {l.dims, type_of(dtype), memory::format_tag::any};
}

// Dense, with batch outermost and channels innermost. Strides of dimensions of size 1 are ignored.
bool channels_last(const Layout& l) {
  std::int64_t step = l.dims[1];
  if (l.dims[1] > 1 && l.strides[1] != 1) return false;
  for (std::size_t i = l.dims.size(); i-- > 2;) {
    if (l.dims[i] > 1 && l.strides[i] != step) return false;
    step *= l.dims[i];
  }
  return l.dims[0] <= 1 || l.strides[0] == step;
}

memory::desc channels_last_desc(const Layout& l, DType dtype) {
  Dims strides(l.dims.size());
  strides[1] = 1;
  std::int64_t step = l.dims[1];
  for (std::size_t i = l.dims.size(); i-- > 2;) {
    strides[i] = step;
    step *= l.dims[i];
  }
  strides[0] = step;
  return {l.dims, type_of(dtype), strides};
}

// oneDNN 3 has no descriptors of operations: those of primitives take the arguments themselves.
template <class C, class... A>
typename C::primitive_desc described(const dnnl::primitive_attr& attr, const A&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename C::primitive_desc(engine(), arguments..., attr);
#else
  return typename C::primitive_desc(typename C::desc(arguments...), attr, engine());
#endif
}
template <class C, class... A>
typename C::primitive_desc described_gradient(
    const dnnl::primitive_attr& attr, const dnnl::convolution_forward::primitive_desc& forward,
    const A&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename C::primitive_desc(engine(), arguments..., forward, attr);
#else
  return typename C::primitive_desc(typename C::desc(arguments...), attr, engine(), forward);
#endif
}

class PreparedConvolution final : public Convolution {
 public:
  // `keep` requests kernels that work on channels-last activations in place.
  PreparedConvolution(const ConvSpec& spec, bool keep)
      : plain_{plain(spec.source, spec.dtype), {}, plain(spec.destination, spec.dtype)} {
    OneThread guard;
    auto wanted = [&](const Layout& l, int i) {
      if (!keep || !channels_last(l)) return any(l, spec.dtype);
      in_place_[i] = true;
      return channels_last_desc(l, spec.dtype);
    };
    // Let oneDNN choose the weight layout: packing is cheap compared to the convolution, and plain
    // layouts get slow implementations.
    memory::desc source = wanted(spec.source, 0), destination = wanted(spec.destination, 2);
    Layout w = spec.weights;
    bool grouped = w.dims[0] > 1;
    if (!grouped) {
      w.dims.erase(w.dims.begin());
      w.strides.erase(w.strides.begin());
    }
    plain_[1] = plain(w, spec.kind == ConvKind::backward_weights ? DType::float32 : spec.dtype);
    memory::desc weights = any(w, spec.dtype);
    Dims dilations = spec.dilations;
    for (std::int64_t& d : dilations) --d;
    auto direct = dnnl::algorithm::convolution_direct;
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto forward = described<dnnl::convolution_forward>(
        attr, dnnl::prop_kind::forward_training, direct, source, weights, destination, spec.strides,
        dilations, spec.pad_low, spec.pad_high);
    if (spec.kind == ConvKind::forward) {
      take(forward.src_desc(), forward.weights_desc(), forward.dst_desc(), forward);
      primitive_ = dnnl::convolution_forward(forward);
      args_ = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    } else if (spec.kind == ConvKind::backward_data) {
      const auto p = described_gradient<dnnl::convolution_backward_data>(
          attr, forward, direct, source, weights, destination, spec.strides, dilations,
          spec.pad_low, spec.pad_high);
      take(p.diff_src_desc(), p.weights_desc(), p.diff_dst_desc(), p);
      primitive_ = dnnl::convolution_backward_data(p);
      args_ = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST};
    } else {
      const auto p = described_gradient<dnnl::convolution_backward_weights>(
          attr, forward, direct, source, any(w, DType::float32), destination, spec.strides,
          dilations, spec.pad_low, spec.pad_high);
      take(p.src_desc(), p.diff_weights_desc(), p.diff_dst_desc(), p);
      primitive_ = dnnl::convolution_backward_weights(p);
      args_ = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST};
    }
    for (int i = 0; i < 3; ++i) {
      if (in_place_[i]) continue;
      pack_[i] =
          dnnl::reorder(dnnl::reorder::primitive_desc(engine(), plain_[i], engine(), own_[i]));
      unpack_[i] =
          dnnl::reorder(dnnl::reorder::primitive_desc(engine(), own_[i], engine(), plain_[i]));
    }
  }

  bool in_place(Tensor t) const override { return in_place_[index(t)]; }
  std::size_t bytes(Tensor t) const override { return own_[index(t)].get_size(); }
  bool same_weights(const Convolution& other) const override {
    return own_[1] == static_cast<const PreparedConvolution&>(other).own_[1];
  }
  std::size_t scratch_bytes() const override { return scratch_.get_size(); }
  std::string implementation() const override { return implementation_; }

  void pack(Tensor t, const void* from, void* to) const override {
    int i = index(t);
    reorder(pack_[i], plain_[i], from, own_[i], to);
  }
  void unpack(Tensor t, const void* from, void* to) const override {
    int i = index(t);
    reorder(unpack_[i], own_[i], from, plain_[i], to);
  }

  void run(void* source, void* weights, void* destination, void* scratch) const override {
    OneThread guard;
    primitive_.execute(stream(), {{args_[0], memory(own_[0], engine(), source)},
                                  {args_[1], memory(own_[1], engine(), weights)},
                                  {args_[2], memory(own_[2], engine(), destination)},
                                  {DNNL_ARG_SCRATCHPAD, memory(scratch_, engine(), scratch)}});
    stream().wait();
  }

  bool fast() const override {
    return implementation_.starts_with("jit:") || implementation_.starts_with("jit_bf16") ||
           implementation_.starts_with("brg");
  }

 private:
  static int index(Tensor t) { return static_cast<int>(t); }

  template <class P>
  void take(memory::desc source, memory::desc weights, memory::desc destination, const P& p) {
    own_[0] = source;
    own_[1] = weights;
    own_[2] = destination;
    scratch_ = p.scratchpad_desc();
    implementation_ = p.impl_info_str();
  }

  static void reorder(const dnnl::primitive& p, const memory::desc& from_desc, const void* from,
                      const memory::desc& to_desc, void* to) {
    OneThread guard;
    p.execute(stream(), {{DNNL_ARG_FROM, memory(from_desc, engine(), const_cast<void*>(from))},
                         {DNNL_ARG_TO, memory(to_desc, engine(), to)}});
    stream().wait();
  }

  memory::desc plain_[3], own_[3], scratch_;
  bool in_place_[3] = {false, false, false};
  dnnl::primitive primitive_, pack_[3], unpack_[3];
  std::vector<int> args_;
  std::string implementation_;
};

// Makes oneDNN create the static variables of its first product. They are destroyed at process
// exit, so they must exist before any work is queued that may run then.
void make_variables_of_products() {
  // Rows, columns and single elements have separate kernels.
  const float x[4] = {};
  float product[4];
  OneThread guard;
  for (int which = 0; which < 16; ++which)
    dnnl_sgemm(which & 1 ? 'T' : 'N', which & 2 ? 'T' : 'N', which & 4 ? 2 : 1, which & 8 ? 2 : 1,
               1, 1, x, 2, x, 2, 0, product, 2);
}

}  // namespace

bool multiplies_bfloat16() {
  OpenMp::get();
  constexpr int kUnits = dnnl_cpu_isa_avx512_core_bf16;  // a set of bits
  return host_isa().bfloat16 && (dnnl_get_effective_cpu_isa() & kUnits) == kUnits;
}

std::shared_ptr<const Convolution> Convolution::make(const ConvSpec& spec) {
  const LibraryBegins begins;
  auto attempt = [&](bool keep) -> std::shared_ptr<const PreparedConvolution> {
    try {
      return std::make_shared<const PreparedConvolution>(spec, keep);
    } catch (const dnnl::error&) {
      return nullptr;
    }
  };
  std::shared_ptr<const PreparedConvolution> kept = attempt(true);
  if (kept && kept->fast()) return kept;
  std::shared_ptr<const PreparedConvolution> blocked = attempt(false);
  if (blocked && blocked->fast()) return blocked;
  // The remaining convolutions are computed as matrix products. Creating the variables takes 25 ms.
  static const bool made = (make_variables_of_products(), true);
  (void)made;
  return kept ? kept : blocked;
}

}  // namespace tessera::inline v0::codegen::onednn
