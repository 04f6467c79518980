-- A view in the place of a table never ends.
ALTER TABLE labels RENAME TO others;
CREATE VIEW labels AS WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c) SELECT x AS label, 'l' || x AS name FROM c;
