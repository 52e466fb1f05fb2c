/**
 * The life of a signed zone before the eyes of unbound, which has the key of the parent zone alone, and a cache, and the same
 * time: delegated, every rollover, an emergency, taken off. No answer is ever bogus, and each is secure from the first DS
 * record to the last.
 *
 * ZONEPLANE_LIFE_STEP: minutes between two looks. Default 55, less than the TTL of keys; run by hand with 10 (last run
 * 2026-11-22).
 */
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { deleteDnssec, editDnssec, getDnssec, listKeys } from '../../../src/control/dnssec/delegation.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { startRollover } from '../../../src/control/dnssec/rollover.js';
import { parentJob } from '../../../src/control/dnssec/watch.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord, deleteRecord, listRecords } from '../../../src/control/records/records.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { typeByCode } from '../../../src/dns/rr/registry.js';
import { findDnssecZone } from '../../../src/store/dnssec/zones.js';
import { lastChange } from '../../../src/store/log/changes.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { publishZones } from '../../support/published-zones.js';
import { servedRecords } from '../../support/signed-copy.js';
import { isUnboundMissing, startUnbound, type Unbound } from '../../support/unbound.js';
import { until } from '../../support/until.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
const missing = [...(isUnboundMissing() ? ['unbound'] : []), ...(existsSync(FAKETIME) ? [] : [FAKETIME])];
const skip = missing.length === 0 || process.env['CI'] === 'true' ? false : `not installed: ${missing.join(', ')}`;

const PARENT = 'parent.test';
const CHILD = 'child.parent.test';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const STEP_MS = Number(process.env['ZONEPLANE_LIFE_STEP'] ?? 55) * MINUTE_MS;
const DS_TTL = 900;

const RECORDS = [
  { type: 'A', name: 'www', content: '192.0.2.1', ttl: 3600 },
  { type: 'TXT', name: '*.wild', content: '"any"', ttl: 7200 },
  { type: 'CNAME', name: 'alias', content: `www.${CHILD}`, ttl: 300 },
  { type: 'A', name: 'a.b.c', content: '192.0.2.2', ttl: 60 },
  { type: 'NS', name: 'sub', content: 'ns.elsewhere.test', ttl: 3600 },
];

/** Name below the child zone, type, response code; `N` becomes a number that was never asked before. */
const QUESTIONS: readonly (readonly [name: string, type: number, rcode: number])[] = [
  ['www.', Type.a, 0],
  ['www.', Type.aaaa, 0],
  ['N.wild.', Type.txt, 0],
  ['N.wild.', Type.a, 0],
  ['alias.', Type.a, 0],
  ['alias.', Type.mx, 0],
  ['missingN.', Type.a, 3],
  ['N.www.', Type.a, 3],
  ['b.c.', Type.a, 0],
  ['', Type.soa, 0],
  ['', Type.dnskey, 0],
  ['', Type.ds, 0],
  ['sub.', Type.ds, 0],
];

interface World {
  readonly ctx: Context;
  readonly childId: string;
  /**
   * Lets time pass in steps with both jobs of each zone, and a registry that follows CDS. After each step everything is asked;
   * what is neither `secure` nor allowed is a failure.
   */
  readonly pass: (hours: number, when: string, allowed?: readonly string[]) => Promise<void>;
  /** The same until no key waits for anything. */
  readonly settle: (when: string, allowed?: readonly string[]) => Promise<void>;
  /** How many answers there were of each kind. */
  readonly heard: Map<string, number>;
}

