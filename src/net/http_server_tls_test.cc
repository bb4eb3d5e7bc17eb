// The server's TLS, as the client sees it.
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/mutex.h"
#include "base/system_clock.h"
#include "net/certificate.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/identity_test.h"
#include "net/tls_acceptor.h"

namespace gs::net {
namespace {

class HttpServerTls : public testing::Test {
 protected:
  HttpServerTls() {
    std::filesystem::create_directories(folder_);
    show(makeIdentity("api", "IP:127.0.0.1", &ca_));
  }
  ~HttpServerTls() override { std::filesystem::remove_all(folder_); }
  HttpServerTls(const HttpServerTls&) = delete;
  HttpServerTls& operator=(const HttpServerTls&) = delete;

  /// Replaced as a kubelet does it: by rename.
  void write(const std::string& name, const std::string& text) const {
    std::ofstream{folder_ / "new"} << text;
    std::filesystem::rename(folder_ / "new", folder_ / name);
  }
  void show(const Identity& identity) const {
    write("cert", identity.cert_pem);
    write("key", identity.key_pem);
  }
  [[nodiscard]] ServerTls tls() const { return {(folder_ / "cert").string(), (folder_ / "key").string()}; }
  [[nodiscard]] static std::unique_ptr<HttpServer> serve(ServerTls tls) {
    auto server = HttpServer::start({.tls = std::move(tls)}, [](const Request& request) {
      return textResponse(200, request.method + " " + request.target + request.body);
    });
    EXPECT_TRUE(server.has_value()) << server.error().message;
    return std::move(*server);
  }
  [[nodiscard]] static Answer post(const HttpServer& server, HttpClient& client, const std::string& body) {
    ClientRequest request;
    request.method = "POST";
    request.url = "https://127.0.0.1:" + std::to_string(server.port()) + "/x";
    request.body = body;
    return client.send(request);
  }

  Identity ca_ = makeIdentity("ca", "", nullptr);
  std::filesystem::path folder_ =
      std::filesystem::path{testing::TempDir()} / ("gs_server_tls_" + std::to_string(getpid()));
};

TEST_F(HttpServerTls, AnswersSmallAndLargeRequestsOverAKeptConnection) {
  const auto server = serve(tls());
  HttpClient client{{.tls = {.ca_pem = ca_.cert_pem}}};
  const std::string large(std::size_t{900} << 10, 'x');
  for (const std::string& body : {std::string{"a"}, large, std::string{"b"}}) {
    const Answer answer = post(*server, client, body);
    EXPECT_EQ(answer.status, 200) << answer.message;
    EXPECT_EQ(answer.body, "POST /x" + body);
  }
  EXPECT_EQ(server->connections(), 1U);
}

TEST_F(HttpServerTls, AsksForAClientsCertificateWhenToldTo) {
  write("clients", ca_.cert_pem);
  ServerTls asking = tls();
  asking.client_ca_file = (folder_ / "clients").string();
  const auto server = serve(asking);
  const Identity known = makeIdentity("somebody", "", &ca_);
  const Identity other_ca = makeIdentity("other", "", nullptr);
  const Identity stranger = makeIdentity("somebody", "", &other_ca);
  HttpClient good{{.tls = {.ca_pem = ca_.cert_pem, .cert_pem = known.cert_pem, .key_pem = known.key_pem}}};
  EXPECT_EQ(post(*server, good, "").status, 200);
  HttpClient none{{.tls = {.ca_pem = ca_.cert_pem}}};
  EXPECT_EQ(post(*server, none, "").status, 0);
  HttpClient wrong{
      {.tls = {.ca_pem = ca_.cert_pem, .cert_pem = stranger.cert_pem, .key_pem = stranger.key_pem}}};
  EXPECT_EQ(post(*server, wrong, "").status, 0);
}

TEST_F(HttpServerTls, PlainTextAndSilenceDoNoHarm) {
  const auto server = serve(tls());
  HttpClient plain{{}};
  ClientRequest request;
  request.url = "http://127.0.0.1:" + std::to_string(server->port()) + "/";
  EXPECT_EQ(plain.send(request).status, 0);
  HttpClient client{{.tls = {.ca_pem = ca_.cert_pem}}};
  EXPECT_EQ(post(*server, client, "").status, 200);
}

TEST_F(HttpServerTls, FilesThatAreNoPairAreAnErrorThatNamesThem) {
  ServerTls missing = tls();
  missing.cert_file = "/nowhere/cert";
  const auto no_cert = HttpServer::start({.tls = missing}, {});
  ASSERT_FALSE(no_cert.has_value());
  EXPECT_NE(no_cert.error().message.find("'/nowhere/cert'"), std::string::npos) << no_cert.error().message;
  write("key", makeIdentity("api", "IP:127.0.0.1", &ca_).key_pem);
  const auto no_pair = HttpServer::start({.tls = tls()}, {});
  ASSERT_FALSE(no_pair.has_value());
  EXPECT_NE(no_pair.error().message.find(tls().key_file), std::string::npos) << no_pair.error().message;
}

class TlsAcceptorTest : public HttpServerTls {
 protected:
  /// The name in the certificate that a new connection is shown.
  [[nodiscard]] static std::string shownBy(TlsAcceptor& acceptor, Mono now) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const Fd ours{ends[1]};
    const auto transport = acceptor.accept(Fd{ends[0]}, now);
    std::jthread server{[&] {
      std::array<char, 16> scratch{};
      std::size_t got = 0;
      while (transport->read(scratch, got) == Went::NeedsInput) {
        if (waitFor(transport->fd(), false, Mono::max()) != Io::Ok) { return; }
      }
    }};
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL* session = SSL_new(context);
    SSL_set_fd(session, ours.get());
    EXPECT_EQ(SSL_connect(session), 1);
    X509* shown = SSL_get1_peer_certificate(session);
    char name[64] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name, sizeof name);
    SSL_shutdown(session);
    X509_free(shown);
    SSL_free(session);
    SSL_CTX_free(context);
    return name;
  }
};

