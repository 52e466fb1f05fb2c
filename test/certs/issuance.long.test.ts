/**
 * Certificates from request to renewal: the built-in authority with our own zones, CAA, refusals, killed processes,
 * changed clocks, Pebble.
 */

import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { request } from 'undici';
import { toHex } from '../../src/base/bytes.js';
import { SystemClock } from '../../src/base/clock.js';
import { systemRandom } from '../../src/base/random.js';
import { createAuthorities } from '../../src/certs/authorities.js';
import { type Authority, AuthorityError, type AuthorityName } from '../../src/certs/authority.js';
import { stateOfCertificate } from '../../src/certs/certificate-state.js';
import {
  type CertificateOwner,
  type CertificateRequest,
  dropCertificateRequest,
  putCertificateRequest,
} from '../../src/certs/certificates.js';
import { dcvTarget } from '../../src/certs/dcv-delegation.js';
import { storedRootsPem } from '../../src/certs/embedded/issuers.js';
import type { Unseen } from '../../src/certs/http-challenge.js';
import { answerHttpChallenge, CHALLENGE_PATH } from '../../src/certs/http-challenge.js';
import { advanceCertificate } from '../../src/certs/issuance/advance.js';
import type { Authorities, CertificateContext } from '../../src/certs/issuance/context.js';
import { removeDropped } from '../../src/certs/issuance/dropped.js';
import { certificateJobs } from '../../src/certs/issuance/jobs.js';
import { checkDelayMs } from '../../src/certs/issuance/schedule.js';
import { STEP_JOB } from '../../src/control/certificates/drop.js';
import { importZone } from '../../src/control/imports/zone.js';
import type { Context } from '../../src/control/kernel/context.js';
import { PARTICIPANTS } from '../../src/control/participants.js';
import { createRecord } from '../../src/control/records/records.js';
import { parseName } from '../../src/dns/name.js';
import { createTokenFetch } from '../../src/hostnames/token-fetch.js';
import { createResolver, type Resolution, type Resolver } from '../../src/resolver/resolve.js';
import { createUpstream } from '../../src/resolver/upstream.js';
import { servedAtOwner, servedOwners } from '../../src/serving/owner.js';
import { servingZone } from '../../src/serving/zone.js';
import { issuedFor } from '../../src/store/certs/issued.js';
import { challengeOwners } from '../../src/store/certs/orders.js';
import { findRequest, updateRequest } from '../../src/store/certs/requests.js';
import { openStore, type Store } from '../../src/store/driver.js';
import { changesAfter, lastChange } from '../../src/store/log/changes.js';
import { ALL_PURPOSES } from '../../src/store/sealed-columns.js';
import { findZone, findZoneByName, type ZoneRow } from '../../src/store/zones/zones.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import { examinedFor } from '../../src/warnings/asked.js';
import { examineCertificates } from '../../src/warnings/certificates.js';
import { startControl } from '../control/fixture.js';
import { anywhere } from '../support/egress.js';
import { startPebble, withoutPebble } from '../support/pebble.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { type ScriptedReply, startScriptedUpstream } from '../support/scripted-upstream.js';
import type { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';

const SAAS = `$ORIGIN saas.test.
@ 60 IN SOA ns1.dns.test. dns.dns.test. 1 7200 3600 1209600 120
@ 60 IN NS ns1.dns.test.
@ 60 IN A 192.0.2.1
_acme-challenge.written 60 IN TXT "written by somebody"
`;
const KEY = 'issuance-key-0123456789-0123456789-012345';
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const PEM = /-----BEGIN[\s\S]+?-----END CERTIFICATE-----/g;

interface World {
  readonly ctx: CertificateContext;
  readonly control: Context;
  readonly clock: TestClock;
  readonly zone: ZoneRow;
  /** Answers of the outside by `name type`; others do not exist. */
  readonly outside: Map<string, ScriptedReply>;
  /** Bodies by `host/token`. */
  readonly web: Map<string, string | Unseen>;
  /** Every call of an authority, such as `google.createOrder`. */
  readonly calls: string[];
  /** What a call is to do instead, or before. */
  fault: ((call: string) => void) | undefined;
}

async function startWorld(t: Test): Promise<World> {
  const { ctx: control, clock, directory } = await startControl(t);
  const imported = await importZone(control, { source: { text: SAAS } });
  t.ok(imported.imported, JSON.stringify(imported.issues));
  const { store } = control;
  const outside = new Map<string, ScriptedReply>();
  const upstream = await startScriptedUpstream(t, ({ name, type }) => outside.get(`${name} ${type}`) ?? { rcode: 3 });
  const resolver = createResolver({
    store,
    upstream: createUpstream({ servers: [upstream.server], clock: new SystemClock(), timeoutMs: 2000 }),
    clock,
    random: systemRandom,
    serving: control.settings,
  });
  const vault = await unlockVault({
    store,
    keys: fileKeys(join(directory, 'master.key')),
    random: systemRandom,
    purposes: ALL_PURPOSES,
  });
  const web = new Map<string, string | Unseen>();
  const fetchToken = async (host: string, token: string) => web.get(`${host}/${token}`);
  const base = { store, clock, random: systemRandom, vault, resolver, fetchToken };
  const authorities = createAuthorities({ ...base, directories: new Map(), userAgent: 'zoneplane/test' });
  const world: World = {
    ctx: {
      ...base,
      log: control.log,
      egress: control.egress,
      settings: control.settings,
      participants: PARTICIPANTS,
      authorities: watched(authorities, (call) => {
        world.calls.push(call);
        world.fault?.(call);
      }),
      defaultOrder: ['google', 'lets_encrypt'],
      whenEverywhere: async () => true,
    },
    control,
    clock,
    zone: findZoneByName(store, 'saas.test')!,
    outside,
    web,
    calls: [],
    fault: undefined,
  };
  return world;
}

/** `before` is called before each call of an authority; ` done` behind its name after it. */
function watched(authorities: Authorities, before: (call: string) => void): Authorities {
  return {
    ...authorities,
    async of(name) {
      const authority = await authorities.of(name);
      return new Proxy(authority, {
        get(target, method: keyof Authority) {
          const value = target[method];
          if (typeof value !== 'function' || method === 'keyAuthorization') return value;
          return async (...values: never[]) => {
            before(`${name}.${method}`);
            const result = await (value as (...values: never[]) => unknown)(...values);
            before(`${name}.${method} done`);
            return result;
          };
        },
      });
    },
  };
}

const OWNER: CertificateOwner = { kind: 'hostname', id: 'a7a0c6ee-7f0c-4f0b-a1a4-8f5d5b0d0c11' };

async function want(world: World, change: Partial<CertificateRequest> = {}, owner = OWNER): Promise<void> {
  const request = { names: ['app.saas.test'], method: 'txt' as const, authority: '' as const, zone: world.zone.seq };
  await world.ctx.store.write(() => putCertificateRequest(world.ctx, owner, { ...request, ...change }));
}

const stateOf = ({ ctx, clock }: World, owner = OWNER) => stateOfCertificate(ctx.store, owner, clock.nowMs())!;
const rowOf = ({ ctx }: World, owner = OWNER) => findRequest(ctx.store, owner.kind, owner.id)!;
const served = (world: World, owner: string): string[] => {
  const zone = servingZone(world.ctx.store, findZoneByName(world.ctx.store, 'saas.test')!, world.ctx.settings);
  const key = [...servedOwners(world.ctx.store, zone)].find(({ ownerKey }) => textOf(ownerKey) === owner);
  return (key?.rrsets ?? []).flatMap(({ type, rdatas }) =>
    rdatas.map((rdata) => `${type} ${textOf(rdata.subarray(1))}`),
  );
};
const textOf = (octets: Uint8Array): string => Buffer.from(octets).toString('latin1');
const caaOf = (content: string): ScriptedReply => ({ answer: [`app.outside.test. 60 CAA ${content}`] });
const actors = (world: World) => stateOf(world).errors.map(({ actor, message }) => `${actor}: ${message}`);

/** Moves the clock to when the next step is due, and takes it. */
async function goOn(world: World): Promise<void> {
  const { next_at } = rowOf(world);
  if (next_at !== null) world.clock.advance(Math.max(0, next_at - world.clock.nowMs()));
  await advanceCertificate(world.ctx, OWNER);
}

t.test('a name in our own zone gets its certificate at once', async (t) => {
  const world = await startWorld(t);
  const { ctx } = world;
  for (let i = 0; i < 20; i++) {
    const owner: CertificateOwner = { kind: 'hostname', id: `owner-${i}` };
    await want(world, { names: [`app${i}.saas.test`] }, owner);
    await advanceCertificate(ctx, owner);
    t.match(stateOf(world, owner), { status: 'active', authority: 'google', serving: true, errors: [], records: [] });
  }
  const [certificate] = stateOf(world, { kind: 'hostname', id: 'owner-3' }).certificates;
  t.match(certificate, { issuer: /built-in authority/, signature: 'ECDSA-SHA256', serialNumber: /^[0-9a-f]{32}$/ });
  t.equal(Math.round((certificate!.expiresOnMs - certificate!.issuedOnMs) / DAY_MS), 90);
  t.strictSame(challengeOwners(ctx.store, world.zone.seq), [], 'no challenge is left');
  const changes = changesAfter(ctx.store, lastChange(ctx.store) - 2, 10);
  t.strictSame(
    changes.map(({ kind }) => kind),
    ['rrs', 'rrs'],
    'DNS processes heard of them',
  );
});

t.test('a wildcard and its parent: two texts at one name', async (t) => {
  const world = await startWorld(t);
  await want(world, { names: ['shop.saas.test', '*.shop.saas.test'] });
  await advanceCertificate(world.ctx, OWNER);
  t.match(stateOf(world), { status: 'active', names: ['shop.saas.test', '*.shop.saas.test'] });
});

t.test('tokens are shown, and served at the name and at the delegation target', async (t) => {
  const world = await startWorld(t);
  const { ctx, outside, zone } = world;
  await want(world, { names: ['app.outside.test', '*.app.outside.test'] });
  await advanceCertificate(ctx, OWNER, 2000);
  const { status, records, serving } = stateOf(world);
  t.match(
    { status, serving, records },
    {
      status: 'pending_validation',
      serving: false,
      records: [
        { status: 'pending', txtName: '_acme-challenge.app.outside.test', txtValue: /^[A-Za-z0-9_-]{43}$/ },
        { status: 'pending', txtName: '_acme-challenge.app.outside.test', txtValue: /^[A-Za-z0-9_-]{43}$/ },
      ],
    },
  );
  t.notOk(
    world.calls.some((call) => call.endsWith('.respond')),
    'the authority is not told before they are in place',
  );
  const target = dcvTarget(zone, 'app.outside.test');
  t.match(target, /^app\.outside\.test\.[0-9a-f]{16}\.dcv\.saas\.test$/);
  const key = target
    .replace(/\.saas\.test$/, '')
    .split('.')
    .reverse()
    .map((label) => `${label}\0`)
    .join('');
  const texts = records.map((record) => ('txtValue' in record ? `16 ${record.txtValue}` : ''));
  t.strictSame(served(world, key), texts.sort());
  await goOn(world);
  t.equal(stateOf(world).status, 'pending_validation');
  t.equal(
    rowOf(world).next_at! - world.clock.nowMs(),
    checkDelayMs(1),
    'looked at again after a minute, and later and later',
  );
  outside.set('_acme-challenge.app.outside.test TXT', {
    answer: [`_acme-challenge.app.outside.test. 60 CNAME ${target}.`],
  });
  await goOn(world);
  t.equal(stateOf(world).status, 'active', 'the delegation is followed into our zone');
  t.strictSame(served(world, key), []);
});

t.test('stored records stay next to challenges; an alias prevents them', async (t) => {
  const world = await startWorld(t);
  const { ctx } = world;
  world.fault = (call) => {
    if (call === 'google.respond') throw new Error('killed');
  };
  await want(world, { names: ['written.saas.test'] });
  await t.rejects(advanceCertificate(ctx, OWNER));
  const zone = servingZone(ctx.store, world.zone, ctx.settings);
  const key = Buffer.from('_acme-challenge\0', 'latin1');
  t.equal(served(world, 'written\0_acme-challenge\0').length, 2);
  t.equal(
    servedAtOwner(ctx.store, zone, new Uint8Array(Buffer.concat([Buffer.from('written\0'), key]))).records.length,
    2,
  );
  t.ok(parseName('written.saas.test.').length > 0);
});

t.test('a name that only a wildcard answers is still answered', async (t) => {
  const world = await startWorld(t);
  const { ctx, control, zone } = world;
  const zoneId = Buffer.from(zone.id).toString('hex');
  const addresses = async (name: string) =>
    (await ctx.resolver.resolve(name, 'A')).records.map(({ content }) => content);
  await createRecord(control, zoneId, { name: 'target.saas.test', type: 'A', content: '192.0.2.7', ttl: 60 });
  await createRecord(control, zoneId, {
    name: '*.alias.saas.test',
    type: 'CNAME',
    content: 'target.saas.test',
    ttl: 60,
  });
  await createRecord(control, zoneId, { name: '*.plain.saas.test', type: 'A', content: '192.0.2.8', ttl: 60 });
  world.fault = (call) => {
    if (call === 'google.respond')
      throw new AuthorityError({ type: 'serverInternal', detail: '', status: 500, subproblems: [] });
  };
  await want(world, { names: ['shop.alias.saas.test'] });
  await advanceCertificate(ctx, OWNER);
  t.equal(served(world, 'target\0').filter((text) => text.startsWith('16 ')).length, 1, 'the text is at the target');
  t.strictSame(await addresses('shop.alias.saas.test'), ['192.0.2.7']);
  world.fault = undefined;
  await goOn(world);
  t.equal(stateOf(world).status, 'active');
  await want(world, { names: ['shop.plain.saas.test'] });
  await advanceCertificate(ctx, OWNER);
  t.match(stateOf(world), {
    status: 'pending_validation',
    records: [{ txtName: '_acme-challenge.shop.plain.saas.test' }],
  });
  t.strictSame(await addresses('shop.plain.saas.test'), ['192.0.2.8'], 'there is no place for the text');
  await want(world, { names: ['*.plain.saas.test'] });
  await advanceCertificate(ctx, OWNER);
  t.equal(stateOf(world).status, 'active', 'the parent of a wildcard exists anyway');
});

t.test('by HTTP, in another account', async (t) => {
  const world = await startWorld(t);
  await want(world, { names: ['web.outside.test'], method: 'http' });
  await advanceCertificate(world.ctx, OWNER);
  const [record] = stateOf(world).records as unknown as { httpUrl: string; httpBody: string }[];
  const [, token] = /^http:\/\/web\.outside\.test\/\.well-known\/acme-challenge\/(.+)$/.exec(record!.httpUrl)!;
  world.web.set(`web.outside.test/${token}`, `${record!.httpBody}\n`);
  await goOn(world);
  t.equal(stateOf(world).status, 'active');
});

t.test('CAA forbids all: no request is sent', async (t) => {
  const world = await startWorld(t);
  world.outside.set('app.outside.test CAA', caaOf('0 issue "other.test"'));
  await want(world, { names: ['app.outside.test'] });
  await advanceCertificate(world.ctx, OWNER);
  t.match(stateOf(world), { status: 'caa_error', authority: 'google', records: [] });
  t.strictSame(
    world.calls.filter((call) => !/caaIdentities|accountUri/.test(call)),
    [],
  );
  t.match(actors(world), [
    'customer: caa_error: app.outside.test',
    /^customer: CAA records block issuance\. Please remove all CAA records or add records for this authority\. .*other\.test.*"pki\.goog"/,
  ]);
  world.outside.delete('app.outside.test CAA');
  await goOn(world);
  t.match(stateOf(world), { status: 'pending_validation', records: [{ status: 'pending' }] });
});

t.test('the next authority only if CAA forbids the previous one', async (t) => {
  await t.test('by the records', async (t) => {
    const world = await startWorld(t);
    world.outside.set('app.outside.test CAA', caaOf('0 issue "letsencrypt.org"'));
    await want(world, { names: ['app.outside.test'] });
    await advanceCertificate(world.ctx, OWNER);
    t.match(stateOf(world), { status: 'pending_validation', authority: 'lets_encrypt' });
    await want(world, { names: ['app.outside.test'], authority: 'google' });
    await advanceCertificate(world.ctx, OWNER);
    t.match(stateOf(world), { status: 'caa_error', authority: 'google' }, 'one that was asked for is never replaced');
  });
  await t.test('by its own word', async (t) => {
    const world = await startWorld(t);
    world.fault = refusing('google.finalize', { type: 'caa', status: 403 });
    await want(world);
    await advanceCertificate(world.ctx, OWNER);
    t.match(stateOf(world), { status: 'active', authority: 'lets_encrypt' });
    await want(world, { authority: 'google' });
    await advanceCertificate(world.ctx, OWNER);
    t.match(stateOf(world), {
      status: 'caa_error',
      serving: true,
      certificates: [{ issuer: /Zoneplane built-in authority/ }],
    });
  });
  for (const [type, status, text] of [
    [
      'rateLimited',
      429,
      'ca: The authority has rate limited these domains. Please wait for the rate limit to expire or try another authority.',
    ],
    ['rejectedIdentifier', 400, 'ca: The certificate authority will not issue for this domain.'],
    ['serverInternal', 500, 'ca: Internal error with Certificate Authority. Please check later.'],
    ['connection', 0, 'ca: Internal error with Certificate Authority. Please check later.'],
    [
      'dns',
      400,
      'customer: Certificate authority encountered a SERVFAIL during DNS lookup, please check your DNS reachability.',
    ],
  ] as const) {
    await t.test(`not for ${type}`, async (t) => {
      const world = await startWorld(t);
      world.fault = refusing('google.finalize', {
        type,
        status,
        ...(type === 'rateLimited' && { retryAfterMs: 7_200_000 }),
      });
      await want(world);
      await advanceCertificate(world.ctx, OWNER);
      t.match(stateOf(world), { status: 'pending_issuance', authority: 'google' });
      t.strictSame(actors(world), [text]);
      const waitMs = rowOf(world).next_at! - world.clock.nowMs();
      t.equal(waitMs, { rateLimited: 7_200_000, rejectedIdentifier: DAY_MS }[type as string] ?? 30_000);
      world.fault = undefined;
      await goOn(world);
      t.match(stateOf(world), { status: 'active', authority: 'google', errors: [] });
      t.equal(world.calls.filter((call) => call === 'google.createOrder').length, 1, 'the same order went on');
    });
  }
  await t.test('not for what is unknown', async (t) => {
    const world = await startWorld(t);
    world.outside.set('app.outside.test CAA', { rcode: 2 });
    await want(world, { names: ['app.outside.test'] });
    await advanceCertificate(world.ctx, OWNER);
    const asked = () => world.calls.filter((call) => !call.endsWith(' done'));
    t.strictSame(asked(), ['google.createOrder', 'google.order', 'google.authorization'], 'tokens, and no proof');
    t.match(actors(world), [/^customer: Certificate authority encountered a SERVFAIL/]);
    t.match(stateOf(world), { status: 'pending_validation', authority: 'google' });
    const tokens = stateOf(world).records;
    t.match(tokens, [{ txtValue: /^.{43}$/ }]);
    await goOn(world);
    t.strictSame([stateOf(world).records, asked().length], [tokens, 3], 'they stay while CAA stays unknown');
    world.outside.set('app.outside.test CAA', caaOf('0 issue "letsencrypt.org"'));
    await goOn(world);
    t.match(stateOf(world), { status: 'pending_validation', authority: 'lets_encrypt', errors: [] });
  });
});

t.test('a resolver that is silent holds no token back', async (t) => {
  const world = await startWorld(t);
  const { resolver } = world.ctx;
  const late = Promise.withResolvers<Resolution>();
  const silent: Resolver = {
    resolve: (name, type, options) => (type === 'CAA' ? late.promise : resolver.resolve(name, type, options)),
  };
  await want(world, { names: ['app.outside.test'] });
  const work = advanceCertificate({ ...world.ctx, resolver: silent }, OWNER);
  await until(() => {
    world.clock.advance(100);
    return stateOf(world).records.length > 0;
  }, 'the tokens');
  t.match(stateOf(world), { status: 'pending_validation', authority: 'google', records: [{ txtValue: /^.{43}$/ }] });
  late.resolve(await resolver.resolve('app.outside.test', 'CAA'));
  await work;
  t.match(stateOf(world), { status: 'pending_validation', errors: [] });
});

function refusing(call: string, problem: { type: string; status: number; retryAfterMs?: number }) {
  return (made: string): void => {
    if (made === call)
      throw new AuthorityError({ detail: `refused by a test: ${problem.type}`, subproblems: [], ...problem });
  };
}

t.test('a killed process continues with the same order', async (t) => {
  for (let at = 0; ; at++) {
    const world = await startWorld(t);
    let count = 0;
    let killed = '';
    world.fault = (call) => {
      if (count++ !== at) return;
      killed = call;
      throw new Error('killed');
    };
    await want(world);
    await advanceCertificate(world.ctx, OWNER).catch(() => {});
    if (killed === '') break;
    world.fault = undefined;
    await goOn(world);
    const state = stateOf(world);
    t.match(state, { status: 'active', serving: true }, `killed at ${killed}`);
    const orders = world.calls.filter((call) => call === 'google.createOrder done').length;
    t.equal(orders, 1, `orders when killed at ${killed}`);
    t.equal(world.calls.filter((call) => call === 'google.respond done').length, 1, `proofs when killed at ${killed}`);
  }
});

t.test('an order that may or may not have been created', async (t) => {
  const connection = { type: 'connection', status: 0 };
  const orders = ({ calls }: World) => calls.filter((call) => call === 'google.createOrder').length;
  await t.test('two needs for the same names: each has its own', async (t) => {
    const world = await startWorld(t);
    world.fault = refusing('google.createOrder done', connection);
    const other: CertificateOwner = { kind: 'zone', id: 'other' };
    for (const owner of [OWNER, other]) {
      await want(world, { names: ['app.outside.test'] }, owner);
      await advanceCertificate(world.ctx, owner);
    }
    world.fault = undefined;
    world.clock.advance(60_000);
    for (const owner of [OWNER, other]) await advanceCertificate(world.ctx, owner);
    t.equal(orders(world), 2, 'no third one is made');
    const [one, two] = [OWNER, other].map((owner) => JSON.stringify(stateOf(world, owner).records));
    t.match(one, /_acme-challenge/);
    t.not(one, two);
  });
  await t.test('one that is settled is not taken, nor one for other names', async (t) => {
    const world = await startWorld(t);
    const { ctx } = world;
    const authority = await ctx.authorities.of('google');
    const made = async (names: string[]) => (await authority.createOrder(names)).url;
    await made(['app.outside.test', '*.app.outside.test']);
    const url = await made(['app.outside.test']);
    t.strictSame(
      (await authority.unfinishedOrders(['app.outside.test'])).map((order) => order.url),
      [url],
    );
    world.clock.advance(7 * DAY_MS);
    t.strictSame(await authority.unfinishedOrders(['app.outside.test']), []);
  });
  await t.test('a refusal leaves nothing to look for', async (t) => {
    const world = await startWorld(t);
    world.fault = refusing('google.createOrder', { type: 'rateLimited', status: 429, retryAfterMs: 1000 });
    await want(world);
    await advanceCertificate(world.ctx, OWNER);
    world.fault = undefined;
    await goOn(world);
    t.equal(stateOf(world).status, 'active');
    t.notOk(world.calls.includes('google.unfinishedOrders'));
  });
  await t.test('the authority says at once that CAA forbids it: the next one is asked', async (t) => {
    const world = await startWorld(t);
    world.fault = refusing('google.createOrder', { type: 'caa', status: 403 });
    await want(world);
    await advanceCertificate(world.ctx, OWNER);
    t.match(stateOf(world), { status: 'active', authority: 'lets_encrypt' });
    t.equal(orders(world), 1);
  });
  await t.test('something else is wanted meanwhile', async (t) => {
    const world = await startWorld(t);
    world.fault = refusing('google.createOrder done', connection);
    await want(world);
    await advanceCertificate(world.ctx, OWNER);
    world.fault = undefined;
    await want(world, { names: ['web.saas.test'] });
    await advanceCertificate(world.ctx, OWNER);
    t.match(stateOf(world), { status: 'active', names: ['web.saas.test'] });
  });
  await t.test('it is given up after a week', async (t) => {
    const world = await startWorld(t);
    world.fault = refusing('google.createOrder done', connection);
    await want(world);
    await advanceCertificate(world.ctx, OWNER);
    world.clock.advance(7 * DAY_MS);
    world.fault = undefined;
    await advanceCertificate(world.ctx, OWNER);
    t.equal(stateOf(world).status, 'active');
    t.equal(orders(world), 2);
  });
});

t.test('renewal, while the old certificate stays in use', async (t) => {
  const world = await startWorld(t);
  const { clock, ctx } = world;
  await want(world);
  await advanceCertificate(ctx, OWNER);
  const [first] = stateOf(world).certificates;
  while (clock.nowMs() < first!.issuedOnMs + 58 * DAY_MS) await goOn(world);
  t.equal(stateOf(world).certificates[0]!.id, first!.id, 'not before two thirds of its time');
  world.fault = refusing('google.createOrder', { type: 'serverInternal', status: 503 });
  while (clock.nowMs() < first!.issuedOnMs + 80 * DAY_MS) await goOn(world);
  t.match(stateOf(world), { status: 'active', serving: true, certificates: [{ id: first!.id }] });
  while (clock.nowMs() < first!.issuedOnMs + 84 * DAY_MS) await goOn(world);
  t.match(stateOf(world), { status: 'pending_expiration', serving: true });
  while (clock.nowMs() < first!.expiresOnMs) await goOn(world);
  t.match(stateOf(world), { status: 'expired', serving: false });
  world.fault = undefined;
  await goOn(world);
  t.match(stateOf(world), { status: 'active', serving: true, errors: [] });
  t.not(stateOf(world).certificates[0]!.id, first!.id);
  world.outside.clear();
  const [second] = stateOf(world).certificates;
  await createRecord(world.control, Buffer.from(world.zone.id).toString('hex'), {
    name: 'app.saas.test',
    type: 'CAA',
    data: { flags: 0, tag: 'issue', value: ';' },
  });
  while (clock.nowMs() < second!.issuedOnMs + 65 * DAY_MS) await goOn(world);
  t.match(stateOf(world), { status: 'caa_error', serving: true, certificates: [{ id: second!.id }] });
});

t.test('tokens that are never published expire with the order; asking again creates new ones', async (t) => {
  const world = await startWorld(t);
  await want(world, { names: ['app.outside.test'] });
  await advanceCertificate(world.ctx, OWNER);
  const [before] = stateOf(world).records;
  await want(world, { names: ['app.outside.test'] });
  await advanceCertificate(world.ctx, OWNER);
  t.strictSame(stateOf(world).records, [before], 'the same tokens as long as they are good');
  for (let i = 0; i < 100 && rowOf(world).next_at !== null; i++) await goOn(world);
  t.match(stateOf(world), { status: 'validation_timed_out', records: [] });
  await want(world, { names: ['app.outside.test'] });
  await advanceCertificate(world.ctx, OWNER);
  t.equal(stateOf(world).status, 'pending_validation');
  t.notSame(stateOf(world).records, [before]);
});

t.test('an authority that accepts no order', async (t) => {
  const world = await startWorld(t);
  world.fault = refusing('google.createOrder', { type: 'connection', status: 0 });
  await want(world);
  for (let i = 0; i < 100 && rowOf(world).next_at !== null; i++) await goOn(world);
  t.equal(stateOf(world).status, 'initializing_timed_out');
  world.fault = undefined;
  await want(world);
  await advanceCertificate(world.ctx, OWNER);
  t.equal(stateOf(world).status, 'active');
});

t.test('an authority that answers 500 for an hour', async (t) => {
  const world = await startWorld(t);
  const beganMs = world.clock.nowMs();
  let refused = 0;
  let broken = false;
  world.fault = (call) => {
    broken ||= call === 'google.finalize';
    if (!broken || world.clock.nowMs() - beganMs >= HOUR_MS) return;
    refused++;
    throw new AuthorityError({ type: 'serverInternal', detail: 'by a test', status: 500, subproblems: [] });
  };
  await want(world);
  await advanceCertificate(world.ctx, OWNER);
  while (world.clock.nowMs() - beganMs < HOUR_MS) {
    t.match(stateOf(world), { status: 'pending_issuance', authority: 'google', errors: [{ actor: 'ca' }] });
    await goOn(world);
  }
  t.ok(refused >= 6 && refused <= 8, `it is asked later and later: ${refused} times`);
  t.match(stateOf(world), { status: 'active', authority: 'google', errors: [] });
  t.equal(world.calls.filter((call) => call === 'google.createOrder').length, 1, 'the same order went on');
});

t.test('a clock that goes back an hour', async (t) => {
  for (const asked of [true, false]) {
    const world = await startWorld(t);
    const { ctx, clock, outside } = world;
    await want(world, { names: ['app.outside.test'] });
    await advanceCertificate(ctx, OWNER);
    const [record] = stateOf(world).records as unknown as { txtValue: string }[];
    clock.advance(-HOUR_MS);
    outside.set('_acme-challenge.app.outside.test TXT', {
      answer: [`_acme-challenge.app.outside.test. 60 TXT "${record!.txtValue}"`],
    });
    if (asked) {
      await want(world, { names: ['app.outside.test'] });
      await advanceCertificate(ctx, OWNER);
    } else {
      await goOn(world);
    }
    t.equal(stateOf(world).status, 'active', asked ? 'at once for who asks' : 'else when it was to be looked at');
    t.equal(
      world.calls.filter((call) => call === 'google.createOrder').length,
      1,
      'the same order, with the same token',
    );
  }
});

t.test('dropped certificates are revoked, and their keys removed', async (t) => {
  const world = await startWorld(t);
  const { store } = world.ctx;
  await want(world);
  await advanceCertificate(world.ctx, OWNER);
  const { id } = stateOf(world);
  await store.write(() => dropCertificateRequest(world.ctx, OWNER));
  t.equal(stateOfCertificate(store, OWNER, world.clock.nowMs()), undefined);
  world.fault = refusing('google.revoke', { type: 'serverInternal', status: 500 });
  t.type(await removeDropped(world.ctx, id), 'number');
  world.fault = undefined;
  t.equal(await removeDropped(world.ctx, id), undefined);
  const count = (sql: string) => store.prepareTuples<[], [number]>(sql).get()![0];
  t.equal(count('SELECT count(*) FROM authority_certificates WHERE revoked_at IS NOT NULL'), 1);
  t.equal(count('SELECT count(*) FROM certificates'), 0);
});

t.test('Pebble, which queries our name server', { skip: withoutPebble }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-issuance-'));
  const program = await startProgram({ directory, key: KEY });
  const pebble = await startPebble({ dnsPort: program.dnsPort, refusedNonces: 20, validity: 86_400 });
  const clock = new SystemClock();
  const { control, ctx, close } = await contextOf(
    (await startControl(t)).ctx,
    join(directory, 'data'),
    program,
    pebble,
    clock,
  );
  t.teardown(async () => {
    await close();
    await pebble.stop();
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const imported = await importZone(control, { source: { text: SAAS } });
  t.ok(imported.imported);
  const zone = findZoneByName(ctx.store, 'saas.test')!.seq;
  const owner: CertificateOwner = { kind: 'zone', id: 'pebble' };
  const forget = ctx.store.prepare<[string, string]>('DELETE FROM jobs WHERE kind = ? AND subject = ?');
  const other: CertificateOwner = { kind: 'service', id: 'left to the program' };
  const embedded = { names: ['app.saas.test'], zone, method: 'txt', authority: 'google' } as const;
  await ctx.store.write(() => putCertificateRequest(ctx, other, embedded));
  const names = ['saas.test', '*.saas.test'];
  await ctx.store.write(() => {
    putCertificateRequest(ctx, owner, { names, zone, method: 'txt', authority: 'ssl_com' });
    // The program knows nothing of this Pebble.
    forget.run('certificate', 'zone:pebble');
  });
  const state = () => stateOfCertificate(ctx.store, owner, clock.nowMs())!;
  await until(async () => {
    await advanceCertificate(ctx, owner);
    return state().status === 'active';
  }, 'the certificate of Pebble');
  t.match(state(), { status: 'active', authority: 'ssl_com', certificates: [{ issuer: /Pebble/ }] });
  const left = () => stateOfCertificate(ctx.store, other, clock.nowMs())!;
  await until(() => left().status === 'active', 'the certificate that the program orders', program.printed);
  t.match(
    left(),
    { status: 'active', certificates: [{ issuer: /built-in authority/ }] },
    'the program takes up the job',
  );
  const { id, certificates } = state();
  t.equal(await pebble.statusOf(certificates[0]!.serialNumber), 'Valid');
  await ctx.store.write(() => {
    dropCertificateRequest(ctx, owner);
    forget.run('revoke', id);
  });
  t.equal(await removeDropped(ctx, id), undefined);
  t.equal(await pebble.statusOf(certificates[0]!.serialNumber), 'Revoked');
});

t.test('Pebble, which requests HTTP challenges from our admin API', { skip: withoutPebble }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-issuance-'));
  const program = await startProgram({ directory, key: KEY });
  const pebble = await startPebble({ dnsPort: program.dnsPort, httpPort: program.adminPort });
  const clock = new SystemClock();
  const parts = (await startControl(t)).ctx;
  const { control, ctx, close } = await contextOf(
    parts,
    join(directory, 'data'),
    program,
    pebble,
    clock,
    program.adminPort,
  );
  t.teardown(async () => {
    await close();
    await pebble.stop();
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  t.ok((await importZone(control, { source: { text: `${SAAS}web 60 IN A 127.0.0.1\n` } })).imported);
  const zone = findZoneByName(ctx.store, 'saas.test')!.seq;
  const owner: CertificateOwner = { kind: 'zone', id: 'http' };
  const forget = ctx.store.prepare<[string, string]>('DELETE FROM jobs WHERE kind = ? AND subject = ?');
  // No TXT record proves control: the records for dns-01 are not served.
  const hide = ctx.store.prepare('DELETE FROM challenge_records');
  await ctx.store.write(() => {
    putCertificateRequest(ctx, owner, { names: ['web.saas.test'], zone, method: 'http', authority: 'ssl_com' });
    forget.run('certificate', 'zone:http');
  });
  const state = () => stateOfCertificate(ctx.store, owner, clock.nowMs())!;
  const answers: unknown[] = [];
  await until(async () => {
    await advanceCertificate(ctx, owner);
    await ctx.store.write(() => hide.run());
    const [record] = state().records;
    if (record && 'httpUrl' in record && answers.length === 0)
      answers.push(...(await askAdmin(program, record.httpUrl)));
    return state().status === 'active';
  }, 'the certificate of Pebble');
  t.match(state(), { status: 'active', authority: 'ssl_com', certificates: [{ issuer: /Pebble/ }] });
  const body = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/;
  const found = [200, 'application/octet-stream', body];
  t.match(answers, [found, found, found, [404], [404], [404]]);
  t.match(await askAdmin(program, 'http://web.saas.test/.well-known/acme-challenge/over'), [[404]], 'when it is over');
});

/**
 * What the admin API answers without a credential: as it should be asked, with a port and in capitals, and as it should not.
 */
async function askAdmin({ api }: { api: string }, url: string): Promise<[number, string | null, string][]> {
  const { host, pathname } = new URL(url);
  const token = pathname.split('/').at(-1)!;
  const asked: [string, string][] = [
    [host, pathname],
    [`${host.toUpperCase()}.:8053`, pathname],
    [host, `/.well-known/pki-validation/${token}.txt`],
    [`other.${host}`, pathname],
    [host, `${pathname}x`],
    [host, `/.well-known/acme-challenge/${token}.txt`],
  ];
  return Promise.all(
    asked.map(async ([name, path]) => {
      const answer = await request(`${api}${path}`, { headers: { host: name } });
      return [answer.statusCode, String(answer.headers['content-type']), await answer.body.text()] as const;
    }),
  ) as Promise<[number, string, string][]>;
}

t.test('a web server that cannot be looked at from here', async (t) => {
  const world = await startWorld(t);
  const { clock, calls, web } = world;
  let outside = false;
  const ctx = { ...world.ctx, authorities: { ...world.ctx.authorities, isOutside: () => outside } };
  const advance = async (): Promise<void> => {
    clock.advance(Math.max(0, rowOf(world).next_at! - clock.nowMs()));
    await advanceCertificate(ctx, OWNER);
  };
  const responds = () => calls.filter((call) => call.endsWith('.respond')).length;
  await want(world, { names: ['web.outside.test'], method: 'http' });
  await advance();
  const { httpUrl, httpBody } = stateOf(world).records[0] as unknown as { httpUrl: string; httpBody: string };
  const at = `web.outside.test/${httpUrl.split('/').at(-1)}`;
  web.set(at, { reason: 'It is far away.' });
  for (let i = 0; i < 8; i++) await advance();
  t.strictSame(stateOf(world).errors, [
    { message: 'The token cannot be looked at from here: It is far away.', actor: 'provider' },
  ]);
  t.equal(responds(), 0, 'the built-in authority cannot see more');
  web.delete(at);
  await advance();
  t.strictSame(stateOf(world).errors, [], 'it can be looked at, and is not there');
  web.set(at, { reason: 'It is far away.' });
  outside = true;
  // What the authority sees, which is not here.
  world.fault = (call) => {
    if (call === 'google.respond') web.set(at, httpBody);
  };
  await advance();
  t.equal(responds(), 1, 'an authority outside judges for itself');
  for (let i = 0; i < 5; i++) await advance();
  t.match(stateOf(world), { status: 'active', errors: [] });
});

t.test('before that, an authority outside is left alone', async (t) => {
  const world = await startWorld(t);
  const { clock, calls } = world;
  const ctx = {
    ...world.ctx,
    fetchToken: async () => ({ reason: 'It is far away.' }),
    authorities: { ...world.ctx.authorities, isOutside: () => true },
  };
  await want(world, { names: ['web.outside.test'], method: 'http' });
  await advanceCertificate(ctx, OWNER);
  const begun = clock.nowMs();
  while (!calls.some((call) => call.endsWith('.respond'))) {
    clock.advance(Math.max(0, rowOf(world).next_at! - clock.nowMs()));
    await advanceCertificate(ctx, OWNER);
  }
  t.ok(clock.nowMs() - begun > 300_000, `${clock.nowMs() - begun} ms`);
});

t.test('an order that was made before the clock was set back goes on', async (t) => {
  const world = await startWorld(t);
  const { clock } = world;
  const ctx = {
    ...world.ctx,
    authorities: { ...world.ctx.authorities, isOutside: () => true },
    whenEverywhere: async () => false,
  };
  await want(world);
  await advanceCertificate(ctx, OWNER);
  t.match(stateOf(world), { status: 'pending_validation' }, 'its record is not served everywhere');
  clock.putBack(HOUR_MS);
  await ctx.store.write(() => updateRequest(ctx.store, rowOf(world).seq, { next_at: clock.nowMs() }));
  await advanceCertificate(ctx, OWNER);
  clock.advance(1000);
  await advanceCertificate(ctx, OWNER);
  t.match(stateOf(world), { status: 'active' });
});

t.test(
  'what the built-in authority signed while the clock was ahead is renewed, and what others signed is left',
  async (t) => {
    const world = await startWorld(t);
    const { ctx, clock } = world;
    const ms = 13 * 365 * DAY_MS;
    clock.putBack(-ms);
    await want(world);
    while (stateOf(world).status !== 'active') await goOn(world);
    clock.putBack(ms);
    const [tooNew] = stateOf(world).certificates;
    t.notOk(stateOf(world).serving);
    t.match(examineCertificates(examinedFor(world.control, world.control.settings, clock.nowUs())), [
      { verdict: 'warn', text: /it is valid only from 2038-/ },
    ]);
    const followed = (isOutside: boolean) => {
      const authorities = { ...ctx.authorities, isOutside: () => isOutside };
      return ctx.store.write(() => certificateJobs({ ...ctx, authorities })[STEP_JOB]!.followJobs!(ctx.store));
    };
    await followed(true);
    t.ok(rowOf(world).next_at! > clock.nowMs());
    await followed(false);
    for (let steps = 0; steps < 20 && stateOf(world).certificates[0]!.id === tooNew!.id; steps++) await goOn(world);
    const state = stateOf(world);
    t.match(state, { status: 'active', serving: true });
    const chain = issuedFor(ctx.store, rowOf(world).seq)[0]!.chain.match(PEM)!;
    const roots = storedRootsPem(ctx.store, clock.nowMs()).match(PEM)!;
    const valid = [...chain, ...roots.slice(-1)].map((pem) => new X509Certificate(pem));
    for (const { validFrom } of valid) t.ok(Date.parse(validFrom) <= clock.nowMs(), validFrom);
    for (const [at, { publicKey }] of valid.slice(1).entries()) t.ok(valid[at]!.verify(publicKey));
  },
);

t.test('an authority outside is told when everything serves the challenge, and not before', async (t) => {
  const world = await startWorld(t);
  const { clock, calls } = world;
  let served = false;
  const asked: (readonly number[])[] = [];
  const ctx = {
    ...world.ctx,
    authorities: { ...world.ctx.authorities, isOutside: () => true },
    async whenEverywhere(zones: readonly number[]) {
      asked.push(zones);
      return served;
    },
  };
  const advance = async (): Promise<void> => {
    clock.advance(Math.max(0, rowOf(world).next_at! - clock.nowMs()));
    await advanceCertificate(ctx, OWNER);
  };
  const told = (): boolean => calls.some((call) => call.endsWith('.respond'));
  await want(world);
  const begun = clock.nowMs();
  while (clock.nowMs() - begun < 200_000) await advance();
  t.notOk(told(), 'not after minutes');
  t.match(stateOf(world), { status: 'pending_validation' });
  t.ok(asked.length > 50);
  t.strictSame(asked.at(-1), [world.zone.seq], 'the zone with the record counts');
  served = true;
  await advance();
  t.ok(told());
  for (let step = 0; step < 4; step++) await advance();
  t.match(stateOf(world), { status: 'active' });

  const other = await startWorld(t);
  await want(other);
  const ctxOther = { ...ctx, ...other.ctx, authorities: { ...other.ctx.authorities, isOutside: () => true } };
  ctxOther.whenEverywhere = async () => false;
  const from = other.clock.nowMs();
  while (!other.calls.some((call) => call.endsWith('.respond')) && other.clock.nowMs() - from < HOUR_MS) {
    other.clock.advance(Math.max(0, rowOf(other).next_at! - other.clock.nowMs()));
    await advanceCertificate(ctxOther, OWNER);
  }
  t.ok(other.clock.nowMs() - from >= 300_000, 'a server that never serves it does not hold it up for ever');
  t.ok(other.clock.nowMs() - from < HOUR_MS);
});

t.test('which paths of which hosts are answered', async (t) => {
  const world = await startWorld(t);
  const { ctx } = world;
  await want(world, { names: ['web.outside.test'], method: 'http' });
  await advanceCertificate(ctx, OWNER);
  const [record] = stateOf(world).records as unknown as { httpUrl: string; httpBody: string }[];
  const { pathname } = new URL(record!.httpUrl);
  const answer = (host: string, path = pathname) => answerHttpChallenge(ctx.store, host, path);
  for (const host of ['web.outside.test', 'WEB.outside.test', 'web.outside.test.', 'web.outside.test:8080']) {
    t.equal(answer(host), record!.httpBody, host);
  }
  for (const host of ['', 'outside.test', 'a.web.outside.test', 'web.outside.test..', '[::1]:80']) {
    t.equal(answer(host), undefined, host);
  }
  for (const path of [`${pathname}/`, `/x${pathname}`, pathname.slice(0, -1), `${pathname}%00`, '/', '']) {
    t.equal(answer('web.outside.test', path), undefined, path);
  }
  const texts = ctx.store.prepareTuples<[], [string]>("SELECT token FROM challenges WHERE type = 'dns-01'").all();
  t.equal(texts.length, 1);
  t.equal(answer('web.outside.test', `${CHALLENGE_PATH}${texts[0]![0]}`), undefined, 'the token of another challenge');
});

/** Whether the DNS process of a program serves all changes of a zone. */
async function isInSync({ api }: Program, store: Store, zone: number): Promise<boolean> {
  const newest = changesAfter(store, 0, 10_000).findLast((change) => change.zone === zone)!;
  const id = toHex(findZone(store, zone)!.id);
  const headers = { authorization: `Bearer ${KEY}` };
  const answer = await request(`${api}/client/v4/zones/${id}/changes/${newest.seq}`, { headers });
  const { result } = (await answer.body.json()) as { readonly result: { readonly status: string } };
  return result.status === 'INSYNC';
}

/** The data of a program that runs, with a Pebble as one of the authorities. */
async function contextOf(
  parts: Context,
  data: string,
  program: Program,
  pebble: Awaited<ReturnType<typeof startPebble>>,
  clock: SystemClock,
  webPort?: number,
) {
  const store = openStore(data);
  const { settings, log, actor, egress } = parts;
  const keys = fileKeys(join(data, 'master.key'));
  const vault = await unlockVault({ store, keys, random: systemRandom, purposes: ALL_PURPOSES });
  const upstream = createUpstream({ servers: [], clock });
  const resolver = createResolver({ store, upstream, clock, random: systemRandom, serving: settings });
  const fetch = createTokenFetch({ resolver, clock, egress: anywhere(clock), ...(webPort && { port: webPort }) });
  const fetchToken = async (host: string, token: string) =>
    webPort ? fetch(host, `${CHALLENGE_PATH}${token}`) : undefined;
  const base = { store, clock, random: systemRandom, vault, resolver, fetchToken };
  const name: AuthorityName = 'ssl_com';
  const authorities = createAuthorities({
    ...base,
    directories: new Map([[name, { url: pebble.directoryUrl, contact: ['mailto:admin@example.com'] }]]),
    caBundle: pebble.identity.certificate,
    userAgent: 'zoneplane/test',
  });
  // The program reads again twice a second what this process writes, and its DNS process reports to its own admin process.
  const whenEverywhere = async (zones: readonly number[]): Promise<boolean> => {
    for (const zone of zones) await until(() => isInSync(program, store, zone), 'the challenges are served');
    return true;
  };
  const ctx: CertificateContext = {
    ...base,
    log,
    egress,
    settings,
    participants: PARTICIPANTS,
    authorities,
    defaultOrder: [name],
    whenEverywhere,
  };
  const control: Context = { ...ctx, actor, requestId: 'test', source: 'api' };
  return {
    ctx,
    control,
    close: async () => {
      await authorities.close();
      store.close();
    },
  };
}
