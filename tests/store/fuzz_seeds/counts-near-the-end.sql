-- Sums that do not fit into 64 bits.
UPDATE deltas SET n_labels = 1, labels = pack(x'00'), n_docs = 4611686018427387904, doc_count = pack(x'0000000000000040');
