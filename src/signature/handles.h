// OpenSSL's things as values that free themselves. Of signature/ only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;  // EVP_PKEY
struct x509_st;      // X509

namespace gs::signature {

struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
struct FreeX509 {
  void operator()(x509_st* certificate) const;
};
using OwnedKey = std::unique_ptr<evp_pkey_st, FreeKey>;
using OwnedX509 = std::unique_ptr<x509_st, FreeX509>;

/// Frees what OpenSSL made by that function of its.
template <auto free_function>
struct Freer {
  template <class T>
  void operator()(T* p) const {
    free_function(p);
  }
};

[[nodiscard]] inline const unsigned char* bytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
/// What the library last complained about; forgotten then.
[[nodiscard]] std::string libraryError();
/// SubjectPublicKeyInfo in DER.
[[nodiscard]] std::string spkiOf(evp_pkey_st* key);
/// The bytes between BEGIN and END `label`, of the first that is there; "" there is none.
[[nodiscard]] std::string fromPem(std::string_view pem, std::string_view label);

}  // namespace gs::signature
