/** Random changes of a zone, through the use cases. */
import fc from 'fast-check';
import { AppError } from '../../src/base/errors.js';
import { importZone } from '../../src/control/imports/zone.js';
import { commit } from '../../src/control/kernel/commit.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createRecord, deleteRecord, editRecord, listRecords } from '../../src/control/records/records.js';
import { editDnsSettings } from '../../src/control/zones/dns-settings.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { createZone, editZone } from '../../src/control/zones/zones.js';
import { parseName } from '../../src/dns/name.js';
import { ownersOfTarget } from '../../src/store/flatten/owners.js';
import { findTarget, updateTarget } from '../../src/store/flatten/targets.js';
import { findZone, findZoneByName } from '../../src/store/zones/zones.js';

export const TARGETS = ['one.target.test', 'two.target.test'];
export const LABELS = ['a', 'b', 'ns1', '*', '_acme-challenge'];

export interface ChangedZone {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly seq: number;
  readonly apex: string;
}

/** A zone to change. From the beginning, it has records that show the effect of settings and targets. */
export async function createChangedZone(ctx: Context, apex: string): Promise<ChangedZone> {
  const { id: zoneId } = await createZone(ctx, { name: apex });
  for (const input of [
    { type: 'A', name: 'a', content: '192.0.2.1', proxied: true },
    { type: 'CNAME', name: 'b', content: TARGETS[0] },
    { type: 'CNAME', name: '*.a', content: TARGETS[1], settings: { flatten_cname: true } },
  ]) {
    await createRecord(ctx, zoneId, input);
  }
  return { ctx, zoneId, seq: findZoneByName(ctx.store, apex)!.seq, apex };
}

export interface Step {
  readonly value: unknown;
  readonly run: (world: ChangedZone) => Promise<unknown>;
}

const owner = fc.array(fc.constantFrom(...LABELS), { maxLength: 3 }).map((labels) => labels.join('.') || '@');
const ttl = fc.constantFrom(1, 60, 300, 3600);
const last = fc.integer({ min: 1, max: 3 });
const target = fc.oneof(
  fc.constantFrom(...TARGETS),
  owner.map((name) => (name === '@' ? 'ZONE' : `${name.replaceAll('*', 'a')}.ZONE`)),
);

const record = fc.oneof(
  fc.record({
    type: fc.constant('A'),
    content: last.map((n) => `192.0.2.${n}`),
    proxied: fc.boolean(),
    ttl,
    settings: fc.constantFrom({}, {}, { ipv4_only: true }, { ipv6_only: true }),
  }),
  fc.record({ type: fc.constant('AAAA'), content: last.map((n) => `2001:db8::${n}`), proxied: fc.boolean(), ttl }),
  fc.record({
    type: fc.constant('CNAME'),
    content: target,
    proxied: fc.boolean(),
    ttl,
    settings: fc.constantFrom({}, { flatten_cname: true }),
  }),
  fc.record({ type: fc.constant('TXT'), content: last.map((n) => `"t${n}"`), ttl }),
  fc.record({ type: fc.constant('MX'), content: target, priority: last, ttl }),
  fc.record({ type: fc.constant('NS'), content: target, ttl }),
  fc.record({ type: fc.constant('HTTPS'), data: fc.constant({ priority: 1, target: '.', value: 'alpn=h2' }), ttl }),
);

const inZone = <T>(value: T, apex: string): T => JSON.parse(JSON.stringify(value).replaceAll('ZONE', apex)) as T;

/** One of the zone's records, by chance. */
async function pickRecord({ ctx, zoneId }: ChangedZone, place: number): Promise<string | undefined> {
  const { items } = await listRecords(ctx, zoneId, { perPage: 100 });
  return items.length === 0 ? undefined : items[place % items.length]!.id;
}

/** A step that a counterexample shows by its value. */
function stepOf<Value>(values: fc.Arbitrary<Value>, run: (world: ChangedZone, value: Value) => Promise<unknown>) {
  return values.map((value): Step => ({ value, run: (world) => run(world, value) }));
}

const create = stepOf(fc.tuple(owner, record), ({ ctx, zoneId, apex }, [name, input]) =>
  createRecord(ctx, zoneId, inZone({ name, ...input }, apex)),
);

const edit = stepOf(
  fc.tuple(fc.constant('edit'), fc.nat(100), record),
  async (world, [, place, { type: _, ...input }]) => {
    const id = await pickRecord(world, place);
    if (id) await editRecord(world.ctx, world.zoneId, id, inZone(input, world.apex));
  },
);

const remove = stepOf(fc.tuple(fc.constant('remove'), fc.nat(100)), async (world, [, place]) => {
  const id = await pickRecord(world, place);
  if (id) await deleteRecord(world.ctx, world.zoneId, id);
});

