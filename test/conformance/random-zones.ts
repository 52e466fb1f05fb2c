/**
 * Random zones over few labels, so that wildcards, zone cuts, aliases and empty non-terminals often interact; some have
 * a child zone on the same server. Reproducible by seed.
 */

import { parseName } from '../../src/dns/name.js';
import { typeByMnemonic } from '../../src/dns/rr/registry.js';
import { seededRandom } from '../support/seeded-random.js';
import type { ZoneSource } from '../support/served-zones.js';
import type { AskedZone } from './comparison.js';
import { candidateNames } from './questions.js';

const LABELS = ['a', 'b', 'c', '*'];
/** As often as they shall come. */
const OWN_TYPES =
  'A A A A AAAA AAAA TXT MX SRV NS NS NS CNAME CNAME CNAME DNAME CAA HTTPS SVCB NAPTR PTR DS TYPE65280'.split(' ');
const ASKED_TYPES = [
  ...'A A A AAAA NS CNAME MX TXT SOA DS SRV DNAME HTTPS SVCB NAPTR PTR CAA TYPE65280 TYPE65281'
    .split(' ')
    .map((mnemonic) => typeByMnemonic(mnemonic)!.code),
  255,
];

interface Dice {
  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
}

export function makeRandomZones(seed: number, count: number, questionsEach: number): AskedZone[] {
  // Seeds that are close to each other must not give sequences that are.
  const octets = seededRandom(Math.imul(seed + 1, 0x9e3779b1));
  octets.bytes(64);
  const below = (limit: number): number => {
    const [a, b] = octets.bytes(2);
    return ((a! << 8) | b!) % limit;
  };
  const dice: Dice = { below, pick: (list) => list[below(list.length)]! };
  const apexes = Array.from({ length: count }, (_, index) => `z${index}.test.`);
  return apexes
    .flatMap((apex) => (below(5) === 0 ? [apex, `${dice.pick(['a', 'b.a', 'c', 'b.*'])}.${apex}`] : [apex]))
    .map((apex) => askRandomly(makeZone(apex, apexes, dice), questionsEach, dice));
}

function askRandomly(zone: ZoneSource, count: number, { pick }: Dice): AskedZone {
  const apex = parseName(zone.apex);
  const owners = zone.text.split('\n').flatMap((line) => line.split(' ', 1).filter((owner) => owner !== ''));
  const names = candidateNames(
    owners.map((owner) => parseName(owner)),
    apex,
  );
  const questions = Array.from({ length: count }, () => ({ name: pick(names), type: pick(ASKED_TYPES) }));
  return { ...zone, questions };
}

type Node = Map<string, Set<string>>;

function makeZone(apex: string, apexes: readonly string[], dice: Dice): ZoneSource {
  const { below, pick } = dice;
  const nodes = new Map<string, Node>();
  const name = (): string => `${Array.from({ length: 1 + below(4) }, () => pick(LABELS)).join('.')}.${apex}`;
  const target = (): string => {
    const kind = below(20);
    if (kind < 14) return below(4) === 0 ? name() : name().replaceAll('*', 'b');
    if (kind < 15) return apex;
    return pick(['x.other.', '.', `ns.${pick(apexes)}`, `a.${pick(apexes)}`]);
  };
  nodes.set(apex, new Map([['SOA', new Set()]]));
  if (below(12) === 0) addRecord(nodes, apex, 'DNAME', target());
  for (let left = 4 + below(16); left > 0; left--) {
    const owner = below(15) === 0 ? apex : name();
    const type = pick(OWN_TYPES);
    const copies = below(40) === 0 ? 45 : 1;
    for (let i = 0; i < copies; i++) addRecord(nodes, owner, type, makeRdata(type, dice, target));
  }
  dropBelowDnames(nodes);
  const ttls = ['300', '300', '300', '0', '60', '86400'];
  const lines = [
    `${apex} ${pick(['3600', '60', '0'])} IN SOA ns.${apex} h.${apex} 1 2 3 4 ${pick(['300', '7200', '0'])}`,
    `${apex} 3600 IN NS ns.other.`,
  ];
  for (const [owner, types] of nodes) {
    for (const [type, rdatas] of types) {
      const ttl = owner === apex && type === 'NS' ? '3600' : pick(ttls);
      for (const rdata of rdatas) lines.push(`${owner} ${ttl} IN ${type} ${rdata}`);
    }
  }
  return { apex, text: `${lines.join('\n')}\n` };
}

function makeRdata(type: string, { below }: Dice, target: () => string): string {
  switch (type) {
    case 'A':
      return `10.0.${below(2)}.${below(50)}`;
    case 'AAAA':
      return `2001:db8::${below(50)}`;
    case 'TXT':
      return `"t${below(50)}" "${'x'.repeat(below(60))}"`;
    case 'MX':
      return `${below(50)} ${target()}`;
    case 'SRV':
      return `1 ${below(50)} 3 ${target()}`;
    case 'HTTPS':
    case 'SVCB': {
      const priority = below(3);
      return priority === 0 ? `0 ${target()}` : `${priority} ${target()} port=${443 + below(50)}`;
    }
    case 'NAPTR':
      return `1 ${below(50)} "A" "" "" ${target()}`;
    case 'DS':
      return `${below(50)} 13 2 ${'5a'.repeat(32)}`;
    case 'CAA':
      return `0 issue "ca${below(50)}.example.net"`;
    case 'TYPE65280':
      return `\\# 2 ${String(10 + below(50))}ff`;
    default:
      return target();
  }
}

/** Adds what all name servers would load: no data beside a CNAME, one CNAME or DNAME, no NS at wildcards or beside a DNAME. */
function addRecord(nodes: Map<string, Node>, owner: string, type: string, rdata: string): void {
  const node: Node = nodes.get(owner) ?? new Map();
  const wildcard = owner.startsWith('*');
  if (type === 'CNAME' && node.size > 0) return;
  if (node.has('CNAME')) return;
  if (type === 'NS' && (wildcard || node.has('DNAME') || rdata === '.')) return;
  if (type === 'DNAME' && (node.has('NS') || node.has('DNAME'))) return;
  nodes.set(owner, node);
  node.set(type, (node.get(type) ?? new Set()).add(rdata));
}

function dropBelowDnames(nodes: Map<string, Node>): void {
  const dnames = [...nodes].filter(([, types]) => types.has('DNAME')).map(([owner]) => owner);
  for (const owner of nodes.keys()) if (dnames.some((dname) => owner.endsWith(`.${dname}`))) nodes.delete(owner);
}
