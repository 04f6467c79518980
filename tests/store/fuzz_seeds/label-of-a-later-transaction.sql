-- Undoing takes away labels that others have used.
UPDATE labels SET tx = (SELECT max(tx) FROM transactions WHERE undone IS NULL);
