// SPDX-License-Identifier: Apache-2.0
// What libmicrohttpd leaves to its user: whether a client's certificate is good. Only user of
// GnuTLS.
#pragma once

namespace nvab {

// `session` is the connection's gnutls_session_t. True when the client showed a certificate that is
// valid now and signed by an authority that the server was given.
bool has_valid_certificate(void* session);

}  // namespace nvab
