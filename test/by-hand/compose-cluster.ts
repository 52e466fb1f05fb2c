/**
 * `node build/test/by-hand/compose-cluster.js`, in the directory of the project: does what docs/compose-cluster.yaml says, without Docker. Each
 * service of our image is a process with the environment of the Dockerfile and of the service, in the order of `depends_on`;
 * its volume is a directory. Only what containers have for themselves differs: ports, and the address of PostgreSQL. Also
 * checks that names of settings, ports and volumes are those of the program and the Dockerfile. Exits with 0 when all went
 * well.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';
import { systemRandom } from '../../src/base/random.js';
import { SETTINGS } from '../../src/config/schema.js';
import { freePort } from '../support/free-ports.js';
import { startPostgres } from '../support/postgres.js';
import { until } from '../support/until.js';

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

type Environment = Readonly<Record<string, string>>;

const COMPOSE = parse(readFileSync('docs/compose-cluster.yaml', 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
};
const DOCKERFILE = readFileSync('Dockerfile', 'utf8').replaceAll(/\\\n\s*/g, '');
const PROGRAM = resolve('build/src/main.js');
const LIMIT_MS = 300_000;

/** The words of an instruction that the Dockerfile has once. */
function instruction(name: string): string {
  const [found] = DOCKERFILE.split('\n').filter((line) => line.startsWith(`${name} `));
  return found!.slice(name.length + 1);
}

/** Values that the operator must give, `${NAME:?…}`. */
const GIVEN: Environment = {
  ZONEPLANE_MASTER_KEY: Buffer.from(systemRandom.bytes(32)).toString('hex'),
  ZONEPLANE_ADMIN_KEY: Buffer.from(systemRandom.bytes(32)).toString('hex'),
};

const filledIn = (value: string): string => value.replace(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => GIVEN[name]!);

/** What a container of the service has in its environment; `own`: instead of what only containers have. */
function environmentOf({ environment }: Service, own: Environment): Environment {
  const image = Object.fromEntries(
    instruction('ENV')
      .split(' ')
      .map((pair) => pair.split('=') as [string, string]),
  );
  const ofService = Object.entries(environment).map(([name, value]) => [name, filledIn(value)]);
  return { PATH: process.env['PATH']!, ...image, ...Object.fromEntries(ofService), ...own };
}

t.setTimeout(LIMIT_MS);
t.test('the services of the file', { timeout: LIMIT_MS }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-compose-'));
  const postgres = await startPostgres(t);
  const running: ChildProcess[] = [];
  t.teardown(async () => {
    for (const child of running) {
      if (child.exitCode !== null) continue;
      child.kill();
      await once(child, 'exit');
    }
    rmSync(directory, { recursive: true, force: true });
  });
  // Without a directory for zone files no new installation starts.
  t.match(DOCKERFILE, /install -d -m 0755 \/zones/);
  mkdirSync(join(directory, 'zones'));
  await postgres.query('CREATE DATABASE zoneplane');
  const ownOf = async ({ environment, volumes }: Service): Promise<Environment> => ({
    ZONEPLANE_CLUSTER: environment['ZONEPLANE_CLUSTER']!.replace('@postgres/', `@127.0.0.1:${postgres.port}/`),
    ZONEPLANE_DATA_DIR: join(directory, volumes[0]!.split(':')[0]!),
    ZONEPLANE_ZONES_DIR: join(directory, 'zones'),
    ...{ ZONEPLANE_DNS_HOST: '127.0.0.1', ZONEPLANE_ADMIN_HOST: '127.0.0.1', ZONEPLANE_EDGE: 'off' },
    ZONEPLANE_DNS_PORT: String(await freePort()),
    ZONEPLANE_ADMIN_PORT: String(await freePort()),
    ZONEPLANE_BUCKET_PORT: String(await freePort()),
  });
  const run = (env: Environment, ...command: readonly string[]) =>
    spawnSync(process.execPath, [PROGRAM, ...command], { env, encoding: 'utf8' });

  const { postgres: database, ...ours } = COMPOSE.services as Record<string, Service>;
  t.match(Object.values(ours)[0]!.environment['ZONEPLANE_CLUSTER'], `//${database!.environment['POSTGRES_USER']}:`);
  t.match(Object.values(ours)[0]!.environment['ZONEPLANE_CLUSTER'], `/${database!.environment['POSTGRES_DB']}`);
  t.equal(instruction('ENTRYPOINT'), '["zoneplane"]');
  const known = new Set(SETTINGS.map(({ environment }) => environment));
  const exposed = new Set(instruction('EXPOSE').split(' '));
  const done = new Set(['postgres']);
  for (const [name, service] of Object.entries(ours)) {
    for (const setting of Object.keys(service.environment)) t.ok(known.has(setting), `${setting} is a setting`);
    for (const port of service.ports ?? []) {
      const inside = port.split(':').at(-1)!;
      t.ok(exposed.has(inside.includes('/') ? inside : `${inside}/tcp`), `${inside} is exposed`);
    }
    const [volume, place] = service.volumes[0]!.split(':');
    t.ok(volume! in COMPOSE.volumes, `${volume} is a volume`);
    t.equal(place, instruction('VOLUME'));
    for (const before of Object.keys(service.depends_on ?? {})) t.ok(done.has(before), `${name} waits for ${before}`);
    done.add(name);
    const env = environmentOf(service, await ownOf(service));
    // A new volume has the directory of the image.
    mkdirSync(env['ZONEPLANE_DATA_DIR']!, { recursive: true, mode: 0o700 });
    if (service.command) {
      t.match(run(env, ...service.command), { status: 0, stdout: /begins with/ });
      t.match(run(env, ...service.command), { status: 0, stdout: /in the cluster already/ }, 'again');
      continue;
    }
    const child = spawn(process.execPath, [PROGRAM, ...(JSON.parse(instruction('CMD')) as string[])], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running.push(child);
    let printed = '';
    child.stdout.on('data', (piece: Buffer) => (printed += piece));
    await until(async () => printed.includes('"msg":"ready"'));
    t.match(run(env, 'healthcheck'), { status: 0 }, `${name} is healthy`);
    t.match(run(env, 'zone', 'list'), { status: 0 }, `a command in ${name}`);
    const { status, stdout } = run(env, 'cluster', 'status', '--json');
    t.equal(status, 0);
    const nodes = (JSON.parse(stdout) as { nodes: { name: string; state: string }[] }).nodes;
    t.match(
      nodes.find((node) => node.name === name),
      { state: 'follows' },
    );
    t.comment(`${name}: the cluster has ${nodes.map((node) => `${node.name} (${node.state})`).join(', ')}`);
  }
  t.equal(running.length, 3);
});
