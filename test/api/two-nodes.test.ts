/**
 * The APIs of two nodes that write without looking at the log first: their requests are answered as if all had gone to one.
 *
 * Seen failing on 2026-11-22: a revoked token wrote where the write did not check what came since (read-point.ts); refusals,
 * and edits that change nothing, rested on an old copy where they were answered without a look (current.ts); a request that
 * reads hung while the log was away.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret, TOTP } from 'otpauth';
import t from 'tap';
import { parseCidrSet } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { buildBucketApplication } from '../../src/bucket/application.js';
import { createBucketMetrics } from '../../src/bucket/application-metrics.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { ticketSecretJob } from '../../src/certs/ticket-secret.js';
import { followLog } from '../../src/cluster/replica.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import type { Context } from '../../src/control/kernel/context.js';
import { Outdated, openReadPoint } from '../../src/control/kernel/read-point.js';
import { createZone } from '../../src/control/zones/zones.js';
import { createTicketKeys } from '../../src/edge/tls/ticket-keys.js';
import { setPasswordOf } from '../../src/sign-in/operator.js';
import { DATABASE_FILE, openStore } from '../../src/store/driver.js';
import { StoreFull } from '../../src/store/failures.js';
import { catchUp, createLogWriter, type Stretch } from '../../src/store/log-writer.js';
import { migrate } from '../../src/store/migrate.js';
import { allBuckets } from '../../src/store/objects/buckets.js';
import type { Entry } from '../../src/store/recording.js';
import type { Position } from '../../src/store/replay.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import {
  type ApiNode,
  apiOf,
  copyKey,
  makeInstallation,
  type NodeAnswer,
  runInterleaved,
} from '../support/api-nodes.js';
import { beginCluster, clock, contentIn, makeDirectory, openNode } from '../support/cluster-copies.js';
import { CLIENT, startIdentityProvider } from '../support/identity-provider.js';
import { MemoryLog } from '../support/memory-log.js';
import { skipWithoutPostgres, startPostgres } from '../support/postgres.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';
import { PASSWORD } from './people.js';

/** Each step takes some turns of the event loop, so that others come between. */
class SlowLog extends MemoryLog {
  private readonly random = seededRandom(5);
  reads = 0;
  /** Awaited by appends. */
  answers: Promise<unknown> = Promise.resolve();

  private async pause(): Promise<void> {
    for (let turns = this.random.bytes(1)[0]! % 4; turns > 0; turns--) await new Promise(setImmediate);
  }

  override async append(entry: Entry): Promise<boolean> {
    await this.answers;
    await this.pause();
    const isAdded = await super.append(entry);
    await this.pause();
    return isAdded;
  }

  override async read(behind: Position, limit: number): Promise<Stretch> {
    this.reads++;
    await this.pause();
    const stretch = await super.read(behind, limit);
    await this.pause();
    return stretch;
  }
}

