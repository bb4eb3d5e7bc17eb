#include "serve/extender_server.h"

#include <future>
#include <map>
#include <utility>

#include "base/mutex.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongest = 6s;  // the machine answers within 4

}  // namespace

/// Who waits for which answer.
class ExtenderServer::Desk : public extender::Asker {
 public:
  explicit Desk(Wiring wiring) : wiring_{std::move(wiring)} {}

  extender::NodeTablePtr table() override {
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

  extender::Answer ask(extender::Question question) override {
    auto [ticket, came] = open();
    const bool asked = wiring_.act([machine = wiring_.ask, ticket = ticket,
                                    q = std::make_shared<extender::Question>(std::move(question))](Now now) {
      return machine(ticket, std::move(*q), now);
    });
    if (asked && came.wait_for(kLongest) == std::future_status::ready) {
      extender::Answer answer = came.get();
      if (answer.table != nullptr) {
        MutexLock lock{mutex_};
        table_ = answer.table;
      }
      return answer;
    }
    MutexLock lock{mutex_};
    waiting_.erase(ticket);
    extender::Answer none;
    none.kind = extender::Answer::Kind::Unavailable;
    none.text = "the extender's thread does not answer";
    return none;
  }

  void deliver(extender::Ticket ticket, extender::Answer answer) {
    MutexLock lock{mutex_};
    const auto it = waiting_.find(ticket);
    if (it == waiting_.end()) { return; }  // nobody waits any more
    it->second.set_value(std::move(answer));
    waiting_.erase(it);
  }

 private:
  std::pair<extender::Ticket, std::future<extender::Answer>> open() {
    MutexLock lock{mutex_};
    const extender::Ticket ticket = ++last_;
    return {ticket, waiting_[ticket].get_future()};
  }

  const Wiring wiring_;
  Mutex mutex_;
  extender::NodeTablePtr table_ GS_GUARDED_BY(mutex_);
  std::map<extender::Ticket, std::promise<extender::Answer>> waiting_ GS_GUARDED_BY(mutex_);
  extender::Ticket last_ GS_GUARDED_BY(mutex_) = 0;
};

ExtenderServer::ExtenderServer(extender::Front::Config config, Wiring wiring)
    : front_{std::move(config)}, others_{wiring.others}, desk_{std::make_unique<Desk>(std::move(wiring))} {}

ExtenderServer::~ExtenderServer() { stop(); }

Status ExtenderServer::start(net::HttpServer::Options options) {
  auto server =
      net::HttpServer::start(std::move(options), [this](const net::Request& r) { return answer(r); });
  if (!server) { return tl::unexpected(server.error()); }
  server_ = *std::move(server);
  return {};
}

void ExtenderServer::stop() {
  if (server_) { server_->stop(); }
}

std::uint16_t ExtenderServer::port() const { return server_ ? server_->port() : 0; }

void ExtenderServer::deliver(extender::Ticket ticket, extender::Answer answer) {
  desk_->deliver(ticket, std::move(answer));
}

net::Response ExtenderServer::answer(const net::Request& request) {
  thread_local json::Scanner scanner;  // keeps memory for the largest body that its worker has seen
  if (others_ &&
      (request.path() == "/metrics" || request.path() == "/healthz" || request.path() == "/readyz")) {
    return others_(request);
  }
  return front_.answer(request, scanner, *desk_);
}

}  // namespace gs::serve
