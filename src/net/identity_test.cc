#include "net/identity_test.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

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
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;

template <class Write>
std::string pemOf(const Write& write) {
  const Bio out{BIO_new(BIO_s_mem())};
  write(out.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

Bio bioOf(const std::string& pem) { return Bio{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))}; }

void extend(X509* cert, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

Identity makeIdentity(const char* name, const std::string& san, const Identity* signer, bool is_ca) {
  const Key key{EVP_EC_gen("P-256")};
  const Cert made{X509_new()};
  X509* cert = made.get();
  static long serial = 0;
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
  X509_set_pubkey(cert, key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  Cert issuer;
  Key issuer_key;
  if (signer != nullptr) {
    issuer.reset(PEM_read_bio_X509(bioOf(signer->cert_pem).get(), nullptr, nullptr, nullptr));
    issuer_key.reset(PEM_read_bio_PrivateKey(bioOf(signer->key_pem).get(), nullptr, nullptr, nullptr));
  }
  X509_set_issuer_name(cert, X509_get_subject_name(signer != nullptr ? issuer.get() : cert));
  extend(cert, NID_basic_constraints, signer == nullptr || is_ca ? "critical,CA:TRUE" : "CA:FALSE");
  if (!san.empty()) { extend(cert, NID_subject_alt_name, san); }
  X509_sign(cert, signer != nullptr ? issuer_key.get() : key.get(), EVP_sha256());
  return {pemOf([&](BIO* out) { PEM_write_bio_X509(out, cert); }), pemOf([&](BIO* out) {
            PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace gs::net
