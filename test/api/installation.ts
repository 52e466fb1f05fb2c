/** A fresh installation in a temporary directory, with its API ready for requests; everything is removed after the test. */

import type { FastifyInstance, HTTPMethods, LightMyRequestResponse } from 'fastify';
import type { z } from 'zod';
import { createEventStreams, type EventStreams } from '../../src/api/events/streams.js';
import { buildApi } from '../../src/api/server.js';
import { parseCidrSet, parseIP } from '../../src/base/ip.js';
import { type Logger, silentLogger } from '../../src/base/log.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { createKey, ensureFirstAdministrator, type KeyInput } from '../../src/control/access/keys.js';
import { createSecretAccessKeys } from '../../src/control/access/secret-access-keys.js';
import { createZoneKeys } from '../../src/control/dnssec/zone-keys.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import {
  type AskOutside,
  type Context,
  type ContextBase,
  type ControlLimits,
  DEFAULT_LIMITS,
} from '../../src/control/kernel/context.js';
import { PARTICIPANTS } from '../../src/control/participants.js';
import type { Egress } from '../../src/egress/egress.js';
import type { HostnameServices } from '../../src/hostnames/context.js';
import type { PoolProbing } from '../../src/monitoring/pool-probing.js';
import { type Activity, createActivity } from '../../src/observe/activity.js';
import { presign } from '../../src/s3/signature/presign.js';
import type { Message, SignInServices } from '../../src/sign-in/services.js';
import { type Statistics, startStatistics } from '../../src/statistics/recorder.js';
import type { DiskRoom } from '../../src/store/disk-room.js';
import type { Store } from '../../src/store/driver.js';
import { servedZoneOfName } from '../../src/store/zones/zones.js';
import { anywhere } from '../support/egress.js';
import { hostnameServices } from '../support/hostname-services.js';
import { seededRandom } from '../support/seeded-random.js';
import { signInServices } from '../support/sign-in.js';
import { TestClock } from '../support/test-clock.js';
import { openTwoCopies } from '../support/two-copies.js';

export const EMAIL = 'admin@localhost';
export const KEY = 'k0123456789abcdef0123456789abcdef0123';
const START_MS = Date.UTC(2024, 4, 5, 12, 0, 0, 123);

/** What both tap's tests and plain programs offer. */
export interface Cleanup {
  after(stop: () => Promise<void>): void;
}

export interface InstallationOptions {
  /** Default: everything may be connected to. */
  readonly egress?: Egress;
  readonly host?: string;
  readonly limits?: Partial<ControlLimits>;
  readonly log?: Logger;
  readonly ready?: () => boolean;
  /** Resolvers for scans. */
  readonly askOutside?: AskOutside;
  /** The DS records of a zone at its parent. */
  readonly findParentDs?: Context['findParentDs'];
  /** Room on the disk. */
  readonly disk?: DiskRoom;
  /** What probes origins. */
  readonly probing?: PoolProbing;
  /** Requests in five minutes. */
  readonly rateLimit?: number;
  readonly metricsPublic?: boolean;
  /** Networks. */
  readonly trustedProxies?: readonly string[];
  readonly activation?: 'auto' | 'trust' | 'delegation';
  readonly nameServers?: readonly string[];
  readonly signIn?: Partial<SignInServices['settings']>;
  readonly findDelegation?: Context['findDelegation'];
  /** Custom hostnames are names of the Internet. */
  readonly publicNames?: boolean;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is; `body` is sent as JSON. */
  readonly text?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: LightMyRequestResponse['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly json: any;
}

export interface Installation {
  readonly app: FastifyInstance;
  readonly events: EventStreams;
  readonly store: Store;
  readonly clock: TestClock;
  readonly activity: Activity;
  readonly statistics: Statistics;
  readonly base: ContextBase;
  /** The operator's context, to prepare things behind the API's back. */
  readonly operator: Context;
  readonly hostnames: HostnameServices;
  readonly signIn: SignInServices;
  /** What was sent to users. */
  readonly mails: readonly Message[];
  readonly routes: readonly Route[];
  /** Answers that did not fit the schema their route declares. */
  readonly misfits: string[];
  /** A request under `/client/v4` as the administrator; a path that begins with `//` is taken as it is. */
  call(method: HTTPMethods, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  /** Makes a token and returns the header that carries it. */
  token(input?: Partial<KeyInput>): Promise<{ authorization: string }>;
  createZone(name: string): Promise<string>;
}

export const ADMIN_HEADERS = { 'x-auth-email': EMAIL, 'x-auth-key': KEY };

export async function install(t: Cleanup, options: InstallationOptions = {}): Promise<Installation> {
  const clock = new TestClock(START_MS);
  const random = seededRandom(20240505);
  const { store, directory, close } = openTwoCopies('api', clock, random);
  const base: ContextBase = {
    store,
    clock,
    random,
    log: options.log ?? silentLogger(),
    egress: options.egress ?? anywhere(clock),
    settings: {
      nameServers: options.nameServers ?? ['ns1.dns.test', 'ns2.dns.test'],
      edgeAddresses: [parseIP('192.0.2.250')!, parseIP('2001:db8::fa')!],
      nameServerAddresses: [],
      ownAddresses: [parseIP('192.0.2.251')!],
      activation: options.activation ?? 'trust',
      privateSuffixes: 'refuse',
      limits: { ...DEFAULT_LIMITS, ...options.limits },
    },
    participants: PARTICIPANTS,
    ...(options.disk && { disk: options.disk }),
    ...(options.askOutside && { askOutside: options.askOutside }),
    ...(options.findDelegation && { findDelegation: options.findDelegation }),
    ...(options.findParentDs && { findParentDs: options.findParentDs }),
    zoneKeys: createZoneKeys(() => hostnames.certificates.vault),
    secretAccessKeys: createSecretAccessKeys(store, () => hostnames.certificates.vault),
  };
  await ensureFirstAdministrator(base, { email: EMAIL, key: KEY });
  const hostnames: HostnameServices = await hostnameServices(base, {
    directory,
    ...(options.publicNames !== undefined && { publicNames: options.publicNames }),
  });
  const mails: Message[] = [];
  const signIn = signInServices(base, hostnames, options.signIn, mails);
  const activity = createActivity(clock, (name) => servedZoneOfName(store, name));
  const statistics = startStatistics(base);
  const events = createEventStreams(base, undefined);
  const app = buildApi({
    events,
    links: { endpoint: new URL('http://127.0.0.1:8055'), presign },
    base,
    hostnames,
    signIn,
    activity,
    statistics,
    application: { url: 'http://127.0.0.1:8787', allowList: ['logo.svg'] },
    objects: createLocalStore({ ...base, ...(options.disk && { disk: options.disk }) }),
    ...(options.probing && { probing: options.probing }),
    host: options.host ?? '127.0.0.1',
    version: '0.0.0-test',
    ...(options.trustedProxies && { trustedProxies: parseCidrSet(options.trustedProxies) }),
    ...(options.rateLimit === undefined ? {} : { rateLimit: options.rateLimit }),
    ...(options.metricsPublic === undefined ? {} : { metricsPublic: options.metricsPublic }),
    readiness: () => (options.ready?.() === false ? { ready: false, reason: 'zones are loading' } : { ready: true }),
    metrics: async () => '# HELP zoneplane_up Whether it runs.\n',
  });
  const routes: Route[] = [];
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    const readsLong = config?.readsLong !== undefined;
    for (const name of [method].flat())
      routes.push({ method: name, url, hidden: schema?.hide === true, schema, readsLong });
  });
  const misfits = watchAnswers(app);
  await app.ready();
  t.after(async () => {
    await app.close();
    await close();
  });

