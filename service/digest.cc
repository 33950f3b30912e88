// SPDX-License-Identifier: Apache-2.0
// See digest.hh.
#include "service/digest.hh"

#include <gnutls/crypto.h>

#include <cstdlib>

namespace nvab {
namespace {

std::string to_hex(const unsigned char* bytes, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

}  // namespace

Sha256::Sha256() {
  gnutls_hash_hd_t handle = nullptr;
  // Fails without memory only; nothing can go on then.
  if (gnutls_hash_init(&handle, GNUTLS_DIG_SHA256) != 0) std::abort();
  handle_ = handle;
}

Sha256::~Sha256() {
  if (handle_ != nullptr) gnutls_hash_deinit(static_cast<gnutls_hash_hd_t>(handle_), nullptr);
}

void Sha256::update(std::string_view bytes) {
  gnutls_hash(static_cast<gnutls_hash_hd_t>(handle_), bytes.data(), bytes.size());
}

std::string Sha256::finish() {
  unsigned char digest[32];
  gnutls_hash_deinit(static_cast<gnutls_hash_hd_t>(handle_), digest);
  handle_ = nullptr;
  return to_hex(digest, sizeof(digest));
}

std::string fast_observation_id(const Observation& observation) {
  Sha256 digest;
  write_identity(observation, [&](std::string_view bytes) { digest.update(bytes); });
  return digest.finish();
}

std::string random_token() {
  unsigned char bytes[16];
  if (gnutls_rnd(GNUTLS_RND_KEY, bytes, sizeof(bytes)) != 0) std::abort();
  return to_hex(bytes, sizeof(bytes));
}

bool equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && gnutls_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace nvab
