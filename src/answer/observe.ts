/**
 * Counts answers by zone and copies samples of them, after each answer was made. The reader of observation.ts decides
 * how many samples it wants; a full ring drops them, so that nothing here ever waits.
 */
// hot

import type { Clock } from '../base/clock.js';
import { Rcode } from '../dns/codes.js';
import { RRsetSource } from '../dns/rr.js';
import { ZONE_HEADER, ZoneWord } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import { Decided } from './balance/choose.js';
import { countPool } from './balance/count-pools.js';
import { answerWith } from './engine.js';
import {
  DNSSEC_OK,
  INDEX_SHIFT,
  IndexWord,
  Mark,
  MOST_TRIED,
  type ObservationBlock,
  type ObservationPlace,
  observationBlock,
  ROW,
  ROWS,
  Row,
  SampleWord,
  SIGNED,
  SKIP,
  Word,
} from './observation.js';
import type { Engine } from './state.js';
import { tallyAnswer } from './tally.js';
import { type Answer, type Client, DEFERRED } from './transport.js';

/** A zone keeps its row against this many questions for others, times {@link MISSES_TO_AGE}. */
const OLDEST = 16;
/**
 * One in this many questions for zones without a row makes the rows older that it could have used. After each look of the reader it takes
 * few for the first time: where little is asked, a zone need not wait long for a row.
 */
const MISSES_TO_AGE = 128;
const FIRST_MISSES_TO_AGE = 16;
/** Octets of a request that are kept when only the question is of interest. */
const QUESTION_OCTETS = 12 + 255 + 4;

interface Observer {
  readonly block: ObservationBlock;
  readonly engine: Engine;
  readonly image: ImageReader;
  readonly clock: Clock;
  /** Answers until the control words are read again, and how many that were from the last time on. */
  left: number;
  span: number;
  /** Answers since the last sample of each kind. */
  sinceSample: number;
  sinceLog: number;
  /** The zone of the last answer and the first double of its row. */
  zone: number;
  row: number;
  /** Questions for zones without a row since rows were made older, and {@link Word.epoch} at that time. */
  misses: number;
  agedEpoch: number;
}

/** What the reader asks for is noticed after this many answers. */
const LONGEST_SPAN = 64;

/** An engine that is observed. `engine`: its state. */
export function createObservedEngine(
  image: ImageReader,
  engine: Engine,
  place: ObservationPlace,
  clock: Clock,
): Answer {
  const answer = answerWith(engine, image);
  const block = observationBlock(place);
  const observer: Observer = {
    block,
    engine,
    image,
    clock,
    left: 1,
    span: 1,
    sinceSample: 0,
    sinceLog: 0,
    zone: 0,
    row: 0,
    misses: 0,
    agedEpoch: 0,
  };
  return function observed(request, start, length, response, at, limit, transport, client) {
    observer.left -= 1;
    const marks = observer.left > 0 ? 0 : marksOf(observer);
    const began = marks === 0 ? 0 : clock.steadyUs();
    const written = answer(request, start, length, response, at, limit, transport, client);
    if (written === DEFERRED) return written;
    countAnswer(observer, written);
    if (observer.row !== 0 && written !== 0 && block.control[Word.epoch] !== 0)
      tallyAnswer(block, engine, image, transport, client);
    if (marks !== 0)
      putSample(observer, marks, began, request, start, length, response, at, written, transport, client);
    return written;
  };
}

/** What this answer is sampled for; decides when that is asked again. */
function marksOf(observer: Observer): number {
  const control = observer.block.control;
  let marks = 0;
  let span = LONGEST_SPAN;
  if (control[Word.tap] !== 0) {
    marks = Mark.tap;
    span = 1;
  }
  const stride = control[Word.stride]!;
  if (stride !== 0) {
    observer.sinceSample += observer.span;
    if (observer.sinceSample >= stride) {
      observer.sinceSample = 0;
      marks |= Mark.statistics;
    }
    span = Math.min(span, stride - observer.sinceSample);
  }
  const logStride = control[Word.logStride]!;
  if (logStride !== 0) {
    observer.sinceLog += observer.span;
    if (observer.sinceLog >= logStride) {
      observer.sinceLog = 0;
      marks |= Mark.log;
    }
    span = Math.min(span, logStride - observer.sinceLog);
  }
  observer.span = span;
  observer.left = span;
  return marks;
}

