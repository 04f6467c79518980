-- A string is a path: opening read the whole of it.
UPDATE meta SET value = json_set(value, '$.stop_words', '/dev/zero') WHERE key = 'analyzer';
