// Programs that run in one process and in several, a mode each: every bit of what a mode computes
// is printed by process 0.
#pragma once

#include <tessera/tessera.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace child {

namespace ts = tessera;
using ts::Array;
using ts::P;

using Modes = std::map<std::string, std::function<void()>>;
Modes collectives_modes();
Modes arrays_modes();
Modes training_modes();
Modes threads_modes();
Modes reports_modes();
Modes faults_modes();
Modes agreement_modes();
// What comes before the processes are joined, or joins them.
Modes early_modes();

constexpr int kDevices = 8, kManyDevices = 24;

// A function of one device's row, over the axis "i".
using Body = Array (*)(Array);

// The bits of a value, on however many devices of however many processes it lies.
void show(const std::string& name, const Array& x);
Array draw(std::int64_t seed, const ts::Shape& shape);
const Array& rows();
std::vector<ts::Device> devices_of(const std::vector<int>& ids);
// The bits of a large value, told by a sum of them that knows their places.
void show_large(const std::string& name, const Array& x);
// Of a row on each device.
Array mean(const Array& x);
Array sum(const Array& x);

}  // namespace child
