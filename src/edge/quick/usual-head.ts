/**
 * Reads the head of a usual response of an origin, and prints the fields that its client gets, in one pass over the octets. Whatever it
 * is not certain of belongs to the general reader. What becomes of a field is decided by the sets of the general way. Pure.
 */
import { CONNECTION_FIELDS } from '../../http/fields.js';
import { NAME_OCTETS, VALUE_OCTETS } from '../../plain/field-lines.js';
import { STATUS_FIELDS } from '../cache/answer.js';
import { DIRECTIVE_FIELDS } from '../cache/directives.js';
import { WITHOUT_BODY } from '../exchange/exchange.js';
import { statusFailure } from '../exchange/origin-failure.js';
import { MOST_DIGITS } from '../http1/framing.js';
import { keepAliveSeconds, MOST_HEAD_OCTETS } from '../http1/response-reader.js';
import { HOP_BY_HOP } from '../proxy/headers.js';

const [CR, LF, COLON, SPACE, TAB, ZERO] = [13, 10, 58, 32, 9, 48];
const VERSION = Buffer.from('HTTP/1.1 ');
const KEEPS_ALIVE = Buffer.from('keep-alive');
const CLOSES = Buffer.from('close');

/** What becomes of a field. `STRANGE`: only the general way knows. `FIXED`: it is of a body that is encoded, or a part. */
const [KEPT, DROPPED, STRANGE, LENGTH, TYPE] = [0, 1, 2, 3, 4];
const [FIXED, DATE, DIRECTIVES, CONNECTION, KEEP_ALIVE] = [5, 6, 7, 8, 9];

type Special = readonly [name: Buffer, kind: number];

/** The fields that are not only kept, by the length of their names, in lower case. */
const SPECIAL: readonly (readonly Special[])[] = specialFields();

function specialFields(): Special[][] {
  const kinds = new Map<string, number>();
  for (const name of ['__proto__', ...CONNECTION_FIELDS, ...STATUS_FIELDS, ...DIRECTIVE_FIELDS]) {
    kinds.set(name, STRANGE);
  }
  for (const name of HOP_BY_HOP) kinds.set(name, DROPPED);
  kinds.set('transfer-encoding', STRANGE).set('connection', CONNECTION).set('keep-alive', KEEP_ALIVE);
  kinds.set('cache-control', DIRECTIVES).set('content-length', LENGTH).set('content-type', TYPE);
  kinds.set('content-encoding', FIXED).set('content-range', FIXED).set('date', DATE);
  const byLength: Special[][] = [];
  for (const [name, kind] of kinds) (byLength[name.length] ??= []).push([Buffer.from(name), kind]);
  return byLength;
}

/** To lower case. */
const LOWER = Uint8Array.from({ length: 256 }, (_, octet) => (octet >= 65 && octet <= 90 ? octet + 32 : octet));

/** Longer heads are not kept, so they are read each time. */
const MOST_KEPT_OCTETS = 2048;

/** The head that was read last, if it was a usual one: an origin that is asked for the same often sends the same octets. */
class LastHead {
  /** Octets of it; 0: there is none. */
  length = 0;
  /** Where its fields were printed. */
  at = 0;
  readonly fields = Buffer.allocUnsafeSlow(MOST_KEPT_OCTETS);
  private readonly octets = Buffer.allocUnsafeSlow(MOST_KEPT_OCTETS);

  begins(octets: Buffer): boolean {
    const { length } = this;
    // A head ends with its only empty line: another head nearly never has one at the same place.
    if (length === 0 || octets.length < length || octets[length - 1] !== LF || octets[length - 3] !== LF) return false;
    return octets.compare(this.octets, 0, length, 0, length) === 0;
  }

  keep(octets: Buffer, end: number, out: Buffer, at: number, printed: number): void {
    octets.copy(this.octets, 0, 0, end);
    out.copy(this.fields, 0, at, at + printed);
    this.length = end;
    this.at = at;
  }
}

/** Of the head that was read last. */
export class UsualHead {
  status = 0;
  /** Octets of the body. */
  length = -1;
  /** Octets that were printed. */
  printed = 0;
  hasDate = false;
  /** Whether its body is encoded, or a part. */
  isFixed = false;
  isLast = false;
  keepAliveS: number | undefined;
  /** As the origin sent them; empty if there is none. */
  directives = '';
  /** Where its type stands in what was printed: nobody asks for that of most. */
  private typeFrom = 0;
  private typeTo = 0;
  private readonly last = new LastHead();

  /**
   * Prints fields into `out` from `at` on, which has room for them. Returns where the head ends in `octets`; 0 if it is not a usual
   * one, or not complete.
   */
  read(octets: Buffer, out: Buffer, at: number): number {
    const { last } = this;
    if (last.at === at && last.begins(octets)) {
      last.fields.copy(out, at, 0, this.printed);
      return last.length;
    }
    last.length = 0;
    const end = this.readAnew(octets, out, at);
    if (end > 0 && end <= MOST_KEPT_OCTETS && this.printed <= MOST_KEPT_OCTETS)
      last.keep(octets, end, out, at, this.printed);
    return end;
  }

