/** A zone with load balancers, published from a store; the test sets pools, health and who asks. */
import type { Test } from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS, type EngineSettings } from '../../src/answer/state.js';
import { createClient, Transport } from '../../src/answer/transport.js';
import { fromHex } from '../../src/base/bytes.js';
import { parseIP, printIP } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { commit } from '../../src/control/kernel/commit.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createZone } from '../../src/control/zones/zones.js';
import { Type } from '../../src/dns/codes.js';
import { ownerKeyOf, parseName } from '../../src/dns/name.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower, type Follower } from '../../src/publish/follow.js';
import { createZoneSource } from '../../src/publish/source.js';
import { appendHealthEvent } from '../../src/store/balancing/health-events.js';
import {
  findLoadBalancerById,
  insertLoadBalancer,
  loadBalancersOfPool,
  updateLoadBalancer,
} from '../../src/store/balancing/load-balancers.js';
import { findMonitorById, insertMonitor } from '../../src/store/balancing/monitors.js';
import { putOriginState } from '../../src/store/balancing/origin-states.js';
import { findPoolById, insertPool, updatePool } from '../../src/store/balancing/pools.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startControl } from '../control/fixture.js';
import { type DecodedMessage, decodeMessage, makeQuery } from './message.js';
import { openOneCopy } from './two-copies.js';
import { testZoneKeys } from './zone-keys.js';

export const APEX = 'example.test';

export interface Asking {
  readonly from?: string;
  /** Data of the option for the client subnet, hexadecimal. */
  readonly subnet?: string;
  readonly dnssecOk?: boolean;
  readonly limit?: number;
}

export interface BalancedZone {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly seq: number;
  readonly writer: ImageWriter;
  readonly follower: Follower;
  /** Identifier of a pool by its letter. */
  idOf(letter: string): string;
  /** Creates a pool or replaces its settings. Its origins are monitored unless `monitored` is false. */
  pool(letter: string, origins: readonly object[], more?: object, monitored?: boolean): Promise<void>;
  /** Creates a load balancer of a name below the apex (`@`: the apex) or replaces its settings. */
  balancer(label: string, settings: object): Promise<void>;
  /** What a monitor found, as transitions. */
  health(letter: string, origin: string, healthy: boolean): Promise<void>;
  ask(label: string, type?: number, how?: Asking): DecodedMessage;
  /** Addresses of an answer, in its order. */
  addresses(label: string, type?: number, how?: Asking): string[];
}

const MONITOR = 'f'.repeat(32);

function addressesOf({ answer }: DecodedMessage): string[] {
  return answer
    .filter(({ type }) => type === Type.a || type === Type.aaaa)
    .map(({ rdata }) => printIP(Buffer.from(rdata, 'hex')));
}

