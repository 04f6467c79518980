UPDATE deltas SET sign = -1;
