#include "process/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gs::process {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDrain = 2s;  // for what was decided

}  // namespace

Result<std::unique_ptr<Service>> Service::make(const Program& program, Options options) {
  auto access = options.cluster.access();
  if (!access) { return fail(access.error().code, "cannot reach a cluster: " + access.error().message); }
  std::optional<controller::Election::Config> config;
  if (options.election) {
    auto election = electionOf(*options.election, access->ns);
    if (!election) { return tl::unexpected(election.error()); }
    config = *std::move(election);
  }
  return std::unique_ptr<Service>{
      new Service{program, std::move(options), *std::move(access), std::move(config)}};
}

Service::Service(const Program& program, Options options, k8s::Access access,
                 std::optional<controller::Election::Config> election)
    : program_{program},
      options_{std::move(options)},
      identity_{election ? election->identity : ""},
      lease_namespace_{options_.election && !options_.election->lease_namespace.empty()
                           ? options_.election->lease_namespace
                           : access.ns} {
  k8s::Host::Options host{.user_agent = userAgentOf(program.name()),
                          .connections = options_.cluster.connections,
                          .metrics = options_.metrics,
                          .election = std::move(election)};
  host_ = std::make_unique<k8s::Host>(std::move(access), std::move(host), rng_.split());
}

HealthPage::Wiring Service::pages(const Machine& machine) {
  const auto asks = [this](const auto& query) { return [this, query] { return host_->ask(query); }; };
  HealthPage::Wiring out{.failure = asks(machine.failure),
                         .readiness = asks(machine.readiness),
                         .state = asks(machine.state),
                         .unauthorized = [this] { return host_->unauthorized(); },
                         .metrics = [this] { return metrics_.text() + host_->metricsText(); },
                         .election = [this] { return host_->election(); },
                         .now = [this] { return host_->now(); },
                         .service = options_.service,
                         .standalone_gauge = options_.standalone_gauge};
  for (const auto& [path, text] : machine.pages) { out.others.emplace(path, asks(text)); }
  return out;
}

/// The pages of health; nullptr: the program has none.
Result<Service::Server> Service::servePages() {
  if (options_.pages.empty()) { return nullptr; }
  auto server = net::HttpServer::start({.address = options_.pages, .connection = {.request_timeout = 2s}},
                                       [this](const net::Request& request) { return page(request); });
  if (server || !options_.goes_on_without_pages) { return server; }
  log::warn("no pages of health and metrics",
            {{"address", options_.pages}, {"error", server.error().message}});
  return nullptr;
}

bool Service::startAll(const std::vector<Endpoint>& endpoints) const {
  for (const Endpoint& endpoint : endpoints) {
    if (const Status started = endpoint.start(); !started) {
      log::error("cannot serve " + endpoint.serves, {{"error", started.error().message}});
      return false;
    }
  }
  return true;
}

int Service::run(Machine machine, const std::vector<Endpoint>& endpoints) {
  page_.emplace(pages(machine));
  const auto pages = servePages();
  if (!pages) {
    log::error("cannot serve health and metrics", {{"error", pages.error().message}});
    return 1;
  }
  if (!startAll(endpoints)) { return 1; }
  host_->start(std::move(machine.run));
  sayRunning(*pages);
  signals_.wait();
  endSoon();
  host_->stop(kDrain, [this] { return signals_.again(); });  // a second signal ends the wait
  if (*pages) { (*pages)->stop(); }
  for (const Endpoint& endpoint : endpoints) { endpoint.stop(); }
  log::info("stopped");
  return 0;
}

/// One line with all that this process goes by, each once.
void Service::sayRunning(const Server& pages) const {
  std::vector<log::Field> fields{{"program", version()}, {"server", host_->server()}};
  if (options_.election) {
    fields.emplace_back("lease", fmt::format("{}/{}", lease_namespace_, options_.election->lease));
    fields.emplace_back("identity", identity_.empty() ? "none: it leads without a lease" : identity_);
  }
  if (pages) {
    fields.emplace_back(
        "pages", fmt::format("{}:{}", options_.pages.substr(0, options_.pages.rfind(':')), pages->port()));
  }
  fields.insert(fields.end(), options_.said.begin(), options_.said.end());
  for (const log::Field& flag : program_.settings()) {
    const auto is_it = [&](const log::Field& field) { return field.key == flag.key; };
    if (std::none_of(fields.begin(), fields.end(), is_it)) { fields.push_back(flag); }
  }
  log::write(log::Level::Info, "running", fields);
}

}  // namespace gs::process
