INSERT INTO removals SELECT NULL, block, tx, n_docs, places FROM removals;
