/** Nodes of a cluster as whole programs, and what tests ask them. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { parseName } from '../../src/dns/name.js';
import { type Outcome, runCommand } from './commands.js';
import { decodeMessage, makeQuery } from './message.js';
import type { Postgres } from './postgres.js';
import { type Program, startProgram, stopProgram } from './program.js';
import { askAll } from './reference-servers.js';

/** Of the administrator of all nodes. */
export const KEY = 'cluster-key-0123456789-0123456789-0123456789';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly json: any;
}

export interface TestNode {
  readonly name: string;
  readonly dataDir: string;
  readonly program: () => Program;
  /** Resolves when it is ready (`all`), or, for a node that cannot follow, when its API answers (`copy`). */
  start(readiness?: 'all' | 'copy', environment?: NodeJS.ProcessEnv, program?: string): Promise<void>;
  /** All its processes at one stroke. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  command(...args: readonly string[]): Promise<Outcome>;
  call(method: string, path: string, body?: object): Promise<Answer>;
  /** For octets instead of JSON. */
  raw(method: string, path: string, body?: Buffer): Promise<{ readonly status: number; readonly octets: Buffer }>;
  /** The addresses a name has in DNS; undefined without an answer. */
  ask(name: string): Promise<readonly string[] | undefined>;
}

/** A directory for the nodes of a test, and a function that makes them. */
export function makeNodes(
  t: Test,
  postgres: Pick<Postgres, 'url'>,
  more: Readonly<Record<string, string>> = {},
): (name: string, role?: 'dns' | 'edge', url?: string) => TestNode {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-nodes-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return (name, role, url = postgres.url) => makeNode(t, directory, { url, name, role, more });
}

interface NodeOptions {
  /** Of PostgreSQL; empty: the node is not part of a cluster. */
  readonly url: string;
  readonly name: string;
  readonly role: 'dns' | 'edge' | undefined;
  readonly more: Readonly<Record<string, string>>;
}

function makeNode(t: Test, directory: string, { url, name, role, more }: NodeOptions): TestNode {
  const dataDir = join(directory, name);
  const environment = {
    ...(url !== '' && { ZONEPLANE_CLUSTER: url }),
    ...{ ZONEPLANE_NODE_NAME: name, ZONEPLANE_CLUSTER_PATIENCE: '2', ...more },
  };
  let running: Program | undefined;
  const kill = async (): Promise<void> => {
    if (running) await stopProgram(running, 'SIGKILL');
    running = undefined;
  };
  t.teardown(kill);
  const program = (): Program => {
    if (!running) throw new Error(`node ${name} does not run`);
    return running;
  };
  return {
    ...{ name, dataDir, program, kill },
    async start(readiness = 'all', own = {}, program) {
      running = await startProgram({
        directory,
        data: name,
        key: KEY,
        environment: { ...environment, ...own },
        said: readiness === 'all' ? '"msg":"ready"' : '"msg":"admin API',
        detached: true,
        program,
        ...(role && { role }),
      });
    },
    async stop() {
      if (running) await stopProgram(running);
      running = undefined;
    },
    command: (...args) =>
      runCommand({ ...environment, ZONEPLANE_DATA_DIR: dataDir, ZONEPLANE_ADMIN_KEY: KEY }, ...args),
    async call(method, path, body) {
      const response = await fetch(`${program().api}/client/v4${path}`, {
        method,
        headers: { authorization: `Bearer ${KEY}` },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, headers: response.headers, json: await response.json() };
    },
    async raw(method, path, body) {
      const response = await fetch(`${program().api}/client/v4${path}`, {
        method,
        headers: { authorization: `Bearer ${KEY}` },
        ...(body && { body: new Uint8Array(body) }),
      });
      return { status: response.status, octets: Buffer.from(await response.arrayBuffer()) };
    },
    async ask(question) {
      const [answer] = await askAll(program().dnsPort, [makeQuery(parseName(`${question}.`), 1)], 10_000, 1);
      if (!answer) return undefined;
      return decodeMessage(answer).answer.map(({ rdata }) =>
        [0, 2, 4, 6].map((at) => Number.parseInt(rdata.slice(at, at + 2), 16)).join('.'),
      );
    },
  };
}

/** Gives a node the master key of another, as its operator does. */
export function copyMasterKey(from: TestNode, to: TestNode): void {
  mkdirSync(to.dataDir, { recursive: true, mode: 0o700 });
  copyFileSync(join(from.dataDir, 'master.key'), join(to.dataDir, 'master.key'));
}
