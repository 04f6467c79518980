UPDATE documents SET given = 1;
