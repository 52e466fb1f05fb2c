/**
 * The vendor's command line, unmodified, against a listening server. It has its own home, cache and working directory;
 * requests to any other host would go to a listener that must receive nothing.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { type Installation, install } from '../../api/installation.js';
import { seededRandom } from '../../support/seeded-random.js';

const WRANGLER = resolve('test/e2e/clients/wrangler/node_modules/.bin/wrangler');
const MISSING = 'wrangler is not installed: npm ci --prefix test/e2e/clients/wrangler';

interface Outcome {
  readonly code: number;
  /** Both streams: wrangler writes its errors to either. */
  readonly text: string;
}

interface Room {
  readonly installation: Installation;
  readonly directory: string;
  readonly strayed: readonly string[];
  wrangler(...args: readonly string[]): Promise<Outcome>;
  read(name: string): Buffer;
  write(name: string, content: string | Uint8Array): string;
}

async function prepare(t: Test): Promise<Room> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-wrangler-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const work = join(directory, 'work');
  for (const name of ['home', 'tmp', 'work']) mkdirSync(join(directory, name));
  const strayed: string[] = [];
  const elsewhere = await listenForStrays(t, strayed);

  const installation = await install(t);
  await installation.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = installation.app.server.address() as AddressInfo;
  const token = (await installation.token()).authorization.slice('Bearer '.length);
  const account = (await installation.call('GET', '/accounts')).json.result[0].id as string;
  const environment = {
    PATH: process.env['PATH'],
    HOME: join(directory, 'home'),
    TMPDIR: join(directory, 'tmp'),
    XDG_CONFIG_HOME: join(directory, 'home', 'config'),
    CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}/client/v4`,
    CLOUDFLARE_API_TOKEN: token,
    CLOUDFLARE_ACCOUNT_ID: account,
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_SEND_ERROR_REPORTS: 'false',
    // With its banner goes the question for a newer version.
    WRANGLER_HIDE_BANNER: 'true',
    npm_config_registry: elsewhere,
    HTTPS_PROXY: elsewhere,
    NO_COLOR: '1',
    CI: '1',
  };
  return {
    installation,
    directory,
    strayed,
    read: (name) => readFileSync(join(work, name)),
    write(name, content) {
      writeFileSync(join(work, name), content);
      return name;
    },
    async wrangler(...args) {
      const child = spawn(process.execPath, [WRANGLER, ...args], {
        cwd: work,
        env: environment,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let text = '';
      child.stdout.on('data', (piece: Buffer) => (text += piece));
      child.stderr.on('data', (piece: Buffer) => (text += piece));
      const [code] = (await once(child, 'close')) as [number];
      return { code, text };
    },
  };
}

/** Stands in for the npm registry and for every server on the way to which a proxy is asked. Returns its address. */
async function listenForStrays(t: Test, strayed: string[]): Promise<string> {
  const server = createServer((request, response) => {
    strayed.push(`${request.method} ${request.url}`);
    response.writeHead(503).end();
  });
  server.on('connect', (request, socket) => {
    strayed.push(`CONNECT ${request.url}`);
    socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const installed = existsSync(WRANGLER);
if (!installed && process.env['CI'] === 'true') t.fail(MISSING);
else t.test('wrangler', { skip: !installed && MISSING, timeout: 280_000 }, driveWrangler);

async function driveWrangler(t: Test): Promise<void> {
  const room = await prepare(t);
  const { wrangler, installation } = room;
  const binary = Buffer.from(seededRandom(7).bytes(5 << 20));
  room.write('text.txt', 'Grüße\n');
  room.write('binary.bin', binary);

  await t.test('whoami', async (t) => {
    const { code, text } = await wrangler('whoami');
    t.equal(code, 0, text);
    t.match(text, 'associated with the email admin@localhost');
    t.match(text, "admin@localhost's Account");
  });

  await t.test('buckets', async (t) => {
    t.match(await wrangler('r2', 'bucket', 'create', 'first-bucket'), {
      code: 0,
      text: /Created bucket 'first-bucket' with default storage class of Standard/,
    });
    t.match(await wrangler('r2', 'bucket', 'create', 'first-bucket'), {
      code: 1,
      text: /The bucket you tried to create already exists, and you own it\. \[code: 10004\]/,
    });
    t.match(await wrangler('r2', 'bucket', 'create', 'rare', '--storage-class', 'InfrequentAccess', '-J', 'eu'), {
      code: 0,
      text: /Created bucket 'rare \(eu\)' with default storage class of InfrequentAccess/,
    });
    const listed = await wrangler('r2', 'bucket', 'list');
    t.match(listed, { code: 0, text: /name: +first-bucket\ncreation_date: +2024-05-05T12:00:00\.123/ });
    t.notMatch(listed.text, /rare/, 'a jurisdiction has names of its own');
  });

  await t.test('rules of a bucket', async (t) => {
    const rules = [{ allowed: { methods: ['GET'], origins: ['https://a.test'] }, maxAgeSeconds: 60 }];
    room.write('cors.json', JSON.stringify({ rules }));
    const bucket = ['r2', 'bucket'] as const;
    t.match(await wrangler(...bucket, 'cors', 'set', 'first-bucket', '--file', 'cors.json', '-y'), { code: 0 });
    const age = ['--expire-days', '30', '-y'];
    t.match(await wrangler(...bucket, 'lifecycle', 'add', 'first-bucket', 'old', 'logs/', ...age), { code: 0 });
    const lock = ['lock', 'add', 'first-bucket', 'held', 'held/', '--retention-days', '2', '-y'];
    t.match(await wrangler(...bucket, ...lock), { code: 0 });
    const { call } = installation;
    const account = (await call('GET', '/accounts')).json.result[0].id;
    const stored = async (kind: string) =>
      (await call('GET', `/accounts/${account}/r2/buckets/first-bucket/${kind}`)).json.result.rules;
    t.strictSame(await stored('cors'), rules);
    t.match(await stored('lifecycle'), [
      { id: 'Default Multipart Abort Rule' },
      { id: 'old', conditions: { prefix: 'logs/' }, deleteObjectsTransition: { condition: { maxAge: 30 * 86_400 } } },
    ]);
    t.match(await stored('lock'), [{ id: 'held', prefix: 'held/', condition: { maxAgeSeconds: 2 * 86_400 } }]);
  });

  await t.test('objects', async (t) => {
    const put = await wrangler(
      ...['r2', 'object', 'put', 'first-bucket/dir/a b ü.txt', '--remote', '--file', 'text.txt'],
      ...['--content-type', 'text/plain; charset=utf-8', '--cache-control', 'max-age=60', '--content-language', 'de'],
    );
    t.match(put, { code: 0, text: /Upload complete/ });
    t.match(await wrangler('r2', 'object', 'put', 'first-bucket/b.bin', '--remote', '--file', 'binary.bin'), {
      code: 0,
      text: /Upload complete/,
    });
    const account = (await installation.call('GET', '/accounts')).json.result[0].id;
    const { result } = (await installation.call('GET', `/accounts/${account}/r2/buckets/first-bucket/objects`)).json;
    t.match(result, [
      { key: 'b.bin', size: binary.length },
      {
        key: 'dir/a b ü.txt',
        size: 8,
        http_metadata: {
          contentType: 'text/plain; charset=utf-8',
          cacheControl: 'max-age=60',
          contentLanguage: 'de',
        },
      },
    ]);
    for (const [key, file, content] of [
      ['dir/a b ü.txt', 'out.txt', Buffer.from('Grüße\n')],
      ['b.bin', 'out.bin', binary],
    ] as const) {
      const got = await wrangler('r2', 'object', 'get', `first-bucket/${key}`, '--remote', '--file', file);
      t.match(got, { code: 0, text: /Download complete/ });
      t.ok(room.read(file).equals(content), `${key} came back as it was sent`);
    }
    t.match(await wrangler('r2', 'object', 'get', 'first-bucket/none', '--remote', '--file', 'none'), {
      code: 1,
      text: /The specified key does not exist/,
    });
    t.match(await wrangler('r2', 'object', 'put', 'no-bucket/x', '--remote', '--file', 'text.txt'), {
      code: 1,
      text: /The specified bucket does not exist/,
    });
  });

  await t.test('custom domains', async (t) => {
    const zone = await installation.createZone('shop.test');
    const domain = (...args: readonly string[]) => wrangler('r2', 'bucket', 'domain', ...args);
    const named = ['first-bucket', '--domain', 'cdn.shop.test'];
    t.match(await domain('add', ...named, '--zone-id', zone, '--min-tls', '1.2', '-y'), {
      code: 0,
      text: /Custom domain 'cdn\.shop\.test' connected successfully/,
    });
    const shown = await domain('list', 'first-bucket');
    t.match(shown, { code: 0, text: /domain: +cdn\.shop\.test\nenabled: +Yes\nownership_status: +active/ });
    t.match(shown.text, new RegExp(`min_tls_version: +1\\.2\\nzone_id: +${zone}\\nzone_name: +shop\\.test`));
    t.match(await domain('update', ...named, '--min-tls', '1.3'), { code: 0, text: /updated successfully/ });
    t.match(await domain('get', ...named), { code: 0, text: /min_tls_version: +1\.3/ });
    t.match(await domain('remove', ...named, '-y'), { code: 0, text: /removed successfully/ });
  });

  await t.test('sizes, deletion', async (t) => {
    const info = await wrangler('r2', 'bucket', 'info', 'first-bucket');
    t.match(info, { code: 0, text: /name: +first-bucket\ncreated: +2024-05-05T12:00:00\.123/ });
    t.match(info.text, /default_storage_class: +Standard\nobject_count: +2\nbucket_size: +5\.24 MB/);
    t.match(await wrangler('r2', 'bucket', 'delete', 'first-bucket'), {
      code: 1,
      text: /The bucket you tried to delete is not empty \(account [0-9a-f]{32}\) \[code: 10008\]/,
    });
    for (const key of ['dir/a b ü.txt', 'b.bin']) {
      t.match(await wrangler('r2', 'object', 'delete', `first-bucket/${key}`, '--remote'), {
        code: 0,
        text: /Delete complete/,
      });
    }
    t.match(await wrangler('r2', 'bucket', 'delete', 'first-bucket'), {
      code: 0,
      text: /Deleted bucket first-bucket/,
    });
    t.match(await wrangler('r2', 'bucket', 'info', 'first-bucket'), { code: 1, text: /\[code: 10006\]/ });
  });

  t.strictSame(room.strayed, [], 'nobody else was asked for anything');
  t.strictSame(readdirSync(room.directory).sort(), ['home', 'tmp', 'work']);
  t.strictSame(installation.misfits, []);
}
