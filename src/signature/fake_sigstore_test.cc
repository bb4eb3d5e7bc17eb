#include "signature/fake_sigstore_test.h"

#include <openssl/bio.h>
#include <openssl/ct.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ts.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "base/base64.h"
#include "base/hash.h"
#include "base/hex.h"

namespace gs::signature {
namespace {

using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;

std::string takenFrom(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return {text, static_cast<std::size_t>(size)};
}

template <class T>
std::string der(int (*print)(const T*, unsigned char**), const T* value) {
  unsigned char* bytes = nullptr;
  const int size = print(value, &bytes);
  std::string out{reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
  OPENSSL_free(bytes);
  return out;
}

std::string keyPem(EVP_PKEY* key) {
  const Bio out{BIO_new(BIO_s_mem())};
  PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return takenFrom(out.get());
}
OwnedKey keyOf(const std::string& pem) {
  const Bio in{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
  return OwnedKey{PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr)};
}
OwnedX509 certificateOf(const std::string& text) {
  const unsigned char* at = bytesOf(text);
  return OwnedX509{d2i_X509(nullptr, &at, static_cast<long>(text.size()))};
}

void addExtension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}
void addExtension(X509* certificate, const char* oid, const std::string& bytes) {
  const std::unique_ptr<ASN1_OBJECT, Freer<ASN1_OBJECT_free>> object{OBJ_txt2obj(oid, 1)};
  const std::unique_ptr<ASN1_OCTET_STRING, Freer<ASN1_OCTET_STRING_free>> value{ASN1_OCTET_STRING_new()};
  ASN1_OCTET_STRING_set(value.get(), bytesOf(bytes), static_cast<int>(bytes.size()));
  X509_EXTENSION* extension = X509_EXTENSION_create_by_OBJ(nullptr, object.get(), 0, value.get());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void setTimes(X509* certificate, Wall from, Wall until) {
  const auto seconds = [](Wall t) {
    return static_cast<std::time_t>(
        std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count());
  };
  std::time_t a = seconds(from);
  std::time_t b = seconds(until);
  X509_time_adj(X509_getm_notBefore(certificate), 0, &a);
  X509_time_adj(X509_getm_notAfter(certificate), 0, &b);
}

/// Without extensions; `issuer` nullptr: itself.
OwnedX509 bare(const std::string& name, EVP_PKEY* key, const X509* issuer) {
  OwnedX509 out{X509_new()};
  static long serial = 0;
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), ++serial);
  X509_set_pubkey(out.get(), key);
  if (!name.empty()) {
    X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_ASC, bytesOf(name), -1, -1,
                               0);
  }
  X509_set_issuer_name(out.get(),
                       issuer != nullptr ? X509_get_subject_name(issuer) : X509_get_subject_name(out.get()));
  return out;
}

void number(std::string& out, std::uint64_t value, unsigned bytes) {
  while (bytes-- > 0) { out.push_back(static_cast<char>(value >> (8 * bytes))); }
}

/// RFC 6962 3.2, written once more than in certificate.cc.
void addPromise(X509* certificate, const X509* issuer, const Wanted& wanted) {
  unsigned char* tbs = nullptr;
  const int size = i2d_re_X509_tbs(certificate, &tbs);
  const auto at = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(wanted.promised_at.time_since_epoch()).count());
  std::string text{"\0\0", 2};
  number(text, at, 8);
  number(text, 1, 2);
  text += *decodeHex(sha256Hex(spkiOf(X509_get0_pubkey(issuer))));
  number(text, static_cast<std::uint64_t>(size), 3);
  text.append(reinterpret_cast<const char*>(tbs), static_cast<std::size_t>(size));
  OPENSSL_free(tbs);
  if (wanted.promise_is_of_another) { text.back() = static_cast<char>(text.back() ^ 1); }
  number(text, 0, 2);
  const std::string signature = *wanted.log->sign(text);
  const std::string id = *decodeHex(wanted.log->publicKey().id());
  SCT* promise = SCT_new();
  SCT_set_version(promise, SCT_VERSION_V1);
  SCT_set1_log_id(promise, bytesOf(id), id.size());
  SCT_set_timestamp(promise, at);
  SCT_set_signature_nid(promise, NID_ecdsa_with_SHA256);
  SCT_set1_signature(promise, bytesOf(signature), signature.size());
  STACK_OF(SCT)* list = sk_SCT_new_null();
  sk_SCT_push(list, promise);
  X509_add1_ext_i2d(certificate, NID_ct_precert_scts, list, 0, X509V3_ADD_DEFAULT);
  SCT_LIST_free(list);
}

Wall year(int n) { return Wall{std::chrono::sys_days{std::chrono::year{n} / 1 / 1}}; }

ASN1_INTEGER* aSerial(TS_RESP_CTX* /*context*/, void* /*data*/) {
  ASN1_INTEGER* out = ASN1_INTEGER_new();
  ASN1_INTEGER_set(out, 1);
  return out;
}
int aTime(TS_RESP_CTX* /*context*/, void* data, long* seconds, long* microseconds) {
  *seconds = *static_cast<long*>(data);
  *microseconds = 0;
  return 1;
}

}  // namespace

std::string certificatePem(std::string_view der) {
  return "-----BEGIN CERTIFICATE-----\n" + encodeBase64(der) + "\n-----END CERTIFICATE-----\n";
}

