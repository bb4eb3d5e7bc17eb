// An agent whose API server (operator/server_test.h) and whose store are the test. The store does at once
// what is wanted, unless the test holds it or lets an image fail.
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
#include "kcache/kinds/names.h"
#include "operator/node/node_agent.h"
#include "operator/server_test.h"

namespace gs::gkm {

/// As the rim keeps it: what is wanted comes, what is not goes when no pod has it.
class StoreOnPaper {
 public:
  bool is_held = false;                        // nothing comes
  std::optional<kcache::Progress> coming{};    // so far has what is wanted come
  std::map<std::string, std::string> failing;  // causes by digest
  std::map<model::ObjectKey, std::map<std::string, std::vector<kcache::PodUse>>> pods;

  void want(kcache::WantedPtr wanted) { wanted_ = std::move(wanted); }
  [[nodiscard]] const kcache::Wanted* wanted() const { return wanted_.get(); }
  /// How often an image was tried that failed.
  [[nodiscard]] int tries() const { return tries_; }
  /// What is on the disk of that image is damaged, or whole again by another cache's attempt.
  void breaks(const model::ObjectKey& cache, const std::string& digest) {
    has_.caches[cache][digest].what = kcache::HasImage::What::Failed;
  }
  void heals(const model::ObjectKey& cache, const std::string& digest) {
    has_.caches[cache][digest].what = kcache::HasImage::What::Here;
  }
  kcache::NodeHasPtr turn() {
    if (wanted_ != nullptr && coming) {
      for (const auto& [cache, image] : wanted_->images) {
        has_.caches[cache][image.image.digest->text()] = {.what = kcache::HasImage::What::Coming,
                                                          .progress = coming};
      }
    } else if (wanted_ != nullptr && !is_held) {
      for (const auto& [cache, image] : wanted_->images) { fetch(cache, image); }
      for (auto& [cache, images] : has_.caches) { drop(cache, images); }
    }
    for (auto& [cache, images] : has_.caches) {
      for (auto& [digest, image] : images) { image.pods = pods[cache][digest]; }
    }
    std::erase_if(has_.caches, [](const auto& one) { return one.second.empty(); });
    return std::make_shared<const kcache::NodeHas>(has_);
  }

 private:
  void fetch(const model::ObjectKey& cache, const kcache::WantedImage& image) {
    const std::string digest = image.image.digest->text();
    kcache::HasImage& mine = has_.caches[cache][digest];
    if (mine.what == kcache::HasImage::What::Here) { return; }
    if (mine.what == kcache::HasImage::What::Failed && mine.attempt == image.attempt) { return; }
    mine.attempt = image.attempt;
    const auto bad = failing.find(digest);
    if (bad != failing.end()) {
      ++tries_;
      mine.what = kcache::HasImage::What::Failed;
      mine.cause = bad->second;
      return;
    }
    mine = {.what = kcache::HasImage::What::Here, .size = 7, .targets = kcache::Targets{{"cuda", "90", 32}}};
  }
  void drop(const model::ObjectKey& cache, kcache::HasImages& images) {
    if (wanted_->undecided.contains(cache)) { return; }
    const auto wanted = wanted_->images.find(cache);
    std::erase_if(images, [&](const auto& one) {
      const bool is_wanted =
          wanted != wanted_->images.end() && wanted->second.image.digest->text() == one.first;
      return !is_wanted && pods[cache][one.first].empty();
    });
  }

  kcache::WantedPtr wanted_;
  kcache::NodeHas has_;
  int tries_ = 0;
};

class NodeHand : public ::testing::Test {
 protected:
  const std::string kNode = "node-a";
  /// What becomes of a call. nullopt: it is carried out.
  std::function<std::optional<kapi::Outcome>(const kapi::Call&)> fate;
  Server server;
  /// The news of what a call does come before its answer.
  bool is_news_first = false;
  bool is_store_silent = false;  // it tells nothing
  StoreOnPaper store;
  std::vector<std::string> writes;  // "PATCH gkmcachenodes ns/node-a"
  std::vector<std::string> logs;
  std::map<std::string, int> counted;  // writes that it told as metrics: "status written"

  NodeAgent& machine() { return *machine_; }
  Now now() const { return clock_.now(); }
  void start(std::vector<kcache::CacheGpu> gpus = {}) {
    server.closeAll();
    wakes_.clear();
    last_.reset();
    machine_.emplace(NodeAgent::Config{.node = model::NodeName{kNode}}, Rng{1});
    carry(machine_->start(now()));
    carry(machine_->gpus(std::move(gpus), now()));
    settle();
  }
  /// As the rim does while it cannot look.
  void tellNothing(const std::string& trouble) {
    kcache::NodeHas has;
    has.is_known = false;
    has.trouble = trouble;
    carry(machine_->has(std::make_shared<const kcache::NodeHas>(has), now()));
  }
  void look(std::vector<kcache::CacheGpu> gpus) {
    carry(machine_->gpus(std::move(gpus), now()));
    settle();
  }
  /// What changed is heard, and what follows is done.
  void settle() {
    carry({});
    while (turnStore()) {}
  }
  void pass(Duration time) {
    const Mono end = now().mono + time;
    settle();
    while (!wakes_.empty() && *wakes_.begin() <= end) {
      const Mono at = *wakes_.begin();
      wakes_.erase(wakes_.begin());
      if (at > now().mono) { clock_.advance(at - now().mono); }
      carry(machine_->handle(kapi::TimerDue{}, now()));
      settle();
    }
    if (end > now().mono) { clock_.advance(end - now().mono); }
  }
  void endWatch(kapi::Kind kind, int http) {
    for (const kapi::Token token : server.streamsOf(kind)) {
      server.close(token);
      carry(machine_->handle(kapi::WatchEnded{token, http, http == 200 ? "" : "broken"}, now()));
    }
    settle();
  }

