// OpenSSL's keys and certificates as values that free themselves, from and to PEM text. Of net/ only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;  // EVP_PKEY
struct x509_st;      // X509

namespace gs::net {

struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
struct FreeCertificate {
  void operator()(x509_st* certificate) const;
};
using OwnedKey = std::unique_ptr<evp_pkey_st, FreeKey>;
using OwnedCertificate = std::unique_ptr<x509_st, FreeCertificate>;

/// In their order, up to the first that cannot be read; 16 at most.
[[nodiscard]] std::vector<OwnedCertificate> readCertificates(std::string_view pem);
/// nullptr: there is none that can be read; one with a password cannot.
[[nodiscard]] OwnedKey readKey(std::string_view pem);
[[nodiscard]] std::string pemOf(x509_st* certificate);
[[nodiscard]] std::string pemOf(evp_pkey_st* key);
/// What the library last complained about; forgotten then.
[[nodiscard]] std::string libraryError();

}  // namespace gs::net
