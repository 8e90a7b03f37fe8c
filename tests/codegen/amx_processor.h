// AMX on processors that do not have it: its instructions raise SIGILL there, and this class
// executes them as Intel's manual defines them (Software Developer's Manual, volume 2). So the
// machine code that the library makes for AMX runs on any x86-64 processor under Linux, one
// instruction at a time. Whatever a processor would refuse is an error, as are instructions that
// are not AMX's.
#pragma once

#if defined(__linux__) && defined(__x86_64__)

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace tessera::testing {

class AmxProcessor {
 public:
  /// Instructions that this thread has executed.
  struct Counts {
    std::int64_t configure = 0, release = 0, zero = 0, load = 0, store = 0;
    std::int64_t bfloat16 = 0, float16 = 0, int8 = 0, uint8 = 0;  // products of signed, of unsigned
  };

  AmxProcessor() {
    state() = {};
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t*, void* context) {
      execute(*static_cast<ucontext_t*>(context));
    };
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigaction(SIGILL, &action, &before_);
  }
  ~AmxProcessor() { ::sigaction(SIGILL, &before_, nullptr); }
  AmxProcessor(const AmxProcessor&) = delete;

  static const Counts& counts() { return state().counts; }
  /// Whether this thread's tiles are in their initial state.
  static bool released() { return !state().configured; }

 private:
  static constexpr int kTiles = 8, kRows = 16, kBytes = 64;
  struct State {
    bool configured = false;
    std::uint8_t rows[kTiles] = {};
    std::uint16_t bytes[kTiles] = {};
    std::uint8_t data[kTiles][kRows][kBytes] = {};
    Counts counts;
  };
  static State& state() {
    thread_local State s;
    return s;
  }

  [[noreturn]] static void refuse(std::string_view why) {
    const std::string text = "AMX: " + std::string(why) + "\n";
    [[maybe_unused]] auto written = ::write(2, text.data(), text.size());
    std::abort();
  }
  static void require(bool holds, std::string_view why) {
    if (!holds) refuse(why);
  }

  // The fields of an instruction with a VEX prefix of three bytes.
  struct Instruction {
    const std::uint8_t* at;
    greg_t* registers;
    int pp, opcode, reg, rm, mod, vvvv, base_high, index_high, length;
  };

  static std::uint64_t register_of(const Instruction& i, int number) {
    static constexpr int kNumbers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};
    return static_cast<std::uint64_t>(i.registers[kNumbers[number]]);
  }
  // Reads the address that follows the instruction's fifth byte. `stride` is what the index adds.
  static std::uint8_t* address(Instruction& i, std::int64_t* stride) {
    const std::uint8_t* next = i.at + 5;
    std::uint64_t base = 0, index = 0;
    int displacement_bytes = i.mod == 1 ? 1 : i.mod == 2 ? 4 : 0;
    if (i.rm == 4) {
      const int sib = *next++, of_base = sib & 7, of_index = (sib >> 3 & 7) | i.index_high;
      if (of_base == 5 && i.mod == 0)
        displacement_bytes = 4;
      else
        base = register_of(i, of_base | i.base_high);
      if (of_index != 4) index = register_of(i, of_index) << (sib >> 6);
    } else {
      require(!stride, "an address of rows has an index");
      require(i.rm != 5 || i.mod != 0, "no address relative to the instruction is expected");
      base = register_of(i, i.rm | i.base_high);
    }
    std::int64_t displacement = 0;
    if (displacement_bytes == 1) displacement = static_cast<std::int8_t>(*next);
    if (displacement_bytes == 4) {
      std::int32_t four = 0;
      std::memcpy(&four, next, sizeof four);
      displacement = four;
    }
    next += displacement_bytes;
    i.length = static_cast<int>(next - i.at);
    if (stride)
      *stride = static_cast<std::int64_t>(index);
    else
      base += index;
    return reinterpret_cast<std::uint8_t*>(base + static_cast<std::uint64_t>(displacement));
  }

  static void execute(ucontext_t& context) {
    Instruction i{};
    i.registers = context.uc_mcontext.gregs;
    i.at = reinterpret_cast<const std::uint8_t*>(i.registers[REG_RIP]);
    require(i.at[0] == 0xc4 && (i.at[1] & 0x1f) == 2 && (i.at[2] & 0x84) == 0,
            "an unknown instruction");
    i.index_high = i.at[1] & 0x40 ? 0 : 8;
    i.base_high = i.at[1] & 0x20 ? 0 : 8;
    i.vvvv = ~(i.at[2] >> 3) & 15;
    i.pp = i.at[2] & 3;
    i.opcode = i.at[3];
    i.mod = i.at[4] >> 6, i.reg = i.at[4] >> 3 & 7, i.rm = i.at[4] & 7;
    i.length = 5;
    constexpr int kNone = 0, kF3 = 2, kF2 = 3;  // the values of `pp`
    State& s = state();
    if (i.opcode == 0x49 && i.pp == kNone && i.mod == 3 && i.reg == 0 && i.rm == 0) {
      ++s.counts.release;
      s.configured = false;
    } else if (i.opcode == 0x49 && i.pp == kNone && i.mod != 3 && i.reg == 0) {
      ++s.counts.configure;
      configure(s, address(i, nullptr));
    } else if (i.opcode == 0x49 && i.pp == kF2 && i.mod == 3 && i.rm == 0) {
      ++s.counts.zero;
      require(s.configured && s.rows[i.reg], "a tile that is cleared has a shape");
      std::memset(s.data[i.reg], 0, sizeof s.data[i.reg]);
    } else if (i.opcode == 0x4b && i.mod != 3 && (i.pp == kF2 || i.pp == kF3)) {
      std::int64_t stride = 0;
      std::uint8_t* memory = address(i, &stride);
      require(s.configured && s.rows[i.reg], "a tile that is loaded or stored has a shape");
      const bool loads = i.pp == kF2;
      ++(loads ? s.counts.load : s.counts.store);
      if (loads) std::memset(s.data[i.reg], 0, sizeof s.data[i.reg]);
      for (int row = 0; row < s.rows[i.reg]; ++row)
        if (loads)
          std::memcpy(s.data[i.reg][row], memory + row * stride, s.bytes[i.reg]);
        else
          std::memcpy(memory + row * stride, s.data[i.reg][row], s.bytes[i.reg]);
    } else if (i.mod == 3 && i.opcode == 0x5c && (i.pp == kF3 || i.pp == kF2)) {
      ++(i.pp == kF3 ? s.counts.bfloat16 : s.counts.float16);
      dot(s, i, [half = i.pp == kF2](auto... all) { add_pairs(half, all...); });
    } else if (i.mod == 3 && i.opcode == 0x5e && (i.pp == kF2 || i.pp == kNone)) {
      ++(i.pp == kF2 ? s.counts.int8 : s.counts.uint8);
      dot(s, i, [is_signed = i.pp == kF2](auto... all) { add_bytes(is_signed, all...); });
    } else {
      refuse("an instruction that is not expected");
    }
    i.registers[REG_RIP] += i.length;
  }

  static void configure(State& s, const std::uint8_t* from) {
    s = {.counts = s.counts};
    require(from[0] == 1 && from[1] == 0, "palette 1, which begins with row 0");
    for (int i = 2; i < 16; ++i) require(from[i] == 0, "reserved bytes are zeros");
    for (int i = 0; i < 16; ++i) {
      std::uint16_t bytes = 0;
      std::memcpy(&bytes, from + 16 + 2 * i, sizeof bytes);
      const std::uint8_t rows = from[48 + i];
      require(i < kTiles || (bytes == 0 && rows == 0), "there are 8 tiles");
      require(rows <= kRows && bytes <= kBytes && (rows == 0) == (bytes == 0), "shapes of tiles");
      if (i < kTiles) s.rows[i] = rows, s.bytes[i] = bytes;
    }
    s.configured = true;
  }

  // Calls add(sums, word of A, words of B, columns) for each word of each row of A; see add_pairs.
  template <class Add>
  static void dot(State& s, const Instruction& i, Add add) {
    const int c = i.reg, a = i.rm, b = i.vvvv;
    require(s.configured && b < kTiles && a != b && b != c && a != c, "three tiles");
    require(i.base_high == 0, "no more than 8 tiles");
    require(s.rows[c] && s.rows[c] == s.rows[a] && s.bytes[c] == s.bytes[b] &&
                s.bytes[a] % 4 == 0 && s.bytes[b] % 4 == 0 && s.bytes[a] / 4 == s.rows[b],
            "tiles whose shapes match");
    for (int row = 0; row < s.rows[c]; ++row)
      add(s.data[c][row], s.data[a][row], s.data[b], s.bytes[a] / 4, s.bytes[c] / 4);
    // Rows and columns outside the shapes are zeros.
  }

  static float flushed(float x) {
    return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
  }
  static float number(bool half, std::uint16_t bits) {
    if (!half) {
      const std::uint32_t wide = std::uint32_t{bits} << 16;
      float x = 0;
      std::memcpy(&x, &wide, sizeof x);
      return flushed(x);
    }
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 31 ? (fraction ? std::numeric_limits<float>::quiet_NaN()
                                                  : std::numeric_limits<float>::infinity())
                       : exponent ? std::ldexp(static_cast<float>(1024 + fraction), exponent - 25)
                                  : std::ldexp(static_cast<float>(fraction), -24);
    return bits & 0x8000 ? -size : size;
  }

  // Adds the products of a row of A and all words of B to a row of sums.
  static void add_pairs(bool half, std::uint8_t* sums, const std::uint8_t* of_a,
                        std::uint8_t (*of_b)[kBytes], int words, int columns) {
    float parts[2 * kBytes / 4] = {};
    for (int k = 0; k < words; ++k)
      for (int n = 0; n < columns; ++n)
        for (int i = 0; i < 2; ++i) {
          std::uint16_t x = 0, y = 0;
          std::memcpy(&x, of_a + 4 * k + 2 * i, sizeof x);
          std::memcpy(&y, of_b[k] + 4 * n + 2 * i, sizeof y);
          float& part = parts[2 * n + i];
          part = flushed(std::fma(number(half, x), number(half, y), part));
        }
    for (int n = 0; n < columns; ++n) {
      float sum = 0;
      std::memcpy(&sum, sums + 4 * n, sizeof sum);
      sum = flushed(flushed(sum) + flushed(parts[2 * n] + parts[2 * n + 1]));
      std::memcpy(sums + 4 * n, &sum, sizeof sum);
    }
  }
  static void add_bytes(bool is_signed, std::uint8_t* sums, const std::uint8_t* of_a,
                        std::uint8_t (*of_b)[kBytes], int words, int columns) {
    const auto value = [&](std::uint8_t byte) {
      return static_cast<std::uint32_t>(is_signed ? static_cast<std::int8_t>(byte)
                                                  : static_cast<int>(byte));
    };
    for (int n = 0; n < columns; ++n) {
      std::uint32_t sum = 0;
      std::memcpy(&sum, sums + 4 * n, sizeof sum);
      for (int k = 0; k < words; ++k)
        for (int i = 0; i < 4; ++i) sum += value(of_a[4 * k + i]) * value(of_b[k][4 * n + i]);
      std::memcpy(sums + 4 * n, &sum, sizeof sum);
    }
  }

  struct sigaction before_ {};
};

}  // namespace tessera::testing

#endif
