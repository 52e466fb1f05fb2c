/**
 * Runs the public suite for HTTP caches against the edge: `node build/bench/cache-tests.js <directory of the suite>`. The suite
 * is github.com/http-tests/cache-tests, with its packages installed; it is not part of this project. Its origin server stands
 * behind a proxied name of the program. With `--base URL`, the suite runs against a server that is there already, and that has
 * the suite's origin server (`--origin-port`) behind it. `--failures` lists what did not pass, `--id NAME` shows one test.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stop } from './processes.js';
import { startProgram } from './program.js';
import { writeZone, ZONE } from './workload.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    base: { type: 'string' },
    'origin-port': { type: 'string', default: '8000' },
    /** The first of four that are free. */
    port: { type: 'string', default: '18300' },
    id: { type: 'string', default: '' },
    failures: { type: 'boolean', default: false },
  },
});

const HOST = `cache.${ZONE}`;

/** What the suite has found: true, or what went wrong. */
type Results = Record<string, true | readonly [kind: string, message: string]>;

interface Suite {
  readonly tests: readonly { readonly id: string; readonly kind?: string; readonly browser_only?: boolean }[];
}

async function main(): Promise<void> {
  const directory = resolve(positionals[0] ?? '.');
  const originPort = Number(values['origin-port']);
  const origin = await startOrigin(directory, originPort);
  let edge: Awaited<ReturnType<typeof startEdge>> | undefined;
  try {
    if (values.base === undefined) edge = await startEdge(originPort);
    const output = await runSuite(directory, values.base ?? edge!.base);
    if (values.id === '') await report(directory, JSON.parse(output));
    else process.stdout.write(output);
  } finally {
    await edge?.stop();
    origin.kill();
  }
}

async function startOrigin(directory: string, port: number): Promise<ChildProcess> {
  const env = {
    ...process.env,
    npm_config_protocol: 'http',
    npm_config_port: String(port),
    npm_config_pidfile: '/dev/null',
  };
  const child = spawn(process.execPath, [join(directory, 'test-engine/server/server.mjs')], {
    cwd: directory,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (let tries = 0; tries < 100; tries++) {
    if (
      await fetch(`http://127.0.0.1:${port}/state/none`).then(
        () => true,
        () => false,
      )
    )
      return child;
    await sleep(50);
  }
  throw new Error('the origin server of the suite did not start');
}

/** Has the client find the edge without DNS. */
const LOOK_UP = `import dns from 'node:dns';
const { lookup } = dns;
dns.lookup = (name, options, done) => lookup(name === '${HOST}' ? '127.0.0.1' : name, options, done);`;

async function runSuite(directory: string, base: string): Promise<string> {
  const env = { ...process.env, npm_config_base: base, npm_config_id: values.id, npm_package_config_id: '' };
  const lookUp = `data:text/javascript,${encodeURIComponent(LOOK_UP)}`;
  const program = join(directory, 'test-engine/cli.mjs');
  const child = spawn(process.execPath, ['--no-warnings', '--import', lookUp, program], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(child, 'close');
  return Buffer.concat(chunks).toString();
}

async function report(directory: string, results: Results): Promise<void> {
  const { default: suites } = (await import(join(directory, 'tests/index.mjs'))) as { default: readonly Suite[] };
  const { determineTestResult, resultTypes } = await import(join(directory, 'test-engine/lib/results.mjs'));
  const passed = [resultTypes.pass, resultTypes.yes];
  const kinds = new Map<string, { passed: number; all: number }>();
  for (const { id, kind = 'required', browser_only } of suites.flatMap(({ tests }) => tests)) {
    if (browser_only) continue;
    const count = kinds.get(kind) ?? { passed: 0, all: 0 };
    kinds.set(kind, count);
    count.all++;
    const result = determineTestResult(suites, id, results);
    if (passed.includes(result)) count.passed++;
    else if (values.failures) console.log(`${kind}\t${result[2]}\t${id}\t${String(results[id])}`);
  }
  for (const [kind, count] of kinds) console.log(`${kind}: ${count.passed} of ${count.all}`);
}

/** The program with the suite's origin server behind a proxied name of which everything may be stored. */
async function startEdge(originPort: number): Promise<{ readonly base: string; stop(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cache-tests-'));
  const zoneFile = join(directory, 'zone');
  await writeZone(zoneFile, 10);
  const port = Number(values['port']);
  const running = await startProgram(directory, zoneFile, port, undefined, {
    ZONEPLANE_EDGE: 'on',
    ZONEPLANE_EDGE_HOST: '127.0.0.1',
    ZONEPLANE_EDGE_HTTP_PORT: String(port + 2),
    ZONEPLANE_EDGE_HTTPS_PORT: String(port + 3),
    ZONEPLANE_EDGE_ALLOW_ORIGIN_CIDRS: '127.0.0.0/8',
    ZONEPLANE_EDGE_ADDRESSES: '203.0.113.80',
  });
  const { api, zonePath, server } = running;
  const setting = (name: string, value: unknown) => api.call('PATCH', `${zonePath}/settings/${name}`, { value });
  await setting('ssl', 'flexible');
  await setting('cache_level', 'cache_everything');
  const record = (body: object) => api.call('POST', `${zonePath}/dns_records`, body);
  await record({ type: 'A', name: `origin.${ZONE}`, content: '127.0.0.1' });
  const settings = { origin_port: originPort };
  await record({ type: 'CNAME', name: HOST, content: `origin.${ZONE}`, proxied: true, settings });
  while ((await statusOf(port + 2)) !== 404) await sleep(50);
  return {
    base: `http://${HOST}:${port + 2}`,
    async stop() {
      api.close();
      await stop(server);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** What the edge answers to the suite's question for a state that is not there; undefined while it does not listen. */
function statusOf(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', port, path: '/state/none', headers: { host: HOST } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', () => resolve(undefined));
    asked.end();
  });
}

await main();
