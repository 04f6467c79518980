-- A feature in two parts of one delta.
INSERT INTO cells SELECT delta, part + 1, n_features, n_cells, sizes, text, lengths, labels, docs, more, totals FROM cells;
