/** Random zones over few labels, so that wildcards, cuts, aliases and empty non-terminals meet often; reproducible by seed. */
import { seededRandom } from '../../src/base/random.js';
import type { ZoneSource } from '../support/served-zones.js';

export interface Question {
  readonly name: string;
  readonly type: string;
}

export interface RandomZone extends ZoneSource {
  readonly questions: readonly Question[];
}

const LABELS = ['a', 'b', 'c', '*'];
const OWN_TYPES = [
  'A',
  'A',
  'A',
  'AAAA',
  'TXT',
  'MX',
  'SRV',
  'NS',
  'NS',
  'CNAME',
  'CNAME',
  'DNAME',
  'CAA',
  'TYPE65280',
];
const ASKED_TYPES = [
  'A',
  'A',
  'AAAA',
  'NS',
  'CNAME',
  'MX',
  'TXT',
  'SOA',
  'DS',
  'SRV',
  'DNAME',
  'TYPE65280',
  'HTTPS',
  'CAA',
];

export function makeRandomZones(seed: number, count: number, questionsEach: number): RandomZone[] {
  const octets = seededRandom(seed);
  const below = (limit: number): number => {
    const [a, b] = octets.bytes(2);
    return ((a! << 8) | b!) % limit;
  };
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  return Array.from({ length: count }, (_, index) => makeZone(`z${index}.test.`, count, questionsEach, below, pick));
}

type Below = (limit: number) => number;
type Pick = <T>(list: readonly T[]) => T;

function makeZone(apex: string, zones: number, questionsEach: number, below: Below, pick: Pick): RandomZone {
  const owners = new Map<string, Map<string, Set<string>>>();
  const name = (): string => `${Array.from({ length: 1 + below(4) }, () => pick(LABELS)).join('.')}.${apex}`;
  const target = (): string => {
    const kind = below(20);
    if (kind < 14) return name().replaceAll('*', 'b');
    if (kind < 15) return apex;
    return pick(['x.other.', `ns.z${below(zones)}.test.`, `a.z${below(zones)}.test.`]);
  };
  const count = 4 + below(14);
  for (let i = 0; i < count; i++) addRecord(owners, name(), pick(OWN_TYPES), () => rdataOf(below, target));
  dropBelowDnames(owners);
  const lines = [
    `${apex} 3600 IN SOA ns.${apex} h.${apex} 1 2 3 4 ${pick(['300', '7200'])}`,
    `${apex} 3600 IN NS ns.other.`,
  ];
  for (const [owner, types] of owners) {
    for (const [type, datas] of types) for (const data of datas) lines.push(`${owner} 3600 IN ${type} ${data}`);
  }
  const names = candidateNames([...owners.keys(), apex], apex);
  const questions = Array.from({ length: questionsEach }, () => ({ name: pick(names), type: pick(ASKED_TYPES) }));
  return { apex, text: `${lines.join('\n')}\n`, questions };
}

function rdataOf(below: Below, target: () => string): Record<string, string> {
  return {
    A: `10.0.0.${below(4)}`,
    AAAA: `2001:db8::${below(9)}`,
    TXT: `"t${below(5)}"`,
    MX: `10 ${target()}`,
    SRV: `1 2 3 ${target()}`,
    NS: target(),
    CNAME: target(),
    DNAME: target(),
    CAA: '0 issue "x"',
    TYPE65280: `\\# 2 0${below(9)}ff`,
  };
}

/** Adds what a name server would load: no data beside a CNAME, one CNAME or DNAME, no NS at wildcards or beside a DNAME. */
function addRecord(
  owners: Map<string, Map<string, Set<string>>>,
  owner: string,
  type: string,
  datas: () => Record<string, string>,
): void {
  const types = owners.get(owner) ?? new Map<string, Set<string>>();
  const wildcard = owner.startsWith('*');
  if (types.has('CNAME') || (type === 'CNAME' && types.size > 0)) return;
  if (type === 'NS' && (wildcard || types.has('DNAME'))) return;
  if (type === 'DNAME' && (wildcard || types.has('NS') || types.has('DNAME'))) return;
  owners.set(owner, types);
  types.set(type, (types.get(type) ?? new Set()).add(datas()[type]!));
}

function dropBelowDnames(owners: Map<string, Map<string, Set<string>>>): void {
  const dnames = [...owners].filter(([, types]) => types.has('DNAME')).map(([owner]) => owner);
  for (const owner of owners.keys()) if (dnames.some((dname) => owner.endsWith(`.${dname}`))) owners.delete(owner);
}

/** Owners, their ancestors inside the zone, and names below them that mostly do not exist. */
export function candidateNames(owners: readonly string[], apex: string): string[] {
  const names = new Set<string>();
  for (const owner of owners) {
    for (let at = 0; owner.length - at >= apex.length; at = owner.indexOf('.', at) + 1) names.add(owner.slice(at));
    for (const label of ['a', 'zz', '*', 'b.c']) names.add(`${label}.${owner}`);
  }
  return [...names].sort();
}