FakeAuthority makeAuthority(const std::string& key_usage) {
  const OwnedKey root_key{EVP_EC_gen("P-384")};
  const OwnedX509 root = bare("root of " + key_usage, root_key.get(), nullptr);
  setTimes(root.get(), year(2020), year(2040));
  addExtension(root.get(), NID_basic_constraints, "critical,CA:TRUE");
  addExtension(root.get(), NID_key_usage, "critical,keyCertSign");
  X509_sign(root.get(), root_key.get(), EVP_sha384());
  const OwnedKey key{EVP_EC_gen("P-256")};
  const OwnedX509 signer = bare("signer of " + key_usage, key.get(), root.get());
  setTimes(signer.get(), year(2020), year(2040));
  const bool is_ca = key_usage == "codeSigning";
  addExtension(signer.get(), NID_basic_constraints,
               is_ca ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE");
  addExtension(signer.get(), NID_key_usage, is_ca ? "critical,keyCertSign" : "critical,digitalSignature");
  addExtension(signer.get(), NID_ext_key_usage, (is_ca ? "" : "critical,") + key_usage);
  X509_sign(signer.get(), root_key.get(), EVP_sha384());
  return {der<X509>(&i2d_X509, signer.get()), keyPem(key.get()), der<X509>(&i2d_X509, root.get())};
}

Signer issue(const FakeAuthority& ca, const Wanted& wanted) {
  const OwnedKey key{EVP_EC_gen("P-256")};
  const OwnedX509 issuer = certificateOf(ca.signer_der);
  const OwnedKey issuer_key = keyOf(ca.signer_key);
  const OwnedX509 out = bare("", key.get(), issuer.get());
  setTimes(out.get(), wanted.from, wanted.until);
  addExtension(out.get(), NID_key_usage, "critical,digitalSignature");
  addExtension(out.get(), NID_ext_key_usage, wanted.is_for_code_signing ? "codeSigning" : "clientAuth");
  if (!wanted.subject.empty()) {
    addExtension(out.get(), NID_subject_alt_name, "critical," + wanted.subject);
  }
  addExtension(out.get(), "1.3.6.1.4.1.57264.1.1", wanted.issuer);
  if (!wanted.has_old_issuer_only) {
    std::string text{"\x0c"};  // UTF8String
    text += static_cast<char>(wanted.issuer.size());
    addExtension(out.get(), "1.3.6.1.4.1.57264.1.8", text + wanted.issuer);
  }
  X509_sign(out.get(), issuer_key.get(), EVP_sha256());
  if (wanted.log != nullptr) {
    addPromise(out.get(), issuer.get(), wanted);
    X509_sign(out.get(), issuer_key.get(), EVP_sha256());
  }
  const std::string bytes = der<X509>(&i2d_X509, out.get());
  return {*PrivateKey::parse(keyPem(key.get()), ""), bytes, certificatePem(bytes)};
}

std::string stampOf(const FakeAuthority& authority, std::string_view stamped, Wall at) {
  const std::unique_ptr<TS_REQ, Freer<TS_REQ_free>> request{TS_REQ_new()};
  const std::unique_ptr<TS_MSG_IMPRINT, Freer<TS_MSG_IMPRINT_free>> imprint{TS_MSG_IMPRINT_new()};
  const std::unique_ptr<X509_ALGOR, Freer<X509_ALGOR_free>> algorithm{X509_ALGOR_new()};
  X509_ALGOR_set_md(algorithm.get(), EVP_sha256());
  std::string hash = *decodeHex(sha256Hex(stamped));
  TS_MSG_IMPRINT_set_algo(imprint.get(), algorithm.get());
  TS_MSG_IMPRINT_set_msg(imprint.get(), reinterpret_cast<unsigned char*>(hash.data()),
                         static_cast<int>(hash.size()));
  TS_REQ_set_version(request.get(), 1);
  TS_REQ_set_msg_imprint(request.get(), imprint.get());
  TS_REQ_set_cert_req(request.get(), 1);
  const Bio in{BIO_new(BIO_s_mem())};
  i2d_TS_REQ_bio(in.get(), request.get());
  const std::unique_ptr<TS_RESP_CTX, Freer<TS_RESP_CTX_free>> context{TS_RESP_CTX_new()};
  const OwnedX509 signer = certificateOf(authority.signer_der);
  const OwnedKey key = keyOf(authority.signer_key);
  const std::unique_ptr<ASN1_OBJECT, Freer<ASN1_OBJECT_free>> policy{OBJ_txt2obj("1.2.3.4.1", 1)};
  long seconds = std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
  TS_RESP_CTX_set_signer_cert(context.get(), signer.get());
  TS_RESP_CTX_set_signer_key(context.get(), key.get());
  TS_RESP_CTX_set_signer_digest(context.get(), EVP_sha256());
  TS_RESP_CTX_set_def_policy(context.get(), policy.get());
  TS_RESP_CTX_add_md(context.get(), EVP_sha256());
  TS_RESP_CTX_set_serial_cb(context.get(), &aSerial, nullptr);
  TS_RESP_CTX_set_time_cb(context.get(), &aTime, &seconds);
  const std::unique_ptr<TS_RESP, Freer<TS_RESP_free>> response{
      TS_RESP_create_response(context.get(), in.get())};
  return der<TS_RESP>(&i2d_TS_RESP, response.get());
}

}  // namespace gs::signature
