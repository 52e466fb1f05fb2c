/** The admin APIs of two nodes of a cluster in one process, and what must hold whatever requests at both do to each other. */

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HTTPMethods } from 'fastify';
import type { Test } from 'tap';
import type { FollowingCopy } from '../../src/api/current.js';
import { buildApi } from '../../src/api/server.js';
import { silentLogger } from '../../src/base/log.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { ensureFirstAdministrator } from '../../src/control/access/keys.js';
import { type ContextBase, DEFAULT_LIMITS } from '../../src/control/kernel/context.js';
import { PARTICIPANTS } from '../../src/control/participants.js';
import type { Store } from '../../src/store/driver.js';
import { anywhere } from './egress.js';
import { hostnameServices } from './hostname-services.js';
import { seededRandom } from './seeded-random.js';
import { signInServices } from './sign-in.js';
import { TestClock } from './test-clock.js';

const ADMIN = { 'x-auth-email': 'admin@localhost', 'x-auth-key': 'k0123456789abcdef0123456789abcdef0123' };
/** The most records of a zone. */
const QUOTA = 30;

export interface NodeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly json: any;
}

export interface ApiNode {
  readonly store: Store;
  readonly base: ContextBase;
  readonly clock: TestClock;
  call(method: HTTPMethods, path: string, body?: object, headers?: Record<string, string>): Promise<NodeAnswer>;
}

export function baseOf(store: Store, seed: number): ContextBase & { readonly clock: TestClock } {
  return {
    store,
    clock: new TestClock(Date.UTC(2026, 0, 5)),
    random: seededRandom(seed),
    log: silentLogger(),
    participants: PARTICIPANTS,
    egress: anywhere(new TestClock()),
    settings: {
      ...{ nameServers: ['ns1.dns.test', 'ns2.dns.test'], edgeAddresses: [], nameServerAddresses: [] },
      ...{ ownAddresses: [], activation: 'trust', privateSuffixes: 'refuse' },
      limits: { ...DEFAULT_LIMITS, recordsPerZone: QUOTA },
    },
  };
}

/** Makes what a new installation has: an administrator and a master key. The store writes without a log. */
export async function makeInstallation(store: Store, directory: string): Promise<void> {
  const base = baseOf(store, 1);
  await ensureFirstAdministrator(base, { email: ADMIN['x-auth-email'], key: ADMIN['x-auth-key'] });
  await hostnameServices(base, { directory });
}

export function copyKey(from: string, to: string): void {
  copyFileSync(join(from, 'master.key'), join(to, 'master.key'));
}

/** The API on a copy; it is closed with the test. */
export async function apiOf(
  t: Test,
  { store, directory, copy, seed }: { store: Store; directory: string; copy: FollowingCopy; seed: number },
): Promise<ApiNode> {
  const base = baseOf(store, seed);
  const hostnames = await hostnameServices(base, { directory });
  const app = buildApi({
    base,
    copy,
    hostnames,
    signIn: signInServices(base, hostnames, { publicUrl: 'https://dns.example.org' }),
    objects: createLocalStore(base),
    ...{ host: '127.0.0.1', version: '0.0.0-test', readiness: () => ({ ready: true }), metrics: async () => '' },
  });
  await app.ready();
  t.teardown(() => app.close());
  return {
    ...{ store, base },
    clock: base.clock,
    async call(method, path, body, headers = ADMIN) {
      const {
        statusCode,
        headers: returned,
        body: text,
      } = await app.inject({
        method: method as 'GET',
        url: `/client/v4${path}`,
        headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { payload: JSON.stringify(body) }),
      });
      return { status: statusCode, headers: returned, json: text === '' ? undefined : JSON.parse(text) };
    },
  };
}

/** One round of requests; `here` and `there` are the nodes in a random order. */
type Scenario = (t: Test, nodes: { readonly here: ApiNode; readonly there: ApiNode }, zone: Zone) => Promise<void>;

interface Zone {
  readonly id: string;
  /** The path of its records. */
  readonly records: string;
  /** A name that was not used yet. */
  name(): string;
  /** An answer whose serial counts. */
  note(answer: NodeAnswer): NodeAnswer;
}

const address = (name: string, content = '192.0.2.1'): object => ({ type: 'A', name, content });
const statuses = (answers: readonly NodeAnswer[]): number[] => answers.map(({ status }) => status).sort();

