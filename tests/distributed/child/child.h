// Programs that run in one process and in several, one for each mode. Process 0 prints every bit of
// the results.
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
// Modes that run before the processes are joined, or join them.
Modes early_modes();

constexpr int kDevices = 8, kManyDevices = 24;

// A function of one device's row, over the axis "i".
using Body = Array (*)(Array);

// Prints the bits of a value that is on any number of devices of any number of processes.
void show(const std::string& name, const Array& x);
Array draw(std::int64_t seed, const ts::Shape& shape);
const Array& rows();
std::vector<ts::Device> devices_of(const std::vector<int>& ids);
// Prints a position-dependent sum of the bits of a large value.
void show_large(const std::string& name, const Array& x);
// The mean over the axis of a row on each device.
Array mean(const Array& x);
Array sum(const Array& x);

}  // namespace child
