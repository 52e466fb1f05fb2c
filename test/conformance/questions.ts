/** Useful queries for a zone: existing names, names above and below them, and nonexistent names. */
import { createHash } from 'node:crypto';
import { isAtOrBelow, lowerName, MAX_NAME_LENGTH, nameLength, parseName, printName } from '../../src/dns/name.js';
import { typeByMnemonic } from '../../src/dns/rr/registry.js';
import { readZone } from '../../src/dns/zonefile/parser.js';
import { makeQuery } from '../support/message.js';
import type { ZoneSource } from '../support/served-zones.js';

/** How a question is asked: what the client takes, and over what. */
export type Way = 'udp' | 'edns' | 'dnssec' | 'tcp' | 'dnssec-tcp';
export const WAYS: readonly Way[] = ['udp', 'edns', 'dnssec', 'tcp'];
/** For signed zones. */
export const SIGNED_WAYS: readonly Way[] = ['udp', 'dnssec', 'dnssec-tcp'];

export function isStream(way: Way): boolean {
  return way === 'tcp' || way === 'dnssec-tcp';
}

export interface Question {
  readonly name: Uint8Array;
  readonly type: number;
}

/** Asked of every name, whatever the zone holds. */
const ALWAYS: readonly number[] = [
  ...['A', 'AAAA', 'MX', 'NS', 'SOA', 'DS', 'CNAME', 'TXT', 'DNAME', 'TYPE65280'].map(
    (mnemonic) => typeByMnemonic(mnemonic)!.code,
  ),
  255,
];

/** Labels put below every owner; mostly there is nothing. */
const BELOW: readonly Uint8Array[] = ['a.', 'zz.', '*.', 'b.c.', 'x.y.zz.'].map((text) => parseName(text));

/** Every candidate name with every type of the zone and some more. */
export function questionsOf({ apex, text }: ZoneSource): Question[] {
  const origin = parseName(apex);
  const records = [...readZone({ text }, { origin }).records()].flat();
  const types = [...new Set([...ALWAYS, ...records.map(({ type }) => type)])];
  const owners = [...records.map(({ owner }) => owner), origin];
  return candidateNames(owners, origin).flatMap((name) => types.map((type) => ({ name, type })));
}

/** Owners, their ancestors inside the zone, and names below them; in lower case, each once. */
export function candidateNames(owners: readonly Uint8Array[], apex: Uint8Array): Uint8Array[] {
  const names = new Map<string, Uint8Array>();
  const add = (name: Uint8Array): void => {
    if (name.length <= MAX_NAME_LENGTH) names.set(Buffer.from(name).toString('latin1'), name);
  };
  for (const written of owners) {
    const owner = lowerName(written);
    for (let at = 0; at < owner.length; at += 1 + owner[at]!) {
      const name = owner.subarray(at, at + nameLength(owner, at));
      if (isAtOrBelow(name, apex)) add(name);
    }
    for (const labels of BELOW) add(new Uint8Array(Buffer.concat([labels.subarray(0, -1), owner])));
  }
  return [...names.keys()].sort().map((key) => names.get(key)!);
}

/** The query packet. Every other one has RD set, every third has letters in mixed case; always the same for one question. */
export function queryFor(question: Question, way: Way): Buffer {
  const digest = createHash('sha256').update(question.name).update(`${question.type}`).digest();
  const name = digest[0]! % 3 === 0 ? mixCase(question.name, digest) : question.name;
  const flags = digest[1]! & 1 ? 0x0100 : 0;
  if (way === 'edns') return makeQuery(name, question.type, { flags, edns: 1232 });
  if (way === 'dnssec' || way === 'dnssec-tcp')
    return makeQuery(name, question.type, { flags, edns: 4096, dnssecOk: true });
  return makeQuery(name, question.type, { flags });
}

/** Servers must not mind (RFC 4343 §3). Lengths of labels are below 64 and so not letters. */
function mixCase(name: Uint8Array, digest: Buffer): Uint8Array {
  return name.map((octet, at) =>
    octet >= 97 && octet <= 122 && digest[2 + (at % 30)]! & (1 << (at & 7)) ? octet - 32 : octet,
  );
}

export function printQuestion({ name, type }: Question): string {
  return `${printName(name)} TYPE${type}`;
}
