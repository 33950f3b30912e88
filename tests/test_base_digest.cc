// SPDX-License-Identifier: Apache-2.0
// SHA-256 against the published vectors (FIPS 180-4 examples).
#include "common/base/digest.hh"

#include "tests/cmocka.hh"

static void the_published_vectors_come_out(void**) {
  assert_string_equal(nvab::sha256_hex("abc").c_str(),
                      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_string_equal(nvab::sha256_hex("").c_str(),
                      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert_string_equal(nvab::sha256_hex(std::string(1'000'000, 'a')).c_str(),
                      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void a_zero_byte_counts(void**) {
  assert_true(nvab::sha256_hex(std::string_view("\0", 1)) != nvab::sha256_hex(""));
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(the_published_vectors_come_out),
      cmocka_unit_test(a_zero_byte_counts),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
