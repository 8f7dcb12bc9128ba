-- The tables of a class's database (docs/class.md). A database runs the versions that it lacks, in
-- order. Never change a released one: add another.

-- version 1
CREATE TABLE student (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  alias   TEXT NOT NULL UNIQUE,
  number  TEXT NOT NULL DEFAULT '',
  login   TEXT NOT NULL DEFAULT '',
  email   TEXT NOT NULL DEFAULT '',
  section TEXT NOT NULL DEFAULT '',
  canvas  TEXT NOT NULL DEFAULT ''
);
CREATE TABLE submission (
  id        INTEGER PRIMARY KEY,
  student   INTEGER NOT NULL REFERENCES student(id),
  milestone TEXT NOT NULL,
  digest    TEXT NOT NULL,
  place     TEXT NOT NULL,
  received  TEXT NOT NULL,
  state     TEXT NOT NULL DEFAULT 'waiting',
  sentence  TEXT NOT NULL DEFAULT '',
  finding   TEXT NOT NULL DEFAULT '',
  passed    INTEGER NOT NULL DEFAULT 0,
  earned    REAL NOT NULL DEFAULT 0,
  counted   REAL NOT NULL DEFAULT 0,
  total     REAL NOT NULL DEFAULT 0,
  seconds   REAL NOT NULL DEFAULT 0,
  UNIQUE (student, milestone, digest)
);
CREATE TABLE result (
  submission INTEGER PRIMARY KEY REFERENCES submission(id),
  json       BLOB NOT NULL
);
CREATE TABLE speed (
  submission   INTEGER NOT NULL REFERENCES submission(id),
  stage        TEXT NOT NULL,
  batch        INTEGER NOT NULL,
  yours_ms     REAL NOT NULL,
  reference_ms REAL NOT NULL,
  floor_ms     REAL NOT NULL,
  speed        REAL NOT NULL,
  PRIMARY KEY (submission, stage, batch)
) WITHOUT ROWID;

-- version 2: lists go through the students by name, and for each through this, and need not sort
CREATE INDEX submission_order ON submission (student, milestone, received);
CREATE INDEX submission_milestone ON submission (milestone, state, passed);

