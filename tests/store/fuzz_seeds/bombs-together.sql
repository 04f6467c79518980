-- Each alone is small enough.
CREATE TEMP TABLE bomb AS SELECT pack(zeroblob(300000000)) AS content;
CREATE TEMP TABLE copy AS SELECT * FROM documents;
UPDATE copy SET block = block + 1000;
INSERT INTO documents SELECT * FROM copy;
UPDATE copy SET block = block + 1000;
INSERT INTO documents SELECT * FROM copy;
UPDATE documents SET text = (SELECT content FROM bomb);
