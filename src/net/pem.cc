#include "net/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>

namespace gs::net {
namespace {

constexpr std::size_t kMostCertificates = 16;
constexpr std::size_t kMostText = std::size_t{1} << 20;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

Bio reading(std::string_view pem) {
  return Bio{BIO_new_mem_buf(pem.data(), static_cast<int>(std::min(pem.size(), kMostText)))};
}

template <class Write>
std::string written(const Write& write) {
  const Bio out{BIO_new(BIO_s_mem())};
  write(out.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

/// Without it the library would ask on the terminal.
int noPassword(char*, int, int, void*) { return 0; }

}  // namespace

void FreeKey::operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
void FreeCertificate::operator()(X509* certificate) const { X509_free(certificate); }

std::string libraryError() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

std::vector<OwnedCertificate> readCertificates(std::string_view pem) {
  std::vector<OwnedCertificate> out;
  const Bio bio = reading(pem);
  while (out.size() < kMostCertificates) {
    OwnedCertificate next{PEM_read_bio_X509(bio.get(), nullptr, noPassword, nullptr)};
    if (next == nullptr) { break; }
    out.push_back(std::move(next));
  }
  ERR_clear_error();  // the end of the text is one
  return out;
}

OwnedKey readKey(std::string_view pem) {
  return OwnedKey{PEM_read_bio_PrivateKey(reading(pem).get(), nullptr, noPassword, nullptr)};
}

std::string pemOf(X509* certificate) {
  return written([&](BIO* out) { PEM_write_bio_X509(out, certificate); });
}

std::string pemOf(EVP_PKEY* key) {
  return written(
      [&](BIO* out) { PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

}  // namespace gs::net
