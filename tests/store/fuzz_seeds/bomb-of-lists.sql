-- JSON grows forty times when it is read.
UPDATE documents SET label_sets = pack('[' || repeat('[0],', 30000000) || '[0]]') WHERE block = (SELECT min(block) FROM documents);
