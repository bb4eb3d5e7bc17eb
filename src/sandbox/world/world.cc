#include "sandbox/world/world.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "crds/crds.h"
#include "sandbox/world/claim_warnings.h"
#include "sandbox/world/classes.h"
#include "sandbox/world/webhook_plugin.h"

namespace gs::sandbox {
namespace {

constexpr std::uint64_t kExtenderSeed = 0xe87e4de5;
constexpr std::uint64_t kAgentSeed = 0xa9e27;
constexpr std::uint64_t kOwnPodsSeed = 0x90d5;

// One seed, what it gives in a fixed order: first the API server's, then what schedulers draw.
Rng apiRng(std::uint64_t seed) { return Rng{seed}.split(); }

Rng schedulerRng(std::uint64_t seed) {
  Rng rng{seed};
  (void)rng.split();
  return rng;
}

/// Where objects of its kind and namespace are created.
std::string collectionOf(const apiserver::Api& api, const json::Value& object) {
  const apiserver::Resource* r = api.resources().ofKind(object["apiVersion"].str(), object["kind"].str());
  GS_CHECK(r != nullptr, "nothing serves kind {} of {}", object["kind"].str(), object["apiVersion"].str());
  std::string path = (r->group.empty() ? "/api/" : "/apis/" + r->group + "/") + r->version;
  if (r->namespaced) {
    const auto ns = object["metadata"]["namespace"].str();
    path += "/namespaces/" + std::string{ns.empty() ? "default" : ns};
  }
  return path + "/" + r->plural;
}

/// An API server with the chart's CRDs and the first classes, or with what was saved.
std::unique_ptr<apiserver::Api> makeApi(Rng rng, Now now, const World::Options& options) {
  auto api = std::make_unique<apiserver::Api>(rng, now);
  if (options.webhook) { api->admission().add(webhookPlugin(webhook::Handler{{}})); }
  api->admission().add(claimWarnings(api->store()));
  if (!options.restore.isNull()) {
    const auto restored = api->restore(options.restore);
    GS_CHECK(restored.has_value(), "the saved state: {}", restored ? "" : restored.error().message);
    return api;
  }
  std::vector<json::Value> first;
  if (options.crds) { first = crds::all(); }
  if (options.classes) {
    for (json::Value& one : firstClasses()) { first.push_back(std::move(one)); }
  }
  for (const json::Value& one : first) {
    const auto answer = api->handle({"POST", collectionOf(*api, one), "application/json", one}, now);
    GS_CHECK(answer.code == 201, "what a cluster begins with was refused: {}", json::print(answer.body));
  }
  return api;
}

}  // namespace

World::World(Options options)
    : options_{std::move(options)},
      queue_{options_.start},
      api_{makeApi(apiRng(options_.seed), queue_.now(), options_)},
      port_{*api_},
      transport_{queue_, port_, {options_.latency, options_.records, [this] { changed(); }}},
      agent_wire_{queue_, port_, {options_.latency, false, [this] { changed(); }}},
      own_pods_{options_.own_pods
                    ? std::optional<OwnPods>{std::in_place, queue_, *api_, Rng{options_.seed ^ kOwnPodsSeed},
                                             [this] { changed(); }}
                    : std::nullopt},
      replicas_{queue_,
                transport_,
                {options_.lease_duration, options_.renew_deadline, options_.retry_period, options_.records,
                 options_.on_log, own_pods_ ? &*own_pods_ : nullptr},
                schedulerRng(options_.seed),
                Rng{options_.seed ^ kExtenderSeed}},
      kubelet_{std::make_unique<Kubelet>(*api_)},
      driver_{*api_, *kubelet_},
      machines_{std::make_unique<Machines>(
          *api_, *kubelet_, options_.restore.isNull() ? options_.nodes : machinesIn(*api_), options_.agents)},
      agents_{std::make_unique<Agents>(queue_, agent_wire_, *machines_, Rng{options_.seed ^ kAgentSeed},
                                       options_.told_uuids, options_.enforced)} {
  if (options_.on_refused) {
    machines_->setOnRefused([this](const std::string& what, const std::string& why) {
      options_.on_refused({kapi::Level::Error, "refused", {{"request", what}, {"error", why}}});
    });
  }
  kubelet_->setDriver(driver_);
  transport_.connect(replicas_);
  agent_wire_.connect(*agents_);
  if (options_.controllers) { controllers_.emplace(*api_); }
  kubelet_->setWaitsForClaims(options_.controllers);
  changed();
}

World::~World() = default;

void World::run(Duration by) { queue_.runTo(now().mono + by); }

bool World::runUntil(const std::function<bool()>& done, Duration limit) {
  const Mono until = now().mono + limit;
  const auto facts = [this] { return std::pair{api_->store().revision(), leader()}; };
  auto looked = facts();
  if (done()) { return true; }
  while (queue_.step(until)) {
    const auto seen = facts();
    if (seen == looked) { continue; }  // looking is dear, and nothing that can be seen changed
    looked = seen;
    if (done()) { return true; }
  }
  queue_.moveTo(until);
  return done();
}

void World::join(Transport& wire, std::function<void()> follow) {
  beside_.push_back({wire, std::move(follow)});
  beside_.back().follow();
}

void World::setApiAway(bool away) {
  transport_.setApiAway(away);
  agent_wire_.setApiAway(away);
  for (const Beside& one : beside_) { one.wire.setApiAway(away); }
}

void World::changed() {
  transport_.changed();
  agent_wire_.changed();
  for (const Beside& one : beside_) { one.wire.changed(); }
  const auto running = options_.kubelets ? kubelet_->nextDue(now()) : std::nullopt;
  const auto controlled = controllers_ ? controllers_->nextDue(now()) : std::nullopt;
  const auto due = std::min({running.value_or(Mono::max()), machines_->nextDue(now()).value_or(Mono::max()),
                             controlled.value_or(Mono::max())});
  if (due == Mono::max() || (simulate_at_ && *simulate_at_ <= due)) { return; }
  simulate_at_ = due;
  queue_.at(due, [this, due] {
    if (simulate_at_ == due) { simulate(); }
  });
}

void World::simulate() {
  simulate_at_.reset();
  if (options_.kubelets) { kubelet_->tick(now()); }
  machines_->tick(now());
  agents_->follow();
  for (const Beside& one : beside_) { one.follow(); }
  if (controllers_) { controllers_->tick(now()); }
  changed();
}

std::optional<apiserver::Response> World::answered(apiserver::RequestId request_id,
                                                   apiserver::AdmissionResponse said) {
  auto response = api_->answered(request_id, std::move(said), now());
  if (response && controllers_) { controllers_->answered(request_id, *response, now()); }
  changed();
  return response;
}

void World::goBack(const json::Value& saved) {
  transport_.endAllStreams(0);
  agent_wire_.endAllStreams(0);
  for (const Beside& one : beside_) { one.wire.endAllStreams(0); }
  const auto restored = api_->goBack(saved);
  GS_CHECK(restored.has_value(), "the saved state: {}", restored ? "" : restored.error().message);
  changed();
}

apiserver::Response World::request(std::string method, std::string target, json::Value body,
                                   std::string content_type) {
  apiserver::Response response =
      api_->handle({std::move(method), std::move(target), std::move(content_type), std::move(body)}, now());
  changed();
  return response;
}

void World::create(const json::Value& object) {
  const apiserver::Response answer = request("POST", collectionOf(*api_, object), object);
  GS_CHECK(answer.code == 201, "refused: {}", json::print(answer.body));
}

json::Value World::get(const std::string& path) { return request("GET", path).body; }

}  // namespace gs::sandbox
