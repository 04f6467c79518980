-- Pages that were swapped can leave a log of documents, and no counts: a choice of a model reads both.
DELETE FROM deltas;
DELETE FROM cells;
