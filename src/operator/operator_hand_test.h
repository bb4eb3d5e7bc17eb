// An operator whose API server is the test (server_test.h). What it sends is answered at once, unless the
// test refuses it; news of a kind can be held back, or come before the answer that they are of.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kapi/decode.h"
#include "kcache/kinds/kinds.h"
#include "kcache/kinds/names.h"
#include "operator/kinds.h"
#include "operator/operator.h"
#include "operator/server_test.h"

namespace gs::gkm {

inline kapi::Outcome refused(int http, const char* reason = "", const char* message = "") {
  kapi::Outcome out;
  out.result = kapi::CallResult::Refused;
  out.http = http;
  out.reason = reason;
  out.message = message;
  return out;
}

class Hand : public ::testing::Test {
 protected:
  /// What becomes of a call. nullopt: it is carried out.
  std::function<std::optional<kapi::Outcome>(const kapi::Call&)> fate;
  Server server;
  /// Whether the news of what a call does come before its answer.
  std::function<bool()> news_first = [] { return false; };
  std::vector<std::string> writes;  // "PATCH gkmcaches ns/one status"
  std::vector<std::string> logs;
  std::map<std::string, double> gauges;

  Operator& machine() { return *machine_; }
  Now now() const { return clock_.now(); }
  /// A process starts, and leads if it may.
  void start(bool leads = true) {
    server.closeAll();
    machine_.emplace(Operator::Config{}, Rng{1});
    wakes_.clear();
    carry(machine_->start(now()));
    if (leads) { lead(); }
  }
  void lead(bool leading = true) {
    carry(machine_->handle(kapi::Leadership{leading, ++term_, now().mono + std::chrono::hours{1}}, now()));
  }
  /// Its watches end.
  void endWatch(kapi::Kind kind, int http) {
    for (const kapi::Token token : server.streamsOf(kind)) {
      server.close(token);
      carry(machine_->handle(kapi::WatchEnded{token, http, http == 200 ? "" : "broken"}, now()));
    }
  }
  /// What changed is heard, and what follows is done.
  void settle() { carry({}); }
  void pass(Duration time) {
    const Mono end = now().mono + time;
    settle();
    while (!wakes_.empty() && *wakes_.begin() <= end) {
      const Mono at = *wakes_.begin();
      wakes_.erase(wakes_.begin());
      if (at > now().mono) { clock_.advance(at - now().mono); }
      carry(machine_->handle(kapi::TimerDue{}, now()));
    }
    if (end > now().mono) { clock_.advance(end - now().mono); }
  }

  // ---- objects as users, the webhook and agents make them

  void makeNode(const std::string& name) {
    server.put(kNodePresence, json::Object{{"metadata", json::Object{{"name", name}}}});
  }
  void makeCache(const model::ObjectKey& key, const std::string& digest = kDigestA) {
    json::Value meta = json::Object{{"name", key.name}};
    if (!key.ns.empty()) { meta.set("namespace", key.ns); }
    if (!digest.empty()) { meta.set("annotations", json::Object{{kcache::kDigestKey, digest}}); }
    server.put(kcache::cacheKindOf(key),
               json::Object{{"metadata", meta}, {"spec", json::Object{{"image", "quay.io/gkm/a:b"}}}});
  }
  void setDigest(const model::ObjectKey& key, const std::string& digest) {
    change(kcache::cacheKindOf(key), key,
           [&](json::Value& o) { o.child("metadata").child("annotations").set(kcache::kDigestKey, digest); });
  }
  /// Changes the spec of a cache.
  void ask(const model::ObjectKey& key, const std::string& field, json::Value value) {
    change(kcache::cacheKindOf(key), key, [&](json::Value& o) { o.child("spec").set(field, value); });
  }
  // ---- the control plane's part of claims and volumes

