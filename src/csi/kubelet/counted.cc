#include "csi/kubelet/counted.h"

#include <vector>

#include "base/log.h"

namespace gs::csi {
namespace {

const std::vector<double> kBuckets{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30};

const char* resultText(const Error* error) {
  if (error == nullptr) { return "ok"; }
  switch (error->code) {
    case Code::Invalid: return "invalid";
    case Code::NotFound: return "not_found";
    case Code::Conflict: return "failed_precondition";
    case Code::Unavailable: return "unavailable";
    case Code::Deadline: return "deadline";
    case Code::Internal: break;
  }
  return "internal";
}

}  // namespace

Counted::Counted(rpc::CsiDriver& driver, Names names, Metrics& metrics, const Clock& clock)
    : driver_{driver},
      names_{names},
      metrics_{metrics},
      clock_{clock},
      registered_{
          metrics_.gauge(names_.registered_metric, "1 while the kubelet has registered the driver.")} {
  registered_.set(0);
}

template <class Call>
auto Counted::counted(const std::string& name, const std::string& volume_id, const std::string& target,
                      const Call& call) {
  const Mono since = clock_.now().mono;
  auto out = call();
  note(name, since, out ? nullptr : &out.error(), volume_id, target);
  return out;
}

void Counted::note(const std::string& name, Mono since, const Error* error, const std::string& volume_id,
                   const std::string& target) {
  metrics_
      .counter(names_.calls_metric, "Calls of the kubelet by what was asked and what came of it.",
               {{"call", name}, {"result", resultText(error)}})
      .add();
  metrics_.histogram(names_.seconds_metric, "How long calls took.", kBuckets, {{"call", name}})
      .observe(std::chrono::duration<double>{clock_.now().mono - since}.count());
  if (error != nullptr) {
    log::warn(name + " failed", {{"volume", volume_id}, {"target", target}, {"error", error->message}});
  } else if (name != "stats") {
    log::info(name, {{"volume", volume_id}, {"target", target}});
  }
}

Status Counted::publish(const rpc::PublishRequest& request) {
  return counted("publish", request.volume_id, request.target_path, [&] { return driver_.publish(request); });
}

Status Counted::unpublish(const rpc::UnpublishRequest& request) {
  return counted("unpublish", request.volume_id, request.target_path,
                 [&] { return driver_.unpublish(request); });
}

Result<rpc::VolumeStats> Counted::stats(const rpc::StatsRequest& request) {
  return counted("stats", request.volume_id, request.volume_path, [&] { return driver_.stats(request); });
}

void Counted::registered(bool is_registered, const std::string& error) {
  is_registered_ = is_registered;
  registered_.set(is_registered ? 1 : 0);
  driver_.registered(is_registered, error);
  if (is_registered) {
    log::info("the kubelet has registered the driver");
  } else {
    log::error("the kubelet has not registered the driver, and tries again", {{"error", error}});
  }
}

}  // namespace gs::csi
