UPDATE documents SET text = pack(zeroblob(500000000)) WHERE block = (SELECT min(block) FROM documents);
