// The classifier: features → scores → probabilities, and what each feature adds.  The formulas are those of
// bunrui/models/scorer.py, models/heads.py and calibration.py; bunrui/export/weights.py has written the numbers.

import { analyzing, bucket, encoder } from "./analyze.js";

const AHEAD = 1e-9;

/** The arrays of a page: base64 of deflated bytes, in which a header says where each array stands. */
export async function unpack(base64) {
  const packed = decode(base64);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const arrays = {};
  for (const [name, kind, start, length] of header.arrays) {
    arrays[name] = joinPlanes(bytes, 4 + size + start, length, KINDS[kind]);
  }
  return { header, arrays };
}

function decode(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < bytes.length; k++) bytes[k] = text.charCodeAt(k);
  return bytes;
}

const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };

/** Numbers of which all first bytes come first, then all second bytes: so they are deflated better. */
function joinPlanes(bytes, start, length, Kind) {
  const [out, width] = [new Kind(length), Kind.BYTES_PER_ELEMENT];
  const into = new Uint8Array(out.buffer);
  for (let plane = 0; plane < width; plane++) {
    const from = start + plane * length;
    for (let k = 0, to = plane; k < length; k++, to += width) into[to] = bytes[from + k];
  }
  return out;
}

// Words of a record: how long the text is, where its weights begin and end, the last document that had it, a number of
// its own in two words, and the text.
const [SIZE, FIRST, LAST, SEEN, OWN, TEXT] = [0, 1, 2, 3, 4, 6];

/**
 * A hash table of all features.  What is known of a feature stands in one record, and a slot has its hash and the place
 * of its record: a table of millions is nowhere near the processor, and each array more is one more way to memory.
 */
class Vocabulary {
  /** `own` has a number for every feature, or is null. */
  constructor({ prefixes, suffixes, texts, lengths }, width, own) {
    this.n = prefixes.length;
    const [bytes, ends] = spellOut(prefixes, suffixes, texts);
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    const room = 2 ** Math.max(4, Math.ceil(Math.log2(1.5 * this.n + 1)));
    this.mask = room - 1;
    this.slots = new Uint32Array(2 * room);
    const sizeOf = (k) => TEXT + 2 * Math.ceil((ends[k] - (k ? ends[k - 1] : 0)) / 4);
    let size = TEXT; // no record is at 0
    for (let k = 0; k < this.n; k++) size += sizeOf(k);
    this.words = new Uint32Array(size);
    this.units = new Uint16Array(this.words.buffer);
    this.numbers = new Float64Array(this.words.buffer);
    for (let k = 0, at = 0, r = TEXT, cell = 0; k < this.n; r += sizeOf(k), at = ends[k++]) {
      const h = hash(text, at, ends[k]);
      let slot = h & this.mask;
      while (this.slots[2 * slot + 1]) slot = (slot + 1) & this.mask;
      this.slots[2 * slot] = h;
      this.slots[2 * slot + 1] = r;
      this.words[r + SIZE] = ends[k] - at;
      this.words[r + FIRST] = cell;
      this.words[r + LAST] = cell += lengths ? lengths[k] : width;
      if (own) this.numbers[(r + OWN) >> 1] = own[k];
      for (let i = at, unit = 2 * (r + TEXT); i < ends[k]; ) this.units[unit++] = text.charCodeAt(i++);
    }
  }

  /** The number that a feature has of its own; 0 where features have none. */
  own(record) {
    return this.numbers[(record + OWN) >> 1];
  }

  /** The record of a feature, 0 where there is none. */
  find(feature) {
    const { slots, mask, words, units } = this;
    const h = hash(feature, 0, feature.length);
    for (let slot = h & mask; ; slot = (slot + 1) & mask) {
      const r = slots[2 * slot + 1];
      if (r === 0) return 0;
      if (slots[2 * slot] !== h || words[r + SIZE] !== feature.length) continue;
      let i = 0;
      for (let unit = 2 * (r + TEXT); i < feature.length && units[unit] === feature.charCodeAt(i); i++) unit++;
      if (i === feature.length) return r;
    }
  }
}

/** Sorted features of which each leaves out what it shares with the one before: all bytes, and where each ends in UTF-16. */
function spellOut(prefixes, suffixes, texts) {
  let size = 0;
  for (let k = 0; k < prefixes.length; k++) size += prefixes[k] + suffixes[k];
  const [bytes, ends] = [new Uint8Array(size), new Uint32Array(prefixes.length)];
  let [at, from, before, units] = [0, 0, 0, 0];
  for (let k = 0; k < prefixes.length; k++) {
    bytes.copyWithin(at, before, before + prefixes[k]);
    before = at;
    at += prefixes[k];
    for (const end = at + suffixes[k]; at < end; ) bytes[at++] = texts[from++];
    for (let i = before; i < at; i++) units += bytes[i] < 0x80 || bytes[i] >= 0xc0 ? (bytes[i] >= 0xf0 ? 2 : 1) : 0;
    ends[k] = units;
  }
  return [bytes, ends];
}

