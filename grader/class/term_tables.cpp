// What the database of a class keeps of a term: rules, replaced outcomes, revocations, comments,
// what students noted.
#include <algorithm>

#include "common/base/text.hpp"
#include "common/result/result.hpp"
#include "grader/class/database.hpp"

namespace convlab::grader {

std::vector<std::string> ClassDatabase::history(std::int64_t submission) const {
  return sqlite_->rows<std::string>(
      "SELECT words FROM history WHERE submission = ? ORDER BY time",
      [](std::string& words) { return std::tie(words); }, submission);
}

void ClassDatabase::set_sentence(std::int64_t submission, const std::string& sentence) {
  sqlite_->run("UPDATE submission SET sentence = ? WHERE id = ?", sentence, submission);
}

int ClassDatabase::attempts_in_hour_before(std::int64_t submission) const {
  return static_cast<int>(sqlite_->run(
      "SELECT count(*) FROM submission s JOIN submission e ON e.student = s.student AND "
      "e.milestone = s.milestone WHERE s.id = ? AND (e.received, e.id) < (s.received, s.id) AND "
      "e.received > strftime('%Y-%m-%dT%H:%M:%SZ', s.received, '-1 hour')",
      submission));
}

std::string ClassDatabase::term_text() const {
  const auto texts = sqlite_->rows<std::string>("SELECT json FROM term",
                                                [](std::string& text) { return std::tie(text); });
  return texts.empty() ? "" : texts.front();
}

void ClassDatabase::set_term_text(const std::string& text) {
  sqlite_->run("INSERT OR REPLACE INTO term VALUES (1, ?)", text);
}

void ClassDatabase::revoke(std::int64_t submission, const std::string& reason,
                           const std::string& evidence) {
  sqlite_->run("INSERT INTO revocation (submission, reason, evidence, revoked) VALUES (?, ?, ?, ?)",
               submission, reason, evidence, utc_now());
}

bool ClassDatabase::restore(std::int64_t submission) {
  return sqlite_->run(
             "UPDATE revocation SET restored = ? WHERE submission = ? AND restored = '' RETURNING "
             "1",
             utc_now(), submission) > 0;
}

void ClassDatabase::add_comment(const Comment& comment) {
  sqlite_->run(
      "INSERT INTO comment (milestone, finding, place, submission, text, for_staff, written) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      comment.milestone, comment.finding, comment.place, comment.submission, comment.text,
      comment.for_staff, utc_now());
}

bool ClassDatabase::remove_comment(std::int64_t id) {
  return sqlite_->run("DELETE FROM comment WHERE id = ? RETURNING 1", id) > 0;
}

std::vector<Comment> ClassDatabase::comments(const SubmissionRow& row) const {
  auto own = sqlite_->rows<Comment>(
      "SELECT id, milestone, finding, place, submission, text, for_staff, written "
      "FROM comment WHERE submission = ?1 OR (finding <> '' AND milestone = ?2) ORDER BY id",
      [](Comment& r) {
        return std::tie(r.id, r.milestone, r.finding, r.place, r.submission, r.text, r.for_staff,
                        r.written);
      },
      row.id, row.milestone);
  if (own.empty()) return own;
  const std::optional<CheckResult> check = result(row.id);
  std::erase_if(own, [&](const Comment& each) {
    if (each.finding.empty()) return false;
    return !check || std::ranges::none_of(check->findings, [&](const Finding& found) {
      // Line 4 is not line 41.
      return found.id == each.finding &&
             (each.place.empty() || find_word(found.seen, each.place) != std::string::npos);
    });
  });
  return own;
}

void ClassDatabase::keep_notes(std::int64_t student, const std::string& milestone,
                               const StudentNotes& notes) {
  const Notebook& notebook = notes.notebook;
  if (notebook.hints.empty() && notebook.predictions.empty()) return;
  sqlite_->transaction([&] {
    // Archives come in any order: one that was packed before the next check does not know yet
    // whether a hint helped.
    for (const ShownHint& hint : notebook.hints) {
      sqlite_->run(
          "INSERT INTO hint VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
          "helped = max(helped, excluded.helped)",
          student, milestone, hint.list, hint.number, hint.finding, helped(hint, notes.checks));
    }
    for (const auto& [stage, slip] : notebook.predictions) {
      const auto counted = notebook.explained.find(stage);
      const Counted now = counted == notebook.explained.end() ? Counted{} : counted->second;
      sqlite_->run(
          "INSERT INTO prediction VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
          "counted_loads = max(counted_loads, excluded.counted_loads), "
          "counted_inputs = max(counted_inputs, excluded.counted_inputs)",
          student, milestone, stage, slip.limiter, slip.loads, slip.inputs, slip.op_ms, now.loads,
          now.inputs);
    }
  });
}

ClassTables ClassDatabase::tables(const std::string& milestone) const {
  const auto view = [&](const std::string& name) {
    return sqlite_->table("SELECT * FROM " + name + " WHERE ?1 IN ('', milestone)", milestone);
  };
  return {view("overview"),        view("submissions"), view("passed_by_day"), view("findings"),
          view("findings_by_day"), view("hints_read"),  view("predictions")};
}

}  // namespace convlab::grader
