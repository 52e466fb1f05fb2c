/** Our ACME client with Pebble as the authority and Zoneplane as the name server that Pebble queries. */
import { execFile } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { UserError } from '../../src/base/errors.js';
import { type AcmeAuthority, type AcmeOptions, createAcmeAuthority } from '../../src/certs/acme/acme-authority.js';
import { certificateIdentifier } from '../../src/certs/acme/certificate-identifier.js';
import {
  type Authority,
  AuthorityError,
  type Challenge,
  type ChallengeType,
  dnsChallengeValue,
  type Order,
} from '../../src/certs/authority.js';
import { type CertificateChain, readChain } from '../../src/certs/chain.js';
import { createCsr, generatePrivateKey, type KeyType } from '../../src/certs/csr.js';
import { parseName } from '../../src/dns/name.js';
import { type AcmeProxy, type Fault, startAcmeProxy } from '../support/acme-proxy.js';
import { freePort } from '../support/free-ports.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { type Pebble, type PebbleOptions, startPebble, withoutPebble } from '../support/pebble.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { askAll } from '../support/reference-servers.js';
import { TestClock } from '../support/test-clock.js';
import { firstThat } from '../support/until.js';

const KEY = 'acme-key-0123456789-0123456789-0123456789';
const ZONE = 'acme.test';
const DAY_MS = 86_400_000;
const clock = new SystemClock();
const accountKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** The name server and the web server of this test. */
interface World {
  readonly program: Program;
  readonly zoneId: string;
  /** Token → key authorization, served by the web server. */
  readonly httpTokens: Map<string, string>;
}

let world: World;

t.before(async () => {
  if (withoutPebble !== false) return;
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-acme-'));
  mkdirSync(join(directory, 'zones'));
  writeFileSync(
    join(directory, 'zones', `${ZONE}.zone`),
    `$ORIGIN ${ZONE}.\n$TTL 60\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n*.web A 127.0.0.1\nweb A 127.0.0.1\n`,
  );
  const program = await startProgram({ directory, key: KEY });
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const [zone] = (await callApi(program, 'GET', `/zones?name=${ZONE}`)) as unknown as { id: string }[];
  world = { program, zoneId: zone!.id, httpTokens: new Map() };
});

