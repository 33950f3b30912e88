// SPDX-License-Identifier: Apache-2.0
// Packing, and that unpacking gives the same.
#include "common/base/encode.hh"

#include "common/base/decode.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

void what_is_packed_unpacks_to_the_same(void**) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += "rank " + std::to_string(i % 64) + ": step done\n";
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(70'000, '\0'), lines}) {
    const std::string packed = zstd_pack(text);
    assert_true(!packed.empty());
    const auto plain = decode_buffer(packed, "zstd", 1'000'000);
    assert_true(plain.has_value());
    assert_true(*plain == text);
  }
  assert_true(zstd_pack(lines).size() < lines.size() / 10);
}

void base64_is_that_of_the_rfc(void**) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : cases) assert_string_equal(base64(plain).c_str(), coded);
  assert_string_equal(base64(std::string_view("\0\xff\xfe", 3)).c_str(), "AP/+");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(what_is_packed_unpacks_to_the_same),
                              cmocka_unit_test(base64_is_that_of_the_rfc)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
