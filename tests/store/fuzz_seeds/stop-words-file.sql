-- A path that is not there: the error did not name the classifier.
UPDATE meta SET value = json_set(value, '$.stop_words', 'no such file') WHERE key = 'analyzer';
