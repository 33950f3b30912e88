// SPDX-License-Identifier: Apache-2.0
// See tls.hh.
#include "service/tls.hh"

#include <gnutls/gnutls.h>

namespace nvab {

bool has_valid_certificate(void* session) {
  unsigned count = 0;
  auto* const tls = static_cast<gnutls_session_t>(session);
  if (tls == nullptr || gnutls_certificate_get_peers(tls, &count) == nullptr || count == 0) {
    return false;
  }
  unsigned status = 0;
  return gnutls_certificate_verify_peers2(tls, &status) == GNUTLS_E_SUCCESS && status == 0;
}

}  // namespace nvab
