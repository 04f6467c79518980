UPDATE deltas SET n_labels = -1;
