// TLS as the client does it, against a server of OpenSSL with certificates made here.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "net/http_client.h"
#include "net/scripted_server.h"

namespace gs::net {
namespace {

template <auto free_function>
struct Freer {
  template <class T>
  void operator()(T* p) const {
    free_function(p);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Freer<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freer<SSL_free>>;
using MemoryBio = std::unique_ptr<BIO, Freer<BIO_free>>;

struct Identity {
  Key key;
  Cert cert;

  [[nodiscard]] std::string certPem() const {
    return pem([&](BIO* out) { PEM_write_bio_X509(out, cert.get()); });
  }
  [[nodiscard]] std::string keyPem() const {
    return pem(
        [&](BIO* out) { PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  }

 private:
  template <class Write>
  static std::string pem(const Write& write) {
    const MemoryBio out{BIO_new(BIO_s_mem())};
    write(out.get());
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    return {text, static_cast<std::size_t>(size)};
  }
};

/// `san` as OpenSSL writes it: "IP:127.0.0.1,DNS:api"; `signer` nullptr: a certificate authority.
Identity makeIdentity(const char* name, const std::string& san, const Identity* signer) {
  Identity made{Key{EVP_EC_gen("P-256")}, Cert{X509_new()}};
  X509* cert = made.cert.get();
  static long serial = 0;
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
  X509_set_pubkey(cert, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  const X509* issuer = signer != nullptr ? signer->cert.get() : cert;
  X509_set_issuer_name(cert, X509_get_subject_name(issuer));
  const auto extend = [&](int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, signer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
  if (!san.empty()) { extend(NID_subject_alt_name, san); }
  X509_sign(cert, signer != nullptr ? signer->key.get() : made.key.get(), EVP_sha256());
  return made;
}

/// Answers one request per connection with "<asked server name>|<name in the client's certificate>".
class TlsServer {
 public:
  TlsServer(const Identity& identity, const Identity& client_ca)
      : context_{SSL_CTX_new(TLS_server_method())}, server_{[this](ScriptedServer::Peer& peer) {
          serve(peer);
        }} {
    SSL_CTX_use_certificate(context_.get(), identity.cert.get());
    SSL_CTX_use_PrivateKey(context_.get(), identity.key.get());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), client_ca.cert.get());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  }
  [[nodiscard]] std::string url() const {
    return "https://127.0.0.1:" + std::to_string(server_.port()) + "/";
  }

 private:
  void serve(const ScriptedServer::Peer& peer) {
    ::fcntl(peer.fd(), F_SETFL, ::fcntl(peer.fd(), F_GETFL) & ~O_NONBLOCK);
    const Session session{SSL_new(context_.get())};
    SSL_set_fd(session.get(), peer.fd());
    if (SSL_accept(session.get()) != 1) { return; }
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n") && SSL_read(session.get(), &byte, 1) == 1) { head += byte; }
    const char* asked = SSL_get_servername(session.get(), TLSEXT_NAMETYPE_host_name);
    std::string body = std::string{asked != nullptr ? asked : ""} + "|";
    if (const Cert shown{SSL_get1_peer_certificate(session.get())}) {
      char name[64];
      X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName, name, sizeof name);
      body += name;
    }
    const std::string answer = renderResponse(textResponse(200, body), false, false);
    SSL_write(session.get(), answer.data(), static_cast<int>(answer.size()));
    SSL_shutdown(session.get());
  }

  Context context_;
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
  static std::string writeFile(const std::string& name, const std::string& text) {
    const auto path =
        std::filesystem::path{testing::TempDir()} / ("gs_tls_" + std::to_string(getpid()) + name);
    std::ofstream{path} << text;
    return path.string();
  }

  Identity ca_ = makeIdentity("ca", "", nullptr);
  Identity other_ca_ = makeIdentity("other", "", nullptr);
  Identity client_ = makeIdentity("somebody", "", &ca_);
};

TEST_F(HttpClientTls, TrustsTheGivenAuthorityAndNoOther) {
  TlsServer server{makeIdentity("api", "IP:127.0.0.1", &ca_), ca_};
  const Answer good = get(server.url(), {.ca_pem = ca_.certPem()});
  EXPECT_EQ(good.status, 200) << good.message;
  EXPECT_EQ(good.body, "|");
  for (const ClientTls& tls : {ClientTls{.ca_pem = other_ca_.certPem()}, ClientTls{}}) {
    const Answer refused = get(server.url(), tls);
    EXPECT_EQ(refused.failure, Failure::Unreachable);
    EXPECT_FALSE(refused.sent);
    EXPECT_NE(refused.message.find("certificate"), std::string::npos) << refused.message;
  }
}

TEST_F(HttpClientTls, RefusesACertificateForAnotherHostUnlessItsNameIsGiven) {
  TlsServer server{makeIdentity("api", "DNS:api.example", &ca_), ca_};
  EXPECT_EQ(get(server.url(), {.ca_pem = ca_.certPem()}).failure, Failure::Unreachable);
  const Answer named = get(server.url(), {.ca_pem = ca_.certPem(), .server_name = "api.example"});
  EXPECT_EQ(named.status, 200) << named.message;
  EXPECT_EQ(named.body, "api.example|");
  EXPECT_EQ(get(server.url(), {.ca_pem = ca_.certPem(), .server_name = "other"}).failure,
            Failure::Unreachable);
}

TEST_F(HttpClientTls, InsecureAcceptsAnything) {
  TlsServer server{makeIdentity("api", "DNS:nowhere", &other_ca_), ca_};
  EXPECT_EQ(get(server.url(), {.insecure = true}).status, 200);
}

TEST_F(HttpClientTls, ShowsTheClientsCertificateFromTextOrFile) {
  TlsServer server{makeIdentity("api", "IP:127.0.0.1", &ca_), ca_};
  const ClientTls text{.ca_pem = ca_.certPem(), .cert_pem = client_.certPem(), .key_pem = client_.keyPem()};
  EXPECT_EQ(get(server.url(), text).body, "|somebody");
  const ClientTls files{.ca_file = writeFile("ca.crt", ca_.certPem()),
                        .cert_file = writeFile("client.crt", client_.certPem()),
                        .key_file = writeFile("client.key", client_.keyPem())};
  EXPECT_EQ(get(server.url(), files).body, "|somebody");
}

TEST_F(HttpClientTls, ReadsARotatedCertificateFileForTheNextConnection) {
  TlsServer server{makeIdentity("api", "IP:127.0.0.1", &ca_), ca_};
  const Identity next = makeIdentity("rotated", "", &ca_);
  const ClientTls files{.ca_pem = ca_.certPem(),
                        .cert_file = writeFile("rotating.crt", client_.certPem()),
                        .key_file = writeFile("rotating.key", client_.keyPem())};
  HttpClient client{{.tls = files}};
  ClientRequest request;
  request.url = server.url();
  EXPECT_EQ(client.send(request).body, "|somebody");
  writeFile("rotating.crt", next.certPem());
  writeFile("rotating.key", next.keyPem());
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
