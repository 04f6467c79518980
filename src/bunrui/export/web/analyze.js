// Text → features with their places, the same as in bunrui/kernel/reference.py, which defines them.

import { folding, lookup, lowering } from "./fold.js";

const [SPACE, WORD, MARK, KANA_HAN, HANGUL, UNSPACED, PUNCT, EMOJI, REGIONAL, MODIFIER, ZWJ, VS16, KEYCAP] =
  Array.from({ length: 13 }, (_, kind) => kind);
const AT_ONCE = 4096; // arguments of a call
const isDigit = (code) => code >= 48 && code <= 57;
const isScript = (kind) => kind >= KANA_HAN && kind <= UNSPACED;

/** A function that takes a text, and tells another one its features with their places, in the order of the text. */
export function analyzing(spec, tables) {
  const stop = new Set(spec.stop_words);
  return spec.name === "words" ? words(spec, tables, stop) : universal(spec, tables, stop);
}

/** A folded text, of which pieces can be cut out. */
class Cuttable {
  constructor(folded) {
    Object.assign(this, folded);
    this.n = this.codes.length;
    this.places = new Int32Array(this.n + 1);
    for (let i = 0; i < this.n; i++) this.places[i + 1] = this.places[i] + (this.codes[i] > 0xffff ? 2 : 1);
    this.text = "";
    for (let i = 0; i < this.n; i += AT_ONCE) this.text += String.fromCodePoint(...this.codes.slice(i, i + AT_ONCE));
  }

  cut(start, end) {
    return this.text.slice(this.places[start], this.places[end]);
  }
}

/** Tell the n-grams of units. */
function tellNgrams(tell, units, joint, folded) {
  for (let i = 0; i < units.length; i++) {
    const last = units[i];
    for (let n = last.shortest; n <= last.longest; n++) {
      let text = units[i - n + 1].text;
      for (let k = i - n + 2; k <= i; k++) text += joint + units[k].text;
      let [from, to] = [i - n + 1, i];
      while (units[from].end === units[from].start) from++; // the space at the edge of a run has no place
      while (units[to].end === units[to].start) to--;
      tell(text, folded.starts[units[from].start], folded.ends[units[to].end - 1]);
    }
  }
}

function words(spec, tables, stop) {
  const fold = lowering(tables);
  const isWord = lookup(tables, "word");
  return (text, tell) => {
    const folded = new Cuttable(fold(text));
    const units = [];
    for (let i = 0; i < folded.n; ) {
      let j = i;
      while (j < folded.n && isWord(folded.codes[j])) j++;
      const word = folded.cut(i, j);
      if (j > i && !stop.has(word)) {
        units.push({ text: word, start: i, end: j, shortest: 1, longest: Math.min(units.length + 1, spec.words) });
      }
      i = Math.max(j, i + 1);
    }
    tellNgrams(tell, units, " ", folded);
  };
}

