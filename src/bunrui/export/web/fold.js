// Folded text, by the tables that came with the classifier: what a browser knows of Unicode depends on its version.
// The same as in bunrui/kernel/normal.py, which says why.

const [KIND_SHIFT, PAYLOAD] = [29, (1 << 21) - 1];
const [OPEN, CLOSED, TRAILING, SEQUENCE, HARD] = [1, 2, 3, 5, 6];
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

/**
 * NFKC, then case folding.  Only a run with code points that may join is composed, and the browser does that: it
 * composes all that the tables know in the same way, since Unicode never changes the composition of a known character.
 */
export function folding(tables) {
  const single = alone(tables, "nfkc");
  const change = lookup(tables, "nfkc");
  const isKnown = lookup(tables, "assigned");
  const marks = new Set(tables.mark_codes);
  const isMark = (code) => marks.has(String.fromCodePoint(code).normalize("NFKD").codePointAt(0));

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
    /** A piece of a run; its first code point may be newer than the tables, and then stays as it is. */
    const compose = (from, to) => {
      const first = isKnown(codes[from]) ? from : from + 1;
      return text.slice(starts[from], starts[first]) + text.slice(starts[first], starts[to]).normalize("NFKC");
    };
    /** Pieces of a run: cut before a starter that does not compose with what it meets. */
    function* segments(start, end) {
      for (let i = start + 1; i < end; i++) {
        if (isMark(codes[i]) || compose(start, i + 1) !== compose(start, i) + compose(i, i + 1)) continue;
        yield [start, i];
        start = i;
      }
      yield [start, end];
    }

    for (let i = 0, end; i < codes.length; i = end) {
      end = i + 1;
      while (end < codes.length && joins(codes[end])) end++;
      if (end === i + 1 && !joins(codes[i])) {
        addAlone(i);
        continue;
      }
      for (const [from, to] of segments(i, end)) {
        const piece = points(compose(from, to))[0].flatMap(single);
        if (isSame(piece, codes.slice(from, to).flatMap(single))) for (let k = from; k < to; k++) addAlone(k);
        else for (const code of piece) folded.add(code, starts[from], starts[to]);
      }
    }
    return folded;
  };
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
