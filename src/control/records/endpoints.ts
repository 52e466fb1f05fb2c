/**
 * Use case: records as ExternalDNS sees them: a name and a type with all targets. Its changes in one zone are one atomic batch;
 * records already as requested stay untouched, because ExternalDNS repeats requests that were not confirmed.
 */

import { nextSlice } from '../../base/slices.js';
import { accountFailure } from '../guard/account-failures.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { AUTOMATIC } from '../rules/ttl.js';
import { applyBatch, type BatchInput } from './batch.js';
import type { RecordInput } from './input.js';
import type { RecordItem } from './item.js';
import { closestZone, type PermittedZone, permittedZones, zonesByName } from './permitted-zones.js';
import { listRecords } from './records.js';

export interface Endpoint {
  readonly dnsName?: string | undefined;
  readonly targets?: readonly string[] | null | undefined;
  readonly recordType?: string | undefined;
  readonly setIdentifier?: string | undefined;
  readonly recordTTL?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | null | undefined;
  readonly providerSpecific?:
    | readonly { readonly name?: string | undefined; readonly value?: string | undefined }[]
    | null
    | undefined;
}

export interface EndpointChanges {
  readonly create?: readonly Endpoint[] | null | undefined;
  readonly updateOld?: readonly Endpoint[] | null | undefined;
  readonly updateNew?: readonly Endpoint[] | null | undefined;
  readonly delete?: readonly Endpoint[] | null | undefined;
}

const TYPES = ['A', 'AAAA', 'CNAME', 'TXT', 'MX', 'SRV', 'NS', 'PTR'];
const PROXIED_TYPES: ReadonlySet<string> = new Set(['A', 'AAAA', 'CNAME']);
/** The property behind the annotation `external-dns.alpha.kubernetes.io/webhook-proxied`. */
const PROXIED = 'webhook/proxied';
/** The most records listed, of all zones together. */
const MOST_RECORDS = 200_000;
const RECORDS_AT_ONCE = 10_000;
/** Names looked up in one turn. */
const LOOKED_UP_AT_ONCE = 20;

/** Names of the zones whose records the actor may change. */
export async function endpointZones(ctx: Context): Promise<readonly string[]> {
  return (await permittedZones(ctx, 'write')).map(({ zone }) => zone.asciiName);
}

export async function listEndpoints(ctx: Context): Promise<readonly Endpoint[]> {
  const endpoints: Endpoint[] = [];
  let count = 0;
  for (const { zone, ctx: own } of await permittedZones(ctx, 'read')) {
    const sets = new Map<string, RecordItem[]>();
    for (let page = 1; ; page++) {
      const { items, totalCount } = await listRecords(own, zone.id, { types: TYPES, page, perPage: RECORDS_AT_ONCE });
      count += items.length;
      if (count > MOST_RECORDS)
        throw badBody(`there are more than ${MOST_RECORDS} records: use a token for fewer zones`);
      for (const item of items) {
        const key = `${item.name} ${item.type}`;
        const known = sets.get(key);
        if (known) known.push(item);
        else sets.set(key, [item]);
      }
      if (page * RECORDS_AT_ONCE >= totalCount) break;
    }
    for (const items of sets.values()) endpoints.push(endpointOf(items));
  }
  return endpoints;
}

/** The endpoints as they would be listed once created, so that ExternalDNS finds no difference to what it wants. */
export function adjustEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.map((endpoint) => {
    const others = (endpoint.providerSpecific ?? []).filter(({ name }) => name !== PROXIED);
    if (!PROXIED_TYPES.has(endpoint.recordType ?? '')) return { ...endpoint, providerSpecific: others };
    const isProxied = propertyOf(endpoint) === 'true';
    const { recordTTL, ...rest } = endpoint;
    return {
      ...rest,
      // Proxied records have the TTL of the edge.
      ...(isProxied || recordTTL === undefined ? {} : { recordTTL }),
      providerSpecific: [...others, { name: PROXIED, value: String(isProxied) }],
    };
  });
}

/** Applies the changes zone by zone. Throws at the first zone that refuses them. */
export async function applyEndpoints(ctx: Context, changes: EndpointChanges): Promise<void> {
  const olds = new Map((changes.updateOld ?? []).map((endpoint) => [keyOf(endpoint), endpoint]));
  const work: Work[] = [
    ...(changes.delete ?? []).map((old) => ({ old, wanted: undefined })),
    ...(changes.updateNew ?? []).map((wanted) => ({ old: olds.get(keyOf(wanted)), wanted })),
    ...(changes.create ?? []).map((wanted) => ({ old: undefined, wanted })),
  ];
  const zones = await permittedZones(ctx, 'write');
  if (zones.length === 0) throw accountFailure('outOfScope');
  const byName = zonesByName(zones);
  const byZone = new Map<PermittedZone, Work[]>();
  for (const one of work) {
    const zone = zoneOf(byName, (one.wanted ?? one.old)!);
    const others = byZone.get(zone);
    if (others) others.push(one);
    else byZone.set(zone, [one]);
  }
  for (const [{ zone, ctx: own }, all] of byZone) {
    const batch = await batchOf(own, zone.id, all);
    const isEmpty = [batch.deletes, batch.patches, batch.posts].every((list) => (list?.length ?? 0) === 0);
    if (!isEmpty) await applyBatch(own, zone.id, batch);
  }
}

