UPDATE documents SET ids = pack('[' || repeat('[],', 30000000) || 'null]') WHERE block = (SELECT min(block) FROM documents);
