#include "net/certificate.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "net/pem.h"

namespace gs::net {
namespace {

constexpr std::size_t kMostCommonName = 64;  // X.520: ub-common-name
constexpr int kSerialBytes = 16;

struct FreeExtension {
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};

std::time_t secondsOf(Wall t) {
  return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}

struct Subject {
  std::string name;
  X509* issuer;  // nullptr: itself
  EVP_PKEY* signer;
  Wall from, until;
};

bool extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreeExtension> extension{
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str())};
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool describe(X509* c, const Subject& subject, EVP_PKEY* key) {
  std::array<unsigned char, kSerialBytes> serial{};
  if (RAND_bytes(serial.data(), kSerialBytes) != 1) { return false; }
  serial[0] &= 0x7F;  // positive
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number{BN_bin2bn(serial.data(), kSerialBytes, nullptr),
                                                           &BN_free};
  const std::string name = subject.name.substr(0, kMostCommonName);
  std::time_t from = secondsOf(subject.from);
  std::time_t until = secondsOf(subject.until);
  return X509_set_version(c, 2) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(c)) != nullptr &&
         X509_time_adj(X509_getm_notBefore(c), 0, &from) != nullptr &&
         X509_time_adj(X509_getm_notAfter(c), 0, &until) != nullptr && X509_set_pubkey(c, key) == 1 &&
         X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1 &&
         X509_set_issuer_name(c, X509_get_subject_name(subject.issuer != nullptr ? subject.issuer : c)) == 1;
}

/// nullptr: the library says why.
OwnedCertificate sign(const Subject& subject, EVP_PKEY* key,
                      const std::vector<std::pair<int, std::string>>& says) {
  OwnedCertificate out{X509_new()};
  if (out == nullptr || !describe(out.get(), subject, key)) { return nullptr; }
  X509* issuer = subject.issuer != nullptr ? subject.issuer : out.get();
  for (const auto& [nid, value] : says) {
    if (!extend(out.get(), issuer, nid, value)) { return nullptr; }
  }
  return X509_sign(out.get(), subject.signer, EVP_sha256()) > 0 ? std::move(out) : nullptr;
}

std::string alternativeNames(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) { out += (out.empty() ? "DNS:" : ",DNS:") + name; }
  return out;
}

Result<Wall> wallOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    return fail(Code::Invalid, "a time of the certificate cannot be read");
  }
  return Wall{std::chrono::seconds{::timegm(&parts)}};
}

struct FreeStore {
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
  void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }
};

/// Whatever the time is. Those behind the first one may lead to `ca_pem`, which need not be a root.
bool isTrusted(const std::vector<OwnedCertificate>& chain, std::string_view ca_pem) {
  const std::unique_ptr<X509_STORE, FreeStore> store{X509_STORE_new()};
  const std::unique_ptr<X509_STORE_CTX, FreeStore> context{X509_STORE_CTX_new()};
  const std::unique_ptr<STACK_OF(X509), FreeStore> between{sk_X509_new_null()};
  if (store == nullptr || context == nullptr || between == nullptr) { return false; }
  for (const auto& ca : readCertificates(ca_pem)) { X509_STORE_add_cert(store.get(), ca.get()); }
  for (std::size_t i = 1; i < chain.size(); ++i) { sk_X509_push(between.get(), chain[i].get()); }
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME);
  const bool found =
      X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), between.get()) == 1 &&
      X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  return found;
}

}  // namespace

Result<SignedPair> makeCertificate(const std::vector<std::string>& names, Wall from, Wall until) {
  ERR_clear_error();
  const OwnedKey ca_key{EVP_EC_gen("P-256")};
  const OwnedKey key{EVP_EC_gen("P-256")};
  const std::string& name = names.front();
  const auto why = [] { return fail(Code::Internal, "no certificate can be made: " + libraryError()); };
  if (ca_key == nullptr || key == nullptr) { return why(); }
  const auto ca =
      sign({.name = "CA of " + name, .issuer = nullptr, .signer = ca_key.get(), .from = from, .until = until},
           ca_key.get(),
           {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
            {NID_key_usage, "critical,keyCertSign"},
            {NID_subject_key_identifier, "hash"}});
  if (ca == nullptr) { return why(); }
  const auto server = sign(
      {.name = name, .issuer = ca.get(), .signer = ca_key.get(), .from = from, .until = until}, key.get(),
      {{NID_basic_constraints, "critical,CA:FALSE"},
       {NID_key_usage, "critical,digitalSignature"},
       {NID_ext_key_usage, "serverAuth"},
       {NID_authority_key_identifier, "keyid:always"},
       {NID_subject_alt_name, alternativeNames(names)}});
  if (server == nullptr) { return why(); }
  return SignedPair{pemOf(ca.get()), {pemOf(server.get()), pemOf(key.get())}};
}

Result<CertificateLife> checkCertificate(const ServerPair& pair, std::string_view ca_pem,
                                         const std::string& name) {
  const auto chain = readCertificates(pair.cert_pem);
  if (chain.empty()) { return fail(Code::Invalid, "tls.crt is no PEM certificate"); }
  X509* certificate = chain.front().get();
  const OwnedKey key = readKey(pair.key_pem);
  if (key == nullptr || X509_check_private_key(certificate, key.get()) != 1) {
    ERR_clear_error();
    return fail(Code::Invalid, "tls.key is not the PEM key of tls.crt");
  }
  // API servers look at no common name.
  if (X509_check_host(certificate, name.data(), name.size(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) !=
      1) {
    return fail(Code::Invalid, fmt::format("tls.crt is not for {}", name));
  }
  if (!ca_pem.empty() && !isTrusted(chain, ca_pem)) {
    return fail(Code::Invalid, "tls.crt does not lead to a certificate of ca.crt");
  }
  const auto from = wallOf(X509_get0_notBefore(certificate));
  const auto until = wallOf(X509_get0_notAfter(certificate));
  if (!from || !until) { return tl::unexpected((!from ? from : until).error()); }
  return CertificateLife{*from, *until};
}

}  // namespace gs::net
