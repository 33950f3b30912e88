// SPDX-License-Identifier: Apache-2.0
// Packed logs: whole, many members, cut anywhere, damaged, bombs. The packers are the real ones,
// started as commands.
#include "common/base/decode.hh"

#include <unistd.h>
#include <filesystem>

#include <cstring>

#include "tests/cmocka.hh"

using namespace nvab;

static std::string folder;

static int make_folder(void**) {
  char name[] = "/tmp/nvab_test_decode.XXXXXX";
  if (mkdtemp(name) == nullptr) return -1;
  folder = name;
  return 0;
}

static int remove_folder(void**) { return std::system(("rm -rf " + folder).c_str()); }

// Lines that do not pack to nothing; the same for the same size.
static std::string sample_text(std::size_t size) {
  std::string text;
  unsigned state = 12345;
  while (text.size() < size) {
    state = state * 1103515245U + 12345U;
    text += "step " + std::to_string(state) + " loss 0." + std::to_string(state >> 7) + "\n";
  }
  text.resize(size);
  return text;
}

// What `command` makes of `text` ("gzip -c").
static std::string packed_by(const std::string& command, const std::string& text) {
  if (!write_file(folder + "/in", text)) std::abort();
  const std::string line = command + " < " + folder + "/in > " + folder + "/out";
  if (std::system(line.c_str()) != 0) fail_msg("%s failed", line.c_str());
  return *read_file(folder + "/out", std::size_t{1} << 30);
}

struct Decoded {
  std::string text;
  DecodeSummary summary;
  std::size_t largest_block = 0;
};

static Decoded decoded(const std::string& bytes) {
  if (!write_file(folder + "/log", bytes)) std::abort();
  const auto fd = open_regular(folder + "/log");
  Decoded result;
  const auto summary = decode_file(*fd, [&](std::string_view block) {
    result.text += block;
    result.largest_block = std::max(result.largest_block, block.size());
    return true;
  });
  if (!summary) fail_msg("%s", summary.error().message.c_str());
  result.summary = *summary;
  return result;
}

static void assert_whole(const std::string& bytes, const std::string& text) {
  const Decoded result = decoded(bytes);
  assert_true(result.text == text);
  assert_false(result.summary.truncated);
  assert_int_equal(result.summary.bytes_decoded, text.size());
  assert_int_equal(result.summary.bytes_read, bytes.size());
  assert_true(result.largest_block <= kReadBlock);
}

static void plain_and_packed_files_yield_the_same_bytes(void**) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{1000}, kReadBlock, kReadBlock + 1, 5 * kReadBlock + 17}) {
    const std::string text = sample_text(size);
    assert_whole(text, text);
    assert_whole(packed_by("gzip -c", text), text);
    assert_whole(packed_by("zstd -qc", text), text);
  }
  assert_whole("", "");
}

static void a_file_that_packs_to_nothing_unpacks_in_bounded_blocks(void**) {
  const std::string zeros(20 * kReadBlock, 'x');
  assert_whole(packed_by("gzip -9c", zeros), zeros);
  assert_whole(packed_by("zstd -qc", zeros), zeros);
}

static void members_and_frames_follow_one_another_at_any_border(void**) {
  std::string gz, zst, text;
  const std::string one = sample_text(300), two = sample_text(777);
  const std::string one_gz = packed_by("gzip -c", one), two_gz = packed_by("gzip -nc", two);
  const std::string one_zst = packed_by("zstd -qc", one), two_zst = packed_by("zstd -qc", two);
  while (gz.size() < 5 * kReadBlock) {
    gz += one_gz + two_gz;
    zst += one_zst + two_zst;
    text += one + two;
  }
  assert_whole(gz, text);
  assert_whole(zst, text);
  assert_whole(one_gz + std::string(1000, '\0'), one);  // padded, as from a tape
}

static void a_skippable_frame_in_front_is_skipped(void**) {
  const std::string skippable("\x50\x2A\x4D\x18\x04\0\0\0abcd", 12);
  assert_whole(skippable + packed_by("zstd -qc", "hello\n"), "hello\n");
}

static void a_cut_file_yields_what_was_readable_and_says_so(void**) {
  const std::string text = sample_text(2 * kReadBlock);
  for (const char* command : {"gzip -c", "zstd -qc"}) {
    const std::string bytes = packed_by(command, text);
    for (const std::size_t cut : {bytes.size() - 1, bytes.size() / 2, std::size_t{20}}) {
      const Decoded result = decoded(bytes.substr(0, cut));
      assert_true(result.summary.truncated);
      assert_true(text.starts_with(result.text));
      if (cut == bytes.size() / 2) assert_true(result.text.size() > text.size() / 4);
    }
  }
}

static void a_damaged_file_ends_at_the_damage(void**) {
  const std::string text = sample_text(2 * kReadBlock);
  std::string gz = packed_by("gzip -c", text);
  for (std::size_t i = 0; i < 64; ++i) gz[gz.size() / 2 + i] = '\xFF';
  const Decoded result = decoded(gz);
  assert_true(result.summary.truncated);
  // A flipped bit may still be a valid code: only what came before the damage is sure.
  assert_true(result.text.starts_with(text.substr(0, text.size() / 4)));
  assert_true(result.text != text);
  assert_true(decoded(packed_by("gzip -c", text) + "trailing rubbish").summary.truncated);
  assert_true(decoded(packed_by("zstd -qc", text) + "trailing rubbish").summary.truncated);
}

