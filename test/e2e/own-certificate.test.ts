/**
 * `tls-cert auto` in the real program: curl, kdig and an S3 client trust its listeners by `/ca.pem` alone.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import t from 'tap';
import { parseName } from '../../src/dns/name.js';
import { freePort } from '../support/free-ports.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { askAll } from '../support/reference-servers.js';
import { until } from '../support/until.js';

const run = promisify(execFile);
const KEY = 'k0123456789abcdef0123456789abcdef0123';
const ZONE = `$ORIGIN own.test.
@ 60 IN SOA ns1.own.test. dns.own.test. 7 7200 3600 1209600 120
@ 60 IN NS ns1.own.test.
ns1 60 IN A 127.0.0.1
www 60 IN A 192.0.2.7
`;
const unless = (path: string) => (!existsSync(path) && process.env['CI'] !== 'true' ? `not installed: ${path}` : false);

t.test('one certificate for all TLS listeners', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-own-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const [dot, doh, admin] = [await freePort(), await freePort(), await freePort()];
  const [s3, s3Tls] = [await freePort(), await freePort()];
  const environment = {
    ZONEPLANE_TLS_CERT: 'auto',
    ZONEPLANE_NAMESERVERS: 'ns1.own.test',
    ZONEPLANE_DOT_PORT: String(dot),
    ZONEPLANE_DOH_PORT: String(doh),
    ZONEPLANE_ADMIN_TLS_PORT: String(admin),
    ...{ ZONEPLANE_S3: 'on', ZONEPLANE_S3_PORT: String(s3), ZONEPLANE_S3_TLS_PORT: String(s3Tls) },
  };
  const program: Program = await startProgram({ directory, key: KEY, environment });
  t.teardown(() => stopProgram(program));
  const authority = join(directory, 'ca.pem');
  writeFileSync(authority, await (await fetch(`${program.api}/ca.pem`)).text());
  const form = new FormData();
  const { result } = (await (
    await fetch(`${program.api}/client/v4/zones`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ name: 'own.test' }),
    })
  ).json()) as { result: { id: string } };
  form.set('file', new Blob([ZONE]));
  const imported = await fetch(`${program.api}/client/v4/zones/${result.id}/dns_records/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}` },
    body: form,
  });
  t.equal(imported.status, 200, await imported.text());
  await until(async () => {
    const [answer] = await askAll(program.dnsPort, [makeQuery(parseName('www.own.test.'), 1)]);
    return decodeMessage(answer!).answer.length === 1;
  }, 'the DNS process has the records');
  const curl = (...args: string[]) => run('/usr/bin/curl', ['-sS', '-m', '20', '--cacert', authority, ...args]);
  t.test('curl, the admin API', { skip: unless('/usr/bin/curl') }, async (t) => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const { stdout } = await curl('-w', '%{http_code}', '-o', '/dev/null', `https://${host}:${admin}/readyz`);
      t.equal(stdout, '200', host);
    }
    await t.rejects(
      run('/usr/bin/curl', ['-sS', `https://127.0.0.1:${admin}/readyz`]),
      { code: 60 },
      'without the root',
    );
    await t.rejects(curl('--resolve', `other.test:${admin}:127.0.0.1`, `https://other.test:${admin}/readyz`), {
      code: 60,
    });
  });
  t.test('kdig', { skip: unless('/usr/bin/kdig') }, async (t) => {
    const trust = [`+tls-ca=${authority}`, '+tls-hostname=ns1.own.test'];
    for (const [port, ...mode] of [
      [dot, '+tls'],
      [doh, '+https'],
    ] as const) {
      const args = ['@127.0.0.1', '-p', String(port), ...mode, ...trust, '+short', 'www.own.test', 'A'];
      t.equal((await run('/usr/bin/kdig', args, { timeout: 20_000 })).stdout, '192.0.2.7\n', mode[0]);
      const wrong = args.map((arg) => arg.replace('=ns1.own.test', '=other.test'));
      await t.rejects(run('/usr/bin/kdig', wrong, { timeout: 20_000 }), 'another name');
    }
  });
  t.test('an S3 client', async (t) => {
    const call = async (path: string, body?: object) => {
      const sent = body && { method: 'POST', body: JSON.stringify(body) };
      const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
      const answer = await fetch(`${program.api}/client/v4${path}`, { headers, ...sent });
      return ((await answer.json()) as { result: never }).result;
    };
    const [account] = (await call('/accounts')) as { id: string }[];
    const buckets = `/accounts/${account!.id}/r2/buckets`;
    await call(buckets, { name: 'pictures' });
    const key = (await call(`${buckets}/pictures/keys`, {})) as Record<string, string>;
    t.match(key, { endpoint: `https://127.0.0.1:${s3Tls}` });
    const agent = new Agent({ ca: readFileSync(authority) });
    const client = new S3Client({
      ...{ endpoint: key['endpoint']!, region: 'auto', forcePathStyle: true, maxAttempts: 1 },
      credentials: { accessKeyId: key['access_key_id']!, secretAccessKey: key['secret_access_key']! },
      requestHandler: { httpsAgent: agent },
    });
    t.teardown(() => client.destroy());
    const at = { Bucket: 'pictures', Key: 'a//b' };
    const Body = Buffer.alloc(300_000, 'octets');
    await client.send(new PutObjectCommand({ ...at, Body }));
    const got = await client.send(new GetObjectCommand({ ...at, Range: 'bytes=10-' }));
    t.ok(Buffer.from(await got.Body!.transformToByteArray()).equals(Body.subarray(10)));
    // Unsigned payloads are for lines that nobody else can change.
    const link = (await call(`${buckets}/pictures/links`, { key: 'a//b', method: 'PUT', expires: 60 })) as {
      url: string;
    };
    writeFileSync(join(directory, 'body'), 'by link');
    const ca = ['--cacert', authority];
    await run('/usr/bin/curl', ['-sSf', ...ca, '-T', join(directory, 'body'), link.url]);
    t.equal(await (await client.send(new GetObjectCommand(at))).Body!.transformToString(), 'by link');
    const { stdout } = await run('/usr/bin/curl', ['-sS', ...ca, '-H', ' bad : x', '--http1.1', key['endpoint']!]);
    t.match(stdout, /<Error><Code>BadRequest</, 'malformed HTTP is refused as S3 does it');
  });
});
