-- What is learned takes away what was learned.
CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM cells; DELETE FROM deltas; END;
