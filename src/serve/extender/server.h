// The extender over HTTP: the threads between net::HttpServer's workers, which wait for an answer,
// and the machine's one.
// A worker reads the body, asks the machine (k8s/host.h), and writes the reply; many wait side by side.
// Requests go to the replica that leads when that is another one. Those with large bodies have their turns
// (large_bodies.h), and leave no memory behind.
// Owns the server; what it was made from must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "base/result.h"
#include "extender/protocol/request_handler.h"
#include "kapi/call.h"
#include "net/http_server.h"
#include "serve/extender/forwarder.h"
#include "serve/extender/large_bodies.h"

namespace gs::serve {

class ExtenderServer {
 public:
  /// Runs an action on the machine's thread and carries out its effects; false: it does not take any now.
  using Act = std::function<bool(std::function<kapi::Effects(Now)>)>;
  /// On the machine's thread.
  using AskMachine = std::function<kapi::Effects(extender::RequestId, extender::Request, Now)>;
  using ReadTable = std::function<extender::NodeTablePtr()>;

  struct Wiring {
    Act act;
    AskMachine ask;
    ReadTable table;
    /// Health and metrics.
    net::Handler others;
    /// Where the replica that leads listens; "" when it is this one, or nobody knows.
    std::function<std::string()> leader;
  };

  /// Requests are counted in `metrics`, which must outlive it.
  ExtenderServer(extender::RequestHandler::Config config, Wiring wiring, Forwarder forwarder,
                 Metrics& metrics, LargeBodies::Limits limits = LargeBodies::Limits());
  ExtenderServer(const ExtenderServer&) = delete;
  ExtenderServer& operator=(const ExtenderServer&) = delete;
  ~ExtenderServer();

  [[nodiscard]] Status start(net::HttpServer::Options options);
  void stop();
  [[nodiscard]] std::uint16_t port() const;
  /// An answer of the machine, on its thread.
  void deliver(extender::RequestId request_id, extender::Answer answer);

 private:
  class InFlightRequests;
  class Caller;
  class Shelf;
  net::Response answer(net::Request request);
  net::Response schedulersRequest(net::Request request);
  net::Response serve(net::Request request);
  extender::RequestHandler::Served read(net::Request request);
  void count(std::string_view verb, std::string_view result, Duration took);

  extender::RequestHandler endpoint_;
  Wiring wiring_;
  Forwarder forwarder_;
  Metrics& metrics_;
  LargeBodies large_;
  std::unique_ptr<InFlightRequests> in_flight_;
  std::unique_ptr<Shelf> shelf_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace gs::serve