t.test('issuance, with 30 nonces of 100 refused', { skip: withoutPebble }, async (t) => {
  const pebble = await pebbleFor(t, { refusedNonces: 30, blockedDomains: ['blocked.test'] });
  const authority = await authorityFor(t, pebble);

  await t.test('dns-01', async (t) => {
    const chain = await obtain(authority, [`a.${ZONE}`], 'dns-01');
    t.strictSame(chain.names, [`a.${ZONE}`]);
    t.equal(Math.round((chain.notAfterMs - chain.notBeforeMs) / DAY_MS), 90);
    await judge(t, pebble, chain);
  });
  await t.test('http-01', async (t) => {
    await judge(t, pebble, await obtain(authority, [`web.${ZONE}`], 'http-01'));
  });
  await t.test('a wildcard and the apex: two records at one name', async (t) => {
    const chain = await obtain(authority, [ZONE, `*.${ZONE}`], 'dns-01');
    t.strictSame([...chain.names].sort(), [`*.${ZONE}`, ZONE]);
    await judge(t, pebble, chain);
  });
  await t.test('RSA', async (t) => {
    await judge(t, pebble, await obtain(authority, [`rsa.${ZONE}`], 'dns-01', 'RSA-2048'));
  });
  await t.test('a name of 253 octets', async (t) => {
    const suffix = `.web.${ZONE}`;
    const name = `${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(63)}.`.padEnd(253 - suffix.length, 'w') + suffix;
    t.equal(name.length, 253);
    await judge(t, pebble, await obtain(authority, [name], 'http-01'));
  });
  await t.test('five at once', async (t) => {
    const names = ['p1', 'p2', 'p3', 'p4', 'p5'].map((label) => `${label}.${ZONE}`);
    const chains = await Promise.all(names.map((name) => obtain(authority, [name], 'dns-01')));
    t.strictSame(
      chains.map((chain) => chain.names[0]),
      names,
    );
  });
  await t.test('a name that the authority refuses', async (t) => {
    const problem = await problemOf(authority.createOrder(['www.blocked.test']));
    t.match(problem, { type: 'rejectedIdentifier', status: 400, detail: /blocked/ });
  });
  await t.test('a wrong response', async (t) => {
    const { order, challenge } = await firstChallenge(authority, `wrong.${ZONE}`, 'dns-01');
    await publish(`wrong.${ZONE}`, 'not-the-digest');
    await authority.respond(challenge.url);
    const refused = await firstThat(
      () => authority.authorization(order.authorizations[0]!),
      ({ status }) => status !== 'pending',
    );
    t.equal(refused.status, 'invalid');
    const found = refused.challenges.find(({ type }) => type === 'dns-01');
    t.match(found, { status: 'invalid', problem: { type: 'unauthorized', status: 403 } });
    t.equal((await authority.order(order.url)).status, 'invalid');
    const problem = await problemOf(authority.finalize(order, await createCsr(accountKey, [`wrong.${ZONE}`])));
    t.equal(problem.type, 'orderNotReady');
  });
  await t.test('revocation, also a second time', async (t) => {
    const chain = await obtain(authority, [`revoked.${ZONE}`], 'dns-01');
    t.equal(await pebble.statusOf(chain.serial), 'Valid');
    t.equal((await problemOf(authority.revoke(chain.certificate, 7))).type, 'badRevocationReason');
    await authority.revoke(chain.certificate, 4);
    t.equal(await pebble.statusOf(chain.serial), 'Revoked');
    await authority.revoke(chain.certificate, 4);
  });
  await t.test('another process goes on with the same account and order', async (t) => {
    const name = `resumed.${ZONE}`;
    const { order, challenge } = await firstChallenge(authority, name, 'dns-01');
    const second = await authorityFor(t, pebble, {
      accountKey: accountKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    });
    t.equal(await second.accountUri(), await authority.accountUri());
    t.equal((await second.order(order.url)).status, 'pending');
    await publish(name, dnsChallengeValue(second.keyAuthorization(challenge.token)));
    await second.respond(challenge.url);
    const ready = await firstThat(
      () => second.order(order.url),
      ({ status }) => status !== 'pending',
    );
    t.equal(ready.status, 'ready');
    const key = await generatePrivateKey();
    await second.finalize(ready, await createCsr(key, [name]));
    const third = await authorityFor(t, pebble);
    const chain = await download(third, order.url, key, [name]);
    t.strictSame(chain.names, [name]);
  });
});

t.test('external accounts and short-lived certificates', { skip: withoutPebble }, async (t) => {
  const hmacKey = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64url');
  const pebble = await pebbleFor(t, { externalAccounts: { 'kid-1': hmacKey }, validity: 3_600 });
  await t.test('without one', async (t) => {
    const authority = await authorityFor(t, pebble);
    t.match(await problemOf(authority.createOrder([`e.${ZONE}`])), { type: 'externalAccountRequired', status: 403 });
  });
  await t.test('with a wrong key', async (t) => {
    const wrong = Buffer.alloc(32).toString('base64url');
    const authority = await authorityFor(t, pebble, { externalAccount: { keyId: 'kid-1', hmacKey: wrong } });
    t.match(await problemOf(authority.createOrder([`e.${ZONE}`])), { status: 403 });
  });
  await t.test('with the right one', async (t) => {
    const externalAccount = { keyId: 'kid-1', hmacKey };
    const authority = await authorityFor(t, pebble, { externalAccount, contact: ['mailto:admin@example.com'] });
    const chain = await obtain(authority, [`e.${ZONE}`], 'dns-01');
    await judge(t, pebble, chain);
    t.equal(Math.round((chain.notAfterMs - chain.notBeforeMs) / 1000 / 60), 60);
    const later = { key: pebbleKeys.get(chain.serial)!, names: [], nowMs: chain.notAfterMs };
    t.throws(() => readChain(chain.pem, later), { code: 'expired' });
  });
  await t.test('the account is looked for before it is made', async (t) => {
    const authority = await authorityFor(t, pebble);
    t.equal((await authority.createOrder([`e.${ZONE}`])).status, 'pending', 'without the key of the external account');
  });
});

