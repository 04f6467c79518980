-- SQLite draws a random number for the next.
UPDATE transactions SET tx = 9223372036854775807 WHERE tx = (SELECT max(tx) FROM transactions);
