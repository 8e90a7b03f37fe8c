// The machine that planning assumes: rates, sizes and costs that decide how work is divided,
// ordered and stored. Constants that decide where a sum is split change the last bits of results;
// the others change only the time and memory that a program takes.
//
// The comment of each value names the benchmark row that shows its effect, and the machine on which
// it was measured, if that is known. To measure a value again, change it and compare the two
// builds:
//
//   python3 bench/compare/gate.py '<row>' --base HEAD
//
// On a machine of another kind, begin with `limits_bench` (rates of products, copies and barriers)
// and `loops_bench` (kernels), which print the machine's own figures.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::inline v0::machine {

// --- rates of one core, by which steps are ordered and work is weighed

/// Products of matrices and convolutions, in operations per second. Rows matmul/512,
/// op/product_bfloat16.
inline constexpr double kProductFlops = 1e11, kProductFlops64 = 4e10, kProductFlops16 = 2e11;
/// Products on a matrix unit. Not measured yet: half of what AMX multiplies at 2 GHz.
inline constexpr double kProductFlopsUnit = 2e12;
/// The fixed cost in seconds of a call for a product, and for a convolution. Rows matmul/256,
/// op/conv_1x1.
inline constexpr double kProductCall = 1e-6, kConvolutionCall = 3e-6;
/// Memory bandwidth in bytes per second. The partitioner needs it, and kProductFlops, only to
/// prefer divided work to replicated work if communication is equal. limits_bench, "triad".
inline constexpr double kMemoryBandwidth = 1e10;

// --- tasks of library products: the work that is worth a task, in operations

/// The work of a leaf of the sum over rows of a narrow product. Row op/matrix_vector.
inline constexpr double kNarrowLeaf = 6e4;
/// The work of a task of a forward convolution: 20 to 30 microseconds of a core. Row op/conv_3x3.
inline constexpr double kConvolutionTask = 3e6;
/// The work of a leaf of a weight gradient, in total and per element of the weights. Row cnn/4.
inline constexpr double kGradientLeaf = 2e7, kGradientLeafPerWeight = 1200;

// --- products of our own

/// A smaller product is not divided. matrix_bench, 4096 x 16 x 64 and 256 x 256 x 256.
inline constexpr double kLeastOwnProductToDivide = 6e6;
/// The work of a block of a divided product: at least, and preferably. The same shapes, and rows
/// matmul/1024 and matmul/2048.
inline constexpr double kLeastOwnProductBlock = 8e6, kProductBlock = 2e9;

/// The terms of a sum that are added one after the other. It decides bits. More terms need fewer
/// passes over the result, and less accurate sums. matrix_bench.
inline constexpr std::int64_t kProductChunk = 512;
/// Bytes of an operand that a core keeps near while it reads them many times: a quarter of a
/// second-level cache of 1 MiB, and half of the smaller ones. With 128 KiB, products of 1024 take
/// 3 % longer on Zen 5; 512 KiB makes no difference. matrix_bench.
inline constexpr double kProductBytes = 1 << 18;
/// Bytes of a product's result that, next to the operand of kProductBytes, stay in the second-level
/// cache until the epilogue has read them. Row gpt/4.
inline constexpr std::int64_t kProductPanel = std::int64_t{1} << 18;
/// The size in bytes below which fusing a product with its epilogue does not pay. Row mlp/1.
inline constexpr std::int64_t kLeastPanelResult = std::int64_t{1} << 15;
/// Bytes of sums that stay in the first-level cache while an operand is streamed.
inline constexpr std::int64_t kProductStrip = 1 << 14;

// --- convolutions with pixels as lanes, against oneDNN 2.6

/// The inner loops of a processor's own kernel and of oneDNN's, in units of one vector product.
struct PixelConvolution {
  double copy;           // copying one float
  int library_lanes;     // of oneDNN's vectors of channels
  double library[3];     // one product with one, two, or more vectors of channels
  double library_pixel;  // the fixed cost of a pixel
};
/// Measured on Zen 4, the narrower ones with TESSERA_ISA=avx2 and sse4. Row op/conv_3x3.
inline constexpr PixelConvolution kPixelsAvx512{0.5, 16, {1.05, 1.05, 1.05}, 8};
inline constexpr PixelConvolution kPixelsAvx2{1, 8, {2.2, 1.4, 1.1}, 0};
inline constexpr PixelConvolution kPixelsSse4{0.5, 8, {1.05, 1.05, 1.05}, 0};

// --- schedules of tapes

/// Seconds to overlap communication with work: waking a thread and one more phase. Row mlp/4 of
/// bench/compare/processes.py.
inline constexpr double kOverlapCost = 2e-5;
/// The least time, in seconds, that an exchange between processes is assumed to take, since the
/// time until the others reach it is unknown. bench/compare/processes.py.
inline constexpr double kLeastExchange = 1e-4;
/// A schedule that saves time may take this many times the memory of one that does not.
inline constexpr double kMemoryForTime = 1.25;
/// Communication gets a separate phase if values of this many bytes wait for it in memory: a phase
/// costs 5 us on the workers' barrier, a twentieth of the time that memory of 10 GB/s takes for
/// them. Row gpt_2x2/4.
inline constexpr std::int64_t kBytesWorthAPhase = std::int64_t{1} << 20;

// --- caches

/// Copies and results that no cache holds until they are read, in bytes: they are stored past the
/// caches. The cache size that the OS reports is not used, because in a VM it is that of the whole
/// machine's shared cache. Rows op/transpose, reshard/4; loops_bench.
inline constexpr std::int64_t kPastCaches = std::int64_t{32} << 20;
/// The same for results of an exchange between processes, which arrive in pieces that the other
/// process has just written.
inline constexpr std::int64_t kExchangePastCaches = std::int64_t{8} << 20;
/// Bytes of an operand per piece of an exchange: what a process wrote is still in its cache while
/// others read it. Smaller pieces lose more than this gains, because a core that overwrites what
/// another core has read must wait for that core's cache, line by line, unless the lines were
/// evicted.
inline constexpr std::int64_t kExchangePiece = std::int64_t{1} << 19;
/// Copies of fewer bytes than the first are made by one worker, others in tasks of the second. Row
/// reshard/4.
inline constexpr std::int64_t kParallelCopy = std::int64_t{1} << 18,
                              kCopyTask = std::int64_t{1} << 20;

}  // namespace tessera::inline v0::machine
