-- Times with and without a zone cannot be compared.
UPDATE transactions SET time = '2020-01-01T00:00:00';
