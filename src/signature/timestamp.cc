#include "signature/timestamp.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pkcs7.h>
#include <openssl/ts.h>
#include <openssl/x509_vfy.h>

#include <memory>

namespace gs::signature {
namespace {

constexpr std::size_t kMaxStamp = std::size_t{64} << 10;

using Token = std::unique_ptr<PKCS7, Freer<PKCS7_free>>;

tl::unexpected<Error> badStamp(const std::string& what) {
  ERR_clear_error();
  return fail(Code::Invalid, "timestamp: " + what);
}

/// Of a response, or bare.
Token tokenOf(std::string_view der) {
  if (der.size() > kMaxStamp) { return nullptr; }
  const unsigned char* at = bytesOf(der);
  const std::unique_ptr<TS_RESP, Freer<TS_RESP_free>> response{
      d2i_TS_RESP(nullptr, &at, static_cast<long>(der.size()))};
  if (response != nullptr) {
    PKCS7* token = TS_RESP_get_token(response.get());
    return Token{token == nullptr ? nullptr : PKCS7_dup(token)};
  }
  at = bytesOf(der);
  return Token{d2i_PKCS7(nullptr, &at, static_cast<long>(der.size()))};
}

/// Whole seconds: enough to say whether a certificate was valid.
Result<std::time_t> timeIn(PKCS7* token) {
  if (PKCS7_type_is_signed(token) != 1) { return badStamp("it is not signed"); }
  const std::unique_ptr<TS_TST_INFO, Freer<TS_TST_INFO_free>> info{PKCS7_to_TS_TST_INFO(token)};
  std::tm parts{};
  if (info == nullptr || ASN1_TIME_to_tm(TS_TST_INFO_get_time(info.get()), &parts) != 1) {
    return badStamp("its time cannot be read");
  }
  return ::timegm(&parts);
}

/// Of the root, as things were then; nullptr: a certificate cannot be read. Freed by the TS_VERIFY_CTX.
X509_STORE* storeOf(const Chain& authority, std::time_t at) {
  const unsigned char* bytes = bytesOf(authority.back());
  const OwnedX509 root{d2i_X509(nullptr, &bytes, static_cast<long>(authority.back().size()))};
  if (root == nullptr) { return nullptr; }
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, root.get());
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store), at);
  return store;
}

/// Freed by the TS_VERIFY_CTX.
STACK_OF(X509) * certificatesOf(const Chain& authority) {
  STACK_OF(X509)* out = sk_X509_new_null();
  for (const std::string& der : authority) {
    const unsigned char* bytes = bytesOf(der);
    X509* one = d2i_X509(nullptr, &bytes, static_cast<long>(der.size()));
    if (one != nullptr) { sk_X509_push(out, one); }
  }
  return out;
}

}  // namespace

Result<Wall> checkTimestamp(std::string_view response, std::string_view stamped, const Chain& authority) {
  const Token token = tokenOf(response);
  if (token == nullptr) { return badStamp("it is none (RFC 3161)"); }
  const auto time = timeIn(token.get());
  if (!time) { return tl::unexpected(time.error()); }
  X509_STORE* store = authority.empty() ? nullptr : storeOf(authority, *time);
  if (store == nullptr) { return badStamp("a certificate of the trusted root cannot be read"); }
  const std::unique_ptr<TS_VERIFY_CTX, Freer<TS_VERIFY_CTX_free>> context{TS_VERIFY_CTX_new()};
  TS_VERIFY_CTX_set_flags(context.get(), TS_VFY_SIGNATURE | TS_VFY_VERSION | TS_VFY_DATA);
  TS_VERIFY_CTX_set_store(context.get(), store);
  TS_VERIFY_CTX_set_certs(context.get(), certificatesOf(authority));
  TS_VERIFY_CTX_set_data(context.get(), BIO_new_mem_buf(stamped.data(), static_cast<int>(stamped.size())));
  if (TS_RESP_verify_token(context.get(), token.get()) != 1) { return badStamp(libraryError()); }
  ERR_clear_error();
  return Wall{std::chrono::seconds{*time}};
}

}  // namespace gs::signature
