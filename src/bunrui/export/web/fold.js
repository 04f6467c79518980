// Folded text, by the tables that came with the classifier: what a browser knows of Unicode depends on its version.
// The same as in bunrui/kernel/normal.py, which says why.

const [KIND_SHIFT, PAYLOAD] = [29, (1 << 21) - 1];
const [OPEN, CLOSED, TRAILING, SEQUENCE, HARD] = [1, 2, 3, 5, 6];
const [L_FIRST, V_FIRST, T_BEFORE, S_FIRST] = [0x1100, 0x1161, 0x11a7, 0xac00];
const [L_COUNT, V_COUNT, T_COUNT] = [19, 21, 28];
const S_COUNT = L_COUNT * V_COUNT * T_COUNT;
const SIGMA = 0x3a3;
const [CASED, CASE_IGNORABLE] = [1, 2];
const BLOCK = 7; // bits of a place in a block

/** The value of every code point, from blocks of which equal ones are there once. */
export const lookup = (tables, name) => {
  const [index, blocks] = [tables[`${name}_index`], tables[`${name}_blocks`]];
  return (code) => blocks[(index[code >> BLOCK] << BLOCK) | (code & ((1 << BLOCK) - 1))];
};

/** Code points, and where each begins and ends in the text. */
class Folded {
  codes = [];
  starts = [];
  ends = [];

  add(code, start, end) {
    this.codes.push(code);
    this.starts.push(start);
    this.ends.push(end);
  }
}

/** A function from a code point to those that it becomes alone: a number, or a list. */
function alone(tables, name) {
  const change = lookup(tables, name);
  const { expansions } = tables;
  return (code) => {
    const entry = (change(code) ^ code) >>> 0;
    if (entry === code) return code;
    const [kind, payload] = [entry >>> KIND_SHIFT, entry & PAYLOAD];
    if (kind === HARD) return code;
    if (kind !== OPEN && kind !== CLOSED && kind !== SEQUENCE) return payload;
    return Array.from(expansions.subarray(payload + 1, payload + 1 + expansions[payload]));
  };
}

/** `s.lower()` of Python, the final sigma too. */
export function lowering(tables) {
  const single = alone(tables, "lower");
  const context = lookup(tables, "sigma");
  const meetsCased = (codes, at, step) => {
    for (; at >= 0 && at < codes.length; at += step) {
      if (context(codes[at]) !== CASE_IGNORABLE) return context(codes[at]) === CASED;
    }
    return false;
  };
  return (text) => {
    const [codes, starts] = points(text);
    const folded = new Folded();
    for (let i = 0; i < codes.length; i++) {
      const isFinal = codes[i] === SIGMA && meetsCased(codes, i - 1, -1) && !meetsCased(codes, i + 1, 1);
      const found = codes[i] === SIGMA ? (isFinal ? 0x3c2 : 0x3c3) : single(codes[i]);
      for (const code of typeof found === "number" ? [found] : found) folded.add(code, starts[i], starts[i + 1]);
    }
    return folded;
  };
}

/** NFKC, then case folding.  Only a run with code points that may join is decomposed, put in order and composed. */
export function folding(tables) {
  const single = alone(tables, "nfkc");
  const change = lookup(tables, "nfkc");
  const { compose, isMark } = composing(tables);

  function joins(code) {
    if (code < 0x300) return false;
    const kind = ((change(code) ^ code) >>> 0) >>> KIND_SHIFT;
    return kind >= TRAILING && kind <= SEQUENCE;
  }

  return (text) => {
    const [codes, starts] = points(text);
    const folded = new Folded();
    const addAlone = (i) => {
      const found = single(codes[i]);
      if (typeof found === "number") folded.add(found, starts[i], starts[i + 1]);
      else for (const code of found) folded.add(code, starts[i], starts[i + 1]);
    };
    let i = 0;
    while (i < codes.length) {
      let end = i + 1;
      while (end < codes.length && joins(codes[end])) end++;
      if (end === i + 1 && !joins(codes[i])) addAlone(i);
      else {
        for (const [from, to] of segments(codes, i, end)) {
          const piece = compose(codes, from, to).flatMap(single);
          const apart = Array.from({ length: to - from }, (_, k) => single(codes[from + k]));
          if (isSame(piece, apart.flat())) for (let k = from; k < to; k++) addAlone(k);
          else for (const code of piece) folded.add(code, starts[from], starts[to]);
        }
      }
      i = end;
    }
    return folded;
  };

  /** Pieces of a run: cut before a starter that does not compose with what it meets. */
  function* segments(codes, start, end) {
    for (let i = start + 1; i < end; i++) {
      if (isMark(codes[i])) continue;
      const parts = [...compose(codes, start, i), ...compose(codes, i, i + 1)];
      if (isSame(compose(codes, start, i + 1), parts)) {
        yield [start, i];
        start = i;
      }
    }
    yield [start, end];
  }
}

