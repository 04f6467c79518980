-- JSON, but neither tokens nor counts.
UPDATE documents SET given = 1, text = pack('{"a":"b"}'), sizes = pack(x'09'), n_docs = 1, digests = pack(zeroblob(16)),
    codes = pack(x'00'), source_codes = pack(x'00'), times = pack(x'01'), ids = x'';
