/**
 * Settings of the installation that affect answers: name servers, their addresses, those of the edge. They are not
 * stored with zones. When a start finds that they differ from the last start, the zones change for resolvers: their
 * serials increase, and the change log has the difference.
 */
import { fromHex, toHex } from '../../base/bytes.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { findMeta, putMeta } from '../../store/meta.js';
import { findZone, servedZones } from '../../store/zones/zones.js';
import { OPERATOR } from '../guard/actor.js';
import { commitAlone } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';

/** Limits of one transaction: the number of zones, and the number of records, which the last zone may exceed. */
const MOST_ZONES = 500;
const MOST_RECORDS = 50_000;
/**
 * Replaces the settings of the last start while zones are being changed; a zone's previous settings are then unknown.
 */
const UNDER_WAY = '';

/** Call at every start, before any other write. */
export async function logServingSettings(base: ContextBase): Promise<void> {
  const { store, settings, log } = base;
  const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
  const text = print(settings);
  const last = findMeta(store, 'serving_settings');
  if (last === text) return;
  // The first start, or the first one with this check.
  const slices = last === undefined ? [] : [...slicesOf(store)];
  const before = lastServingSettings(store);
  if (slices.length > 0) await store.write(() => putMeta(store, 'serving_settings', UNDER_WAY));
  let moved = 0;
  for (const slice of slices) {
    const { zones } = await commitAlone(ctx, (draft) => {
      for (const seq of slice) draft.noteInstallation(seq, before);
    });
    moved += zones.filter(({ change }) => change !== undefined).length;
  }
  await store.write(() => putMeta(store, 'serving_settings', text));
  if (moved > 0) log.info({ zones: moved }, 'name servers or edge addresses have changed since the last start');
}

/**
 * The settings with which zones are served: those of the last start, not those of a command. Undefined before the
 * first one, and while they are being replaced.
 */
export function lastServingSettings(store: Store): ServingSettings | undefined {
  const last = findMeta(store, 'serving_settings');
  return typeof last === 'string' && last !== UNDER_WAY ? parse(last) : undefined;
}

function* slicesOf(store: Store): Generator<readonly number[]> {
  let slice: number[] = [];
  let records = 0;
  for (const seq of servedZones(store)) {
    slice.push(seq);
    records += findZone(store, seq)!.record_count;
    if (slice.length < MOST_ZONES && records < MOST_RECORDS) continue;
    yield slice;
    slice = [];
    records = 0;
  }
  if (slice.length > 0) yield slice;
}

function print({ nameServers, nameServerAddresses, edgeAddresses }: ServingSettings): string {
  return JSON.stringify({
    nameServers,
    nameServerAddresses: nameServerAddresses.map(toHex),
    edgeAddresses: edgeAddresses.map(toHex),
  });
}

function parse(text: string): ServingSettings {
  const { nameServers, nameServerAddresses, edgeAddresses } = JSON.parse(text) as Record<
    keyof ServingSettings,
    string[]
  >;
  const octets = (list: readonly string[]): Uint8Array[] => list.map((hex) => fromHex(hex)!);
  return { nameServers, nameServerAddresses: octets(nameServerAddresses), edgeAddresses: octets(edgeAddresses) };
}
