// For tests only: an agent, the API server that it talks to, and short ways to tell it what it sees.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/enforced/leases_test.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/time.h"
#include "testing/builders.h"

namespace gs::agent {

/// Each at the place on the bus that the last two letters of its UUID say.
inline Hardware hardware(const std::vector<std::string>& uuids) {
  Hardware out;
  out.driver_version = "550";
  for (const auto& uuid : uuids) {
    Gpu gpu;
    gpu.uuid = uuid;
    gpu.pci_bus_id = "00000000:" + uuid.substr(uuid.size() - 2) + ":00.0";
    out.gpus.push_back(gpu);
  }
  return out;
}
inline LookPtr seeing(Hardware what) { return std::make_shared<const Look>(std::move(what)); }
inline LookPtr faulty(Fault::Kind kind, const char* text) {
  return std::make_shared<const Look>(tl::unexpected(Fault{kind, text}));
}

/// An API server with one Node, its GpuNodeStatus, and pods; and the agent's clock.
class AgentTest : public ::testing::Test {
 protected:
  using Object = json::Object;
  using Value = json::Value;
  static constexpr const char* kNode = "n";

  AgentTest() { node = Object{{"metadata", Object{{"name", kNode}, {"uid", "node-1"}}}}; }

  void begin() {
    agent.emplace(Agent::Config{.node = model::NodeName{kNode},
                                .enforcement = model::Enforcement::Env,
                                .boot_id = boot_id,
                                .told_uuids = told_uuids,
                                .lease_namespace = FakeLeases::kNamespace},
                  Rng{1});
    take(agent->start(clock.now()));
  }
  void take(kapi::Effects effects) {
    for (auto& effect : effects) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { calls.push_back(std::move(*call)); }
      if (auto* watch = std::get_if<kapi::OpenWatch>(&effect)) { stream = watch->stream; }
      if (auto* wake = std::get_if<kapi::Wake>(&effect)) { wakes.insert(wake->at); }
      if (auto* log = std::get_if<kapi::Log>(&effect)) {
        logs.push_back(log->message);
        fields.clear();
        for (const auto& [key, value] : log->fields) { fields += key + "=" + value + " "; }
      }
      if (auto* metric = std::get_if<kapi::Metric>(&effect)) {
        std::string name = metric->name;
        for (const auto& [key, value] : metric->labels) { name += " " + value; }
        metrics[name] = metric->op == kapi::MetricOp::Add ? metrics[name] + metric->value : metric->value;
      }
    }
    if (!holds_back) { answerAll(); }
  }
  void answerAll() {
    while (!calls.empty()) { take(agent->handle(carryOut(nextCall()), clock.now())); }
  }
  [[nodiscard]] kapi::Call nextCall() {
    kapi::Call call = std::move(calls.front());
    calls.erase(calls.begin());
    return call;
  }
  /// The next call gets no answer.
  kapi::Call lost() {
    kapi::Call call = nextCall();
    kapi::Outcome outcome;
    outcome.token = call.token;
    outcome.result = kapi::CallResult::Unknown;
    outcome.message = "timed out";
    take(agent->handle(outcome, clock.now()));
    return call;
  }
  kapi::Outcome carryOut(const kapi::Call& call) {
    const auto refused = [&](int code, const char* reason) {
      return kapi::decodeAnswerValue(
          call, code, Value{Object{{"kind", "Status"}, {"reason", reason}, {"message", reason}}});
    };
    if (call.kind == kapi::kLease) { return leases.answer(call); }
    if (call.kind == kapi::kEvent) {
      events.push_back(std::string{call.body["reason"].str()} + " on " +
                       std::string{call.body["regarding"]["name"].str()} + ": " +
                       std::string{call.body["note"].str()});
      return kapi::decodeAnswerValue(call, 201, call.body);
    }
    if (call.subresource == "eviction") {
      evicted.push_back(call.key.name);
      return kapi::decodeAnswerValue(call, 201, Value{Object{{"kind", "Status"}}});
    }
    if (call.kind == kapi::kPod) {
      Value list = Object{{"metadata", Object{{"resourceVersion", "1"}}}};
      list.set("items", json::Array{});
      EXPECT_EQ(call.query.find("fieldSelector=spec.nodeName%3Dn") == std::string::npos, false) << call.query;
      return kapi::decodeAnswerValue(call, 200, list);
    }
    if (call.kind == kapi::kNode) {
      return node ? kapi::decodeAnswerValue(call, 200, *node) : refused(404, "NotFound");
    }
    if (!served) { return kapi::decodeAnswerValue(call, 404, Value{"404 page not found"}); }
    if (call.verb == kapi::Verb::Get) {
      ++reads;
      if (breaks > 0 && breaks_with != 409) { return --breaks, refused(500, "InternalError"); }
      return status ? kapi::decodeAnswerValue(call, 200, *status) : refused(404, "NotFound");
    }
    if (call.verb == kapi::Verb::MergePatch) { return takeOut(call); }
    EXPECT_EQ(call.verb, kapi::Verb::Apply);
    ++writes;
    if (breaks > 0) { return --breaks, refused(breaks_with, "Broken"); }
    if (call.subresource.empty()) {
      EXPECT_EQ(call.query, "fieldManager=gpu-agent&force=true");
      if (!status) { status = Value{Object{}}; }
      status->set("metadata", call.body["metadata"]);
      changed();
    } else {
      EXPECT_EQ(call.query, "fieldManager=gpu-agent-status&force=true");
      if (!status) { return refused(404, "NotFound"); }
      const auto at = call.body["metadata"]["resourceVersion"].str();
      EXPECT_FALSE(at.empty()) << "it may land over a newer one";
      if (overtaken) { changed(); }
      if (at != resourceVersion()) { return ++conflicts, refused(409, "Conflict"); }
      status->set("status", call.body["status"]);
      changed();
      if (foreign) { addForeign(); }
      ++publishes;
    }
    return kapi::decodeAnswerValue(call, 200, *status);
  }
  /// Somebody wrote the object.
  void changed() { status->child("metadata").set("resourceVersion", std::to_string(++object_revision)); }
  [[nodiscard]] std::string resourceVersion() const {
    return std::string{(*status)["metadata"]["resourceVersion"].str()};
  }
  /// An apply leaves what another field manager put into the list.
  void addForeign() {
    Value& into = status->child("status");
    json::Array devices;
    for (const Value& one : into["devices"].items()) { devices.push_back(one); }
    devices.emplace_back(Object{{"id", *foreign}, {"uuid", "GPU-other"}});
    into.set("devices", std::move(devices));
  }
  kapi::Outcome takeOut(const kapi::Call& call) {
    EXPECT_EQ(call.query, "fieldManager=gpu-agent-status");
    EXPECT_EQ(call.body["metadata"]["resourceVersion"].str(), resourceVersion());
    status->child("status").set("devices", call.body["status"]["devices"]);
    foreign.reset();
    changed();
    ++taken_out;
    return kapi::decodeAnswerValue(call, 200, *status);
  }
  /// Time goes by, with all that is due in it.
  void wait(Duration how_long) {
    const Mono until = clock.now().mono + how_long;
    while (!wakes.empty() && *wakes.begin() <= until) {
      const Mono at = *wakes.begin();
      wakes.erase(wakes.begin());
      if (at > clock.now().mono) { clock.advance(at - clock.now().mono); }
      take(agent->handle(kapi::TimerDue{}, clock.now()));
    }
    clock.advance(until - clock.now().mono);
  }
  void look(const LookPtr& what) { take(agent->looked(what, clock.now())); }
  /// Of these pods, each with one that was created when it was first asked for here.
  [[nodiscard]] ContainersLook holding(const std::vector<const char*>& uids) {
    Containers out;
    for (const char* uid : uids) {
      out.pods[model::Uid{uid}].created = {created.try_emplace(uid, clock.now().wall).first->second};
    }
    return out;
  }
  void containers(const ContainersLook& what) { take(agent->containersSeen(what, clock.now())); }
  void pod(const model::Pod& what, kapi::WatchType type = kapi::WatchType::Added) {
    kapi::WatchEvent event;
    event.stream = stream;
    event.type = type;
    event.key = what.key;
    event.revision = ++revision;
    auto copy = std::make_shared<model::Pod>(what);
    copy->revision = revision;
    event.object = model::PodPtr{copy};
    take(agent->handle(event, clock.now()));
  }
  void published() {
    begin();
    look(seeing(hardware({"GPU-1A", "GPU-2B"})));
    ASSERT_EQ(publishes, 1);
  }
  [[nodiscard]] Value device(std::size_t i) const { return (*status)["status"]["devices"].at(i); }
  [[nodiscard]] std::string health(std::size_t i) const { return std::string{device(i)["health"].str()}; }
  [[nodiscard]] Value condition(const char* type) const {
    for (const Value& one : (*status)["status"]["conditions"].items()) {
      if (one["type"].str() == type) { return one; }
    }
    return {};
  }
  [[nodiscard]] std::string observed() const {
    return std::string{(*status)["status"]["observedTime"].str()};
  }
  [[nodiscard]] std::string users(std::size_t i) const { return json::print(device(i)["inUseBy"]); }

  ManualClock clock;
  std::optional<Agent> agent;
  std::optional<Value> node;
  std::optional<Value> status;
  bool served = true;
  bool holds_back = false;
  std::optional<int> foreign;  // the id of a GPU that somebody else has in the list
  int taken_out = 0;
  std::string boot_id;
  bool told_uuids = false;
  int breaks = 0;  // the next so many reads of the status and writes are refused
  int breaks_with = 500;
  int reads = 0;  // of the status
  int writes = 0;
  int conflicts = 0;
  bool overtaken = false;         // somebody writes just before each status
  int publishes = 0;              // of the status
  model::Revision revision = 10;  // of what the watch brings
  model::Revision object_revision = 0;
  std::map<std::string, Wall> created;  // containers, by the uid of their pod
  kapi::Token stream = 0;               // of the pods
  FakeLeases leases;
  std::vector<std::string> events;   // "GpuRefused on p: why"
  std::vector<std::string> evicted;  // pods by name
  std::vector<kapi::Call> calls;
  std::set<Mono> wakes;
  std::vector<std::string> logs;
  std::string fields;  // of the last one
  std::map<std::string, double> metrics;
};

}  // namespace gs::agent
