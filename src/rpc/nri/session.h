// Session: the plugin's side of one connection to a container runtime's NRI, as a machine without I/O:
// bytes that came in, bytes to send out.
//
// On one socket the runtime calls us (connection 1) and we call it (2, rpc/ttrpc/mux.h):
//   we      RegisterPlugin(name, index)                 the first bytes of takeOutput()
//   runtime Configure         -> the events that we want
//   runtime Synchronize       -> all pods and containers that it has, in one part or in several (`more`)
//   runtime CreateContainer, StopContainer, StateChange    as they happen
// A container that is made before Synchronize, or while no session is there, is never asked about: it is
// seen in Synchronize only.
// Calls may overlap; each is answered before the next is looked at, so in the order in which they came. The
// runtime waits 2 s for an answer (its plugin_request_timeout), and starts the container as it is when none
// comes; it does nothing else meanwhile.
// NRI from 0.12 on calls RunPodSandbox, RemoveContainer and so on as methods of their own; what is not
// served is answered UNIMPLEMENTED, and it falls back to StateChange, which older ones use.
// An answer that refuses fails the container, whose pod gets an event with our sentence.
//
// One thread. Errors are the connection's end: whoever has the socket closes it (a runtime leaves it open
// when it refuses a registration), and nothing more is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rpc/nri/codec.h"
#include "rpc/nri/messages.h"
#include "rpc/ttrpc/envelope.h"
#include "rpc/ttrpc/frames.h"
#include "rpc/ttrpc/mux.h"

namespace gs::rpc::nri {

/// What a plugin does. Called by received(), and answers at once: the runtime waits.
class Plugin {
 public:
  virtual ~Plugin() = default;
  /// A session has begun.
  virtual void configured(const Runtime& runtime) = 0;
  /// All that the runtime has. From now on every container that it makes is asked about. May come again.
  virtual void synchronized(std::vector<PodSandbox> pods, std::vector<Container> containers) = 0;
  /// How it is to be made. An error's message is what its pod is told; the container is not made.
  [[nodiscard]] virtual Result<Adjustment> createContainer(const PodSandbox& pod,
                                                           const Container& container) = 0;
  virtual void containerStopped(const PodSandbox& pod, const Container& container) = 0;
  virtual void containerRemoved(const PodSandbox& pod, const Container& container) = 0;
  virtual void podStarted(const PodSandbox& pod) = 0;
  virtual void podStopped(const PodSandbox& pod) = 0;
  virtual void podRemoved(const PodSandbox& pod) = 0;
};

struct SessionOptions {
  std::string plugin_name;  // "gpu-scheduler"
  std::string plugin_idx;   // "10": two digits; plugins are asked in their order
  Keep keep{};
  std::size_t most_to_synchronize = std::size_t{64} << 20;  // bytes of what is kept of all parts
};

class Session {
 public:
  /// `plugin` must outlive it.
  Session(SessionOptions options, Plugin& plugin);

  /// Takes bytes as they came, and answers what is complete. Errors: Conflict, the runtime refused the
  /// registration; Invalid, what came is nonsense, or too much. Each later call gives the same one.
  [[nodiscard]] Status received(std::string_view bytes);
  /// What is to be sent next.
  [[nodiscard]] std::string takeOutput();
  /// Synchronize has come to its end: the plugin is asked about each container.
  [[nodiscard]] bool isRegistered() const { return phase_ == Phase::Synchronized; }

 private:
  enum class Phase : std::uint8_t { Registering, Configured, Synchronized };
  using Answer = Result<ttrpc::Response>;  // an error ends the connection
  using Method = Answer (Session::*)(const std::string& payload);

  Status read(std::string_view bytes);
  Status called(const ttrpc::Frame& frame);
  Status answered(const ttrpc::Frame& frame);
  Answer answerTo(const ttrpc::Frame& frame);
  Answer serve(const ttrpc::Request& request);
  static Method methodOf(std::string_view name);

  Answer configure(const std::string& payload);
  Answer synchronize(const std::string& payload);
  Answer createContainer(const std::string& payload);
  Answer stopContainer(const std::string& payload);
  Answer stateChange(const std::string& payload);
  Answer shutdown(const std::string& payload);
  Status collect(Inventory part);
  void send(std::uint32_t conn, const ttrpc::Frame& frame);

  const SessionOptions options_;
  Plugin& plugin_;
  ttrpc::MuxReader mux_;
  ttrpc::FrameReader calls_;    // of the runtime
  ttrpc::FrameReader answers_;  // to ours
  std::uint32_t last_stream_ = 0;
  bool is_accepted_ = false;  // our registration
  Phase phase_ = Phase::Registering;
  Inventory inventory_;     // the parts of Synchronize so far
  std::size_t weight_ = 0;  // of them
  Status end_;
  std::string output_;
};

}  // namespace gs::rpc::nri
