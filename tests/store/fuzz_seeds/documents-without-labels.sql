-- Documents, but of no label.
UPDATE deltas SET n_docs = 4611686018427387904, n_labels = 0, labels = pack(''), doc_count = pack(''), n_terms = 0, n_doc_freq = 0;
DELETE FROM cells;
