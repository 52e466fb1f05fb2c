/** The served zone and the queries, reproducible from their sizes. */

import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';

export const ZONE = 'bench.example';

/**
 * Writes a zone with `names` host names (70 % with an AAAA record too), a wildcard, a delegation and a CNAME chain. `net`:
 * first octet of all addresses; `withOrigin`: whether the file says its zone.
 */
export async function writeZone(path: string, names: number, { net = 10, withOrigin = true } = {}): Promise<void> {
  const out = createWriteStream(path);
  const head = [
    ...(withOrigin ? [`$ORIGIN ${ZONE}.`] : []),
    '$TTL 3600',
    '@ SOA ns1 hostmaster 1 7200 3600 1209600 300',
    '@ NS ns1',
    '@ NS ns2',
    'ns1 A 192.0.2.1',
    'ns2 A 192.0.2.2',
    '*.wild A 192.0.2.3',
    'sub NS ns1.sub',
    'sub NS ns2.sub',
    'ns1.sub A 192.0.2.4',
    'ns2.sub A 192.0.2.5',
    'c0 CNAME c1',
    'c1 CNAME c2',
    'c2 CNAME c3',
    'c3 A 192.0.2.6',
  ];
  out.write(`${head.join('\n')}\n`);
  for (let i = 0; i < names; i++) {
    let text = `h${i} A ${net}.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}\n`;
    if (i % 10 < 7) text += `h${i} AAAA 2001:db8::${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}\n`;
    if (!out.write(text)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}

export type Case = 'mix' | 'nxdomain' | 'referral' | 'chain' | 'wildcard' | 'found' | 'nodata';

export const CASES: readonly Case[] = ['mix', 'nxdomain', 'referral', 'chain', 'wildcard'];

/** Writes a query file for dnsperf: 70 % A, 15 % AAAA and 15 % missing names in the mix, one kind in all other cases. */
export function writeQueries(path: string, kind: Case, names: number, count = 200_000): void {
  let state = 12345;
  const random = (limit: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 0x100000000) * limit);
  };
  const lines: string[] = [];
  for (let i = 0; i < count; i++) lines.push(question(kind, random, names));
  writeFileSync(path, `${lines.join('\n')}\n`);
}

function question(kind: Case, random: (limit: number) => number, names: number): string {
  switch (kind) {
    case 'nxdomain':
      return `x${random(1e9)}.${ZONE} A`;
    case 'referral':
      return `x${random(1e6)}.sub.${ZONE} A`;
    case 'chain':
      return `c0.${ZONE} A`;
    case 'found':
      return `h${random(names)}.${ZONE} A`;
    case 'nodata':
      return `h${random(names)}.${ZONE} MX`;
    case 'wildcard':
      return `x${random(1e6)}.wild.${ZONE} A`;
    case 'mix': {
      const part = random(100);
      if (part < 70) return `h${random(names)}.${ZONE} A`;
      if (part < 85) return `h${random(names)}.${ZONE} AAAA`;
      return `x${random(1e9)}.${ZONE} A`;
    }
  }
}