async function added(node: ApiNode, zone: Zone, content?: string): Promise<string> {
  return zone.note(await node.call('POST', zone.records, address(zone.name(), content))).json.result.id;
}

/** Each leaves as many records as it found. */
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  async 'the same record at once: one is made'(t, { here, there }, zone) {
    const body = address(zone.name());
    const answers = await Promise.all([here, there].map((node) => node.call('POST', zone.records, body)));
    t.strictSame(statuses(answers), [200, 400]);
    const made = zone.note(answers.find(({ status }) => status === 200)!);
    t.equal(answers.find(({ status }) => status === 400)!.json.errors[0].code, 81058);
    zone.note(await there.call('DELETE', `${zone.records}/${made.json.result.id}`));
  },
  async 'two edits of one state: one is refused'(t, { here, there }, zone) {
    const id = await added(here, zone);
    const { headers } = await there.call('GET', zone.records);
    const condition = { ...ADMIN, 'if-match': String(headers['etag']) };
    const edits = [here, there].map((node, index) =>
      node.call('PATCH', `${zone.records}/${id}`, { content: `192.0.2.${index + 2}` }, condition),
    );
    const answers = await Promise.all(edits);
    t.strictSame(statuses(answers), [200, 412]);
    for (const answer of answers) zone.note(answer);
    zone.note(await here.call('DELETE', `${zone.records}/${id}`));
  },
  async 'more than the quota: all that fit are made, and no more'(t, { here, there }, zone) {
    const before = (await here.call('GET', zone.records)).json.result.length;
    const wanted = QUOTA - before + 4;
    const answers = await Promise.all(
      Array.from({ length: wanted }, (_, index) =>
        [here, there][index % 2]!.call('POST', zone.records, address(zone.name())),
      ),
    );
    t.equal(answers.filter(({ status }) => status === 200).length, QUOTA - before);
    for (const answer of answers) zone.note(answer);
    const made = answers.flatMap(({ status, json }) => (status === 200 ? [json.result.id] : []));
    for (const [index, id] of made.entries()) {
      const node = [here, there][index % 2]!;
      t.equal(zone.note(await node.call('DELETE', `${zone.records}/${id}`)).status, 200);
    }
  },
  async 'a token that was revoked there writes nothing here'(t, { here, there }, zone) {
    const policies = [
      {
        effect: 'allow',
        permission_groups: [{ id: '4755a26eedb94da69e1066d98aa820be' }],
        resources: { [`com.cloudflare.api.account.zone.${zone.id}`]: '*' },
      },
    ];
    const { json } = await there.call('POST', '/user/tokens', { name: 'test', policies });
    const token = { authorization: `Bearer ${json.result.value}` };
    const made = zone.note(await here.call('POST', zone.records, address(zone.name()), token));
    t.equal(made.status, 200, 'a new token counts at once');
    t.equal((await there.call('DELETE', `/user/tokens/${json.result.id}`)).status, 200);
    t.equal((await here.call('POST', zone.records, address(zone.name()), token)).status, 403);
    zone.note(await here.call('DELETE', `${zone.records}/${made.json.result.id}`));
  },
  async 'what there was made is edited here, and what was deleted is missing'(t, { here, there }, zone) {
    const id = await added(there, zone);
    t.equal(zone.note(await here.call('PATCH', `${zone.records}/${id}`, { content: '192.0.2.9' })).status, 200);
    t.equal(zone.note(await there.call('DELETE', `${zone.records}/${id}`)).status, 200);
    t.equal((await here.call('DELETE', `${zone.records}/${id}`)).status, 404);
  },
  async 'an edit that would change nothing in an old copy'(t, { here, there }, zone) {
    const id = await added(here, zone, '192.0.2.1');
    zone.note(await there.call('PATCH', `${zone.records}/${id}`, { content: '192.0.2.2' }));
    zone.note(await here.call('PATCH', `${zone.records}/${id}`, { content: '192.0.2.1' }));
    t.equal((await there.call('GET', `${zone.records}/${id}`)).json.result.content, '192.0.2.1');
    zone.note(await here.call('DELETE', `${zone.records}/${id}`));
  },
  async 'zones, tokens and buckets that there were made, are edited and removed here'(t, { here, there }, zone) {
    const { id } = (await there.call('POST', '/zones', { name: `${zone.name()}.other.test` })).json.result;
    t.equal((await here.call('PATCH', `/zones/${id}/settings/ssl`, { value: 'flexible' })).status, 200);
    t.equal((await there.call('GET', `/zones/${id}/settings/ssl`)).json.result.value, 'flexible');
    t.equal((await there.call('PATCH', `/zones/${id}`, { paused: true })).status, 200);
    t.equal((await here.call('DELETE', `/zones/${id}`)).status, 200);
    t.equal((await there.call('PATCH', `/zones/${id}`, { paused: false })).status, 404);
    const account = (await there.call('GET', '/accounts')).json.result[0].id;
    const buckets = `/accounts/${account}/r2/buckets`;
    const name = `${zone.name()}-${zone.id}`;
    const made = await Promise.all([here, there].map((node) => node.call('POST', buckets, { name })));
    t.strictSame(statuses(made), [200, 409]);
    t.equal((await here.call('DELETE', `${buckets}/${name}`)).status, 200);
    t.equal((await there.call('DELETE', `${buckets}/${name}`)).status, 404);
  },
  async 'objects and custom hostnames: one of two is made, and what there was deleted takes nothing here'(
    t,
    { here, there },
    zone,
  ) {
    const account = (await there.call('GET', '/accounts')).json.result[0].id;
    const name = `${zone.name()}-${zone.id}`;
    const bucket = `/accounts/${account}/r2/buckets/${name}`;
    t.equal((await there.call('POST', `/accounts/${account}/r2/buckets`, { name })).status, 200);
    const once = { ...ADMIN, 'if-none-match': '*' };
    const puts = [here, there].map((node) => node.call('PUT', `${bucket}/objects/one`, { of: 'two' }, once));
    t.strictSame(statuses(await Promise.all(puts)), [200, 412]);
    t.equal((await here.call('DELETE', `${bucket}/objects/one`)).status, 200);
    t.equal((await there.call('GET', `${bucket}/objects/one`)).status, 404);
    t.equal((await there.call('DELETE', bucket)).status, 200);
    t.equal((await here.call('PUT', `${bucket}/objects/one`, { of: 'two' })).status, 404);
    const hostname = { hostname: `${name}.example.com` };
    const made = [here, there].map((node) => node.call('POST', `/zones/${zone.id}/custom_hostnames`, hostname));
    const answers = await Promise.all(made);
    t.equal(answers.filter(({ status }) => status < 300).length, 1);
    const { id } = answers.find(({ status }) => status < 300)!.json.result;
    t.equal((await here.call('DELETE', `/zones/${zone.id}/custom_hostnames/${id}`)).status, 200);
  },
  async 'a dry run sees what there was made'(t, { here, there }, zone) {
    const body = address(zone.name());
    const { json } = zone.note(await there.call('POST', zone.records, body));
    t.equal((await here.call('POST', `${zone.records}?dry_run=true`, body)).json.errors[0]?.code, 81058);
    zone.note(await there.call('DELETE', `${zone.records}/${json.result.id}`));
    t.equal((await here.call('POST', `${zone.records}?dry_run=true`, body)).status, 200);
  },
};

