// SPDX-License-Identifier: Apache-2.0
// See annotations.hh.
#include "service/web/annotations.hh"

namespace nvab {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS annotation (
  id INTEGER PRIMARY KEY,
  created_us INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  context_key TEXT NOT NULL,
  author TEXT NOT NULL,
  sub_domain TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS annotation_by_context ON annotation (context_key, id);
)sql";

}  // namespace

Result<std::unique_ptr<Annotations>> Annotations::open(const std::string& path) {
  auto db = Db::open(path, Db::Mode::create);
  if (!db) return tl::unexpected(db.error());
  if (auto done = db->execute(kSchema); !done) return tl::unexpected(done.error());
  return std::unique_ptr<Annotations>(new Annotations(std::move(*db)));
}

Result<void> Annotations::add(const Annotation& annotation, Time now) {
  const std::lock_guard lock(mutex_);
  auto insert = db_.prepare(
      "INSERT INTO annotation (created_us, run_id, context_key, author, sub_domain, text) VALUES "
      "(?,?,?,?,?,?)");
  if (!insert) return tl::unexpected(insert.error());
  insert->bind(1, static_cast<long long>(now.time_since_epoch().count()))
      .bind(2, annotation.run_id);
  insert->bind(3, annotation.context_key).bind(4, annotation.author);
  insert->bind(5, annotation.sub_domain).bind(6, annotation.text);
  return insert->run();
}

Result<Json> Annotations::of_context(const std::string& context_key) {
  const std::lock_guard lock(mutex_);
  auto query = db_.prepare(
      "SELECT created_us, run_id, author, sub_domain, text FROM annotation WHERE context_key = ? "
      "ORDER BY id DESC LIMIT 100");
  if (!query) return tl::unexpected(query.error());
  query->bind(1, context_key);
  Json list = Json::array();
  for (;;) {
    const auto more = query->step();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return list;
    list.push(Json::object()
                  .set("time", Json::of(Time(Duration(query->integer(0)))))
                  .set("run_id", Json::of(query->integer(1)))
                  .set("author", Json::of(query->text(2)))
                  .set("sub_domain", Json::of(query->text(3)))
                  .set("text", Json::of(query->text(4))));
  }
}

}  // namespace nvab
