INSERT INTO transactions (tx, kind, time, n_docs, note)
    VALUES (1000, 'rename', '2024-01-01T00:00:00+00:00', 1, '{"label": [1], "to": {}}');