t.test('with a log in memory', async (t) => {
  const [first, second] = [makeDirectory(t), makeDirectory(t)];
  const original = openStore(first);
  migrate(original, clock, systemRandom);
  await makeInstallation(original, first);
  original.close();
  copyFileSync(join(first, DATABASE_FILE), join(second, DATABASE_FILE));
  copyKey(first, second);
  const log = new SlowLog();
  const nodes: ApiNode[] = [];
  for (const [index, directory] of [first, second].entries()) {
    const store = openStore(directory, { writer: (own) => createLogWriter(own, log, systemRandom) });
    t.teardown(() => store.close());
    const copy = { refresh: () => catchUp(store, log), isQuiet: () => true };
    nodes.push(await apiOf(t, { store, directory, copy, seed: 10 + index }));
  }
  const [a, b] = nodes as [ApiNode, ApiNode];
  await runInterleaved(t, [a, b], 4);
  for (const { store } of nodes) await catchUp(store, log);
  t.equal(contentIn(first), contentIn(second));

  t.test('a creation is one step: an entry that follows, and no look', async (t) => {
    const { json } = await a.call('POST', '/zones', { name: 'steps.test' });
    const records = `/zones/${json.result.id}/dns_records`;
    const [reads, last] = [log.reads, log.entries.length];
    t.equal((await a.call('POST', records, { type: 'A', name: 'x', content: '192.0.2.1' })).status, 200);
    t.strictSame([log.reads - reads, log.entries.length - last], [0, 1]);
    t.equal((await a.call('POST', records, { type: 'A', name: 'x', content: '192.0.2.1' })).status, 400);
    t.strictSame([log.reads - reads, log.entries.length - last], [1, 1], 'a refusal is told after a look');
    t.equal((await a.call('GET', records)).status, 200);
    t.equal(log.reads - reads, 2, 'what is read is read after one');
  });

  t.test('so are zones, settings, tokens, buckets and secondary servers', async (t) => {
    const steps = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) => {
      const [reads, last] = [log.reads, log.entries.length];
      const { status, json } = await a.call(method, path, body);
      const counted = [status, log.reads - reads, log.entries.length - last];
      t.strictSame(counted, [200, 0, 1], `${method} ${path}: ${JSON.stringify(json.errors)}`);
      return json.result;
    };
    const { id: account } = (await a.call('GET', '/accounts')).json.result[0];
    const { id } = await steps('POST', '/zones', { name: 'one-step.test' });
    const zone = `/zones/${id}`;
    await steps('PATCH', zone, { paused: true });
    await steps('PATCH', `${zone}/dns_settings`, { soa: { ttl: 300 } });
    await steps('PATCH', `${zone}/settings/ssl`, { value: 'flexible' });
    await steps('POST', `${zone}/hold`);
    await steps('DELETE', `${zone}/hold`);
    const policies = [
      {
        effect: 'allow',
        permission_groups: [{ id: '4755a26eedb94da69e1066d98aa820be' }],
        resources: { [`com.cloudflare.api.account.zone.${id}`]: '*' },
      },
    ];
    const token = await steps('POST', '/user/tokens', { name: 'one', policies });
    await steps('PUT', `/user/tokens/${token.id}`, { name: 'other', policies });
    await steps('PUT', `/user/tokens/${token.id}/value`);
    await steps('DELETE', `/user/tokens/${token.id}`);
    const buckets = `/accounts/${account}/r2/buckets`;
    await steps('POST', buckets, { name: 'one-step' });
    await steps('DELETE', `${buckets}/one-step`);
    const secondary = `/accounts/${account}/secondary_dns`;
    const peer = await steps('POST', `${secondary}/peers`, { name: 'one', ip: '192.0.2.53' });
    await steps('POST', `${zone}/secondary_dns/outgoing`, { name: 'one-step.test', peers: [peer.id] });
    await steps('POST', `${zone}/secondary_dns/outgoing/force_notify`, {});
    await steps('DELETE', `${zone}/secondary_dns/outgoing`);
    const copied = await steps('POST', '/zones', { name: 'copied.test', type: 'secondary' });
    const incoming = `/zones/${copied.id}/secondary_dns`;
    await steps('POST', `${incoming}/incoming`, { name: 'copied.test', peers: [peer.id] });
    await steps('POST', `${incoming}/force_axfr`, {});
    await steps('DELETE', `/zones/${copied.id}`);
    await steps('DELETE', `${secondary}/peers/${peer.id}`);
    await steps('PATCH', `/accounts/${account}/dns_settings`, { zone_defaults: { ns_ttl: 3600 } });
    await steps('POST', `${zone}/purge_cache`, { purge_everything: true });
    await steps('DELETE', zone);
  });

  t.test('and objects; a custom hostname is made without a look', async (t) => {
    const { id: account } = (await a.call('GET', '/accounts')).json.result[0];
    const { id } = (await a.call('POST', '/zones', { name: 'looks.test' })).json.result;
    await a.call('POST', `/accounts/${account}/r2/buckets`, { name: 'looks' });
    const objects = `/accounts/${account}/r2/buckets/looks/objects`;
    const large = { octets: 'x'.repeat(70_000) };
    for (const [method, path, body, looks] of [
      ['PUT', `${objects}/small`, { octets: 'few' }, 0],
      ['PUT', `${objects}/large`, large, 1],
      ['DELETE', `${objects}/small`, undefined, 0],
      ['DELETE', `${objects}/small`, undefined, 1],
      // A list may take several commits.
      ['DELETE', objects, ['large'], 1],
      ['POST', `/zones/${id}/custom_hostnames`, { hostname: 'shop.example.com' }, 0],
    ] as const) {
      const { reads } = log;
      const { status, json } = await a.call(method, path, body);
      t.strictSame([status, log.reads - reads], [200, looks], `${method} ${path} ${JSON.stringify(json.errors)}`);
    }
  });

  t.test('what a request does after its commit may follow writes of other nodes', async (t) => {
    const begin = (): Context => ({
      ...{ ...a.base, actor: OPERATOR, requestId: 'test', source: 'api' },
      readPoint: openReadPoint(a.store),
    });
    const [ctx, late] = [begin(), begin()];
    await createZone(ctx, { name: 'before.test' });
    t.equal((await b.call('POST', '/zones', { name: 'between.test' })).status, 200);
    await catchUp(a.store, log);
    t.match(await createZone(ctx, { name: 'after-commit.test' }), { name: 'after-commit.test' });
    await t.rejects(createZone(late, { name: 'late.test' }), Outdated);
  });

  t.test('the bucket application shows what another node has acknowledged', async (t) => {
    const { id: account } = (await a.call('GET', '/accounts')).json.result[0];
    await a.call('POST', `/accounts/${account}/r2/buckets`, { name: 'shown' });
    const { store } = b;
    const app = buildBucketApplication({
      objects: createLocalStore({ store, clock, random: systemRandom, log: silentLogger() }),
      boundBucket: () => allBuckets(store).find(({ name }) => name === 'shown')?.seq,
      ...{ authorize: () => true, limit: 1000, clock, random: systemRandom, log: silentLogger() },
      ...{ trustedProxies: parseCidrSet([]), metrics: createBucketMetrics(), refresh: () => catchUp(store, log) },
    });
    t.teardown(() => app.close());
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    for (const value of ['one', 'two']) {
      const path = `/accounts/${account}/r2/buckets/shown/objects/key`;
      t.equal((await a.call('PUT', path, { value })).status, 200);
      t.equal(await (await fetch(`${address}/key`)).text(), JSON.stringify({ value }));
    }
  });

  t.test('edges of all nodes derive the same keys of TLS session tickets', async (t) => {
    const keysAt = async ({ store }: ApiNode, directory: string) => {
      const path = join(directory, 'master.key');
      const vault = await unlockVault({ store, keys: fileKeys(path), random: systemRandom, purposes: ['tls'] });
      const later = new TestClock();
      const keys = createTicketKeys({ store, vault, clock: later, random: systemRandom, log: silentLogger() });
      const seen = async (): Promise<readonly string[]> => {
        await catchUp(store, log);
        later.advance(2000);
        return [keys.generation(), keys.keyFor('a certificate').toString('hex')];
      };
      const job = ticketSecretJob(vault, systemRandom);
      const run = (nowMs: number) =>
        job.handler(
          {
            ...{ store, clock: new TestClock(nowMs), log: silentLogger(), attempt: 0, requireLease() {} },
            signal: new AbortController().signal,
          },
          '',
        );
      return { seen, run };
    };
    const [here, there] = [await keysAt(a, first), await keysAt(b, second)];
    t.not((await here.seen())[1], (await there.seen())[1], 'until there is a secret, each has its own');
    for (const [index, node] of [here, there, here].entries()) {
      await node.run(Date.UTC(2026, 0, 5) + index * 13 * 3_600_000);
      const [generation, key] = await here.seen();
      t.equal(generation, String(index + 1));
      t.strictSame(await there.seen(), [generation, key]);
    }
  });

  t.test('a code and an answer of a provider count once, and a session ends, at both', async (t) => {
    const email = 'ada@example.com';
    const operator: Context = { ...a.base, actor: OPERATOR, requestId: 'test', source: 'cli' };
    await createAccount(operator, { name: 'Engines', members: [email] });
    await setPasswordOf(operator, email, PASSWORD);
    const own = { 'zoneplane-dashboard': '1' };
    const signIn = (node: ApiNode) => node.call('POST', '/user/sign_in', { email, password: PASSWORD }, own);
    const cookieOf = ({ headers }: NodeAnswer): string =>
      [headers['set-cookie']]
        .flat()
        .map(String)
        .find((field) => !field.includes('_sso='))
        ?.split(';')[0] ?? '';
    const ada = { ...own, cookie: cookieOf(await signIn(a)) };
    t.equal((await b.call('GET', '/user', undefined, ada)).status, 200, 'a session is one of the cluster');
    const { secret } = (await a.call('POST', '/user/totp', {}, ada)).json.result;
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = (laterMs: number): string => totp.generate({ timestamp: a.clock.nowMs() + laterMs });
    const enrolled = await a.call('PUT', '/user/totp', { totp: code(0) }, ada);
    t.equal(enrolled.status, 200);
    t.equal((await b.call('GET', '/user', undefined, ada)).status, 401, 'the one from before has another secret');
    const challenges = [(await signIn(a)).json.result.challenge, (await signIn(b)).json.result.challenge];
    const both = await Promise.all(
      [a, b].map((node, n) => node.call('POST', `/user/sign_in/${challenges[n]}`, { totp: code(30_000) }, own)),
    );
    t.strictSame(both.map(({ status }) => status).sort(), [200, 403], 'one code, one session');
    const winner = { ...own, cookie: cookieOf(both.find(({ status }) => status === 200)!) };
    t.equal((await a.call('DELETE', '/user/sessions/current', undefined, winner)).status, 200);
    t.equal((await b.call('GET', '/user', undefined, winner)).status, 401);
    const idp = await startIdentityProvider(() => a.clock.nowMs());
    t.teardown(() => idp.close());
    const described = { name: 'Example', issuer: idp.issuer, client_id: CLIENT, client_secret: 'x', creates: 'always' };
    const provider = (await a.call('POST', '/oidc_providers', described)).json.result.id;
    const path = `/user/sign_in/oidc/${provider}`;
    const left = await b.call('GET', path, undefined, {});
    const asked = new URL(String(left.headers['location'])).searchParams;
    idp.say(asked.get('nonce')!, {});
    const cookie = String(left.headers['set-cookie']).split(';')[0]!;
    const back = await Promise.all(
      [a, b].map((node) =>
        node.call('GET', `${path}/callback?code=x&state=${asked.get('state')}`, undefined, { cookie }),
      ),
    );
    t.strictSame(back.map((answer) => cookieOf(answer) !== '').sort(), [false, true], 'one answer, one session');
  });

  t.test('who reads does not wait until the use of the credential is stored', async (t) => {
    const back = Promise.withResolvers<void>();
    const full = Promise.reject(new StoreFull());
    full.catch(() => {});
    for (const answers of [back.promise, full]) {
      a.clock.advance(600_000);
      log.answers = answers;
      let status = 0;
      const reading = a.call('GET', '/zones').then((answer) => (status = answer.status));
      await until(async () => {
        a.clock.advance(20);
        return status !== 0;
      });
      await reading;
      t.equal(status, 200);
      back.resolve();
    }
    log.answers = Promise.resolve();
    await until(async () => (await a.call('POST', '/zones', { name: 'after.test' })).status === 200);
  });
});

t.test('with PostgreSQL', { skip: skipWithoutPostgres }, async (t) => {
  const { url } = await startPostgres(t);
  const first = await beginCluster(t, url, makeInstallation);
  const second = makeDirectory(t);
  copyKey(first, second);
  const nodes: ApiNode[] = [];
  for (const [index, directory] of [first, second].entries()) {
    const node = 'ab'[index]!;
    const { store, log } = await openNode(t, url, { node, dataDir: directory });
    const replica = followLog({
      ...{ store, log, clock, logger: silentLogger(), isToBeReplaced: async () => false },
      onDiverged: (reason) => t.fail(reason),
    });
    t.teardown(() => replica.close());
    nodes.push(await apiOf(t, { store, directory, copy: { ...replica, isQuiet: () => true }, seed: 20 + index }));
  }
  await runInterleaved(t, nodes as [ApiNode, ApiNode], 1);
});
