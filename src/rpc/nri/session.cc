#include "rpc/nri/session.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace gs::rpc::nri {
namespace {

using ttrpc::FrameType;
using ttrpc::refusal;
using ttrpc::StatusCode;

constexpr std::uint32_t kPluginConn = 1;   // the runtime calls us
constexpr std::uint32_t kRuntimeConn = 2;  // we call it
constexpr std::string_view kPluginService = "nri.pkg.api.v1alpha1.Plugin";
constexpr std::string_view kRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
constexpr std::uint32_t kRegistration = 1;  // the stream of our only call

/// Of those that every runtime with NRI knows.
constexpr std::initializer_list<Event> kEvents = {
    Event::RunPodSandbox,   Event::StopPodSandbox, Event::RemovePodSandbox,
    Event::CreateContainer, Event::StopContainer,  Event::RemoveContainer,
};

ttrpc::Response payloadOf(std::string payload) {
  return {.code = StatusCode::Ok, .message = {}, .payload = std::move(payload)};
}

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Session::Session(SessionOptions options, Plugin& plugin) : options_{std::move(options)}, plugin_{plugin} {
  const ttrpc::Request request{.service = std::string{kRuntimeService},
                               .method = "RegisterPlugin",
                               .payload = printRegister(options_.plugin_name, options_.plugin_idx)};
  send(kRuntimeConn, {.stream = kRegistration, .type = FrameType::Request, .data = printRequest(request)});
}

std::string Session::takeOutput() { return std::exchange(output_, {}); }

void Session::send(std::uint32_t conn, const ttrpc::Frame& frame) {
  std::string bytes;
  ttrpc::appendFrame(bytes, frame);
  ttrpc::appendPieces(output_, conn, bytes);
}

Status Session::received(std::string_view bytes) {
  if (end_) { end_ = read(bytes); }
  return end_;
}

Status Session::read(std::string_view bytes) {
  for (;;) {
    const auto piece = mux_.next(bytes);
    if (!piece) { return tl::unexpected(piece.error()); }
    if (!*piece) { return {}; }
    const std::uint32_t conn = (*piece)->conn;
    if (conn != kPluginConn && conn != kRuntimeConn) { continue; }
    for (std::string_view rest = (*piece)->bytes; !rest.empty();) {
      const auto frame = (conn == kPluginConn ? calls_ : answers_).next(rest);
      if (!frame) { return tl::unexpected(frame.error()); }
      if (!*frame) { break; }
      Status done = conn == kPluginConn ? called(**frame) : answered(**frame);
      if (!done) { return done; }
    }
  }
}

/// To our registration; others are passed over, as ttrpc does.
Status Session::answered(const ttrpc::Frame& frame) {
  if (frame.type != FrameType::Response || frame.stream != kRegistration || is_accepted_) { return {}; }
  const auto response = ttrpc::parseResponse(frame.data);
  if (!response) { return tl::unexpected(response.error()); }
  if (response->code != StatusCode::Ok) {
    return fail(
        Code::Conflict,
        fmt::format("the container runtime refuses the NRI plugin '{}-{}': {} (code {})", options_.plugin_idx,
                    options_.plugin_name, response->message, static_cast<std::int32_t>(response->code)));
  }
  is_accepted_ = true;
  return {};
}

Status Session::called(const ttrpc::Frame& frame) {
  if (frame.type != FrameType::Request && frame.type != FrameType::Data) { return {}; }
  Answer answer = answerTo(frame);
  if (!answer) { return tl::unexpected(std::move(answer.error())); }
  send(kPluginConn,
       {.stream = frame.stream, .type = FrameType::Response, .data = ttrpc::printResponse(*answer)});
  return {};
}

Session::Answer Session::answerTo(const ttrpc::Frame& frame) {
  if (frame.stream % 2 == 0) { return refusal(StatusCode::InvalidArgument, "stream ids of a call are odd"); }
  if (frame.type == FrameType::Data) {
    return refusal(StatusCode::InvalidArgument, "no call of several messages is under way");
  }
  if (frame.stream <= last_stream_) {
    return refusal(StatusCode::InvalidArgument, "stream ids increase, and none is used twice");
  }
  last_stream_ = frame.stream;
  const auto request = ttrpc::parseRequest(frame.data);
  if (!request) { return refusal(StatusCode::InvalidArgument, request.error().message); }
  return serve(*request);
}

Session::Method Session::methodOf(std::string_view name) {
  struct Row {
    std::string_view name;
    Method method;
  };
  static constexpr Row kMethods[] = {
      {"Configure", &Session::configure},
      {"Synchronize", &Session::synchronize},
      {"CreateContainer", &Session::createContainer},
      {"StopContainer", &Session::stopContainer},
      {"StateChange", &Session::stateChange},
      {"Shutdown", &Session::shutdown},
  };
  for (const Row& row : kMethods) {
    if (row.name == name) { return row.method; }
  }
  return nullptr;
}

Session::Answer Session::serve(const ttrpc::Request& request) {
  if (request.service != kPluginService) {
    return refusal(StatusCode::Unimplemented, fmt::format("service {}", request.service));
  }
  const Method method = methodOf(request.method);
  if (method == nullptr) {
    return refusal(StatusCode::Unimplemented, fmt::format("method {}", request.method));
  }
  const bool is_first = method == &Session::configure;
  const bool is_second = method == &Session::synchronize;
  const bool is_early = is_second ? phase_ == Phase::Registering : !isRegistered();
  if (is_first ? phase_ != Phase::Registering : is_early) {
    return refusal(StatusCode::FailedPrecondition,
                   fmt::format("{}: the order is Configure, Synchronize, events", request.method));
  }
  return (this->*method)(request.payload);
}

Session::Answer Session::configure(const std::string& payload) {
  const auto runtime = parseConfigure(payload);
  if (!runtime) { return refusal(StatusCode::InvalidArgument, runtime.error().message); }
  phase_ = Phase::Configured;
  plugin_.configured(*runtime);
  return payloadOf(printConfigured(kEvents));
}

Session::Answer Session::synchronize(const std::string& payload) {
  auto part = parseSynchronize(payload, options_.keep);
  if (!part) { return refusal(StatusCode::InvalidArgument, part.error().message); }
  const bool more = part->more;
  if (const Status collected = collect(std::move(*part)); !collected) {
    return tl::unexpected(collected.error());
  }
  if (!more) {
    weight_ = 0;
    Inventory all = std::exchange(inventory_, {});
    phase_ = Phase::Synchronized;
    plugin_.synchronized(std::move(all.pods), std::move(all.containers));
  }
  return payloadOf(printSynchronized(more));
}

Status Session::collect(Inventory part) {
  for (const PodSandbox& pod : part.pods) { weight_ += weightOf(pod); }
  for (const Container& container : part.containers) { weight_ += weightOf(container); }
  if (weight_ > options_.most_to_synchronize) {
    return fail(Code::Invalid,
                fmt::format("the container runtime has pods and containers of {} bytes and more; at most {} "
                            "are kept",
                            weight_, options_.most_to_synchronize));
  }
  append(inventory_.pods, std::move(part.pods));
  append(inventory_.containers, std::move(part.containers));
  return {};
}

Session::Answer Session::createContainer(const std::string& payload) {
  const auto call = parseCreate(payload, options_.keep);
  if (!call) { return refusal(StatusCode::InvalidArgument, call.error().message); }
  auto bytes = plugin_.createContainer(call->pod, call->container).and_then(printAdjustment);
  if (!bytes) { return refusal(StatusCode::Unknown, bytes.error().message); }
  return payloadOf(std::move(*bytes));
}

Session::Answer Session::stopContainer(const std::string& payload) {
  const auto call = parseStop(payload, options_.keep);
  if (!call) { return refusal(StatusCode::InvalidArgument, call.error().message); }
  plugin_.containerStopped(call->pod, call->container);
  return payloadOf({});
}

Session::Answer Session::stateChange(const std::string& payload) {
  const auto change = parseStateChange(payload, options_.keep);
  if (!change) { return refusal(StatusCode::InvalidArgument, change.error().message); }
  if (!change->event) { return payloadOf({}); }
  switch (*change->event) {
    case Event::RunPodSandbox: plugin_.podStarted(change->pod); break;
    case Event::StopPodSandbox: plugin_.podStopped(change->pod); break;
    case Event::RemovePodSandbox: plugin_.podRemoved(change->pod); break;
    case Event::RemoveContainer: plugin_.containerRemoved(change->pod, change->container); break;
    case Event::CreateContainer:
    case Event::StopContainer: break;  // calls of their own
  }
  return payloadOf({});
}

/// A runtime that goes down may say so first; the session ends with its socket.
Session::Answer Session::shutdown(const std::string& /*payload*/) { return payloadOf({}); }

}  // namespace gs::rpc::nri