  void makeCache(const model::ObjectKey& key, const std::string& digest = kDigestA,
                 const std::string& image = "quay.io/gkm/a:b") {
    json::Value meta = json::Object{{"name", key.name}};
    if (!key.ns.empty()) { meta.set("namespace", key.ns); }
    if (!digest.empty()) { meta.set("annotations", json::Object{{kcache::kDigestKey, digest}}); }
    meta.set("finalizers", json::Array{kcache::finalizerOf(key)});
    server.put(kcache::cacheKindOf(key),
               json::Object{{"metadata", meta}, {"spec", json::Object{{"image", image}}}});
  }
  void setDigest(const model::ObjectKey& key, const std::string& digest) {
    const Server::Key at{std::string{kcache::cacheKindOf(key)->plural}, key};
    server.objects.at(at).child("metadata").child("annotations").set(kcache::kDigestKey, digest);
    server.touch(at);
  }
  void deleteCache(const model::ObjectKey& key) { server.deleteSoftly(kcache::cacheKindOf(key), key); }
  void releaseCache(const model::ObjectKey& key) { server.remove(kcache::cacheKindOf(key), key); }

  [[nodiscard]] std::optional<kcache::CacheNode> object(const std::string& ns,
                                                        const std::string& name = {}) const {
    const model::ObjectKey key{ns, name.empty() ? kNode : name};
    const auto it = server.objects.find({std::string{kcache::nodeKindOf(key)->plural}, key});
    if (it == server.objects.end()) { return std::nullopt; }
    return kcache::decodeCacheNode(it->second);
  }
  /// "one: Extracted; two: Error", of one node object; "-" there is none.
  [[nodiscard]] std::string shown(const std::string& ns) const {
    const auto is = object(ns);
    if (!is) { return "-"; }
    std::string out;
    for (const auto& [name, entries] : is->caches) {
      for (const auto& [digest, entry] : entries) {
        out += fmt::format("{}{}@{}: {}", out.empty() ? "" : "; ", name, digest.substr(7, 1),
                           entry.condition ? kcache::nameOf(entry.condition->state) : "none");
      }
    }
    return out;
  }
  [[nodiscard]] std::string counts(const std::string& ns) const {
    const auto c = object(ns).value().counts;
    return fmt::format("{} {} {} {} {} {}", c.nodes, c.nodes_in_use, c.nodes_not_in_use, c.nodes_error,
                       c.pods_running, c.pods_outdated);
  }
  [[nodiscard]] std::vector<std::string> finalizers(const std::string& ns) const {
    return object(ns).value().finalizers.names;
  }
  [[nodiscard]] int written(const std::string& what) const {
    return static_cast<int>(
        std::count_if(writes.begin(), writes.end(), [&](const auto& w) { return w.starts_with(what); }));
  }
  [[nodiscard]] std::vector<std::string> events() const {
    auto out = server.events();
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  /// True: the store told something new.
  bool turnStore() {
    if (auto wanted = machine_->takeWanted()) { store.want(std::move(wanted)); }
    auto has = store.turn();
    if (is_store_silent || (last_ && **last_ == *has)) { return false; }
    last_ = has;
    carry(machine_->has(has, now()));
    return true;
  }
  void carry(kapi::Effects effects) {
    std::deque<kapi::MachineEvent> events;
    const auto take = [&](kapi::Effects& from) {
      for (auto& effect : from) {
        if (auto* call = std::get_if<kapi::Call>(&effect)) {
          kapi::Outcome answer = send(*call);
          if (is_news_first) {
            for (auto& event : server.takeNews()) { events.emplace_back(std::move(event)); }
          }
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
          ++counted[metric->labels.at(0).second + " " + metric->labels.at(1).second];
        }
      }
    };
    take(effects);
    while (true) {
      for (auto& event : server.takeNews()) { events.emplace_back(std::move(event)); }
      if (events.empty()) { return; }
      kapi::Effects more = machine_->handle(events.front(), now());
      events.pop_front();
      take(more);
    }
  }
  kapi::Outcome send(const kapi::Call& call) {
    if (!kapi::isRead(call.verb) && call.kind != kapi::kEvent) {
      const char* verb = call.verb == kapi::Verb::MergePatch ? "PATCH"
                         : call.verb == kapi::Verb::Create   ? "POST"
                         : call.verb == kapi::Verb::Update   ? "PUT"
                                                             : "DELETE";
      writes.push_back(fmt::format("{} {} {}{}", verb, call.kind->plural, call.key.text(),
                                   call.subresource.empty() ? "" : " " + call.subresource));
    }
    if (fate) {
      if (auto outcome = fate(call)) {
        outcome->token = call.token;
        return *outcome;
      }
    }
    kapi::Outcome out = server.carryOut(call);
    out.token = call.token;
    return out;
  }

  std::optional<NodeAgent> machine_;
  std::optional<kcache::NodeHasPtr> last_;
  ManualClock clock_;
  std::set<Mono> wakes_;
};

}  // namespace gs::gkm
