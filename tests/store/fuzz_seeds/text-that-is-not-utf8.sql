UPDATE documents SET text = pack(x'ffffffff'), sizes = pack(x'04'), n_docs = 1, digests = pack(zeroblob(16)),
    codes = pack(x'00'), source_codes = pack(x'00'), times = pack(x'01'), ids = x'';
