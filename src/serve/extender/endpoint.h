// The extender's server in a program, wired to the machine that answers: extender::Standalone, or
// serve::Combined, which both have ask(), table(), takeAnswers() and giveUp(). The service and the machine
// must outlive it, and the service's run() be over before it goes.
#pragma once

#include <functional>
#include <utility>

#include "extender/protocol/request_handler.h"
#include "extender/status_page.h"
#include "process/service.h"
#include "serve/extender/flags.h"
#include "serve/extender/server.h"

namespace gs::serve {

template <class Asked>
class ExtenderEndpoint {
 public:
  /// `flags` were checked.
  ExtenderEndpoint(process::Service& service, Asked& machine, const ExtenderFlags& flags,
                   std::function<bool(const model::Pod&)> offered = {})
      : service_{service},
        machine_{machine},
        options_{httpOptionsOf(flags)},
        server_{{service.version(), *extender::volcanoRules(flags.volcano), std::move(offered)},
                wiring(service),
                Forwarder{leaderTls(flags)},
                service.metrics()} {}

  /// Its answers go to who asked.
  [[nodiscard]] process::Machine machine() {
    process::Machine out = process::machineOf(machine_);
    out.run.run.handle = [this](const k8s::Event& event, Now now) {
      return delivered(machine_.handle(event, now));
    };
    out.readiness = [this] {
      Readiness ready = machine_.readiness();
      extender::noteRequests(machine_.extender(), !service_.leaderElsewhere().empty(), ready);
      return ready;
    };
    out.run.give_up = [this] {
      machine_.giveUp();
      static_cast<void>(delivered({}));
    };
    return out;
  }
  [[nodiscard]] process::Endpoint endpoint() {
    return {.serves = "schedulers",
            .start = [this] { return server_.start(options_); },
            .stop = [this] { server_.stop(); }};
  }

 private:
  ExtenderServer::Wiring wiring(process::Service& service) {
    return {.act = [&service](auto action) { return service.host().act(std::move(action)); },
            .ask = [this](extender::RequestId request_id, extender::Request request,
                          Now now) { return delivered(machine_.ask(request_id, std::move(request), now)); },
            .table = [this] { return machine_.table(); },
            .others = [&service](const net::Request& request) { return service.page(request); },
            .leader = [&service] { return service.leaderElsewhere(); }};
  }
  kapi::Effects delivered(kapi::Effects effects) {
    for (auto& [request_id, answer] : machine_.takeAnswers()) {
      server_.deliver(request_id, std::move(answer));
    }
    return effects;
  }

  process::Service& service_;
  Asked& machine_;
  const net::HttpServer::Options options_;
  ExtenderServer server_;
};

}  // namespace gs::serve