/** Runs all scenarios in random order, several at a time, and checks serials and copies in the end. */
export async function runInterleaved(t: Test, nodes: readonly [ApiNode, ApiNode], rounds: number): Promise<void> {
  const random = seededRandom(17);
  const below = (limit: number): number => random.bytes(4).reduce((sum, octet) => sum * 256 + octet, 0) % limit;
  for (let round = 0; round < rounds; round++) {
    const created = await nodes[below(2)]!.call('POST', '/zones', { name: `round${round}.test` });
    const { id } = created.json.result;
    const serials: number[] = [];
    let names = 0;
    const zone: Zone = {
      ...{ id, records: `/zones/${id}/dns_records`, name: () => `n${names++}` },
      note(answer) {
        const serial = answer.headers['zoneplane-serial'];
        if (serial !== undefined) serials.push(Number(serial));
        return answer;
      },
    };
    for (const [what, scenario] of Object.entries(SCENARIOS)) {
      const turn = below(2);
      await t.test(`${what}, round ${round}`, (t) =>
        scenario(t, { here: nodes[turn]!, there: nodes[1 - turn]! }, zone),
      );
    }
    serials.sort((x, y) => x - y);
    const first = serials[0]!;
    t.strictSame(
      serials,
      serials.map((_, index) => first + index),
      'each change has a serial of its own, without a gap',
    );
    const lists = await Promise.all(nodes.map((node) => node.call('GET', zone.records)));
    t.strictSame(lists[0]!.json.result, lists[1]!.json.result);
  }
}
