#include "serve/extender/server.h"

#include <future>
#include <map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/system_clock.h"
#include "extender/grants/metrics.h"
#include "process/health_page.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongest = 6s;  // the machine answers within 4
constexpr const char* kSchedulersPath = "/scheduler/";

// A scanner keeps memory for the largest body that it has seen, and fresh memory costs more than reading
// does. Each worker has one for small bodies; few are kept for those that a cluster of some thousand nodes
// sends; larger bodies leave nothing.
constexpr std::size_t kKeptFor = std::size_t{16} << 20;  // bytes of a body
constexpr std::size_t kKept = 2;

extender::Answer unavailable(std::string why) {
  extender::Answer none;
  none.kind = extender::Answer::Kind::Unavailable;
  none.text = std::move(why);
  return none;
}

}  // namespace

/// Requests that the machine was asked, and that a worker waits for. Any thread.
class ExtenderServer::InFlightRequests {
 public:
  explicit InFlightRequests(Wiring wiring) : wiring_{std::move(wiring)} {}

  extender::NodeTablePtr table() {
    {
      MutexLock lock{mutex_};
      if (table_ != nullptr) { return table_; }
    }
    const auto read = std::make_shared<std::promise<extender::NodeTablePtr>>();
    auto came = read->get_future();
    const bool asked = wiring_.act([read, table = wiring_.table](Now) {
      read->set_value(table());
      return kapi::Effects{};
    });
    static const auto kEmpty = std::make_shared<const extender::NodeTable>(sched::Ledger{});
    if (!asked || came.wait_for(kLongest) != std::future_status::ready) { return kEmpty; }
    MutexLock lock{mutex_};
    table_ = came.get();
    return table_;
  }

  extender::Answer ask(extender::Request request) {
    auto [request_id, came] = open();
    const bool asked = wiring_.act([machine = wiring_.ask, request_id = request_id,
                                    q = std::make_shared<extender::Request>(std::move(request))](Now now) {
      return machine(request_id, std::move(*q), now);
    });
    if (asked && came.wait_for(kLongest) == std::future_status::ready) {
      extender::Answer answer = came.get();
      if (answer.table != nullptr) {
        MutexLock lock{mutex_};
        table_ = answer.table;
      }
      // The last word before a pod's devices are told to anybody.
      if (SystemClock{}.now().mono >= answer.good_until) {
        return unavailable("this replica did not renew its lead in time");
      }
      return answer;
    }
    MutexLock lock{mutex_};
    waiting_.erase(request_id);
    return unavailable("the extender's thread does not answer");
  }

  void deliver(extender::RequestId request_id, extender::Answer answer) {
    MutexLock lock{mutex_};
    const auto it = waiting_.find(request_id);
    if (it == waiting_.end()) { return; }  // nobody waits any more
    it->second.set_value(std::move(answer));
    waiting_.erase(it);
  }

 private:
  std::pair<extender::RequestId, std::future<extender::Answer>> open() {
    MutexLock lock{mutex_};
    const extender::RequestId request_id = ++last_;
    return {request_id, waiting_[request_id].get_future()};
  }

  const Wiring wiring_;
  Mutex mutex_;
  extender::NodeTablePtr table_ GS_GUARDED_BY(mutex_);
  std::map<extender::RequestId, std::promise<extender::Answer>> waiting_ GS_GUARDED_BY(mutex_);
  extender::RequestId last_ GS_GUARDED_BY(mutex_) = 0;
};

/// One request.
class ExtenderServer::Caller : public extender::Backend {
 public:
  Caller(InFlightRequests& in_flight, Mono asked) : in_flight_{in_flight}, asked_{asked} {}
  extender::NodeTablePtr table() override { return in_flight_.table(); }
  extender::Answer ask(extender::Request request) override {
    request.asked = asked_;
    return in_flight_.ask(std::move(request));
  }

 private:
  InFlightRequests& in_flight_;
  Mono asked_;
};