-- version 3: a term: rules, outcomes that were replaced, what was found out later, words of a human
ALTER TABLE submission ADD COLUMN rules TEXT NOT NULL DEFAULT '';
ALTER TABLE speed ADD COLUMN precision TEXT NOT NULL DEFAULT '';
CREATE TABLE term (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  json TEXT NOT NULL
);
CREATE TABLE earlier (
  id         INTEGER PRIMARY KEY,
  submission INTEGER NOT NULL REFERENCES submission(id),
  replaced   TEXT NOT NULL,
  rules      TEXT NOT NULL,
  state      TEXT NOT NULL,
  sentence   TEXT NOT NULL,
  finding    TEXT NOT NULL,
  passed     INTEGER NOT NULL,
  earned     REAL NOT NULL,
  counted    REAL NOT NULL,
  total      REAL NOT NULL,
  json       BLOB
);
CREATE TABLE revocation (
  id         INTEGER PRIMARY KEY,
  submission INTEGER NOT NULL REFERENCES submission(id),
  reason     TEXT NOT NULL,
  evidence   TEXT NOT NULL,
  revoked    TEXT NOT NULL,
  restored   TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX revocation_open ON revocation (submission) WHERE restored = '';
CREATE TABLE comment (
  id         INTEGER PRIMARY KEY,
  milestone  TEXT NOT NULL,
  finding    TEXT NOT NULL,
  place      TEXT NOT NULL,
  submission INTEGER NOT NULL,
  text       TEXT NOT NULL,
  for_staff  INTEGER NOT NULL,
  written    TEXT NOT NULL
);

-- version 4: what students noted; each archive holds all that its student noted until then
CREATE TABLE hint (
  student   INTEGER NOT NULL REFERENCES student(id),
  milestone TEXT NOT NULL,
  list      TEXT NOT NULL,
  number    INTEGER NOT NULL,
  finding   TEXT NOT NULL,
  helped    INTEGER NOT NULL,
  PRIMARY KEY (student, milestone, list, number)
) WITHOUT ROWID;
CREATE TABLE prediction (
  student        INTEGER NOT NULL REFERENCES student(id),
  milestone      TEXT NOT NULL,
  stage          TEXT NOT NULL,
  limiter        TEXT NOT NULL,
  loads          REAL NOT NULL,
  inputs         REAL NOT NULL,
  op_ms          REAL NOT NULL,
  counted_loads  REAL NOT NULL,
  counted_inputs REAL NOT NULL,
  PRIMARY KEY (student, milestone, stage)
) WITHOUT ROWID;

-- version 5: the glossary's word
ALTER TABLE speed RENAME COLUMN floor_ms TO bound_ms;

-- version 6: a student may hand in an earlier version again, so a digest is not unique; what pages
-- show of submissions that are not revoked
CREATE TABLE submission_6 (
  id        INTEGER PRIMARY KEY,
  student   INTEGER NOT NULL REFERENCES student(id),
  milestone TEXT NOT NULL,
  digest    TEXT NOT NULL,
  place     TEXT NOT NULL,
  received  TEXT NOT NULL,
  state     TEXT NOT NULL DEFAULT 'waiting',
  sentence  TEXT NOT NULL DEFAULT '',
  finding   TEXT NOT NULL DEFAULT '',
  passed    INTEGER NOT NULL DEFAULT 0,
  earned    REAL NOT NULL DEFAULT 0,
  counted   REAL NOT NULL DEFAULT 0,
  total     REAL NOT NULL DEFAULT 0,
  seconds   REAL NOT NULL DEFAULT 0,
  rules     TEXT NOT NULL DEFAULT ''
);
INSERT INTO submission_6 SELECT * FROM submission;
DROP TABLE submission;
ALTER TABLE submission_6 RENAME TO submission;
CREATE INDEX submission_order ON submission (student, milestone, received);
CREATE INDEX submission_milestone ON submission (milestone, state, passed);

CREATE VIEW history AS
  SELECT submission, replaced AS time, 'until ' || replaced || ': ' ||
    printf('%g', round(earned, 1)) || ' points, ' || coalesce(nullif(finding, ''), 'no finding')
    AS words
  FROM earlier
  UNION ALL
  SELECT submission, revoked, 'revoked ' || revoked || ': ' || reason ||
    CASE evidence WHEN '' THEN '' ELSE ' Evidence: ' || evidence || '.' END ||
    CASE restored WHEN '' THEN '' ELSE ' Counts again since ' || restored || '.' END
  FROM revocation;

CREATE VIEW standing AS
  SELECT *, substr(received, 1, 10) AS day FROM submission s
  WHERE NOT EXISTS (SELECT 1 FROM revocation r WHERE r.submission = s.id AND r.restored = '');

CREATE VIEW overview AS
  SELECT milestone, count(*) AS submissions, sum(state = 'refused') AS refused,
    sum(state = 'stopped') AS stopped
  FROM standing GROUP BY milestone ORDER BY milestone;

CREATE VIEW submissions AS
  SELECT t.name, t.alias, s.milestone, a.attempt, s.received, s.state,
    printf('%g', round(s.earned, 1)) AS points, printf('%g', round(s.counted, 1)) AS "of",
    CASE s.passed WHEN 0 THEN s.finding ELSE 'passed' END AS finding
  FROM (SELECT id, row_number() OVER (PARTITION BY student, milestone ORDER BY received, id)
        AS attempt FROM submission) a
    JOIN standing s ON s.id = a.id
    JOIN student t ON t.id = s.student
  ORDER BY s.milestone, t.name, a.attempt;

CREATE VIEW passed_by_day AS
  WITH first AS (SELECT milestone, student, min(day) AS day FROM standing WHERE passed
                 GROUP BY milestone, student),
  new AS (SELECT milestone, day, count(*) AS students FROM first GROUP BY milestone, day)
  SELECT m.milestone, d.day, coalesce(sum(n.students), 0) AS students
  FROM (SELECT DISTINCT milestone FROM standing) m
    JOIN (SELECT DISTINCT day FROM standing) d
    LEFT JOIN new n ON n.milestone = m.milestone AND n.day <= d.day
  GROUP BY m.milestone, d.day ORDER BY m.milestone, d.day;

CREATE VIEW found_by_day AS
  SELECT milestone, finding, day, count(*) AS attempts FROM standing WHERE finding <> ''
  GROUP BY milestone, finding, day;

CREATE VIEW findings AS
  WITH had AS (
    SELECT milestone, finding, count(DISTINCT student) AS students, count(*) AS attempts
    FROM standing WHERE finding <> '' GROUP BY milestone, finding),
  still AS (
    SELECT milestone, finding, count(*) AS students
    FROM (SELECT milestone, finding, row_number() OVER (
            PARTITION BY student, milestone ORDER BY received DESC, id DESC) AS place
          FROM standing)
    WHERE place = 1 GROUP BY milestone, finding),
  worst AS (
    SELECT *, row_number() OVER (
      PARTITION BY milestone, finding ORDER BY attempts DESC, day) AS place
    FROM found_by_day)
  SELECT h.finding, h.milestone, h.students, h.attempts,
    1.0 * h.attempts / h.students AS "attempts each",
    coalesce(s.students, 0) AS "still have it", w.day AS "most on"
  FROM had h
    JOIN worst w ON w.milestone = h.milestone AND w.finding = h.finding AND w.place = 1
    LEFT JOIN still s ON s.milestone = h.milestone AND s.finding = h.finding
  ORDER BY h.attempts DESC, h.milestone, h.finding;

-- From the first day of each finding to its last.
CREATE VIEW findings_by_day AS
  WITH had AS (SELECT milestone, finding, min(day) AS first, max(day) AS last,
                 sum(attempts) AS attempts FROM found_by_day GROUP BY milestone, finding)
  SELECT h.milestone, d.day, coalesce(f.attempts, 0) AS attempts, h.finding
  FROM had h
    JOIN (SELECT DISTINCT day FROM standing) d ON d.day BETWEEN h.first AND h.last
    LEFT JOIN found_by_day f
      ON f.milestone = h.milestone AND f.finding = h.finding AND f.day = d.day
  ORDER BY h.attempts DESC, h.milestone, h.finding, d.day;

CREATE VIEW hints_read AS
  SELECT list || ', hint ' || number AS hint, milestone, count(*) AS students,
    sum(helped >= 0) AS "checked after it", sum(helped > 0) AS helped,
    coalesce(CAST(round(100.0 * sum(helped > 0) / nullif(sum(helped >= 0), 0)) AS INTEGER) || ' %',
             '-') AS share
  FROM hint GROUP BY milestone, list, number
  ORDER BY sum(helped > 0) DESC, milestone, list, number;

-- Medians of what is known.
CREATE VIEW predictions AS
  WITH known AS (
    SELECT milestone, stage, 'loads' AS what, loads AS value FROM prediction WHERE loads > 0
    UNION ALL
    SELECT milestone, stage, 'counted', counted_loads FROM prediction WHERE counted_loads > 0
    UNION ALL
    SELECT milestone, stage, 'expected', op_ms FROM prediction WHERE op_ms > 0
    UNION ALL
    SELECT p.milestone, p.stage, 'timed', v.yours_ms
    FROM prediction p
      JOIN standing s ON s.student = p.student AND s.milestone = p.milestone
      JOIN speed v ON v.submission = s.id AND v.stage = p.stage AND v.batch = 1000),
  ranked AS (
    SELECT *, count(*) OVER (PARTITION BY milestone, stage, what) AS number,
      row_number() OVER (PARTITION BY milestone, stage, what ORDER BY value) AS place
    FROM known),
  median AS (
    SELECT milestone, stage, what, avg(value) AS value FROM ranked
    WHERE place IN ((number + 1) / 2, (number + 2) / 2) GROUP BY milestone, stage, what),
  limits AS (
    SELECT milestone, stage, group_concat(limiter || ' ' || number, ', ') AS words
    FROM (SELECT milestone, stage, limiter, count(*) AS number FROM prediction
          GROUP BY milestone, stage, limiter ORDER BY number DESC, limiter)
    GROUP BY milestone, stage)
  SELECT p.stage, p.milestone, count(*) AS students,
    coalesce(a.value, '-') AS "loads predicted", coalesce(b.value, '-') AS "loads counted",
    coalesce(sum(loads > 0 AND loads BETWEEN counted_loads / 2 AND counted_loads * 2) || ' of ' ||
             nullif(sum(loads > 0 AND counted_loads > 0), 0), '-') AS "within 2×",
    coalesce(c.value, '-') AS "expected, ms",
    coalesce(d.value, '-') AS "timed, ms", l.words AS "what limits it"
  FROM prediction p
    JOIN limits l ON l.milestone = p.milestone AND l.stage = p.stage
    LEFT JOIN median a ON a.milestone = p.milestone AND a.stage = p.stage AND a.what = 'loads'
    LEFT JOIN median b ON b.milestone = p.milestone AND b.stage = p.stage AND b.what = 'counted'
    LEFT JOIN median c ON c.milestone = p.milestone AND c.stage = p.stage AND c.what = 'expected'
    LEFT JOIN median d ON d.milestone = p.milestone AND d.stage = p.stage AND d.what = 'timed'
  GROUP BY p.milestone, p.stage ORDER BY p.milestone, p.stage;

-- version 7: leaderboards by precision class: the best attempt of each student; equal times share a
-- rank
CREATE VIEW leaderboard AS
  WITH attempt AS (
    SELECT id, row_number() OVER (PARTITION BY student, milestone ORDER BY received, id) AS number
    FROM submission),
  timed AS (
    SELECT s.milestone, v.*, s.student, max(a.number) OVER one AS attempts,
      row_number() OVER (one ORDER BY v.yours_ms, a.number) AS place
    FROM speed v JOIN standing s ON s.id = v.submission JOIN attempt a ON a.id = s.id
    WINDOW one AS (PARTITION BY v.precision, s.milestone, v.stage, v.batch, s.student))
  SELECT b.milestone,
    b.milestone || ' ' || b.stage || ', batch ' || b.batch ||
      coalesce(', ' || nullif(b.precision, ''), '') AS what,
    t.name, t.alias,
    rank() OVER (PARTITION BY b.precision, b.milestone, b.stage, b.batch ORDER BY b.yours_ms)
      AS rank,
    b.yours_ms AS "op time, ms", b.speed AS "times the reference", b.attempts,
    b.reference_ms AS "reference, ms", b.bound_ms AS "bound, ms"
  FROM timed b JOIN student t ON t.id = b.student
  WHERE b.place = 1
  ORDER BY b.precision, b.milestone, b.stage, b.batch, b.yours_ms, t.name;

CREATE VIEW states AS
  SELECT milestone, state, count(*) AS submissions, sum(passed) AS passed FROM submission
  GROUP BY milestone, state ORDER BY milestone, state;

-- version 8: the pages' numbers of submissions, attempts, outcomes that were replaced
DROP VIEW overview;
CREATE VIEW overview AS
  SELECT milestone, count(*) AS submissions, sum(state = 'refused') AS refused,
    sum(state = 'stopped') AS stopped, count(DISTINCT student) AS students,
    count(DISTINCT iif(passed, student, NULL)) AS passed,
    printf('%g', round(max(earned), 1)) AS "most points"
  FROM standing GROUP BY milestone ORDER BY milestone;

-- Submissions as the lists show them, with the number of the attempt and why it is revoked.
CREATE VIEW attempts AS
  SELECT s.id, t.name, t.alias, s.milestone,
    (SELECT count(*) FROM submission e WHERE e.student = s.student AND e.milestone = s.milestone
       AND (e.received, e.id) <= (s.received, s.id)) AS attempt,
    s.place, s.received, s.state, s.sentence, s.finding, s.passed, s.earned, s.counted, s.total,
    s.seconds, s.rules,
    (SELECT reason FROM revocation r WHERE r.submission = s.id AND r.restored = '') AS revoked,
    t.login, t.number
  FROM submission s JOIN student t ON t.id = s.student;

-- An outcome with which grading had ended is kept, and what its successor may not have goes.
CREATE TRIGGER replace_outcome BEFORE UPDATE OF state ON submission BEGIN
  INSERT INTO earlier (submission, replaced, rules, state, sentence, finding, passed, earned,
      counted, total, json)
    SELECT id, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), rules, state, sentence, finding, passed,
      earned, counted, total, (SELECT json FROM result WHERE submission = id)
    FROM submission WHERE id = OLD.id AND state IN ('graded', 'refused', 'stopped');
  DELETE FROM result WHERE submission = OLD.id;
  DELETE FROM speed WHERE submission = OLD.id;
END;

-- version 9: the grader itself reads what students noted (database.cpp)
DROP TRIGGER IF EXISTS keep_notes;
DROP VIEW IF EXISTS notes;
