-- No date has so many microseconds.
UPDATE documents SET n_docs = 1, times = pack(x'ffffffffffffff7f'), text = pack('a'), sizes = pack(x'01'),
    digests = pack(zeroblob(16)), codes = pack(x'00'), source_codes = pack(x'00'), ids = x'';