/// Scanners that are kept. Any thread.
class ExtenderServer::Shelf {
 public:
  json::Scanner take() {
    MutexLock lock{mutex_};
    if (scanners_.empty()) { return {}; }
    json::Scanner one = std::move(scanners_.back());
    scanners_.pop_back();
    return one;
  }
  void put(json::Scanner one) {
    MutexLock lock{mutex_};
    if (scanners_.size() < kKept) { scanners_.push_back(std::move(one)); }
  }

 private:
  Mutex mutex_;
  std::vector<json::Scanner> scanners_ GS_GUARDED_BY(mutex_);
};

ExtenderServer::ExtenderServer(extender::RequestHandler::Config config, Wiring wiring, Forwarder forwarder,
                               Metrics& metrics, LargeBodies::Limits limits)
    : endpoint_{std::move(config)},
      wiring_{std::move(wiring)},
      forwarder_{std::move(forwarder)},
      metrics_{metrics},
      large_{limits},
      in_flight_{std::make_unique<InFlightRequests>(wiring_)},
      shelf_{std::make_unique<Shelf>()} {}

ExtenderServer::~ExtenderServer() { stop(); }

Status ExtenderServer::start(net::HttpServer::Options options) {
  auto server =
      net::HttpServer::start(std::move(options), [this](net::Request r) { return answer(std::move(r)); });
  if (!server) { return tl::unexpected(server.error()); }
  server_ = *std::move(server);
  return {};
}

void ExtenderServer::stop() {
  if (server_) { server_->stop(); }
}

std::uint16_t ExtenderServer::port() const { return server_ ? server_->port() : 0; }

void ExtenderServer::deliver(extender::RequestId request_id, extender::Answer answer) {
  in_flight_->deliver(request_id, std::move(answer));
}

net::Response ExtenderServer::answer(net::Request request) {
  return request.path().starts_with(kSchedulersPath) ? schedulersRequest(std::move(request))
                                                     : serve(std::move(request));
}

net::Response ExtenderServer::schedulersRequest(net::Request request) {
  const auto turn = large_.take(request.body.size());
  if (!turn) {
    return net::textResponse(
        503,
        "too many large requests are being answered; ask again, or let the scheduler send "
        "names only (nodeCacheCapable)\n");
  }
  const std::string leader = Forwarder::wasForwarded(request) ? std::string{} : wiring_.leader();
  return leader.empty() ? serve(std::move(request)) : forwarder_.forward(leader, std::move(request));
}

net::Response ExtenderServer::serve(net::Request request) {
  if (process::HealthPage::isHealth(request.path())) { return wiring_.others(std::move(request)); }
  const SystemClock clock;
  const Mono began = clock.now().mono;
  auto served = read(std::move(request));
  if (!served.verb.empty()) { count(served.verb, served.result, clock.now().mono - began); }
  return std::move(served.response);
}

extender::RequestHandler::Served ExtenderServer::read(net::Request request) {
  thread_local json::Scanner own;
  Caller caller{*in_flight_, Forwarder::askedAt(request)};
  const std::size_t size = request.body.size();
  if (!large_.isLarge(size)) { return endpoint_.answer(std::move(request), own, caller); }
  json::Scanner scanner = size <= kKeptFor ? shelf_->take() : json::Scanner{};
  auto served = endpoint_.answer(std::move(request), scanner, caller);
  if (size <= kKeptFor) { shelf_->put(std::move(scanner)); }
  return served;
}

void ExtenderServer::count(std::string_view verb, std::string_view result, Duration took) {
  static const std::vector<double> kBuckets = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                               0.1,    0.2,   0.5,   1,     2,    5};
  const std::string name{verb};
  metrics_
      .counter(extender::kRequests, "Requests of schedulers, by verb and result.",
               {{"verb", name}, {"result", std::string{result}}})
      .add();
  metrics_.histogram(extender::kRequestSeconds, "Seconds to answer one, by verb.", kBuckets, {{"verb", name}})
      .observe(std::chrono::duration<double>{took}.count());
}

}  // namespace gs::serve
