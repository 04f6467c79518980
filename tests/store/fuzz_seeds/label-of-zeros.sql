UPDATE labels SET name = char(0) WHERE label = 0;
