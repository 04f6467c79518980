INSERT INTO removals (block, tx, n_docs, places) SELECT block, tx, n_docs, places FROM removals;
