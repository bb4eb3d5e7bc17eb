#include "serve/extender/forwarder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "net/http_client.h"
#include "net/identity_test.h"
#include "serve/extender/server.h"

namespace gs::serve {
namespace {

/// A replica that answers requests itself, or sends them to `leader`.
class Replica {
 public:
  explicit Replica(net::ClientTls tls, std::optional<net::ServerTls> serves = {})

      : server_{{"v-test", {}},
                {.act = [](const auto&) { return false; },
                 .ask = [](extender::RequestId, const extender::Request&, Now) { return kapi::Effects{}; },
                 .table = [] { return extender::NodeTablePtr{}; },
                 .others = [](const net::Request&) { return net::textResponse(200, "health"); },
                 .leader = [this] { return leader; }},
                Forwarder{std::move(tls)},
                metrics_} {
    net::HttpServer::Options options;
    options.tls = std::move(serves);
    scheme_ = options.tls ? "https://" : "http://";
    const Status started = server_.start(std::move(options));
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
  }
  [[nodiscard]] std::string url() const { return scheme_ + "127.0.0.1:" + std::to_string(server_.port()); }

  std::string leader;

 private:
  std::string scheme_;
  Metrics metrics_;
  ExtenderServer server_;
};

net::Answer post(const std::string& url, const net::ClientTls& tls = {}) {
  net::HttpClient client{{.tls = tls}};
  net::ClientRequest request;
  request.method = "POST";
  request.url = url + "/scheduler/onSessionOpen";  // needs no machine
  request.body = "{}";
  return client.send(request);
}

class ForwarderTls : public ::testing::Test {
 protected:
  ForwarderTls() {
    std::filesystem::create_directories(folder_);
    const net::Identity ca = net::makeIdentity("ca", "", nullptr);
    const net::Identity replica = net::makeIdentity("gpu-admission", "IP:127.0.0.1", &ca);
    write("ca", ca.cert_pem);
    write("cert", replica.cert_pem);
    write("key", replica.key_pem);
  }
  ~ForwarderTls() override { std::filesystem::remove_all(folder_); }
  ForwarderTls(const ForwarderTls&) = delete;
  ForwarderTls& operator=(const ForwarderTls&) = delete;

  void write(const char* name, const std::string& text) const { std::ofstream{folder_ / name} << text; }
  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  [[nodiscard]] net::ServerTls serves() const { return {path("cert"), path("key"), path("ca")}; }
  [[nodiscard]] net::ClientTls shows() const {
    return {.ca_file = path("ca"), .cert_file = path("cert"), .key_file = path("key")};
  }

  const std::filesystem::path folder_ =
      std::filesystem::path{::testing::TempDir()} / ("gs_forwarder_" + std::to_string(getpid()));
};

TEST_F(ForwarderTls, ALeaderThatAsksForCertificatesIsShownTheReplicasOwn) {
  const Replica leader{{}, serves()};
  Replica standby{shows(), serves()};
  standby.leader = leader.url();
  const auto answer = post(standby.url(), shows());
  EXPECT_EQ(answer.status, 200) << answer.message << answer.body;
  EXPECT_EQ(answer.body, "{}");
}

TEST_F(ForwarderTls, WhoShowsNoneIsRefusedAndSaysSo) {
  const Replica leader{{}, serves()};
  Replica standby{{.ca_file = path("ca")}, serves()};
  standby.leader = leader.url();
  const auto answer = post(standby.url(), shows());
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(answer.body.starts_with("the leader " + leader.url() + " cannot be reached: ")) << answer.body;
}

TEST(Forwarder, TwoThatTakeEachOtherForTheLeaderSendOnOnce) {
  Replica one{{}};
  Replica two{{}};
  one.leader = two.url();
  two.leader = one.url();
  EXPECT_EQ(post(one.url()).status, 200);
  EXPECT_EQ(post(two.url()).status, 200);
}

TEST(Forwarder, WithoutTheLeaderItIsUnavailable) {
  Replica standby{{}};
  standby.leader = "http://127.0.0.1:1";
  const auto answer = post(standby.url());
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(answer.body.starts_with("the leader http://127.0.0.1:1 cannot be reached: ")) << answer.body;
}

TEST(Forwarder, WhatTheLeaderAnswersComesBackAsItIs) {
  const std::string large(std::size_t{100} << 20, 'x');  // all nodes of a large cluster
  auto leader = net::HttpServer::start({}, [&](const net::Request& r) {
    return r.path() == "/scheduler/filter" ? net::jsonResponse(200, large) : net::textResponse(404, r.body);
  });
  ASSERT_TRUE(leader);
  const std::string url = "http://127.0.0.1:" + std::to_string((*leader)->port());
  const Forwarder forwarder{{}, std::chrono::minutes{5}};  // a sanitizer on a loaded machine takes its time
  const auto all = forwarder.forward(url, {"POST", "/scheduler/filter?a=b", {}, "{}"});
  EXPECT_EQ(all.status, 200) << all.body;
  EXPECT_EQ(all.body.size(), large.size());
  const auto none = forwarder.forward(url, {"POST", "/x", {}, "sent"});
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.body, "sent");
  const std::string* type = net::findHeader(none.headers, "content-type");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(*type, "text/plain; charset=utf-8");
}

}  // namespace
}  // namespace gs::serve