/** `nowMs`: the time of the world. */
export async function startBalancedZone(
  t: Test,
  engine: Partial<EngineSettings> = {},
  nowMs?: number,
): Promise<BalancedZone> {
  const fixture = await startControl(t, {}, openOneCopy);
  if (nowMs !== undefined) fixture.clock.advance(nowMs - fixture.clock.nowMs());
  const ctx: Context = { ...fixture.ctx, zoneKeys: await testZoneKeys(fixture.ctx.store, fixture.ctx.random) };
  const { store, settings, clock } = ctx;
  const { id: zoneId } = await createZone(ctx, { name: APEX });
  const { seq, account } = findZoneByName(store, APEX)!;
  const writer = new ImageWriter({ seed: 7 });
  const follower = createFollower({ source: createZoneSource(store, settings), writer, clock, log: silentLogger() });
  follower.loadAll();
  const seed = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
  const answer = createEngine(writer.reader, { ...DEFAULT_ENGINE_SETTINGS, seed, ...engine });
  const out = Buffer.alloc(65_535);
  const idOf = (letter: string): string => letter.charCodeAt(0).toString(16).padStart(32, '0');
  const keyOf = (label: string): Uint8Array =>
    label === '@' ? new Uint8Array(0) : ownerKeyOf(parseName(`${label}.${APEX}.`), parseName(`${APEX}.`));
  await store.write(() => {
    insertMonitor(store, fromHex(MONITOR)!, account, { settings: '{}', interval: 60 }, 1);
  });

  const ask = (label: string, type: number = Type.a, how: Asking = {}): DecodedMessage => {
    const name = parseName(label === '@' ? `${APEX}.` : `${label}.${APEX}.`);
    const data = how.subnet === undefined ? undefined : Buffer.from(how.subnet, 'hex');
    const options = data ? Buffer.concat([Buffer.of(0, 8, data.length >> 8, data.length & 255), data]) : undefined;
    const { dnssecOk = false } = how;
    const query = makeQuery(name, type, { edns: 4096, dnssecOk, ...(options && { options }) });
    const source = parseIP(how.from ?? '198.51.100.7')!;
    const client = { ...createClient(), source, length: source.length };
    const length = answer(query, 0, query.length, out, 0, how.limit ?? out.length, Transport.tcp, client);
    return decodeMessage(Buffer.from(out.subarray(0, length)));
  };

  return {
    ...{ ctx, zoneId, seq, writer, follower, idOf, ask },
    addresses: (label, type, how) => addressesOf(ask(label, type, how)),
    async pool(letter, origins, more = {}, monitored = true) {
      const id = fromHex(idOf(letter))!;
      await commit(ctx, (draft) => {
        const monitor = monitored ? findMonitorById(store, fromHex(MONITOR)!)!.seq : null;
        const body = { name: letter, origins, ...(monitored && { monitor: MONITOR }), ...more };
        const values = { name: letter, name_key: letter, settings: JSON.stringify(body), monitor, monitor_group: null };
        const known = findPoolById(store, id);
        for (const row of known ? loadBalancersOfPool(store, known.seq) : []) {
          draft.noteBalancer(row.zone, new Uint8Array(row.owner_key), false);
        }
        if (known) updatePool(store, known.seq, { ...values, targets: origins.length }, 2);
        else insertPool(store, id, account, { ...values, targets: origins.length }, 1);
      });
      follower.catchUp();
    },
    async balancer(label, body) {
      const key = keyOf(label);
      const id = Buffer.alloc(16);
      id.write(label);
      const name = label === '@' ? APEX : `${label}.${APEX}`;
      const members = { name, ...body } as { enabled?: boolean; proxied?: boolean };
      await commit(ctx, (draft) => {
        draft.noteBalancer(seq, key, true);
        const pools = [...new Set(JSON.stringify(body).match(/[0-9a-f]{32}/g) ?? [])].map(
          (pool) => findPoolById(store, fromHex(pool)!)!.seq,
        );
        const values = {
          ...{ owner_key: key, name, settings: JSON.stringify(members) },
          ...{ enabled: members.enabled === false ? 0 : 1, proxied: members.proxied ? 1 : 0 },
        };
        const known = findLoadBalancerById(store, id);
        if (known) updateLoadBalancer(store, known.seq, values, pools, 2);
        else insertLoadBalancer(store, { ...values, id, zone: seq, account }, pools, 1);
      });
      follower.catchUp();
    },
    async health(letter, origin, healthy) {
      await store.write(() => {
        const pool = findPoolById(store, fromHex(idOf(letter))!)!;
        const monitor = findMonitorById(store, fromHex(MONITOR)!)!.seq;
        putOriginState(store, {
          ...{ pool: pool.seq, origin, monitor, region: '', node: '', healthy: healthy ? 1 : 0 },
          ...{ failure_reason: 'No failures', response_code: null, rtt: null, changed_at: 1, confirmed_at: 1 },
        });
        appendHealthEvent(store, {
          ...{ at_us: ctx.clock.nowUs(), account, pool: pool.id, pool_name: letter, pool_healthy: 1, pool_changed: 0 },
          ...{ minimum_origins: 1, origins: '[]' },
        });
      });
      follower.catchUp();
    },
  };
}