static void a_wrong_checksum_is_damage(void**) {
  std::string gz = packed_by("gzip -c", sample_text(1000));
  gz[gz.size() - 6] = static_cast<char>(gz[gz.size() - 6] ^ 1);
  assert_true(decoded(gz).summary.truncated);
}

static void every_flipped_byte_ends_without_harm(void**) {
  const std::string text = sample_text(2000);
  for (const char* command : {"gzip -c", "zstd -qc"}) {
    const std::string bytes = packed_by(command, text);
    for (std::size_t i = 4; i < bytes.size(); i += 3) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(~bad[i]);
      assert_true(decoded(bad).text.size() < 10'000'000);
    }
  }
}

static void damage_that_isal_overruns_is_only_damage(void**) {
  // Found by fuzzing: isa-l 2.30 reports two bytes more taken than there were.
  const unsigned char bytes[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xff, 0xe7, 0xca, 0x30, 0x33,
                                 0x30, 0xc3, 0xfe, 0xff, 0xff, 0x01, 0xe7, 0xda, 0x76, 0x20,
                                 0x01, 0x81, 0x33, 0x8c, 0xc2, 0x2c, 0x9d, 0x01, 0x00, 0x00};
  const std::string packed(reinterpret_cast<const char*>(bytes), sizeof bytes);
  assert_true(decode_buffer(packed, "gzip", 1000).error().code == Error::Code::malformed);
  assert_true(decoded(packed).summary.truncated);
}

static void the_caller_may_stop_early(void**) {
  for (const char* command : {"cat", "gzip -c", "zstd -qc"}) {
    if (!write_file(folder + "/log", packed_by(command, sample_text(8 * kReadBlock)))) std::abort();
    const auto fd = open_regular(folder + "/log");
    int calls = 0;
    const auto summary = decode_file(*fd, [&](std::string_view) { return ++calls < 2; });
    assert_int_equal(calls, 2);
    assert_int_equal(summary->bytes_decoded, 2 * kReadBlock);
    assert_false(summary->truncated);
  }
}

static void a_file_that_changes_while_it_is_read(void**) {
  const std::string path = folder + "/log";
  if (!write_file(path, sample_text(4 * kReadBlock))) std::abort();
  const std::size_t size = std::filesystem::file_size(path);
  const auto fd = open_regular(path);
  const auto grown = decode_file(*fd, [&](std::string_view) {
    std::filesystem::resize_file(path, 2 * size);
    return true;
  });
  assert_int_equal(grown->bytes_decoded, size);
  assert_false(grown->shrunk);
  const auto shrunk = decode_file(*fd, [&](std::string_view) {
    std::filesystem::resize_file(path, 0);
    return true;
  });
  assert_int_equal(shrunk->bytes_decoded, kReadBlock);
  assert_true(shrunk->shrunk);
}

static void a_buffer_is_unpacked_up_to_its_limit(void**) {
  const std::string text = sample_text(100'000);
  for (const char* encoding : {"gzip", "zstd"}) {
    const std::string packed = packed_by(std::string(encoding) + " -qc", text);
    assert_true(*decode_buffer(packed, encoding, 100'000) == text);
    const auto over = decode_buffer(packed, encoding, 99'999);
    assert_false(over.has_value());
    assert_true(over.error().code == Error::Code::unavailable);
    const auto cut = decode_buffer(packed.substr(0, packed.size() / 2), encoding, 100'000);
    assert_false(cut.has_value());
    assert_true(cut.error().code == Error::Code::malformed);
    assert_false(decode_buffer(packed + "x", encoding, 200'000).has_value());
  }
  assert_true(decode_buffer("x", "br", 10).error().code == Error::Code::unsupported);
  assert_true(decode_buffer("", "gzip", 10).error().code == Error::Code::malformed);
  assert_true(decode_buffer("not gzip", "gzip", 10).error().code == Error::Code::malformed);
}

static void a_bomb_is_noticed_at_the_limit(void**) {
  const std::string bomb = packed_by("(head -c 300000000 /dev/zero | gzip -9c)", "");
  assert_true(bomb.size() < 400'000);
  assert_true(decode_buffer(bomb, "gzip", 1'000'000).error().code == Error::Code::unavailable);
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(plain_and_packed_files_yield_the_same_bytes),
      cmocka_unit_test(a_file_that_packs_to_nothing_unpacks_in_bounded_blocks),
      cmocka_unit_test(members_and_frames_follow_one_another_at_any_border),
      cmocka_unit_test(a_skippable_frame_in_front_is_skipped),
      cmocka_unit_test(a_cut_file_yields_what_was_readable_and_says_so),
      cmocka_unit_test(a_damaged_file_ends_at_the_damage),
      cmocka_unit_test(a_wrong_checksum_is_damage),
      cmocka_unit_test(every_flipped_byte_ends_without_harm),
      cmocka_unit_test(damage_that_isal_overruns_is_only_damage),
      cmocka_unit_test(the_caller_may_stop_early),
      cmocka_unit_test(a_file_that_changes_while_it_is_read),
      cmocka_unit_test(a_buffer_is_unpacked_up_to_its_limit),
      cmocka_unit_test(a_bomb_is_noticed_at_the_limit),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
