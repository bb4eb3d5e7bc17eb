#include "scheduler/core/context.h"

#include "engine/held_devices.h"
#include "kapi/kinds.h"
#include "model/annotations.h"
#include "model/told.h"

namespace gs::scheduler {

Context::Context(Config settings, Rng random, controller::Owners calls)
    : config{std::move(settings)},
      rng{random},
      engine{sched::kDoors, config.drivers},
      owners{std::move(calls)},
      recorder{config.scheduler_name, config.instance, Rng{rng.next()}},
      events{recorder, parts} {
  engine.configureQuota(config.quota);
  engine.defaultSpreads().configure(config.default_spread);
}

std::string Context::gpuUuid(const model::NodeName& node, int id) const {
  return engine::uuidOf(cache().status(node), id);
}

std::vector<std::string> Context::gpuUuids(const model::NodeName& node, const std::vector<int>& ids) const {
  std::vector<std::string> uuids;
  uuids.reserve(ids.size());
  for (const int id : ids) { uuids.push_back(gpuUuid(node, id)); }
  return uuids;
}

void Context::log(kapi::Level level, std::string message, Fields fields) {
  out.emplace_back(kapi::Log{level, std::move(message), std::move(fields)});
}

void Context::count(const char* metric, Fields labels, double by) {
  out.emplace_back(kapi::Metric{kapi::MetricOp::Add, metric, std::move(labels), by});
}

void Context::sendAbout(const model::Uid& pod, kapi::Call call, kapi::Token token) {
  call.token = token;
  call.leader_only = call.verb != kapi::Verb::Get;
  if (call.leader_only) { call.ordering_key = "pod/" + pod.text; }
  out.emplace_back(std::move(call));
}

void Context::warnOnce(const model::Pod& pod, const std::string& reason, const std::string& note) {
  if (!warnings.add(pod.uid, reason)) { return; }
  events.send({kapi::kPod, pod.key, pod.uid, pod.revision, true, reason, "Scheduling", note}, now, out);
}

std::string untoldText(const model::Pod& pod) {
  const bool several = pod.untold->find(" and ") != std::string::npos;
  const char* has = several ? "have" : "has";
  if (model::isToldByValue(pod)) {
    return fmt::format("container {} {} no {}", *pod.untold, has, model::kToldVariable);
  }
  return fmt::format("container {} {} no {} that refers to annotation {}", *pod.untold, has,
                     model::kToldVariable, model::kVisibleDevicesKey);
}

std::string fenceOf(const model::Pod& pod) {
  const std::string* value = pod.annotation(model::kFenceKey);
  return value == nullptr ? std::string{} : *value;
}

}  // namespace gs::scheduler
