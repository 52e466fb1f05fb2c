/**
 * Objects of the bucket application compared with files served by nginx: requests and octets per second; DNS latency
 * during uploads of large objects.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askWhile, named } from './latency.js';
import { median } from './median.js';
import { stop } from './processes.js';
import { startProgram } from './program.js';
import { writeZone } from './workload.js';
import type { Figures } from './writes.js';

const SECRET = 'bench-secret';
const SIZES = { '1 KiB': 1 << 10, '64 KiB': 1 << 16, '16 MiB': 1 << 24 } as const;
const ROUNDS = 5;
const SECONDS = 1.5;
const AT_ONCE = 8;
const UPLOAD_OCTETS = 64 << 20;

interface Place {
  readonly port: number;
  readonly path: (name: string) => string;
  readonly agent: Agent;
}

export async function measureObjects(directory: string, port: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'objects-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, 1000);
  const running = await startProgram(own, zoneFile, port, undefined, {
    ZONEPLANE_BUCKET_PORT: String(port + 2),
    ZONEPLANE_BUCKET_ALLOW_LIST: Object.keys(SIZES).map(nameOf).join(','),
    AUTH_KEY_SECRET: SECRET,
  });
  const nginx = await startNginx(own, port + 3);
  const place = (at: number, prefix: string): Place => ({
    port: at,
    path: (name) => `${prefix}${name}`,
    agent: new Agent({ keepAlive: true, maxSockets: AT_ONCE }),
  });
  const places = { ours: place(port + 2, '/'), nginx: place(port + 3, '/') };
  const figures: Record<string, number> = {};
  try {
    for (const [size, octets] of Object.entries(SIZES)) {
      const body = Buffer.alloc(octets, 'zoneplane');
      for (const one of Object.values(places)) await send(one, 'PUT', nameOf(size), body);
      Object.assign(figures, await compare(`GET ${size}`, places, (one) => send(one, 'GET', nameOf(size))));
      let count = 0;
      Object.assign(
        figures,
        await compare(`PUT ${size}`, places, (one) => send(one, 'PUT', `put-${count++ % 64}`, body)),
      );
    }
    Object.assign(figures, named('DNS idle', await askWhile(port, async () => {})));
    const upload = join(own, 'upload');
    writeFileSync(upload, Buffer.alloc(UPLOAD_OCTETS, 'zoneplane'));
    // The machine's share in it: the same octets to somebody else.
    const elsewhere = await askWhile(port, () => uploadApart(upload, port + 3));
    Object.assign(figures, named('DNS, 64 MiB uploads to nginx', elsewhere));
    Object.assign(
      figures,
      named('DNS, 64 MiB uploads to ours', await askWhile(port, () => uploadApart(upload, port + 2))),
    );
    return figures;
  } finally {
    for (const { agent } of Object.values(places)) agent.destroy();
    running.api.close();
    await stop(running.server);
    nginx.kill('SIGTERM');
  }
}

/** In another process, so that questions are asked on time. */
async function uploadApart(file: string, port: number): Promise<void> {
  const headers = ['-H', `X-Custom-Auth-Key: ${SECRET}`, '-H', 'Expect:'];
  const curl = spawn('curl', ['-sf', '-o', '/dev/null', ...headers, '-T', file, `http://127.0.0.1:${port}/upload`]);
  const [status] = await once(curl, 'exit');
  if (status !== 0) throw new Error(`curl ended with ${status}`);
}

const nameOf = (size: string): string => size.replace(' ', '-');

async function startNginx(directory: string, port: number): Promise<ChildProcess> {
  const root = join(directory, 'www');
  mkdirSync(root);
  const configuration = join(directory, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${directory}/n-${name};`,
  );
  writeFileSync(
    configuration,
    `user root; daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log ${directory}/nginx.log;
events { worker_connections 256; }
http { access_log off; ${temporary.join(' ')} client_max_body_size 1g; sendfile on; keepalive_requests 1000000;
server { listen 127.0.0.1:${port}; root ${root}; location / { dav_methods PUT DELETE; } } }`,
  );
  const child = spawn('nginx', ['-c', configuration, '-e', `${directory}/nginx.log`], { stdio: 'ignore' });
  for (let attempt = 0; ; attempt++) {
    const answered = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
    if (answered) return child;
    if (attempt > 100 || child.exitCode !== null) throw new Error('nginx did not start');
    await sleep(50);
  }
}

/** Median requests a second of ours, and how many times those of nginx, round by round. */
async function compare(
  what: string,
  places: { readonly ours: Place; readonly nginx: Place },
  work: (place: Place) => Promise<void>,
): Promise<Record<string, number>> {
  const ours: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const own = await rateOf(() => work(places.ours));
    const its = await rateOf(() => work(places.nginx));
    ours.push(own);
    ratios.push(own / its);
  }
  return { [`${what}, a second`]: median(ours), [`${what}, times nginx`]: median(ratios) };
}

async function rateOf(work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  const endMs = startMs + SECONDS * 1000;
  let done = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() < endMs) {
        await work();
        done++;
      }
    }),
  );
  return done / ((performance.now() - startMs) / 1000);
}

function send({ port, path, agent }: Place, method: string, name: string, body?: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-custom-auth-key': SECRET, ...(body && { 'content-length': body.length }) };
    const call = request({ host: '127.0.0.1', port, method, path: path(name), headers, agent }, (answer) => {
      answer.resume();
      answer.on('end', () =>
        answer.statusCode! < 300 ? resolve() : reject(new Error(`${method}: ${answer.statusCode}`)),
      );
      answer.on('error', reject);
    });
    call.on('error', reject);
    call.end(body);
  });
}