interface Work {
  readonly old: Endpoint | undefined;
  readonly wanted: Endpoint | undefined;
}

const plainName = (text: string): string => text.toLowerCase().replace(/\.$/, '');

const keyOf = ({ dnsName = '', recordType = '', setIdentifier = '' }: Endpoint): string =>
  `${plainName(dnsName)} ${recordType} ${setIdentifier}`;

/** The closest enclosing zone. */
function zoneOf(zones: ReadonlyMap<string, PermittedZone>, { dnsName = '' }: Endpoint): PermittedZone {
  const found = closestZone(zones, plainName(dnsName));
  if (!found) throw badBody(`${dnsName.slice(0, 255)} is in no zone whose records this credential may change`);
  return found;
}

async function batchOf(ctx: Context, zoneId: string, all: readonly Work[]): Promise<BatchInput> {
  const deletes: { id: string }[] = [];
  const patches: (RecordInput & { readonly id: string })[] = [];
  const posts: RecordInput[] = [];
  for (const [i, { old, wanted }] of all.entries()) {
    if (i % LOOKED_UP_AT_ONCE === LOOKED_UP_AT_ONCE - 1) await nextSlice();
    const { name, type } = subjectOf((wanted ?? old)!);
    const { items } = await listRecords(ctx, zoneId, {
      name: { exact: name },
      types: [type],
      perPage: RECORDS_AT_ONCE,
    });
    const there = new Map(items.map((item) => [targetOf(item), item]));
    const targets = new Set((wanted?.targets ?? []).map((target) => normalTarget(type, target)));
    for (const target of old?.targets ?? []) {
      const normal = normalTarget(type, target);
      const item = there.get(normal);
      if (item && !targets.has(normal)) deletes.push({ id: item.id });
    }
    if (!wanted) continue;
    const values = valuesOf(wanted, type);
    for (const target of targets) {
      const item = there.get(target);
      if (!item) posts.push({ name, type, ...contentOf(type, target), ttl: AUTOMATIC, ...values });
      else if (differs(item, values)) patches.push({ id: item.id, ...values });
    }
  }
  return { deletes, patches, posts };
}

function subjectOf({ dnsName = '', recordType = '', setIdentifier = '' }: Endpoint) {
  if (setIdentifier !== '') {
    throw badBody(
      `${dnsName.slice(0, 255)} has a set identifier: use a load balancer for weighted or geographic answers`,
    );
  }
  if (!TYPES.includes(recordType)) throw badBody(`${recordType.slice(0, 40)}: only ${TYPES.join(', ')} are supported`);
  return { name: plainName(dnsName), type: recordType };
}

const propertyOf = ({ providerSpecific }: Endpoint): string | undefined =>
  providerSpecific?.find(({ name }) => name === PROXIED)?.value;

/** The wanted TTL and proxying, as far as the endpoint specifies them. */
function valuesOf(endpoint: Endpoint, type: string): Pick<RecordInput, 'ttl' | 'proxied'> {
  const { recordTTL = 0 } = endpoint;
  const proxied = propertyOf(endpoint);
  return {
    ...(recordTTL > 0 ? { ttl: recordTTL } : {}),
    ...(PROXIED_TYPES.has(type) && proxied !== undefined ? { proxied: proxied === 'true' } : {}),
  };
}

function differs(item: RecordItem, { ttl, proxied }: Pick<RecordInput, 'ttl' | 'proxied'>): boolean {
  return (ttl !== undefined && ttl !== item.ttl) || (proxied !== undefined && proxied !== item.proxied);
}

/** Types whose targets are names or end with a name. */
const NAMED: ReadonlySet<string> = new Set(['CNAME', 'MX', 'SRV', 'NS', 'PTR']);

function normalTarget(type: string, target: string): string {
  const text = target.trim();
  if (NAMED.has(type)) return plainName(text).replace(/\s+/g, ' ');
  if (type !== 'TXT' || text.startsWith('"')) return text;
  return `"${text.replace(/(["\\])/g, '\\$1')}"`;
}

function targetOf({ type, content, priority, data }: RecordItem): string {
  if (type === 'SRV') return normalTarget(type, [data?.priority, data?.weight, data?.port, data?.target].join(' '));
  return normalTarget(type, priority === undefined ? content : `${priority} ${content}`);
}

function contentOf(type: string, target: string): RecordInput {
  const words = target.split(' ');
  if (type === 'MX') return { priority: words[0], content: words.slice(1).join(' ') };
  if (type !== 'SRV') return { content: target };
  const [priority, weight, port] = words.slice(0, 3).map(Number);
  return { data: { priority, weight, port, target: words.slice(3).join(' ') } };
}

function endpointOf(items: readonly RecordItem[]): Endpoint {
  const { name, type, ttl, proxied } = items[0]!;
  return {
    dnsName: name,
    targets: items.map(targetOf).toSorted(),
    recordType: type,
    ...(ttl === AUTOMATIC ? {} : { recordTTL: ttl }),
    labels: {},
    ...(PROXIED_TYPES.has(type) ? { providerSpecific: [{ name: PROXIED, value: String(proxied) }] } : {}),
  };
}
