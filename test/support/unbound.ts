/** Unbound as a validating resolver, with the servers of some zones and their trust anchors. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Rcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { freePort } from './free-ports.js';
import { decodeMessage, makeQuery } from './message.js';
import { askAll } from './reference-servers.js';
import { until } from './until.js';

const UNBOUND = '/usr/sbin/unbound';

export function isUnboundMissing(): boolean {
  return !existsSync(UNBOUND);
}

export interface ResolvedZones {
  /** Without final dot; the first is asked for its SOA until it answers. */
  readonly names: readonly string[];
  /** Ports of their servers on 127.0.0.1, which are also asked for the root. */
  readonly ports: readonly number[];
  /** DS records of keys, as lines. */
  readonly anchors: readonly string[];
  /** More lines for the section `server`. */
  readonly settings?: readonly string[];
  /** Beside the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Unbound {
  readonly port: number;
  /** What a validating resolver says: `secure`, `insecure` or `bogus`, and the code of the answer. */
  judge(name: string, type: number): Promise<string>;
  /** Lines of its log, with the reasons of what it takes for bogus. */
  log(): string[];
}

/** Keeps nothing, so that every question is asked and validated anew. */
export const WITHOUT_CACHE: readonly string[] = ['cache-max-ttl: 0', 'cache-max-negative-ttl: 0'];

/** A wait for an answer of unbound that is still starting. */
const STARTING_MS = 300;
const ANSWER_MS = 10_000;

export async function startUnbound(t: Test, zones: ResolvedZones): Promise<Unbound> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-unbound-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  writeFileSync(join(directory, 'anchors'), zones.anchors.map((line) => `${line}\n`).join(''));
  writeFileSync(join(directory, 'unbound.conf'), configure(directory, port, zones));
  const child: ChildProcess = spawn(UNBOUND, ['-c', join(directory, 'unbound.conf')], {
    stdio: 'ignore',
    env: { ...process.env, ...zones.environment },
  });
  t.teardown(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const ask = async (name: string, type: number, waitMs: number): Promise<string> => {
    const query = makeQuery(parseName(`${name}.`), type, { flags: 0x0100, edns: 4096, dnssecOk: true });
    const [octets] = await askAll(port, [query], waitMs, 1);
    if (!octets) return 'silent';
    const { rcode, ad } = decodeMessage(octets);
    return rcode === Rcode.servFail ? 'bogus' : `${ad ? 'secure' : 'insecure'} ${rcode}`;
  };
  await until(async () => (await ask(zones.names[0]!, Type.soa, STARTING_MS)) !== 'silent');
  return {
    port,
    judge: (name, type) => ask(name, type, ANSWER_MS),
    log: () => readFileSync(join(directory, 'unbound.log'), 'utf8').split('\n'),
  };
}

function configure(directory: string, port: number, { names, ports, settings = [] }: ResolvedZones): string {
  const addresses = ports.map((one) => `  stub-addr: 127.0.0.1@${one}\n`).join('');
  // Without servers for the root, it would look for those of the Internet first.
  const stubs = ['.', ...names].map((name) => `stub-zone:\n  name: "${name}"\n${addresses}`);
  return `server:
  interface: 127.0.0.1@${port}
  do-daemonize: no
  use-syslog: no
  username: ""
  chroot: ""
  directory: "${directory}"
  pidfile: ""
  val-log-level: 2
  logfile: "${directory}/unbound.log"
  do-not-query-localhost: no
  module-config: "validator iterator"
  trust-anchor-file: "${directory}/anchors"
  aggressive-nsec: no
  qname-minimisation: no
  local-zone: "test." nodefault
${settings.map((line) => `  ${line}\n`).join('')}${stubs.join('')}remote-control:
  control-enable: no
`;
}