t.test('an authority with errors', { skip: withoutPebble }, async (t) => {
  const pebble = await pebbleFor(t, {});
  const proxy = await startAcmeProxy(pebble);
  t.teardown(() => proxy.stop());
  const authority = await authorityFor(t, pebble, { directoryUrl: proxy.directoryUrl });
  const orderOf = (name = `f.${ZONE}`) => authority.createOrder([name]);
  /** What an order gives when the request for it meets `answer`. */
  const withFault = async (answer: ReturnType<Fault>) => {
    proxy.inject(({ path }) => (path === '/order-plz' ? answer : undefined));
    return problemOf(orderOf());
  };
  t.equal((await orderOf()).status, 'pending', 'before any fault');
  await refusals(t, withFault);
  await badAnswers(t, withFault);
  await slowAnswers(t, pebble, proxy);
  await nonceFaults(t, proxy, orderOf);
  await directoryFaults(t, pebble, proxy);
  await renewalInformation(t, pebble, proxy);
  await unfinishedOrders(t, pebble, proxy);
  proxy.inject();
  t.equal((await orderOf()).status, 'pending', 'after all faults');
});

t.test('invalid settings', async (t) => {
  const options: AcmeOptions = {
    name: 'google',
    directoryUrl: 'https://acme.example/dir',
    accountKey,
    termsAgreed: true,
    userAgent: 'zoneplane/test',
    clock,
  };
  t.throws(() => createAcmeAuthority({ ...options, directoryUrl: 'http://acme.example/dir' }), UserError);
  t.throws(() => createAcmeAuthority({ ...options, directoryUrl: 'http://127.0.0.1.evil.example/dir' }), UserError);
  t.throws(() => createAcmeAuthority({ ...options, directoryUrl: 'file:///etc/passwd' }), UserError);
  t.throws(() => createAcmeAuthority({ ...options, caBundle: 'nothing' }), UserError);
  t.throws(() => createAcmeAuthority({ ...options, externalAccount: { keyId: 'a', hmacKey: 'no/url' } }), UserError);
  t.throws(() => createAcmeAuthority({ ...options, accountKey: rsaKey() }), /P-256/);
  for (const url of ['http://127.0.0.1:1/dir', 'http://[::1]:1/dir', 'http://localhost:1/dir']) {
    const authority = createAcmeAuthority({ ...options, directoryUrl: url });
    t.match(await problemOf(authority.order('https://acme.example/order')), { type: 'connection', status: 0 }, url);
    await authority.close();
  }
});