/** NOERROR and plain answers are the rest, and the reader's to compute. */
function countAnswer(observer: Observer, written: number): void {
  const engine = observer.engine;
  const rows = observer.block.rows;
  const zone = engine.search.zone;
  if (zone !== observer.zone) {
    observer.row = zone === 0 ? 0 : findRow(observer, zone);
    // A zone without a row asks again with its next question.
    observer.zone = observer.row === 0 ? 0 : zone;
  }
  const row = observer.row;
  rows[row + Row.queries]! += 1;
  if (written === 0) {
    rows[row + Row.unanswered]! += 1;
    return;
  }
  rows[row + Row.octets]! += written;
  const response = engine.response;
  if (response.rcode !== Rcode.noError) rows[row + rcodePlace(response.rcode)]! += 1;
  if (response.truncated) rows[row + Row.truncated]! += 1;
  if (engine.sources !== 0) rows[row + sourcePlace(engine.sources)]! += 1;
  if (response.dnssecOk && isSigned(observer)) rows[row + Row.signed]! += 1;
  if (zone === 0) rows[row + Row.foreign]! += 1;
  const decided = engine.search.balance.decided;
  if (decided === Decided.nothing) return;
  rows[row + Row.balanced - Decided.pool + decided]! += 1;
  if (decided !== Decided.none) countPool(observer.block, engine.search.balance);
}

function rcodePlace(rcode: number): number {
  switch (rcode) {
    case Rcode.nxDomain:
      return Row.nxDomain;
    case Rcode.servFail:
      return Row.servFail;
    case Rcode.refused:
      return Row.refused;
    default:
      return Row.otherRcode;
  }
}

function sourcePlace(sources: number): number {
  if ((sources & RRsetSource.https) !== 0) return Row.https;
  return (sources & RRsetSource.proxied) !== 0 ? Row.proxied : Row.flattened;
}

/** Whether signatures or proofs belong to the answer. */
function isSigned({ engine, image }: Observer): boolean {
  const record = engine.search.zoneRecord;
  return engine.response.dnssecOk && record !== 0 && image.words[record + ZoneWord.denial] !== 0;
}

/**
 * The first double of the row that counts a zone. Row 0 while all that it may use are used by others; each miss makes
 * these older, so that busy zones keep their rows and forgotten ones lose them.
 */
function findRow(observer: Observer, zone: number): number {
  const index = observer.block.index;
  const first = Math.imul(zone, 0x9e3779b1) >>> 8;
  let free = 0;
  for (let i = 0; i < MOST_TRIED; i++) {
    const line = 1 + ((first + i) & (ROWS - 1));
    const at = line << INDEX_SHIFT;
    if (index[at + IndexWord.zone] === zone) {
      if (index[at + IndexWord.age]! < OLDEST) index[at + IndexWord.age]! += 1;
      return line * ROW;
    }
    if (free === 0 && (index[at + IndexWord.zone] === 0 || index[at + IndexWord.age]! <= 0)) free = line;
  }
  if (free !== 0) return takeRow(observer, free, zone);
  // To pass a row on costs more than an answer: with many times more zones than rows it would happen at every question.
  observer.misses += 1;
  const epoch = observer.block.control[Word.epoch]!;
  if (observer.misses < (epoch === observer.agedEpoch ? MISSES_TO_AGE : FIRST_MISSES_TO_AGE)) return 0;
  observer.misses = 0;
  observer.agedEpoch = epoch;
  for (let i = 0; i < MOST_TRIED; i++) index[((1 + ((first + i) & (ROWS - 1))) << INDEX_SHIFT) + IndexWord.age]! -= 1;
  return 0;
}

/** What the row counted so far moves to row 0, so that the sums of all rows never fall. */
function takeRow(observer: Observer, line: number, zone: number): number {
  const { index, rows, rowOctets: octets } = observer.block;
  const at = line << INDEX_SHIFT;
  const row = line * ROW;
  const words = observer.image.words;
  index[at + IndexWord.zone] = 0;
  for (let place: number = Row.queries; place < Row.apex; place++) {
    rows[place]! += rows[row + place]!;
    rows[row + place] = 0;
  }
  const record = observer.engine.search.zoneRecord;
  const length = words[record + ZoneWord.name]! & 0xff;
  const from = (record + ZONE_HEADER) * 4;
  const to = (row + Row.apex) * 8;
  octets[to] = length;
  for (let i = 0; i < length; i++) octets[to + 1 + i] = observer.image.bytes[from + i]!;
  index[at + IndexWord.age] = 1;
  index[at + IndexWord.zone] = zone;
  return row;
}

