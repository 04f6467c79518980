UPDATE cells SET text = pack(zeroblob(500000000)) WHERE delta = (SELECT min(delta) FROM deltas);
