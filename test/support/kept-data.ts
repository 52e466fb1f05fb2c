/** Data directories of released versions, kept in the tree, and what their servers answered. */
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { nameLength, parseName } from '../../src/dns/name.js';
import type { TsigKey } from '../../src/dns/tsig.js';
import { typesOfBitmap } from '../../src/dns/type-bitmap.js';
import { decodeMessage, makeQuery } from './message.js';
import { askAll } from './reference-servers.js';
import { asSet } from './transfer-client.js';

export const ADMIN_KEY = 'kept-data-key-0123456789-0123456789-0123456789';
export const TSIG: TsigKey = {
  name: parseName('kept.test.'),
  algorithm: 'hmac-sha256',
  secret: Buffer.from('0123456789abcdef0123456789abcdef'),
};
const RELEASED = resolve('test/store/released');
const RRSIG = '46';
const SOA = '6';
const NSEC = '47';
/** CDS and CDNSKEY: published when the keys have been so for long enough (RFC 7344). */
const KEY_SIGNALS = [59, 60];
const NAMES = ['', 'www.', 'alias.', 'none.', 'a.wild.', 'x.sub.', '_s._tcp.', 'added.'] as const;
const TYPES = [1, 2, 6, 15, 16, 28, 33, 48] as const;
export const ZONES = ['plain.example', 'signed.example'] as const;

/**
 * RCODE and sections of the answers to all questions, without what changes with time: of signatures only that they are there, no
 * serials, and not whether there are CDS and CDNSKEY records.
 */
export async function answersOf(port: number): Promise<unknown[]> {
  const questions = ZONES.flatMap((zone) =>
    NAMES.flatMap((name) => TYPES.map((type) => [`${name}${zone}.`, type] as const)),
  );
  const messages = await askAll(
    port,
    questions.map(([name, type]) => makeQuery(parseName(name), type, { edns: 1232, dnssecOk: true })),
    2000,
    5,
  );
  return messages.map((message, index) => {
    const { rcode, answer, authority } = decodeMessage(message!);
    const sections = [answer, authority].map((section) => [...new Set(asSet(section).map(withoutTimes))]);
    return [...questions[index]!, rcode, ...sections];
  });
}

function withoutTimes(record: string): string {
  const fields = record.split(' ');
  if (fields[2] === RRSIG) return fields.slice(0, 3).join(' ');
  if (fields[2] === NSEC) return [...fields.slice(0, 3), withoutSignals(Buffer.from(fields[3]!, 'hex'))].join(' ');
  return fields[2] === SOA ? record.replace(/[0-9a-f]{8}([0-9a-f]{32})$/, 'serial$1') : record;
}

/** Of a record of denial: the next name, and the types but for {@link KEY_SIGNALS}. */
function withoutSignals(rdata: Buffer): string {
  const end = nameLength(rdata);
  const types = typesOfBitmap(rdata, end, rdata.length).filter((type) => !KEY_SIGNALS.includes(type));
  return `${rdata.toString('hex', 0, end)} ${types}`;
}

/** Keeps a stopped server's directory with what it answered. */
export function keepData(release: string, data: string, answers: readonly unknown[]): void {
  const kept = join(RELEASED, `${release}-data`);
  mkdirSync(kept, { recursive: true });
  writeFileSync(join(kept, 'zoneplane.db.gz'), gzipSync(readFileSync(join(data, 'zoneplane.db')), { level: 9 }));
  copyFileSync(join(data, 'master.key'), join(kept, 'master.key'));
  writeFileSync(join(kept, 'answers.json.gz'), gzipSync(JSON.stringify(answers), { level: 9 }));
}

/** Lays a kept directory at `data`; returns what its server answered. */
export function layOut(release: string, data: string): readonly unknown[] {
  const kept = join(RELEASED, `${release}-data`);
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(data, 'zoneplane.db'), gunzipSync(readFileSync(join(kept, 'zoneplane.db.gz'))), { mode: 0o600 });
  copyFileSync(join(kept, 'master.key'), join(data, 'master.key'));
  chmodSync(join(data, 'master.key'), 0o600);
  return JSON.parse(gunzipSync(readFileSync(join(kept, 'answers.json.gz'))).toString()) as unknown[];
}