function putSample(
  observer: Observer,
  marks: number,
  began: number,
  request: Uint8Array,
  start: number,
  length: number,
  response: Uint8Array,
  at: number,
  written: number,
  transport: number,
  client: Client | undefined,
): void {
  const { control, ring, ringOctets } = observer.block;
  const engine = observer.engine;
  const isTap = (marks & Mark.tap) !== 0;
  const record = engine.search.zoneRecord;
  const asked = isTap ? length : Math.min(length, QUESTION_OCTETS);
  const answered = isTap ? written : 0;
  const apex = record === 0 ? 0 : observer.image.words[record + ZoneWord.name]! & 0xff;
  const size = SampleWord.octets + 8 + wordsOf(apex) + wordsOf(asked) + wordsOf(answered);
  const sample = reserve(observer.block, size);
  if (sample < 0) {
    control[Word.dropped]! += 1;
    return;
  }
  const took = observer.clock.steadyUs() - began;
  const beganAt = observer.clock.nowUs() - took;
  const known = client === undefined ? 0 : client.length;
  const own = client === undefined ? 0 : client.ownLength;
  ring[sample + SampleWord.length] = size;
  ring[sample + SampleWord.seconds] = Math.floor(beganAt / 1e6);
  ring[sample + SampleWord.micros] = beganAt % 1e6;
  ring[sample + SampleWord.took] = Math.min(took, 0x7fffffff);
  ring[sample + SampleWord.facts] = marks | (transport << 8) | (engine.sources << 16) | flagsOf(observer);
  ring[sample + SampleWord.rcode] = (engine.response.rcode & 0xfff) | (known << 16) | (own << 24);
  ring[sample + SampleWord.apex] = apex | ((client === undefined ? 0 : client.port) << 16);
  ring[sample + SampleWord.messages] = asked | (answered << 16);
  ring[sample + SampleWord.size] = written;
  let to = (sample + SampleWord.octets) * 4;
  if (client !== undefined) {
    putOctets(ringOctets, to, client.source, client.at, known);
    putOctets(ringOctets, to + 16, client.own, client.ownAt, own);
  }
  to += 32;
  if (apex > 0) putOctets(ringOctets, to, observer.image.bytes, (record + ZONE_HEADER) * 4, apex);
  to += wordsOf(apex) * 4;
  putOctets(ringOctets, to, request, start, asked);
  putOctets(ringOctets, to + wordsOf(asked) * 4, response, at, answered);
  Atomics.store(control, Word.head, (control[Word.head]! + size) | 0);
  if (control[Word.resting] !== 0) wakeReader(control);
}

function wakeReader(control: Int32Array): void {
  Atomics.store(control, Word.resting, 0);
  Atomics.notify(control, Word.resting);
}

function flagsOf(observer: Observer): number {
  return (isSigned(observer) ? SIGNED : 0) | (observer.engine.response.dnssecOk ? DNSSEC_OK : 0);
}

/** The place of a sample of `size` words; -1 when the reader has not made room. */
function reserve(block: ObservationBlock, size: number): number {
  const { control, ring } = block;
  const used = (control[Word.head]! - Atomics.load(control, Word.tail)) | 0;
  const at = control[Word.head]! & (ring.length - 1);
  const left = ring.length - at;
  if (size <= left) return used + size <= ring.length ? at : -1;
  if (used + left + size > ring.length) return -1;
  ring[at] = SKIP;
  Atomics.store(control, Word.head, (control[Word.head]! + left) | 0);
  return 0;
}

function wordsOf(octets: number): number {
  return (octets + 3) >>> 2;
}

function putOctets(to: Uint8Array, at: number, from: Uint8Array, start: number, length: number): void {
  for (let i = 0; i < length; i++) to[at + i] = from[start + i]!;
}