TEST_F(TlsAcceptorTest, ShowsARotatedPairAndKeepsTheOldOneWhileTheNewIsNoPair) {
  Mono now{std::chrono::seconds{1000}};
  auto acceptor = TlsAcceptor::load(tls(), now);
  ASSERT_TRUE(acceptor.has_value());
  EXPECT_EQ(shownBy(**acceptor, now), "api");
  const Identity next = makeIdentity("next", "IP:127.0.0.1", &ca_);
  write("cert", next.cert_pem);
  EXPECT_EQ(shownBy(**acceptor, now), "api") << "looked again within a second";
  now += std::chrono::seconds{1};
  EXPECT_EQ(shownBy(**acceptor, now), "api") << "the key is not there yet";
  write("key", next.key_pem);
  now += std::chrono::seconds{1};
  EXPECT_EQ(shownBy(**acceptor, now), "next");
  write("cert", "rubbish");
  now += std::chrono::seconds{1};
  EXPECT_EQ(shownBy(**acceptor, now), "next");
}

TEST_F(TlsAcceptorTest, ShowsThePairThatItIsGivenFromThenOn) {
  Mono now{std::chrono::seconds{1000}};
  std::shared_ptr<const ServerPair> pair;
  const auto give = [&](const std::vector<std::string>& names) {
    const Wall from = SystemClock{}.now().wall;
    pair = std::make_shared<const ServerPair>(
        makeCertificate(names, from, from + std::chrono::hours{1})->server);
  };
  auto acceptor = TlsAcceptor::load({.pair = [&] { return pair; }}, now);
  ASSERT_TRUE(acceptor.has_value());
  EXPECT_EQ((*acceptor)->accept(Fd{::socket(AF_UNIX, SOCK_STREAM, 0)}, now), nullptr) << "there is none yet";
  give({"first"});
  EXPECT_EQ(shownBy(**acceptor, now), "first") << "at once";
  give({"second"});
  EXPECT_EQ(shownBy(**acceptor, now), "first") << "looked again within a second";
  now += std::chrono::seconds{1};
  EXPECT_EQ(shownBy(**acceptor, now), "second");
  pair = std::make_shared<const ServerPair>(ServerPair{pair->cert_pem, "rubbish"});
  now += std::chrono::seconds{1};
  EXPECT_EQ(shownBy(**acceptor, now), "second") << "what is no pair leaves the one before";
  pair = nullptr;
  now += std::chrono::seconds{1};
  EXPECT_EQ(shownBy(**acceptor, now), "second");
}

TEST_F(HttpServerTls, AServerWithoutAPairYetClosesConnectionsAndServesWhenItHasOne) {
  Mutex mutex;
  std::shared_ptr<const ServerPair> pair;
  const auto server = serve({.pair = [&] {
    MutexLock lock{mutex};
    return pair;
  }});
  const Wall from = SystemClock{}.now().wall;
  const auto made =
      makeCertificate({"hook.ns.svc"}, from - std::chrono::minutes{1}, from + std::chrono::hours{1});
  ASSERT_TRUE(made.has_value());
  HttpClient client{{.tls = {.ca_pem = made->ca_pem, .server_name = "hook.ns.svc"}}};
  EXPECT_EQ(post(*server, client, "").status, 0);
  {
    MutexLock lock{mutex};
    pair = std::make_shared<const ServerPair>(made->server);
  }
  EXPECT_EQ(post(*server, client, "").status, 200) << "a client checks it as an API server does";
}

}  // namespace
}  // namespace gs::net