  const call: Installation['call'] = async (method, path, body, { headers = {}, text } = {}) => {
    const answer = await app.inject({
      method: method as 'GET',
      url: path.startsWith('//') ? path.slice(1) : `/client/v4${path}`,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...credentialOr(headers) },
      ...(text === undefined ? (body === undefined ? {} : { payload: JSON.stringify(body) }) : { payload: text }),
    });
    return { status: answer.statusCode, text: answer.body, headers: answer.headers, json: parse(answer) };
  };
  const operator: Context = { ...base, actor: OPERATOR, requestId: 'test', source: 'cli' };
  return {
    app,
    events,
    store,
    clock,
    activity,
    statistics,
    base,
    operator,
    hostnames,
    signIn,
    mails,
    routes,
    misfits,
    call,
    async token(input = {}) {
      const { secret } = await createKey(operator, { kind: 'token', name: 'test', email: EMAIL, ...input });
      return { authorization: `Bearer ${secret}` };
    },
    async createZone(name) {
      const { status, json, text } = await call('POST', '/zones', { name });
      if (status !== 200) throw new Error(`zone ${name} was not created: ${text}`);
      return json.result.id;
    },
  };
}

/** The administrator's key unless the headers bring a credential, or say with an empty one that there shall be none. */
function credentialOr(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { anonymous, ...rest } = headers as Record<string, string>;
  const own = Object.keys(rest).some((name) => ['authorization', 'x-auth-key', 'x-auth-email'].includes(name));
  return anonymous !== undefined || own ? rest : { ...ADMIN_HEADERS, ...rest };
}

export interface Route {
  readonly method: string;
  readonly url: string;
  /** Left out of the OpenAPI document. */
  readonly hidden: boolean;
  readonly schema: unknown;
  /** A thread may answer. */
  readonly readsLong: boolean;
}

/** Send no credential. */
export const ANONYMOUS = { anonymous: '' };

function parse(answer: LightMyRequestResponse): unknown {
  // Objects have the type they were stored with, whatever they are.
  return String(answer.headers['content-type']).startsWith('application/json') && answer.body.startsWith('{')
    ? JSON.parse(answer.body)
    : undefined;
}

/** Checks every answer against the schema the OpenAPI document gives for it: no member missing, none undocumented. */
function watchAnswers(app: FastifyInstance): string[] {
  const misfits: string[] = [];
  app.addHook('onSend', async (request, reply, payload) => {
    const schemas = request.routeOptions.schema?.response as Record<string, z.ZodType> | undefined;
    if (!schemas || typeof payload !== 'string' || payload === '') return;
    const schema = schemas[reply.statusCode] ?? schemas[`${Math.floor(reply.statusCode / 100)}xx`];
    if (!String(reply.getHeader('content-type')).startsWith('application/json')) return;
    const where = `${request.method} ${request.url} ${reply.statusCode}`;
    if (!schema) {
      misfits.push(`${where}: no schema`);
      return;
    }
    const value: unknown = JSON.parse(payload);
    const result = schema.safeParse(value);
    if (!result.success) misfits.push(`${where}: ${result.error.message}`);
    else if (!sameMembers(result.data, value)) misfits.push(`${where}: undocumented members in ${payload}`);
  });
  return misfits;
}

function sameMembers(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => sameMembers((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]))
  );
}