const isSame = (one, other) => one.length === other.length && one.every((code, k) => code === other[k]);

/** Code points, and where each begins; one more place at the end. */
function points(text) {
  const codes = [];
  const starts = [];
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at);
    codes.push(code);
    starts.push(at);
    at += code > 0xffff ? 2 : 1;
  }
  starts.push(text.length);
  return [codes, starts];
}

/** Canonical composition of the compatibility decomposition (UAX #15). */
function composing(tables) {
  const decompositions = new Map();
  let at = 0;
  tables.decomposed_codes.forEach((code, k) => {
    const size = tables.decomposed_lengths[k];
    decompositions.set(code, Array.from(tables.decomposed.subarray(at, at + size)));
    at += size;
  });
  const orders = new Map(Array.from(tables.mark_codes, (code, k) => [code, tables.mark_classes[k]]));
  const composites = new Map();
  for (let k = 0; k < tables.composites.length; k += 3) {
    composites.set(tables.composites[k] * 0x110000 + tables.composites[k + 1], tables.composites[k + 2]);
  }

  function decompose(code) {
    const syllable = code - S_FIRST;
    if (syllable < 0 || syllable >= S_COUNT) return decompositions.get(code) ?? [code];
    const final = syllable % T_COUNT;
    const rest = (syllable - final) / T_COUNT;
    const jamo = [L_FIRST + Math.floor(rest / V_COUNT), V_FIRST + (rest % V_COUNT)];
    return final ? [...jamo, T_BEFORE + final] : jamo;
  }

  /** What two code points become, or 0. */
  function pair(a, b) {
    if (a >= L_FIRST && a < L_FIRST + L_COUNT && b >= V_FIRST && b < V_FIRST + V_COUNT) {
      return S_FIRST + ((a - L_FIRST) * V_COUNT + b - V_FIRST) * T_COUNT;
    }
    const syllable = a - S_FIRST;
    if (syllable >= 0 && syllable < S_COUNT && syllable % T_COUNT === 0 && b > T_BEFORE && b < T_BEFORE + T_COUNT) {
      return a + b - T_BEFORE;
    }
    return composites.get(a * 0x110000 + b) ?? 0;
  }

  function compose(codes, from, to) {
    const settled = [];
    let starter = -1;
    let marks = [];

    /** Let the starter take in what it composes with; the marks that are left. */
    const joinMarks = () => {
      marks.sort((a, b) => a[0] - b[0]);
      let blocked = 0; // whatever is left blocks all of its class that follow
      const rest = marks.filter(([order, code]) => {
        const both = starter < 0 || order === blocked ? 0 : pair(starter, code);
        if (both) starter = both;
        else blocked = order;
        return !both;
      });
      marks = [];
      return rest;
    };
    const settle = (rest) => {
      if (starter >= 0) settled.push(starter);
      for (const [, code] of rest) settled.push(code);
    };

    for (let i = from; i < to; i++) {
      for (const code of decompose(codes[i])) {
        const order = orders.get(code);
        if (order) {
          marks.push([order, code]);
          continue;
        }
        const rest = joinMarks();
        const both = rest.length || starter < 0 ? 0 : pair(starter, code); // any mark that is left blocks a starter
        if (!both) settle(rest);
        starter = both || code;
      }
    }
    settle(joinMarks());
    return settled;
  }

  return { compose, isMark: (code) => orders.has(decompose(code)[0]) };
}