  std::set<model::ObjectKey> used;  // claims that pods use
  [[nodiscard]] const json::Value* find(kapi::Kind kind, const model::ObjectKey& key) const {
    const auto it = server.objects.find({std::string{kind->plural}, key});
    return it == server.objects.end() ? nullptr : &it->second;
  }
  [[nodiscard]] std::vector<model::ObjectKey> all(kapi::Kind kind) const {
    std::vector<model::ObjectKey> out;
    for (const auto& [key, object] : server.objects) {
      if (key.first == kind->plural) { out.push_back(key.second); }
    }
    return out;
  }
  /// "Bound", "Pending", "Released" ...; "" it is not there.
  [[nodiscard]] std::string phase(kapi::Kind kind, const model::ObjectKey& key) const {
    const auto* object = find(kind, key);
    if (object == nullptr) { return ""; }
    const std::string is{(*object)["status"]["phase"].str()};
    return is.empty() ? "Pending" : is;
  }
  /// Sets the phase, and the finalizer that keeps it while `is_kept`; what was to go then goes.
  void conduct(kapi::Kind kind, const model::ObjectKey& key, const std::string& phase, bool is_kept) {
    const json::Value& is = *find(kind, key);
    const bool was_kept = !is["metadata"]["finalizers"].items().empty();
    if (is["status"]["phase"].str() == phase && was_kept == is_kept) { return; }
    const bool goes = !is["metadata"]["deletionTimestamp"].isNull() && !is_kept;
    if (goes) { return server.remove(kind, key); }
    change(kind, key, [&](json::Value& o) {
      o.child("status").set("phase", phase);
      o.child("metadata")
          .set("finalizers", is_kept ? json::Array{"kubernetes.io/protection"} : json::Array{});
    });
  }
  /// What its controllers would do now: bind what names each other, release what lost its claim, keep what is
  /// in use. A claim that asks for no volume of its own gets one that is for its name and nobody's uid.
  void conductAll() {
    for (const auto& key : all(kVolumeClaim)) {
      const json::Value& claim = *find(kVolumeClaim, key);
      const model::ObjectKey volume{"", std::string{claim["spec"]["volumeName"].str()}};
      const auto* is = find(kVolume, volume);
      const bool is_its =
          is != nullptr && (*is)["spec"]["claimRef"]["uid"].str() == claim["metadata"]["uid"].str();
      conduct(kVolumeClaim, key, is_its ? "Bound" : "Pending", used.contains(key));
    }
    for (const auto& key : all(kVolume)) {
      const json::Value& of = (*find(kVolume, key))["spec"]["claimRef"];
      const auto* claim =
          find(kVolumeClaim, {std::string{of["namespace"].str()}, std::string{of["name"].str()}});
      const bool is_there = claim != nullptr && (*claim)["metadata"]["uid"].str() == of["uid"].str();
      conduct(kVolume, key, is_there ? "Bound" : "Released", is_there);
    }
  }
  /// Some seconds of both.
  void live(int seconds = 5) {
    for (int i = 0; i < seconds; ++i) {
      pass(std::chrono::seconds{1});
      conductAll();
    }
    pass(std::chrono::seconds{1});
  }
  /// "True Bound: ..." of that kind; "" there is none.
  [[nodiscard]] std::string remark(const model::ObjectKey& key, kcache::Remark::Kind kind) const {
    const auto is = cache(key);
    if (!is || !is->status) { return ""; }
    for (const auto& one : is->status->remarks) {
      if (one.kind == kind) {
        return fmt::format("{} {}: {}", one.is_true ? "True" : "False", one.reason, one.message);
      }
    }
    return "";
  }

