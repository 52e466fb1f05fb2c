/**
 * The bucket application of the real program: compared with nginx on conditions and ranges, killed, with a full disk,
 * stopped.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { freePort } from '../support/free-ports.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { until } from '../support/until.js';

const AUTH = { 'x-custom-auth-key': 'a-secret' };
const KILLS = Number(process.env['ZONEPLANE_BUCKET_KILLS'] ?? 4);
const LARGE_MIB = Number(process.env['ZONEPLANE_BUCKET_LARGE_MIB'] ?? 192);

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-bucket-e2e-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

async function start(data: string): Promise<Running> {
  const keys = ['a.txt', 'large', ...Array.from({ length: 200 }, (_, i) => `k${i}`)];
  const environment = {
    ZONEPLANE_BUCKET_ALLOW_LIST: keys.join(','),
    ZONEPLANE_BUCKET_OBJECT_LIMIT: String(2 ** 31),
    AUTH_KEY_SECRET: AUTH['x-custom-auth-key'],
  };
  const { child, bucketPort: port } = await startProgram({ directory, data, environment });
  return { child, port };
}

const stop = (program: Running): Promise<number | null> => stopProgram(program);

interface Running extends Pick<Program, 'child'> {
  /** Of the bucket application. */
  readonly port: number;
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly headers: IncomingMessage['headers'];
}

type Headers = Record<string, string>;

async function send(
  port: number,
  method: string,
  path: string,
  headers: Headers = {},
  body?: Buffer | string | Readable,
  agent?: Agent,
): Promise<Answer> {
  const request = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: agent ?? false });
  if (body instanceof Readable) body.pipe(request);
  else request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return { status: response.statusCode!, body: Buffer.concat(pieces), headers: response.headers };
}

const hasNginx = spawnSync('nginx', ['-v']).error === undefined;

