// A CDI file of our own: devices that are nothing but variables. With one of them a container is told its
// GPUs where NRI cannot say it (variables.h: a variable that image and pod both set). The agent writes the
// file; where the index does not have it, such containers are refused.
//
//   agent.gpu.scheduling/told=none   no GPU: NVIDIA_VISIBLE_DEVICES=void
//   agent.gpu.scheduling/told=3      three GPUs that CDI or device nodes brought in: numbers from 0
// Pure.
#pragma once

#include <cstddef>
#include <string>

namespace gs::enforce {

/// Below /var/run/cdi.
inline constexpr const char* kToldFile = "agent.gpu.scheduling-told.json";
/// GPUs, or partitions, of a container.
inline constexpr std::size_t kMostTold = 128;

/// "agent.gpu.scheduling/told=3"; of 0 "...=none".
[[nodiscard]] std::string toldDevice(std::size_t gpus);
/// "0,1,2": what is right inside a container with so many devices and no others.
[[nodiscard]] std::string numbersFrom0(std::size_t gpus);
/// What the file holds: JSON.
[[nodiscard]] std::string toldFile();

}  // namespace gs::enforce
