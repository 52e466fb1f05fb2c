/** The servers of the edge's measurements: an origin, and in front of it this edge, nginx and Varnish, one process each. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from './peers.js';
import type { Started } from './processes.js';
import { dataDirectoryOf, PROGRAM } from './program.js';

export const ZONE = 'edge.example';
export const HOST = `www.${ZONE}`;
/** A path that is stored, one that is not, one of 128 KiB that is not either, and one of a gibibyte. */
export const STORED = '/stored.css';
export const PASSED = '/passed';
export const LONGER = '/longer';
const LONGER_OCTETS = 131_072;
/** 64 KiB of text, not stored and stored. */
export const TEXT = '/text.html';
export const STORED_TEXT = '/stored.html';
export const LARGE = '/large';
export const LARGE_OCTETS = 2 ** 30;

/** Where a server listens. */
export interface Ports {
  readonly http: number;
  readonly https: number;
}

export interface Front extends Started {
  readonly ports: Ports;
}

/** Starts a program bound to a processor, or to several (`0,1`), and waits until it accepts connections at the port. */
async function startAt(
  name: string,
  command: readonly string[],
  port: number,
  cpu: number | string,
  env: Readonly<Record<string, string>> = {},
): Promise<Started> {
  if (await accepts(port)) throw new Error(`port ${port} is taken`);
  const began = performance.now();
  const pinned = ['taskset', '-c', String(cpu), ...command];
  const child = spawn(pinned[0]!, pinned.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let printed = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on('data', (chunk: Buffer) => {
      if (printed.length < 4000) printed += chunk.toString();
    });
  }
  for (let attempt = 0; attempt < 1200 && child.exitCode === null; attempt++) {
    if (await accepts(port)) return { name, port, process: child, startMs: performance.now() - began };
    await sleep(25);
  }
  child.kill('SIGKILL');
  throw new Error(`${name} does not accept connections on port ${port}: ${printed}`);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/** An nginx that serves files of 1 KiB, one of 128 KiB, and one of a gibibyte, which takes no room on the disk. */
export function startOrigin(directory: string, port: number, cpu: number): Promise<Started> {
  const home = join(directory, 'origin');
  mkdirSync(join(home, 'www'), { recursive: true });
  for (const path of [STORED, PASSED]) writeFileSync(join(home, 'www', path), 'x'.repeat(1024));
  writeFileSync(join(home, 'www', LONGER), 'x'.repeat(LONGER_OCTETS));
  for (const path of [TEXT, STORED_TEXT]) writeFileSync(join(home, 'www', path), textOf(65_536));
  run('truncate', ['-s', String(LARGE_OCTETS), join(home, 'www', LARGE)]);
  const server = `server { listen 127.0.0.1:${port}; root ${home}/www; keepalive_requests 100000000;
    location ~ ^/stored { add_header Cache-Control "public, max-age=86400"; } }`;
  return startNginx('origin', home, server, port, cpu);
}

/** Lines as of a page, of words in no order. */
function textOf(octets: number): string {
  const words = 'the edge answers for names whose owners want pages to come at once wherever their readers are'.split(
    ' ',
  );
  let text = '';
  for (let seed = 1; text.length < octets; ) {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    const [a, b] = [words[seed % words.length]!, words[(seed >> 8) % words.length]!];
    text += `<p class="${a}" id="n${(seed >> 4) % 10_000}">${b} ${a}</p>\n`;
  }
  return text.slice(0, octets);
}

function startNginx(name: string, home: string, servers: string, port: number, cpu: number): Promise<Started> {
  mkdirSync(home, { recursive: true });
  const file = join(home, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; master_process off; worker_processes 1; pid ${home}/pid; error_log ${home}/error.log;
worker_rlimit_nofile 65536;
events { worker_connections 16384; }
http {
  default_type application/octet-stream; access_log off; sendfile on; tcp_nopush on; keepalive_timeout 65; keepalive_requests 100000000;
  client_body_temp_path ${home}/body; proxy_temp_path ${home}/proxy; fastcgi_temp_path ${home}/fastcgi;
  uwsgi_temp_path ${home}/uwsgi; scgi_temp_path ${home}/scgi;
  proxy_cache_path ${home}/cache keys_zone=stored:10m;
  ${servers}
}
`,
  );
  return startAt(name, ['nginx', '-c', file, '-e', join(home, 'error.log'), '-p', home], port, cpu);
}

export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/** nginx as a proxy, with its cache for what is stored. The certificate is that of this edge. */
export async function startNginxFront(
  directory: string,
  ports: Ports,
  origin: number,
  { certificate, key }: Pair,
  cpu: number,
): Promise<Front> {
  const home = join(directory, 'nginx');
  const servers = `upstream origin { server 127.0.0.1:${origin}; keepalive 256; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${ports.http}; listen 127.0.0.1:${ports.https} ssl http2;
    ssl_certificate ${certificate}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3;
    http2_max_concurrent_streams 100;
    gzip on; gzip_comp_level 4; gzip_vary on; gzip_http_version 1.1;
    location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }
    location ~ ^/stored { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_cache stored; }
  }`;
  return { ...(await startNginx('nginx', home, servers, ports.https, cpu)), ports };
}

/** Varnish without TLS, which it does not speak; undefined where it is not installed. */
export async function startVarnish(
  directory: string,
  port: number,
  origin: number,
  cpu: number,
): Promise<Front | undefined> {
  if (!existsSync('/usr/sbin/varnishd')) return undefined;
  const home = join(directory, 'varnish');
  mkdirSync(home, { recursive: true });
  const listens = ['-a', `127.0.0.1:${port}`, '-b', `127.0.0.1:${origin}`];
  const command = ['varnishd', '-F', '-n', home, ...listens, '-s', 'malloc,256m', '-j', 'none'];
  return { ...(await startAt('varnish', command, port, cpu)), ports: { http: port, https: 0 } };
}

/** The edge alone, over a data directory that was filled before. */
export async function startEdge(
  directory: string,
  ports: Ports,
  cpu: number | string,
  more: object = {},
): Promise<Front> {
  const env = {
    ZONEPLANE_DATA_DIR: dataDirectoryOf(directory),
    ZONEPLANE_EDGE_HOST: '127.0.0.1',
    ZONEPLANE_EDGE_HTTP_PORT: String(ports.http),
    ZONEPLANE_EDGE_HTTPS_PORT: String(ports.https),
    ZONEPLANE_EDGE_ALLOW_ORIGIN_CIDRS: '127.0.0.0/8',
    ZONEPLANE_EDGE_ADDRESSES: '203.0.113.80',
    ZONEPLANE_EDGE_ACCESS_LOG: '0',
    ZONEPLANE_RESOLVER_UPSTREAMS: '',
    ZONEPLANE_LOG_LEVEL: 'error',
    ...more,
  };
  const arguments_ = (process.env['EDGE_NODE_OPTIONS'] ?? '').split(' ').filter(Boolean);
  const command = [process.execPath, ...arguments_, PROGRAM, 'serve', '--role', 'edge'];
  return { ...(await startAt('zoneplane', command, ports.https, cpu, env)), ports };
}

/** A certificate signed by itself, as files. */
export function makePair(directory: string, names: readonly string[]): Pair {
  const [certificate, key] = [join(directory, 'edge.pem'), join(directory, 'edge.key')];
  run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '3'],
    ...['-subj', '/CN=edge', '-addext', `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`],
    ...['-out', certificate, '-keyout', key],
  ]);
  return { certificate, key };
}