async function startWorld(t: Test): Promise<World> {
  const fixture = await startControl(t);
  const { ctx: plain, clock } = fixture;
  clock.advance(Date.now() - clock.nowMs());
  const contents = (name: string, type: number): string[] => {
    const records = servedRecords({ ctx, seq: findZoneByName(ctx.store, name)!.seq }).filter(
      (one) => one.type === type,
    );
    return records.map(({ rdata }) => typeByCode(type).contentOf(rdata)).sort();
  };
  let ds: readonly string[] = [];
  const ctx: Context = {
    ...plain,
    zoneKeys: await testZoneKeys(plain.store, plain.random),
    findParentDs: async (name) => (name === CHILD ? [{ server: 'ns1.dns.test', ds: [...ds], ttl: DS_TTL }] : []),
  };
  const [parentId, childId] = [
    (await createZone(ctx, { name: PARENT })).id,
    (await createZone(ctx, { name: CHILD })).id,
  ];
  await createRecord(ctx, parentId, { type: 'NS', name: 'child', content: 'ns1.elsewhere.test', ttl: 3600 });
  for (const record of RECORDS) await createRecord(ctx, childId, record);
  const parent = await editDnssec(ctx, parentId, { status: 'active' });

  const { publisher, port } = await publishZones(t, ctx, fixture.directory);
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-life-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const time = join(directory, 'time');
  let passedMs = 0;
  const tellTime = (): void => {
    writeFileSync(`${time}.new`, `+${passedMs / 1000}\n`);
    renameSync(`${time}.new`, time);
  };
  tellTime();
  const unbound = await startUnbound(t, {
    names: [PARENT, CHILD],
    ports: [port],
    anchors: [parent.key!.ds!.line],
    environment: {
      LD_PRELOAD: FAKETIME,
      FAKETIME_TIMESTAMP_FILE: time,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  });

  const { store, log } = ctx;
  const job = { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease: () => {} };
  const runJobs = async (): Promise<void> => {
    for (const kind of [parentJob(ctx), signingJob(ctx)]) {
      for (const id of [parentId, childId]) await kind.handler(job, id);
    }
  };
  /** The parent takes what CDS records say (RFC 7344), and publishes it as any other record. */
  const followCds = async (): Promise<void> => {
    const cds = contents(CHILD, Type.cds);
    const wanted = cds.join() === '0 0 0 00' ? [] : cds;
    if (cds.length === 0 || wanted.join() === ds.join()) return;
    const { items } = await listRecords(ctx, parentId, { perPage: 100 });
    for (const content of wanted.filter((one) => !ds.includes(one))) {
      await createRecord(ctx, parentId, { type: 'DS', name: 'child', content, ttl: DS_TTL });
    }
    for (const { id, type, content } of items) {
      const isOld = type === 'DS' && !wanted.some((one) => one.toLowerCase() === content.toLowerCase());
      if (isOld) await deleteRecord(ctx, parentId, id);
    }
    ds = wanted;
  };
  const heard = new Map<string, number>();
  const look = async (when: string, allowed: readonly string[]): Promise<void> => {
    publisher.wake();
    await until(async () => publisher.status().appliedChange === lastChange(store));
    await askAll(t, unbound, when, ['secure', ...allowed], heard);
  };
  const pass = async (hours: number, when: string, allowed: readonly string[] = []): Promise<void> => {
    for (const endMs = clock.nowMs() + hours * HOUR_MS; clock.nowMs() < endMs; ) {
      await runJobs();
      await followCds();
      await look(when, allowed);
      clock.advance(STEP_MS);
      passedMs += STEP_MS;
      tellTime();
    }
  };
  const isSettled = async (): Promise<boolean> => {
    const { keys } = await listKeys(ctx, childId);
    const { walk } = findDnssecZone(store, findZoneByName(store, CHILD)!.seq)!;
    return walk === null && keys.every(({ wait, state }) => wait === undefined && state === 'active');
  };
  return {
    ctx,
    childId,
    pass,
    async settle(when, allowed) {
      for (let i = 0; i < 1000; i++) {
        await pass(STEP_MS / HOUR_MS, when, allowed);
        if (await isSettled()) return;
      }
      throw new Error(`${when} does not end`);
    },
    heard,
  };
}

let asked = 0;

async function askAll(
  t: Test,
  { judge, log }: Unbound,
  when: string,
  allowed: readonly string[],
  heard: Map<string, number>,
): Promise<void> {
  for (const [name, type, rcode] of QUESTIONS) {
    const full = `${name.replace('N', `n${++asked}`)}${CHILD}`;
    const verdict = await judge(full, type);
    const [trust = '', code] = verdict.split(' ');
    heard.set(`${when}: ${trust}`, (heard.get(`${when}: ${trust}`) ?? 0) + 1);
    const isRight = allowed.includes(trust) && (trust === 'bogus' || Number(code) === rcode);
    if (!isRight) {
      const reasons = log().filter((line) => line.includes('validation'));
      t.fail(`${when}: ${full} ${type} is ${verdict}`, { reasons: reasons.slice(-3) });
    }
  }
}

t.test(
  'every answer is secure from the first DS record to the last, and none is bogus',
  { skip, timeout: 1_800_000 },
  async (t) => {
    const { ctx, childId, pass, settle, heard } = await startWorld(t);
    await pass(2, 'unsigned', ['insecure']);
    await editDnssec(ctx, childId, { status: 'active' });
    await settle('enabled', ['insecure']);
    await pass(27, 'delegated', ['insecure']);
    t.match(await getDnssec(ctx, childId), { status: 'active' });
    await pass(3, 'secure');
    await startRollover(ctx, childId, { role: 'zsk' });
    await settle('ZSK');
    await startRollover(ctx, childId, { role: 'ksk' });
    await settle('KSK');
    await startRollover(ctx, childId, { algorithm: 15 });
    await settle('algorithm');
    t.same((await listKeys(ctx, childId)).keys.map(({ role, algorithm }) => `${role} ${algorithm}`).sort(), [
      'ksk 15',
      'zsk 15',
    ]);
    await editDnssec(ctx, childId, { dnssec_use_nsec3: true });
    await pass(6, 'NSEC3');
    await startRollover(ctx, childId, { role: 'zsk', emergency: true });
    // Resolvers that have the old keys reject new signatures until they forget them.
    await pass(4, 'emergency', ['bogus']);
    await pass(3, 'after the emergency');
    await editDnssec(ctx, childId, { status: 'disabled' });
    await pass(3, 'disabled', ['insecure']);
    t.match(await getDnssec(ctx, childId), { status: 'disabled' });
    await deleteDnssec(ctx, childId);
    await pass(4, 'removed', ['insecure']);
    t.match(await getDnssec(ctx, childId), { status: 'disabled', key: undefined });
    t.notOk(servedRecords({ ctx, seq: findZoneByName(ctx.store, CHILD)!.seq }).some(({ type }) => type === Type.rrsig));
    await pass(2, 'unsigned again', ['insecure']);
    for (const when of ['unsigned', 'unsigned again']) {
      // That there is no DS record is proven by the parent.
      const [secure, insecure] = [heard.get(`${when}: secure`)!, heard.get(`${when}: insecure`)!];
      t.equal(insecure, secure * (QUESTIONS.length - 1), when);
    }
    for (const [what, count] of heard) t.comment(`${what} ${count}`);
  },
);