t.test('the identifier of a certificate for its authority (RFC 9773 appendix A)', async (t) => {
  const der = Buffer.from(
    'MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFtcGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEw' +
      'MDAwMDBaMBYxFDASBgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7c' +
      'Rm//AwyMwWxyHz4zfwmBhcSrf47NUAFfqzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4ByNQwCgYIKoZIzj0E' +
      'AwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK',
    'base64',
  );
  t.equal(certificateIdentifier(der), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
});

type WithFault = (answer: ReturnType<Fault>) => Promise<AuthorityError['problem']>;
const urn = (type: string): string => `urn:ietf:params:acme:error:${type}`;

async function refusals(t: Test, withFault: WithFault): Promise<void> {
  await t.test('the authority refuses for CAA, with subproblems', async (t) => {
    const subproblems = [
      { type: urn('caa'), detail: 'CAA forbids', identifier: { type: 'dns', value: `f.${ZONE}` } },
      { type: urn('dns') },
    ];
    const body = { type: urn('caa'), detail: 'CAA record prevents issuance', subproblems };
    t.strictSame(await withFault({ status: 403, body }), {
      type: 'caa',
      detail: 'CAA record prevents issuance',
      status: 403,
      subproblems: [
        { type: 'caa', detail: 'CAA forbids', identifier: `f.${ZONE}` },
        { type: 'dns', detail: '' },
      ],
    });
  });
  await t.test('rateLimited, and when to come again', async (t) => {
    const body = { type: urn('rateLimited'), detail: 'too many' };
    const waitFor = async (value: string): Promise<number | undefined> => {
      const problem = await withFault({ status: 429, body, headers: { 'retry-after': value } });
      t.match(problem, { type: 'rateLimited', status: 429 });
      return problem.retryAfterMs;
    };
    t.equal(await waitFor('120'), 120_000);
    t.equal(await waitFor('0'), 0);
    const inTwoMinutes = await waitFor(new Date(clock.nowMs() + 120_000).toUTCString());
    t.ok(inTwoMinutes! > 100_000 && inTwoMinutes! <= 120_000, 'a date');
    t.equal(await waitFor('Sun, 06 Nov 1994 08:49:37 GMT'), 0, 'a date that is over');
    t.equal(await waitFor('99999999999'), 30 * DAY_MS, 'a month at most');
    for (const bad of ['soon', '-5', '1.5', '']) t.equal(await waitFor(bad), undefined, `'${bad}'`);
  });
  await t.test('serverInternal, a foreign type, and a problem without members', async (t) => {
    const body = { type: urn('serverInternal'), detail: 'oops' };
    t.match(await withFault({ status: 500, body }), { type: 'serverInternal', status: 500, detail: 'oops' });
    const foreign = await withFault({ status: 400, body: { type: 'https://ca.example/p', title: 'A title' } });
    t.match(foreign, { type: 'https://ca.example/p', detail: 'A title' });
    t.match(await withFault({ status: 418, body: {} }), { type: 'about:blank', status: 418, subproblems: [] });
  });
}

async function badAnswers(t: Test, withFault: WithFault): Promise<void> {
  await t.test('answers that are not of the protocol', async (t) => {
    const json = { 'content-type': 'application/json', location: 'https://127.0.0.1/my-order/1' };
    const order = { status: 'pending', authorizations: ['https://127.0.0.1/a'], finalize: 'https://127.0.0.1/f' };
    const rows: [string, ReturnType<Fault>, RegExp][] = [
      ['HTML', { body: '<html>' }, /200, text\/html/],
      ['HTML for a refusal', { status: 503, body: '<html>', headers: { 'retry-after': '7' } }, /503, text\/html/],
      ['no JSON', { body: '{', headers: json }, /JSON|object/i],
      ['another shape', { body: { ...order, status: 'happy' }, headers: json }, /status/],
      ['no authorizations', { body: { ...order, authorizations: [] }, headers: json }, /authorizations/],
      ['an insecure URL', { body: { ...order, finalize: 'http://ca.example/f' }, headers: json }, /finalize: .*https/],
      ['no date', { body: { ...order, expires: 'soon' }, headers: json }, /expires/],
      ['no URL of the order', { body: order }, /URL of the order/],
      ['a redirect', { status: 307, headers: { location: 'https://127.0.0.1:1/' } }, /307/],
      ['too much, announced', { body: 'x'.repeat(200_000), headers: json }, /131072 octets/],
      ['too much, without end', (response) => pour(response, 65_536, 1), /131072 octets/],
    ];
    for (const [what, answer, detail] of rows) {
      t.match(await withFault(answer), { type: 'unexpectedAnswer', detail }, what);
    }
    t.equal((await withFault(rows[1]![1])).retryAfterMs, 7_000);
  });
  await t.test('no whole answer', async (t) => {
    const rows: [string, ReturnType<Fault>][] = [
      ['a connection that ends', (response) => response.destroy()],
      [
        'a body that ends too early',
        (response) => {
          response.writeHead(201, { 'content-type': 'application/json', 'content-length': '100' });
          response.write('{', () => response.destroy());
        },
      ],
    ];
    for (const [what, answer] of rows) {
      t.match(
        await withFault(answer),
        { type: 'connection', status: 0, detail: /^127\.0\.0\.1:\d+ could not be/ },
        what,
      );
    }
  });
}

async function slowAnswers(t: Test, pebble: Pebble, proxy: AcmeProxy): Promise<void> {
  const moving = new TestClock(clock.nowMs());
  const authority = await authorityFor(t, pebble, {
    directoryUrl: proxy.directoryUrl,
    clock: moving,
    timeoutMs: 15_000,
  });
  const rows: [string, (response: ServerResponse) => void][] = [
    ['nothing within the time', () => undefined],
    ['a body that drips', (response) => pour(response, 1, 1)],
  ];
  for (const [what, answer] of rows) {
    await t.test(what, async (t) => {
      proxy.inject(({ path }) => (path === '/order-plz' ? slow : undefined));
      const slow = (response: ServerResponse): void => {
        answer(response);
        setTimeout(() => moving.advance(15_000), 50);
      };
      t.match(await problemOf(authority.createOrder([ZONE])), { type: 'connection', status: 0, detail: /within 15 s/ });
      await firstThat(
        async () => proxy.open(),
        (open) => open === 0,
      );
    });
  }
}

async function nonceFaults(t: Test, proxy: AcmeProxy, orderOf: () => Promise<Order>): Promise<void> {
  const refused = (nonce: string) => ({
    status: 400,
    body: { type: urn('badNonce'), detail: 'no' },
    headers: { 'replay-nonce': nonce },
  });
  await t.test('a refused nonce: the one that comes with the refusal is taken', async (t) => {
    let left = 3;
    proxy.inject(({ path }) => (path === '/order-plz' && left > 0 ? refused(`fresh-${left--}`) : undefined));
    t.equal((await orderOf()).status, 'pending');
    const nonces = proxy.seen.filter(({ path }) => path === '/order-plz').map(({ header }) => header.nonce);
    t.strictSame(nonces.slice(1, 4), ['fresh-3', 'fresh-2', 'fresh-1']);
  });
  await t.test('no nonce is ever good', async (t) => {
    proxy.inject(({ path }) => (path === '/order-plz' ? refused('never-good') : undefined));
    t.equal((await problemOf(orderOf())).type, 'badNonce');
    t.equal(proxy.seen.filter(({ path }) => path === '/order-plz').length, 10);
  });
  await t.test('answers without nonces: a new one is fetched', async (t) => {
    proxy.inject(({ path }) => (path === '/order-plz' ? refused('not a nonce!') : undefined));
    t.equal((await problemOf(orderOf())).type, 'badNonce');
    t.ok(proxy.seen.filter(({ method, path }) => method === 'HEAD' && path === '/nonce-plz').length >= 9);
  });
}

async function directoryFaults(t: Test, pebble: Pebble, proxy: AcmeProxy): Promise<void> {
  const { directoryUrl } = proxy;
  const newAuthority = (t: Test, options: Partial<AcmeOptions> = {}) =>
    authorityFor(t, pebble, { directoryUrl, ...options });

  await t.test('the directory is read once an hour, and holds on while it is away', async (t) => {
    const moving = new TestClock();
    const authority = await newAuthority(t, { clock: moving });
    proxy.extendDirectory({ meta: { caaIdentities: ['CA.example', 'ca2.example'] } });
    proxy.inject();
    await Promise.all([authority.caaIdentities(), authority.caaIdentities()]);
    t.strictSame(await authority.caaIdentities(), ['ca.example', 'ca2.example']);
    t.equal(proxy.seen.length, 1);
    moving.advance(3_600_000);
    proxy.extendDirectory({});
    t.strictSame(await authority.caaIdentities(), ['pki.goog'], 'the usual domain where none is named');
    t.equal(proxy.seen.length, 2);
    moving.advance(3_600_000);
    proxy.inject(() => ({ status: 500 }));
    t.strictSame(await authority.caaIdentities(), ['pki.goog']);
    t.equal(proxy.seen.length, 1);
  });
  await t.test('a directory that does not answer at first', async (t) => {
    const authority = await newAuthority(t);
    proxy.inject(() => ({ status: 500, body: '<html>' }));
    t.match(await problemOf(authority.caaIdentities()), { type: 'unexpectedAnswer', status: 500 });
    proxy.inject();
    t.strictSame(await authority.caaIdentities(), ['pki.goog'], 'it is asked again');
  });
  await t.test('a directory with insecure URLs', async (t) => {
    proxy.extendDirectory({ newOrder: 'http://ca.example/order' });
    const authority = await newAuthority(t);
    t.match(await problemOf(authority.createOrder([ZONE])), { type: 'unexpectedAnswer', detail: /newOrder.*https/ });
    proxy.extendDirectory({});
  });
  await t.test('terms that nobody agreed to', async (t) => {
    proxy.extendDirectory({ meta: { termsOfService: 'https://ca.example/terms' } });
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const authority = await newAuthority(t, { accountKey: other, termsAgreed: false });
    const problem = await problemOf(authority.createOrder([ZONE]));
    t.match(problem, { type: 'userActionRequired', detail: /https:\/\/ca\.example\/terms/ });
    proxy.extendDirectory({});
  });
  await t.test('a certificate of the server that nobody trusts, and nobody there', async (t) => {
    const { caBundle: _, ...options } = optionsFor(pebble);
    const authority = createAcmeAuthority(options);
    t.match(await problemOf(authority.caaIdentities()), { type: 'connection', detail: /self.signed/ });
    await authority.close();
    const nobody = await newAuthority(t, { directoryUrl: `https://127.0.0.1:${await freePort()}/dir` });
    t.match(await problemOf(nobody.caaIdentities()), { type: 'connection', detail: /ECONNREFUSED/ });
  });
  await t.test('an account that the authority forgot is made again', async (t) => {
    const authority = await newAuthority(t);
    const account = await authority.accountUri();
    const body = { type: urn('accountDoesNotExist'), detail: 'who?' };
    proxy.inject(({ header }) => (header.kid === account ? { status: 400, body } : undefined));
    t.equal((await problemOf(authority.createOrder([ZONE]))).type, 'accountDoesNotExist');
    proxy.inject();
    t.equal((await authority.createOrder([ZONE])).status, 'pending');
    t.ok(proxy.seen.some(({ path }) => path === '/sign-me-up'));
  });
  await t.test('a chain of another media type', async (t) => {
    const authority = await newAuthority(t);
    proxy.inject(({ path }) => (path === '/certZ/1' ? { body: {} } : undefined));
    const url = new URL('/certZ/1', directoryUrl).href;
    t.match(await problemOf(authority.certificate(url)), { type: 'unexpectedAnswer', detail: /chain/ });
    t.equal(proxy.seen.at(-1)!.headers.accept, 'application/pem-certificate-chain');
  });
}

async function unfinishedOrders(t: Test, pebble: Pebble, proxy: AcmeProxy): Promise<void> {
  proxy.inject();
  const authority = await authorityFor(t, pebble, { directoryUrl: proxy.directoryUrl });
  const url = async (...names: string[]) => (await authority.createOrder(names)).url;
  const listed = async (...names: string[]) => (await authority.unfinishedOrders(names)).map((order) => order.url);
  await t.test('orders that were made and not finished', async (t) => {
    const first = await url(`o.${ZONE}`, `*.o.${ZONE}`);
    for (let i = 0; i < 4; i++) await url(`p${i}.${ZONE}`);
    const second = await url(`*.o.${ZONE}`, `o.${ZONE}`);
    t.strictSame(await listed(`o.${ZONE}`, `*.o.${ZONE}`), [second, first], 'over several pages of the list');
    t.strictSame(await listed(`o.${ZONE}`), []);
    await obtain(authority, [`done.${ZONE}`], 'dns-01');
    t.strictSame(await listed(`done.${ZONE}`), [], 'one that has its certificate is finished');
  });
  await t.test('where the authority lists none', async (t) => {
    const { pathname } = new URL(await authority.accountUri());
    proxy.inject(({ path }) => (path === pathname ? { body: { status: 'valid' } } : undefined));
    t.strictSame(await listed(`o.${ZONE}`), []);
    proxy.inject(({ path }) => (path === pathname ? { body: { orders: 'http://ca.example/list' } } : undefined));
    t.match(await problemOf(listed(`o.${ZONE}`)), { type: 'unexpectedAnswer', detail: /orders: .*https/ });
  });
  await t.test('a list without end', async (t) => {
    let pages = 0;
    const headers = () => ({
      'content-type': 'application/json',
      link: `</list-orderz/1?cursor=${++pages}>;rel="next"`,
    });
    proxy.inject(({ path }) =>
      path.startsWith('/list-orderz/') ? { headers: headers(), body: { orders: [] } } : undefined,
    );
    t.strictSame(await listed(`o.${ZONE}`), []);
    t.equal(pages, 50);
  });
}

async function renewalInformation(t: Test, pebble: Pebble, proxy: AcmeProxy): Promise<void> {
  const authority = await authorityFor(t, pebble, { directoryUrl: proxy.directoryUrl });
  proxy.inject();
  const { certificate } = await obtain(authority, [`ari.${ZONE}`], 'dns-01');
  t.equal(await authority.renewalInfo(certificate), undefined, 'where the directory has none');
  proxy.extendDirectory({
    renewalInfo: new URL('/renewal', proxy.directoryUrl).href,
    meta: { profiles: { shortlived: 'Six days' } },
  });
  const identifier = certificateIdentifier(certificate)!;
  const renewing = await authorityFor(t, pebble, { directoryUrl: proxy.directoryUrl });
  const [start, end] = ['2026-01-02T04:00:00Z', '2026-01-03T04:00:00+01:00'];
  const windowFor = (wait?: string, window: object = { start, end }) => {
    const body = { suggestedWindow: window, explanationURL: 'https://ca.example/why' };
    const headers = { 'content-type': 'application/json', ...(wait !== undefined && { 'retry-after': wait }) };
    proxy.inject(({ path }) => (path === `/renewal/${identifier}` ? { headers, body } : undefined));
    return renewing.renewalInfo(certificate);
  };

  await t.test('when to renew', async (t) => {
    t.strictSame(await windowFor('7200'), {
      startMs: Date.UTC(2026, 0, 2, 4),
      endMs: Date.UTC(2026, 0, 3, 3),
      retryAfterMs: 7_200_000,
      explanationUrl: 'https://ca.example/why',
    });
    t.equal((await windowFor())?.retryAfterMs, 6 * 3_600_000);
    t.equal((await windowFor('1'))?.retryAfterMs, 60_000);
    t.equal((await windowFor('999999'))?.retryAfterMs, DAY_MS);
    t.equal((await problemOf(windowFor('60', { start: end, end: start }))).type, 'unexpectedAnswer');
    proxy.inject(({ path }) => (path.startsWith('/renewal/') ? { status: 404, body: {} } : undefined));
    t.equal((await problemOf(renewing.renewalInfo(certificate))).status, 404);
  });
  await t.test('an order that replaces a certificate, with a profile', async (t) => {
    proxy.inject();
    await renewing.createOrder([`ari.${ZONE}`], { replaces: identifier, profile: 'shortlived' });
    const { payload, headers } = proxy.seen.find(({ path }) => path === '/order-plz')!;
    t.match(payload, { replaces: identifier, profile: 'shortlived' });
    t.match(headers, { 'user-agent': 'zoneplane/test', 'content-type': 'application/jose+json' });
    const problem = await problemOf(renewing.createOrder([`ari.${ZONE}`], { profile: 'other' }));
    t.match(problem, { type: 'invalidProfile', detail: /shortlived/ });
    await authority.createOrder([`ari.${ZONE}`], { replaces: identifier });
    t.notOk('replaces' in proxy.seen.findLast(({ path }) => path === '/order-plz')!.payload, 'only where it is known');
  });
  proxy.extendDirectory({});
}

/** A Pebble that asks the name server of this test, and the web server that it looks for http-01 at. */
async function pebbleFor(t: Test, options: Omit<PebbleOptions, 'dnsPort'>): Promise<Pebble> {
  const pebble = await startPebble({ ...options, dnsPort: world.program.dnsPort });
  t.teardown(() => pebble.stop());
  const web = createServer((request, response) => {
    const token = /^\/\.well-known\/acme-challenge\/([^/]+)$/.exec(request.url ?? '')?.[1] ?? '';
    const body = world.httpTokens.get(token);
    response.writeHead(body === undefined ? 404 : 200).end(body);
  });
  await once(web.listen(pebble.httpPort, '127.0.0.1'), 'listening');
  t.teardown(() => {
    web.closeAllConnections();
    web.close();
  });
  return pebble;
}

function optionsFor(pebble: Pebble): AcmeOptions {
  return {
    name: 'google',
    directoryUrl: pebble.directoryUrl,
    accountKey,
    termsAgreed: true,
    caBundle: pebble.identity.certificate,
    userAgent: 'zoneplane/test',
    clock,
  };
}

async function authorityFor(t: Test, pebble: Pebble, options: Partial<AcmeOptions> = {}): Promise<AcmeAuthority> {
  const authority = createAcmeAuthority({ ...optionsFor(pebble), ...options });
  t.teardown(() => authority.close());
  return authority;
}

/** Private keys of what was issued, by serial number. */
const pebbleKeys = new Map<string, KeyObject>();

/** The whole way from an order to a checked chain. */
async function obtain(
  authority: Authority,
  names: readonly string[],
  type: ChallengeType,
  keyType?: KeyType,
): Promise<CertificateChain> {
  const order = await authority.createOrder(names);
  for (const url of order.authorizations) {
    const { identifier, challenges } = await authority.authorization(url);
    await prove(authority, identifier, challenges.find((challenge) => challenge.type === type)!);
  }
  const ready = await firstThat(
    () => authority.order(order.url),
    ({ status }) => status !== 'pending',
  );
  if (ready.status !== 'ready') throw new Error(`the order is ${ready.status}: ${JSON.stringify(ready.problem)}`);
  const key = await generatePrivateKey(keyType);
  await authority.finalize(ready, await createCsr(key, names));
  const chain = await download(authority, order.url, key, names);
  pebbleKeys.set(chain.serial, key);
  return chain;
}

async function download(
  authority: Authority,
  orderUrl: string,
  key: KeyObject,
  names: readonly string[],
): Promise<CertificateChain> {
  const done = await firstThat(
    () => authority.order(orderUrl),
    ({ status }) => status !== 'processing',
  );
  return readChain(await authority.certificate(done.certificateUrl!), { key, names, nowMs: clock.nowMs() });
}

async function prove(authority: Authority, name: string, { type, token, url }: Challenge): Promise<void> {
  const proof = authority.keyAuthorization(token);
  if (type === 'http-01') world.httpTokens.set(token, proof);
  else await publish(name, dnsChallengeValue(proof));
  await authority.respond(url);
}

async function firstChallenge(
  authority: Authority,
  name: string,
  type: ChallengeType,
): Promise<{ order: Order; challenge: Challenge }> {
  const order = await authority.createOrder([name]);
  const { challenges } = await authority.authorization(order.authorizations[0]!);
  return { order, challenge: challenges.find((challenge) => challenge.type === type)! };
}

/** Adds a TXT record at `_acme-challenge` and waits until it is served. */
async function publish(name: string, value: string): Promise<void> {
  const { program, zoneId } = world;
  const owner = `_acme-challenge.${name}`;
  await callApi(program, 'POST', `/zones/${zoneId}/dns_records`, { type: 'TXT', name: owner, content: value, ttl: 60 });
  await firstThat(
    async () => (await askAll(program.dnsPort, [makeQuery(parseName(`${owner}.`), 16)], 1000))[0],
    (answer) => answer !== undefined && Buffer.from(answer).includes(value) && decodeMessage(answer).rcode === 0,
  );
}

async function callApi(program: Program, method: string, path: string, body?: object): Promise<object> {
  const response = await fetch(`${program.api}/client/v4${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { success, errors, result } = (await response.json()) as { success: boolean; errors: object[]; result: object };
  if (!success) throw new Error(`${method} ${path}: ${JSON.stringify(errors)}`);
  return result;
}

/** OpenSSL judges the chain; the root is the one of this Pebble. */
async function judge(t: Test, pebble: Pebble, chain: CertificateChain): Promise<void> {
  const directory = t.testdir({ 'root.pem': await pebble.root(), 'chain.pem': chain.pem });
  const [root, file] = [join(directory, 'root.pem'), join(directory, 'chain.pem')];
  const args = ['verify', '-x509_strict', '-CAfile', root, '-untrusted', file, file];
  t.match((await promisify(execFile)('openssl', args)).stdout, /: OK/);
}

async function problemOf(work: Promise<unknown>): Promise<AuthorityError['problem']> {
  try {
    await work;
  } catch (error) {
    if (error instanceof AuthorityError) return error.problem;
    throw error;
  }
  throw new Error('nothing was refused');
}

/** Sends `size` octets every `everyMs`, for ever. */
function pour(response: ServerResponse, size: number, everyMs: number): void {
  response.writeHead(201, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write('x'.repeat(size)), everyMs);
  response.on('close', () => clearInterval(timer));
}

function rsaKey(): KeyObject {
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
}
