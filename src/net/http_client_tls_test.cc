// TLS as the client does it, against a server of OpenSSL with certificates made here.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <string>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/temp_folder_test.h"
#include "net/http_client.h"
#include "net/identity_test.h"
#include "net/scripted_server.h"

namespace gs::net {
namespace {

/// Answers one request per connection with "<asked server name>|<name in the client's certificate>".
class TlsServer {
  struct Free {
    void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
    void operator()(SSL* p) const { SSL_free(p); }
    void operator()(X509* p) const { X509_free(p); }
    void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  };
  template <class T>
  using Owned = std::unique_ptr<T, Free>;
  template <class T>
  static Owned<T> parsed(T* (*read)(BIO*, T**, pem_password_cb*, void*), const std::string& pem) {
    BIO* text = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    Owned<T> out{read(text, nullptr, nullptr, nullptr)};
    BIO_free(text);
    return out;
  }

 public:
  TlsServer(const Identity& identity, const Identity& client_ca)
      : context_{SSL_CTX_new(TLS_server_method())}, server_{[this](ScriptedServer::Peer& peer) {
          serve(peer);
        }} {
    SSL_CTX_use_certificate(context_.get(), parsed(PEM_read_bio_X509, identity.cert_pem).get());
    SSL_CTX_use_PrivateKey(context_.get(), parsed(PEM_read_bio_PrivateKey, identity.key_pem).get());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()),
                        parsed(PEM_read_bio_X509, client_ca.cert_pem).get());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  }
  [[nodiscard]] std::string url() const {
    return "https://127.0.0.1:" + std::to_string(server_.port()) + "/";
  }

 private:
  void serve(const ScriptedServer::Peer& peer) {
    ::fcntl(peer.fd(), F_SETFL, ::fcntl(peer.fd(), F_GETFL) & ~O_NONBLOCK);
    const Owned<SSL> session{SSL_new(context_.get())};
    SSL_set_fd(session.get(), peer.fd());
    if (SSL_accept(session.get()) != 1) { return; }
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n") && SSL_read(session.get(), &byte, 1) == 1) { head += byte; }
    const char* asked = SSL_get_servername(session.get(), TLSEXT_NAMETYPE_host_name);
    std::string body = std::string{asked != nullptr ? asked : ""} + "|";
    if (const Owned<X509> shown{SSL_get1_peer_certificate(session.get())}) {
      char name[64];
      X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName, name, sizeof name);
      body += name;
    }
    const std::string answer = renderResponse(textResponse(200, body), false, false);
    SSL_write(session.get(), answer.data(), static_cast<int>(answer.size()));
    SSL_shutdown(session.get());
  }

  Owned<SSL_CTX> context_;
  ScriptedServer server_;
};

class HttpClientTls : public testing::Test {
 protected:
  static Answer get(const std::string& url, const ClientTls& tls) {
    HttpClient client{{.tls = tls}};
    ClientRequest request;
    request.url = url;
    return client.send(request);
  }
  std::string writeFile(const std::string& name, const std::string& text) const {
    std::ofstream{folder_.path(name)} << text;
    return folder_.path(name);
  }

  const TempFolder folder_;

  Identity ca_ = makeIdentity("ca", "", nullptr);
  Identity other_ca_ = makeIdentity("other", "", nullptr);
  Identity client_ = makeIdentity("somebody", "", &ca_);
};

TEST_F(HttpClientTls, TrustsTheGivenAuthorityAndNoOther) {
  TlsServer server{makeIdentity("api", "IP:127.0.0.1", &ca_), ca_};
  const Answer good = get(server.url(), {.ca_pem = ca_.cert_pem});
  EXPECT_EQ(good.status, 200) << good.message;
  EXPECT_EQ(good.body, "|");
  for (const ClientTls& tls : {ClientTls{.ca_pem = other_ca_.cert_pem}, ClientTls{}}) {
    const Answer refused = get(server.url(), tls);
    EXPECT_EQ(refused.failure, Failure::Unreachable);
    EXPECT_FALSE(refused.sent);
    EXPECT_NE(refused.message.find("certificate"), std::string::npos) << refused.message;
  }
}

TEST_F(HttpClientTls, RefusesACertificateForAnotherHostUnlessItsNameIsGiven) {
  TlsServer server{makeIdentity("api", "DNS:api.example", &ca_), ca_};
  EXPECT_EQ(get(server.url(), {.ca_pem = ca_.cert_pem}).failure, Failure::Unreachable);
  const Answer named = get(server.url(), {.ca_pem = ca_.cert_pem, .server_name = "api.example"});
  EXPECT_EQ(named.status, 200) << named.message;
  EXPECT_EQ(named.body, "api.example|");
  EXPECT_EQ(get(server.url(), {.ca_pem = ca_.cert_pem, .server_name = "other"}).failure,
            Failure::Unreachable);
}

TEST_F(HttpClientTls, InsecureAcceptsAnything) {
  TlsServer server{makeIdentity("api", "DNS:nowhere", &other_ca_), ca_};
  EXPECT_EQ(get(server.url(), {.insecure = true}).status, 200);
}

TEST_F(HttpClientTls, ShowsTheClientsCertificateFromTextOrFile) {
  TlsServer server{makeIdentity("api", "IP:127.0.0.1", &ca_), ca_};
  const ClientTls text{.ca_pem = ca_.cert_pem, .cert_pem = client_.cert_pem, .key_pem = client_.key_pem};
  EXPECT_EQ(get(server.url(), text).body, "|somebody");
  const ClientTls files{.ca_file = writeFile("ca.crt", ca_.cert_pem),
                        .cert_file = writeFile("client.crt", client_.cert_pem),
                        .key_file = writeFile("client.key", client_.key_pem)};
  EXPECT_EQ(get(server.url(), files).body, "|somebody");
}

TEST_F(HttpClientTls, ReadsARotatedCertificateFileForTheNextConnection) {
  TlsServer server{makeIdentity("api", "IP:127.0.0.1", &ca_), ca_};
  const Identity next = makeIdentity("rotated", "", &ca_);
  const ClientTls files{.ca_pem = ca_.cert_pem,
                        .cert_file = writeFile("rotating.crt", client_.cert_pem),
                        .key_file = writeFile("rotating.key", client_.key_pem)};
  HttpClient client{{.tls = files}};
  ClientRequest request;
  request.url = server.url();
  EXPECT_EQ(client.send(request).body, "|somebody");
  writeFile("rotating.crt", next.cert_pem);
  writeFile("rotating.key", next.key_pem);
  EXPECT_EQ(client.send(request).body, "|rotated");
}

TEST_F(HttpClientTls, MissingFileIsAnErrorBeforeAnythingIsSent) {
  TlsServer server{makeIdentity("api", "IP:127.0.0.1", &ca_), ca_};
  const Answer answer = get(server.url(), {.ca_file = "/no/such/ca.crt"});
  EXPECT_EQ(answer.failure, Failure::Unreachable);
  EXPECT_NE(answer.message.find("/no/such/ca.crt"), std::string::npos) << answer.message;
}

}  // namespace
}  // namespace gs::net
