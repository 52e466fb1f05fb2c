/** Random events for the property test of the rule of names: what A does, and what the others do. */
import { isProven } from '../../src/serving/name-owner.js';
import { type Event, OWNER, type World } from './tenant-world.js';

export type Chance = (below: number) => number;

/** Reproducible (mulberry32). */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** The names of a sequence. Those of A are A's wherever they are asked for; others claim them all the same. */
export interface Names {
  readonly zones: readonly string[];
  readonly hosts: readonly string[];
  readonly hostnames: readonly string[];
  readonly theirs: readonly string[];
}

export function namesOf(number: number): Names {
  const [home, customer, outside] = [`home${number}.test`, `customer${number}.test`, `outside${number}.test`];
  return {
    zones: [home, `shop.${home}`, `www.shop.${home}`, customer, `h.${customer}`, outside],
    hosts: [home, `www.${home}`, `origin.${home}`, `shop.${home}`, `www.shop.${home}`, `x.www.shop.${home}`],
    hostnames: [
      `h.${customer}`,
      `*.${customer}`,
      `www.h.${customer}`,
      `www.${home}`,
      `*.shop.${home}`,
      `h.${customer}`,
    ],
    theirs: [`evil${number}.test`, `sub.evil${number}.test`],
  };
}

const EVENT: Event = {
  by: '',
  kind: 'wait',
  zone: '',
  name: '',
  record: { type: 'A', content: '192.0.2.1', proxied: true },
  flag: false,
  ms: 0,
};
const DAY_MS = 86_400_000;
const WAITS_MS = [60_000, DAY_MS, DAY_MS, 8 * DAY_MS];
const OWN_KINDS = [
  ...(['zone', 'zone', 'activate', 'activate', 'delegate', 'delegate', 'delegate', 'text', 'operator'] as const),
  ...(['record', 'record', 'record', 'record', 'hostname', 'hostname', 'hostname', 'lead', 'lead', 'token'] as const),
  ...([
    'drop record',
    'drop hostname',
    'drop zone',
    'undelegate',
    'no text',
    'unlead',
    'hold',
    'free',
    'type',
  ] as const),
  ...(['zone text here', 'delegate here'] as const),
];
const THEIR_KINDS = [
  ...(['zone', 'zone', 'zone', 'zone', 'activate', 'activate', 'record', 'record', 'record', 'hold', 'hold'] as const),
  ...(['hostname', 'hostname', 'hostname', 'token here', 'token here', 'zone text here', 'delegate here'] as const),
  ...(['delegate here', 'delegate', 'text', 'lead', 'token', 'drop zone', 'drop hostname', 'drop record'] as const),
  ...(['free', 'type'] as const),
];

/** What A does next to have a zone and customers that are proven. */
function towardsProof(world: World, chance: Chance, { zones, hosts, hostnames }: Names): Event['kind'] | undefined {
  const home = world.zoneOf(OWNER, zones[0]!);
  if (!home) return 'zone';
  if (!isProven(home)) return (['delegate', 'text', 'operator', 'activate', 'activate'] as const)[chance(5)];
  if (home.record_count < hosts.length / 2) return 'record';
  const known = hostnames.flatMap((name) => world.hostnameOf(OWNER, name) ?? []);
  return known.length === 0 ? 'hostname' : known.every(({ state }) => state !== 'active') ? 'lead' : undefined;
}

function ownEvent(world: World, chance: Chance, names: Names): Event {
  const { zones, hosts, hostnames } = names;
  const pick = <T>(list: readonly T[]): T => list[chance(list.length)]!;
  const [home] = zones as [string];
  const kind = (chance(3) > 0 && towardsProof(world, chance, names)) || pick(OWN_KINDS);
  const ofZone = { ...EVENT, by: OWNER, kind, zone: pick([home, home, ...zones.slice(0, 3)]), flag: chance(2) === 0 };
  const customers = hostnames.filter((name) => name.includes('customer'));
  switch (kind) {
    case 'record':
    case 'drop record': {
      const name = pick(hosts);
      const alias = { type: 'CNAME', content: `app.${zones.at(-1)}`, proxied: true };
      return { ...ofZone, name, record: name.startsWith('www.') && chance(2) === 0 ? alias : EVENT.record };
    }
    case 'hostname':
    case 'lead':
      return { ...ofZone, zone: home, name: pick(customers), flag: chance(4) === 0 };
    case 'zone text here':
    case 'delegate here':
      return { ...ofZone, name: pick(zones.slice(1, 3)) };
    case 'type':
      return { ...ofZone, flag: chance(4) > 0 };
    default:
      return { ...ofZone, name: pick(customers) };
  }
}

function theirEvent(world: World, chance: Chance, { zones, hosts, hostnames, theirs }: Names, by: string): Event {
  const pick = <T>(list: readonly T[]): T => list[chance(list.length)]!;
  const kind = pick(THEIR_KINDS);
  const all = [...zones, ...theirs];
  const [evil] = theirs as [string];
  const claimed = all.filter((name) => world.zoneOf(by, name));
  const isNew = kind === 'zone' || claimed.length === 0;
  const zone = isNew ? pick(all) : pick(claimed);
  const event = {
    ...EVENT,
    by,
    kind: isNew ? ('zone' as const) : kind,
    zone,
    name: pick(hostnames),
    flag: chance(3) > 0,
  };
  if (isNew) return event;
  switch (kind) {
    case 'record':
    case 'drop record': {
      const within = [...hosts, ...hostnames, `app.${zones.at(-1)}`].filter((name) => isWithin(name, zone));
      const name = pick([...within, `origin.${zone}`, `*.${zone}`]);
      const alias = { type: 'CNAME', content: `origin.${evil}`, proxied: chance(2) === 0 };
      return { ...event, name, record: pick([alias, { type: 'A', content: '203.0.113.6', proxied: chance(2) === 0 }]) };
    }
    // Outside, they say something about their own names only.
    case 'delegate':
    case 'text':
      return { ...event, zone: pick(theirs) };
    case 'lead':
    case 'token':
      return { ...event, zone: evil, name: `www.customer.${evil}` };
    case 'zone text here':
    case 'delegate here':
      return { ...event, name: pick([...all.filter((name) => isWithin(name, zone)), zone]) };
    default:
      return event;
  }
}

export function nextEvent(world: World, chance: Chance, names: Names, others: readonly string[]): Event {
  const who = chance(20);
  if (who === 0) return { ...EVENT, kind: chance(20) === 0 ? 'restart' : 'wait', ms: WAITS_MS[chance(4)]! };
  if (who <= 2) return { ...EVENT, ms: WAITS_MS[chance(4)]! };
  return who <= 10 ? ownEvent(world, chance, names) : theirEvent(world, chance, names, others[chance(others.length)]!);
}

export function isWithin(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}
