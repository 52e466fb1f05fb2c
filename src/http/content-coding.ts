/** The content codings that a client accepts: `Accept-Encoding` (RFC 9110 §12.5.3). Pure. */
import { detachedText } from '../base/bytes.js';
import { listMembers } from './fields.js';

/** The codings that the edge makes. */
export type Coding = 'zstd' | 'br' | 'gzip';

/** Weights: 0 is what the client does not accept. */
export interface AcceptedCodings extends Readonly<Record<Coding, number>> {
  /** 0 unless the field names it: without a name it is accepted, and anything else is preferred. */
  readonly identity: number;
}

const NAMES: readonly Coding[] = ['zstd', 'br', 'gzip'];
/** Older clients use this name (RFC 9110 §8.4.1.3). */
const ALIASES: ReadonlyMap<string, string> = new Map([['x-gzip', 'gzip']]);
const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
const MOST_MEMBERS = 32;

/** What was read before: few values occur. */
const known = new Map<string, AcceptedCodings>();
const MOST_KNOWN = 256;
const LONGEST_KNOWN = 64;

export function acceptedCodings(value: string): AcceptedCodings {
  if (value.length > LONGEST_KNOWN) return read(value);
  let accepted = known.get(value);
  if (!accepted) {
    accepted = read(value);
    if (known.size >= MOST_KNOWN) known.clear();
    // It may be a part of a whole request head.
    known.set(detachedText(value), accepted);
  }
  return accepted;
}

function read(value: string): AcceptedCodings {
  const weights = new Map<string, number>();
  for (const member of listMembers(value.toLowerCase()).slice(0, MOST_MEMBERS)) {
    const [written = '', ...parameters] = member.split(';').map((text) => text.trim());
    const name = ALIASES.get(written) ?? written;
    if (!weights.has(name)) weights.set(name, weightOf(parameters));
  }
  const others = weights.get('*') ?? 0;
  const [zstd, br, gzip] = NAMES.map((name) => weights.get(name) ?? others);
  return { zstd: zstd!, br: br!, gzip: gzip!, identity: weights.get('identity') ?? 0 };
}

/** What is not a weight makes a coding one that is not accepted, because the plain form is always understood. */
function weightOf(parameters: readonly string[]): number {
  const [weight] = parameters;
  if (weight === undefined) return 1;
  const match = parameters.length === 1 ? WEIGHT.exec(weight) : null;
  return match ? Number(match[1]) : 0;
}

/** The coding that the client likes best; of equals, the one that comes first in `able`. Undefined: none. */
export function preferredCoding(accepted: AcceptedCodings, able: readonly Coding[]): Coding | undefined {
  let best: Coding | undefined;
  for (const coding of able) {
    const weight = accepted[coding];
    if (weight > 0 && weight >= accepted.identity && weight > (best ? accepted[best] : 0)) best = coding;
  }
  return best;
}

const NO_TRANSFORM = /(?:^|[,\s])no-transform(?:[,\s]|$)/i;

/** Whether a `Cache-Control` of a request or a response forbids other codings (RFC 9111 §5.2.1.6, §5.2.2.6). */
export function forbidsTransforming(cacheControl: string): boolean {
  return NO_TRANSFORM.test(cacheControl);
}

/**
 * `Accept-Encoding` for the origin: one of four values, so that few variants of a response are stored. Origins that make zstd are
 * rare, and the edge makes it of what they send.
 */
export function normalAcceptEncoding(accepted: AcceptedCodings): string {
  const { gzip, br, identity } = accepted;
  const [takesGzip, takesBr] = [gzip > 0 && gzip >= identity, br > 0 && br >= identity];
  if (takesGzip) return takesBr ? 'gzip, br' : 'gzip';
  return takesBr ? 'br' : 'identity';
}