function hash(text, start, end) {
  let h = 0;
  for (let i = start; i < end; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x9e3779b1) ^ (h >>> 15);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Numbers, or places of them in a list of those that there are. */
function numbers(arrays, name) {
  const [places, values] = [arrays[name], arrays[`${name}_values`]];
  if (!values) return places;
  const out = new Float64Array(places.length);
  for (let k = 0; k < out.length; k++) out[k] = values[places[k]];
  return out;
}

export class Classifier {
  /** `header` says how to read, `arrays` has the weights: see bunrui/export/weights.py. */
  constructor({ header, arrays }) {
    Object.assign(this, header.model);
    this.analyze = analyzing(header.analyzer, arrays);
    const bits = header.analyzer.hash_bits;
    /** A feature as the weights have it. */
    this.written = bits ? (feature) => bucket(feature, bits) : (feature) => feature;
    this.weights = arrays.weights; // numbers, or their places in `values`, which are fewer bytes to fetch
    this.values = arrays.weights_values ?? null;
    this.classes = arrays.classes ?? null; // of each weight; none where each feature has one for every label
    this.isHead = "factors" in arrays;
    const own = numbers(arrays, this.isHead ? "factors" : "shared") ?? null;
    this.vocabulary = new Vocabulary(arrays, this.width, own);
    this.turn = 0;
  }

  /** The weights of a feature are added `times` to sums. */
  add(record, times, sums) {
    const { classes, weights, values, vocabulary } = this;
    const [start, end] = [vocabulary.words[record + FIRST], vocabulary.words[record + LAST]];
    for (let j = start; j < end; j++) {
      sums[classes ? classes[j] : j - start] += times * (values ? values[weights[j]] : weights[j]);
    }
  }

  /** The features of a text: [feature, start, end]. */
  features(text) {
    const found = [];
    this.analyze(text, (...feature) => found.push(feature));
    return found;
  }

  /** The scores of a text, in the order of `labels`. */
  scores(text) {
    const found = [];
    this.analyze(text, (feature) => found.push(this.written(feature)));
    return this.score(found);
  }

  score(features) {
    return this.isHead ? this.scoreByHead(features) : this.scoreByCounts(features);
  }

  scoreByCounts(features) {
    const { vocabulary, presence } = this;
    const { words } = vocabulary;
    const sums = new Float64Array(this.labels.length);
    const turn = ++this.turn;
    const unknown = new Set();
    let [length, added, missing] = [0, 0, 0];
    for (const feature of features) {
      const record = vocabulary.find(feature);
      if (!record) {
        if (!this.smooth || (presence && unknown.has(feature))) continue;
        unknown.add(feature);
        missing++;
      } else if (!presence || words[record + SEEN] !== turn) {
        words[record + SEEN] = turn;
        length++;
        added += vocabulary.own(record);
        this.add(record, 1, sums);
      }
    }
    return sums.map((sum, c) => {
      const inner = this.slope[c] * length + (added + sum) + (this.smooth ? this.unseen[c] * missing : 0);
      return this.bias[c] + this.scale[c] * inner;
    });
  }

  scoreByHead(features) {
    const sums = new Float64Array(this.width);
    for (const [record, value] of this.readByHead(features)) this.add(record, value, sums);
    const margins = sums.map((sum, c) => sum + this.bias[c]);
    return this.labels.length === 2 ? Float64Array.of(-margins[0] / 2, margins[0] / 2) : margins;
  }

  /** Values of the known features of a text, by their records, divided by their length. */
  readByHead(features) {
    const { vocabulary } = this;
    const counts = new Map();
    for (const feature of features) {
      const record = vocabulary.find(feature);
      if (record) counts.set(record, (counts.get(record) ?? 0) + 1);
    }
    let square = 0;
    for (const [record, count] of counts) {
      const value = (this.presence ? 1 : this.log ? Math.log1p(count) : count) * vocabulary.own(record);
      counts.set(record, value);
      square += value * value;
    }
    const length = this.norm === "l2" && square > 0 ? Math.sqrt(square) : 1;
    for (const [record, value] of counts) counts.set(record, value / length);
    return counts;
  }

  /** P(label | text), in the order of `labels`, as `predict` gives it. */
  probabilities(scores, text) {
    const known = this.calibration;
    if (!known) return softmax(scores);
    const temperature = Math.exp(known.level + known.slope * Math.log1p(encoder.encode(text).length));
    const shares = softmax(scores.map((score) => score / temperature));
    const found = mapLargest(shares, ranked(scores)[0], known);
    // Without a known word, a text is no surer than the model is before it reads one.
    this.nothing ??= this.score([]);
    if (scores.some((score, c) => score !== this.nothing[c])) return found;
    const before = softmax(this.nothing);
    return Math.max(...before) < Math.max(...found) ? before : found;
  }

  /**
   * Why this label (by default the best one), and not another (by default the best of the others): the same as
   * `TextClassifier.explain`, with places in UTF-16.
   */
  explain(text, label = null, against = null) {
    const tokens = this.features(text);
    const features = tokens.map(([feature]) => this.written(feature));
    const spans = Map.groupBy(tokens, (_, place) => features[place]);
    const scores = this.score(features);
    const order = ranked(scores);
    label ??= order.find((c) => c !== against);
    against ??= order.find((c) => c !== label) ?? null;

    const values = this.isHead ? this.readByHead(features) : null;
    const contributions = [];
    const unknown = [];
    for (const [feature, places] of spans) {
      const record = this.vocabulary.find(feature);
      const name = Array.from(new Set(places.map(([name]) => name))).join(" | ");
      if (!record) unknown.push(name);
      if (!record && !this.smooth) continue;
      const times = values ? values.get(record) : this.presence ? 1 : places.length;
      const value = times * (this.weigh(record, label) - (against === null ? 0 : this.weigh(record, against)));
      contributions.push({ feature: name, value, count: places.length, spans: places.map(([, ...span]) => span) });
    }
    contributions.sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || byCodePoint(a.feature, b.feature));
    const before = this.score([]);
    return {
      label,
      against,
      scores,
      probabilities: this.probabilities(scores, text),
      bias: before[label] - (against === null ? 0 : before[against]),
      difference: scores[label] - (against === null ? 0 : scores[against]),
      contributions,
      unknown,
      text,
    };
  }

  /** What one occurrence of a feature adds to the score of a label; of a head, for each unit of its value. */
  weigh(record, c) {
    if (!record) return this.scale[c] * this.unseen[c];
    const sums = new Float64Array(this.width ?? this.labels.length);
    this.add(record, 1, sums);
    if (this.isHead) return this.labels.length === 2 ? ((c ? 1 : -1) * sums[0]) / 2 : sums[c];
    return this.scale[c] * (this.slope[c] + this.vocabulary.own(record) + sums[c]);
  }
}