  /// As agents write them.
  struct Says {
    std::string cache;
    std::string digest = kDigestA;
    kcache::State state = kcache::State::Extracted;
    int pods = 0;
    std::string cause{};
  };
  void say(const std::string& ns, const std::string& node, const std::vector<Says>& all,
           const std::string& object = {}) {
    kcache::CacheNode value;
    value.key = {ns, object.empty() ? node : object};
    value.node = model::NodeName{node};
    json::Array finalizers;
    for (const Says& one : all) {
      kcache::CacheEntry entry;
      entry.condition = kcache::Condition{one.state, kcache::messageOf(one.state, one.cause), {}};
      for (int i = 0; i < one.pods; ++i) { entry.pods.push_back({ns, "pod-" + std::to_string(i), "v"}); }
      value.caches[one.cache][one.digest] = entry;
      const auto finalizer = kcache::nodeFinalizer(one.cache);
      const bool is_known = std::any_of(finalizers.begin(), finalizers.end(),
                                        [&](const auto& f) { return f.str() == finalizer; });
      if (!is_known) { finalizers.push_back(finalizer); }
    }
    json::Value meta = json::Object{{"name", value.key.name}, {"finalizers", finalizers}};
    if (!ns.empty()) { meta.set("namespace", ns); }
    const auto kind = kcache::nodeKindOf(value.key);
    if (const auto it = server.objects.find({std::string{kind->plural}, value.key});
        it != server.objects.end()) {
      meta.set("uid", it->second["metadata"]["uid"]);
    }
    server.put(kind, json::Object{{"metadata", meta}, {"status", kcache::statusValue(value)}});
  }
  void change(kapi::Kind kind, const model::ObjectKey& key, const std::function<void(json::Value&)>& how) {
    const Server::Key at{std::string{kind->plural}, key};
    how(server.objects.at(at));
    server.touch(at);
  }
  [[nodiscard]] std::optional<kcache::Cache> cache(const model::ObjectKey& key) const {
    const auto it = server.objects.find({std::string{kcache::cacheKindOf(key)->plural}, key});
    if (it == server.objects.end()) { return std::nullopt; }
    return kcache::decodeCache(it->second);
  }
  [[nodiscard]] bool hasNodeObject(const model::ObjectKey& key) const {
    return server.objects.contains({std::string{kcache::nodeKindOf(key)->plural}, key});
  }
  /// "Extracted 1 0 1 0 0 0", "" it has no status.
  [[nodiscard]] std::string shown(const model::ObjectKey& key) const {
    const auto is = cache(key);
    if (!is || !is->status || !is->status->condition) { return ""; }
    const auto& c = is->status->counts;
    return fmt::format("{} {} {} {} {} {} {}", kcache::nameOf(is->status->condition->state), c.nodes,
                       c.nodes_in_use, c.nodes_not_in_use, c.nodes_error, c.pods_running, c.pods_outdated);
  }
  [[nodiscard]] std::string message(const model::ObjectKey& key) const {
    return cache(key).value().status.value().condition.value().message;
  }
  [[nodiscard]] int written(const std::string& what) const {
    return static_cast<int>(
        std::count_if(writes.begin(), writes.end(), [&](const auto& w) { return w.starts_with(what); }));
  }
  [[nodiscard]] std::vector<std::string> events() const { return server.events(); }

 private:
  void carry(kapi::Effects effects) {
    std::deque<kapi::MachineEvent> events;
    const auto hear = [&] {
      for (auto& event : server.takeNews()) { events.emplace_back(std::move(event)); }
    };
    const auto take = [&](kapi::Effects& from) {
      for (auto& effect : from) {
        if (auto* call = std::get_if<kapi::Call>(&effect)) {
          kapi::Outcome answer = send(*call);
          if (news_first()) { hear(); }
          events.emplace_back(std::move(answer));
        } else if (const auto* open = std::get_if<kapi::OpenWatch>(&effect)) {
          server.open(*open);
        } else if (const auto* close = std::get_if<kapi::CloseWatch>(&effect)) {
          server.close(close->stream);
        } else if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
          wakes_.insert(wake->at);
        } else if (const auto* log = std::get_if<kapi::Log>(&effect)) {
          logs.push_back(log->message);
        } else if (const auto* metric = std::get_if<kapi::Metric>(&effect)) {
          const std::string label = metric->labels.empty() ? "" : " " + metric->labels.front().second;
          if (metric->op == kapi::MetricOp::Set) { gauges[metric->name + label] = metric->value; }
        }
      }
    };
    take(effects);
    while (true) {
      hear();
      if (events.empty()) { return; }
      kapi::Effects more = machine_->handle(events.front(), now());
      events.pop_front();
      take(more);
    }
  }
  kapi::Outcome send(const kapi::Call& call) {
    if (!kapi::isRead(call.verb)) {
      const char* verb = call.verb == kapi::Verb::MergePatch ? "PATCH"
                         : call.verb == kapi::Verb::Create   ? "POST"
                                                             : "DELETE";
      writes.push_back(fmt::format("{} {} {}{}", verb, call.kind->plural, call.key.text(),
                                   call.subresource.empty() ? "" : " " + call.subresource));
      EXPECT_TRUE(call.leader_only) << writes.back();
    }
    if (fate) {
      if (auto outcome = fate(call)) {
        outcome->token = call.token;
        return *outcome;
      }
    }
    return server.carryOut(call);
  }

  std::optional<Operator> machine_;
  ManualClock clock_;
  std::set<Mono> wakes_;
  std::uint64_t term_ = 0;
};

}  // namespace gs::gkm
