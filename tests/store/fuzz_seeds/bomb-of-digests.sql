UPDATE documents SET digests = pack(zeroblob(800000000)), n_docs = 50000000 WHERE block = (SELECT min(block) FROM documents);