function universal(spec, tables, stop) {
  const fold = folding(tables);
  const kindOf = lookup(tables, "class");
  const emoticons = new Set(spec.emoticons);
  const longestFirst = spec.emoticons.toSorted((a, b) => b.length - a.length);
  const emoticonsFrom = Map.groupBy(longestFirst, (emoticon) => emoticon.codePointAt(0));
  const orders = { [KANA_HAN]: spec.kana_han, [HANGUL]: spec.hangul, [UNSPACED]: spec.unspaced };

  return (text, tell) => {
    const folded = new Cuttable(fold(text));
    const { codes, n } = folded;
    const kinds = new Uint8Array(n + 3).fill(255); // nothing stands behind the end
    for (let i = 0; i < n; i++) kinds[i] = kindOf(codes[i]);
    let chain = [];

    const add = (unit, start, end) => {
      const longest = Math.min(chain.length + 1, spec.words);
      if (!stop.has(unit)) chain.push({ text: unit, start, end, shortest: 1, longest });
    };
    const finish = () => {
      tellNgrams(tell, chain, " ", folded);
      chain = [];
    };

    for (let i = 0; i < n; ) {
      let kind = kinds[i];
      let j = i + 1;
      const keycap = keycapEnd(i);
      if (kind === SPACE || kind === ZWJ || kind === VS16 || kind === KEYCAP) {
        i = j;
        continue;
      }
      if (keycap) [kind, j] = [EMOJI, keycap];
      else if (isScript(kinds[digitsEnd(i)])) {
        kind = kinds[digitsEnd(i)];
        j = runEnd(kind, i);
      } else if (kind === WORD || kind === MARK) {
        while ((kinds[j] === WORD || kinds[j] === MARK) && !keycapEnd(j)) j++;
      } else if (kind === PUNCT) {
        j = i + (emoticonSize(i) || 1);
        if (j === i + 1 && !spec.punctuation && !emoticons.has(folded.cut(i, j))) {
          i = j;
          continue;
        }
      } else if (kind === REGIONAL) {
        if (kinds[j] === REGIONAL) j++;
      } else {
        kind = EMOJI;
        for (;;) {
          if (kinds[j] === ZWJ && kinds[j + 1] === EMOJI) j += 2;
          else if (kinds[j] === MODIFIER || kinds[j] === VS16) j++;
          else break;
        }
      }
      take(kind, i, j);
      i = j;
    }
    finish();

    function take(kind, start, end) {
      if (kind === PUNCT && end - start > 1 && spec.punctuation) {
        // An emoticon: its marks one by one, then all of it.
        for (let i = start; i < end; i++) add(folded.cut(i, i + 1), i, i + 1);
      }
      if (isScript(kind)) {
        finish();
        tellNgrams(tell, characters(start, end, orders[kind]), "", folded);
        return;
      }
      const unit = folded.cut(start, end);
      add(kind === EMOJI ? unit.replaceAll("\ufe0f", "") : unit, start, end);
    }

    function digitsEnd(i) {
      while (i < n && isDigit(codes[i])) i++;
      return i;
    }

    /** Where the keycap sequence at a place ends, 0 if there is none. */
    function keycapEnd(i) {
      if (!isDigit(codes[i]) && codes[i] !== 35 && codes[i] !== 42) return 0;
      const j = kinds[i + 1] === VS16 ? i + 2 : i + 1;
      return kinds[j] === KEYCAP ? j + 1 : 0;
    }

    /** Where a run of a script ends; digits belong to it where no word goes on after them. */
    function runEnd(kind, j) {
      while (j < n) {
        const end = digitsEnd(j);
        const isInside = kinds[j] === kind || kinds[j] === MARK;
        const isCrossed = spec.across && (kinds[j] === PUNCT || kinds[j] === SPACE);
        const isJoined = end > j && ![WORD, MARK, VS16, KEYCAP].includes(kinds[end]);
        if (!isInside && !isCrossed && !isJoined) break;
        j = Math.max(j + 1, end);
      }
      return j;
    }

    /** The length of the longest emoticon at a place, or 0. */
    function emoticonSize(i) {
      for (const emoticon of emoticonsFrom.get(codes[i]) ?? []) {
        if (!folded.text.startsWith(emoticon, folded.places[i])) continue;
        const size = emoticon.length; // all of them are ASCII
        const after = kinds[i + size];
        if (kinds[i + size - 1] === WORD && (after === WORD || after === MARK)) continue;
        if (codes[i + size - 1] === 47 && codes[i + size] === 47) continue; // of http://
        return size;
      }
      return 0;
    }

    /** The characters of a run with a space at either edge, white space collapsed. */
    function characters(start, end, [shortest, longest]) {
      const units = [{ text: " ", start, end: start, shortest: Math.max(shortest, 2), longest: 1 }];
      let wasSpace = false;
      for (let i = start; i < end; i++) {
        const isSpace = kinds[i] === SPACE;
        if (isSpace && wasSpace) continue;
        units.push({
          text: isSpace ? " " : folded.cut(i, i + 1),
          start: i,
          end: i + 1,
          shortest: isSpace ? Math.max(shortest, 2) : shortest,
          longest: Math.min(units.length + 1, longest),
        });
        wasSpace = isSpace;
      }
      if (!wasSpace) {
        const most = Math.min(units.length + 1, longest);
        units.push({ text: " ", start: end, end, shortest: Math.max(shortest, 2), longest: most });
      }
      return units;
    }
  };
}

const MASK = (1n << 64n) - 1n;
export const encoder = new TextEncoder();

/** The name of the bucket of a feature, where features are hashed. */
export function bucket(feature, bits) {
  const text = encoder.encode(feature);
  const whole = text.length - (text.length % 8);
  const padded = new Uint8Array(whole + 8).fill(255);
  padded.set(text);
  const view = new DataView(padded.buffer);
  let h = (BigInt(text.length) * 0xa0761d6478bd642fn) & MASK;
  for (let at = 0; at <= whole; at += 8) {
    h = ((h ^ view.getBigUint64(at, true)) * 0x9e3779b97f4a7c15n) & MASK;
    h ^= h >> 32n;
  }
  h = (h * 0xd6e8feb86659fd93n) & MASK;
  h = (h ^ (h >> 32n)) & 0xffffffffn;
  return `#${(h >> BigInt(32 - bits)).toString(16).padStart(7, "0")}`;
}
