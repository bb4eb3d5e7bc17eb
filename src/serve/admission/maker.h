// Keys and certificates for the webhook's machine, by net/certificate.h.
#pragma once

#include "admission/certificates.h"

namespace gs::serve {

class OpensslMaker final : public admission::Maker {
 public:
  Result<admission::Pair> make(const std::vector<std::string>& names, Life life) override;
  Result<Life> check(const admission::Pair& pair, const std::string& name) override;
};

}  // namespace gs::serve
