"""bunrui in the pipelines of others: a module for each, named after the package that it serves."""
