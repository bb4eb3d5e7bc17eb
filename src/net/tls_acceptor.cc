#include "net/tls_acceptor.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "net/pem.h"

namespace gs::net {
namespace {

constexpr auto kLook = std::chrono::seconds{1};

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};
using Context = std::unique_ptr<SSL_CTX, FreeContext>;
using Session = std::unique_ptr<SSL, FreeSession>;

/// Which version of a file is there: changes when it is written or replaced.
using FileMark = std::array<std::int64_t, 5>;
FileMark markOf(const std::string& path) {
  struct stat s {};
  if (path.empty() || ::stat(path.c_str(), &s) != 0) { return {}; }
  return {static_cast<std::int64_t>(s.st_dev), static_cast<std::int64_t>(s.st_ino), s.st_size,
          s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}
using Marks = std::array<FileMark, 3>;
Marks marksOf(const ServerTls& tls) {
  return {markOf(tls.cert_file), markOf(tls.key_file), markOf(tls.client_ca_file)};
}

Status useFiles(SSL_CTX* c, const ServerTls& tls) {
  if (SSL_CTX_use_certificate_chain_file(c, tls.cert_file.c_str()) != 1) {
    return fail(Code::Invalid, fmt::format("'{}' is not a PEM certificate that can be read: {}",
                                           tls.cert_file, libraryError()));
  }
  if (SSL_CTX_use_PrivateKey_file(c, tls.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return fail(Code::Invalid, fmt::format("'{}' is not the PEM key of the certificate in '{}': {}",
                                           tls.key_file, tls.cert_file, libraryError()));
  }
  return {};
}

Status usePair(SSL_CTX* c, const ServerPair& pair) {
  const auto chain = readCertificates(pair.cert_pem);
  if (chain.empty() || SSL_CTX_use_certificate(c, chain.front().get()) != 1) {
    return fail(Code::Invalid, "what is to be shown is not a PEM certificate: " + libraryError());
  }
  for (std::size_t i = 1; i < chain.size(); ++i) { SSL_CTX_add1_chain_cert(c, chain[i].get()); }
  const OwnedKey key = readKey(pair.key_pem);
  if (key == nullptr || SSL_CTX_use_PrivateKey(c, key.get()) != 1) {
    return fail(Code::Invalid, "the PEM key is not that of the certificate: " + libraryError());
  }
  return {};
}

/// `pair` nullptr: what the files have.
Result<Context> load(const ServerTls& tls, const ServerPair* pair) {
  ERR_clear_error();
  Context context{SSL_CTX_new(TLS_server_method())};
  if (context == nullptr) { return fail(Code::Internal, "TLS: " + libraryError()); }
  SSL_CTX* c = context.get();
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  SSL_CTX_set_mode(
      c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(c, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
  if (Status fits = pair != nullptr ? usePair(c, *pair) : useFiles(c, tls); !fits) {
    return tl::unexpected(fits.error());
  }
  if (!tls.client_ca_file.empty()) {
    if (SSL_CTX_load_verify_locations(c, tls.client_ca_file.c_str(), nullptr) != 1) {
      return fail(Code::Invalid, fmt::format("'{}' holds no PEM certificates that can be read: {}",
                                             tls.client_ca_file, libraryError()));
    }
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // Without one the library refuses clients that resume a session.
    constexpr std::string_view kName = "gpu-scheduler";
    SSL_CTX_set_session_id_context(c, reinterpret_cast<const unsigned char*>(kName.data()),
                                   static_cast<unsigned>(kName.size()));
  }
  return context;
}

class TlsTransport final : public Transport {
 public:
  TlsTransport(Fd fd, Session session) : fd_{std::move(fd)}, session_{std::move(session)} {}

  Went read(std::span<char> into, std::size_t& got) override {
    ERR_clear_error();
    return went(SSL_read_ex(session_.get(), into.data(), into.size(), &got));
  }
  Went write(std::string_view data, bool, std::size_t& took) override {
    ERR_clear_error();
    return went(SSL_write_ex(session_.get(), data.data(), data.size(), &took));
  }
  void endWriting() override {
    ERR_clear_error();
    if (!broken_) { SSL_shutdown(session_.get()); }
    ::shutdown(fd_.get(), SHUT_WR);
  }
  [[nodiscard]] int fd() const override { return fd_.get(); }

 private:
  Went went(int done) {
    if (done == 1) { return Went::Ok; }
    switch (SSL_get_error(session_.get(), done)) {
      case SSL_ERROR_WANT_READ: return Went::NeedsInput;
      case SSL_ERROR_WANT_WRITE: return Went::NeedsRoom;
      case SSL_ERROR_ZERO_RETURN: return Went::Ended;
      default: broken_ = true; return Went::Failed;
    }
  }

  Fd fd_;  // outlives the session
  Session session_;
  bool broken_ = false;  // the library forbids SSL_shutdown after such an error
};

}  // namespace

struct TlsAcceptor::Loaded {
  Context context;  // nullptr: there is nothing to show yet
  Marks marks{};
  std::shared_ptr<const ServerPair> pair{};
};

TlsAcceptor::TlsAcceptor(ServerTls tls, std::unique_ptr<Loaded> loaded, Mono now)
    : tls_{std::move(tls)}, loaded_{std::move(loaded)}, look_again_{now + kLook} {}
TlsAcceptor::~TlsAcceptor() = default;

Result<std::unique_ptr<TlsAcceptor>> TlsAcceptor::load(ServerTls tls, Mono now) {
  ignoreBrokenPipes();
  auto loaded = std::make_unique<Loaded>();
  if (!tls.pair) {
    loaded->marks = marksOf(tls);
    auto context = net::load(tls, nullptr);
    if (!context) { return tl::unexpected(context.error()); }
    loaded->context = *std::move(context);
  }
  return std::unique_ptr<TlsAcceptor>{new TlsAcceptor{std::move(tls), std::move(loaded), now}};
}

/// Something else is to be shown. The marks are taken before the files are read: a change in between is seen
/// next time.
bool TlsAcceptor::hasChanged() {
  const Marks marks = marksOf(tls_);
  bool changed = std::exchange(loaded_->marks, marks) != marks;
  auto pair = tls_.pair ? tls_.pair() : nullptr;
  if (pair != nullptr && pair != loaded_->pair) {
    loaded_->pair = std::move(pair);
    changed = true;
  }
  return changed && (!tls_.pair || loaded_->pair != nullptr);
}

void TlsAcceptor::lookAgain(Mono now) {
  look_again_ = now + kLook;
  if (!hasChanged()) { return; }
  const bool first = loaded_->context == nullptr;
  auto context = net::load(tls_, loaded_->pair.get());
  if (context) {
    loaded_->context = *std::move(context);
    if (!first) { log::info("the TLS certificate was read anew", {{"file", tls_.cert_file}}); }
  } else {
    log::warn("the new TLS certificate cannot be used; the one before is",
              {{"error", context.error().message}});
  }
}

std::unique_ptr<Transport> TlsAcceptor::accept(Fd socket, Mono now) {
  const bool has_none = loaded_->context == nullptr;  // the first one is not waited for
  if (has_none || now >= look_again_) { lookAgain(now); }
  if (loaded_->context == nullptr) { return nullptr; }
  Session session{SSL_new(loaded_->context.get())};
  if (session == nullptr || SSL_set_fd(session.get(), socket.get()) != 1) { return nullptr; }
  SSL_set_accept_state(session.get());
  return std::make_unique<TlsTransport>(std::move(socket), std::move(session));
}

}  // namespace gs::net