async function startNginx(root: string): Promise<{ readonly port: number; readonly stop: () => Promise<void> }> {
  const port = await freePort();
  const configuration = join(directory, 'nginx.conf');
  writeFileSync(
    configuration,
    `daemon off; master_process off; worker_processes 1; pid ${directory}/nginx.pid; error_log ${directory}/nginx.log;
events { worker_connections 64; }
http { access_log off; default_type application/octet-stream; client_body_temp_path ${directory}/n1;
proxy_temp_path ${directory}/n2; fastcgi_temp_path ${directory}/n3; uwsgi_temp_path ${directory}/n4; scgi_temp_path ${directory}/n5;
server { listen 127.0.0.1:${port}; root ${root}; } }`,
  );
  const child = spawn('nginx', ['-c', configuration, '-e', `${directory}/nginx.log`], { stdio: 'ignore' });
  const answers = async (): Promise<boolean> => child.exitCode !== null || (await send(port, 'GET', '/')).status > 0;
  await until(answers, 'nginx');
  if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
  return {
    port,
    stop: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

interface Tags {
  readonly etag: string;
  readonly date: string;
}

const BEFORE = 'Mon, 01 Jan 2024 00:00:00 GMT';
const AFTER = 'Sun, 01 Jan 2090 00:00:00 GMT';

/** What is asked of both, and why nginx may say something else. */
const MATRIX: readonly (readonly [title: string, headers: (tags: Tags) => Headers, nginxDiffers?: string])[] = [
  ['nothing', () => ({})],
  ['If-Match *', () => ({ 'if-match': '*' })],
  ['If-Match, the tag', ({ etag }) => ({ 'if-match': etag })],
  ['If-Match, one of several', ({ etag }) => ({ 'if-match': `"x", ${etag}` })],
  ['If-Match, another', () => ({ 'if-match': '"x"' })],
  ['If-Match, weak', ({ etag }) => ({ 'if-match': `W/${etag}` })],
  ['If-None-Match *', () => ({ 'if-none-match': '*' })],
  ['If-None-Match, the tag', ({ etag }) => ({ 'if-none-match': etag })],
  ['If-None-Match, weak', ({ etag }) => ({ 'if-none-match': `W/${etag}` })],
  ['If-None-Match, one of several', ({ etag }) => ({ 'if-none-match': `"x", W/"y", ${etag}` })],
  ['If-None-Match, another', () => ({ 'if-none-match': '"x"' })],
  ['If-Modified-Since, the date', ({ date }) => ({ 'if-modified-since': date })],
  ['If-Modified-Since, before', () => ({ 'if-modified-since': BEFORE })],
  [
    'If-Modified-Since, after',
    () => ({ 'if-modified-since': AFTER }),
    'it wants exactly the date (RFC 9110 §13.1.3 has later ones be true too)',
  ],
  ['If-Modified-Since, no date', () => ({ 'if-modified-since': 'yesterday' })],
  ['If-Unmodified-Since, the date', ({ date }) => ({ 'if-unmodified-since': date })],
  ['If-Unmodified-Since, before', () => ({ 'if-unmodified-since': BEFORE })],
  ['If-Unmodified-Since, after', () => ({ 'if-unmodified-since': AFTER })],
  [
    'If-None-Match counts, not If-Modified-Since',
    ({ date }) => ({ 'if-none-match': '"x"', 'if-modified-since': date }),
  ],
  [
    'If-None-Match holds, If-Modified-Since would not',
    ({ etag }) => ({ 'if-none-match': etag, 'if-modified-since': BEFORE }),
    'it evaluates both (RFC 9110 §13.2.2 step 4 leaves the date out)',
  ],
  [
    'If-Match counts, not If-Unmodified-Since',
    ({ etag }) => ({ 'if-match': etag, 'if-unmodified-since': BEFORE }),
    'it evaluates both (RFC 9110 §13.2.2 step 2 leaves the date out)',
  ],
  ['If-Match fails before If-None-Match', ({ etag }) => ({ 'if-match': '"x"', 'if-none-match': etag })],
  ['a range', () => ({ range: 'bytes=0-3' })],
  ['a range to the end', () => ({ range: 'bytes=5-' })],
  ['the last octets', () => ({ range: 'bytes=-4' })],
  ['more last octets than there are', () => ({ range: 'bytes=-4000' })],
  ['beyond the end', () => ({ range: 'bytes=5-4000' })],
  ['behind the end', () => ({ range: 'bytes=4000-' })],
  ['one octet', () => ({ range: 'bytes=0-0' })],
  ['the last zero octets', () => ({ range: 'bytes=-0' })],
  ['another unit', () => ({ range: 'lines=0-3' })],
  ['first behind last', () => ({ range: 'bytes=5-3' }), 'it says 416 (RFC 9110 §14.1.1: invalid, so ignored)'],
  ['no numbers', () => ({ range: 'bytes=a-b' }), 'it says 416 (RFC 9110 §14.2: may be ignored)'],
  ['If-Range, the tag', ({ etag }) => ({ range: 'bytes=0-3', 'if-range': etag })],
  ['If-Range, weak', ({ etag }) => ({ range: 'bytes=0-3', 'if-range': `W/${etag}` })],
  ['If-Range, another', () => ({ range: 'bytes=0-3', 'if-range': '"x"' })],
  ['If-Range, the date', ({ date }) => ({ range: 'bytes=0-3', 'if-range': date })],
  ['If-Range, before', () => ({ range: 'bytes=0-3', 'if-range': BEFORE })],
  ['range and a condition that fails', () => ({ range: 'bytes=0-3', 'if-match': '"x"' })],
  ['range and a copy that is good', ({ etag }) => ({ range: 'bytes=0-3', 'if-none-match': etag })],
  ['two ranges', () => ({ range: 'bytes=0-1,4-5' })],
  ['two ranges, one behind the end', () => ({ range: 'bytes=0-1,4000-4001' })],
  ['two ranges behind the end', () => ({ range: 'bytes=3000-3001,4000-' })],
];

t.test(
  'conditions and ranges like nginx',
  { skip: !hasNginx && process.env['CI'] !== 'true' && 'nginx is not installed' },
  async (t) => {
    const program = await start('matrix');
    t.teardown(() => stop(program));
    const content = 'zoneplane keeps objects\n'.repeat(10);
    await send(program.port, 'PUT', '/a.txt', AUTH, content);
    const ours = await send(program.port, 'GET', '/a.txt');
    const root = join(directory, 'www');
    mkdirSync(root);
    writeFileSync(join(root, 'a.txt'), content);
    const modified = new Date(ours.headers['last-modified']!);
    utimesSync(join(root, 'a.txt'), modified, modified);
    const nginx = await startNginx(root);
    t.teardown(nginx.stop);
    const theirs = await send(nginx.port, 'GET', '/a.txt');
    const tagsOf = ({ headers }: Answer): Tags => ({ etag: headers.etag!, date: headers['last-modified']! });
    t.equal(tagsOf(theirs).date, tagsOf(ours).date);
    for (const [title, headersOf, nginxDiffers] of MATRIX) {
      const told = await Promise.all(
        [
          [program.port, ours],
          [nginx.port, theirs],
        ].map(async ([port, whole]) => {
          const answer = await send(port as number, 'GET', '/a.txt', headersOf(tagsOf(whole as Answer)));
          return meaningOf(answer);
        }),
      );
      if (nginxDiffers === undefined) t.strictSame(told[0], told[1], title);
      else t.notSame(told[0], told[1], `${title}: ${nginxDiffers}`);
    }
  },
);

/** Boundaries are anybody's choice, texts of refusals too. */
function meaningOf({ status, body, headers }: Answer): unknown {
  const boundary = /boundary=(\S+)/.exec(headers['content-type'] ?? '')?.[1];
  const text = body.toString('latin1');
  const parts = boundary === undefined ? [text] : text.split(`--${boundary}`);
  return {
    status,
    parts: status < 300 ? parts.map((part) => part.replace(/^Content-Type: .*\r\n/gm, '')) : [],
    range: headers['content-range'],
  };
}

t.test(`killed ${KILLS} times during uploads: acknowledged objects are complete`, async (t) => {
  const acknowledged = new Map<string, string>();
  let checked = 0;
  for (let round = 0; round < KILLS; round++) {
    const program = await start('killed');
    const agent = new Agent({ keepAlive: true });
    let writing = true;
    let stored = 0;
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; writing; i++) {
        const body = randomBytes(i % 2 === 0 ? 1000 : 200_000);
        const key = `k${(round * 40 + writer * 10 + (i % 10)) % 200}`;
        try {
          const { status, headers } = await send(program.port, 'PUT', `/${key}`, AUTH, body, agent);
          // One that was on its way when the program died may be there or not.
          if (status !== 200) continue;
          acknowledged.set(key, headers.etag!);
          stored++;
        } catch {
          acknowledged.delete(key);
          return;
        }
      }
    });
    await sleep(150 + (round % 5) * 40);
    // A busy machine has acknowledged little by then.
    await until(() => stored >= 20);
    program.child.kill('SIGKILL');
    await once(program.child, 'exit');
    writing = false;
    await Promise.all(writers);
    agent.destroy();
  }
  const program = await start('killed');
  t.teardown(() => stop(program));
  for (const [key, etag] of acknowledged) {
    const { status, body, headers } = await send(program.port, 'GET', `/${key}`);
    const isWhole = headers.etag === `"${createHash('md5').update(body).digest('hex')}"`;
    if (status !== 200 || headers.etag !== etag || !isWhole) t.fail(`${key}: ${status} ${headers.etag} for ${etag}`);
    checked++;
  }
  t.ok(checked > Math.min(KILLS * 3, 150), `${checked} objects`);
});

