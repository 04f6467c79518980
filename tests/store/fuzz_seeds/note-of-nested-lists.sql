UPDATE transactions SET note = repeat('[', 100000);
