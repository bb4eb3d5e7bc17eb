// Messages of NRI (rpc/nri/nri.proto) as the values of messages.h, and back. A payload has 4 MiB at most (a
// frame of ttrpc); what of it is kept says Keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rpc/nri/messages.h"

namespace gs::rpc::nri {

/// Which of what a pod's author may write at will is kept, by its key; a function that is missing keeps all.
/// An agent that keeps what it reads owes nothing to a node full of pods with 256 KiB of annotations each, or
/// with ten thousand mounts.
struct Keep {
  std::function<bool(std::string_view key)> annotation{};  // of pods and of containers
  std::function<bool(std::string_view key)> label{};
  std::function<bool(std::string_view name)> variable{};  // of the environment; "K" of "K=V"
  std::function<bool(const std::string& destination)> mount{};
};

/// Synchronize, or a part of it: all that the runtime has.
struct Inventory {
  std::vector<PodSandbox> pods;
  std::vector<Container> containers;
  bool more = false;  // another part follows
  friend bool operator==(const Inventory&, const Inventory&) = default;
};
/// CreateContainer and StopContainer.
struct ContainerCall {
  PodSandbox pod;
  Container container;
  friend bool operator==(const ContainerCall&, const ContainerCall&) = default;
};
struct StateChange {
  std::optional<Event> event;  // nullopt: none of ours
  PodSandbox pod;
  Container container;  // of events of a container
  friend bool operator==(const StateChange&, const StateChange&) = default;
};

/// Errors Invalid: not such a message.
[[nodiscard]] Result<Runtime> parseConfigure(const std::string& payload);
[[nodiscard]] Result<Inventory> parseSynchronize(const std::string& payload, const Keep& keep);
[[nodiscard]] Result<ContainerCall> parseCreate(const std::string& payload, const Keep& keep);
[[nodiscard]] Result<ContainerCall> parseStop(const std::string& payload, const Keep& keep);
[[nodiscard]] Result<StateChange> parseStateChange(const std::string& payload, const Keep& keep);

/// About how many bytes of memory it takes.
[[nodiscard]] std::size_t weightOf(const PodSandbox& pod);
[[nodiscard]] std::size_t weightOf(const Container& container);

[[nodiscard]] std::string printRegister(const std::string& plugin_name, const std::string& plugin_idx);
/// The runtime refuses a plugin that asks for an event which it does not know, and gives all of them to one
/// that asks for none: `events` are some, of those that every runtime knows.
[[nodiscard]] std::string printConfigured(std::initializer_list<Event> events);
[[nodiscard]] std::string printSynchronized(bool more);
/// The runtime keeps 256 pieces that nobody has read yet (rpc/ttrpc/mux.h), and ends the connection at one
/// more.
inline constexpr std::size_t kMostOfAnAdjustment = std::size_t{400} << 10;
/// Errors Invalid: longer than kMostOfAnAdjustment, a text is no UTF-8 (the runtime would not read it), or a
/// key that is set begins with '-', which would remove another one.
[[nodiscard]] Result<std::string> printAdjustment(const Adjustment& adjustment);

}  // namespace gs::rpc::nri
