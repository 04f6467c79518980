UPDATE labels SET name = '' WHERE label = 0;
