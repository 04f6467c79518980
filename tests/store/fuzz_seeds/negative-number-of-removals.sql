UPDATE removals SET n_docs = -1;