t.test(`${LARGE_MIB} MiB in and out with little memory`, async (t) => {
  const program = await start('large');
  t.teardown(() => stop(program));
  const piece = randomBytes(1 << 20);
  const expected = createHash('md5');
  for (let i = 0; i < LARGE_MIB; i++) expected.update(piece);
  const residentMib = (): number =>
    Math.max(
      ...spawnSync('pgrep', ['-P', String(program.child.pid)], { encoding: 'utf8' })
        .stdout.split('\n')
        .concat(String(program.child.pid))
        .filter((pid) => pid !== '')
        .map((pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024),
    );
  await send(program.port, 'PUT', '/large', AUTH, 'small');
  const before = residentMib();
  const headers = { ...AUTH, 'content-length': String(LARGE_MIB << 20) };
  const body = Readable.from(
    (function* () {
      for (let i = 0; i < LARGE_MIB; i++) yield piece;
    })(),
    { objectMode: false },
  );
  const put = await send(program.port, 'PUT', '/large', headers, body);
  const digest = expected.digest('hex');
  t.same([put.status, put.headers.etag], [200, `"${digest}"`]);
  const request = httpRequest({ host: '127.0.0.1', port: program.port, path: '/large' }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const heard = createHash('md5');
  for await (const part of response) heard.update(part as Buffer);
  t.equal(heard.digest('hex'), digest);
  const grown = residentMib() - before;
  t.ok(grown < 100, `the largest process grew by ${grown.toFixed(0)} MiB at most`);
});

t.test('an upload is finished before the program stops', async (t) => {
  const program = await start('stopped');
  const request = httpRequest({
    host: '127.0.0.1',
    port: program.port,
    method: 'PUT',
    path: '/a.txt',
    headers: { ...AUTH, 'content-length': '200000', expect: '100-continue' },
  });
  // The program has the request then.
  await once(request, 'continue');
  request.write(Buffer.alloc(100_000, 'x'));
  await sleep(100);
  program.child.kill('SIGTERM');
  await sleep(300);
  request.end(Buffer.alloc(100_000, 'y'));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  t.equal(response.statusCode, 200);
  response.resume();
  if (program.child.exitCode === null) await once(program.child, 'exit');
  t.equal(program.child.exitCode, 0);
  const again = await start('stopped');
  t.teardown(() => stop(again));
  t.equal((await send(again.port, 'GET', '/a.txt')).body.length, 200_000);
});