  private readAnew(octets: Buffer, out: Buffer, at: number): number {
    this.clear();
    let i = this.readStatus(octets);
    let to = at;
    if (i === 0) return 0;
    for (;;) {
      if (i + 1 >= octets.length || i > MOST_HEAD_OCTETS) return 0;
      if (octets[i] === CR) {
        if (octets[i + 1] !== LF || this.length < 0) return 0;
        this.printed = to - at;
        return i + 2;
      }
      const start = to;
      while (i < octets.length && NAME_OCTETS[octets[i]!] === 1) out[to++] = LOWER[octets[i++]!]!;
      if (to === start || octets[i] !== COLON) return 0;
      const kind = kindOf(out, start, to - start);
      i++;
      while (octets[i] === SPACE || octets[i] === TAB) i++;
      out[to++] = COLON;
      out[to++] = SPACE;
      const valueStart = to;
      while (i < octets.length && VALUE_OCTETS[octets[i]!] === 1) out[to++] = octets[i++]!;
      if (octets[i] !== CR || octets[i + 1] !== LF) return 0;
      i += 2;
      while (to > valueStart && (out[to - 1] === SPACE || out[to - 1] === TAB)) to--;
      if (kind !== KEPT && !this.note(kind, out, valueStart, to)) return 0;
      if (kind === DROPPED || kind === CONNECTION || kind === KEEP_ALIVE) to = start;
      else {
        out[to++] = CR;
        out[to++] = LF;
      }
    }
  }

  /** What `Content-Type` says, as the origin sent it; empty if there is none. `out`: as in {@link read}. */
  typeIn(out: Buffer): string {
    return out.toString('latin1', this.typeFrom, this.typeTo);
  }

  private clear(): void {
    this.length = -1;
    this.hasDate = false;
    this.isFixed = false;
    this.isLast = false;
    this.keepAliveS = undefined;
    this.directives = '';
    this.typeFrom = 0;
    this.typeTo = 0;
  }

  /** Returns where the first field begins; 0 for a status line that is not usual. */
  private readStatus(octets: Buffer): number {
    for (let i = 0; i < VERSION.length; i++) if (octets[i] !== VERSION[i]) return 0;
    let status = 0;
    let i = VERSION.length;
    for (; i < VERSION.length + 3; i++) {
      const digit = octets[i]! - ZERO;
      if (!(digit >= 0 && digit <= 9)) return 0;
      status = status * 10 + digit;
    }
    if (statusFailure(status) || WITHOUT_BODY.has(status)) return 0;
    this.status = status;
    if (octets[i] === SPACE) while (i < octets.length && VALUE_OCTETS[octets[i]!] === 1) i++;
    return octets[i] === CR && octets[i + 1] === LF ? i + 2 : 0;
  }

  /** False: the response is not usual. */
  private note(kind: number, out: Buffer, from: number, to: number): boolean {
    switch (kind) {
      case DROPPED:
        return true;
      case LENGTH:
        return this.noteLength(out, from, to);
      case TYPE:
        if (this.typeTo > this.typeFrom) return false;
        this.typeFrom = from;
        this.typeTo = to;
        return true;
      case FIXED:
        return (this.isFixed = true);
      case DATE:
        return (this.hasDate = true);
      case DIRECTIVES:
        this.directives += `${out.toString('latin1', from, to)},`;
        return true;
      case CONNECTION:
        if (isText(out, from, to, KEEPS_ALIVE)) return true;
        if (!isText(out, from, to, CLOSES)) return false;
        return (this.isLast = true);
      case KEEP_ALIVE:
        this.keepAliveS ??= keepAliveSeconds(out.toString('latin1', from, to));
        return true;
      default:
        return false;
    }
  }

  private noteLength(out: Buffer, from: number, to: number): boolean {
    if (this.length >= 0 || to === from || to - from > MOST_DIGITS) return false;
    let length = 0;
    for (let i = from; i < to; i++) {
      const digit = out[i]! - ZERO;
      if (digit < 0 || digit > 9) return false;
      length = length * 10 + digit;
    }
    this.length = length;
    return true;
  }
}

/** Whether a text in lower case stands in `out`, in whatever case. */
function isText(out: Buffer, from: number, to: number, text: Buffer): boolean {
  if (to - from !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (LOWER[out[from + i]!] !== text[i]) return false;
  return true;
}

/** Of the name in lower case that stands in `out`. */
function kindOf(out: Buffer, from: number, length: number): number {
  const named = SPECIAL[length];
  if (!named) return KEPT;
  next: for (const [name, kind] of named) {
    for (let i = 0; i < length; i++) if (out[from + i] !== name[i]) continue next;
    return kind;
  }
  return KEPT;
}