/** The order of two strings, as in Python: UTF-16 would put U+E000 to U+FFFF behind emoji. */
function byCodePoint(a, b) {
  let i = 0;
  while (i < a.length && i < b.length && a.charCodeAt(i) === b.charCodeAt(i)) i++;
  if (i === a.length || i === b.length) return a.length - b.length;
  const rank = (unit) => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);
  return rank(a.charCodeAt(i)) - rank(b.charCodeAt(i));
}

/** Places of scores, the highest first; ties by place. */
export const ranked = (scores) => Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a] || a - b);

function softmax(scores) {
  const top = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  let sum = 0;
  for (const score of scores) sum += Math.exp(score - top);
  const level = top + Math.log(sum);
  return scores.map((score) => Math.exp(score - level));
}

/** The largest share becomes what a map says; the others are rescaled, and stay below it. */
function mapLargest(shares, top, { confidences, accuracies }) {
  const n = shares.length;
  if (n === 1) return Float64Array.of(1);
  let others = shares.map((share, c) => (c === top ? 0 : share));
  let rest = others.reduce((sum, share) => sum + share, 0);
  if (rest === 0) {
    others = others.map((_, c) => (c === top ? 0 : 1)); // all others are too small for a float
    rest = n - 1;
  }
  const second = others.reduce((most, share) => Math.max(most, share), 0);
  const level = second / (rest + second);
  const sure = Math.max(interpolate(shares[top], confidences, accuracies), level + AHEAD * (1 - level));
  return others.map((share, c) => (c === top ? sure : (share / rest) * (1 - sure)));
}

/** The value between points that rise, as `numpy.interp` has it. */
function interpolate(x, xs, ys) {
  const k = xs.findLastIndex((one) => one <= x);
  if (k < 0) return ys[0];
  if (k === xs.length - 1) return ys[k];
  return ys[k] + ((ys[k + 1] - ys[k]) / (xs[k + 1] - xs[k])) * (x - xs[k]);
}
