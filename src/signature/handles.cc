#include "signature/handles.h"

#include <fmt/core.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include <array>

#include "base/base64.h"

namespace gs::signature {

void FreeKey::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }
void FreeX509::operator()(x509_st* certificate) const { X509_free(certificate); }

std::string libraryError() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "it cannot be read" : reason;
}

std::string spkiOf(evp_pkey_st* key) {
  unsigned char* bytes = nullptr;
  const int size = i2d_PUBKEY(key, &bytes);
  if (size <= 0) { return ""; }
  std::string out{reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
  OPENSSL_free(bytes);
  return out;
}

std::string fromPem(std::string_view pem, std::string_view label) {
  const std::string begin = fmt::format("-----BEGIN {}-----", label);
  const std::string end = fmt::format("-----END {}-----", label);
  const std::size_t from = pem.find(begin);
  const std::size_t to = from == std::string_view::npos ? from : pem.find(end, from);
  if (to == std::string_view::npos) { return ""; }
  std::string text;
  for (const char c : pem.substr(from + begin.size(), to - from - begin.size())) {
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') { text += c; }
  }
  return decodeBase64(text).value_or("");
}

}  // namespace gs::signature