const dnsSetting = stepOf(
  fc.constantFrom(
    { zone_mode: 'dns_only' },
    { zone_mode: 'standard' },
    { multi_provider: true },
    { multi_provider: false },
    { ns_ttl: 60 },
    { ns_ttl: 86400 },
    { soa: { min_ttl: 60 } },
    { soa: { mname: 'ns9.dns.test' } },
  ),
  ({ ctx, zoneId }, change) => editDnsSettings(ctx, zoneId, change),
);

const flattenAll = stepOf(fc.record({ flatten_all_cnames: fc.boolean() }), ({ ctx, zoneId }, change) =>
  editDnsSettings(ctx, zoneId, change),
);

const vanity = stepOf(
  fc.constantFrom([], ['ns1.ZONE', 'ns.else.test'], ['a.ZONE', 'b.a.ZONE', 'ns1.ZONE']),
  ({ ctx, zoneId, apex }, names) => editZone(ctx, zoneId, { vanity_name_servers: inZone(names, apex) }),
);

const paused = stepOf(fc.record({ paused: fc.boolean() }), ({ ctx, zoneId }, change) => editZone(ctx, zoneId, change));

const http = stepOf(fc.record({ http2: fc.constantFrom('on', 'off') }), ({ ctx, zoneId }, { http2 }) =>
  editZoneSetting(ctx, zoneId, 'http2', http2),
);

/** Names of certificates, as the control plane writes them when certificates come and go. */
const certify = stepOf(
  fc.subarray(['ZONE', '*.ZONE', 'a.ZONE', '*.a.ZONE'], { minLength: 0 }),
  ({ ctx, seq, apex }, names) => commit(ctx, (draft) => draft.setCertifiedNames(seq, inZone(names, apex))),
);

/** What is heard of the target of flattened names, as the refresher writes it. */
const hear = stepOf(
  fc.record({
    name: fc.constantFrom(...TARGETS),
    ipv4: fc.constantFrom(null, 0, 1, 2),
    ipv6: fc.constantFrom(null, 0, 1),
    stale: fc.constantFrom(0, 0, 1),
    ttl,
  }),
  ({ ctx }, { name, ipv4, ipv6, ...facts }) => {
    const addresses = (count: number | null, size: number): Uint8Array | null =>
      count === null ? null : new Uint8Array(count * size).map((_, i) => 1 + Math.floor(i / size));
    return commit(ctx, (draft) => {
      const row = findTarget(ctx.store, parseName(`${name}.`));
      if (!row) return;
      for (const { zone, owner_key: key } of ownersOfTarget(ctx.store, row.name)) draft.noteTarget(zone, key);
      updateTarget(ctx.store, { ...row, ipv4: addresses(ipv4, 4), ipv6: addresses(ipv6, 16), ...facts }, []);
    });
  },
);

const fileLine = fc
  .tuple(owner, last, fc.constantFrom('A', 'A', 'TXT', 'CNAME', 'NS', 'DNAME', 'DS', 'MX'), target)
  .map(([name, n, type, to]) => {
    const contents: Record<string, string> = {
      A: `192.0.2.${n}`,
      TXT: `"t${n}"`,
      MX: `${n} ${to}.`,
      DS: `${n} 13 2 ${'5a'.repeat(32)}`,
    };
    return `${name} ${n * 60} IN ${type} ${contents[type] ?? `${to}.`}`;
  });

/** The zone is replaced by a file, with name servers of its own or the service's. */
const replace = stepOf(
  fc.record({ lines: fc.array(fileLine, { maxLength: 12 }), automaticSoa: fc.boolean(), proxied: fc.boolean() }),
  async ({ ctx, seq, apex }, { lines, ...options }) => {
    const serial = findZone(ctx.store, seq)!.serial + 5;
    const head = [`$ORIGIN ${apex}.`, `@ 300 IN SOA ns h ${serial} 2 3 4 60`, '@ 300 IN NS ns.else.test.'];
    const text = `${[...head, ...lines.map((line) => inZone(line, apex))].join('\n')}\n`;
    await importZone(ctx, { source: { text }, origin: apex, replace: true, ...options });
  },
);

export const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: create, weight: 10 },
  { arbitrary: edit, weight: 3 },
  { arbitrary: remove, weight: 3 },
  { arbitrary: dnsSetting, weight: 3 },
  { arbitrary: flattenAll, weight: 2 },
  { arbitrary: vanity, weight: 2 },
  { arbitrary: paused, weight: 1 },
  { arbitrary: http, weight: 1 },
  { arbitrary: certify, weight: 3 },
  { arbitrary: hear, weight: 4 },
  { arbitrary: replace, weight: 2 },
);

/** A change that a rule of zones refuses changes nothing, and nothing is wrong. */
export async function applyStep(world: ChangedZone, change: Step): Promise<void> {
  try {
    await change.run(world);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}
