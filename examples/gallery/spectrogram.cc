// The spectrogram of a birdsong made of two whistles: which tones sound when.
#include "lessons/lesson.h"

int main() {
  const int rate = 8000, window = 256, hop = 96;
  Array t = ts::arange(2 * rate) / double(rate);  // two seconds
  // A whistle whose tone rises, and one whose tone trembles.
  Array rising = ts::sin(2 * ts::pi * (400 * t + 500 * t * t));
  Array trembling = 0.7 * ts::sin(2 * ts::pi * 2800 * t + 30 * ts::sin(2 * ts::pi * 3 * t));
  Array sound = rising + trembling + 0.05 * ts::random::normal(ts::random::key(0), t.shape());

  const int frames = (2 * rate - window) / hop;
  Array at =
      hop * ts::arange(frames)(ts::all, ts::newaxis) + ts::arange(window);  // (frames, window)
  Array fade = 0.5 - 0.5 * ts::cos(2 * ts::pi * ts::arange(window) / double(window));
  auto spectrum =
      ts::jit(ts::vmap([&](Array piece) { return ts::abs(ts::fft::rfft(piece * fade)); }));
  Array strength = spectrum(ts::take(sound, at));  // (frames, 129)
  Array decibels = ts::maximum(20 * ts::log10(strength), 0);
  save_heatmap("spectrogram.svg",
               ts::flip(decibels.T(), 0)[ts::range({}, {}, 2)](ts::all, ts::range(0, 160)),
               "tones up to 4 kHz (up) in the course of two seconds (right)");
  std::cout << "loudest tone at first " << ts::argmax(strength[0]) * rate / window
            << " Hz, at last " << ts::argmax(strength[frames - 1]) * rate / window << " Hz\n";
}
